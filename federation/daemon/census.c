/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the jobs for the metrics, a slice at a time, so that a million of them hold nothing up. A round
 * begins when something was written since the last one began; a job keeps its place in the order, so it is
 * counted once. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

enum {
    SLICE = 2000, /* jobs: about a millisecond */
    SLICE_EVERY_MS = 20,
    REST_MS = TF_SECOND,
};

struct census {
    struct fedd *fedd;
    struct tf_timer timer;
    bool counting, stale;
    char *tenant, *name; /* cursor */
    struct census_counts next, last;
};

static void counts_release(struct census_counts *counts)
{
    tf_vec_each (row, counts)
        free(row->class_name);
    tf_vec_release(counts);
}

static struct census_row *row_of(struct census_counts *counts, const char *class_name)
{
    tf_vec_each (row, counts)
        if (tf_str_eq(row->class_name, class_name))
            return row;
    struct census_row *row = tf_vec_add(counts);
    row->class_name = tf_strdup(class_name);
    return row;
}

static void count(struct census_counts *counts, const struct tf_job_record *job)
{
    struct census_row *row = row_of(counts, job->spec->priority);
    row->jobs[job->phase]++;
    if (job->phase != TF_PHASE_PENDING)
        return;
    row->waiting_gpus += (int64_t)job->spec->elastic.min * job->spec->group.shape.gpus;
    if (row->oldest.ms == 0 || job->submitted.ms < row->oldest.ms)
        row->oldest = job->submitted;
}

static void set_cursor(struct census *census, const struct tf_job_record *job)
{
    tf_str_set(&census->tenant, job ? job->tenant : NULL);
    tf_str_set(&census->name, job ? job->name : NULL);
}

static void finish(struct census *census)
{
    counts_release(&census->last);
    census->last = census->next;
    census->next = (struct census_counts){0};
    census->counting = false;
    set_cursor(census, NULL);
}

static void count_slice(struct census *census)
{
    const struct fed *fed = census->fedd->fed;
    const struct tf_job_record *job = fed_job_next(fed, census->tenant, census->name), *last = NULL;
    for (int i = 0; job && i < SLICE; i++) {
        count(&census->next, job);
        last = job;
        job = fed_job_next(fed, job->tenant, job->name);
    }
    if (job)
        set_cursor(census, last);
    else
        finish(census);
}

static void on_timer(struct tf_timer *timer)
{
    struct census *census = TF_CONTAINER_OF(timer, struct census, timer);
    struct fedd *fedd = census->fedd;
    if (fedd->fed && fedd->loaded && (census->counting || census->stale)) {
        if (!census->counting)
            census->stale = false;
        census->counting = true;
        count_slice(census);
    }
    int64_t wait = census->counting ? SLICE_EVERY_MS : REST_MS;
    tf_timer_start(fedd->loop, timer, (struct tf_mono){tf_loop_now(fedd->loop).mono.ms + wait}, on_timer);
}

void census_start(struct fedd *fedd)
{
    struct census *census = tf_calloc(1, sizeof *census);
    fedd->census = census;
    census->fedd = fedd;
    tf_timer_start(fedd->loop, &census->timer, tf_loop_now(fedd->loop).mono, on_timer);
}

void census_stale(struct fedd *fedd)
{
    if (fedd->census)
        fedd->census->stale = true;
}

void census_reset(struct fedd *fedd)
{
    if (!fedd->census)
        return;
    finish(fedd->census);
    counts_release(&fedd->census->last);
    fedd->census->stale = true;
}

const struct census_counts *census_counts(const struct fedd *fedd)
{
    static const struct census_counts none;
    return fedd->census ? &fedd->census->last : &none;
}

void census_stop(struct fedd *fedd)
{
    struct census *census = fedd->census;
    if (!census)
        return;
    tf_timer_cancel(fedd->loop, &census->timer);
    finish(census);
    counts_release(&census->last);
    free(census);
    fedd->census = NULL;
}
