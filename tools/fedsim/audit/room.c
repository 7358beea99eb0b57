/* SPDX-License-Identifier: Apache-2.0 */
/* Capacity by naive loops: I3 in the ledgers, I9 without faults, and that no capacity is spent twice. */
#include "tools/fedsim/audit/facts.h"

#include "common/base/cleanup.h"
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
    case TF_MEMBER_LEAVING:
        return true;
    case TF_MEMBER_NONE:
    case TF_MEMBER_DONE:
    case TF_MEMBER_GONE:
    case TF_MEMBER_MISSING:
        break;
    }
    return false;
}

/* ---- what is used of each node, by the stored records ---- */

static void touch(struct audit_site *site, struct audit_node *node)
{
    if (node->touched)
        return;
    node->touched = true;
    tf_vec_push(&site->touched, node);
}

static void count_gpus(uint8_t *counts, uint64_t set, int32_t times)
{
    for (; set; set &= set - 1) {
        int gpu = __builtin_ctzll(set);
        counts[gpu] = (uint8_t)(counts[gpu] + times);
    }
}

static void count_member(struct audit_site *site, struct audit_node *node, const struct tf_member *m,
                         struct tf_vector need, int32_t times)
{
    touch(site, node);
    node->used = tf_vector_add(node->used, tf_vector_scale(need, times));
    count_gpus(node->holders, m->gpus, times);
}

void audit_count_claim(struct audit_site *site, const struct tf_claim *claim, int32_t times)
{
    struct audit_node *node = claim->node ? audit_find_node(site, claim->node) : NULL;
    if (!node)
        return;
    touch(site, node);
    count_gpus(node->claimants, claim->gpus, times);
}

/* A reservation's claim stays, as what is held does. */
static void count_kept(struct audit_site *site, const struct tf_claim *claim, int32_t times)
{
    struct tf_vector kept = {tf_gpu_set_count(claim->gpus), claim->slots, claim->cpu, claim->memory};
    struct audit_node *node = audit_find_node(site, claim->node);
    if (node)
        node->used = tf_vector_add(node->used, tf_vector_scale(kept, times));
}

void audit_count_allocation(struct audit *audit, struct audit_site *site, const struct tf_allocation *a,
                            int32_t times)
{
    struct tf_vector need = tf_shape_vector(&a->spec->group.shape);
    if (a->phase == TF_ALLOCATION_IDLE)
        return;
    tf_vec_each (c, &a->claims) {
        audit_count_claim(site, c, times);
        if (a->phase == TF_ALLOCATION_RESERVED)
            count_kept(site, c, times);
    }
    tf_vec_each (m, &a->members) {
        if (!audit_member_holds(m))
            continue;
        struct audit_node *node = audit_find_node(site, m->node);
        if (node)
            count_member(site, node, m, need, times);
        else
            audit_fail(audit, "I3: the ledger of %s has job %s on %s, which is no node", site->name,
                       audit_uid(a->uid), m->node);
    }
}

/* For the words only: one that holds it. */
static const char *holder_of(const struct audit_site *site, const struct audit_node *node, unsigned gpu)
{
    for (const struct audit_allocation *x = site->allocations; x; x = x->hh.next)
        for (size_t i = 0; x->a.phase != TF_ALLOCATION_IDLE && i < x->a.members.count; i++) {
            const struct tf_member *m = &x->a.members.items[i];
            if (audit_member_holds(m) && m->gpus >> gpu & 1 && tf_str_eq(m->node, node->node.name))
                return audit_uid(x->a.uid);
        }
    return "?";
}

static void check_holders(struct audit *audit, const struct audit_site *site, const struct audit_node *node)
{
    for (unsigned gpu = 0; gpu < TF_NODE_GPUS_MAX; gpu++)
        if (node->holders[gpu] > 1)
            audit_fail(audit, "I3: in the ledger of %s a GPU of %s has two holders, one of job %s",
                       site->name, node->node.name, holder_of(site, node, gpu));
    for (unsigned gpu = 0; gpu < TF_NODE_GPUS_MAX; gpu++)
        if (node->claimants[gpu] > 1)
            audit_fail(audit, "I3: in the ledger of %s GPU %u of %s has two claimants", site->name, gpu,
                       node->node.name);
}

