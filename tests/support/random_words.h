/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_RANDOM_WORDS_H
#define TF_TESTS_RANDOM_WORDS_H

/* Private to random_*.c: one word a random value, of the generator r, for positional initialisers. */
#define R(low, high) random_range(r, low, high)
#define R32(low, high) (int32_t) random_range(r, low, high)
#define COUNT R32(0, INT32_MAX)
#define BOOL (tf_rng_below(r, 2) == 1)
#define NAME random_name(r)
#define TEXT random_text(r)
#define OPTIONAL random_optional(r)
#define WALL random_wall(r)
#define TIME R(0, INT64_C(1) << 50)
#define COUNTER random_counter(r)
#define QUANTITY R(0, TF_QUANTITY_MAX)
#define UP_TO(last) (uint32_t) tf_rng_below(r, (last) + 1)
#define FROM_1(last) (uint32_t) tf_rng_range(r, 1, last)
#define INSTANCES R32(0, TF_INSTANCES_MAX)
#define LATER      \
    {              \
        NULL, 0, 0 \
    } /* a list, filled below */

#endif
