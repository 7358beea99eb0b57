/* SPDX-License-Identifier: Apache-2.0 */
/* Owns explain eviction: for whom a job gave way, at which level, and what it lost by it. The job's events
 * tell it, as far back as they are kept. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/model/eviction.h"
#include "common/model/manifest.h"
#include "tools/fedctl/explain.h"
#include "tools/fedctl/target.h"
#include "tools/fedctl/view.h"
#include "tools/fedctl/when.h"

#include <inttypes.h>

struct eviction_doc {
    char *at, *by, *priority, *level, *text;
    int64_t epoch, lost_gpu_seconds;
    bool whole;
};
struct evictions_doc {
    char *job, *phase, *answer;
    int32_t evictions;
    int64_t lost_gpu_seconds;
    TF_VEC(struct eviction_doc) rows;
};

#define E struct eviction_doc
static const struct tf_row eviction_rows[] = {
    {.key = "at", TF_STRING(E, at)},
    {.key = "epoch", TF_INT64(E, epoch)},
    {.key = "by", TF_STRING(E, by)},
    {.key = "priority", TF_STRING(E, priority)},
    {.key = "level", TF_STRING(E, level)},
    {.key = "whole", TF_BOOL(E, whole)},
    {.key = "lostGpuSeconds", TF_INT64(E, lost_gpu_seconds)},
    {.key = "text", TF_STRING(E, text)},
};
#undef E
static const struct tf_table eviction_table = TF_TABLE(struct eviction_doc, eviction_rows);

#define D struct evictions_doc
static const struct tf_row evictions_rows[] = {
    {.key = "apiVersion", TF_CONST(TF_API_VERSION)},
    {.key = "kind", TF_CONST("Evictions")},
    {.key = "job", TF_STRING(D, job)},
    {.key = "phase", TF_STRING(D, phase)},
    {.key = "answer", TF_STRING(D, answer)},
    {.key = "evictions", TF_INT32(D, evictions)},
    {.key = "lostGpuSeconds", TF_INT64(D, lost_gpu_seconds)},
    {.key = "latest", TF_OBJECTS(D, rows, &eviction_table)},
};
#undef D
static const struct tf_table evictions_table = TF_TABLE(struct evictions_doc, evictions_rows);

/* ---- what the events tell ---- */

/* One in which the job gave way, with its sentence; the latest first. */
struct told {
    const struct tf_job_event *event;
    struct tf_eviction eviction; /* empty: the claims that it waited for were taken */
};
struct tolds {
    struct told *items;
    size_t count, cap;
};

static void collect(const struct tf_job_view *job, struct tolds *out)
{
    for (size_t i = job->events.count; i-- > 0;) {
        const struct tf_job_event *event = &job->events.items[i];
        struct told told = {.event = event};
        if (tf_eviction_find(event->text ? event->text : "", &told.eviction) ||
            tf_str_eq(event->type, "Evicted"))
            tf_vec_push(out, told);
    }
}

static void tolds_release(struct tolds *tolds)
{
    tf_vec_each (told, tolds)
        tf_eviction_release(&told->eviction);
    tf_vec_release(tolds);
}

static char *answer(const struct tf_job_view *job, const struct tolds *tolds)
{
    const struct tf_job_manifest *m = &job->manifest;
    if (job->evictions == 0 && tolds->count == 0)
        return tf_asprintf("%s/%s has never had to give way", m->tenant, m->name);
    TF_AUTO_BUF text = TF_BUF_INIT;
    int32_t times = job->evictions > (int32_t)tolds->count ? job->evictions : (int32_t)tolds->count;
    tf_buf_fmt(&text, "%s/%s gave way %d time%s, which cost it %" PRId64 " GPU-seconds", m->tenant, m->name,
               times, times == 1 ? "" : "s", job->lost_gpu_seconds);
    const struct tf_eviction *last = tolds->count ? &tolds->items[0].eviction : NULL;
    if (last && last->by)
        tf_buf_fmt(&text, "; the last time for %s (%s), which took what it held at %s", last->by,
                   last->priority, last->level);
    tf_buf_fmt(&text, "; now it is %s", tf_phase_name(job->phase));
    return tf_buf_take(&text);
}

/* ---- documents ---- */

