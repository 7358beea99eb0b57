/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_BRAKE_H
#define TF_SUBCLUSTER_CORE_BRAKE_H

#include "subcluster/core/state.h"

/* maxEvictionsPerMinute (DESIGN.md §5): how many jobs were evicted within the last minute, over restarts too.
 */

/* Whether `more` jobs may not be evicted yet. What is larger than the limit by itself goes when nothing else
 * has gone. */
bool brake_is_on(const struct sub *sub, size_t more);
/* One job is evicted now. Before its own record is touched: the count is durable no later than the eviction.
 */
void brake_count(struct sub *sub);

/* From the store: as if all of them had gone at the last one's moment. */
void brake_load(struct sub *sub, const struct tf_eviction_count *stored);

#endif
