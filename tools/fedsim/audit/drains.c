/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that are drained: nothing new comes there, a deadline stops what is left but protected cores (I5 of
 * DESIGN.md §9), and at rest nothing is left that could go. */
#include "common/base/text.h"
#include "tools/fedsim/audit/facts.h"

#include <inttypes.h>

enum { SLACK = 5 * TF_SECOND }; /* from a deadline to its look, and from the look to the store */

/* By the fastest clock that its daemons may have, or (sure) the slowest. */
static bool is_due(const struct audit *audit, const struct audit_node *node, bool sure)
{
    int64_t error = audit->clock_error + audit->skew, now = audit->calendar + audit->now.ms;
    if (!node || !node->drain.on || node->drain.deadline.ms == 0)
        return false;
    return sure ? now - error - SLACK > node->drain.deadline.ms : now + error >= node->drain.deadline.ms;
}

void audit_node_drained(const struct audit *audit, struct audit_site *site, const char *name,
                        const struct tf_cordon *cordon)
{
    struct audit_node *node = audit_find_node(site, name);
    if (!node)
        return;
    bool on = cordon && cordon->drain.on;
    if (is_due(audit, node, false)) /* it is over, or another takes its place */
        node->was_due = audit->now;
    node->drained_before = node->drained_before && on; /* ended and begun again: what came between may stay */
    node->drain = on ? cordon->drain : (struct tf_drain){0};
    tf_str_set(&node->drained_with, on ? cordon->drained_with : NULL);
    site->drains_changed |= node->drained_before != node->drain.on;
}

void audit_settle_drains(struct audit_site *site)
{
    if (!site->drains_changed)
        return;
    for (struct audit_node *node = site->nodes; node; node = node->hh.next)
        node->drained_before = node->drain.on;
    site->drains_changed = false;
}

bool audit_is_drained(const struct audit *audit, const struct audit_site *site, const struct tf_allocation *a)
{
    tf_vec_each (m, &a->members)
        if (is_due(audit, audit_find_node(site, m->node), false))
            return true;
    return false;
}

static bool was_due_of_late(const struct audit *audit, const struct audit_node *node)
{
    enum { CALLS = 10 * TF_SECOND };
    return node && node->was_due.ms && audit->now.ms - node->was_due.ms < CALLS;
}

bool audit_was_drained(const struct audit *audit, const struct audit_site *site, const struct audit_epoch *e)
{
    const struct audit_allocation *known = audit_allocation(site, e->uid);
    for (size_t i = 0; known && known->a.epoch == e->epoch && i < known->a.members.count; i++)
        if (was_due_of_late(audit, audit_find_node(site, known->a.members.items[i].node)))
            return true;
    tf_vec_each (i, &e->job->instances)
        if ((*i)->site == site && (*i)->id.epoch == e->epoch && was_due_of_late(audit, (*i)->node))
            return true;
    return false;
}

bool audit_drain_spares(const struct audit *audit, const struct audit_site *site, const struct tf_member *m)
{
    const struct audit_node *node = audit_find_node(site, m->node);
    return m->mark == 0 && is_due(audit, node, false) && !node->drain.force;
}

/* ---- nothing new ---- */

/* Something of the job was there, or was to come there, before the transaction. */
static bool was_there(const struct audit_allocation *known, const char *node)
{
    tf_vec_each (m, &known->before.members)
        if (m->node && strcmp(m->node, node) == 0)
            return true;
    tf_vec_each (claim, &known->before.claims)
        if (strcmp(claim->node, node) == 0)
            return true;
    return false;
}

void audit_check_drained(struct audit *audit, const struct audit_site *site,
                         const struct audit_allocation *known)
{
    if (audit_epoch(audit, known->a.uid, known->a.epoch)->local_rolled)
        return; /* what the store has forgotten is found where it runs */
    tf_vec_each (m, &known->a.members) {
        const struct audit_node *node = audit_find_node(site, m->node);
        if (node && node->drained_before && node->drain.on && audit_member_holds(m) &&
            !was_there(known, m->node) && !audit_moves_at(site, m->node))
            audit_fail(audit, "§8.7: job %s starts on %s in %s, which is drained", audit_uid(known->a.uid),
                       m->node, site->name);
    }
}

/* ---- rest ---- */

static bool is_frozen(const struct audit *audit, const struct audit_site *site)
{
    tf_vec_each (freeze, &site->freezes)
        if ((freeze->what & TF_FROZEN_MOVES) &&
            audit->calendar + audit->now.ms - audit->skew - audit->clock_error < freeze->until.ms)
            return true;
    return false;
}

/* A job whose moves fail waits longer and longer; where its shape of placement narrows the room down is more
 * than the naive loop knows. */
static bool could_move(struct audit *audit, const struct audit_site *site, const struct tf_allocation *a)
{
    const struct tf_job_spec *spec = a->spec;
    bool left_alone = audit_epoch(audit, a->uid, a->epoch)->local_rolled;
    return !left_alone && spec->migration == TF_MIGRATION_ALLOW && !spec->topology.count &&
           !spec->max_nodes && a->phase == TF_ALLOCATION_RUNNING && a->move_failures == 0 &&
           !is_frozen(audit, site) && audit_naive_count(site, a->uid, spec, a->model, true) > 0;
}

static void check_member(struct audit *audit, const struct audit_site *site, const struct audit_node *node,
                         const struct tf_allocation *a, const struct tf_member *m)
{
    const struct audit_epoch *e = audit_epoch(audit, a->uid, a->epoch);
    bool spared = m->mark == 0 && !node->drain.force && audit_is_protected(audit, e);
    if (is_due(audit, node, true) && !spared)
        audit_fail(audit, "§8.7: at rest job %s is still on %s in %s, whose drain's deadline has come",
                   audit_uid(a->uid), m->node, site->name);
    else if (!node->drain.deadline.ms && could_move(audit, site, a))
        audit_fail(audit,
                   "§8.7: at rest job %s is still on %s in %s, which is drained, and has room elsewhere",
                   audit_uid(a->uid), m->node, site->name);
}

/* Who drains a domain drains what comes to it later, too. */
static void check_others(struct audit *audit, const struct audit_site *site, const struct audit_node *drained)
{
    for (const struct audit_node *node = site->nodes; node; node = node->hh.next)
        if (node->node.state == TF_NODE_READY && !node->drain.on &&
            tf_node_is_in(&node->node, drained->drained_with))
            audit_fail(audit, "§8.7: at rest node %s of %s is not drained, and \"%s\" is, in which it is",
                       node->node.name, site->name, drained->drained_with);
}

void audit_check_drains_at_rest(struct audit *audit, const struct audit_site *site)
{
    for (const struct audit_node *node = site->nodes; node; node = node->hh.next)
        if (node->drained_with)
            check_others(audit, site, node);
    for (const struct audit_allocation *known = site->allocations; known; known = known->hh.next)
        tf_vec_each (m, &known->a.members) {
            const struct audit_node *node = audit_find_node(site, m->node);
            bool runs = known->a.phase == TF_ALLOCATION_RUNNING && audit_member_holds(m);
            if (runs && node && node->drain.on && node->node.state == TF_NODE_READY && !node->strange)
                check_member(audit, site, node, &known->a, m);
        }
}
