/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_REPAIR_H
#define TF_SUBCLUSTER_CORE_REPAIR_H

#include "subcluster/core/jobs.h"

/* Jobs that are below their min (DESIGN.md §4). Each missing step is a core demand of its own, in queue
 * order, and is met here, without the federation, from what is free and on offer to nobody (offers.h): its
 * instances start as those of any growth do. */

/* The job's size or its sizes have changed, or it was loaded: it may be short, or no longer. */
void repair_note(struct sub *sub, struct job *job);
/* What kept it from growing may be over: a member has left, a move has ended (grow_bar). That need not make
 * anything free, so that nothing else would tell. */
void repair_unbarred(struct sub *sub, struct job *job);
/* Looks at all that are short, when something has become free for them. The ledger must have been refreshed.
 */
void repair_look(struct sub *sub);
/* When there is something to look at; TF_NEVER if there is not. */
struct tf_mono repair_due(const struct sub *sub);

/* Those that are short, in the order in which they are served, for the leader: it counts them in its queue.
 * The ledger must have been refreshed. */
void repair_tell(const struct sub *sub, struct tf_profile *profile);

/* Members that are missing for its min; 0 if it is not short. */
int32_t repair_missing(const struct job *job);

/* Short jobs are looked at again then. */
void repair_again(struct sub *sub, struct tf_mono at);

#endif
