/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of the state, counted anew from the records. */
#include "subcluster/core/check.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "subcluster/core/allocation.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/members.h"
#include "subcluster/core/migrate.h"
#include "subcluster/core/node_claims.h"
#include "subcluster/core/size.h"

#include <assert.h>

static const struct holding *holding_of(const struct ledger_node *node, struct tf_uid uid, uint32_t index)
{
    tf_vec_each (h, &node->holdings)
        if (h->index == index && h->gone_after == 0 && tf_uid_eq(h->uid, uid))
            return h;
    return NULL;
}

/* Each index has its place; behind them are those that come or go by a move, at most one an index. */
static void check_place(const struct job *job, size_t place)
{
    const struct tf_member *m = &job->record.members.items[place];
    assert(m->attempt > 0 && m->state != TF_MEMBER_NONE);
    if (!member_is_second(job, place)) {
        assert(place == 0 || !member_is_second(job, place - 1));
        assert(m->role != TF_MEMBER_MOVES_IN && m->role != TF_MEMBER_MOVES_OUT);
        return;
    }
    assert(m->index < place && !member_is_second(job, m->index) && member_second(job, m->index) == place);
    assert(m->role != TF_MEMBER_JOINS && m->role != TF_MEMBER_REPLACES && m->state != TF_MEMBER_GONE);
    assert(m->attempt <= member_last_attempt(&job->record.members.items[m->index]));
}

static size_t check_members(const struct sub *sub, const struct job *job)
{
    const struct tf_allocation *record = &job->record;
    size_t held = 0;
    for (size_t i = 0; i < record->members.count; i++) {
        const struct tf_member *m = &record->members.items[i];
        check_place(job, i);
        if (!member_holds(m->state))
            continue;
        const struct ledger_node *node = ledger_find(&sub->ledger, m->node);
        const struct holding *h = node ? holding_of(node, record->uid, m->index) : NULL;
        assert(h && h->hold.gpus == m->gpus && "what a record holds is in the ledger");
        assert(h->hold.level == member_level(sub, job, m));
        held++;
    }
    return held;
}

/* I4: the size is legal, or short of a min that was raised; the core's marks, then surplus step by step. */
static void check_size(const struct tf_allocation *record)
{
    const struct tf_elastic *e = &record->spec->elastic;
    int32_t core = 0;
    if (record->phase == TF_ALLOCATION_ENDING)
        return;
    if (record->phase == TF_ALLOCATION_CLAIMING || record->phase == TF_ALLOCATION_RESERVED) {
        assert(record->members.count == 0 && record->claims.count == (size_t)record->size);
        return;
    }
    assert(record->size == size_of(record) && tf_size_legal(e, record->size, true));
    assert(record->claims.count == 0 ||
           (record->phase == TF_ALLOCATION_RUNNING && record->claims.count % (size_t)e->step == 0 &&
            record->size + (int32_t)record->claims.count <= e->min));
    tf_vec_each (m, &record->members)
        core += member_counts(m) && m->mark == 0;
    assert(core == (record->size < e->min ? record->size : e->min));
}

static size_t check_job(const struct sub *sub, const struct job *job)
{
    const struct tf_allocation *record = &job->record;
    assert(job->runs.count == record->members.count);
    assert(tf_tree_linked(&job->by_due) == (job->due.ms != TF_NEVER.ms));
    tf_vec_each (run, &job->runs)
        assert(run->due.ms >= job->due.ms && "it is looked at in time");
    if (!job_lives(job)) {
        assert(record->ended.count && record->members.count == 0 && "an empty record goes");
        return 0;
    }
    assert(record->epoch > 0 && record->epoch <= sub->floor);
    assert((record->phase == TF_ALLOCATION_ENDING) == (record->ending.end != TF_END_NONE));
    assert(!job_ended(job, record->epoch) && "an epoch ends once");
    if (sub->listed && record->phase == TF_ALLOCATION_ENDING)
        assert(members_any_live(job));
    check_size(record);
    return check_members(sub, job);
}

/* I3, and that the ledger has nothing that no record holds. */
static size_t check_node(const struct ledger_node *node)
{
    uint64_t seen = 0, claimed = 0;
    size_t held = 0;
    tf_vec_each (c, &node->claims) {
        if (c->gone_after)
            continue; /* who takes a claim has it at once, and starts when the other is durably gone */
        assert(!(claimed & c->hold.gpus) && "a GPU has at most one claimant");
        claimed |= c->hold.gpus;
    }
    tf_vec_each (h, &node->holdings) {
        assert(!(seen & h->hold.gpus) && "a GPU has at most one holder");
        seen |= h->hold.gpus;
        held += h->gone_after == 0;
    }
    return held;
}

