/* SPDX-License-Identifier: Apache-2.0 */
/* Owns where the moves of a chain go, one after the other, each with what those before it leave behind. Takes
 * nothing: migrate.c does. */
#include "common/base/cleanup.h"
#include "common/fit/explain.h"
#include "common/fit/pack.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/members.h"
#include "subcluster/core/migrate.h"
#include "subcluster/core/migrate_private.h"
#include "subcluster/core/mix.h"
#include "subcluster/core/moving.h"
#include "subcluster/core/node_claims.h"
#include "subcluster/core/offers.h"

#include <assert.h>

void migrate_plan_release(struct migrate_plan *plan)
{
    tf_vec_each (place, plan) {
        free(place->node);
        free(place->refusal);
    }
    tf_vec_release(plan);
    *plan = (struct migrate_plan){0};
}

/* The nodes as they are when the moves before this one are over: rows of one node each. */
struct room {
    struct sub *sub;
    const struct migrate_ask *ask;
    bool offers_too;
    TF_VEC(struct tf_profile_row) rows;
    TF_VEC(struct tf_level_vector) have;
    TF_VEC(uint64_t) gpus;  /* of each node */
    TF_VEC(uint64_t) later; /* those of them that a move before this one has yet to leave */
    TF_VEC(bool) source;    /* something of the chain leaves it: nothing comes there unasked */
};

static void room_init(struct room *room, struct sub *sub, const struct migrate_ask *ask, bool offers_too)
{
    struct tf_fit_view view = ledger_view(&sub->ledger);
    *room = (struct room){.sub = sub, .ask = ask, .offers_too = offers_too};
    tf_vec_reserve(&room->have, view.count + 1);
    for (size_t i = 0; i < view.count; i++) {
        const struct ledger_node *node = sub->ledger.nodes.items[i];
        bool open = view.rows[i].count > 0 && (offers_too || offers_are_over(node));
        struct tf_level_vector have = {TF_LEVEL_FREE, {0}};
        if (open)
            have.have = tf_profile_row_at(&view.rows[i], TF_LEVEL_FREE);
        tf_vec_push(&room->rows, view.rows[i]);
        tf_vec_push(&room->have, have);
        tf_vec_push(&room->gpus, open ? ledger_free_gpus(node) : 0);
        tf_vec_push(&room->later, 0);
        tf_vec_push(&room->source, false);
    }
    for (size_t i = 0; i < room->rows.count; i++)
        room->rows.items[i].levels = (struct tf_level_vectors){&room->have.items[i], 1, 1};
    for (size_t i = 0; i < ask->count; i++) {
        const struct job *job = job_find(sub, ask->wants[i].uid);
        if (job && !moving_instance_bar(job, ask->wants[i].index))
            room->source.items[job->runs.items[ask->wants[i].index].node] = true;
    }
    for (size_t i = 0; ask->empties && i < ask->empties->count; i++) {
        const struct ledger_node *node = ledger_find(&sub->ledger, ask->empties->items[i]);
        if (node)
            room->source.items[node->number] = true;
    }
}

static void room_release(struct room *room)
{
    tf_vec_release(&room->rows);
    tf_vec_release(&room->have);
    tf_vec_release(&room->gpus);
    tf_vec_release(&room->later);
    tf_vec_release(&room->source);
}

/* ---- what is asked ---- */

size_t migrate_first_half(const struct migrate_ask *ask, size_t want)
{
    const struct migrate_want *second = &ask->wants[want];
    while (want-- > 0)
        if (ask->wants[want].index == second->index && tf_uid_eq(ask->wants[want].uid, second->uid))
            return want;
    return SIZE_MAX;
}

static bool is_asked(const struct migrate_ask *ask, struct tf_uid uid, uint32_t index)
{
    for (size_t i = 0; i < ask->count; i++)
        if (ask->wants[i].index == index && tf_uid_eq(ask->wants[i].uid, uid))
            return true;
    return false;
}

static int cmp_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Those of its members that are not moved by this chain, and count. */
static void use_nodes(const struct room *room, const struct job *job, struct tf_demand *demand)
{
    for (size_t i = 0; i < job->record.members.count; i++) {
        const struct tf_member *m = &job->record.members.items[i];
        if (member_counts(m) && member_holds(m->state) && !is_asked(room->ask, job->record.uid, m->index))
            tf_vec_push(&demand->used, job->runs.items[i].node);
    }
    if (demand->used.count == 0)
        return;
    qsort(demand->used.items, demand->used.count, sizeof *demand->used.items, cmp_number);
    size_t kept = 1;
    for (size_t i = 1; i < demand->used.count; i++)
        if (demand->used.items[i] != demand->used.items[kept - 1])
            demand->used.items[kept++] = demand->used.items[i];
    demand->used.count = kept;
}

