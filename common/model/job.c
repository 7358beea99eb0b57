/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/job.h"

#include "common/base/text.h"

/* The memory of job specs: release, copy, comparison. */

static void rules_release(struct tf_topology_rules *rules)
{
    tf_vec_each (rule, rules) {
        free(rule->plane);
        free(rule->within);
    }
    tf_vec_release(rules);
}

static void rules_copy(struct tf_topology_rules *to, const struct tf_topology_rules *from)
{
    tf_vec_each (rule, from) {
        struct tf_topology_rule copy = *rule;
        copy.plane = tf_strdup(rule->plane);
        copy.within = tf_strdup(rule->within);
        tf_vec_push(to, copy);
    }
}

static bool rules_eq(const struct tf_topology_rules *a, const struct tf_topology_rules *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct tf_topology_rule *x = &a->items[i], *y = &b->items[i];
        if (!tf_str_eq(x->plane, y->plane) || !tf_str_eq(x->within, y->within) || x->of != y->of ||
            x->mode != y->mode)
            return false;
    }
    return true;
}

static void group_release(struct tf_group *group)
{
    tf_strs_release(&group->shape.gpu_models);
    free(group->image);
    tf_strs_release(&group->command);
    tf_pairs_release(&group->env);
    tf_strs_release(&group->ports);
    tf_strs_release(&group->ready.command);
}

/* Gives what copy, a shallow copy, still shares with from memory of its own. */
static void group_unshare(struct tf_group *copy, const struct tf_group *from)
{
    copy->shape.gpu_models = copy->command = copy->ports = copy->ready.command = (struct tf_strs){0};
    copy->env = (struct tf_pairs){0};
    copy->image = tf_strdup(from->image);
    tf_strs_copy(&copy->shape.gpu_models, &from->shape.gpu_models);
    tf_strs_copy(&copy->command, &from->command);
    tf_pairs_copy(&copy->env, &from->env);
    tf_strs_copy(&copy->ports, &from->ports);
    tf_strs_copy(&copy->ready.command, &from->ready.command);
}

static bool shape_eq(const struct tf_shape *a, const struct tf_shape *b)
{
    return a->gpus == b->gpus && tf_strs_eq(&a->gpu_models, &b->gpu_models) &&
           a->gpu_memory == b->gpu_memory && a->cpu == b->cpu && a->memory == b->memory;
}

static bool group_eq(const struct tf_group *a, const struct tf_group *b)
{
    return shape_eq(&a->shape, &b->shape) && tf_str_eq(a->image, b->image) &&
           tf_strs_eq(&a->command, &b->command) && tf_pairs_eq(&a->env, &b->env) &&
           tf_strs_eq(&a->ports, &b->ports) && a->grace == b->grace && a->stop_delay == b->stop_delay &&
           tf_strs_eq(&a->ready.command, &b->ready.command) && a->ready.period == b->ready.period &&
           a->ready.timeout == b->ready.timeout;
}

void tf_job_spec_release(struct tf_job_spec *spec)
{
    if (!spec)
        return;
    free(spec->priority);
    group_release(&spec->group);
    rules_release(&spec->topology);
    tf_pairs_release(&spec->node_labels);
    free(spec->resize_signal);
    tf_strs_release(&spec->clusters);
    tf_strs_release(&spec->regions);
    *spec = (struct tf_job_spec){0};
}

void tf_job_spec_copy(struct tf_job_spec *to, const struct tf_job_spec *from)
{
    struct tf_job_spec copy = *from;
    copy.priority = tf_strdup(from->priority);
    copy.resize_signal = tf_strdup(from->resize_signal);
    group_unshare(&copy.group, &from->group);
    copy.topology = (struct tf_topology_rules){0};
    copy.node_labels = (struct tf_pairs){0};
    copy.clusters = copy.regions = (struct tf_strs){0};
    rules_copy(&copy.topology, &from->topology);
    tf_pairs_copy(&copy.node_labels, &from->node_labels);
    tf_strs_copy(&copy.clusters, &from->clusters);
    tf_strs_copy(&copy.regions, &from->regions);
    tf_job_spec_release(to);
    *to = copy;
}

static bool placement_eq(const struct tf_job_spec *a, const struct tf_job_spec *b)
{
    return rules_eq(&a->topology, &b->topology) && tf_pairs_eq(&a->node_labels, &b->node_labels) &&
           a->max_nodes == b->max_nodes && tf_strs_eq(&a->clusters, &b->clusters) &&
           tf_strs_eq(&a->regions, &b->regions) && a->on_cluster_lost == b->on_cluster_lost;
}

static bool behaviour_eq(const struct tf_job_spec *a, const struct tf_job_spec *b)
{
    return a->workload == b->workload && a->below_min == b->below_min && a->grow == b->grow &&
           a->on_resize == b->on_resize && tf_str_eq(a->resize_signal, b->resize_signal) &&
           a->migration == b->migration && a->ready_min == b->ready_min && a->min_runtime == b->min_runtime &&
           a->max_runtime == b->max_runtime && a->retry_limit == b->retry_limit &&
           a->retry_backoff == b->retry_backoff && a->completion == b->completion &&
           a->keep_finished == b->keep_finished;
}

bool tf_job_spec_eq(const struct tf_job_spec *a, const struct tf_job_spec *b)
{
    return tf_str_eq(a->priority, b->priority) && a->elastic.min == b->elastic.min &&
           a->elastic.max == b->elastic.max && a->elastic.step == b->elastic.step &&
           group_eq(&a->group, &b->group) && behaviour_eq(a, b) && placement_eq(a, b);
}

void tf_job_manifest_release(struct tf_job_manifest *manifest)
{
    free(manifest->tenant);
    free(manifest->name);
    tf_pairs_release(&manifest->labels);
    tf_job_spec_release(&manifest->spec);
    *manifest = (struct tf_job_manifest){0};
}
