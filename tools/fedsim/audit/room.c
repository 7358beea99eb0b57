/* SPDX-License-Identifier: Apache-2.0 */
/* Capacity by naive loops: I3 in the ledgers, I9 without faults, and that no capacity is spent twice. */
#include "tools/fedsim/audit/facts.h"

#include "common/base/text.h"

#include <inttypes.h>

bool audit_member_holds(const struct tf_member *member)
{
    switch (member->state) {
    case TF_MEMBER_PLANNED:
    case TF_MEMBER_STARTING:
    case TF_MEMBER_READY:
    case TF_MEMBER_STOPPING:
    case TF_MEMBER_BACKOFF:
        return true;
    case TF_MEMBER_NONE:
    case TF_MEMBER_DONE:
    case TF_MEMBER_GONE:
        break;
    }
    return false;
}

/* ---- what is used of each node, by the stored records ---- */

static void use(struct audit *audit, struct audit_site *site, const struct tf_allocation *a,
                const struct tf_member *m, uint64_t *gpus)
{
    struct audit_node *node = audit_find_node(site, m->node);
    if (!node) {
        audit_fail(audit, "I3: the ledger of %s has job %s on %s, which is no node", site->name,
                   audit_uid(a->uid), m->node);
        return;
    }
    uint64_t *held = &gpus[node - site->nodes.items];
    if (*held & m->gpus)
        audit_fail(audit, "I3: in the ledger of %s a GPU of %s has two holders, one of job %s", site->name,
                   m->node, audit_uid(a->uid));
    *held |= m->gpus;
    node->used = tf_vector_add(node->used, tf_shape_vector(&a->spec.group.shape));
}

void audit_check_ledger(struct audit *audit, struct audit_site *site)
{
    uint64_t gpus[64] = {0};
    tf_vec_each (node, &site->nodes) {
        node->used_before = node->used;
        node->used = (struct tf_vector){0};
    }
    tf_vec_each (a, &site->allocations)
        tf_vec_each (m, &a->members)
            if (a->phase != TF_ALLOCATION_IDLE && audit_member_holds(m))
                use(audit, site, a, m, gpus);
    audit_check_refusals(audit, site);
}

/* ---- what would fit ---- */

static struct tf_vector free_of(const struct audit_node *node, bool cautious)
{
    const struct tf_node *n = &node->node;
    struct tf_vector have = n->capacity, used = node->used;
    if (cautious)
        used = tf_vector_max(used, node->used_before);
    have.gpus = tf_gpu_set_count(tf_gpu_set_all(n->capacity.gpus) & ~n->foreign.gpus & ~n->bad_gpus);
    have.slots -= n->foreign.slots;
    have.cpu -= n->foreign.cpu;
    have.memory -= n->foreign.memory;
    return tf_vector_floor0(tf_vector_sub(have, used));
}

static int32_t node_count(const struct audit_node *node, const struct tf_job_spec *spec, const char *model,
                          bool cautious)
{
    const struct tf_shape *shape = &spec->group.shape;
    if (node->node.state != TF_NODE_READY || !tf_pairs_match(&node->node.labels, &spec->node_labels))
        return 0;
    if (shape->gpus > 0 && (!tf_str_eq(node->node.model, model) || node->node.gpu_memory < shape->gpu_memory))
        return 0;
    return tf_vector_count(tf_shape_vector(shape), free_of(node, cautious));
}

static int by_count(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x < y) - (x > y);
}

/* In nodes of that model (any, if no GPUs are asked for), and of that domain of plane 0 (NULL: all). */
static int32_t count_in(const struct audit_site *site, const struct tf_job_spec *spec, const char *model,
                        const char *domain, bool cautious)
{
    int32_t counts[64], sum = 0;
    size_t n = 0;
    tf_vec_each (node, &site->nodes) {
        const struct tf_strs *places = &node->node.domains;
        if (!domain || (places->count && strcmp(places->items[0], domain) == 0))
            counts[n++] = node_count(node, spec, model, cautious);
    }
    qsort(counts, n, sizeof counts[0], by_count);
    for (size_t i = 0; i < n && (spec->max_nodes == 0 || i < (size_t)spec->max_nodes); i++)
        sum += counts[i];
    return sum - sum % spec->elastic.step;
}

static bool wants_one_domain(const struct tf_job_spec *spec)
{
    tf_vec_each (rule, &spec->topology)
        if (rule->mode == TF_TOPOLOGY_REQUIRE)
            return true;
    return false;
}

