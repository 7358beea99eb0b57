/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_EVICTED_H
#define TF_MODEL_EVICTED_H

#include "common/base/clock.h"
#include "common/base/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* Evictions of the last day, counted by hours of the clock: what a next one is weighed by. By counts and not
 * by moments, as a job may be evicted very often; by the hour, so that it costs little to keep. */

struct tf_evicted_hour {
    struct tf_wall hour; /* its begin */
    int32_t count;
};
struct tf_evicted {
    struct tf_evicted_hour *items; /* ascending; those that are a day old go with the next one */
    size_t count, cap;
};
enum { TF_EVICTED_HOURS_MAX = 25, TF_EVICTED_MAX = 1 << 30 };

/* Zero-initialise; tf_vec_release frees. */
void tf_evicted_copy(struct tf_evicted *to, const struct tf_evicted *from);
bool tf_evicted_eq(const struct tf_evicted *a, const struct tf_evicted *b);
/* So many more. */
void tf_evicted_add(struct tf_evicted *evicted, struct tf_wall at, int32_t count);
/* Within the day before that moment, to the hour. */
int32_t tf_evicted_lately(const struct tf_evicted *evicted, struct tf_wall now);

#endif
