/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_CLAIMS_H
#define TF_FEDERATION_CORE_CLAIMS_H

#include "federation/core/state.h"

/* Claims of jobs that have waited for very long (DESIGN.md §5): after claimAfter the first waiting job of a
 * priority claims nodes in one subcluster that could hold it if it ran nothing else. At most one claim a
 * priority. Where the job is placed is not bound by it: it takes the first place that fits, anywhere. The
 * claim ends when an epoch of the job has been accepted, or when the job does not wait any more.
 *
 * A job for which room is made by moves (consolidate.h) claims what they free, as long as they go on.
 *
 * People may have nodes kept for a job that need not have waited for long (FED_EV_CLAIM: those that a plan
 * frees for it). Such a claim goes before one that is made unasked, and ends at its moment, too. */

/* Keeps nodes for the job, and answers. Asked again for the same it lasts longer. */
void fed_claims_verb(struct fed *fed, struct fed_event *event);

/* Whether a job of that rank claims already: another of it cannot. */
bool fed_claims_any(const struct fed *fed, int rank);
/* The waiting job claims what is freed for it there by moves that may cost so many GPU-seconds. It is filed
 * anew, and takes no core from others while the claim lasts. */
void fed_claims_move(struct fed *fed, struct job *job, struct cluster *cluster, int64_t cost);
/* Its claim is in message n to the subcluster. */
void fed_claims_numbered(struct fed *fed, const struct cluster *cluster, struct tf_uid uid, uint64_t n);

/* Something has changed in the queue, or in what subclusters could hold: whoever is first is looked at. */
void fed_claims_touch(struct fed *fed);
/* The job waits from now on: whoever is behind it in the queue has no claim before it. */
void fed_claims_queued(struct fed *fed, const struct job *job);
/* The stored claim of a job goes on. */
void fed_claims_load(struct fed *fed, const struct job *job);
/* Ends what is over, tells what has changed, and makes the claims that are due. Before changes are told. */
void fed_claims_run(struct fed *fed);
struct tf_mono fed_claims_next(const struct fed *fed); /* TF_NEVER: none is due */

/* Claims in that subcluster: one CLAIM each in its full set. */
size_t fed_claims_count(const struct fed *fed, const struct cluster *cluster);
/* Calls each with such a job. */
void fed_claims_each(struct fed *fed, const struct cluster *cluster,
                     void (*each)(const struct job *job, void *arg), void *arg);

#endif
