/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_DEFRAG_H
#define TF_SUBCLUSTER_CORE_DEFRAG_H

#include "common/model/defrag.h"
#include "subcluster/core/state.h"

/* What people ask to be freed (DESIGN.md §8.4): the nodes and instances of this subcluster as the planner
 * (consolidate.h) sees them, and its plan in words. A plan that is applied becomes one chain of moves
 * (migrate.h), whose claims are taken in one transaction. */

/* An order (TF_ASK_DEFRAG with apply): the plan is made again, and becomes a chain if it is the one that was
 * read. The answer leaves when that is durable. */
void defrag_asked(struct sub *sub, const struct tf_ask *ask);

/* Makes a chain of the plan, in the order's name; NULL, or why not, which the caller frees. */
char *defrag_begin(struct sub *sub, const struct tf_defrag_order *order, const struct tf_defrag_plan *plan);

/* Unasked (`consolidate: observe|on`): work waits that what is free could hold, if it were not scattered. At
 * most one such plan a cool-down, and none while one is under way. What is planned takes nothing from
 * anybody: it is tried for work that no eviction could help, since the leader would have had them evicted
 * else. */
void defrag_look(struct sub *sub);
struct tf_mono defrag_due(const struct sub *sub); /* TF_NEVER: nothing waits for it */

/* A job that claims nodes here is to have them by moves that cost no more than the leader allows (GPU-seconds
 * that are held twice), instead of evictions, which would cost that: they begin, if they may and suffice. The
 * leader sees in profiles whether they go on. Returns the work. */
int64_t defrag_for_claim(struct sub *sub, const struct tf_entry *entry);

/* Moves may begin unasked, or be looked for, where that is all. */
bool defrag_may_begin(const struct sub *sub);
/* The leader may be told what moves could free. While the cool-down lasts that would be refused; where it is
 * only to be said what would be done (observe) nothing is: one look at what waits does not silence it. */
bool defrag_may_be_told(const struct sub *sub);
/* Whole nodes that moves could free, by class (DESIGN.md §6). Work: all instances, and sorting the nodes. */
void defrag_count(struct sub *sub, struct tf_vacatables *out);

bool defrag_is_under_way(const struct sub *sub); /* a chain of a plan is not over */

/* out->text: why there is no plan. Nothing changes but that the ledger is brought up to date. out is zeroed.
 */
void defrag_plan_make(struct sub *sub, const struct tf_defrag_order *order, struct tf_defrag_plan *out);
/* The same for moves that cost at most *cost GPU-seconds (0: no limit), which is what they cost then. */
void defrag_plan_within(struct sub *sub, const struct tf_defrag_order *order, int64_t *cost,
                        struct tf_defrag_plan *out);

#endif
