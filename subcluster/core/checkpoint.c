/* SPDX-License-Identifier: Apache-2.0 */
/* Owns when a job's work was last safe, and what a restart of it takes. What follows from that for growth is
 * absorb.c's, for evictions stakes.c's. */
#include "subcluster/core/checkpoint.h"

#include "subcluster/core/levels.h"
#include "subcluster/core/members.h"
#include "subcluster/core/trace.h"

/* FRESH at least LEAST: of a job that tells of more than one a minute there is always a fresh one. */
enum { CHECKPOINT_LEAST = TF_MINUTE, CHECKPOINT_FRESH = TF_MINUTE };

/* ---- checkpoints ---- */

/* ms; TF_NEVER's if there is none. */
static int64_t age(const struct sub *sub, const struct job *job)
{
    return job->record.last_checkpoint.ms ? sub->now.mono.ms - job->saved.ms : TF_NEVER.ms;
}

/* Who runs beside the job, before it joins or after it has left, does not speak for it. */
static bool speaks_for_it(const struct job *job, size_t place)
{
    const struct tf_member *m = &job->record.members.items[place];
    return m->state == TF_MEMBER_READY && member_is_peer(m);
}

void checkpoint_told(struct sub *sub, const struct tf_instance_id *id)
{
    struct job *job = job_find(sub, id->uid);
    size_t place = job ? member_find(job, id) : SIZE_MAX;
    if (place == SIZE_MAX || job->record.phase != TF_ALLOCATION_RUNNING || !speaks_for_it(job, place) ||
        age(sub, job) < CHECKPOINT_LEAST)
        return;
    tf_reached(sub, SUB_CHECKPOINT);
    job->record.last_checkpoint = sub->now.wall;
    job->saved = sub->now.mono;
    members_set_levels(sub, job); /* and with them what each has at stake */
    job_changed(sub, job);
    sub->absorb.due |= job->record.spec->grow == TF_GROW_ON_RESTART;
}

bool checkpoint_is_fresh(const struct sub *sub, const struct job *job)
{
    return age(sub, job) < CHECKPOINT_FRESH;
}

/* A wall clock that was set back makes none younger than it was. */
void checkpoint_load(struct sub *sub, struct job *job)
{
    int64_t ago = sub->now.wall.ms - job->record.last_checkpoint.ms;
    job->saved.ms = sub->now.mono.ms - (ago > 0 ? ago : CHECKPOINT_FRESH);
}

/* ---- restarts ---- */

void restart_begins(struct sub *sub, struct job *job)
{
    if (job->restarting.ms == TF_NEVER.ms)
        job->restarting = sub->now.mono;
}

void restart_fails(struct job *job)
{
    job->restarting = TF_NEVER;
}

static bool all_ready(const struct tf_allocation *record)
{
    tf_vec_each (m, &record->members)
        if (member_counts(m) && m->state != TF_MEMBER_READY && m->state != TF_MEMBER_DONE)
            return false;
    return true;
}

void restart_look(struct sub *sub, struct job *job)
{
    if (job->restarting.ms == TF_NEVER.ms || !all_ready(&job->record))
        return;
    int64_t took = sub->now.mono.ms - job->restarting.ms;
    job->record.restart_took = took > 0 ? took : 1;
    job->restarting = TF_NEVER;
    trace_epoch(sub, job, "took %lld ms to restart", (long long)job->record.restart_took);
    job_changed(sub, job);
}

/* What the latest start took, until the slowest of its instances was ready. */
static int64_t start_time(const struct tf_allocation *record)
{
    int64_t most = 0;
    tf_vec_each (m, &record->members)
        if (member_counts(m) && m->state == TF_MEMBER_READY)
            most = m->ready.ms - m->started.ms > most ? m->ready.ms - m->started.ms : most;
    return most;
}

int64_t restart_cost(const struct job *job)
{
    tf_vec_each (m, &job->record.members)
        if (member_counts(m) && m->state != TF_MEMBER_READY)
            return -1;
    return job->record.restart_took ? job->record.restart_took : start_time(&job->record);
}
