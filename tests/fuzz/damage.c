/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/damage.h"

size_t damage(struct tf_rng *rng, uint8_t *bytes, size_t len)
{
    for (uint64_t n = 1 + tf_rng_below(rng, 6); n > 0 && len > 1; n--) {
        size_t at = tf_rng_below(rng, len), from = tf_rng_below(rng, len);
        size_t room = len - (at > from ? at : from), run = 1 + tf_rng_below(rng, room < 32 ? room : 32);
        switch (tf_rng_below(rng, 4)) {
        case 0:
            bytes[at] = (uint8_t)tf_rng_next(rng);
            break;
        case 1:
            memmove(bytes + at, bytes + from, run);
            break;
        case 2:
            memmove(bytes + at, bytes + at + run, len - at - run);
            len -= run;
            break;
        default:
            len = tf_rng_below(rng, 8) ? len : at + 1;
        }
    }
    return len;
}
