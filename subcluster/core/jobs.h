/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_JOBS_H
#define TF_SUBCLUSTER_CORE_JOBS_H

#include "subcluster/core/state.h"

/* The jobs that have a record, and when each wants to be looked at. */

void jobs_init(struct sub *sub);
void jobs_release(struct sub *sub);

struct job *job_find(const struct sub *sub, struct tf_uid uid); /* NULL if there is none */
struct job *jobs_add(struct sub *sub, struct tf_uid uid);       /* there was none; the record is empty */
struct job *jobs_first(const struct sub *sub);                  /* by uid */
struct job *jobs_next(const struct job *job);
/* The record changed: it is persisted, then reported. */
void job_changed(struct sub *sub, struct job *job);
/* There is something to tell again. */
void job_tell(struct sub *sub, struct job *job);
/* Removes the job when nothing is left of it: no live epoch, no end to be stored. */
void job_drop_if_empty(struct sub *sub, struct job *job);

static inline bool job_lives(const struct job *job)
{
    return job->record.phase != TF_ALLOCATION_IDLE;
}
/* It has claims, and nothing of it runs. */
static inline bool claims_only(const struct job *job)
{
    return job->record.phase == TF_ALLOCATION_CLAIMING || job->record.phase == TF_ALLOCATION_RESERVED;
}
const struct tf_ended *job_ended(const struct job *job, uint64_t epoch); /* NULL if it is not among them */

/* Wants to be looked at at that time, besides those asked for before. */
void job_due_at(struct sub *sub, struct job *job, struct tf_mono at);
/* Looks through all its moments for the earliest. */
void job_due_again(struct sub *sub, struct job *job);
/* The job whose moment is the earliest; NULL if none waits. */
struct job *job_due_first(const struct sub *sub);

#endif