static void check_refusals(struct audit *audit, struct audit_site *site);

void audit_check_ledger(struct audit *audit, struct audit_site *site)
{
    tf_vec_each (node, &site->touched)
        check_holders(audit, site, *node);
    check_refusals(audit, site);
    tf_vec_each (node, &site->touched) {
        (*node)->used_before = (*node)->used;
        (*node)->touched = false;
    }
    site->touched.count = 0;
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

struct room_ask {
    const struct audit_site *site;
    struct tf_uid uid;
    const struct tf_job_spec *spec;
    const char *model; /* NULL: any, if no GPUs are asked for */
    bool cautious;
};

static int32_t count_one(const struct audit_node *node, void *arg)
{
    const struct room_ask *ask = arg;
    const struct tf_job_spec *spec = ask->spec;
    const struct tf_shape *shape = &spec->group.shape;
    if (node->node.state != TF_NODE_READY || node->strange || node->cordoned ||
        !tf_pairs_match(&node->node.labels, &spec->node_labels) ||
        audit_is_kept(ask->site, &node->node, ask->uid, spec))
        return 0;
    if (shape->gpus > 0 &&
        (!tf_str_eq(node->node.model, ask->model) || node->node.gpu_memory < shape->gpu_memory))
        return 0;
    return tf_vector_count(tf_shape_vector(shape), free_of(node, ask->cautious));
}

static int by_count(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x < y) - (x > y);
}

