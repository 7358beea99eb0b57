/* SPDX-License-Identifier: Apache-2.0 */
/* The decision trace: each decision is one line, and the latest lines about a job are kept for explain. */
#include "federation/core/trace.h"

#include "federation/core/candidate.h"
#include "federation/core/outbox.h"
#include "federation/core/queue.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { CLUSTERS_NAMED = 6, TEXT_MAX_BYTES = 1000 /* longer ones are cut */ };

static void add_shape(const struct tf_job_spec *spec, struct tf_buf *line)
{
    const struct tf_shape *shape = &spec->group.shape;
    tf_buf_int(line, spec->elastic.min);
    tf_buf_char(line, 'x');
    tf_buf_int(line, shape->gpus);
    for (size_t i = 0; i < shape->gpu_models.count; i++)
        tf_buf_cat(line, i ? "|" : " ", shape->gpu_models.items[i]);
}

/* "bj-a free 2, up to surplus(offline) 6 >= 4, cost 1.2 gpu-h" */
static void add_taking(struct tf_buf *line, const struct fed *fed, const struct job *job,
                       const struct cluster *cluster, const struct verdict *v)
{
    char level[TF_LEVEL_TEXT];
    int64_t tenths = fed_candidate_cost(job->record.spec, fed->now.wall, cluster, v) / 360;
    tf_buf_fmt(line, "%s free %d, up to %s %d >= %d, cost %" PRId64 ".%" PRId64 " gpu-h",
               cluster->record.name, v->free, tf_level_name(v->level, &fed->settings.policy.classes, level),
               v->count, job->record.spec->elastic.min, tenths / 10, tenths % 10);
}

static void add_candidate(const struct fed *fed, const struct shape *shape, const struct job *job,
                          const struct cluster *cluster, struct tf_buf *line)
{
    int32_t min = job->record.spec->elastic.min;
    enum tf_reason bar = fed_candidate_bar(fed, job, cluster);
    if (bar != TF_REASON_NONE) {
        tf_buf_cat(line, cluster->record.name, " ", tf_reason_name(bar));
        return;
    }
    assert(cluster->slot < shape->verdicts.count && "whoever may take it was asked");
    const struct verdict *v = &shape->verdicts.items[cluster->slot];
    if (v->change == cluster->change && v->fits && v->level > TF_LEVEL_FREE) {
        add_taking(line, fed, job, cluster, v);
        return;
    }
    tf_buf_cat(line, cluster->record.name, " free ");
    if (v->change == cluster->change) {
        tf_buf_int(line, v->count);
        tf_buf_str(line, v->fits ? " >= " : " < ");
        tf_buf_int(line, min);
    } else if (v->fits) { /* it was not looked at again */
        tf_buf_str(line, "<= ");
        tf_buf_int(line, v->free);
    } else { /* known from when it had more */
        tf_buf_str(line, "< ");
        tf_buf_int(line, min);
    }
}

char *fed_trace_candidates(const struct fed *fed, const struct shape *shape, const struct cluster *chosen)
{
    const struct job *job = fed_queue_first(shape);
    struct tf_buf line = TF_BUF_INIT;
    char level[TF_LEVEL_TEXT];
    tf_buf_stamp(&line, fed->now.mono);
    tf_buf_cat(&line, "job ", job->key, " needs ");
    add_shape(job->record.spec, &line);
    if (job->rank >= 0)
        tf_buf_cat(&line, " ", tf_level_name(tf_level_core(job->rank), &fed->settings.policy.classes, level));
    size_t named = 0;
    tf_vec_each (c, &fed->clusters) {
        if (*c != chosen && named >= CLUSTERS_NAMED)
            continue;
        tf_buf_str(&line, named++ ? "; " : ": ");
        add_candidate(fed, shape, job, *c, &line);
    }
    if (fed->clusters.count == 0)
        tf_buf_str(&line, ": no subcluster is registered");
    if (fed->clusters.count > named)
        tf_buf_fmt(&line, "; %zu more", fed->clusters.count - named);
    return tf_buf_take(&line);
}

static void keep(struct job *job, const char *line)
{
    if (job->decisions.count == FED_DECISIONS_KEPT) {
        free(job->decisions.items[0]);
        tf_vec_remove(&job->decisions, 0);
    }
    tf_strs_add(&job->decisions, line);
}

/* Takes the line. */
static void emit(struct fed *fed, struct job *job, char *line)
{
    if (job)
        keep(job, line);
    fed_outbox_now(fed, (struct fed_action){.kind = FED_ACT_TRACE, .text = line});
}

void fed_trace_placed(struct fed *fed, struct job *job, const struct tf_placement *placement,
                      const char *line)
{
    struct tf_buf whole = TF_BUF_INIT;
    tf_buf_cat(&whole, line, " -> ", placement->cluster, ", epoch ");
    tf_buf_uint(&whole, placement->epoch);
    tf_buf_str(&whole, ", size ");
    tf_buf_int(&whole, placement->size);
    emit(fed, job, tf_buf_take(&whole));
}

void fed_trace_waits(struct fed *fed, struct job *job)
{
    char *line = fed_trace_candidates(fed, job->shape, NULL);
    emit(fed, job, tf_asprintf("%s -> waits", line));
    free(line);
}

void fed_trace_job(struct fed *fed, struct job *job, const char *fmt, ...)
{
    struct tf_buf line = TF_BUF_INIT;
    tf_buf_stamp(&line, fed->now.mono);
    tf_buf_cat(&line, "job ", job->key, " ");
    size_t before = line.len;
    va_list args;
    va_start(args, fmt);
    tf_buf_vfmt(&line, fmt, args);
    va_end(args);
    if (line.len - before >= TEXT_MAX_BYTES)
        line.data[before + TEXT_MAX_BYTES - 1] = '\0';
    emit(fed, job, tf_buf_take(&line));
}

void fed_trace_line(struct fed *fed, const char *fmt, ...)
{
    char text[TEXT_MAX_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    struct tf_buf line = TF_BUF_INIT;
    tf_buf_stamp(&line, fed->now.mono);
    tf_buf_str(&line, text);
    emit(fed, NULL, tf_buf_take(&line));
}
