/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_RESOURCE_H
#define TF_MODEL_RESOURCE_H

#include "common/model/job.h"

/* The four dimensions of capacity and of requests. */
struct tf_vector {
    int32_t gpus;
    int32_t slots;  /* how many instances a node may hold: makes gpus: 0 work finite */
    int64_t cpu;    /* millicores */
    int64_t memory; /* MiB */
};

struct tf_vector tf_vector_add(struct tf_vector a, struct tf_vector b);
struct tf_vector tf_vector_sub(struct tf_vector a, struct tf_vector b); /* may go negative */
struct tf_vector tf_vector_scale(struct tf_vector a, int32_t times);
struct tf_vector tf_vector_floor0(struct tf_vector a);                  /* each dimension at least 0 */
struct tf_vector tf_vector_max(struct tf_vector a, struct tf_vector b); /* per dimension */
bool tf_vector_fits(struct tf_vector need, struct tf_vector have);
bool tf_vector_eq(struct tf_vector a, struct tf_vector b);
/* floor(min over the requested dimensions of have / need); slots always count. INT32_MAX is never returned: a
 * request has slots = 1. */
int32_t tf_vector_count(struct tf_vector need, struct tf_vector have);

/* What one instance of the shape takes; slots = 1. */
struct tf_vector tf_shape_vector(const struct tf_shape *shape);

#endif
