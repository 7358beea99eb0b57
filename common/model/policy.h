/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_POLICY_H
#define TF_MODEL_POLICY_H

#include "common/base/error.h"
#include "common/model/freeze.h"
#include "common/model/level.h"

/* What the federation tells every subcluster to go by, also while the federation is away. Stored by the
 * subcluster. */
struct tf_policy {
    uint64_t version; /* of the configuration: grows when it changes */
    struct tf_classes classes;
    char *ceiling;                    /* class that takes protected cores; NULL = the highest */
    struct tf_strs schedule_labels;   /* node labels that profiles carry */
    int32_t max_evictions_per_minute; /* jobs */
    int64_t absorb_cooldown, surplus_dwell, offer_time, repair_wait, failure_settle; /* ms */
    int64_t hub_away_after, start_timeout, kill_bound, fence_timeout;                /* ms */
    struct tf_freezes freezes; /* that concern the subcluster which is told; none in settings */
};

void tf_policy_release(struct tf_policy *policy);
void tf_policy_copy(struct tf_policy *to, const struct tf_policy *from);
int tf_policy_ceiling_rank(const struct tf_policy *policy);
/* Bounds: what a peer or the store said is checked before use. */
int tf_policy_check(const struct tf_policy *policy, struct tf_error *err);

#endif
