/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_POLICY_H
#define TF_SUBCLUSTER_CORE_POLICY_H

#include "subcluster/core/state.h"

/* What a leader sent; stored and gone by from now on, if it is sound and differs. policy is copied. */
void policy_set(struct sub *sub, const struct tf_policy *policy);
/* The same of a stored one, which is not stored again. False and *err if it is not sound. */
bool policy_load(struct sub *sub, const struct tf_policy *policy, struct tf_error *err);

#endif
