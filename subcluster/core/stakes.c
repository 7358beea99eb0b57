/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what it costs if a member goes. Who goes is for victims.c to choose, which subcluster for the leader.
 */
#include "subcluster/core/stakes.h"

#include "subcluster/core/jobs.h"
#include "subcluster/core/levels.h"

enum { EVICTIONS_MAX = 10000 }; /* beyond, they weigh no more: sums stay in bounds */

/* What it did before its job's latest checkpoint is safe. */
static struct tf_wall unsafe_since(const struct sub *sub, const struct job *job, const struct tf_member *m)
{
    struct tf_wall since = m->ready.ms ? m->ready : m->started.ms ? m->started : sub->now.wall;
    return job->record.last_checkpoint.ms > since.ms ? job->record.last_checkpoint : since;
}

int64_t member_loss(const struct sub *sub, const struct job *job, const struct tf_member *m)
{
    if (m->role == TF_MEMBER_JOINS || m->role == TF_MEMBER_MOVES_IN)
        return 0; /* no member yet: it costs nothing */
    int64_t ms = sub->now.wall.ms - unsafe_since(sub, job, m).ms;
    ms = ms < 0 ? 0 : ms < sub->boot.loss_cap ? ms : sub->boot.loss_cap;
    return ms / TF_SECOND * job->record.spec->group.shape.gpus;
}

int32_t job_evicted_lately(const struct sub *sub, const struct job *job)
{
    int32_t lately = tf_evicted_lately(&job->record.evicted, sub->now.wall);
    return lately < EVICTIONS_MAX ? lately : EVICTIONS_MAX;
}

int64_t evictions_weight(const struct sub *sub, int64_t evictions, int64_t gpus)
{
    return evictions * (sub->boot.loss_cap / TF_SECOND) * gpus;
}

struct ledger_stake member_stake(const struct sub *sub, const struct job *job, const struct tf_member *m)
{
    return (struct ledger_stake){.since = unsafe_since(sub, job, m).ms / TF_SECOND,
                                 .evictions = job_evicted_lately(sub, job)};
}

struct tf_mono stakes_due(const struct sub *sub)
{
    int64_t left = TF_HOUR - sub->now.wall.ms % TF_HOUR;
    return sub->ledger.evictions ? (struct tf_mono){sub->now.mono.ms + left} : TF_NEVER;
}

void stakes_look(struct sub *sub)
{
    int64_t hour = sub->now.wall.ms / TF_HOUR;
    if (hour == sub->stakes_hour)
        return;
    sub->stakes_hour = hour;
    if (!sub->ledger.evictions)
        return;
    for (struct job *job = jobs_first(sub); job; job = jobs_next(job))
        members_set_levels(sub, job);
    sub->profiler.due = true;
}
