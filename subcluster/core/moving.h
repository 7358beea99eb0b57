/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_MOVING_H
#define TF_SUBCLUSTER_CORE_MOVING_H

#include "subcluster/core/members.h"

/* One instance of a running job on its way to another node (DESIGN.md §8.5): what happens in the job's own
 * record. When, where to and on whose behalf is migrate.h's.
 *
 *     place of the index      behind (member_second)
 *     old, a member
 *     old, a member           new MOVES_IN: starts              moving_start
 *     new, a member           old MOVES_OUT: runs on            moving_switch: one new peers file
 *     new, a member           old LEAVING: is being stopped     moving_stop_old: no way back
 *     new, a member           nothing any more
 *
 * and back from all but the last two: moving_take_back; the new one is then LEAVING behind the old one. The
 * new one has the next attempt number, and its number is not given out again. */

/* NULL, or why nothing of the job may begin to move now, in a few words. */
const char *moving_bar(const struct sub *sub, const struct job *job);
/* The same of this instance; the job may. */
const char *moving_instance_bar(const struct job *job, uint32_t index);
/* Of this job something moves or is coming or going by a move. */
bool moving_any(const struct job *job);

/* The new instance holds what is claimed there (which the ledger must not count as claimed any more), and
 * starts. Returns its attempt. */
uint32_t moving_start(struct sub *sub, struct job *job, uint32_t index, const struct tf_claim *claim);
void moving_switch(struct sub *sub, struct job *job, uint32_t index);
void moving_stop_old(struct sub *sub, struct job *job, uint32_t index);
/* What has come of it leaves; the old one is the member again. */
void moving_take_back(struct sub *sub, struct job *job, uint32_t index);

/* It is a member by a move whose old instance has not been told to stop: the old one may yet go on. */
bool moving_is_switched(const struct job *job, size_t place);
/* The new one will not get ready, or is not any more; or the old one has gone early: why is taken. gone:
 * nothing of it is left. */
void moving_broken(struct sub *sub, struct job *job, size_t place, bool gone, char *why);
/* Something higher happens to the job (§4: release > shrink > repair > migrate): all its moves are taken
 * back. */
void moving_undo(struct sub *sub, struct job *job, const char *why);
/* The same of one instance. */
void moving_undo_one(struct sub *sub, struct job *job, uint32_t index, const char *why);
/* The latest move of it failed: none before a while, which grows. */
void moving_put_off(struct sub *sub, struct job *job);
/* Loaded from its record: what is left of that wait. */
void moving_load(struct sub *sub, struct job *job);

/* A member that has stopped, to start again with all of its job, does so on that node. */
void moving_relocate(struct sub *sub, struct job *job, size_t place, const struct tf_claim *claim);

/* Those behind that nothing is left of are no more. */
void moving_sweep(struct sub *sub, struct job *job);

#endif
