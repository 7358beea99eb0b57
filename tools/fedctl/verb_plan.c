/* SPDX-License-Identifier: Apache-2.0 */
/* Owns plan: what apply would do, where the jobs would go, and who would give way. */
#include "tools/fedctl/view_plan.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tools/fedctl/change.h"
#include "tools/fedctl/when.h"

/* What plan ends with (DESIGN.md §3.1); scripts rely on it. */
enum { PLAN_NOTHING = 0, PLAN_CHANGES = 1, PLAN_CANNOT = 2, PLAN_ERROR = 3 };

static const struct option options[] = {
    OPTION_MANIFESTS,
    OPTION_RESTART("as apply --restart: also changes that need a new start"),
    {0,
     "FILE",
     {.key = "out",
      TF_STRING(struct options, out),
      .help = "also write the plan to this file, for apply --plan"}},
    OPTION_OUTPUT_OBJECT,
};

/* ---- the subclusters ---- */

static const struct column cluster_columns[] = {
    {"CLUSTER", 0},          {"VERDICT", 0}, {"FREE", COLUMN_RIGHT},    {"CAN-TAKE", COLUMN_RIGHT},
    {"ASKED", COLUMN_RIGHT}, {"LEVEL", 0},   {"VICTIMS", COLUMN_RIGHT}, {"GPU-SECONDS", COLUMN_RIGHT},
    {"WAIT", COLUMN_RIGHT},  {"TEXT", 0},
};

static void add_verdict(const struct tf_plan_row *row, const char *chosen, struct columns *out)
{
    if (row->reason)
        columns_add_styled(out, CELL_WAITING, tf_reason_name(row->reason));
    else if (tf_str_eq(row->cluster, chosen))
        columns_add_styled(out, CELL_GOOD, "CHOSEN");
    else
        columns_add(out, "FITS");
}

static void add_text(const struct tf_plan_row *row, struct columns *out)
{
    char age[WHEN_TEXT];
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_buf_str(&text, row->text ? row->text : "");
    if (row->unblock)
        tf_buf_fmt(&text, "%sto unblock: %s", text.len ? "; " : "", row->unblock);
    if (!row->reason && !row->answered)
        tf_buf_fmt(&text, "%scounted from its profile of %s ago: it did not say itself", text.len ? "; " : "",
                   when_span(row->age_ms, age));
    columns_add(out, tf_buf_text(&text));
}

static void add_cluster(const struct tf_plan_row *row, const char *chosen, struct columns *out)
{
    char wait[WHEN_TEXT];
    bool told = row->answered && !row->reason;
    columns_add(out, row->cluster);
    add_verdict(row, chosen, out);
    columns_add_fmt(out, "%d", row->free);
    columns_add_fmt(out, "%d", row->has);
    columns_add_fmt(out, "%d", row->asked);
    columns_add(out, row->level ? row->level : "");
    if (told) {
        columns_add_fmt(out, "%d", row->jobs);
        columns_add_fmt(out, "%lld", (long long)row->lost_gpu_seconds);
        columns_add(out, when_span(row->wait, wait));
    } else {
        columns_add(out, "");
        columns_add(out, "");
        columns_add(out, "");
    }
    add_text(row, out);
}

static void print_table(struct fedctl *ctl, struct columns *table, struct tf_buf *buf)
{
    struct columns_style style = ctl->out.style;
    style.terminal = 0; /* the texts are what was asked for */
    style.indent = 2;
    if (columns_rows(table)) {
        tf_buf_char(buf, '\n');
        columns_print(table, &style, buf);
    }
    columns_release(table);
}

static void print_clusters(struct fedctl *ctl, const struct tf_plan_reply *reply, struct tf_buf *buf)
{
    struct columns table;
    columns_init(&table, cluster_columns, TF_ARRAY_LEN(cluster_columns));
    tf_vec_each (row, &reply->rows)
        add_cluster(row, reply->cluster, &table);
    print_table(ctl, &table, buf);
}

/* ---- who gives way ---- */

static const struct column victim_columns[] = {
    {"GIVES WAY", 0},
    {"INSTANCES", 0},
    {"LEVEL", 0},
    {"LOSES", 0},
};

static void print_victims(struct fedctl *ctl, const struct tf_place_plan *plan, struct tf_buf *buf)
{
    struct columns table;
    columns_init(&table, victim_columns, TF_ARRAY_LEN(victim_columns));
    tf_vec_each (v, &plan->victims) {
        columns_add_fmt(&table, "%s/%s", v->tenant, v->name);
        if (v->whole)
            columns_add_fmt(&table, "all %d", v->instances);
        else
            columns_add_fmt(&table, "%d of %d", v->instances, v->size);
        columns_add(&table, v->level ? v->level : "");
        columns_add_fmt(&table, "%lld GPU-seconds", (long long)v->lost_gpu_seconds);
    }
    print_table(ctl, &table, buf);
    if (plan->jobs > (int32_t)plan->victims.count)
        tf_buf_fmt(buf, "  and %d more\n", plan->jobs - (int32_t)plan->victims.count);
}

/* ---- the screen ---- */