/* In nodes of that domain of plane 0 (NULL: all). */
static int32_t count_in(const struct audit_site *site, const struct tf_job_spec *spec, const char *domain,
                        audit_count_f *count, void *arg)
{
    TF_AUTO_FREE int32_t *counts = tf_calloc(HASH_COUNT(site->nodes) + 1, sizeof *counts);
    int32_t sum = 0;
    size_t n = 0;
    for (const struct audit_node *node = site->nodes; node; node = node->hh.next) {
        const struct tf_strs *places = &node->node.domains;
        if (!domain || (places->count && strcmp(places->items[0], domain) == 0))
            counts[n++] = count(node, arg);
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

static void add_once(struct tf_strs *list, const char *word)
{
    if (!tf_strs_has(list, word))
        tf_strs_add(list, word);
}

int32_t audit_count_nodes(const struct audit_site *site, const struct tf_job_spec *spec, audit_count_f *count,
                          void *arg)
{
    if (!wants_one_domain(spec))
        return count_in(site, spec, NULL, count, arg);
    struct tf_strs domains = {0}; /* without a path a node is in none */
    int32_t best = 0;
    for (const struct audit_node *node = site->nodes; node; node = node->hh.next)
        if (node->node.domains.count && *node->node.domains.items[0])
            add_once(&domains, node->node.domains.items[0]);
    tf_vec_each (domain, &domains) {
        int32_t here = count_in(site, spec, *domain, count, arg);
        best = here > best ? here : best;
    }
    tf_strs_release(&domains);
    return best;
}

int32_t audit_best_model(const struct audit_site *site, const struct tf_job_spec *spec, audit_model_f *count,
                         void *arg)
{
    const struct tf_strs *wanted = &spec->group.shape.gpu_models;
    struct tf_strs models = {0};
    int32_t best = 0;
    for (const struct audit_node *node = site->nodes; node; node = node->hh.next)
        if (node->node.model && (!wanted->count || tf_strs_has(wanted, node->node.model)))
            add_once(&models, node->node.model);
    tf_vec_each (model, &models) {
        int32_t here = count(*model, arg);
        best = here > best ? here : best;
    }
    tf_strs_release(&models);
    return best;
}

/* In nodes of that model. */
static int32_t count_model(const char *model, void *arg)
{
    struct room_ask *ask = arg;
    ask->model = model;
    return audit_count_nodes(ask->site, ask->spec, count_one, ask);
}

int32_t audit_naive_count(const struct audit_site *site, struct tf_uid uid, const struct tf_job_spec *spec,
                          const char *only, bool cautious)
{
    struct room_ask ask = {site, uid, spec, only, cautious};
    if (spec->group.shape.gpus == 0 || only)
        return count_model(only, &ask);
    return audit_best_model(site, spec, count_model, &ask);
}

bool audit_may_use(const struct audit_site *site, const struct tf_job_spec *spec)
{
    return (!spec->clusters.count || tf_strs_has(&spec->clusters, site->name)) &&
           (!spec->regions.count || tf_strs_has(&spec->regions, site->region));
}

/* ---- what fits is not refused ---- */

/* I9, of the subcluster: it refused what would have fitted both before and after the transaction. Nodes that
 * change are known to the daemon later than to us. */
static void check_refusals(struct audit *audit, struct audit_site *site)
{
    tf_vec_each (at, &site->refused) {
        const struct audit_epoch *e = *at;
        const struct tf_job_spec *spec = &e->job->manifest.spec;
        if (!audit->calm || site->changed || site->claiming || e->ran || audit_moves_at(site, NULL))
            continue;
        int32_t count = audit_naive_count(site, e->uid, spec, e->model, true);
        if (count >= spec->elastic.min)
            audit_fail(audit,
                       "I9: %s refuses epoch %" PRIu64 " of job %s, of which %d would fit and %d are needed",
                       site->name, e->epoch, audit_uid(e->uid), count, spec->elastic.min);
    }
    site->refused.count = 0;
}

/* ---- no capacity is spent twice ---- */

/* Instances that hold GPUs, or will when the placement arrives. */
static int32_t promised_to(const struct audit_epoch *e)
{
    const struct audit_allocation *known = audit_allocation(e->site, e->uid);
    const struct tf_allocation *a = known ? &known->a : NULL;
    bool live = a && a->epoch == e->epoch && a->phase != TF_ALLOCATION_IDLE;
    int32_t held = 0;
    if (e->ended || ((e->recorded || e->rolled) && !live)) /* of a restored store: the subcluster says */
        return 0;
    if (e->level > TF_LEVEL_FREE && (!live || a->phase == TF_ALLOCATION_CLAIMING))
        return 0; /* room is being made for it */
    if (!live)
        return e->size;
    if (a->phase == TF_ALLOCATION_RESERVED)
        return (int32_t)a->claims.count;
    tf_vec_each (m, &a->members)
        held += audit_member_holds(m);
    /* what it has grown by, its leader hears of with the next profile only; what it promises meanwhile is
     * refused */
    return held < e->size ? held : e->size;
}

void audit_count_promise(const struct audit *audit, struct audit_epoch *e)
{
    if (!e->site)
        return;
    int32_t spent = e->placed ? promised_to(e) * e->job->manifest.spec.group.shape.gpus : 0;
    if (e->recorded && spent > e->spent)
        e->site->grown = audit->now;
    e->site->spent += spent - e->spent;
    e->spent = spent;
}

/* What a subcluster takes for a placement that needs others' room the leader only guesses: what does not fit
 * beside it is refused (DESIGN.md §6). */
static bool is_reclaiming(const struct audit *audit, const struct audit_site *site)
{
    for (const struct audit_epoch *e = audit->numbers; e; e = e->hh.next)
        if (e->site == site && e->placed && e->level > TF_LEVEL_FREE)
            return true;
    return false;
}

/* A job may have as many as it was granted, or as it told of, and the profile that says where may still be on
 * its way: the leader counts with the room of before, and is refused. */
static bool has_grown_of_late(const struct audit *audit, const struct audit_site *site)
{
    enum { NEWS = 40 * TF_SECOND };
    return site->grown.ms && audit->now.ms - site->grown.ms < NEWS;
}

/* What its owner is to have out of it was promised to the reservation before. */
static bool is_reserving(const struct audit *audit, const struct audit_site *site)
{
    for (const struct audit_epoch *e = audit->numbers; e; e = e->hh.next)
        if (e->site == site && e->placed && tf_is_reservation(&e->job->manifest.spec))
            return true;
    return false;
}

/* PITFALLS.md 4: the leader has promised no more GPUs of a subcluster than there are. */
void audit_check_room(struct audit *audit, struct audit_site *site)
{
    if (!site->placed || site->changed)
        return;
    site->placed = false;
    if (site->spent > site->gpus && !is_reclaiming(audit, site) && !has_grown_of_late(audit, site) &&
        !is_reserving(audit, site))
        audit_fail(audit, "I9: the leader has promised %d GPUs of %s, which has %d", site->spent, site->name,
                   site->gpus);
}
