/* SPDX-License-Identifier: Apache-2.0 */
/* R1: what a node has at each level. */
#include "common/fit/rows.h"

static struct tf_vector sum_above(const struct tf_hold *holds, size_t count, int level)
{
    struct tf_vector sum = {0};
    for (size_t i = 0; i < count; i++)
        if (holds[i].level > level)
            sum = tf_vector_add(sum, holds[i].amount);
    return sum;
}

static uint64_t gpus_above(const struct tf_hold *holds, size_t count, int level)
{
    uint64_t set = 0;
    for (size_t i = 0; i < count; i++)
        if (holds[i].level > level)
            set |= holds[i].gpus;
    return set;
}

static uint64_t levels_of(const struct tf_hold *holds, size_t count)
{
    uint64_t set = 0;
    for (size_t i = 0; i < count; i++)
        set |= UINT64_C(1) << holds[i].level;
    return set;
}

struct on_node {
    const struct tf_node *node;
    const struct tf_hold *holders, *claims;
    size_t holder_count, claim_count;
};

static struct tf_vector have_at(const struct on_node *on, tf_level level)
{
    const struct tf_node *node = on->node;
    tf_level staying = level > TF_LEVEL_GOING ? level : TF_LEVEL_GOING;
    struct tf_vector later = tf_vector_add(sum_above(on->holders, on->holder_count, staying),
                                           sum_above(on->claims, on->claim_count, level));
    struct tf_vector now = sum_above(on->holders, on->holder_count, level);
    struct tf_vector foreign = {
        .slots = node->foreign.slots, .cpu = node->foreign.cpu, .memory = node->foreign.memory};
    struct tf_vector have = tf_vector_sub(tf_vector_sub(node->capacity, foreign), tf_vector_max(now, later));
    uint64_t gpus = tf_gpu_set_all(node->capacity.gpus) & ~node->bad_gpus & ~node->foreign.gpus &
                    ~gpus_above(on->holders, on->holder_count, level) &
                    ~gpus_above(on->claims, on->claim_count, level);
    have.gpus = tf_gpu_set_count(gpus);
    return tf_vector_floor0(have);
}

void tf_fit_node_levels(const struct tf_node *node, const struct tf_hold *holders, size_t holder_count,
                        const struct tf_hold *claims, size_t claim_count, struct tf_level_vectors *out)
{
    const struct on_node on = {node, holders, claims, holder_count, claim_count};
    out->count = 0;
    if (node->state != TF_NODE_READY) {
        tf_vec_push(out, (struct tf_level_vector){.level = TF_LEVEL_FREE});
        return;
    }
    uint64_t levels = levels_of(holders, holder_count) | levels_of(claims, claim_count) | 1;
    for (tf_level level = TF_LEVEL_FREE; level <= TF_LEVEL_TOP; level++) {
        if (!(levels >> level & 1))
            continue;
        struct tf_level_vector at = {level, have_at(&on, level)};
        if (out->count == 0 || !tf_vector_eq(at.have, out->items[out->count - 1].have))
            tf_vec_push(out, at);
    }
}

void tf_fit_node_class(const struct tf_node *node, const struct tf_strs *schedule_labels,
                       struct tf_node_class *class)
{
    tf_node_class_release(class);
    class->model = tf_strdup(node->model);
    class->gpu_memory = node->gpu_memory;
    tf_strs_copy(&class->domains, &node->domains);
    tf_vec_each (name, schedule_labels) {
        const char *value = tf_pairs_get(&node->labels, *name);
        if (value)
            tf_pairs_set(&class->labels, *name, value);
    }
}
