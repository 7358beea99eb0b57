/* SPDX-License-Identifier: Apache-2.0 */
/* Owns plan files: YAML, first the plan as `plan -o yaml` prints it, then each manifest with its defaults
 * filled in. They are read back by the rows that wrote them. */
#include "tools/fedctl/view_plan.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tools/fedctl/file.h"

struct plan_file {
    struct plan_doc doc;
};

/* ---- writing ---- */

int plan_save(const struct plan *plan, const char *path, struct tf_error *err)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_buf_str(&text, "# What `fedctl apply --plan` will check before it applies the jobs below.\n");
    view_yaml(&view_plan, plan, &text);
    tf_vec_each (job, &plan->jobs) {
        tf_buf_str(&text, "---\n");
        view_yaml(view_of_manifest(&job->manifest->job), &job->manifest->job, &text);
    }
    return file_write(path, "the plan", &text, err);
}

/* ---- reading ---- */

int plan_load(const char *path, struct manifests *manifests, struct plan_file **out, struct tf_buf *problems)
{
    struct plan_file *file = tf_calloc(1, sizeof *file);
    if (manifests_load_after(manifests, path, &plan_doc_table, &file->doc, problems)) {
        plan_file_free(file);
        return -1;
    }
    *out = file;
    return 0;
}

bool plan_file_restart(const struct plan_file *file)
{
    return file->doc.restart;
}

void plan_file_free(struct plan_file *file)
{
    if (!file)
        return;
    tf_table_release(&plan_doc_table, &file->doc);
    free(file);
}

/* ---- comparing: what is decided counts, not what it costs, which grows with time ---- */

static void say_decision(const struct plan_job_doc *job, struct tf_buf *out)
{
    tf_buf_str(out, job->action ? job->action : "?");
    if (job->rows.count)
        tf_buf_fmt(out, ", %s%s", job->cluster ? "in " : "waits", job->cluster ? job->cluster : "");
    if (job->cluster)
        tf_buf_fmt(out, " with %d instance%s%s%s", job->size, job->size == 1 ? "" : "s",
                   job->model ? " on " : "", job->model ? job->model : "");
    for (size_t i = 0; i < job->victims.count; i++) {
        const struct plan_victim_doc *v = &job->victims.items[i];
        tf_buf_fmt(out, "%s%s", i ? ", " : "; gives way: ", v->job ? v->job : "?");
        if (!v->whole)
            tf_buf_fmt(out, " with %d", v->instances);
    }
    for (size_t i = 0; i < job->changes.count; i++)
        tf_buf_fmt(out, "%s%s", i ? ", " : "; changes: ", job->changes.items[i]);
}

static const struct plan_job_doc *find(const struct plan_doc *doc, const char *job)
{
    for (size_t i = 0; i < doc->jobs.count; i++)
        if (tf_str_eq(doc->jobs.items[i].job, job))
            return &doc->jobs.items[i];
    return NULL;
}

static bool compare(const struct plan_job_doc *now, const struct plan_job_doc *then, struct tf_buf *out)
{
    TF_AUTO_BUF decided = TF_BUF_INIT;
    TF_AUTO_BUF planned = TF_BUF_INIT;
    say_decision(now, &decided);
    if (then)
        say_decision(then, &planned);
    else
        tf_buf_str(&planned, "(not in the plan)");
    if (strcmp(tf_buf_text(&decided), tf_buf_text(&planned)) == 0)
        return true;
    tf_buf_fmt(out, "job %s: planned: %s\njob %s: now:     %s\n", now->job, tf_buf_text(&planned), now->job,
               tf_buf_text(&decided));
    return false;
}

bool plan_agrees(const struct plan_file *file, const struct plan *plan, struct tf_buf *differences)
{
    struct tf_arena *arena = tf_arena_create();
    struct plan_doc now;
    bool same = true;
    view_plan.fill(plan, &now, arena);
    tf_vec_each (job, &now.jobs)
        same &= compare(job, find(&file->doc, job->job), differences);
    tf_arena_destroy(arena);
    return same;
}
