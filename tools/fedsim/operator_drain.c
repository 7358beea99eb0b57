/* SPDX-License-Identifier: Apache-2.0 */
/* Owns that people who drain a node see to it that its subcluster hears of that, and of the end. */
#include "tools/fedsim/operator.h"
#include "tools/fedsim/world.h"

enum { AGAIN_MIN = TF_SECOND, AGAIN_MAX = 3 * TF_SECOND };

/* What is wished for a node. One a node, from the first drain on. */
struct sim_drain {
    struct sim_site *site;
    size_t node;
    struct tf_drain_order order;
    uint64_t tries; /* of all wishes: an earlier one's next try is none of the later one's */
    bool open, sent;
};

static const struct tf_node *node_of(const struct sim_drain *drain)
{
    return &drain->site->fleet.nodes.items[drain->node].node;
}

/* As the daemon that leads there has it. */
static bool is_so(const struct sim_drain *drain)
{
    tf_vec_each (subd, &drain->site->subds)
        for (size_t i = 0; (*subd)->core && (*subd)->adopted && i < sub_node_count((*subd)->core); i++) {
            struct sub_node_view view = sub_node_at((*subd)->core, i);
            if (strcmp(view.node->name, node_of(drain)->name) == 0)
                return (view.cordon && view.cordon->drain.on) == drain->order.on;
        }
    return false;
}

static void try(void *arg, uint64_t tag)
{
    struct sim_drain *drain = arg;
    struct sim_world *world = drain->site->world;
    if (!drain->open || tag != drain->tries)
        return;
    /* sent at least once: the one before may be on its way still, and would come after */
    if (drain->sent && is_so(drain)) {
        drain->open = false;
        return;
    }
    world->busy_at = world->agenda.now;
    world_say(world, "operator", "%s %s/%s", drain->order.on ? "drain" : "uncordon", drain->site->name,
              node_of(drain)->name);
    const struct tf_ask ask = {.kind = TF_ASK_CORDON,
                               .node = node_of(drain)->name,
                               .on = drain->order.on,
                               .reason = drain->order.on ? "a look at it" : NULL,
                               .drain = drain->order};
    tf_vec_each (subd, &drain->site->subds)
        if (operator_is_heard(*subd)) {
            operator_asks(*subd, &ask);
            drain->sent = true;
        }
    sim_agenda_in(&world->agenda, tf_rng_range(&world->rng, AGAIN_MIN, AGAIN_MAX), try, drain,
                  ++drain->tries);
}

static struct sim_drain *find(struct sim_site *site, size_t node)
{
    tf_vec_each (drain, &site->world->operator.drains)
        if ((*drain)->site == site && (*drain)->node == node)
            return *drain;
    return NULL;
}

void operator_drains(struct sim_site *site, size_t node, const struct tf_drain_order *order)
{
    struct sim_world *world = site->world;
    struct sim_drain *drain = find(site, node);
    if (!drain && !order)
        return;
    if (!drain) {
        drain = tf_calloc(1, sizeof *drain);
        *drain = (struct sim_drain){.site = site, .node = node};
        tf_vec_push(&world->operator.drains, drain);
    }
    drain->order = order ? *order : (struct tf_drain_order){0};
    drain->open = true;
    drain->sent = false;
    try(drain, ++drain->tries);
}

void operator_release_drains(struct sim_world *world)
{
    tf_vec_each (drain, &world->operator.drains)
        free(*drain);
    tf_vec_release(&world->operator.drains);
}