static int32_t count_model(const struct audit_site *site, const struct tf_job_spec *spec, const char *model,
                           bool cautious)
{
    if (!wants_one_domain(spec))
        return count_in(site, spec, model, NULL, cautious);
    int32_t best = 0;
    tf_vec_each (node, &site->nodes) {
        const struct tf_strs *places = &node->node.domains;
        bool placed = places->count && *places->items[0]; /* without a path it is in no domain */
        int32_t count = placed ? count_in(site, spec, model, places->items[0], cautious) : 0;
        best = count > best ? count : best;
    }
    return best;
}

int32_t audit_naive_count(const struct audit_site *site, const struct tf_job_spec *spec, const char *only,
                          bool cautious)
{
    const struct tf_strs *models = &spec->group.shape.gpu_models;
    int32_t best = 0;
    if (spec->group.shape.gpus == 0 || only)
        return count_model(site, spec, only, cautious);
    tf_vec_each (node, &site->nodes) {
        const char *model = node->node.model;
        if (!model || (models->count && !tf_strs_has(models, model)))
            continue;
        int32_t count = count_model(site, spec, model, cautious);
        best = count > best ? count : best;
    }
    return best;
}

bool audit_may_use(const struct audit_site *site, const struct tf_job_spec *spec)
{
    return (!spec->clusters.count || tf_strs_has(&spec->clusters, site->name)) &&
           (!spec->regions.count || tf_strs_has(&spec->regions, site->region));
}

/* ---- what fits is not refused ---- */

static const struct audit_epoch *epoch_numbered(const struct audit *audit, uint64_t number)
{
    tf_vec_each (e, &audit->epochs)
        if (e->epoch == number && e->cluster)
            return e;
    return NULL;
}

/* I9, of the subcluster: it refused what would have fitted both before and after the transaction. Nodes that
 * change are known to the daemon later than to us. */
void audit_check_refusals(struct audit *audit, struct audit_site *site)
{
    tf_vec_each (number, &site->refused) {
        const struct audit_epoch *e = epoch_numbered(audit, *number);
        const struct tf_job_spec *spec = &audit_job(audit, e->uid)->manifest.spec;
        if (site->changed || e->ran)
            continue;
        int32_t count = audit_naive_count(site, spec, e->model, true);
        if (audit->calm && count >= spec->elastic.min)
            audit_fail(audit,
                       "I9: %s refuses epoch %" PRIu64 " of job %s, of which %d would fit and %d are needed",
                       site->name, *number, audit_uid(e->uid), count, spec->elastic.min);
    }
    site->refused.count = 0;
}

/* ---- no capacity is spent twice ---- */

static int32_t gpus_of(const struct audit_site *site)
{
    int32_t sum = 0;
    tf_vec_each (node, &site->nodes)
        sum += tf_gpu_set_count(tf_gpu_set_all(node->node.capacity.gpus) & ~node->node.foreign.gpus &
                                ~node->node.bad_gpus);
    return sum;
}

static const struct tf_allocation *stored_live(const struct audit_site *site, const struct audit_epoch *e)
{
    tf_vec_each (a, &site->allocations)
        if (tf_uid_eq(a->uid, e->uid) && a->epoch == e->epoch && a->phase != TF_ALLOCATION_IDLE)
            return a;
    return NULL;
}

/* Instances that hold GPUs, or will when the placement arrives. */
static int32_t spent_by(const struct audit_site *site, const struct audit_epoch *e)
{
    const struct tf_allocation *a = stored_live(site, e);
    int32_t held = 0;
    if (e->ended || (e->recorded && !a))
        return 0;
    if (!a)
        return e->size;
    tf_vec_each (m, &a->members)
        held += audit_member_holds(m);
    return held;
}

/* PITFALLS.md 4: the leader has promised no more GPUs of a subcluster than there are. */
void audit_check_room(struct audit *audit, struct audit_site *site)
{
    int32_t spent = 0, have = gpus_of(site);
    if (!site->placed || site->changed)
        return;
    site->placed = false;
    tf_vec_each (e, &audit->epochs)
        if (e->placed && strcmp(e->cluster, site->name) == 0)
            spent += spent_by(site, e) * audit_job(audit, e->uid)->manifest.spec.group.shape.gpus;
    if (spent > have)
        audit_fail(audit, "I9: the leader has promised %d GPUs of %s, which has %d", spent, site->name, have);
}
