/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what happens to nodes: they go and come back, others use them, GPUs go bad. */
#include "tools/fedsim/fleet_private.h"
#include "tools/fedsim/world.h"

#include "common/base/text.h"

/* A node and the number of its changes, in one tag. */
enum { NODE_SHIFT = 32 };
#define NODE_BITS ((UINT64_C(1) << NODE_SHIFT) - 1)

void fleet_add_node(struct sim_fleet *fleet, struct tf_node *node, bool absent)
{
    size_t len = strlen(node->name);
    struct sim_node_name *name = tf_calloc(1, sizeof *name + len + 1);
    memcpy(name->name, node->name, len);
    name->node = fleet->nodes.count;
    HASH_ADD_STR(fleet->names, name, name);
    tf_vec_push(&fleet->nodes, (struct sim_node){.node = *node, .absent = absent});
    *node = (struct tf_node){0};
}

static void tell_node(struct sim_fleet *fleet, struct sim_node *node)
{
    struct sim_world *world = fleet->site->world;
    if (node->absent)
        return;
    world_say(world, fleet->site->name, "node %s is %s", node->node.name,
              tf_node_state_name(node->node.state));
    node->changes++;
    audit_node(world->audit, fleet->site->name, &node->node);
    world->busy_at = world->agenda.now;
    world_tell(world, &(struct sim_fact){.kind = SIM_FACT_NODE, .site = fleet->site, .node = node});
    tf_vec_each (subd, &fleet->site->subds) {
        if (!(*subd)->adopted)
            continue;
        struct sub_event event = {.kind = SUB_EV_NODE};
        tf_node_copy(&event.node, &node->node);
        subd_told(*subd, event);
    }
}

/* What ran there counts as gone: the node will end it before it is ready again. */
static void lose(struct sim_fleet *fleet, struct sim_node *node)
{
    node->node.state = TF_NODE_LOST;
    tell_node(fleet, node);
    tf_vec_each (at, &fleet->instances) {
        struct sim_instance *i = *at;
        if (fleet_runs(i) && tf_str_eq(i->node, node->node.name))
            fleet_end(fleet, i, SIM_LOST, 0, false);
    }
}

static void is_lost(void *arg, uint64_t tag)
{
    struct sim_fleet *fleet = arg;
    struct sim_node *node = &fleet->nodes.items[tag & NODE_BITS];
    if (node->changes == tag >> NODE_SHIFT && node->node.state == TF_NODE_UNREACHABLE)
        lose(fleet, node);
}

void fleet_node_unreachable(struct sim_fleet *fleet, size_t number, int64_t lost_after)
{
    struct sim_node *node = &fleet->nodes.items[number];
    if (node->node.state != TF_NODE_READY)
        return;
    node->node.state = TF_NODE_UNREACHABLE;
    tell_node(fleet, node);
    if (lost_after >= 0)
        sim_agenda_in(&fleet->site->world->agenda, lost_after, is_lost, fleet,
                      node->changes << NODE_SHIFT | (uint64_t)number);
}

void fleet_node_down(struct sim_fleet *fleet, size_t number)
{
    struct sim_node *node = &fleet->nodes.items[number];
    if (node->node.state != TF_NODE_LOST)
        lose(fleet, node);
}

void fleet_node_closed(struct sim_fleet *fleet, size_t number, enum tf_node_state state)
{
    struct sim_node *node = &fleet->nodes.items[number];
    if (node->node.state == TF_NODE_LOST || node->node.state == TF_NODE_UNREACHABLE)
        return;
    node->node.state = state;
    tell_node(fleet, node);
}

void fleet_node_joins(struct sim_fleet *fleet, size_t number)
{
    fleet->nodes.items[number].absent = false;
    fleet_node_returns(fleet, number);
}

/* What happened while nothing was heard of it is told now. */
void fleet_node_returns(struct sim_fleet *fleet, size_t number)
{
    struct sim_node *node = &fleet->nodes.items[number];
    if (node->node.state == TF_NODE_READY || node->absent)
        return;
    node->node.state = TF_NODE_READY;
    tell_node(fleet, node);
    tf_vec_each (at, &fleet->instances) {
        const struct sim_instance *i = *at;
        if (!i->node || !tf_str_eq(i->node, node->node.name))
            continue;
        if (i->state == SIM_READY)
            audit_ready(fleet->site->world->audit, fleet->site->name, &i->id);
        fleet_tell(fleet, i);
    }
}

uint64_t fleet_held_gpus(const struct sim_fleet *fleet, size_t number)
{
    const struct sim_node *node = &fleet->nodes.items[number];
    uint64_t gpus = 0;
    tf_vec_each (i, &fleet->instances)
        if (fleet_runs(*i) && tf_str_eq((*i)->node, node->node.name))
            gpus |= (*i)->gpus;
    return gpus;
}

void fleet_node_foreign(struct sim_fleet *fleet, size_t number, uint64_t gpus)
{
    struct sim_node *node = &fleet->nodes.items[number];
    node->node.foreign.gpus = gpus;
    tell_node(fleet, node);
}

void fleet_node_slots(struct sim_fleet *fleet, size_t number, int32_t slots)
{
    struct sim_node *node = &fleet->nodes.items[number];
    if (node->node.foreign.slots == slots)
        return;
    node->node.foreign.slots = slots;
    tell_node(fleet, node);
}

int32_t fleet_instances_on(const struct sim_fleet *fleet, size_t number)
{
    int32_t count = 0;
    tf_vec_each (i, &fleet->instances)
        count += fleet_runs(*i) && tf_str_eq((*i)->node, fleet->nodes.items[number].node.name);
    return count;
}

void fleet_node_bad(struct sim_fleet *fleet, size_t number, uint64_t gpus, uint64_t suspects)
{
    struct sim_node *node = &fleet->nodes.items[number];
    node->node.bad_gpus = gpus;
    node->node.suspect_gpus = suspects;
    tell_node(fleet, node);
}

int fleet_node_find(const struct sim_fleet *fleet, const char *name)
{
    struct sim_node_name *found = NULL;
    HASH_FIND_STR(fleet->names, name, found);
    return found ? (int)found->node : -1;
}
