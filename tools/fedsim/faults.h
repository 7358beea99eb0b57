/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_FAULTS_H
#define TF_FEDSIM_FAULTS_H

#include "tools/fedsim/chaos.h"
#include "tools/fedsim/world.h"

/* Random faults at random moments, until they are healed all at once. */
struct sim_faults {
    struct sim_world *world;
    unsigned kinds; /* bit set of enum sim_fault */
    int64_t every;  /* ms between two, on average */
    struct tf_mono ends;
    bool healed;
    uint64_t made[SIM_FAULTS];
};

void faults_init(struct sim_faults *faults, struct sim_world *world);
void faults_start(struct sim_faults *faults);
void faults_heal(struct sim_faults *faults);

#endif