/* One instance, in the domains where its job and its step are. False: it asks for what is not here. */
static bool one_demand(const struct room *room, const struct job *job, uint32_t index,
                       struct tf_demand *demand)
{
    const struct tf_allocation *record = &job->record;
    struct sub *sub = room->sub;
    struct tf_fit_view view = ledger_view(&sub->ledger);
    if (tf_demand_resolve(demand, record->spec, class_rank(sub, record->spec), view.catalog, NULL))
        return false;
    if (record->model)
        tf_demand_fix_model(demand, view.catalog, record->model);
    node_claims_bind(sub, record->uid, record->spec, demand);
    use_nodes(room, job, demand);
    const struct ledger_node *from = sub->ledger.nodes.items[job->runs.items[index].node];
    if (from->known)
        tf_demand_anchor(demand, view.catalog, sub->ledger.node_rows.items[from->number].class, true);
    if (demand->max_nodes > 0) {
        int32_t left = demand->max_nodes - (int32_t)demand->used.count;
        demand->max_nodes = left > 0 ? left : TF_DEMAND_NO_NEW;
    }
    demand->core = demand->step = 1;
    demand->level = TF_LEVEL_FREE;
    demand->is_core = record->members.items[index].mark == 0;
    return true;
}

/* ---- one ---- */

static void refuse(struct migrate_place *out, char *why)
{
    free(out->refusal);
    out->refusal = why;
}

static bool pack_one(struct room *room, const struct tf_demand *demand, uint32_t first, size_t count,
                     uint32_t *node)
{
    struct tf_fit_view view = ledger_view(&room->sub->ledger);
    struct tf_fit_placement packing = {0};
    view.rows = room->rows.items + first;
    view.count = count;
    bool packed =
        tf_fit_pack(&view, demand, TF_LEVEL_FREE, 1, mix_of_all(room->sub), room->sub->scratch, &packing);
    if (packed)
        *node = packing.rows.items[0].row; /* ids are numbers of nodes */
    tf_fit_placement_release(&packing);
    return packed;
}

/* Nothing that the chain empties, nor where the instance is, unless it was asked for by name. */
static void close_sources(struct room *room, bool close)
{
    for (size_t i = 0; i < room->rows.count; i++)
        if (room->source.items[i])
            room->rows.items[i].count = close ? 0 : ledger_view(&room->sub->ledger).rows[i].count;
}

static bool all_are_closed(const struct room *room)
{
    tf_vec_each (row, &room->rows)
        if (row->count > 0)
            return false;
    return true;
}

static char *no_room(struct room *room, const struct job *job, const struct tf_demand *demand)
{
    if (all_are_closed(room))
        return tf_strdup("there is no free place for it: every node that could take it is to be emptied");
    struct tf_fit_view view = ledger_view(&room->sub->ledger);
    struct tf_fit_why why = {0};
    view.rows = room->rows.items;
    tf_fit_explain(&view, demand, TF_LEVEL_FREE, job->record.spec, room->sub->scratch, &why);
    return tf_asprintf("there is no free place for it on another node: %s",
                       why.reason != TF_REASON_NONE ? why.text : "what fits is on the nodes that it leaves");
}

static char *no_room_there(const struct ledger_node *node, const char *name, const struct tf_demand *demand)
{
    if (!node || !node->known)
        return tf_asprintf("there is no node %s", name);
    if (node->node.state != TF_NODE_READY)
        return tf_asprintf("node %s is %s", name, tf_node_state_name(node->node.state));
    return tf_asprintf(
        "it does not fit on node %s: it needs %d GPUs, of which %d are free there, or something "
        "else that the job asks of its nodes is missing",
        name, demand->need.gpus, tf_gpu_set_count(ledger_free_gpus(node)));
}

static bool find_node(struct room *room, const struct job *job, const struct migrate_want *want,
                      const struct tf_demand *demand, uint32_t *number, struct migrate_place *out)
{
    if (!want->to) {
        close_sources(room, true);
        bool found = pack_one(room, demand, 0, room->rows.count, number);
        if (!found)
            refuse(out, no_room(room, job, demand));
        close_sources(room, false);
        return found;
    }
    const struct ledger_node *node = ledger_find(&room->sub->ledger, want->to);
    if (node && node->number == job->runs.items[want->index].node) {
        refuse(out, tf_asprintf("it is on node %s already", want->to));
        return false;
    }
    if (node && pack_one(room, demand, node->number, 1, number))
        return true;
    refuse(out, no_room_there(node, want->to, demand));
    return false;
}

