/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_SHORTAGE_H
#define TF_SUBCLUSTER_CORE_SHORTAGE_H

#include "subcluster/core/jobs.h"

/* A step that a short job lacks is a core demand (DESIGN.md §4, §5): where it is not free, surplus of its own
 * and lower priorities goes for it. What gets free by that is not offered to others first: the job has it as
 * soon as it is there. Until then it is noted (room_made), in no record: after a restart the job waits like
 * everybody else, and lets go what is missing still. */

/* Gives the job a step of what was made free for it, or sees to it that there will be one. */
void shortage_serve(struct sub *sub, struct job *job);

#endif
