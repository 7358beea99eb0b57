/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_RNG_H
#define TF_BASE_RNG_H

#include <stdint.h>

/* A seeded generator: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). The same seed gives the same numbers
 * everywhere. Not for secrets. */
struct tf_rng {
    uint64_t state;
};

void tf_rng_init(struct tf_rng *rng, uint64_t seed);
uint64_t tf_rng_next(struct tf_rng *rng);
uint64_t tf_rng_below(struct tf_rng *rng, uint64_t n);               /* uniform in [0, n), n > 0 */
int64_t tf_rng_range(struct tf_rng *rng, int64_t low, int64_t high); /* uniform in [low, high] */

#endif
