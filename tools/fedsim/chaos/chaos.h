/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_CHAOS_H
#define TF_FEDSIM_CHAOS_H

#include "tools/fedsim/audit/audit.h"
#include "tools/fedsim/chaos/ingredients.h"
#include "tools/fedsim/scenario/scenario.h"
#include "tools/fedsim/situations.h"

/* Random runs. A whole run is drawn from its seed as a scenario: fleet, jobs, what their users ask, settings,
 * and faults with their moments; then it is played, healed, and must come to rest. So a run that breaks a
 * promise can be made smaller, and written to a file that `fedsim run` repeats. */

enum chaos_size { CHAOS_SMALL = 1, CHAOS_MEDIUM };

/* scenario is raw memory, owned by the caller afterwards. */
void chaos_draw(uint64_t seed, enum chaos_size size, struct scenario *scenario);

struct chaos_options {
    uint64_t seed; /* of the play; also of what is drawn by chaos_run */
    enum chaos_size size;
    bool aloud;           /* print the diary as it is written */
    const char *record;   /* world.h */
    uint64_t renew_every; /* each so manyth step is taken by a core read from an image; 0 = none */
    uint64_t tail;        /* print so many last lines after a breach */
};

struct chaos_result {
    bool breached;
    char breach[1000]; /* in words */
    uint64_t hash;     /* of all that happened */
    uint64_t events;
    int64_t rested_ms; /* virtual */
    uint64_t drawn[CHAOS_INGREDIENTS];
    uint64_t stale_messages;      /* of deposed leaders, shown to cores */
    uint64_t restored, found_out; /* stores of the federation; by its leaders themselves */
    struct audit_counts counts;
    struct sim_situations reached;
};

/* Draws and plays. */
void chaos_run(const struct chaos_options *options, struct chaos_result *result);
/* Plays what was drawn, or what was left of it. */
void chaos_play(const struct scenario *scenario, const struct chaos_options *options,
                struct chaos_result *result);

/* The kind of a breach: its words without names and numbers. Owned by the caller. */
char *chaos_kind(const char *breach);
/* Takes parts of the scenario away as long as it still breaks the same promise: jobs, faults, nodes, wishes
 * of users, daemons. Each attempt is a process of its own, since a core's assertion ends it; at most so many.
 * scenario is replaced by the smallest. Returns how many attempts there were; 0: it does not break it. */
unsigned chaos_shrink(struct scenario *scenario, const char *kind, unsigned attempts);
/* What the scenario does in a process of its own. NULL if nothing breaks, else the breach, owned by the
 * caller. */
char *chaos_attempt(const struct scenario *scenario);

#endif
