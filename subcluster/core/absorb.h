/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_ABSORB_H
#define TF_SUBCLUSTER_CORE_ABSORB_H

#include "subcluster/core/jobs.h"

/* Running elastic jobs take what nobody more important waits for (DESIGN.md §5, §8.3):
 *
 *  1. what is free and no longer on offer, as absorb_plan.h divides it;
 *  2. who has wanted a step for surplusDwell, surplus of strictly lower priorities: their steps are let go;
 *  3. of equals the lowest a step of the highest, while that lowers the higher of the two.
 *
 * 2 and 3 only let go. What gets free by that goes the way of all that gets free: waiting cores first, then
 * those who are next for it, which the giver is not, since it waits out its cool-down. A step that is on its
 * way to be free is waited for: nobody gives way for a job that will have room then. */

/* After what is wanted of the subcluster was done; refreshes the ledger. */
void absorb_look(struct sub *sub);
struct tf_mono absorb_due(const struct sub *sub); /* it must be looked at again then; TF_NEVER */
/* The job's record has changed. */
void absorb_note(struct sub *sub, struct job *job);
/* It is about to be freed. */
void absorb_forget(struct sub *sub, struct job *job);
/* Its record was read: what is left of its cool-down goes on. */
void absorb_load(struct sub *sub, struct job *job);
/* It has just been made smaller. */
void absorb_shrunk(struct sub *sub, struct job *job);

void absorb_init(struct sub *sub);
void absorb_image(struct tf_image *image, struct absorb *absorb);

#endif
