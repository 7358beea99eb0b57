/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fit/mix.h"

#include <assert.h>

void tf_mix_release(struct tf_mix *mix)
{
    tf_vec_each (entry, &mix->entries)
        tf_demand_release(&entry->demand);
    tf_vec_release(&mix->entries);
    tf_vec_release(&mix->needs);
    tf_vec_release(&mix->admitted);
    mix->weight = 0;
}

static uint64_t admitted_by(const struct tf_mix *mix, const struct tf_catalog *catalog, uint32_t class)
{
    uint64_t set = 0;
    for (size_t i = 0; i < mix->entries.count; i++)
        if (tf_demand_admits(&mix->entries.items[i].demand, catalog, class) >= 0)
            set |= UINT64_C(1) << i;
    return set;
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
