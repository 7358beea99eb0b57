/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_RESOURCE_H
#define TF_MODEL_RESOURCE_H

#include "common/model/job.h"

#include <assert.h>

/* The four dimensions of capacity and of requests. Inline: a decision is mostly this arithmetic, over every
 * row of every subcluster. */
struct tf_vector {
    int32_t gpus;
    int32_t slots;  /* how many instances a node may hold: makes gpus: 0 work finite */
    int64_t cpu;    /* millicores */
    int64_t memory; /* MiB */
};

static inline struct tf_vector tf_vector_add(struct tf_vector a, struct tf_vector b)
{
    return (struct tf_vector){a.gpus + b.gpus, a.slots + b.slots, a.cpu + b.cpu, a.memory + b.memory};
}

/* May go negative. */
static inline struct tf_vector tf_vector_sub(struct tf_vector a, struct tf_vector b)
{
    return (struct tf_vector){a.gpus - b.gpus, a.slots - b.slots, a.cpu - b.cpu, a.memory - b.memory};
}

static inline struct tf_vector tf_vector_scale(struct tf_vector a, int32_t times)
{
    return (struct tf_vector){a.gpus * times, a.slots * times, a.cpu * times, a.memory * times};
}

/* Per dimension. */
static inline struct tf_vector tf_vector_max(struct tf_vector a, struct tf_vector b)
{
    return (struct tf_vector){a.gpus > b.gpus ? a.gpus : b.gpus, a.slots > b.slots ? a.slots : b.slots,
                              a.cpu > b.cpu ? a.cpu : b.cpu, a.memory > b.memory ? a.memory : b.memory};
}

static inline struct tf_vector tf_vector_min(struct tf_vector a, struct tf_vector b)
{
    return (struct tf_vector){a.gpus < b.gpus ? a.gpus : b.gpus, a.slots < b.slots ? a.slots : b.slots,
                              a.cpu < b.cpu ? a.cpu : b.cpu, a.memory < b.memory ? a.memory : b.memory};
}

/* Each dimension at least 0. */
static inline struct tf_vector tf_vector_floor0(struct tf_vector a)
{
    return tf_vector_max(a, (struct tf_vector){0});
}

static inline bool tf_vector_fits(struct tf_vector need, struct tf_vector have)
{
    return need.gpus <= have.gpus && need.slots <= have.slots && need.cpu <= have.cpu &&
           need.memory <= have.memory;
}

static inline bool tf_vector_eq(struct tf_vector a, struct tf_vector b)
{
    return a.gpus == b.gpus && a.slots == b.slots && a.cpu == b.cpu && a.memory == b.memory;
}

/* Of tf_vector_count: the most that have / need allows, at most best; divides only where best does not fit.
 */
static inline int32_t tf_vector_limit(int64_t have, int64_t need, int32_t best)
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

/* floor(min over the requested dimensions of have / need); slots always count. INT32_MAX is never returned: a
 * request has slots = 1. */
static inline int32_t tf_vector_count(struct tf_vector need, struct tf_vector have)
{
    assert(need.slots > 0);
    if (have.gpus < need.gpus || have.slots < need.slots)
        return 0;
    int32_t n = need.slots == 1 ? have.slots : have.slots / need.slots;
    n = need.gpus > 0 && have.gpus / need.gpus < n ? have.gpus / need.gpus : n;
    n = tf_vector_limit(have.cpu, need.cpu, n);
    return tf_vector_limit(have.memory, need.memory, n);
}

/* What one instance of the shape takes; slots = 1. */
struct tf_vector tf_shape_vector(const struct tf_shape *shape);

#endif
