/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_POLICY_H
#define TF_MODEL_POLICY_H

#include "common/base/error.h"
#include "common/model/freeze.h"
#include "common/model/job.h"
#include "common/model/level.h"
#include "common/model/spec.h"

enum { TF_SHAPES_MAX = 64 };

/* What unfinished jobs of one kind ask for. Of the spec only what decides where they fit is set: priority,
 * elastic.min and step, the group's shape, topology, node labels and maxNodes. */
struct tf_shape_asked {
    const struct tf_job_spec *spec; /* shared */
    int32_t instances;              /* that they ask for, together: a rough figure, at least 1 */
    bool waits;                     /* one of them does, and not only just now */
};
struct tf_shapes {
    struct tf_shape_asked *items;
    size_t count, cap;
};
void tf_shapes_release(struct tf_shapes *shapes);
void tf_shapes_copy(struct tf_shapes *to, const struct tf_shapes *from); /* to is zeroed or initialised */
bool tf_shapes_eq(const struct tf_shapes *a, const struct tf_shapes *b);

enum tf_consolidate { TF_CONSOLIDATE_OFF = 1, TF_CONSOLIDATE_OBSERVE, TF_CONSOLIDATE_ON }; /* 0 = off */

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
    int32_t max_moves, max_moves_per_node, max_moves_per_job; /* that run at once; > 0 */
    enum tf_consolidate consolidate; /* whether instances are moved for a shape that waits, unasked */
    int64_t consolidate_cooldown;    /* ms from one such plan to the next */
    int32_t consolidate_moves;       /* of one such plan, at most */
    struct tf_freezes freezes;       /* that concern the subcluster which is told; none in settings */
    struct tf_shapes shapes;         /* the mix that idle GPUs are measured against; none in settings */
};

void tf_policy_release(struct tf_policy *policy);
void tf_policy_copy(struct tf_policy *to, const struct tf_policy *from);
int tf_policy_ceiling_rank(const struct tf_policy *policy);
/* Bounds: what a peer or the store said is checked before use. */
int tf_policy_check(const struct tf_policy *policy, struct tf_error *err);

#endif
