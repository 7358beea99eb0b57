/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_SHORTAGE_H
#define TF_SUBCLUSTER_CORE_SHORTAGE_H

#include "subcluster/core/jobs.h"

/* What a short job lacks is a core demand (DESIGN.md §4, §5): where it is not free, others go for it as for a
 * first start, and the same way (reclaim.h): claims first, in the record of the running job, then evictions.
 * When the claims are free its instances start there, and join as those of any growth do (grow.h). */

/* Nothing is free for the job: it gets claims, if those that may be evicted for it suffice. */
void shortage_serve(struct sub *sub, struct job *job);

#endif