/* What it takes there. */
static void book(struct room *room, const struct tf_demand *demand, uint32_t to, struct migrate_place *out)
{
    uint64_t now = room->gpus.items[to] & ~room->later.items[to];
    int32_t need = demand->need.gpus, at_once = tf_gpu_set_count(now) < need ? tf_gpu_set_count(now) : need;
    out->gpus = tf_gpu_set_lowest(now, at_once);
    out->gpus |= tf_gpu_set_lowest(room->gpus.items[to] & ~now, need - at_once);
    assert(tf_gpu_set_count(out->gpus) == need && "packed into what is free");
    out->waits |= (out->gpus & room->later.items[to]) != 0;
    out->node = tf_strdup(room->sub->ledger.nodes.items[to]->node.name);
    room->gpus.items[to] &= ~out->gpus;
    struct tf_vector *there = &room->have.items[to].have;
    *there = tf_vector_sub(*there, demand->need);
}

/* What it will leave behind. */
static void leave(struct room *room, const struct job *job, uint32_t index, const struct tf_demand *demand)
{
    const struct ledger_node *from = room->sub->ledger.nodes.items[job->runs.items[index].node];
    uint64_t mine = job->record.members.items[index].gpus & ledger_usable_gpus(from);
    if (!ledger_is_open(from) || !member_holds(job->record.members.items[index].state))
        return;
    struct tf_vector leaves = demand->need;
    leaves.gpus = tf_gpu_set_count(mine);
    room->gpus.items[from->number] |= mine;
    room->later.items[from->number] |= mine;
    room->have.items[from->number].have = tf_vector_add(room->have.items[from->number].have, leaves);
}

static bool may_restart(const struct room *room, const struct job *job, struct migrate_place *out)
{
    const struct tf_job_spec *spec = job->record.spec;
    if (spec->migration != TF_MIGRATION_RESTART)
        return true;
    if (!room->ask->may_restart)
        refuse(out, tf_strdup("migration: restart: all of its job would stop and start again, which was not "
                              "allowed here"));
    else if (spec->ready_min > 0)
        refuse(out, tf_asprintf("readyMin %d: its job moves by a restart (migration: restart), and none of "
                                "it would be ready meanwhile",
                                spec->ready_min));
    else
        return true;
    return false;
}

static void place_one(struct room *room, size_t i, struct migrate_place *out)
{
    const struct migrate_want *want = &room->ask->wants[i];
    const struct job *job = job_find(room->sub, want->uid);
    const char *bar = job && job_lives(job) ? moving_bar(room->sub, job) : "its job does not run here";
    struct tf_demand demand = {0};
    uint32_t number = 0;
    bar = bar ? bar : moving_instance_bar(job, want->index);
    if (bar) {
        refuse(out, tf_strdup(bar));
        return;
    }
    if (!may_restart(room, job, out))
        return;
    if (!one_demand(room, job, want->index, &demand))
        refuse(out, tf_strdup("its job asks for what no node here has"));
    else if (find_node(room, job, want, &demand, &number, out)) {
        book(room, &demand, number, out);
        /* A spare place that it leaves in between is claimed by the same transaction: it serves but once, as
         * a GPU has at most one claimant. */
        if (migrate_first_half(room->ask, i) == SIZE_MAX)
            leave(room, job, want->index, &demand);
    }
    tf_demand_release(&demand);
}

/* ---- all ---- */

static void place_all(struct sub *sub, const struct migrate_ask *ask, bool offers_too,
                      struct migrate_plan *plan)
{
    struct room room;
    room_init(&room, sub, ask, offers_too);
    plan->possible = true;
    for (size_t i = 0; i < ask->count; i++) {
        struct migrate_place *out = tf_vec_add(plan);
        *out = (struct migrate_place){0};
        place_one(&room, i, out);
        plan->possible &= out->node != NULL;
    }
    room_release(&room);
}

bool migrate_place_now(struct sub *sub, const struct migrate_ask *ask, struct migrate_plan *plan)
{
    ledger_refresh(&sub->ledger);
    place_all(sub, ask, false, plan);
    return plan->possible;
}

void migrate_plan_make(struct sub *sub, const struct migrate_ask *ask, struct migrate_plan *plan)
{
    if (migrate_place_now(sub, ask, plan))
        return;
    migrate_plan_release(plan);
    place_all(sub, ask, true, plan);
    tf_vec_each (place, plan)
        place->waits |= place->node != NULL;
}