/* I9 at the free level, node by node, with a naive recount. */
static struct tf_vector naive_free(const struct ledger_node *node)
{
    struct tf_vector free = node->node.capacity;
    if (node->node.state != TF_NODE_READY || node->emptying)
        return (struct tf_vector){0};
    free.gpus = 0;
    for (int i = 0; i < node->node.capacity.gpus; i++) {
        bool taken = (node->node.bad_gpus | node->node.foreign.gpus) >> i & 1;
        tf_vec_each (h, &node->holdings)
            taken |= h->hold.gpus >> i & 1;
        tf_vec_each (c, &node->claims)
            taken |= c->hold.gpus >> i & 1;
        tf_vec_each (b, &node->blockings)
            taken |= b->gpus >> i & 1;
        free.gpus += !taken;
    }
    free.cpu -= node->node.foreign.cpu;
    free.memory -= node->node.foreign.memory;
    free.slots -= node->node.foreign.slots;
    struct tf_vector held = {0}, later = {0};
    tf_vec_each (h, &node->holdings) {
        held = tf_vector_add(held, h->hold.amount);
        later = tf_vector_add(later, h->hold.level > TF_LEVEL_GOING || h->stuck ? h->hold.amount
                                                                                : (struct tf_vector){0});
    }
    tf_vec_each (c, &node->claims)
        later = tf_vector_add(later, c->hold.amount);
    if (node->blockings.count)
        free.cpu = free.memory = free.slots = 0;
    struct tf_vector most = tf_vector_max(held, later);
    most.gpus = 0;
    return tf_vector_floor0(tf_vector_sub(free, most));
}

/* What people took away is taken away, and nothing else of a ready node. */
static void check_cordon(const struct ledger_node *node)
{
    uint64_t all = tf_gpu_set_all(node->node.capacity.gpus);
    assert(node->node.bad_gpus == (node->told_bad | (tf_cordon_gpus(&node->cordon) & all)));
    assert((node->node.suspect_gpus & ~node->node.bad_gpus) == 0);
    if (node->cordon.verdict == TF_VERDICT_LOST)
        assert(node->node.state == TF_NODE_LOST || node->node.state == TF_NODE_UNREACHABLE);
    else if (node->told_state != TF_NODE_READY)
        assert(node->node.state == node->told_state);
    else
        assert(node->node.state == (node->cordon.drain.on             ? TF_NODE_DRAINING
                                    : tf_cordon_closes(&node->cordon) ? TF_NODE_CORDONED
                                                                      : TF_NODE_READY));
}

/* A node is kept for one that claims it, whose claim is in force with what its class ranks now. */
static void check_kept(const struct sub *sub, const struct ledger_node *node)
{
    const struct kept *kept = &node->kept;
    if (kept->rank < 0)
        return;
    const struct tf_node_claim *claim = node_claim_of(sub, kept->owner);
    const struct job *owner = job_find(sub, kept->owner);
    assert(claim && tf_strs_has(&claim->nodes, node->node.name) && claim->until.ms == kept->until.ms);
    assert(class_rank(sub, claim->spec) == kept->rank);
    assert(!(owner && job_lives(owner)) && "its start ends its claim");
}

/* A node keeps its class until it is another, so it must still be what its words say. */
static void check_class(const struct ledger *ledger, const struct ledger_node *node)
{
    struct tf_node_class class = {0};
    if (!node->classed)
        return;
    tf_fit_node_class(&node->node, &ledger->schedule_labels, &class);
    size_t known = tf_fit_rows_class_count(ledger->rows);
    uint32_t found = tf_fit_rows_class(ledger->rows, &class);
    assert(found < known && ledger->node_rows.items[node->number].class == found);
    tf_node_class_release(&class);
}

static void check_evictions(const struct ledger *ledger)
{
    int64_t evictions = 0;
    for (int level = TF_LEVEL_FREE; level <= TF_LEVEL_TOP; level++)
        evictions += ledger_worth(ledger, (tf_level)level)->evictions;
    assert(ledger->evictions == evictions);
}

