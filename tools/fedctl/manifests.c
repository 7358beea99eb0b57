/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of manifests for all verbs that take -f. What a manifest may say is in common/model; what
 * YAML may look like in common/conf. */
#include "tools/fedctl/manifests.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

enum { FILE_BYTES_MAX = 16 * TF_CONF_BYTES_MAX };

void manifests_release(struct manifests *manifests)
{
    tf_vec_each (manifest, &manifests->items)
        tf_job_manifest_release(&manifest->job);
    tf_vec_each (file, &manifests->files) {
        tf_conf_destroy(file->conf);
        free(file->name);
    }
    tf_vec_release(&manifests->items);
    tf_vec_release(&manifests->files);
}

static const struct manifest *find_same(const struct manifests *manifests, const struct tf_job_manifest *job)
{
    tf_vec_each (other, &manifests->items)
        if (tf_str_eq(other->job.tenant, job->tenant) && tf_str_eq(other->job.name, job->name))
            return other;
    return NULL;
}

static void complain_twice(const struct manifests *manifests, const struct tf_conf_doc *doc,
                           const struct tf_job_manifest *job, const struct manifest *first,
                           struct tf_conf_problems *problems)
{
    const struct manifest_file *file = &manifests->files.items[first->file];
    int line, column, first_line;
    tf_conf_locate(tf_conf_doc(file->conf, first->doc), "metadata.name", &first_line, &column);
    tf_conf_locate(doc, "metadata.name", &line, &column);
    tf_conf_problems_add(problems, line, column, "metadata.name", "%s/%s is there twice: also at %s:%d",
                         job->tenant, job->name, file->name, first_line);
}

/* Legal for a simulator, of no use to anybody else. */
static void complain_no_command(const struct tf_conf_doc *doc, struct tf_conf_problems *problems)
{
    int line, column;
    tf_conf_locate(doc, "spec.instance", &line, &column);
    tf_conf_problems_add(problems, line, column, "spec.instance.command",
                         "is missing: an instance needs a command, or an image that has one");
}

static void complain_unknown(const struct tf_conf_doc *doc, const char *key, const char *found,
                             const char *wanted, struct tf_conf_problems *problems)
{
    int line, column;
    tf_conf_locate(doc, key, &line, &column);
    tf_conf_problems_add(problems, line, column, key, "\"%.60s\" is not known here: it must be %s", found,
                         wanted);
}

/* The other keys of a document of an unknown kind mean nothing. */
static bool is_known(const struct tf_conf_doc *doc, const char *kind, struct tf_conf_problems *problems)
{
    const char *version = tf_conf_text(doc, "apiVersion");
    if (!kind || tf_str_eq(kind, TF_KIND_JOB) || tf_str_eq(kind, TF_KIND_RESERVATION))
        return true;
    if (version && !tf_str_eq(version, TF_API_VERSION))
        complain_unknown(doc, "apiVersion", version, TF_API_VERSION, problems);
    complain_unknown(doc, "kind", kind, TF_KIND_JOB " or " TF_KIND_RESERVATION, problems);
    return false;
}

static void read_doc(struct manifests *manifests, size_t file, size_t doc, struct tf_conf_problems *problems)
{
    const struct tf_conf_doc *from = tf_conf_doc(manifests->files.items[file].conf, doc);
    struct tf_job_manifest job;
    const char *kind = tf_conf_text(from, "kind");
    bool reserves = kind && strcmp(kind, TF_KIND_RESERVATION) == 0;
    if (!is_known(from, kind, problems) ||
        tf_conf_read(from, reserves ? &tf_reservation_manifest_table : &tf_job_manifest_table, &job,
                     problems))
        return;
    const struct manifest *first = find_same(manifests, &job);
    bool runs_nothing = !reserves && job.spec.group.command.count == 0 && !job.spec.group.image;
    if (first)
        complain_twice(manifests, from, &job, first, problems);
    if (runs_nothing)
        complain_no_command(from, problems);
    if (first || runs_nothing || manifests->items.count >= MANIFESTS_MAX)
        tf_job_manifest_release(&job);
    else
        tf_vec_push(&manifests->items, (struct manifest){job, file, doc});
}

static void complain(struct manifests *manifests, const char *text, struct tf_buf *problems)
{
    tf_buf_fmt(problems, "%s\n", text);
    manifests->bad++;
}

/* What the first document is, if it is no manifest. */
struct head {
    const struct tf_table *table;
    void *object;
};

