/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the claims on whole nodes. Who may claim is the leader's to say, what a claimed row means for others
 * is common/fit's, who takes GPUs from whom reclaim.c's. */
#include "subcluster/core/node_claims.h"

#include "subcluster/core/jobs.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/migrate.h"
#include "subcluster/core/mix.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/trace.h"

#include <assert.h>

/* A node that is gone is replaced as soon as that is seen; where there is no other, this is how often one is
 * looked for. */
enum { LOOK_AGAIN = TF_MINUTE };

static struct node_claim *find(const struct sub *sub, struct tf_uid uid)
{
    tf_vec_each (c, &sub->node_claims)
        if (tf_uid_eq(c->record.uid, uid))
            return c;
    return NULL;
}

const struct tf_node_claim *node_claim_of(const struct sub *sub, struct tf_uid uid)
{
    const struct node_claim *c = find(sub, uid);
    return c ? &c->record : NULL;
}

void node_claims_bind(const struct sub *sub, struct tf_uid uid, const struct tf_job_spec *spec,
                      struct tf_demand *demand)
{
    demand->claimant = find(sub, uid) != NULL;
    if (spec->max_runtime > 0)
        demand->ends.ms = sub->now.wall.ms + spec->max_runtime;
}

/* ---- when a node will be empty ---- */

/* Work without maxRuntime ends nobody knows when: such nodes are empty after all others, those with fewer of
 * their GPUs held so before those with more. */
#define ENDLESS (INT64_C(1) << 60)

struct emptying {
    int64_t key;      /* the moment, or ENDLESS and more */
    int64_t known_by; /* the latest end that is known, at least now */
};

/* Latest end of what the job holds or will hold; ENDLESS if it has none. */
static int64_t end_of(const struct sub *sub, const struct job *job)
{
    const struct tf_allocation *a = &job->record;
    int64_t runs = a->spec->max_runtime;
    if (runs <= 0)
        return ENDLESS;
    return (a->phase == TF_ALLOCATION_RUNNING ? a->started.ms : sub->now.wall.ms) + runs;
}

void node_claims_bind_running(const struct sub *sub, const struct job *job, struct tf_demand *demand)
{
    int64_t end = end_of(sub, job);
    if (end < ENDLESS)
        demand->ends.ms = end;
}

/* A core of a lower class may be taken when its protection is over. */
static int64_t yields_at(const struct sub *sub, const struct job *job, int rank)
{
    int64_t end = end_of(sub, job), left = job->protected_until.ms - sub->now.mono.ms;
    bool yields = job->protected_until.ms != TF_NEVER.ms && class_rank(sub, job->record.spec) < rank;
    return yields && sub->now.wall.ms + left < end ? sub->now.wall.ms + left : end;
}

static void wait_for(const struct sub *sub, const struct holding *h, int rank, struct emptying *out)
{
    const struct job *job = job_find(sub, h->uid);
    int64_t end = job && !h->stuck ? yields_at(sub, job, rank) : ENDLESS;
    if (end < ENDLESS && end > out->known_by)
        out->known_by = end;
    if (end < ENDLESS)
        out->key = end > out->key ? end : out->key;
    else
        out->key = (out->key < ENDLESS ? ENDLESS : out->key) + 1 + tf_gpu_set_count(h->hold.gpus);
}

/* For a core of that rank, which need not wait for what it may take. */
static struct emptying empty_when(const struct sub *sub, const struct ledger_node *node, int rank)
{
    struct emptying out = {sub->now.wall.ms, sub->now.wall.ms};
    tf_level may_take = (tf_level)(tf_level_core(rank) - 1);
    tf_vec_each (h, &node->holdings)
        if (h->stuck || h->hold.level > may_take)
            wait_for(sub, h, rank, &out);
    tf_vec_each (c, &node->claims) {
        if (c->hold.level <= may_take)
            continue;
        wait_for(sub, c, rank, &out);
        out.key += c->reserved ? ENDLESS : 0; /* nobody knows when its owner comes, or goes */
    }
    if (node->blockings.count)
        out.key += ENDLESS;
    return out;
}

/* ---- nodes that are freed for it ---- */

static bool is_for(const struct tf_migration *chain, const struct tf_node_claim *record)
{
    size_t len = strlen(record->tenant);
    return chain->ended.ms == 0 && chain->cause == TF_MOVE_BY_DEFRAG && chain->owner &&
           strncmp(chain->owner, record->tenant, len) == 0 && chain->owner[len] == '/' &&
           strcmp(chain->owner + len + 1, record->name) == 0;
}

