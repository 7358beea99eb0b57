/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_DIARY_H
#define TF_FEDSIM_DIARY_H

#include "common/base/clock.h"

#include <stdbool.h>
#include <stdint.h>

/* What happened in a run, one line an event: the last lines are kept to be shown with a breach, all of them
 * go into one number that tells two runs apart. */
enum { SIM_DIARY_KEPT = 400 };

struct sim_diary {
    bool aloud;    /* print each line as it comes */
    bool mute;     /* keeps nothing, costs nothing */
    uint64_t hash; /* FNV-1a over all lines */
    uint64_t lines;
    char *kept[SIM_DIARY_KEPT]; /* a ring, by number of the line */
};

void sim_diary_init(struct sim_diary *diary, bool aloud);
void sim_diary_release(struct sim_diary *diary);
void sim_diary_add(struct sim_diary *diary, struct tf_mono now, const char *who, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Prints the last `lines` lines on stdout. */
void sim_diary_tail(const struct sim_diary *diary, uint64_t lines);

#endif
