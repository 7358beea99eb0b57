/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_CHAOS_H
#define TF_FEDSIM_CHAOS_H

#include "common/base/situation.h"
#include "tools/fedsim/audit/audit.h"

/* One random run: a random federation, random jobs, random faults for a while; then everything is healed, and
 * the world must come to rest. */

/* What may go wrong. A run draws a set of its own; calm runs have none. */
enum sim_fault {
    SIM_FAULT_CRASH_FEDD,
    SIM_FAULT_CRASH_SUBD,
    SIM_FAULT_CRASH_BETWEEN, /* two actions of one list */
    SIM_FAULT_HAND_OVER,
    SIM_FAULT_RELOAD, /* of the leader's settings */
    SIM_FAULT_PAUSE,
    SIM_FAULT_CUT,
    SIM_FAULT_BREAK_LINK,
    SIM_FAULT_STORE, /* latency, unavailability, lost requests and replies, late commits */
    SIM_FAULT_STORE_DOWN,
    SIM_FAULT_STORE_CUT, /* of one process */
    SIM_FAULT_NODE,      /* unreachable, perhaps lost, then back */
    SIM_FAULT_FOREIGN,
    SIM_FAULT_BAD_GPU,
    SIM_FAULT_REPEAT,       /* of an engine's event */
    SIM_FAULT_LATE,         /* a message of a leader that another has followed */
    SIM_FAULT_RESTORE,      /* the federation's store, from an older copy */
    SIM_FAULT_RESTORE_SITE, /* a subcluster's */
    SIM_FAULT_BURN,         /* a whole subcluster; then it is forgotten, and built anew */
    SIM_FAULT_CORDON,
    SIM_FAULT_WALL_JUMP,
    SIM_FAULT_FLAP, /* of a node, many times */
    SIM_FAULTS
};

struct sim_chaos_options {
    uint64_t seed;
    bool aloud;           /* print the diary as it is written */
    const char *record;   /* world.h */
    uint64_t renew_every; /* each so manyth step is taken by a core read from an image; 0 = none */
    uint64_t tail;        /* print so many last lines after a breach */
};

struct sim_chaos_result {
    bool breached;
    char breach[1000]; /* in words */
    uint64_t hash;     /* of all that happened */
    uint64_t events;
    int64_t rested_ms; /* virtual */
    unsigned faults;   /* bit set of the kinds of this run */
    uint64_t faults_made[SIM_FAULTS];
    uint64_t stale_messages; /* of deposed leaders, shown to cores */
    struct audit_counts counts;
    struct tf_situations reached;
};

void sim_chaos_run(const struct sim_chaos_options *options, struct sim_chaos_result *result);
const char *sim_fault_name(enum sim_fault fault);

#endif