/* The chain that makes room for the job; NULL: none is under way. */
static const struct tf_migration *chain_for(const struct sub *sub, const struct tf_node_claim *record)
{
    const struct tf_migration *chain;
    for (size_t i = 0; (chain = migrate_at(sub, i)) != NULL; i++)
        if (is_for(chain, record))
            return chain;
    return NULL;
}

static bool leaves(const struct tf_migration *chain, const struct ledger_node *node, const struct holding *h)
{
    tf_vec_each (move, &chain->moves)
        if (move->index == h->index && tf_uid_eq(move->uid, h->uid) &&
            strcmp(move->from, node->node.name) == 0)
            return true;
    return false;
}

/* What it has when the chain is over. */
static struct tf_vector left_by(const struct tf_migration *chain, const struct ledger_node *node)
{
    struct tf_vector left = ledger_capacity(node);
    tf_vec_each (h, &node->holdings) {
        struct tf_vector held = h->hold.amount;
        held.gpus = tf_gpu_set_count(h->hold.gpus);
        left = leaves(chain, node, h) ? left : tf_vector_sub(left, held);
    }
    return tf_vector_floor0(left);
}

/* ---- which nodes ---- */

/* The nodes as they will be: each empty from its moment on, and nothing before. */
struct plan {
    struct sub *sub;
    const struct tf_demand *demand;
    TF_VEC(struct emptying) when;           /* of each node */
    TF_VEC(struct tf_level_vector) vectors; /* what each has when it is empty; at the end, what is seen */
    TF_VEC(struct tf_profile_row) rows;
    TF_VEC(int64_t) keys; /* ascending */
    int64_t work;
};

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Claimed for somebody who does not have to yield. */
static bool is_kept_for_another(const struct ledger_node *node, struct tf_uid uid, int rank)
{
    return node->kept.rank >= rank && !tf_uid_eq(node->kept.owner, uid);
}

static void plan_init(struct plan *plan, struct sub *sub, const struct tf_node_claim *record,
                      const struct tf_demand *demand)
{
    struct tf_fit_view view = ledger_view(&sub->ledger);
    const struct tf_migration *chain = chain_for(sub, record);
    *plan = (struct plan){.sub = sub, .demand = demand};
    tf_vec_each (node, &sub->ledger.nodes) {
        struct tf_profile_row row = view.rows[(*node)->number];
        struct tf_level_vector all = {TF_LEVEL_FREE, {0}};
        if (row.count > 0 && !is_kept_for_another(*node, record->uid, demand->rank))
            all.have = tf_profile_row_at(&row, TF_LEVEL_TOP);
        struct emptying when = empty_when(sub, *node, demand->rank);
        if (chain && tf_strs_has(&chain->empties, (*node)->node.name) && row.count > 0) {
            all.have = left_by(chain, *node);
            when = (struct emptying){sub->now.wall.ms, sub->now.wall.ms};
        }
        row.claim_rank = -1;
        tf_vec_push(&plan->rows, row);
        tf_vec_push(&plan->vectors, all);
        tf_vec_push(&plan->when, when);
        tf_vec_push(&plan->keys, when.key);
    }
    if (plan->keys.count > 1)
        qsort(plan->keys.items, plan->keys.count, sizeof *plan->keys.items, by_value);
}

static void plan_release(struct plan *plan)
{
    tf_vec_release(&plan->when);
    tf_vec_release(&plan->vectors);
    tf_vec_release(&plan->rows);
    tf_vec_release(&plan->keys);
}

/* What is empty by then. */
static struct tf_fit_view plan_view(struct plan *plan, int64_t key)
{
    static const struct tf_level_vector nothing = {TF_LEVEL_FREE, {0}};
    struct tf_fit_view view = ledger_view(&plan->sub->ledger);
    for (size_t i = 0; i < plan->rows.count; i++) {
        struct tf_level_vectors *levels = &plan->rows.items[i].levels;
        bool empty = plan->when.items[i].key <= key;
        levels->items = empty ? &plan->vectors.items[i] : (struct tf_level_vector *)&nothing;
        levels->count = levels->cap = 1;
    }
    view.rows = plan->rows.items;
    plan->work += (int64_t)view.count;
    return view;
}

static bool fits_by(struct plan *plan, int64_t key)
{
    struct tf_fit fit;
    struct tf_fit_view view = plan_view(plan, key);
    tf_fit_count(&view, plan->demand, TF_LEVEL_FREE, plan->sub->scratch, &fit);
    return fit.fits;
}

