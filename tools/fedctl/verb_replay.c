/* SPDX-License-Identifier: Apache-2.0 */
/* Owns replay: which jobs of a trace are replayed, and the summary of their waits; the run is in replaying.c.
 */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/loop/loop.h"
#include "common/model/manifest.h"
#include "tools/fedctl/replaying.h"
#include "tools/fedctl/view.h"
#include "tools/fedctl/when.h"

#define O struct options
static const struct option options[] = {
    {0,
     "N",
     {.key = "time-scale",
      TF_INT64(O, time_scale),
      .min = 1,
      .max = TF_TRACE_SCALE_MAX,
      .def = "1",
      .help = "so much faster: with 3600 an hour becomes a second"}},
    {0,
     "N",
     {.key = "limit",
      TF_INT64(O, limit),
      .min = 1,
      .max = TF_TRACE_JOBS_MAX,
      .flags = TF_ROW_ZERO,
      .help = "only the first so many jobs"}},
    {'p',
     "CLASS",
     {.key = "priority",
      TF_NAME(O, job.spec.priority),
      .help = "of all jobs; absent = as the file says, else `priority:` of fedctl.yaml"}},
    {'t',
     "TENANT",
     {.key = "tenant",
      TF_NAME(O, tenant),
      .help = "of all jobs; absent = `tenant:` of fedctl.yaml, else as the file says"}},
    {0, NULL, {.key = "any-model", TF_BOOL(O, any_model), .help = "whatever GPU models the file asks for"}},
    OPTION_DURATION("give up after so long; absent = when all have ended"),
    OPTION_OUTPUT_OBJECT,
};
#undef O

/* ---- waits ---- */

struct waits {
    char *name;
    int32_t jobs, started;
    int64_t p50, p90, p99, max, mean; /* ms */
};
struct summary {
    char *id;
    int64_t time_scale, elapsed, lag;
    int32_t submitted, refused, succeeded, failed, deleted, running;
    TF_VEC(struct waits) classes;
    struct waits all;
};

#define W struct waits
static const struct tf_row waits_rows[] = {
    {.key = "name", TF_STRING(W, name)},      {.key = "jobs", TF_INT32(W, jobs)},
    {.key = "started", TF_INT32(W, started)}, {.key = "p50", TF_DURATION(W, p50)},
    {.key = "p90", TF_DURATION(W, p90)},      {.key = "p99", TF_DURATION(W, p99)},
    {.key = "max", TF_DURATION(W, max)},      {.key = "mean", TF_DURATION(W, mean)},
};
#undef W
static const struct tf_table waits_table = TF_TABLE(struct waits, waits_rows);
#define S struct summary
static const struct tf_row summary_rows[] = {
    {.key = "apiVersion", TF_CONST(TF_API_VERSION)},
    {.key = "kind", TF_CONST("Replay")},
    {.key = "replay", TF_STRING(S, id)},
    {.key = "timeScale", TF_INT64(S, time_scale)},
    {.key = "elapsed", TF_DURATION(S, elapsed)},
    {.key = "latestSubmit", TF_DURATION(S, lag)},
    {.key = "submitted", TF_INT32(S, submitted)},
    {.key = "refused", TF_INT32(S, refused)},
    {.key = "succeeded", TF_INT32(S, succeeded)},
    {.key = "failed", TF_INT32(S, failed)},
    {.key = "deleted", TF_INT32(S, deleted)},
    {.key = "unfinished", TF_INT32(S, running)},
    {.key = "waits", TF_OBJECT(S, all, &waits_table)},
    {.key = "waitsByPriority", TF_OBJECTS(S, classes, &waits_table)},
};
#undef S
static const struct tf_table summary_table = TF_TABLE(struct summary, summary_rows);

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* The smallest value that so many percent of them do not exceed. */
static int64_t percentile(const int64_t *sorted, size_t count, size_t percent)
{
    size_t rank = (count * percent + 99) / 100;
    return sorted[rank > 0 ? rank - 1 : 0];
}

