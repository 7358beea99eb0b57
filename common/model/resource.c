/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/resource.h"

#include <assert.h>

struct tf_vector tf_vector_add(struct tf_vector a, struct tf_vector b)
{
    return (struct tf_vector){a.gpus + b.gpus, a.slots + b.slots, a.cpu + b.cpu, a.memory + b.memory};
}

struct tf_vector tf_vector_sub(struct tf_vector a, struct tf_vector b)
{
    return (struct tf_vector){a.gpus - b.gpus, a.slots - b.slots, a.cpu - b.cpu, a.memory - b.memory};
}

struct tf_vector tf_vector_scale(struct tf_vector a, int32_t times)
{
    return (struct tf_vector){a.gpus * times, a.slots * times, a.cpu * times, a.memory * times};
}

struct tf_vector tf_vector_max(struct tf_vector a, struct tf_vector b)
{
    return (struct tf_vector){a.gpus > b.gpus ? a.gpus : b.gpus, a.slots > b.slots ? a.slots : b.slots,
                              a.cpu > b.cpu ? a.cpu : b.cpu, a.memory > b.memory ? a.memory : b.memory};
}

struct tf_vector tf_vector_floor0(struct tf_vector a)
{
    return tf_vector_max(a, (struct tf_vector){0});
}

bool tf_vector_fits(struct tf_vector need, struct tf_vector have)
{
    return need.gpus <= have.gpus && need.slots <= have.slots && need.cpu <= have.cpu &&
           need.memory <= have.memory;
}

bool tf_vector_eq(struct tf_vector a, struct tf_vector b)
{
    return a.gpus == b.gpus && a.slots == b.slots && a.cpu == b.cpu && a.memory == b.memory;
}

/* The most that have / need allows, at most best; divides only where best does not fit. */
static int32_t limit(int64_t have, int64_t need, int32_t best)
{
    if (need <= 0)
        return best;
    if (have < need)
        return 0;
    int64_t product;
    if (!__builtin_mul_overflow(need, best, &product) && product <= have)
        return best;
    return (int32_t)(have / need);
}

int32_t tf_vector_count(struct tf_vector need, struct tf_vector have)
{
    assert(need.slots > 0);
    if (have.gpus < need.gpus || have.slots < need.slots)
        return 0;
    int32_t n = need.slots == 1 ? have.slots : have.slots / need.slots;
    n = need.gpus > 0 && have.gpus / need.gpus < n ? have.gpus / need.gpus : n;
    n = limit(have.cpu, need.cpu, n);
    return limit(have.memory, need.memory, n);
}

struct tf_vector tf_shape_vector(const struct tf_shape *shape)
{
    return (struct tf_vector){.gpus = shape->gpus, .slots = 1, .cpu = shape->cpu, .memory = shape->memory};
}
