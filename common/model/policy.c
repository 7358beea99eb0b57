/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/policy.h"

#include "common/base/text.h"
#include "common/model/id.h"

void tf_policy_release(struct tf_policy *policy)
{
    tf_classes_release(&policy->classes);
    tf_strs_release(&policy->schedule_labels);
    tf_freezes_release(&policy->freezes);
    free(policy->ceiling);
    *policy = (struct tf_policy){0};
}

void tf_policy_copy(struct tf_policy *to, const struct tf_policy *from)
{
    struct tf_policy copy = *from;
    copy.classes = (struct tf_classes){0};
    copy.schedule_labels = (struct tf_strs){0};
    copy.freezes = (struct tf_freezes){0};
    copy.ceiling = tf_strdup(from->ceiling);
    tf_classes_copy(&copy.classes, &from->classes);
    tf_strs_copy(&copy.schedule_labels, &from->schedule_labels);
    tf_freezes_copy(&copy.freezes, &from->freezes);
    tf_policy_release(to);
    *to = copy;
}

int tf_policy_ceiling_rank(const struct tf_policy *policy)
{
    int rank = policy->ceiling ? tf_classes_rank(&policy->classes, policy->ceiling) : -1;
    return rank >= 0 ? rank : (int)policy->classes.count - 1;
}

static int check_classes(const struct tf_classes *classes, struct tf_error *err)
{
    if (classes->count == 0 || classes->count > TF_CLASSES_MAX)
        return tf_error_set(err, TF_ERR_INVALID, "%zu priority classes: there must be 1 to %d",
                            classes->count, TF_CLASSES_MAX);
    for (size_t i = 0; i < classes->count; i++) {
        if (tf_name_check(classes->items[i].name, "the name of a priority class", err))
            return -1;
        if (tf_classes_rank(classes, classes->items[i].name) != (int)i)
            return tf_error_set(err, TF_ERR_INVALID, "priority class \"%s\" is there twice",
                                classes->items[i].name);
    }
    return 0;
}

int tf_policy_check(const struct tf_policy *policy, struct tf_error *err)
{
    if (check_classes(&policy->classes, err))
        return -1;
    if (policy->ceiling && tf_classes_rank(&policy->classes, policy->ceiling) < 0)
        return tf_error_set(err, TF_ERR_INVALID, "protectionCeiling \"%s\" is not a priority class",
                            policy->ceiling);
    const int64_t waits[] = {policy->absorb_cooldown, policy->surplus_dwell,  policy->offer_time,
                             policy->repair_wait,     policy->failure_settle, policy->hub_away_after,
                             policy->start_timeout,   policy->kill_bound,     policy->fence_timeout};
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
        if (waits[i] < 0 || waits[i] > INT64_C(1000) * 60 * 60 * 24 * 366)
            return tf_error_set(err, TF_ERR_INVALID, "a wait of the policy is negative or over a year");
    tf_vec_each (freeze, &policy->freezes)
        if (tf_freeze_fault(freeze))
            return tf_error_set(err, TF_ERR_INVALID, "a freeze is not sound: %s", tf_freeze_fault(freeze));
    return 0;
}
