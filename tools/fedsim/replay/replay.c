/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedsim/replay/replay.h"

#include "common/base/cleanup.h"
#include "common/base/list.h"
#include "common/base/text.h"
#include "common/eventlog/replay.h"
#include "federation/core/fed.h"
#include "subcluster/core/sub.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct tf_core_ops *const cores[] = {&fed_core, &sub_core, NULL};

/* How the file before ended. */
struct before {
    char *core, *name;
    uint64_t number, ends;
    bool torn;
};

static void before_release(struct before *before)
{
    free(before->core);
    free(before->name);
    *before = (struct before){0};
}

static void remember(struct before *before, const struct tf_replay *replay)
{
    before_release(before);
    before->core = tf_strdup(replay->header.core);
    before->name = tf_strdup(replay->header.name);
    before->number = replay->header.number;
    before->ends = replay->ends;
    before->torn = replay->torn || replay->difference.len;
}

/* True if it begins with another state than the file before it ended with. */
static bool breaks_off(const struct before *before, const struct tf_replay *replay)
{
    const struct tf_eventlog_header *h = &replay->header;
    return h->continues && before->core && !before->torn && tf_str_eq(before->core, h->core) &&
           tf_str_eq(before->name, h->name) && before->number + 1 == h->number &&
           before->ends != replay->begins;
}

static void say_result(const char *path, const struct before *before, const struct tf_replay *replay,
                       struct replay_totals *totals, FILE *out)
{
    bool jumps = breaks_off(before, replay);
    totals->differing += jumps || replay->difference.len;
    totals->torn += replay->torn;
    fprintf(out, "%s: ", path);
    if (replay->difference.len)
        fprintf(out, "DIFFERS in %s\n", tf_buf_text(&replay->difference));
    else if (jumps)
        fprintf(out, "DIFFERS: its state is not the one that file %" PRIu64 " ends with\n", before->number);
    else if (!replay->header.core)
        fprintf(out, "nothing is recorded in it\n");
    else
        fprintf(out, "%s %s, %" PRIu64 " steps, %" PRIu64 " actions: the same decisions%s\n",
                replay->header.core, replay->header.name, replay->steps, replay->actions,
                replay->torn ? " (ends within a record, as after a crash)" : "");
}

static int map_file(const char *path, struct tf_bytes *bytes, struct tf_error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* of a pipe nobody might ever write to */
    if (fd < 0 || fstat(fd, &st)) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        return tf_error_errno(err, TF_ERR_IO, why, "it cannot be opened");
    }
    if (!S_ISREG(st.st_mode)) {
        close(fd);
        return tf_error_set(err, TF_ERR_INVALID, "it is no regular file");
    }
    *bytes = (struct tf_bytes){NULL, (size_t)st.st_size};
    void *at = st.st_size ? mmap(NULL, bytes->len, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    int why = errno;
    close(fd);
    if (at == MAP_FAILED)
        return tf_error_errno(err, TF_ERR_IO, why, "it cannot be read");
    bytes->data = at;
    return 0;
}

static void replay_one(const char *path, struct before *before, struct replay_totals *totals, FILE *out,
                       FILE *errors)
{
    struct tf_bytes bytes;
    struct tf_error err = TF_ERROR_INIT;
    struct tf_replay replay = {0};
    totals->files++;
    int failed = map_file(path, &bytes, &err);
    if (!failed) {
        failed = tf_replay_file(bytes, cores, &replay, &err);
        if (bytes.len)
            munmap((void *)(uintptr_t)bytes.data, bytes.len);
    }
    totals->steps += replay.steps;
    totals->actions += replay.actions;
    if (failed) {
        totals->failed++;
        fprintf(errors, "%s: %s", path, err.text);
        if (replay.steps)
            fprintf(errors, " (%" PRIu64 " steps were the same until then)", replay.steps);
        fprintf(errors, "\n");
        before_release(before);
    } else {
        say_result(path, before, &replay, totals, out);
        remember(before, &replay);
    }
    tf_replay_release(&replay);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The logs in a folder, in order. */
static int list_folder(const char *path, struct tf_strs *files)
{
    DIR *folder = opendir(path);
    if (!folder)
        return -1;
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        size_t len = strlen(entry->d_name), suffix = strlen(".events");
        if (len <= suffix || strcmp(entry->d_name + len - suffix, ".events") != 0)
            continue;
        TF_AUTO_FREE char *file = tf_asprintf("%s/%s", path, entry->d_name);
        tf_strs_add(files, file);
    }
    closedir(folder);
    if (files->count)
        qsort(files->items, files->count, sizeof *files->items, by_text);
    return 0;
}

int replay_path(const char *path, struct replay_totals *totals, FILE *out, FILE *errors)
{
    struct stat st;
    struct tf_strs files = {0};
    struct before before = {0};
    int failed = 0;
    if (stat(path, &st)) {
        fprintf(errors, "%s: %s\n", path, strerror(errno));
        failed = -1;
    } else if (!S_ISDIR(st.st_mode)) {
        tf_strs_add(&files, path);
    } else if (list_folder(path, &files) || files.count == 0) {
        fprintf(errors, "%s: there is no event log (*.events) in this folder\n", path);
        failed = -1;
    }
    totals->failed += failed != 0;
    tf_vec_each (file, &files)
        replay_one(*file, &before, totals, out, errors);
    before_release(&before);
    tf_strs_release(&files);
    return failed;
}

void replay_print_totals(const struct replay_totals *t, FILE *out)
{
    fprintf(out,
            "%zu file%s, %llu steps, %llu actions: %zu differ%s, %zu cannot be replayed, %zu end within a "
            "record\n",
            t->files, t->files == 1 ? "" : "s", t->steps, t->actions, t->differing,
            t->differing == 1 ? "s" : "", t->failed, t->torn);
}
