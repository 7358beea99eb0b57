/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_LOSS_H
#define TF_SUBCLUSTER_CORE_LOSS_H

#include "subcluster/core/members.h"

/* What becomes of a job some of whose instances are lost: with a node, or stopped by others (DESIGN.md §4). A
 * loss costs no retry.
 *
 *  - Of a running one as many more leave in the same decision as its step asks for, and it runs on, smaller.
 *  - Below its min it is short and repaired (repair.h) if belowMin is keep; with stop nobody else leaves, and
 * the lost ones are MISSING: either all of them are replaced within repairWait, or the epoch ends.
 *  - With onResize: restart the others restart once, failureSettle after the last loss of a burst; what fails
 * until then fails because of it.
 *
 * One that had not run fully, or of which some are done, ends lost, for the leader to place it anew. */
void members_lost(struct sub *sub, struct job *job, const struct places *lost, const char *why);

/* The same of some that live, and are told to stop. */
void members_sent_away(struct sub *sub, struct job *job, const struct places *places, const char *why);

/* Some of it has been lost and the restart that follows is due. */
void loss_restart(struct sub *sub, struct job *job);
/* Loaded from its record: its waits go on. */
void loss_load(struct sub *sub, struct job *job);
/* What fails now is part of a loss that the job restarts for anyway. */
bool loss_is_settling(const struct job *job);

/* It has been MISSING members, or nothing has run of it, for repairWait. */
void loss_repair_over(struct sub *sub, struct job *job);
/* Its members have changed: begins or ends that wait. */
void loss_note(struct sub *sub, struct job *job);

#endif
