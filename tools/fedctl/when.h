/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_WHEN_H
#define TF_FEDCTL_WHEN_H

#include "common/base/clock.h"

/* Moments and spans as people and programs read them. */

enum { WHEN_TEXT = 64 };

/* For programs: UTC with milliseconds, "2026-11-29T16:43:23.120Z". "" when not set. */
const char *when_utc(struct tf_wall at, char text[WHEN_TEXT]);
/* For people: local time with its zone, "2026-11-29 17:43:23 +0100". "-" when not set. */
const char *when_local(struct tf_wall at, char text[WHEN_TEXT]);
/* How long, in at most two units: "95s", "3m20s", "12m", "7h5m", "30h", "4d7h", "45d", "3y". A negative span
 * (clocks of two machines) is 0s. */
const char *when_span(int64_t ms, char text[WHEN_TEXT]);
/* The span from `at` to now; "-" when not set. */
const char *when_age(struct tf_wall at, struct tf_wall now, char text[WHEN_TEXT]);
/* "3m20s ago", "in 12m", "-". */
const char *when_relative(struct tf_wall at, struct tf_wall now, char text[WHEN_TEXT]);

#endif