static void print_job(struct fedctl *ctl, const struct planned *job, struct tf_buf *buf)
{
    const struct tf_job_manifest *m = &job->manifest->job;
    tf_buf_fmt(buf, "%s %s/%s: %s", tf_is_reservation(&m->spec) ? "reservation" : "job", m->tenant, m->name,
               plan_word(job->action));
    for (size_t i = 0; i < job->changes.count; i++)
        tf_buf_fmt(buf, "%s%s", i ? ", " : " ", job->changes.items[i]);
    if (job->refusal) {
        tf_buf_str(buf, ": ");
        columns_text(buf, job->refusal, 0);
    }
    tf_buf_char(buf, '\n');
    if (!job->placed)
        return;
    tf_buf_str(buf, "  ");
    columns_text(buf, job->reply.answer ? job->reply.answer : "no answer", 0);
    tf_buf_char(buf, '\n');
    if (job->action == PLAN_RESTART)
        tf_buf_str(buf, "  (counted while its present epoch still has what it has)\n");
    print_clusters(ctl, &job->reply, buf);
    print_victims(ctl, &job->reply.plan, buf);
    tf_buf_char(buf, '\n');
}

static void print_sum(const struct plan *plan, struct tf_buf *buf)
{
    size_t counts[PLAN_REFUSE + 1] = {0}, placed = 0, waits = 0;
    tf_vec_each (job, &plan->jobs) {
        counts[job->action]++;
        placed += job->placed;
        waits += job->placed && !job->reply.cluster;
    }
    tf_buf_fmt(buf, "%zu jobs: ", plan->jobs.count);
    const char *and = "";
    for (int a = PLAN_UNCHANGED; a <= PLAN_REFUSE; a++)
        if (counts[a]) {
            tf_buf_fmt(buf, "%s%zu %s", and, counts[a], plan_word((enum plan_action)a));
            and = ", ";
        }
    if (waits)
        tf_buf_fmt(buf, "; %zu would wait", waits);
    if (placed > 1)
        tf_buf_str(buf, "; each is counted as if it came alone");
    tf_buf_char(buf, '\n');
}

static void print_plan(struct fedctl *ctl, const struct plan *plan)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    if (ctl->options.output == OUTPUT_JSON)
        view_json(&view_plan, plan, &text);
    else if (ctl->options.output == OUTPUT_YAML)
        view_yaml(&view_plan, plan, &text);
    else {
        tf_vec_each (job, &plan->jobs)
            print_job(ctl, job, &text);
        if (plan->jobs.count > 1)
            print_sum(plan, &text);
    }
    out_buf(&ctl->out, &text);
}

static int exit_of(const struct plan *plan)
{
    int code = PLAN_NOTHING;
    tf_vec_each (job, &plan->jobs) {
        int own = job->action == PLAN_UNCHANGED ? PLAN_NOTHING : PLAN_CHANGES;
        if (job->action == PLAN_REFUSE || (job->placed && !job->reply.cluster))
            own = PLAN_CANNOT;
        code = own > code ? own : code;
    }
    return code;
}

static int plan_all(struct fedctl *ctl, const struct manifests *manifests)
{
    struct plan plan;
    struct tf_error err = TF_ERROR_INIT;
    if (plan_make(ctl, manifests, ctl->options.restart, &plan, &err))
        return fedctl_fail(ctl, &err);
    print_plan(ctl, &plan);
    int code = exit_of(&plan);
    if (ctl->options.out && plan_save(&plan, ctl->options.out, &err))
        code = fedctl_fail(ctl, &err);
    plan_release(&plan);
    return code;
}

static int run(struct fedctl *ctl)
{
    if (ctl->words.count)
        return fedctl_usage(ctl, "plan takes files with -f, not \"%.100s\"", ctl->words.items[0]);
    if (ctl->options.files.count == 0)
        return fedctl_usage(ctl, "which manifests? Say -f FILE, -f FOLDER or -f -");
    struct manifests manifests = {0};
    TF_AUTO_BUF problems = TF_BUF_INIT;
    int code = PLAN_ERROR;
    if (manifests_load(&manifests, &ctl->options.files, &problems))
        fputs(tf_buf_text(&problems), stderr);
    else
        code = plan_all(ctl, &manifests);
    manifests_release(&manifests);
    return code;
}

const struct verb verb_plan = {
    .name = "plan",
    .usage = "-f FILE|FOLDER|- [--restart] [--out FILE]",
    .help = "Say what apply would do, where jobs would go and who would give way",
    .more =
        "Changes nothing, but needs the rights that apply needs. Of each job that would be placed, the "
        "table\n"
        "has every cluster in the order of preference: instances that fit in what is FREE, that it CAN-TAKE "
        "by\n"
        "its priority, and are ASKED for; the highest LEVEL that would be taken, the jobs that would give "
        "way\n"
        "and what they lose, and how long until they must have gone. Clusters answer for themselves, by "
        "what\n"
        "they would do; one that does not in 2 s is counted by its latest profile. Jobs are counted one by\n"
        "one, each as if it came alone.\n"
        "Exit code: 0 nothing to do, 1 changes, 2 something would be refused or wait, 3 no answer.",
    .examples = "fedctl plan -f job.yaml\n"
                "# Look first, then apply exactly that: it is refused if the answer has changed\n"
                "fedctl plan -f jobs/ --out monday.plan\n"
                "fedctl apply --plan monday.plan\n"
                "# For programs\n"
                "fedctl plan -f job.yaml -o json\n",
    .options = OPTION_LIST(options),
    .trouble = PLAN_ERROR,
    .run = run,
};
