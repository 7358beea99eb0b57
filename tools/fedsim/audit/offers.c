/* SPDX-License-Identifier: Apache-2.0 */
/* §8.3 of DESIGN.md: what gets free is offered to waiting cores before running jobs grow into it.
 *
 * Only a growth that no other course of events explains is called a breach: its very GPU was an instance's a
 * moment ago, nobody has taken anything of the node since, and its daemon has been with a leader all the
 * time, which has declared nothing considered that says so. */
#include "tools/fedsim/audit/facts.h"

#include <inttypes.h>

/* ---- what is told ---- */

static bool is_attached(const struct audit_site *site)
{
    return site->attached.ms != 0;
}

void audit_link_closed(struct audit *audit, const char *cluster)
{
    struct audit_site *site = audit_site(audit, cluster);
    site->attached.ms = 0;
    site->told.count = 0;
}

void audit_profile_told(const struct audit *audit, struct audit_site *site, struct tf_generation generation)
{
    if (!is_attached(site))
        site->attached = audit->now; /* it has its full set from this leader */
    tf_vec_push(&site->told, (struct audit_told){generation, audit->now});
}

/* All that had got free when that profile was sent has been offered. */
void audit_considered_told(struct audit_site *site, struct tf_generation generation)
{
    size_t over = 0;
    while (over < site->told.count && tf_generation_cmp(site->told.items[over].generation, generation) <= 0)
        site->considered = site->told.items[over++].at;
    for (size_t i = over; i < site->told.count; i++)
        site->told.items[i - over] = site->told.items[i];
    site->told.count -= over;
}

/* ---- what gets free ---- */

/* Its daemon hears of it later, and offers it for offerTime from then on. */
void audit_note_freed(const struct audit *audit, struct audit_node *node, uint64_t gpus)
{
    if (gpus == 0)
        return;
    node->freed = audit->now.ms == node->freed_at.ms ? node->freed | gpus : gpus;
    node->freed_at = audit->now;
}

static uint64_t held(const struct audit_node *node)
{
    uint64_t set = 0;
    for (unsigned gpu = 0; gpu < TF_NODE_GPUS_MAX; gpu++)
        set |= node->holders[gpu] ? UINT64_C(1) << gpu : 0;
    return set;
}

static bool is_claimed(const struct audit_node *node)
{
    for (unsigned gpu = 0; gpu < TF_NODE_GPUS_MAX; gpu++)
        if (node->claimants[gpu])
            return true;
    return false;
}

void audit_settle_offers(const struct audit *audit, struct audit_site *site)
{
    tf_vec_each (at, &site->touched) {
        struct audit_node *node = *at;
        uint64_t now = held(node);
        if (now & ~node->held_before)
            node->taken = audit->now;
        node->held_before = now;
    }
}

/* ---- who grows ---- */

static bool is_on_offer(const struct audit *audit, const struct audit_site *site,
                        const struct audit_node *node)
{
    int64_t freed = node->freed_at.ms;
    int64_t least = site->offer_time - site->offer_time / 100 - audit->clock_error; /* by its clock */
    bool with_leader = is_attached(site) && site->attached.ms <= freed;
    bool quiet = node->taken.ms < freed && node->changed.ms < freed && site->policy_at.ms < freed;
    return with_leader && quiet && !is_claimed(node) && site->considered.ms < freed &&
           audit->now.ms - freed < least;
}

/* A short job's members are cores, as those of one that waits. */
static bool may_absorb(const struct audit_allocation *known)
{
    const struct tf_allocation *a = &known->a, *before = &known->before;
    int32_t min = a->spec->elastic.min;
    return a->phase == TF_ALLOCATION_RUNNING && before->phase == TF_ALLOCATION_RUNNING &&
           a->epoch == before->epoch && before->size >= min && a->size >= min && before->claims.count == 0;
}

static uint64_t joins_with(const struct tf_member *m)
{
    return m->role == TF_MEMBER_JOINS && audit_member_holds(m) ? m->gpus : 0;
}

static uint64_t held_by(const struct tf_allocation *a, const char *node)
{
    uint64_t gpus = 0;
    tf_vec_each (m, &a->members)
        gpus |= audit_member_holds(m) && strcmp(m->node, node) == 0 ? m->gpus : 0;
    return gpus;
}

static uint64_t newly_held(const struct audit_node *node)
{
    return held(node) & ~node->held_before;
}

/* Others that take something there in the same transaction may have had what was free before. */
static bool takes_alone(const struct audit_allocation *known, const struct audit_node *node)
{
    return (newly_held(node) & ~held_by(&known->a, node->node.name)) == 0;
}

static void check_growth(struct audit *audit, const struct audit_site *site,
                         const struct audit_allocation *known)
{
    tf_vec_each (m, &known->a.members) {
        const struct audit_node *node = joins_with(m) ? audit_find_node(site, m->node) : NULL;
        if (!node || !(joins_with(m) & node->freed & ~held_by(&known->before, m->node)))
            continue;
        if (is_on_offer(audit, site, node) && takes_alone(known, node))
            audit_fail(audit,
                       "§8.3: job %s grows onto %s in %s, where something got free %" PRId64
                       " ms ago, before that was offered to those that wait",
                       audit_uid(known->a.uid), m->node, site->name, audit->now.ms - node->freed_at.ms);
    }
}

void audit_check_offers(struct audit *audit, const struct audit_site *site)
{
    tf_vec_each (known, &site->changes)
        if (!site->copied && may_absorb(*known))
            check_growth(audit, site, *known);
}
