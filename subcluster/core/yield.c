/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the promise to end an epoch for its successor in another subcluster. Once it is durable the successor
 * is the job, whatever becomes of the link: so it is never taken back, and what it was declined for once it
 * is never given for later. The leader orders the end as soon as it has heard of the promise; the moment kept
 * here is for the case that it cannot. */
#include "subcluster/core/yield.h"

#include "subcluster/core/allocation.h"
#include "subcluster/core/jobs.h"
#include "subcluster/core/trace.h"

static struct tf_mono moment_after(const struct sub *sub, int64_t wait)
{
    return (struct tf_mono){sub->now.mono.ms + (wait > 0 ? wait : 0)};
}

static void decline(struct sub *sub, struct job *job, uint64_t successor)
{
    if (job->record.declined >= successor)
        return;
    tf_reached(sub, SUB_YIELD_DECLINED);
    job->record.declined = successor;
    job_changed(sub, job);
}

void yield_take(struct sub *sub, struct job *job, const struct tf_entry *entry)
{
    struct tf_allocation *record = &job->record;
    if (entry->successor == 0 || record->successor != 0 || record->phase == TF_ALLOCATION_ENDING)
        return;
    if (entry->leave_after == 0) {
        decline(sub, job, entry->successor);
        return;
    }
    if (entry->successor <= record->declined)
        return;
    tf_reached(sub, SUB_YIELDS);
    record->successor = entry->successor;
    record->leave_at.ms = sub->now.wall.ms + entry->leave_after;
    job->leave_due = moment_after(sub, entry->leave_after);
    job_due_at(sub, job, job->leave_due);
    trace_epoch(sub, job, "is promised to epoch %llu in another subcluster: it ends in %lld s, or when told",
                (unsigned long long)entry->successor, (long long)(entry->leave_after / TF_SECOND));
    job_changed(sub, job);
}

void yield_load(struct sub *sub, struct job *job)
{
    const struct tf_allocation *record = &job->record;
    if (record->successor == 0 || record->phase == TF_ALLOCATION_ENDING)
        return;
    tf_reached(sub, SUB_YIELD_LOADED);
    job->leave_due = moment_after(sub, record->leave_at.ms - sub->now.wall.ms);
    job_due_at(sub, job, job->leave_due);
}

void yield_due(struct sub *sub, struct job *job)
{
    job->leave_due = TF_NEVER;
    tf_reached(sub, SUB_YIELDED_ALONE);
    char *message = tf_asprintf("it was promised to epoch %llu in another subcluster",
                                (unsigned long long)job->record.successor);
    epoch_end(sub, job, (struct ending){.end = TF_END_RELEASED, .message = message});
}
