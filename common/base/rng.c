/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/rng.h"

#include <assert.h>

void tf_rng_init(struct tf_rng *rng, uint64_t seed)
{
    rng->state = seed;
}

uint64_t tf_rng_next(struct tf_rng *rng)
{
    uint64_t z = rng->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t tf_rng_below(struct tf_rng *rng, uint64_t n)
{
    assert(n > 0);
    /* Values below the threshold would favour small results. */
    uint64_t threshold = -n % n;
    uint64_t x;
    do
        x = tf_rng_next(rng);
    while (x < threshold);
    return x % n;
}

int64_t tf_rng_range(struct tf_rng *rng, int64_t low, int64_t high)
{
    assert(low <= high);
    uint64_t span = (uint64_t)high - (uint64_t)low + 1;
    return (int64_t)((uint64_t)low + (span ? tf_rng_below(rng, span) : tf_rng_next(rng)));
}
