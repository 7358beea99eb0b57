/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_AGENDA_H
#define TF_FEDSIM_AGENDA_H

#include "common/base/clock.h"
#include "common/base/rng.h"
#include "common/base/vec.h"

#include <stdbool.h>

/* Virtual time: heaps of future events. Events of one moment come in an order drawn from the seed, so that
 * nothing can rely on it; what has an order of its own goes through a pipe (pipe.h). */

/* tag is whatever was given with the event: who finds that it is out of date ignores the call. */
typedef void sim_due_f(void *arg, uint64_t tag);

struct sim_due {
    struct tf_mono at;
    uint64_t lot, number; /* order among equals: by lot, then as added */
    sim_due_f *run;
    void *arg;
    uint64_t tag;
    bool given; /* arg is freed if it never comes to this */
};

struct sim_dues {
    struct sim_due *items;
    size_t count, cap;
};

struct sim_agenda {
    struct tf_mono now;
    bool in_order; /* events of one moment come as they were added */
    struct tf_rng rng;
    /* far: those that were added long before their moment (all submits of a trace); the heap that most events
     * pass through stays small, and in the processor's cache */
    struct sim_dues near, far;
    uint64_t added, done;
};

void sim_agenda_init(struct sim_agenda *agenda, uint64_t seed);
void sim_agenda_release(struct sim_agenda *agenda);
/* A moment that has passed counts as now. */
void sim_agenda_at(struct sim_agenda *agenda, struct tf_mono at, sim_due_f *run, void *arg, uint64_t tag);
void sim_agenda_in(struct sim_agenda *agenda, int64_t ms, sim_due_f *run, void *arg, uint64_t tag);
/* thing is taken: run frees it. If the agenda ends before, it is freed there; so it owns nothing else. */
void sim_agenda_give(struct sim_agenda *agenda, struct tf_mono at, sim_due_f *run, void *thing);
struct tf_mono sim_agenda_next(const struct sim_agenda *agenda); /* TF_NEVER if it is empty */
/* Runs the first event if it is due now: false if none is. */
bool sim_agenda_step(struct sim_agenda *agenda);

#endif
