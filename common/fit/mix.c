/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fit/mix.h"

#include <assert.h>

enum {
    GROWTH_WEIGHT = 64,
    COST_GPU = 1 << 16, /* of a GPU: costs are integers */
    SHARES = 1 << 10,   /* of the shape that weighs most: so that no sum overflows */
    WORTH_SHARES = TF_MIX_WORTH / COST_GPU,
};
#define LEFT_MOST (INT64_C(1) << 32) /* likewise; no node has as much */

void tf_mix_release(struct tf_mix *mix)
{
    tf_vec_each (entry, &mix->entries)
        tf_demand_release(&entry->demand);
    tf_vec_release(&mix->entries);
    tf_vec_release(&mix->needs);
    tf_vec_release(&mix->admitted);
    mix->weight = mix->cpu_worth = mix->memory_worth = 0;
}

int32_t tf_mix_weight(const struct tf_job_spec *spec, int64_t instances)
{
    int64_t gpus = instances < INT32_MAX ? instances * spec->group.shape.gpus : INT32_MAX;
    return gpus < 1 ? 1 : gpus < INT32_MAX ? (int32_t)gpus : INT32_MAX;
}

static uint64_t admitted_by(const struct tf_mix *mix, const struct tf_catalog *catalog, uint32_t class)
{
    uint64_t set = 0;
    for (size_t i = 0; i < mix->entries.count; i++)
        if (tf_demand_admits(&mix->entries.items[i].demand, catalog, class) >= 0)
            set |= UINT64_C(1) << i;
    return set;
}

static int64_t worth(int64_t gpus, int64_t amount)
{
    int64_t each = gpus > 0 ? amount / gpus : 0;
    return each > 0 ? TF_MIX_WORTH / each : 0;
}

static void set_worth(struct tf_mix *mix)
{
    int64_t most = 1, gpus = 0, cpu = 0, memory = 0;
    tf_vec_each (shape, &mix->needs)
        most = shape->weight > most ? shape->weight : most;
    const int64_t each = 1 + most / SHARES;
    tf_vec_each (shape, &mix->needs) {
        int64_t shares = (shape->weight + each - 1) / each;
        gpus += shares * shape->need.gpus;
        cpu += shares * shape->need.cpu;
        memory += shares * shape->need.memory;
    }
    mix->cpu_worth = worth(gpus, cpu);
    mix->memory_worth = worth(gpus, memory);
}

void tf_mix_resolve(struct tf_mix *mix, const struct tf_mix_shape *shapes, size_t count,
                    const struct tf_catalog *catalog)
{
    tf_mix_release(mix);
    for (size_t i = 0; i < count && mix->entries.count < TF_MIX_MAX; i++) {
        struct tf_mix_entry entry = {.weight = shapes[i].weight};
        if (tf_demand_resolve(&entry.demand, shapes[i].spec, shapes[i].rank, catalog, NULL)) {
            tf_demand_release(&entry.demand);
            continue;
        }
        tf_vec_push(&mix->entries, entry);
        tf_vec_push(&mix->needs, (struct tf_mix_need){entry.demand.need, entry.weight});
        mix->weight += entry.weight;
    }
    set_worth(mix);
    for (uint32_t class = 0; class < catalog->classes.count; class ++)
        tf_vec_push(&mix->admitted, admitted_by(mix, catalog, class));
}

static inline bool fits(const struct tf_vector *need, const struct tf_vector *have)
{
    return need->gpus <= have->gpus && need->cpu <= have->cpu && need->memory <= have->memory &&
           need->slots <= have->slots;
}

int64_t tf_mix_fragmentation(const struct tf_mix *mix, uint32_t class, struct tf_vector have)
{
    return -tf_mix_growth(mix, class, have, have);
}

int64_t tf_mix_growth(const struct tf_mix *mix, uint32_t class, struct tf_vector have, struct tf_vector taken)
{
    assert(class < mix->admitted.count);
    const struct tf_vector left = tf_vector_sub(have, taken);
    int64_t blocked = mix->weight, blocked_then = mix->weight;
    for (uint64_t set = mix->admitted.items[class]; set != 0; set &= set - 1) {
        const struct tf_mix_need *shape = &mix->needs.items[__builtin_ctzll(set)];
        if (!fits(&shape->need, &have))
            continue;
        blocked -= shape->weight;
        if (fits(&shape->need, &left))
            blocked_then -= shape->weight;
    }
    return left.gpus * blocked_then - have.gpus * blocked;
}

static int64_t in_gpus(int64_t left, int64_t worth)
{
    return (left < LEFT_MOST ? left : LEFT_MOST) * worth / WORTH_SHARES;
}

int64_t tf_mix_cost(const struct tf_mix *mix, uint32_t class, struct tf_vector have, struct tf_vector need)
{
    const struct tf_vector left = tf_vector_sub(have, need);
    int64_t growth = tf_mix_growth(mix, class, have, need);
    return growth * COST_GPU / mix->weight * GROWTH_WEIGHT + (int64_t)left.gpus * COST_GPU +
           in_gpus(left.cpu, mix->cpu_worth) + in_gpus(left.memory, mix->memory_worth);
}
