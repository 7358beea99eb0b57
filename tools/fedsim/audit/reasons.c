/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job waits (I13), each reason beside what naive loops over the stored records find: one that they
 * contradict is false. They do not know everything that a reason says, as how long a protection lasts. */
#include "tools/fedsim/audit/facts.h"

#include <inttypes.h>

struct doubt {
    const struct audit_site *site;
    const struct audit_job *job;
    struct tf_job_spec spec; /* the job's, borrowed: with or without its topology */
    const char *model;
    bool lower_goes; /* only what ranks below the job's core goes; else all that is ours */
};

static int rank_of(const struct audit_site *site, const struct tf_job_spec *spec)
{
    return tf_classes_rank(&site->classes, spec->priority ? spec->priority : "");
}

/* ---- one node ---- */

/* The leader may know less of a node that people or its subcluster think ill of. */
static bool serves(const struct audit_node *node, const struct tf_job_spec *spec)
{
    return node->node.state == TF_NODE_READY && !node->strange && !node->cordoned &&
           node->verdict == TF_VERDICT_NONE && tf_pairs_match(&node->node.labels, &spec->node_labels);
}

static bool has_model(const struct audit_node *node, const struct tf_job_spec *spec)
{
    const struct tf_strs *wanted = &spec->group.shape.gpu_models;
    if (spec->group.shape.gpus == 0)
        return true;
    return node->node.model && (!wanted->count || tf_strs_has(wanted, node->node.model));
}

static bool has_memory(const struct audit_node *node, const struct tf_job_spec *spec)
{
    return has_model(node, spec) && node->node.gpu_memory >= spec->group.shape.gpu_memory;
}

static struct tf_vector empty(const struct audit_node *node)
{
    const struct tf_node *n = &node->node;
    struct tf_vector have = n->capacity;
    have.gpus = tf_gpu_set_count(tf_gpu_set_all(n->capacity.gpus) & ~n->foreign.gpus & ~n->bad_gpus);
    have.slots -= n->foreign.slots;
    have.cpu -= n->foreign.cpu;
    have.memory -= n->foreign.memory;
    return tf_vector_floor0(have);
}

static bool fits_when_empty(const struct audit_node *node, const struct tf_job_spec *spec)
{
    return has_memory(node, spec) && tf_vector_count(tf_shape_vector(&spec->group.shape), empty(node)) > 0;
}

static bool stays(const struct doubt *doubt, const struct tf_allocation *a, const struct tf_member *m)
{
    int rank = rank_of(doubt->site, a->spec), own = rank_of(doubt->site, &doubt->spec);
    return audit_member_holds(m) && (rank > own || (rank == own && m->mark == 0));
}

static struct tf_vector stay_on(const struct doubt *doubt, const struct audit_node *node)
{
    struct tf_vector sum = {0};
    for (const struct audit_allocation *x = doubt->site->allocations; x; x = x->hh.next)
        for (size_t i = 0; x->a.phase != TF_ALLOCATION_IDLE && i < x->a.members.count; i++) {
            const struct tf_member *m = &x->a.members.items[i];
            if (stays(doubt, &x->a, m) && strcmp(m->node, node->node.name) == 0)
                sum = tf_vector_add(sum, tf_shape_vector(&x->a.spec->group.shape));
        }
    return sum;
}

static int32_t count_node(const struct audit_node *node, void *arg)
{
    const struct doubt *doubt = arg;
    const struct tf_job_spec *spec = &doubt->spec;
    bool model =
        spec->group.shape.gpus == 0 || strcmp(node->node.model ? node->node.model : "", doubt->model) == 0;
    if (!serves(node, spec) || !model || !has_memory(node, spec))
        return 0;
    if (!doubt->lower_goes)
        return tf_vector_count(tf_shape_vector(&spec->group.shape), empty(node));
    if (audit_is_kept(doubt->site, &node->node, doubt->job->uid, spec))
        return 0;
    struct tf_vector left = tf_vector_floor0(tf_vector_sub(empty(node), stay_on(doubt, node)));
    return tf_vector_count(tf_shape_vector(&spec->group.shape), left);
}

/* ---- a subcluster ---- */

typedef bool node_f(const struct audit_node *node, const struct tf_job_spec *spec);

static bool has_node(const struct doubt *doubt, node_f *is)
{
    for (const struct audit_node *node = doubt->site->nodes; node; node = node->hh.next)
        if (serves(node, &doubt->spec) && is(node, &doubt->spec))
            return true;
    return false;
}

static int32_t count_model(const char *model, void *arg)
{
    struct doubt *doubt = arg;
    doubt->model = model;
    return audit_count_nodes(doubt->site, &doubt->spec, count_node, doubt);
}

static bool holds_core(struct doubt doubt, bool lower_goes, bool with_topology)
{
    const struct tf_job_spec *spec = doubt.job->record->spec;
    doubt.lower_goes = lower_goes;
    if (!with_topology) {
        doubt.spec.topology.count = 0;
        doubt.spec.max_nodes = 0;
    }
    int32_t count = spec->group.shape.gpus ? audit_best_model(doubt.site, spec, count_model, &doubt)
                                           : count_model(NULL, &doubt);
    return count >= spec->elastic.min;
}

