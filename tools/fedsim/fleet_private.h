/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_FLEET_PRIVATE_H
#define TF_FEDSIM_FLEET_PRIVATE_H

/* Shared by fleet.c and fleet_node.c. */
#include "tools/fedsim/fleet.h"

struct sim_node *fleet_node(struct sim_fleet *fleet, const char *name); /* NULL if there is none */
/* To every daemon that has adopted. */
void fleet_tell(struct sim_fleet *fleet, const struct sim_instance *instance);
void fleet_end(struct sim_fleet *fleet, struct sim_instance *instance, enum sim_instance_state state,
               int32_t code, bool stopped);

#endif