static void fill(const struct tf_job_view *job, const struct tolds *tolds, struct tf_arena *arena,
                 struct evictions_doc *doc)
{
    char name[2 * TF_NAME_MAX + 2];
    snprintf(name, sizeof name, "%s/%s", job->manifest.tenant, job->manifest.name);
    *doc = (struct evictions_doc){.job = tf_arena_strdup(arena, name),
                                  .phase = view_word(tf_phase_name(job->phase)),
                                  .evictions = job->evictions,
                                  .lost_gpu_seconds = job->lost_gpu_seconds};
    doc->rows.items = tf_arena_alloc(arena, tolds->count + 1, sizeof *doc->rows.items);
    doc->rows.count = tolds->count;
    for (size_t i = 0; i < tolds->count; i++) {
        const struct told *told = &tolds->items[i];
        doc->rows.items[i] = (struct eviction_doc){.at = view_time(told->event->at, arena),
                                                   .epoch = (int64_t)told->event->epoch,
                                                   .by = told->eviction.by,
                                                   .priority = told->eviction.priority,
                                                   .level = told->eviction.level,
                                                   .whole = tf_str_eq(told->event->type, "Evicted"),
                                                   .lost_gpu_seconds = told->eviction.lost_gpu_seconds,
                                                   .text = told->event->text};
    }
}

static void print_document(struct fedctl *ctl, const struct tf_job_view *job, const struct tolds *tolds)
{
    struct tf_arena *arena = tf_arena_create();
    struct evictions_doc doc;
    TF_AUTO_FREE char *line = answer(job, tolds);
    fill(job, tolds, arena, &doc);
    doc.answer = line;
    explain_print(ctl, &evictions_table, &doc);
    tf_arena_destroy(arena);
}

/* ---- the screen ---- */

static const struct column columns[] = {
    {"TIME", 0}, {"EPOCH", COLUMN_RIGHT}, {"GAVE WAY TO", 0}, {"PRIORITY", 0}, {"LEVEL", 0}, {"LOST", 0},
    {"TEXT", 0},
};

static void add_row(const struct told *told, struct columns *out)
{
    char at[WHEN_TEXT];
    const struct tf_eviction *e = &told->eviction;
    columns_add(out, when_local(told->event->at, at));
    columns_add_fmt(out, "%" PRIu64, told->event->epoch);
    columns_add(out, e->by ? e->by : "");
    columns_add(out, e->priority ? e->priority : "");
    columns_add(out, e->level ? e->level : "");
    if (e->by)
        columns_add_fmt(out, "%" PRId64 " GPU-seconds", e->lost_gpu_seconds);
    else
        columns_add(out, "");
    columns_add(out, told->event->text);
}

static void print_people(struct fedctl *ctl, const struct tf_job_view *job, const struct tolds *tolds)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    TF_AUTO_FREE char *line = answer(job, tolds);
    struct columns table;
    columns_init(&table, columns, TF_ARRAY_LEN(columns));
    columns_text(&text, line, 0);
    tf_buf_char(&text, '\n');
    tf_vec_each (told, tolds)
        add_row(told, &table);
    explain_table(ctl, &table, &text);
    int32_t earlier = job->evictions - (int32_t)tolds->count;
    if (earlier > 0)
        tf_buf_fmt(&text, "%d more before: the events that told of %s are no longer kept\n", earlier,
                   earlier == 1 ? "it" : "them");
    out_buf(&ctl->out, &text);
}

/* Of those for whom it gave way. */
static void print_names(struct fedctl *ctl, const struct tolds *tolds)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_vec_each (told, tolds)
        if (told->eviction.by)
            tf_buf_fmt(&text, "%s\n", told->eviction.by);
    out_buf(&ctl->out, &text);
}

int explain_eviction(struct fedctl *ctl, const char *word)
{
    struct tf_reply reply;
    struct tolds tolds = {0};
    enum output output = ctl->options.output;
    int code = target_ask(ctl, TF_METHOD_GET, word, &reply);
    if (code == FEDCTL_DONE) {
        collect(&reply.job, &tolds);
        if (output == OUTPUT_JSON || output == OUTPUT_YAML)
            print_document(ctl, &reply.job, &tolds);
        else if (output == OUTPUT_NAME)
            print_names(ctl, &tolds);
        else
            print_people(ctl, &reply.job, &tolds);
    }
    tolds_release(&tolds);
    tf_reply_release(&reply);
    return code;
}
