/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/policy.h"

#include "common/base/text.h"
#include "common/model/id.h"
#include "common/model/profile.h"

void tf_shapes_release(struct tf_shapes *shapes)
{
    tf_vec_each (shape, shapes)
        tf_spec_drop(shape->spec);
    tf_vec_release(shapes);
}

void tf_shapes_copy(struct tf_shapes *to, const struct tf_shapes *from)
{
    struct tf_shapes copy = {0};
    tf_vec_each (shape, from) {
        struct tf_shape_asked *own = tf_vec_add(&copy);
        own->instances = shape->instances;
        own->waits = shape->waits;
        own->spec = tf_spec_take(shape->spec);
    }
    tf_shapes_release(to);
    *to = copy;
}

bool tf_shapes_eq(const struct tf_shapes *a, const struct tf_shapes *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i].instances != b->items[i].instances || a->items[i].waits != b->items[i].waits ||
            !tf_spec_eq(a->items[i].spec, b->items[i].spec))
            return false;
    return true;
}

void tf_policy_release(struct tf_policy *policy)
{
    tf_classes_release(&policy->classes);
    tf_strs_release(&policy->schedule_labels);
    tf_freezes_release(&policy->freezes);
    tf_shapes_release(&policy->shapes);
    free(policy->ceiling);
    *policy = (struct tf_policy){0};
}

void tf_policy_copy(struct tf_policy *to, const struct tf_policy *from)
{
    struct tf_policy copy = *from;
    copy.classes = (struct tf_classes){0};
    copy.schedule_labels = (struct tf_strs){0};
    copy.freezes = (struct tf_freezes){0};
    copy.shapes = (struct tf_shapes){0};
    copy.ceiling = tf_strdup(from->ceiling);
    tf_classes_copy(&copy.classes, &from->classes);
    tf_strs_copy(&copy.schedule_labels, &from->schedule_labels);
    tf_freezes_copy(&copy.freezes, &from->freezes);
    tf_shapes_copy(&copy.shapes, &from->shapes);
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

/* Only what decisions read: the rest of the spec is not set. */
static const char *shape_fault(const struct tf_shape_asked *asked)
{
    const struct tf_shape *shape = &asked->spec->group.shape;
    const struct tf_elastic *e = &asked->spec->elastic;
    if (asked->instances < 1)
        return "nobody asks for it";
    if (shape->gpus < 1 || shape->gpus > TF_NODE_GPUS_MAX || shape->gpu_memory < 0 || shape->cpu < 0 ||
        shape->cpu > TF_QUANTITY_MAX || shape->memory < 0 || shape->memory > TF_QUANTITY_MAX)
        return "no node has what it asks for";
    return e->min < 1 || e->step < 1 || asked->spec->max_nodes < 0 ? "its sizes are none" : NULL;
}

static int check_shapes(const struct tf_shapes *shapes, struct tf_error *err)
{
    if (shapes->count > TF_SHAPES_MAX)
        return tf_error_set(err, TF_ERR_INVALID, "%zu shapes: there may be %d", shapes->count, TF_SHAPES_MAX);
    tf_vec_each (shape, shapes)
        if (shape_fault(shape))
            return tf_error_set(err, TF_ERR_INVALID, "a shape is not sound: %s", shape_fault(shape));
    return 0;
}

int tf_policy_check(const struct tf_policy *policy, struct tf_error *err)
{
    if (check_classes(&policy->classes, err))
        return -1;
    if (policy->ceiling && tf_classes_rank(&policy->classes, policy->ceiling) < 0)
        return tf_error_set(err, TF_ERR_INVALID, "protectionCeiling \"%s\" is not a priority class",
                            policy->ceiling);
    const int64_t waits[] = {policy->absorb_cooldown,     policy->surplus_dwell,  policy->offer_time,
                             policy->repair_wait,         policy->failure_settle, policy->hub_away_after,
                             policy->start_timeout,       policy->kill_bound,     policy->fence_timeout,
                             policy->consolidate_cooldown};
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
        if (waits[i] < 0 || waits[i] > INT64_C(1000) * 60 * 60 * 24 * 366)
            return tf_error_set(err, TF_ERR_INVALID, "a wait of the policy is negative or over a year");
    if (policy->max_moves < 1 || policy->max_moves_per_node < 1 || policy->max_moves_per_job < 1)
        return tf_error_set(err, TF_ERR_INVALID, "the policy lets no instance move: a limit is below 1");
    tf_vec_each (freeze, &policy->freezes)
        if (tf_freeze_fault(freeze))
            return tf_error_set(err, TF_ERR_INVALID, "a freeze is not sound: %s", tf_freeze_fault(freeze));
    return check_shapes(&policy->shapes, err);
}
