/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_SIZE_H
#define TF_SUBCLUSTER_CORE_SIZE_H

#include "subcluster/core/jobs.h"

/* How a live epoch gets smaller, always by whole steps (DESIGN.md §4). Members that go keep what they hold
 * until they are gone; the others are renumbered: the oldest are core, the rest surplus, step by step. */

/* A running job was scaled. It shrinks to the largest legal size within the new max; what the new max allows
 * is not stopped, a raised min is met later. False, and nothing changes, if its size is no multiple of the
 * new step: the leader refuses that. */
bool size_set_elastic(struct sub *sub, struct job *job, const struct tf_elastic *elastic);

/* The surplus steps of these marks (> 0) go, in one resize. Other marks move down. */
void size_drop_steps(struct sub *sub, struct job *job, const int32_t *marks, size_t count);

/* The mark of the member that so many are older than: the oldest `min` are core, the rest surplus, in steps.
 */
static inline int32_t size_mark(const struct tf_elastic *e, int32_t older)
{
    return older < e->min ? 0 : 1 + (older - e->min) / e->step;
}

/* The oldest `min` are core, the rest surplus in steps: also when a core member has gone (§1). The ledger is
 * told.
 */
void size_mark_again(struct sub *sub, struct job *job);

/* The highest mark: surplus steps, those that have yet to join included. */
int32_t size_steps(const struct tf_allocation *record);
/* Members that count. */
int32_t size_of(const struct tf_allocation *record);

#endif