static void check_rows(const struct ledger *ledger)
{
    struct tf_fit_view view = tf_fit_rows_view(ledger->rows);
    int32_t nodes = 0, known = 0;
    for (size_t i = 0; i < view.count; i++)
        nodes += view.rows[i].count;
    tf_vec_each (item, &ledger->nodes) {
        const struct ledger_node *node = *item;
        if (!node->known)
            continue;
        known++;
        check_cordon(node);
        check_class(ledger, node);
        const struct tf_profile_row *own = &ledger->node_rows.items[node->number];
        const struct tf_profile_row *shared = &view.rows[node->row];
        struct tf_vector free = naive_free(node);
        assert(own->count == 1 && tf_profile_row_alike(own, shared));
        assert(tf_vector_eq(tf_profile_row_at(own, TF_LEVEL_FREE), free) && "free as a naive recount has it");
        assert(tf_gpu_set_count(ledger_free_gpus(node)) == free.gpus);
    }
    struct ledger_sums sums = ledger_recount(ledger);
    assert(nodes == known && "each node is in exactly one row");
    assert(memcmp(&sums, ledger_sums(ledger), sizeof sums) == 0 && "sums over nodes are kept right");
}

/* Each node on offer waits in the list, once, and the list is in the order in which offers end. */
static void check_offers(const struct sub *sub)
{
    size_t waiting = 0, listed = 0;
    tf_vec_each (node, &sub->ledger.nodes)
        waiting += (*node)->on_offer;
    for (size_t i = sub->offers.first; i < sub->offers.count; i++) {
        const struct offer *offer = &sub->offers.items[i];
        const struct ledger_node *node = sub->ledger.nodes.items[offer->node];
        listed += node->on_offer && node->freed_at.ms == offer->at.ms && node->freed_in == offer->counter;
        assert(i == sub->offers.first ||
               (offer[-1].at.ms <= offer->at.ms && offer[-1].counter <= offer->counter));
    }
    assert(waiting == listed);
}

/* A node that is silent, or of which something was concluded, is watched, and suspects are counted. */
static void check_health(const struct sub *sub)
{
    int32_t suspects = 0;
    tf_vec_each (at, &sub->ledger.nodes) {
        const struct ledger_node *node = *at;
        bool watched = false;
        tf_vec_each (number, &sub->health.watched)
            watched |= *number == node->number;
        suspects += node->cordon.verdict == TF_VERDICT_SUSPECT;
        assert(node->silent.ms == TF_NEVER.ms || watched);
        assert(node->cordon.verdict == TF_VERDICT_NONE || watched);
        assert(node->cordon.verdict != TF_VERDICT_LOST || node->node.state != TF_NODE_READY);
    }
    assert(suspects == sub->health.suspects);
}

static int32_t naive_idle(const struct ledger_node *node)
{
    uint64_t idle = tf_gpu_set_all(node->node.capacity.gpus) & ~node->node.foreign.gpus;
    tf_vec_each (h, &node->holdings)
        idle &= ~h->hold.gpus;
    tf_vec_each (b, &node->blockings)
        idle &= ~b->gpus;
    return node->known ? tf_gpu_set_count(idle) : 0;
}

/* I15, row by row and node by node. */
static void check_idle(const struct sub *sub)
{
    size_t count = sub->ledger.by_name.count;
    TF_AUTO_FREE struct tf_idle_causes *of_nodes = tf_calloc(count + 1, sizeof *of_nodes);
    struct tf_idle_causes all;
    int32_t idle = 0;
    sub_idle(sub, &all);
    sub_idle_of_nodes(sub, of_nodes);
    for (size_t i = 0; i < count; i++) {
        int32_t on_node = naive_idle(sub->ledger.by_name.items[i]);
        assert(tf_idle_causes_sum(&of_nodes[i]) == on_node && "each idle GPU has exactly one cause");
        idle += on_node;
    }
    assert(tf_idle_causes_sum(&all) == idle);
}

/* A node takes nothing while a chain that is not over is to empty it, and only then. */
static void check_emptying(const struct sub *sub)
{
    tf_vec_each (at, &sub->ledger.nodes) {
        int32_t chains = 0;
        const struct tf_migration *m;
        for (size_t i = 0; (m = migrate_at(sub, i)) != NULL; i++)
            tf_vec_each (name, &m->empties)
                chains += m->ended.ms == 0 && strcmp(*name, (*at)->node.name) == 0;
        assert((*at)->emptying == chains);
    }
}

void sub_check(const struct sub *sub)
{
    size_t by_records = 0, by_nodes = 0;
    if (!sub->loaded)
        return;
    for (const struct job *job = jobs_first(sub); job; job = jobs_next(job))
        by_records += check_job(sub, job);
    tf_vec_each (node, &sub->ledger.nodes) {
        by_nodes += check_node(*node);
        check_kept(sub, *node);
    }
    assert(by_records == by_nodes && "held = sum over live records");
    check_rows(&sub->ledger);
    check_evictions(&sub->ledger);
    check_offers(sub);
    check_health(sub);
    check_idle(sub);
    check_emptying(sub);
}
