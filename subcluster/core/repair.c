/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the list of the jobs that are short, and the order in which they are served. How what they get becomes
 * part of them is grow.c's. */
#include "subcluster/core/repair.h"

#include "subcluster/core/grow.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/loss.h"
#include "subcluster/core/reclaim.h"
#include "subcluster/core/shortage.h"
#include "subcluster/core/trace.h"

#include <assert.h>

enum { TOLD_MAX = 4096 }; /* short jobs in one profile */

int32_t repair_missing(const struct job *job)
{
    const struct tf_allocation *record = &job->record;
    if (record->phase != TF_ALLOCATION_RUNNING || record->size >= record->spec->elastic.min)
        return 0;
    return record->spec->elastic.min - record->size;
}

/* Of a gang that has to have all its members: those that are lost or being replaced. */
static int32_t broken_members(const struct tf_allocation *record)
{
    int32_t count = 0;
    tf_vec_each (m, &record->members)
        count += m->state == TF_MEMBER_MISSING || (m->role == TF_MEMBER_REPLACES && member_stays(m->state));
    return record->phase == TF_ALLOCATION_RUNNING ? count : 0;
}

static bool is_short(const struct job *job)
{
    return repair_missing(job) > 0 || broken_members(&job->record) > 0;
}

void repair_again(struct sub *sub, struct tf_mono at)
{
    if (at.ms < sub->repair_at.ms)
        sub->repair_at = at;
}

static bool is_listed(const struct sub *sub, struct tf_uid uid)
{
    tf_vec_each (short_uid, &sub->shorts)
        if (tf_uid_eq(*short_uid, uid))
            return true;
    return false;
}

void repair_note(struct sub *sub, struct job *job)
{
    struct tf_allocation *record = &job->record;
    bool missing = is_short(job);
    sub->profiler.due |= missing || record->short_since.ms;
    if (!missing && record->short_since.ms) {
        record->short_since = (struct tf_wall){0};
        job->repair_due = TF_NEVER;
        tf_reached(sub, SUB_SHORT_NO_MORE);
        job_changed(sub, job);
    }
    job->serve = missing;
    sub->serve |= missing;
    if (!missing)
        return;
    if (record->short_since.ms == 0) {
        record->short_since = sub->now.wall;
        tf_reached(sub, SUB_SHORT);
        trace_epoch(sub, job, "is short: %d of %d instances", record->size - broken_members(record),
                    record->spec->elastic.min);
        job_changed(sub, job);
    }
    if (!is_listed(sub, record->uid))
        tf_vec_push(&sub->shorts, record->uid);
    loss_note(sub, job);
}

void repair_unbarred(struct sub *sub, struct job *job)
{
    if (job->record.short_since.ms == 0)
        return;
    job->serve = true;
    sub->serve = true;
}

/* ---- queue order: priority, submit time, uid (§5) ---- */

struct queued {
    int rank;
    struct tf_wall submitted;
    struct tf_uid uid;
};

static int by_queue(const void *a, const void *b)
{
    const struct queued *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank > y->rank ? -1 : 1;
    if (x->submitted.ms != y->submitted.ms)
        return x->submitted.ms < y->submitted.ms ? -1 : 1;
    return tf_uid_cmp(x->uid, y->uid);
}

/* ---- serving ---- */

static void serve(struct sub *sub, struct job *job)
{
    const struct tf_allocation *record = &job->record;
    int32_t steps = repair_missing(job) / record->spec->elastic.step;
    job->serve = false;
    if (job->unconfirmed)
        return;
    if (record->claims.count)
        reclaim_look_at(sub, job);
    else if (job->grow_at.ms > sub->now.mono.ms)
        repair_again(sub, job->grow_at);
    else if (broken_members(record) > 0)
        grow_replace(sub, job);
    else if (steps > 0 && grow_steps(sub, job, steps) == 0)
        shortage_serve(sub, job);
}

/* Those that are short still, in the order in which they are served: all of them, or those that are short in
 * another way than before. For the rest nothing has changed: what did not fit them does not now. */
static void serve_due(struct sub *sub, bool all)
{
    TF_VEC(struct queued) queue = {0};
    tf_vec_each (uid, &sub->shorts) {
        const struct job *job = job_find(sub, *uid);
        if (job && is_short(job))
            tf_vec_push(&queue,
                        (struct queued){class_rank(sub, job->record.spec), job->record.submitted, *uid});
    }
    if (queue.count > 1)
        qsort(queue.items, queue.count, sizeof *queue.items, by_queue);
    sub->shorts.count = 0;
    tf_vec_each (next, &queue)
        tf_vec_push(&sub->shorts, next->uid);
    tf_vec_each (next, &queue) {
        struct job *job = job_find(sub, next->uid);
        bool over = !job || !is_short(job); /* one that was served before it has taken what it had */
        if (!over && (all || job->serve))
            serve(sub, job);
    }
    tf_vec_release(&queue);
}

/* A restored store may think an epoch short that has ended since: it is not begun again. */
static bool may_look(const struct sub *sub)
{
    return sub->listed && !sub->unsure && sub->shorts.count;
}

void repair_look(struct sub *sub)
{
    if (!may_look(sub))
        return;
    bool all = sub->repair_at.ms <= sub->now.mono.ms || sub->offers.over;
    if (!all && !sub->serve)
        return;
    if (all)
        sub->repair_at = TF_NEVER;
    sub->serve = false;
    serve_due(sub, all);
}

/* ---- for the leader ---- */

/* What the leader keeps free for it must be what it will take: else others would wait for nothing. */
static int32_t fits_now(const struct sub *sub, const struct job *job, int32_t missing)
{
    const struct tf_job_spec *spec = job->record.spec;
    struct tf_demand demand = {0};
    bool none = spec->group.shape.gpus > 0 && ledger_sums(&sub->ledger)->health.free_gpus == 0;
    if (none || !may_look(sub) || missing < spec->elastic.step || grow_bar(sub, job) ||
        !grow_demand(sub, job, &demand)) {
        tf_demand_release(&demand);
        return 0;
    }
    int32_t count = grow_count(sub, &demand);
    tf_demand_release(&demand);
    count = count < missing ? count : missing;
    return count - count % spec->elastic.step;
}

/* Nothing is on its way for it, nor claimed. */
static int32_t still_missing(const struct job *job)
{
    return repair_missing(job) - grow_joining(&job->record) - (int32_t)job->record.claims.count;
}

void repair_tell(const struct sub *sub, struct tf_profile *profile)
{
    tf_vec_each (uid, &sub->shorts) {
        const struct job *job = job_find(sub, *uid);
        int32_t missing = job ? still_missing(job) : 0;
        int rank = job ? class_rank(sub, job->record.spec) : -1;
        if (missing <= 0 || rank < 0 || profile->shorts.count == TOLD_MAX)
            continue;
        struct tf_short_demand demand = {
            .uid = *uid, .rank = rank, .missing = missing, .fits = fits_now(sub, job, missing)};
        tf_vec_push(&profile->shorts, demand);
    }
}

struct tf_mono repair_due(const struct sub *sub)
{
    if (!may_look(sub))
        return TF_NEVER;
    return sub->serve ? sub->now.mono : sub->repair_at;
}
