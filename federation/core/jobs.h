/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_JOBS_H
#define TF_FEDERATION_CORE_JOBS_H

#include "federation/core/state.h"

/* The table of jobs, and what may happen to one (update, apart from what follows from it). NULL if there is
 * none. */
struct job *fed_job_by_key(const struct fed *fed, const char *key);
struct job *fed_job_by_name(const struct fed *fed, const char *tenant, const char *name);
struct job *fed_job_by_uid(const struct fed *fed, struct tf_uid uid);
/* In order of (tenant, name): the first greater one. */
struct job *fed_job_after(const struct fed *fed, const char *tenant, const char *name);
struct job *fed_job_first(const struct fed *fed);
struct job *fed_job_following(const struct job *job);

int fed_jobs_cmp(const struct tf_tree_node *a, const struct tf_tree_node *b); /* the order of fed.jobs */

/* Takes the record; its name and uid are new. The job is filed where its record says it belongs. */
struct job *fed_job_add(struct fed *fed, struct tf_job_record *record);
/* Out of every list, and gone. */
void fed_job_remove(struct fed *fed, struct job *job);
void fed_job_destroy(struct job *job); /* its memory only */

bool fed_job_is_waiting(const struct job *job); /* for a place */
struct tf_placement *fed_job_placement(struct job *job, uint64_t epoch);
/* The latest one; NULL if nothing of the job can be running. */
const struct tf_placement *fed_job_last_placement(const struct job *job);

/* Commits the job to a place: the counter goes up by one. One that does not wait gets a second place, which
 * is not the job as yet. The caller touches the job. Valid until it changes. */
struct tf_placement *fed_job_place(struct fed *fed, struct job *job, struct cluster *cluster, int32_t size);
/* An epoch that runs, although the restored store has forgotten it, becomes the job's. */
void fed_job_adopt(struct fed *fed, struct job *job, struct cluster *cluster, const struct tf_report *report);
/* The epoch is over, as `ended` says: counted, told, dropped; then the job goes where it belongs. */
void fed_job_epoch_ended(struct fed *fed, struct job *job, uint64_t epoch, const struct tf_ended *ended);
/* What its latest failure was, of an epoch that goes on. */
void fed_job_set_trouble(struct job *job, const struct tf_ended *latest);
/* Asks for the end of all that may be running of it. */
void fed_job_release(struct fed *fed, struct job *job, enum tf_release why);
/* Of one epoch of it. */
void fed_job_release_one(struct fed *fed, struct job *job, struct tf_placement *placement,
                         enum tf_release why);
/* That epoch is the job from now on; what was is no more. */
void fed_job_make_last(struct job *job, uint64_t epoch);
/* It is wanted no more; `event` and `why` say so in its record. */
void fed_job_delete(struct fed *fed, struct job *job, const char *event, const char *why);
/* Its words or sizes have changed: whoever runs it is told, and takes what may change under a running epoch.
 */
void fed_job_tell(struct fed *fed, struct job *job);
/* What runs of it, or may, comes and goes by that step. */
bool fed_job_can_step(const struct job *job, int32_t step);
/* Puts the job where its record says it belongs: queue, archive. Call after every change of what is asked,
 * and after fed_touch_job: what goes to the archive waits for the changes touched before. */
void fed_job_settle(struct fed *fed, struct job *job);
void fed_job_set_phase(struct fed *fed, struct job *job, enum tf_phase phase);

#endif
