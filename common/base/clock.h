/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_CLOCK_H
#define TF_BASE_CLOCK_H

#include <stdint.h>

/* Two clocks that do not mix: durations and time-outs use the monotonic one, moments that are stored or shown
 * use the wall. Both in milliseconds; pure code receives them with each event and never reads a clock. */
struct tf_mono {
    int64_t ms; /* since an arbitrary start, never goes back; INT64_MAX = never */
};
struct tf_wall {
    int64_t ms; /* since 1970-01-01 UTC; 0 = not set */
};
struct tf_now {
    struct tf_mono mono;
    struct tf_wall wall;
};

#define TF_NEVER ((struct tf_mono){INT64_MAX})

enum {
    TF_SECOND = 1000,
    TF_MINUTE = 60 * TF_SECOND,
    TF_HOUR = 60 * TF_MINUTE,
};

#endif
