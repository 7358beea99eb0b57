/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_STAKES_H
#define TF_SUBCLUSTER_CORE_STAKES_H

#include "subcluster/core/state.h"

/* What an eviction would cost (DESIGN.md §8.2).
 *
 * A GPU loses the time since its member's work was last safe, at most lossCap; and each eviction that its job
 * has suffered within the last day weighs as much as a whole lossCap. So whoever gave way goes last next
 * time, however little it has done since: counted by what it really lost, a job that is evicted soon after
 * each start would stay the cheapest for ever. */

struct ledger_stake member_stake(const struct sub *sub, const struct job *job,
                                 const struct tf_member *member);
/* GPU-seconds that the member loses if it goes now. */
int64_t member_loss(const struct sub *sub, const struct job *job, const struct tf_member *member);
/* Evictions of the job within the last day. */
int32_t job_evicted_lately(const struct sub *sub, const struct job *job);
/* GPU-seconds that so many evictions weigh for so many GPUs. */
int64_t evictions_weight(const struct sub *sub, int64_t evictions, int64_t gpus);

/* A day is told by the hour: with each hour that begins, some evictions count no more. */
struct tf_mono stakes_due(const struct sub *sub); /* TF_NEVER: there is none that counts */
void stakes_look(struct sub *sub);

#endif
