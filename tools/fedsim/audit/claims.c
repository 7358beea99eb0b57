/* SPDX-License-Identifier: Apache-2.0 */
/* Claims on whole nodes: what is kept for one job is given to no core of its priority or lower that does not
 * end in time (DESIGN.md §5, R5). And nodes that are being emptied, which are given to nobody (§8.4). */
#include "tools/fedsim/audit/facts.h"

#include "common/base/text.h"

#include <inttypes.h>

static void claim_release(struct audit_node_claim *claim)
{
    tf_node_claim_release(&claim->c);
}

void audit_forget_node_claims(struct audit_site *site)
{
    tf_vec_each (claim, &site->node_claims)
        claim_release(claim);
    tf_vec_release(&site->node_claims);
}

void audit_nodes_claimed(struct audit_site *site, const struct tf_node_claim *record, bool gone)
{
    tf_vec_each (claim, &site->node_claims)
        claim->over |= tf_uid_eq(claim->c.uid, record->uid);
    if (!gone) {
        struct audit_node_claim *claim = tf_vec_add(&site->node_claims);
        tf_node_claim_copy(&claim->c, record);
        claim->fresh = true;
    }
}

void audit_settle_kept(struct audit_site *site)
{
    for (size_t i = site->node_claims.count; i-- > 0;) {
        struct audit_node_claim *claim = &site->node_claims.items[i];
        claim->fresh = false;
        if (!claim->over)
            continue;
        claim_release(claim);
        tf_vec_remove(&site->node_claims, i);
    }
}

static int rank_of(const struct audit_site *site, const struct tf_job_spec *spec)
{
    return tf_classes_rank(&site->classes, spec->priority ? spec->priority : "");
}

bool audit_is_kept(const struct audit_site *site, const struct tf_node *node, struct tf_uid uid,
                   const struct tf_job_spec *spec)
{
    tf_vec_each (claim, &site->node_claims)
        if (!tf_uid_eq(claim->c.uid, uid) && rank_of(site, claim->c.spec) >= rank_of(site, spec) &&
            tf_strs_has(&claim->c.nodes, node->name))
            return true;
    return false;
}

/* A higher one took the node, and the lower one looks for another. */
static bool is_taken(const struct audit_site *site, const struct audit_node_claim *claim, const char *node)
{
    tf_vec_each (other, &site->node_claims)
        if (rank_of(site, other->c.spec) > rank_of(site, claim->c.spec) && tf_strs_has(&other->c.nodes, node))
            return true;
    return false;
}

static bool is_bound(const struct audit_site *site, const struct audit_node_claim *claim,
                     const struct tf_allocation *a)
{
    bool ends = a->spec->max_runtime > 0 && a->accepted.ms + a->spec->max_runtime <= claim->c.until.ms;
    return !claim->fresh && !claim->over && !ends && !tf_uid_eq(claim->c.uid, a->uid) &&
           rank_of(site, claim->c.spec) >= rank_of(site, a->spec);
}

/* Some of the node was reserved for the job until it started. */
static bool was_reserved(struct audit *audit, const struct audit_site *site, const struct tf_allocation *a,
                         const char *node)
{
    const struct tf_job_manifest *job = &audit_job(audit, a->uid)->manifest;
    for (const struct audit_allocation *x = site->allocations; x; x = x->hh.next) {
        const struct tf_allocation *r = x->changed ? &x->before : &x->a;
        if (r->phase != TF_ALLOCATION_RESERVED ||
            !tf_owner_admits(&r->spec->reserve.owner, job->tenant, job->name, &job->labels))
            continue;
        tf_vec_each (c, &r->claims)
            if (tf_str_eq(c->node, node))
                return true;
    }
    return false;
}

static void check_node(struct audit *audit, const struct audit_site *site, const struct tf_allocation *a,
                       const char *node)
{
    tf_vec_each (claim,
                 &site->node_claims) /* that it was reserved takes longest to see, and is rare to matter */
        if (is_bound(site, claim, a) && tf_strs_has(&claim->c.nodes, node) && !is_taken(site, claim, node) &&
            !was_reserved(audit, site, a, node))
            audit_fail(audit,
                       "R5: job %s, which may run from %" PRId64 " for %" PRId64
                       " ms, starts a core on %s in %s, which is kept until %" PRId64 " for job %s",
                       audit_uid(a->uid), a->accepted.ms, a->spec->max_runtime, node, site->name,
                       claim->c.until.ms, audit_uid(claim->c.uid));
}

/* Since before this transaction. */
static bool is_being_emptied(const struct audit_site *site, const char *node)
{
    tf_vec_each (chain, &site->chains)
        if (!chain->changed && chain->m.ended.ms == 0 && tf_strs_has(&chain->m.empties, node))
            return true;
    return false;
}

static void check_emptied(struct audit *audit, const struct audit_site *site, const struct tf_allocation *a,
                          const char *node)
{
    if (is_being_emptied(site, node) && !was_reserved(audit, site, a, node))
        audit_fail(audit, "§8.4: job %s begins on %s in %s, which is being emptied", audit_uid(a->uid), node,
                   site->name);
}

/* A core that began with this transaction. One that ran before was adopted, and nobody chose where. */
void audit_check_kept(struct audit *audit, struct audit_site *site)
{
    for (size_t i = 0; i < site->opened.count; i++) {
        const struct audit_epoch *e = site->opened.items[i];
        const struct audit_allocation *known = audit_allocation(site, e->uid);
        bool lives = known && known->a.epoch == e->epoch && known->a.phase != TF_ALLOCATION_IDLE;
        if (!lives || e->ran || e->rolled || e->local_rolled || site->copied)
            continue;
        tf_vec_each (m, &known->a.members) {
            check_emptied(audit, site, &known->a, m->node);
            if (m->mark == 0)
                check_node(audit, site, &known->a, m->node);
        }
        tf_vec_each (c, &known->a.claims) {
            check_emptied(audit, site, &known->a, c->node);
            check_node(audit, site, &known->a, c->node);
        }
    }
}
