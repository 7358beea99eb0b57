/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the policy in force and what follows from a change of it: levels and rows. */
#include "subcluster/core/policy.h"

#include "common/base/text.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/members.h"
#include "subcluster/core/migrate.h"
#include "subcluster/core/mix.h"
#include "subcluster/core/node_claims.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/profile.h"
#include "subcluster/core/trace.h"

static bool classes_eq(const struct tf_classes *a, const struct tf_classes *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!tf_str_eq(a->items[i].name, b->items[i].name) || a->items[i].priority != b->items[i].priority)
            return false;
    return true;
}

/* But for the mix of shapes. */
static bool rules_eq(const struct tf_policy *a, const struct tf_policy *b)
{
    return a->version == b->version && classes_eq(&a->classes, &b->classes) &&
           tf_str_eq(a->ceiling, b->ceiling) && tf_strs_eq(&a->schedule_labels, &b->schedule_labels) &&
           a->max_evictions_per_minute == b->max_evictions_per_minute &&
           a->absorb_cooldown == b->absorb_cooldown && a->surplus_dwell == b->surplus_dwell &&
           a->offer_time == b->offer_time && a->repair_wait == b->repair_wait &&
           a->failure_settle == b->failure_settle && a->hub_away_after == b->hub_away_after &&
           a->start_timeout == b->start_timeout && a->kill_bound == b->kill_bound &&
           a->fence_timeout == b->fence_timeout && a->max_moves == b->max_moves &&
           a->max_moves_per_node == b->max_moves_per_node && a->max_moves_per_job == b->max_moves_per_job &&
           a->consolidate == b->consolidate && a->consolidate_cooldown == b->consolidate_cooldown &&
           a->consolidate_moves == b->consolidate_moves && tf_freezes_eq(&a->freezes, &b->freezes);
}

static void apply(struct sub *sub, const struct tf_policy *policy)
{
    tf_policy_copy(&sub->policy, policy);
    ledger_set_labels(&sub->ledger, &policy->schedule_labels);
    for (struct job *job = jobs_first(sub); job; job = jobs_next(job))
        members_set_levels(sub, job);
    node_claims_set_ranks(sub);
    mixes_changed(sub);
    migrate_set_levels(sub);
    sub->absorb.due =
        true; /* what kept somebody from growing may be over: a freeze, a wait that is shorter now */
}

bool policy_load(struct sub *sub, const struct tf_policy *policy, struct tf_error *err)
{
    if (tf_policy_check(policy, err))
        return false;
    apply(sub, policy);
    return true;
}

void policy_set(struct sub *sub, struct tf_policy *policy)
{
    struct tf_error err = TF_ERROR_INIT;
    if (tf_policy_check(policy, &err)) {
        alarm_raise(sub, "the leader's policy is not sound and the one in force stays: %s", err.text);
        return;
    }
    if (!rules_eq(policy, &sub->policy)) {
        trace(sub, "policy: version %llu with %zu classes", (unsigned long long)policy->version,
              policy->classes.count);
        apply(sub, policy);
    } else if (!tf_shapes_eq(&policy->shapes, &sub->policy.shapes)) {
        const struct tf_shapes before = sub->policy.shapes;
        sub->policy.shapes = policy->shapes; /* only what idles, and what may be moved for it */
        policy->shapes = before;
        mixes_changed(sub);
    } else
        return;
    out_touch(sub, TF_RECORD_POLICY);
}

/* ---- freezes ---- */

const struct tf_freeze *sub_frozen(const struct sub *sub, enum tf_frozen what)
{
    return tf_freezes_find(&sub->policy.freezes, what, NULL, sub->now.wall);
}

int32_t sub_frozen_all(const struct sub *sub)
{
    int32_t all = 0;
    tf_vec_each (freeze, &sub->policy.freezes)
        if (freeze->until.ms > sub->now.wall.ms)
            all |= (int32_t)freeze->what;
    return all;
}

struct tf_mono sub_frozen_end(const struct sub *sub)
{
    struct tf_mono next = TF_NEVER;
    tf_vec_each (freeze, &sub->policy.freezes) {
        int64_t left = freeze->until.ms - sub->now.wall.ms;
        if (left > 0 && sub->now.mono.ms + left < next.ms)
            next.ms = sub->now.mono.ms + left;
    }
    return next;
}