static bool protects_some(const struct audit_site *site)
{
    for (const struct audit_allocation *x = site->allocations; x; x = x->hh.next)
        if (x->a.phase != TF_ALLOCATION_IDLE && x->a.spec->min_runtime > 0)
            return true;
    return false;
}

static bool claims_some(const struct audit_site *site)
{
    for (const struct audit_allocation *x = site->allocations; x; x = x->hh.next)
        if (x->a.claims.count)
            return true;
    return site->node_claims.count > 0;
}

static bool refused_by(const struct audit_job *job, const struct audit_site *site)
{
    tf_vec_each (refusal, &job->record->refusals)
        if (strcmp(refusal->cluster, site->name) == 0)
            return true;
    return false;
}

/* Everything is known of every node that is ready. */
static bool is_clear(const struct audit_site *site)
{
    for (const struct audit_node *node = site->nodes; node; node = node->hh.next)
        if (node->strange || node->cordoned || node->verdict != TF_VERDICT_NONE)
            return false;
    return true;
}

/* A later reason is given though an earlier one holds (their order is that of DESIGN.md §3.1). */
static bool is_too_late(const struct doubt *doubt, enum tf_reason reason)
{
    if (!is_clear(doubt->site))
        return false;
    if (reason == TF_REASON_NOT_ENOUGH_NODES) /* also said where no node has the labels */
        return has_node(doubt, has_memory) && !has_node(doubt, fits_when_empty);
    return reason > TF_REASON_NOT_ENOUGH_NODES && reason <= TF_REASON_GPUS &&
           !holds_core(*doubt, false, false);
}

/* Of a reason other than POLICY, where the job may be. */
static bool is_false(const struct doubt *doubt, const struct audit_why *why)
{
    switch (why->reason) {
    case TF_REASON_CLUSTER_CORDONED:
        return !doubt->site->cordoned;
    case TF_REASON_NO_SUCH_MODEL:
        return has_node(doubt, has_model);
    case TF_REASON_GPU_MEMORY:
        return has_node(doubt, has_memory);
    case TF_REASON_NODE_TOO_SMALL:
        return has_node(doubt, fits_when_empty);
    case TF_REASON_NOT_ENOUGH_NODES:
        return holds_core(*doubt, false, false);
    case TF_REASON_TOPOLOGY:
        return holds_core(*doubt, false, true);
    case TF_REASON_HIGHER_PRIORITY:
        return holds_core(*doubt, true, true);
    case TF_REASON_PROTECTED:
        return !protects_some(doubt->site);
    case TF_REASON_CLAIMED:
        return !claims_some(doubt->site);
    case TF_REASON_REFUSED: /* alone it would be tried again, which is no rest */
        return why->first || !refused_by(doubt->job, doubt->site);
    case TF_REASON_CPU_MEMORY:
    case TF_REASON_GPUS:
    case TF_REASON_BRAKE:
    case TF_REASON_FROZEN:
        return false;
    default: /* what does not last until the world is at rest */
        return true;
    }
}

static void check_reason(struct audit *audit, const struct audit_site *site, const struct audit_job *job,
                         const struct audit_why *why)
{
    const struct doubt doubt = {.site = site, .job = job, .spec = *job->record->spec};
    bool may = audit_may_use(site, &doubt.spec);
    const char *uid = audit_uid(job->uid), *word = tf_reason_name(why->reason);
    if ((why->reason == TF_REASON_POLICY) == may)
        audit_fail(audit, "I13: at rest job %s %s use %s, but the reason is %s", uid, may ? "may" : "may not",
                   site->name, word);
    else if (may && (is_false(&doubt, why) || is_too_late(&doubt, why->reason)))
        audit_fail(audit, "I13: at rest job %s is not in %s for the reason %s", uid, site->name, word);
}

/* I8 */
static void check_room(struct audit *audit, const struct audit_site *site, const struct audit_job *job,
                       const struct audit_why *why)
{
    const struct tf_job_spec *spec = job->record->spec;
    int32_t count = audit_naive_count(site, job->uid, spec, NULL, false);
    if (audit_may_use(site, spec) && !site->cordoned && count >= spec->elastic.min)
        audit_fail(audit,
                   "I8: at rest job %s (min %d) waits, of which %s could hold %d; the reason given is %s",
                   audit_uid(job->uid), spec->elastic.min, site->name, count, tf_reason_name(why->reason));
}

/* A subcluster that there is; the job may name others, too. */
static const struct audit_site *site_of(const struct audit *audit, const struct audit_why *why)
{
    tf_vec_each (site, &audit->sites)
        if (strcmp((*site)->name, why->cluster) == 0)
            return *site;
    return NULL;
}

void audit_check_waiting(struct audit *audit, const struct audit_job *job)
{
    size_t reasons = 0;
    audit->counts.waiting_at_rest++;
    tf_vec_each (why, &job->whys) {
        const struct audit_site *site = site_of(audit, why);
        if (!site)
            continue;
        reasons += why->first;
        check_reason(audit, site, job, why);
        if (why->first)
            check_room(audit, site, job, why);
    }
    if (reasons != audit->sites.count)
        audit_fail(audit, "I13: at rest job %s waits with %zu reasons for %zu subclusters",
                   audit_uid(job->uid), reasons, audit->sites.count);
}