/* The first document by head, if there is one; then manifests. */
static void read_docs(struct manifests *manifests, const struct tf_conf *conf, const struct head *head,
                      struct tf_conf_problems *problems)
{
    size_t first = 0;
    if (head && tf_conf_count(conf))
        first =
            tf_conf_read(tf_conf_doc(conf, 0), head->table, head->object, problems) ? tf_conf_count(conf) : 1;
    for (size_t i = first; i < tf_conf_count(conf); i++)
        read_doc(manifests, manifests->files.count - 1, i, problems);
    if (conf && tf_conf_count(conf) == first && problems->count == 0)
        tf_conf_problems_add(problems, 0, 0, "", "no manifest in it");
}

static void read_file(struct manifests *manifests, const char *path, const struct head *head,
                      struct tf_buf *out)
{
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_BUF text = TF_BUF_INIT;
    if (tf_conf_read_file(path, FILE_BYTES_MAX, &text, &err)) {
        complain(manifests, err.text, out);
        return;
    }
    struct tf_conf_problems problems = {0};
    struct tf_conf *conf = tf_conf_parse(tf_buf_text(&text), text.len, NULL, &problems);
    tf_vec_push(&manifests->files, (struct manifest_file){tf_strdup(name), conf});
    read_docs(manifests, conf, head, &problems);
    if (problems.count) {
        tf_conf_problems_print(&problems, name, out);
        manifests->bad++;
    }
    tf_conf_problems_release(&problems);
}

/* ---- folders ---- */

static int is_manifest(const struct dirent *entry)
{
    static const char *const endings[] = {".yaml", ".yml", ".json"};
    size_t len = strlen(entry->d_name);
    for (size_t i = 0; i < TF_ARRAY_LEN(endings); i++) {
        size_t end = strlen(endings[i]);
        if (entry->d_name[0] != '.' && len > end && strcmp(entry->d_name + len - end, endings[i]) == 0)
            return 1;
    }
    return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name); /* not by locale: the order is the same everywhere */
}

static void read_folder(struct manifests *manifests, const char *path, struct tf_buf *problems)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, is_manifest, by_name);
    if (count <= 0) {
        TF_AUTO_FREE char *text = count < 0
                                      ? tf_asprintf("%s: cannot be read: %s", path, strerror(errno))
                                      : tf_asprintf("%s: no *.yaml, *.yml or *.json in this folder", path);
        complain(manifests, text, problems);
        manifests->bad_named = true;
    }
    size_t len = strlen(path);
    for (int i = 0; i < count; i++) {
        TF_AUTO_FREE char *file =
            tf_asprintf("%s%s%s", path, len && path[len - 1] == '/' ? "" : "/", entries[i]->d_name);
        read_file(manifests, file, NULL, problems);
        free(entries[i]);
    }
    free(entries);
}

int manifests_load(struct manifests *manifests, const struct tf_strs *paths, struct tf_buf *problems)
{
    size_t before = problems->len;
    for (size_t i = 0; i < paths->count; i++) {
        struct stat info;
        const char *path = paths->items[i];
        size_t bad = manifests->bad;
        bool is_folder = strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
        if (is_folder)
            read_folder(manifests, path, problems);
        else
            read_file(manifests, path, NULL, problems);
        manifests->bad_named |= manifests->bad > bad && !is_folder;
    }
    manifests->bad_named |= manifests->items.count >= MANIFESTS_MAX;
    if (manifests->items.count >= MANIFESTS_MAX)
        tf_buf_fmt(problems, "more than %d manifests: apply them in several calls\n", MANIFESTS_MAX);
    return problems->len > before ? -1 : 0;
}

int manifests_load_after(struct manifests *manifests, const char *path, const struct tf_table *table,
                         void *object, struct tf_buf *problems)
{
    size_t before = problems->len;
    read_file(manifests, path, &(struct head){table, object}, problems);
    return problems->len > before ? -1 : 0;
}

void manifests_complain(const struct manifests *manifests, const struct manifest *manifest,
                        const struct tf_complaints *complaints, struct tf_buf *out)
{
    const struct manifest_file *file = &manifests->files.items[manifest->file];
    struct tf_conf_problems problems = {0};
    tf_conf_complain(tf_conf_doc(file->conf, manifest->doc), complaints, &problems);
    tf_conf_problems_print(&problems, file->name, out);
    tf_conf_problems_release(&problems);
}
