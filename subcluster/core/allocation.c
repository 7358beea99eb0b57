/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the phase of an allocation and its end. The members' own lives are members.c's. */
#include "subcluster/core/allocation.h"

#include "subcluster/core/levels.h"
#include "subcluster/core/members.h"
#include "subcluster/core/peers.h"
#include "subcluster/core/reclaim.h"
#include "subcluster/core/repair.h"
#include "subcluster/core/strays.h"
#include "subcluster/core/trace.h"

#include <assert.h>

/* Everything of the epoch is gone: its end is now a fact. */
static void epoch_over(struct sub *sub, struct job *job)
{
    struct tf_ended ended = job->record.ending;
    job->record.ending = (struct tf_ended){0};
    ended.epoch = job->record.epoch;
    ended.at = sub->now.wall;
    trace_epoch(sub, job, "ended %s%s%s", tf_end_name(ended.end), ended.message ? ": " : "",
                ended.message ? ended.message : "");
    tf_allocation_clear_epoch(&job->record);
    tf_vec_push(&job->record.ended, ended);
    tf_vec_release(&job->runs);
    job->runtime_due = job->protected_until = job->restart_due = job->repair_due = TF_NEVER;
    job->leave_due = TF_NEVER;
    job->grow_at = job->move_at = (struct tf_mono){0};
    job->restarting = TF_NEVER;
    job->unconfirmed = false;
    job->peers_due = false;
    job_due_again(sub, job);
    job_changed(sub, job);
    strays_judge(sub, job->record.uid);
}

void epoch_end(struct sub *sub, struct job *job, struct ending ending)
{
    struct tf_allocation *record = &job->record;
    assert(job_lives(job) && ending.end != TF_END_NONE);
    if (record->phase == TF_ALLOCATION_ENDING) {
        free(ending.message);
        return;
    }
    struct tf_ended *decided = &record->ending;
    decided->epoch = record->epoch;
    decided->end = ending.end;
    decided->reason = ending.reason;
    decided->exit_code = ending.exit_code;
    free(decided->message); /* of the latest failure that was retried */
    decided->message = ending.message;
    decided->evictions += ending.end == TF_END_EVICTED;
    decided->lost_gpu_seconds += ending.lost_gpu_seconds;
    tf_str_set(&decided->output, ending.output);
    if (record->claims.count) {
        job_changed(sub, job); /* the change by which they are given up */
        reclaim_drop(sub, job);
    }
    record->phase = TF_ALLOCATION_ENDING;
    record->restart_at = record->short_since = (struct tf_wall){0};
    job->runtime_due = job->protected_until = job->restart_due = job->repair_due = TF_NEVER;
    job->leave_due = TF_NEVER;
    trace_epoch(sub, job, "is ended %s%s%s", tf_end_name(ending.end), ending.message ? ": " : "",
                ending.message ? ending.message : "");
    job_changed(sub, job);
    members_set_levels(sub, job);
    if (members_any_live(job))
        peers_write(sub, job);
    members_stop_all(sub, job);
    epoch_look(sub, job);
}

void epoch_gave_way(struct sub *sub, struct job *job, char *message, int64_t lost_gpu_seconds)
{
    struct tf_ended *latest = &job->record.ending;
    assert(job_lives(job) && latest->end == TF_END_NONE);
    free(latest->message);
    latest->message = message;
    latest->at = sub->now.wall;
    latest->evictions++;
    tf_evicted_add(&job->record.evicted, sub->now.wall, 1);
    latest->lost_gpu_seconds += lost_gpu_seconds;
    job_changed(sub, job);
}

static bool core_ready(const struct tf_allocation *record)
{
    tf_vec_each (m, &record->members)
        if (m->mark == 0 && member_counts(m) && m->state != TF_MEMBER_READY && m->state != TF_MEMBER_DONE)
            return false;
    return true;
}

/* Done: by rank 0 alone, or by all that stay. An empty set has done nothing. */
static bool work_done(const struct tf_allocation *record)
{
    bool any = false;
    tf_vec_each (m, &record->members) {
        if (!member_counts(m))
            continue;
        if (m->state != TF_MEMBER_DONE)
            return false;
        any = true;
        if (record->spec->completion == TF_COMPLETION_RANK0)
            break; /* the first that stays has rank 0 */
    }
    return any;
}

void epoch_set_runtime(struct sub *sub, struct job *job)
{
    const struct tf_allocation *record = &job->record;
    if (record->spec->max_runtime <= 0 || record->started.ms == 0 || record->phase != TF_ALLOCATION_RUNNING)
        return;
    int64_t ran = sub->now.wall.ms - record->started.ms;
    int64_t left = record->spec->max_runtime - (ran > 0 ? ran : 0);
    job->runtime_due.ms = sub->now.mono.ms + (left > 0 ? left : 0);
    job_due_at(sub, job, job->runtime_due);
}

void epoch_runtime_over(struct sub *sub, struct job *job)
{
    job->runtime_due = TF_NEVER;
    tf_reached(sub, SUB_RUNTIME_OVER);
    char *message = tf_asprintf("maxRuntime: it ran for %lld s, which is all it may",
                                (long long)job->record.spec->max_runtime / TF_SECOND);
    epoch_end(sub, job, (struct ending){.end = TF_END_FAILED, .message = message});
}

void epoch_set_protection(struct sub *sub, struct job *job)
{
    const struct tf_allocation *record = &job->record;
    if (record->spec->min_runtime <= 0 || record->started.ms == 0 || record->phase != TF_ALLOCATION_RUNNING)
        return;
    int64_t ran = sub->now.wall.ms - record->started.ms;
    int64_t left = record->spec->min_runtime - (ran > 0 ? ran : 0);
    if (left <= 0)
        return;
    job->protected_until.ms = sub->now.mono.ms + left;
    job_due_at(sub, job, job->protected_until);
    members_set_levels(sub, job);
}

void epoch_protection_over(struct sub *sub, struct job *job)
{
    job->protected_until = TF_NEVER;
    members_set_levels(sub, job);
    trace_epoch(sub, job, "has run for its minRuntime: its core may be taken from now on");
}

void epoch_look(struct sub *sub, struct job *job)
{
    struct tf_allocation *record = &job->record;
    assert(job_lives(job));
    if (record->phase == TF_ALLOCATION_STARTING && core_ready(record)) {
        record->phase = TF_ALLOCATION_RUNNING;
        record->started = sub->now.wall;
        trace_epoch(sub, job, "runs: its core was ready after %lld ms",
                    (long long)(record->started.ms - record->accepted.ms));
        job_changed(sub, job);
        epoch_set_runtime(sub, job);
        epoch_set_protection(sub, job);
        repair_note(sub, job); /* its min may have been raised meanwhile */
    }
    if (record->phase == TF_ALLOCATION_ENDING && !members_any_live(job))
        epoch_over(sub, job);
    else if (record->phase != TF_ALLOCATION_ENDING && work_done(record))
        epoch_end(sub, job, (struct ending){.end = TF_END_FINISHED});
}

void epoch_record_end(struct sub *sub, struct tf_uid uid, const char *tenant, const char *name,
                      struct tf_ended ended)
{
    struct job *job = job_find(sub, uid);
    if (!job)
        job = jobs_add(sub, uid);
    if (!job->record.tenant)
        tf_str_set(&job->record.tenant, tenant ? tenant : "unknown");
    if (!job->record.name)
        tf_str_set(&job->record.name, name ? name : "unknown");
    assert(!job_ended(job, ended.epoch));
    ended.at = sub->now.wall;
    tf_vec_push(&job->record.ended, ended);
    job_changed(sub, job);
}
