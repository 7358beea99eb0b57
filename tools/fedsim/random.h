/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_RANDOM_H
#define TF_FEDSIM_RANDOM_H

#include "tools/fedsim/world.h"

/* Random federations, small enough for everything to happen in them within minutes of virtual time. */

/* Longest that one job can take when nothing is in its way: runs, retries, stops. */
enum { SIM_JOB_MS_MAX = 300 * TF_SECOND };

void random_world(struct sim_world *world);
void random_jobs(struct sim_world *world);

#endif