/* Of one class, or of all. */
static struct waits measure(const struct replaying *r, char *class)
{
    struct waits waits = {.name = class};
    TF_VEC(int64_t) values = {0};
    int64_t sum = 0;
    for (size_t i = 0; i < r->count; i++) {
        const struct replayed *one = &r->jobs[i];
        if (!one->phase || (class && strcmp(one->job->priority, class) != 0))
            continue;
        waits.jobs++;
        if (one->wait == TF_UNSET)
            continue;
        tf_vec_push(&values, one->wait);
        sum += one->wait;
    }
    if (values.count) {
        qsort(values.items, values.count, sizeof *values.items, by_value);
        waits.started = (int32_t)values.count;
        waits.p50 = percentile(values.items, values.count, 50);
        waits.p90 = percentile(values.items, values.count, 90);
        waits.p99 = percentile(values.items, values.count, 99);
        waits.max = values.items[values.count - 1];
        waits.mean = sum / (int64_t)values.count;
    }
    tf_vec_release(&values);
    return waits;
}

static void measure_classes(const struct replaying *r, struct summary *s)
{
    for (size_t i = 0; i < r->count; i++) {
        bool known = !r->jobs[i].phase;
        tf_vec_each (class, &s->classes)
            known |= strcmp(class->name, r->jobs[i].job->priority) == 0;
        if (!known)
            tf_vec_push(&s->classes, measure(r, r->jobs[i].job->priority));
    }
}

static void summarise(struct replaying *r, struct summary *s)
{
    *s = (struct summary){.id = r->id,
                          .time_scale = r->ctl->options.time_scale,
                          .elapsed = r->elapsed,
                          .lag = r->lag,
                          .submitted = (int32_t)r->submitted,
                          .refused = (int32_t)r->refused,
                          .all = measure(r, NULL)};
    for (const struct replayed *one = r->by_uid; one; one = one->hh.next) {
        s->succeeded += one->phase == TF_PHASE_SUCCEEDED;
        s->failed += one->phase == TF_PHASE_FAILED;
        s->deleted += one->phase == TF_PHASE_DELETED;
        s->running += !tf_phase_is_final(one->phase);
    }
    measure_classes(r, s);
}

/* ---- for people ---- */

static const struct column columns[] = {
    {"PRIORITY", 0},       {"JOBS", COLUMN_RIGHT}, {"STARTED", COLUMN_RIGHT}, {"WAIT-P50", COLUMN_RIGHT},
    {"P90", COLUMN_RIGHT}, {"P99", COLUMN_RIGHT},  {"MAX", COLUMN_RIGHT},     {"MEAN", COLUMN_RIGHT},
};

static void add_seconds(struct columns *table, const struct waits *waits, int64_t ms)
{
    if (waits->started)
        columns_add_fmt(table, "%.2fs", (double)ms / 1000);
    else
        columns_add(table, "-");
}

static void add_waits(struct columns *table, const struct waits *waits, const char *name)
{
    columns_add(table, name);
    columns_add_fmt(table, "%d", waits->jobs);
    columns_add_fmt(table, "%d", waits->started);
    add_seconds(table, waits, waits->p50);
    add_seconds(table, waits, waits->p90);
    add_seconds(table, waits, waits->p99);
    add_seconds(table, waits, waits->max);
    add_seconds(table, waits, waits->mean);
}

static void print_people(const struct replaying *r, const struct summary *s, struct tf_buf *buf)
{
    char span[WHEN_TEXT];
    struct columns table;
    tf_buf_fmt(buf,
               "%d submitted: %d succeeded, %d failed, %d deleted, %d unfinished; %d refused; %s in all\n\n",
               s->submitted, s->succeeded, s->failed, s->deleted, s->running, s->refused,
               when_span(s->elapsed, span));
    columns_init(&table, columns, TF_ARRAY_LEN(columns));
    tf_vec_each (class, &s->classes)
        add_waits(&table, class, class->name);
    add_waits(&table, &s->all, "all");
    columns_print(&table, &r->ctl->out.style, buf);
    columns_release(&table);
}

static void print(struct replaying *r)
{
    struct summary summary;
    TF_AUTO_BUF text = TF_BUF_INIT;
    summarise(r, &summary);
    if (r->ctl->options.output == OUTPUT_JSON)
        view_table_json(&summary_table, &summary, &text);
    else if (r->ctl->options.output == OUTPUT_YAML)
        view_table_yaml(&summary_table, &summary, &text);
    else
        print_people(r, &summary, &text);
    tf_vec_release(&summary.classes);
    out_buf(&r->ctl->out, &text);
}

/* ---- which jobs ---- */

