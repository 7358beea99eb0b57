/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_REST_H
#define TF_FEDSIM_REST_H

#include "tools/fedsim/world.h"

/* All faults are healed, and the world runs until nothing happens any more: within ten times what its waits
 * take. Then every promise about a world at rest is judged. Whatever does not hold is a breach. */
void world_comes_to_rest(struct sim_world *world);

#endif
