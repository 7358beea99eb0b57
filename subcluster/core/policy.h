/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_POLICY_H
#define TF_SUBCLUSTER_CORE_POLICY_H

#include "subcluster/core/state.h"

/* What a leader sent; stored and gone by from now on, if it is sound and differs. policy is used up:
 * the caller has no more use for it than to release it. */
void policy_set(struct sub *sub, struct tf_policy *policy);
/* The same of a stored one, which is not stored again. False and *err if it is not sound. */
bool policy_load(struct sub *sub, const struct tf_policy *policy, struct tf_error *err);

/* What people have frozen here (TF_FROZEN_..., one of them), by the policy in force and this subcluster's own
 * clock, so also while the federation is away; NULL: it is not. Whoever would begin an eviction, a growth or
 * a move asks before, and looks again at sub_frozen_end, for which there is a wake. Borrowed for the step. */
const struct tf_freeze *sub_frozen(const struct sub *sub, enum tf_frozen what);
int32_t sub_frozen_all(const struct sub *sub);        /* the set of what is frozen */
struct tf_mono sub_frozen_end(const struct sub *sub); /* when the next of them ends; TF_NEVER: none is */

#endif
