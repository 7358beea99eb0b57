/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_LABOUR_H
#define TF_FEDSIM_LABOUR_H

#include "tools/fedsim/client.h"

/* Jobs that end when their work is done: `work` instance-hours, or `run` after the core was ready. All of
 * their instances then end by themselves with 0. Work
 * is kept when instances come and go; when none is left that is ready, it goes on from the last checkpoint. A
 * `run` begins anew with each epoch. */

struct sim_world;

/* The world's jobs from now on. */
void labour_begin(struct sim_world *world);

#endif