/* What this replay does not have is left out, and told. */
static int choose(struct fedctl *ctl, struct tf_trace_jobs *jobs, size_t *count)
{
    size_t limit = ctl->options.limit ? (size_t)ctl->options.limit : SIZE_MAX, endless = 0, parts = 0;
    *count = 0;
    for (size_t i = 0; i < jobs->count && *count < limit; i++) {
        struct tf_trace_job *job = &jobs->items[i], kept = *job;
        if (!job->duration) {
            endless++;
            continue;
        }
        if (!job->priority && !ctl->config.priority)
            return fedctl_usage(ctl, "job %.64s has no priority: say --priority CLASS for all", job->id);
        if (!job->priority)
            kept.priority = tf_strdup(ctl->config.priority);
        if (ctl->options.any_model)
            tf_str_set(&kept.gpu_models, NULL);
        if (ctl->options.tenant)
            tf_str_set(&kept.tenant, ctl->options.tenant);
        parts += kept.fractional ? 1 : 0;
        *job = jobs->items[*count]; /* one that was left out before, or itself */
        jobs->items[(*count)++] = kept;
    }
    if (endless)
        message("%zu jobs without a duration are left out: they would not end", endless);
    if (parts)
        message("%zu jobs ask for a part of a GPU and get a whole one", parts);
    if (*count == 0)
        return fedctl_usage(ctl, "%.200s: no job to replay", ctl->words.items[0]);
    return FEDCTL_DONE;
}

static int replay(struct fedctl *ctl, const struct tf_trace_jobs *jobs, size_t count)
{
    struct replaying r;
    struct tf_error err = TF_ERROR_INIT;
    if (replaying_init(&r, ctl, jobs, count, &err))
        return fedctl_fail(ctl, &err);
    if (ctl->options.duration)
        r.deadline.ms = tf_clock_read().mono.ms + ctl->options.duration;
    message("%zu jobs, %lld times as fast; all have the label replay=%s: `fedctl get jobs -A -l replay=%s`",
            count, (long long)ctl->options.time_scale, r.id, r.id);
    int code = replaying_run(&r);
    size_t succeeded = 0;
    for (const struct replayed *one = r.by_uid; one; one = one->hh.next)
        succeeded += one->phase == TF_PHASE_SUCCEEDED;
    if (r.submitted)
        print(&r);
    if (code == FEDCTL_TIMED_OUT || (code && r.submitted))
        message("what is left goes on; end it with: fedctl get jobs -A -l replay=%s -o name | xargs -r "
                "fedctl delete",
                r.id);
    if (code == FEDCTL_DONE && succeeded < count)
        code = FEDCTL_FAILED;
    replaying_release(&r);
    return code;
}

static int run(struct fedctl *ctl)
{
    struct tf_error err = TF_ERROR_INIT;
    struct tf_trace_jobs jobs = {0};
    size_t count;
    if (ctl->words.count != 1)
        return fedctl_usage(ctl, "which trace? Say one file: fedctl replay jobs.csv.gz --time-scale 3600");
    const struct tf_trace_options how = {.priority = ctl->options.job.spec.priority,
                                         .time_scale = ctl->options.time_scale};
    if (tf_trace_jobs_read(ctl->words.items[0], &how, &jobs, &err)) {
        message("%s", err.text);
        return FEDCTL_USAGE;
    }
    int code = choose(ctl, &jobs, &count);
    if (code == FEDCTL_DONE)
        code = replay(ctl, &jobs, count);
    tf_trace_jobs_release(&jobs);
    return code;
}

const struct verb verb_replay = {
    .name = "replay",
    .usage = "TRACE.csv[.gz] [--time-scale N] [--limit N]",
    .help = "Submit the jobs of a trace at their moments, and tell how long they waited",
    .more = "Each job of the file becomes a real job that sleeps for its duration; all times are divided by\n"
            "--time-scale. Columns by name: job_id, submit_s, duration_s, gpus_per_instance, and if they are "
            "there\n"
            "instances, cpus_per_instance, mem_gib_per_instance, gpu_model, priority_class, tenant, kind. A "
            "wait is\n"
            "the time from a submit until the job runs. Ctrl-C ends the replay, not its jobs.\n"
            "Exit code 0: all succeeded; 1: some did not; 4: not all had ended after --duration.",
    .examples = "# The first 300 jobs, an hour a second\n"
                "fedctl replay jobs.csv.gz --time-scale 3600 --limit 300 -p batch\n"
                "# Figures for a program\n"
                "fedctl replay jobs.csv --time-scale 60 -o json > waits.json\n",
    .options = OPTION_LIST(options),
    .run = run,
};
