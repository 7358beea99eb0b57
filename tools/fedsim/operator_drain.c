/* SPDX-License-Identifier: Apache-2.0 */
/* Owns that people who drain a node, or a domain, see to it that its subcluster hears of that, and of the
 * end. */
#include "common/base/text.h"
#include "tools/fedsim/operator.h"
#include "tools/fedsim/world.h"

enum { AGAIN_MIN = TF_SECOND, AGAIN_MAX = 3 * TF_SECOND };

/* What is wished for a node, or a domain. One each, from the first drain on. */
struct sim_drain {
    struct sim_site *site;
    size_t node;
    char *domain; /* NULL: of the node */
    struct tf_drain_order order;
    uint64_t tries; /* of all wishes: an earlier one's next try is none of the later one's */
    bool open, sent;
};

static const struct tf_node *node_of(const struct sim_drain *drain)
{
    return &drain->site->fleet.nodes.items[drain->node].node;
}

/* What is drained with others ends with them, not by itself. */
static bool node_is_so(const struct sim_drain *drain, const struct sub *core)
{
    for (size_t i = 0; i < sub_node_count(core); i++) {
        struct sub_node_view view = sub_node_at(core, i);
        if (strcmp(view.node->name, node_of(drain)->name) != 0)
            continue;
        if (!drain->order.on && view.cordon && view.cordon->drained_with)
            return true;
        return (view.cordon && view.cordon->drain.on) == drain->order.on;
    }
    return false;
}

/* Where there is no such node the order is refused, and people let it be. */
static bool domain_is_so(const struct sim_drain *drain, const struct sub *core)
{
    bool any = false, there = false;
    for (size_t i = 0; i < sub_node_count(core); i++) {
        struct sub_node_view view = sub_node_at(core, i);
        there |= tf_node_is_in(view.node, drain->domain);
        any |= view.cordon && tf_str_eq(view.cordon->drained_with, drain->domain);
    }
    return any == drain->order.on || (drain->order.on && !there);
}

/* As the daemon that leads there has it. */
static bool is_so(const struct sim_drain *drain)
{
    tf_vec_each (subd, &drain->site->subds)
        if ((*subd)->core && (*subd)->adopted)
            return (drain->domain ? domain_is_so : node_is_so)(drain, (*subd)->core);
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
              drain->domain ? drain->domain : node_of(drain)->name);
    const struct tf_ask ask = {.kind = TF_ASK_CORDON,
                               .node = drain->domain ? NULL : node_of(drain)->name,
                               .domain = drain->domain,
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

static struct sim_drain *find(struct sim_site *site, size_t node, const char *domain)
{
    tf_vec_each (drain, &site->world->operator.drains)
        if ((*drain)->site == site && (*drain)->node == node && tf_str_eq((*drain)->domain, domain))
            return *drain;
    return NULL;
}

static void wish(struct sim_site *site, size_t node, const char *domain, const struct tf_drain_order *order)
{
    struct sim_world *world = site->world;
    struct sim_drain *drain = find(site, node, domain);
    if (!drain && !order)
        return;
    if (!drain) {
        drain = tf_calloc(1, sizeof *drain);
        *drain = (struct sim_drain){.site = site, .node = node, .domain = tf_strdup(domain)};
        tf_vec_push(&world->operator.drains, drain);
    }
    drain->order = order ? *order : (struct tf_drain_order){0};
    drain->open = true;
    drain->sent = false;
    try(drain, ++drain->tries);
}

void operator_drains(struct sim_site *site, size_t node, const struct tf_drain_order *order)
{
    wish(site, node, NULL, order);
}

void operator_drains_domain(struct sim_site *site, const char *domain, const struct tf_drain_order *order)
{
    wish(site, 0, domain, order);
}

void operator_release_drains(struct sim_world *world)
{
    tf_vec_each (drain, &world->operator.drains) {
        free((*drain)->domain);
        free(*drain);
    }
    tf_vec_release(&world->operator.drains);
}