/* The first moment by which the core could be packed on nodes that are empty; false if that never comes. */
static bool find_moment(struct plan *plan, int64_t *key)
{
    size_t low = 0, high = plan->keys.count;
    if (high == 0 || !fits_by(plan, plan->keys.items[high - 1]))
        return false;
    for (high--; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (fits_by(plan, plan->keys.items[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    *key = plan->keys.items[low];
    return true;
}

/* Puts the nodes and the moment into the record; false, and no change, if there are not enough. */
static bool choose_nodes(struct sub *sub, struct tf_node_claim *record, int64_t *work)
{
    struct tf_demand demand = {0};
    struct tf_fit_placement packing = {0};
    struct plan plan = {0};
    int64_t key = 0;
    ledger_refresh(&sub->ledger);
    struct tf_fit_view view = ledger_view(&sub->ledger);
    bool found =
        tf_demand_resolve(&demand, record->spec, class_rank(sub, record->spec), view.catalog, NULL) == 0;
    if (found) {
        plan_init(&plan, sub, record, &demand);
        found = find_moment(&plan, &key);
    }
    if (found) {
        view = plan_view(&plan, key);
        found =
            tf_fit_pack(&view, &demand, TF_LEVEL_FREE, demand.core, mix_of_all(sub), sub->scratch, &packing);
        assert(found && "what counts packs");
        tf_strs_release(&record->nodes);
        record->until = sub->now.wall;
    }
    tf_vec_each (row, &packing.rows) {
        tf_strs_add(&record->nodes, sub->ledger.nodes.items[row->row]->node.name);
        if (plan.when.items[row->row].known_by > record->until.ms)
            record->until.ms = plan.when.items[row->row].known_by;
    }
    *work += plan.work;
    tf_fit_placement_release(&packing);
    plan_release(&plan);
    tf_demand_release(&demand);
    return found;
}

/* ---- flags ---- */

static void keep_nodes(struct sub *sub, const struct tf_node_claim *record)
{
    int rank = class_rank(sub, record->spec);
    tf_vec_each (name, &record->nodes) {
        struct ledger_node *node = ledger_need(&sub->ledger, *name);
        if (!is_kept_for_another(node, record->uid, rank))
            ledger_keep(&sub->ledger, node, record->uid, rank, record->until);
    }
}

static void let_nodes_go(struct sub *sub, const struct tf_node_claim *record)
{
    tf_vec_each (name, &record->nodes) {
        struct ledger_node *node = ledger_find(&sub->ledger, *name);
        if (node && node->kept.rank >= 0 && tf_uid_eq(node->kept.owner, record->uid))
            ledger_unkeep(&sub->ledger, node);
    }
}

/* Those of others may name nodes that a higher one has let go. */
static void keep_all(struct sub *sub)
{
    tf_vec_each (c, &sub->node_claims)
        keep_nodes(sub, &c->record);
}

static void trace_claim(struct sub *sub, const struct tf_node_claim *record, bool again)
{
    bool one = record->nodes.count == 1;
    trace(sub,
          "job %s/%s claims %zu node%s%s, %s%s: cores of %s or lower may use %s if they end within %lld s",
          record->tenant, record->name, record->nodes.count, one ? "" : "s", again ? " anew" : "",
          record->nodes.items[0], one ? "" : " and on", record->spec->priority, one ? "it" : "them",
          (long long)((record->until.ms - sub->now.wall.ms) / TF_SECOND));
}

/* Chooses nodes, at first or anew, and keeps them. */
static bool keep_for(struct sub *sub, struct node_claim *c, bool again, int64_t *work)
{
    struct tf_node_claim next = {0};
    tf_node_claim_copy(&next, &c->record);
    if (!choose_nodes(sub, &next, work)) {
        tf_node_claim_release(&next);
        return false;
    }
    let_nodes_go(sub, &c->record);
    tf_node_claim_release(&c->record);
    c->record = next;
    keep_nodes(sub, &c->record);
    keep_all(sub);
    out_touch_claim(sub, c->record.uid);
    trace_claim(sub, &c->record, again);
    tf_reached_if(!again, sub, SUB_NODES_CLAIMED);
    tf_reached_if(again, sub, SUB_NODES_CLAIMED_ANEW);
    return true;
}

static void remove_claim(struct sub *sub, struct node_claim *c)
{
    size_t at = (size_t)(c - sub->node_claims.items);
    let_nodes_go(sub, &c->record);
    out_touch_claim(sub, c->record.uid);
    tf_node_claim_release(&c->record);
    tf_vec_remove(&sub->node_claims, at);
    keep_all(sub);
}

/* ---- what the leader says ---- */

static bool is_moved_for(const struct sub *sub, const struct tf_entry *entry)
{
    const struct tf_node_claim names = {.tenant = entry->tenant, .name = entry->name};
    return chain_for(sub, &names) != NULL;
}

int64_t node_claim_make(struct sub *sub, const struct tf_entry *entry)
{
    int64_t work = 0;
    const struct job *job = job_find(sub, entry->uid);
    struct node_claim *c = find(sub, entry->uid);
    if (job && job_lives(job))
        return 0; /* it has what it had claimed for */
    if (c && tf_spec_eq(c->record.spec, entry->spec)) {
        c->told = true;
        return 0;
    }
    if (c)
        remove_claim(sub, c);
    if (entry->move_cost > 0 && !is_moved_for(sub, entry))
        return 0; /* no room is being made for it: nothing is kept, and the leader does otherwise */
    struct node_claim claim = {.told = true, .next_look = TF_NEVER};
    claim.record.uid = entry->uid;
    claim.record.tenant = tf_strdup(entry->tenant);
    claim.record.name = tf_strdup(entry->name);
    claim.record.spec = tf_spec_take(entry->spec);
    if (keep_for(sub, &claim, false, &work))
        tf_vec_push(&sub->node_claims, claim);
    else {
        trace(sub, "job %s/%s may claim nodes, but not enough of them will ever be empty", entry->tenant,
              entry->name);
        tf_node_claim_release(&claim.record);
    }
    return work;
}

void node_claim_end(struct sub *sub, struct tf_uid uid)
{
    struct node_claim *c = find(sub, uid);
    if (!c)
        return;
    trace(sub, "job %s/%s claims no nodes any more", c->record.tenant, c->record.name);
    remove_claim(sub, c);
}

void node_claims_set_begins(struct sub *sub)
{
    tf_vec_each (c, &sub->node_claims)
        c->told = false;
}

void node_claims_set_ends(struct sub *sub)
{
    for (size_t i = sub->node_claims.count; i-- > 0;)
        if (!sub->node_claims.items[i].told)
            node_claim_end(sub, sub->node_claims.items[i].record.uid);
}

/* ---- from the store ---- */

const char *node_claim_load(struct sub *sub, struct tf_node_claim *record)
{
    const struct tf_elastic *e = &record->spec->elastic;
    if (tf_uid_is_none(record->uid) || !record->tenant || !record->name)
        return "it has no uid or no name";
    if (find(sub, record->uid))
        return "there is another one of that uid";
    if (!record->spec->priority || e->min < 1 || e->step < 1 || e->max < e->min || record->nodes.count == 0)
        return "it has no nodes, or is for nothing that could be placed";
    struct node_claim claim = {.record = *record, .next_look = TF_NEVER};
    *record = (struct tf_node_claim){0};
    tf_vec_push(&sub->node_claims, claim);
    return NULL;
}

void node_claims_loaded(struct sub *sub)
{
    for (size_t i = sub->node_claims.count; i-- > 0;) {
        struct node_claim *c = &sub->node_claims.items[i];
        const struct job *job = job_find(sub, c->record.uid);
        if (job && job_lives(job))
            remove_claim(sub, c); /* its start was stored before the end of its claim */
    }
    node_claims_set_ranks(sub);
}

/* ---- as time goes by ---- */

void node_claims_set_ranks(struct sub *sub)
{
    tf_vec_each (c, &sub->node_claims)
        let_nodes_go(sub, &c->record);
    keep_all(sub);
}

static bool has_its_nodes(const struct sub *sub, const struct tf_node_claim *record)
{
    tf_vec_each (name, &record->nodes) {
        const struct ledger_node *node = ledger_find(&sub->ledger, *name);
        if (!node || !ledger_is_open(node) || node->kept.rank < 0 ||
            !tf_uid_eq(node->kept.owner, record->uid))
            return false;
    }
    return true;
}

void node_claims_look(struct sub *sub)
{
    int64_t work = 0;
    if (!sub->listed || !sub->ledger.dirty.count)
        return;
    tf_vec_each (c, &sub->node_claims) {
        bool waits = c->next_look.ms != TF_NEVER.ms && c->next_look.ms > sub->now.mono.ms;
        if (waits || has_its_nodes(sub, &c->record))
            continue;
        bool kept = keep_for(sub, c, true, &work);
        c->next_look.ms = kept ? TF_NEVER.ms : sub->now.mono.ms + LOOK_AGAIN;
    }
}
