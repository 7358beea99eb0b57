/* SPDX-License-Identifier: Apache-2.0 */
/* Owns claims: who gets them, what is evicted for them, when they turn into members. Who is cheapest to evict
 * is victims.c's, what stops members is members.c's. */
#include "subcluster/core/reclaim.h"

#include "common/base/cleanup.h"
#include "common/model/eviction.h"
#include "subcluster/core/absorb_private.h"
#include "subcluster/core/allocation.h"
#include "subcluster/core/brake.h"
#include "subcluster/core/calls.h"
#include "subcluster/core/candidates.h"
#include "subcluster/core/grow.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/members.h"
#include "subcluster/core/migrate.h"
#include "subcluster/core/mix.h"
#include "subcluster/core/node_claims.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/peers.h"
#include "subcluster/core/repair.h"
#include "subcluster/core/reservation.h"
#include "subcluster/core/size.h"
#include "subcluster/core/strays.h"
#include "subcluster/core/trace.h"

#include <assert.h>

/* ---- the plan ---- */

static void evicted_release(struct evicted_job *victim)
{
    tf_vec_release(&victim->marks);
}

void reclaim_plan_release(struct reclaim_plan *plan)
{
    tf_vec_each (victim, &plan->evicted)
        evicted_release(victim);
    tf_vec_each (claim, &plan->claims)
        tf_claim_release(claim);
    tf_vec_release(&plan->evicted);
    tf_vec_release(&plan->claims);
    *plan = (struct reclaim_plan){0};
}

/* Units of one job are neighbours, its core the last of them. */
static void list_evicted(const struct candidates *candidates, const struct victims *chosen,
                         struct reclaim_plan *plan)
{
    const struct job *last = NULL;
    tf_vec_each (unit, &chosen->units) {
        const struct victim_unit *u = &candidates->units.items[*unit];
        const struct candidate_move *place = &candidates->moves.items[*unit];
        if (!tf_uid_is_none(place->migration)) {
            struct evicted_job *move = tf_vec_add(&plan->evicted);
            *move = (struct evicted_job){
                .migration = place->migration, .move = place->move, .waits = true, .level = u->level};
            continue;
        }
        if (candidates->marks.items[*unit] == CANDIDATE_CLAIMS) {
            struct evicted_job *wanted = tf_vec_add(&plan->evicted);
            *wanted = (struct evicted_job){
                .uid = candidates->jobs.items[*unit]->record.uid, .waits = true, .level = u->level};
            continue;
        }
        if (candidates->jobs.items[*unit] != last)
            tf_vec_add(&plan->evicted)->uid = candidates->jobs.items[*unit]->record.uid;
        last = candidates->jobs.items[*unit];
        struct evicted_job *victim = &plan->evicted.items[plan->evicted.count - 1];
        victim->level = u->level > victim->level ? u->level : victim->level;
        victim->lost_gpu_seconds += u->gpu_seconds;
        victim->whole = victim->whole || u->core;
        victim->waits = claims_only(last);
        if (!u->core)
            tf_vec_push(&victim->marks, candidates->marks.items[*unit]);
    }
}

/* What each node will have when the chosen have gone: rows of one node each, to pack on. */
struct after {
    TF_VEC(struct tf_profile_row) rows;
    TF_VEC(struct tf_level_vector) vectors;
};

static bool is_chosen(const struct victims *chosen, uint32_t unit)
{
    size_t low = 0, high = chosen->units.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (chosen->units.items[middle] < unit)
            low = middle + 1;
        else
            high = middle;
    }
    return low < chosen->units.count && chosen->units.items[low] == unit;
}

static void after_init(struct after *after, const struct sub *sub, const struct candidates *candidates,
                       const struct victims *chosen, const struct tf_demand *demand)
{
    struct tf_fit_view view = ledger_view(&sub->ledger);
    *after = (struct after){0};
    tf_vec_reserve(&after->rows, view.count + 1);
    tf_vec_reserve(&after->vectors, view.count + 1);
    for (size_t i = 0; i < view.count; i++) {
        struct tf_level_vector at = {TF_LEVEL_FREE, candidates->nodes.items[i].going};
        tf_vec_push(&after->rows, view.rows[i]);
        tf_vec_push(&after->vectors, at);
        victims_settle_reserved(&after->rows.items[i], demand);
    }
    tf_vec_each (part, &candidates->parts) {
        if (!is_chosen(chosen, part->unit))
            continue;
        struct tf_vector *have = &after->vectors.items[part->node].have;
        *have = tf_vector_add(*have, part->frees);
    }
    for (size_t i = 0; i < view.count; i++) {
        struct tf_level_vector *at = &after->vectors.items[i];
        at->have = tf_vector_floor0(at->have);
        after->rows.items[i].levels.items = at;
        after->rows.items[i].levels.count = after->rows.items[i].levels.cap = 1;
    }
}

static void after_release(struct after *after)
{
    tf_vec_release(&after->rows);
    tf_vec_release(&after->vectors);
}

/* One instance on the node: what is reserved for it first, then free GPUs, so that what others are leaving is
 * waited for only if need be. */
static void add_claim(struct reclaim_plan *plan, const struct ledger_node *node, uint64_t *left,
                      const struct tf_demand *demand)
{
    struct tf_vector need = demand->need;
    uint64_t kept;
    (void)ledger_reserved(node, demand, &kept);
    kept &= *left & ~ledger_held_gpus(node);
    uint64_t free = *left & ledger_free_gpus(node);
    uint64_t gpus = tf_gpu_set_pick(kept, free, *left, need.gpus);
    assert(tf_gpu_set_count(gpus) == need.gpus);
    *left &= ~gpus;
    tf_vec_push(&plan->claims, (struct tf_claim){.node = tf_strdup(node->node.name),
                                                 .gpus = gpus,
                                                 .cpu = need.cpu,
                                                 .memory = need.memory,
                                                 .slots = need.slots});
}

/* Who goes, of whom; chosen NULL: nobody. */
struct leavers {
    const struct candidates *candidates;
    const struct victims *chosen;
};

/* GPUs that the node may give when they have gone. */
static uint64_t given_by(const struct ledger_node *node, const struct leavers *leavers,
                         const struct tf_demand *demand)
{
    uint64_t kept;
    if (!leavers->chosen)
        return ledger_free_gpus(node);
    const struct candidates *c = leavers->candidates;
    const struct victim_node *detail = &c->nodes.items[node->number];
    size_t first = (size_t)(detail->parts - c->frees.items); /* parts and frees are in one order */
    (void)ledger_reserved(node, demand, &kept);
    uint64_t gpus = ledger_going_gpus(node) | kept;
    for (size_t i = first; i < first + detail->part_count; i++)
        if (is_chosen(leavers->chosen, c->parts.items[i].unit))
            gpus |= c->parts.items[i].gpus;
    return gpus;
}

/* The core, packed on these rows. */
static bool pack_claims(struct sub *sub, const struct tf_profile_row *rows, const struct leavers *leavers,
                        const struct tf_demand *demand, struct reclaim_plan *plan)
{
    struct tf_fit_view view = ledger_view(&sub->ledger);
    struct tf_fit_placement packing = {0};
    view.rows = rows;
    bool packed =
        tf_fit_pack(&view, demand, TF_LEVEL_FREE, demand->core, mix_of_all(sub), sub->scratch, &packing);
    TF_AUTO_FREE uint64_t *left = tf_calloc(view.count + 1, sizeof *left);
    TF_AUTO_FREE bool *seen = tf_calloc(view.count + 1, sizeof *seen);
    tf_vec_each (row, &packing.rows) {
        const struct ledger_node *node = sub->ledger.nodes.items[row->row];
        if (!seen[row->row])
            left[row->row] = given_by(node, leavers, demand);
        seen[row->row] = true;
        for (int32_t i = 0; i < row->each; i++)
            add_claim(plan, node, &left[row->row], demand);
    }
    plan->model = packing.model;
    tf_fit_placement_release(&packing);
    return packed;
}

bool reclaim_plan_make(struct sub *sub, const struct tf_demand *demand, tf_level level,
                       struct reclaim_plan *plan)
{
    struct victims chosen = {0};
    struct tf_demand bounded = *demand;
    bounded.level = level < demand->level ? level : demand->level;
    reclaim_plan_release(plan);
    struct candidates *candidates = candidates_list(sub, bounded.level, &bounded);
    bool by_node = demand->used.count > 0; /* nodes that a kind of nodes does not tell apart */
    for (size_t i = 0; by_node && i < candidates->nodes.count; i++)
        candidates->nodes.items[i].kind = (uint32_t)i;
    struct victims_ask ask = {.nodes = ledger_view(&sub->ledger),
                              .kinds =
                                  by_node ? ledger_view(&sub->ledger) : tf_fit_rows_view(sub->ledger.rows),
                              .detail = candidates->nodes.items,
                              .demand = &bounded,
                              .units = candidates->units.items,
                              .unit_count = candidates->units.count,
                              .scratch = sub->scratch};
    bool found = victims_choose(&ask, &chosen);
    if (found) {
        struct after after;
        plan->level = chosen.level;
        list_evicted(candidates, &chosen, plan);
        after_init(&after, sub, candidates, &chosen, &bounded);
        found = pack_claims(sub, after.rows.items, &(struct leavers){candidates, &chosen}, &bounded, plan);
        assert(found && "the victims suffice");
        after_release(&after);
    }
    plan->work = chosen.work + (int64_t)candidates->units.count;
    victims_release(&chosen);
    return found;
}

/* ---- surplus for a step more ---- */

/* Rows of one node each, in which nothing but surplus of the listed units can be had. */
static void surplus_rows(const struct sub *sub, struct candidates *candidates, int rank, struct after *after)
{
    struct tf_fit_view view = ledger_view(&sub->ledger);
    size_t levels = 1 + (size_t)rank;
    *after = (struct after){0};
    tf_vec_reserve(&after->rows, view.count + 1);
    tf_vec_reserve(&after->vectors, view.count * levels + 1);
    for (size_t i = 0; i < view.count; i++) {
        struct victim_node *detail = &candidates->nodes.items[i];
        struct tf_profile_row row = view.rows[i];
        struct tf_level_vector *own = &after->vectors.items[i * levels];
        struct tf_vector have = detail->going;
        detail->kind = (uint32_t)i;
        own[0] = (struct tf_level_vector){TF_LEVEL_GOING, tf_vector_floor0(have)};
        for (int q = 0; q < rank; q++) {
            for (size_t p = 0; p < detail->part_count; p++)
                if (candidates->units.items[detail->parts[p].unit].level == tf_level_surplus(q))
                    have = tf_vector_add(have, detail->parts[p].frees);
            own[1 + q] = (struct tf_level_vector){tf_level_surplus(q), tf_vector_floor0(have)};
        }
        row.levels = (struct tf_level_vectors){own, levels, levels};
        tf_vec_push(&after->rows, row);
    }
}

/* Some may be had: a job has some, and with all that is below that level a step would fit. */
static bool may_have_surplus(const struct sub *sub, const struct tf_demand *demand, int below)
{
    int64_t gpus = 0;
    for (int rank = 0; rank < below; rank++)
        gpus += ledger_worth(&sub->ledger, tf_level_surplus(rank))->gpus;
    for (const struct job *job = absorb_first(sub); job && gpus == 0; job = absorb_next(job))
        gpus += job->record.spec->group.shape.gpus == 0 && size_steps(&job->record) > 0; /* CPU, memory */
    return gpus > 0 && grow_may_fit(sub, demand, tf_level_surplus(below - 1));
}

bool reclaim_plan_surplus(struct sub *sub, const struct tf_demand *demand, int below,
                          struct reclaim_plan *plan)
{
    struct victims chosen = {0};
    struct after rows;
    struct tf_demand bounded = *demand;
    reclaim_plan_release(plan);
    if (below < 1 || !may_have_surplus(sub, demand, below))
        return false;
    bounded.level = tf_level_surplus(below - 1);
    struct candidates *candidates = candidates_list_surplus(sub, below);
    surplus_rows(sub, candidates, below, &rows);
    struct tf_fit_view view = ledger_view(&sub->ledger);
    view.rows = rows.rows.items;
    struct victims_ask ask = {.nodes = view,
                              .kinds = view,
                              .detail = candidates->nodes.items,
                              .demand = &bounded,
                              .units = candidates->units.items,
                              .unit_count = candidates->units.count,
                              .scratch = sub->scratch};
    bool found = victims_choose(&ask, &chosen) && chosen.units.count > 0;
    if (found) {
        plan->level = chosen.level;
        list_evicted(candidates, &chosen, plan);
    }
    after_release(&rows);
    victims_release(&chosen);
    return found;
}

/* ---- the brake ---- */

/* Where nothing runs nothing is stopped: those do not count. */
static size_t running_victims(const struct reclaim_plan *plan)
{
    size_t count = 0;
    tf_vec_each (victim, &plan->evicted)
        count += !victim->waits;
    return count;
}

bool reclaim_is_braked(const struct sub *sub, const struct reclaim_plan *plan)
{
    return brake_is_on(sub, running_victims(plan));
}

/* ---- commit ---- */

static char *eviction_message(const struct sub *sub, const struct job *owner, const struct evicted_job *gone)
{
    char text[TF_LEVEL_TEXT];
    TF_AUTO_FREE char *level = tf_strdup(tf_level_name(gone->level, &sub->policy.classes, text));
    TF_AUTO_FREE char *by = tf_asprintf("%s/%s", owner->record.tenant, owner->record.name);
    return tf_eviction_text(&(struct tf_eviction){.level = level,
                                                  .by = by,
                                                  .priority = owner->record.spec->priority,
                                                  .lost_gpu_seconds = gone->lost_gpu_seconds});
}

/* The owner's record goes to the store before the taker's or with it: at no crash two claim the same GPU. */
static void take_claims(struct sub *sub, const struct job *taker, const struct evicted_job *gone)
{
    struct job *job = job_find(sub, gone->uid);
    assert(job && job->record.claims.count);
    if (!claims_only(job)) {
        out_touch_job_before(sub, job, taker);
        reclaim_give_up(sub, job, "a higher priority takes them");
        return;
    }
    bool reserved = job->record.phase == TF_ALLOCATION_RESERVED;
    char *message = tf_asprintf("what it %s went to %s/%s (%s); nothing of it ran",
                                reserved ? "kept" : "had claimed and waited for", taker->record.tenant,
                                taker->record.name, taker->record.spec->priority);
    bool used = reserved && reservation_is_begun(job); /* to ask for all of it again would be too much */
    tf_reached_if(!reserved, sub, SUB_CLAIM_TAKEN);
    tf_reached_if(reserved, sub, SUB_RESERVATION_TAKEN);
    out_touch_job_before(sub, job, taker);
    epoch_end(sub, job, (struct ending){.end = used ? TF_END_FINISHED : TF_END_EVICTED, .message = message});
}

static void evict(struct sub *sub, const struct job *owner, const struct evicted_job *gone)
{
    struct job *job = job_find(sub, gone->uid);
    assert(job && job_lives(job));
    char *message = eviction_message(sub, owner, gone);
    trace_epoch(sub, job, "is evicted%s: %s", gone->whole ? "" : " in part", message);
    brake_count(sub);
    if (gone->whole) {
        epoch_end(sub, job,
                  (struct ending){
                      .end = TF_END_EVICTED, .message = message, .lost_gpu_seconds = gone->lost_gpu_seconds});
        return;
    }
    epoch_gave_way(sub, job, message, gone->lost_gpu_seconds);
    size_drop_steps(sub, job, gone->marks.items, gone->marks.count);
}

void reclaim_let_go(struct sub *sub, const struct job *job, const struct reclaim_plan *plan)
{
    tf_vec_each (gone, &plan->evicted)
        evict(sub, job, gone);
}

static void hold_claim(struct sub *sub, const struct job *job, uint32_t i)
{
    tf_level level = tf_level_core(class_rank(sub, job->record.spec));
    bool reserved = job->record.phase == TF_ALLOCATION_RESERVED;
    (reserved ? ledger_reserve : ledger_claim)(&sub->ledger, job->record.uid, i, &job->record.claims.items[i],
                                               level);
}

static void hold_claims(struct sub *sub, struct job *job)
{
    for (uint32_t i = 0; i < job->record.claims.count; i++)
        hold_claim(sub, job, i);
}

/* change 0: the job becomes the holder in the same change. */
static void drop_claims(struct sub *sub, struct job *job, uint64_t change)
{
    for (uint32_t i = 0; i < job->record.claims.count; i++)
        ledger_unclaim(&sub->ledger, job->record.uid, i, &job->record.claims.items[i], change);
}

static void clear_claims(struct tf_allocation *record)
{
    tf_vec_each (claim, &record->claims)
        tf_claim_release(claim);
    tf_vec_release(&record->claims);
}

/* One that had claims before, while it ran, may be in the list still. */
static void join_claiming(struct sub *sub, const struct job *job)
{
    tf_vec_each (uid, &sub->claiming)
        if (tf_uid_eq(*uid, job->record.uid))
            return;
    tf_vec_push(&sub->claiming, job->record.uid);
}

void reclaim_hold(struct sub *sub, struct job *job)
{
    hold_claims(sub, job);
}

void reclaim_unhold(struct sub *sub, struct job *job)
{
    drop_claims(sub, job, 0);
}

/* One by one: each looks at what the ones before it have left of what is reserved. */
static void take_plan(struct sub *sub, struct job *job, const struct tf_entry *entry,
                      struct reclaim_plan *plan)
{
    struct tf_allocation *record = &job->record;
    tf_vec_each (claim, &plan->claims) {
        if (entry)
            reservation_give(sub, entry, job, ledger_find(&sub->ledger, claim->node), claim->gpus);
        tf_vec_push(&record->claims, *claim);
        hold_claim(sub, job, (uint32_t)record->claims.count - 1);
    }
    plan->claims.count = 0;
}

void reclaim_commit(struct sub *sub, struct job *job, const struct tf_entry *entry, struct reclaim_plan *plan)
{
    struct tf_allocation *record = &job->record;
    assert((record->phase == TF_ALLOCATION_CLAIMING || record->phase == TF_ALLOCATION_RUNNING) &&
           record->claims.count == 0);
    tf_vec_each (victim, &plan->evicted)
        if (!tf_uid_is_none(victim->migration))
            migrate_take(sub, victim->migration, victim->move, job);
        else if (victim->waits)
            take_claims(sub, job, victim);
    take_plan(sub, job, entry, plan);
    join_claiming(sub, job);
    job_changed(sub, job);
    tf_reached(sub, SUB_CLAIMED);
    tf_vec_each (victim, &plan->evicted)
        if (!victim->waits)
            evict(sub, job, victim);
}

void reclaim_load(struct sub *sub, struct job *job)
{
    hold_claims(sub, job);
    join_claiming(sub, job);
}

void reclaim_drop(struct sub *sub, struct job *job)
{
    drop_claims(sub, job, tf_journal_last(sub->outbox.journal));
    clear_claims(&job->record);
}

/* ---- waiting ---- */

/* Claims become members, in their order, and all start. */
static void start_claimed(struct sub *sub, struct job *job)
{
    struct tf_allocation *record = &job->record;
    drop_claims(sub, job, 0);
    record->phase = TF_ALLOCATION_STARTING;
    tf_vec_each (claim, &record->claims)
        member_add(sub, job, claim->node, claim->gpus);
    clear_claims(record);
    members_attach(sub, job);
    trace_epoch(sub, job, "has its GPUs after %lld ms: starts",
                (long long)(sub->now.wall.ms - record->accepted.ms));
    job_changed(sub, job);
    peers_write(sub, job);
    members_start(sub, job);
}

static enum claim_state worst_state(const struct sub *sub, const struct tf_allocation *record)
{
    enum claim_state worst = CLAIM_FREE;
    tf_vec_each (claim, &record->claims) {
        enum claim_state state = ledger_claim_state(&sub->ledger, record->uid, claim->node);
        worst = state > worst ? state : worst;
    }
    return worst;
}

static int32_t claims_free(const struct sub *sub, const struct tf_allocation *record)
{
    int32_t count = 0;
    tf_vec_each (claim, &record->claims)
        count += ledger_claim_state(&sub->ledger, record->uid, claim->node) == CLAIM_FREE;
    return count;
}

/* A cheap look: what is free besides, and those of its claims that are, could be enough together. */
static bool may_fit_free(struct sub *sub, const struct tf_allocation *record, const struct tf_demand *demand)
{
    struct tf_fit_view kinds = tf_fit_rows_view(sub->ledger.rows);
    struct tf_fit fit;
    tf_fit_count(&kinds, demand, TF_LEVEL_FREE, sub->scratch, &fit);
    return fit.count + demand->step - 1 + claims_free(sub, record) >= demand->core;
}

static bool pack_free(struct sub *sub, const struct tf_demand *demand, struct reclaim_plan *plan)
{
    return pack_claims(sub, ledger_view(&sub->ledger).rows, &(struct leavers){0}, demand, plan);
}

/* Moves all claims onto free GPUs, if the whole of it fits there. */
static bool move_claims(struct sub *sub, struct job *job, const struct tf_demand *demand)
{
    struct tf_allocation *record = &job->record;
    struct reclaim_plan plan = {0};
    drop_claims(sub, job, 0);
    ledger_refresh(&sub->ledger);
    bool fits = pack_free(sub, demand, &plan);
    if (fits) {
        clear_claims(record);
        tf_vec_each (claim, &plan.claims)
            tf_vec_push(&record->claims, *claim);
        plan.claims.count = 0;
    }
    hold_claims(sub, job);
    reclaim_plan_release(&plan);
    return fits;
}

/* What its claims are for. */
static bool demand_of(struct sub *sub, const struct job *job, struct tf_demand *demand)
{
    const struct tf_allocation *record = &job->record;
    struct tf_fit_view view = ledger_view(&sub->ledger);
    int rank = class_rank(sub, record->spec);
    if (!claims_only(job)) {
        bool resolved = grow_demand(sub, job, demand);
        demand->core = (int32_t)record->claims.count;
        return resolved;
    }
    if (tf_demand_resolve(demand, record->spec, rank, view.catalog, NULL))
        return false;
    tf_demand_fix_model(demand, view.catalog, record->model);
    if (record->phase == TF_ALLOCATION_RESERVED) /* as many as are left of it */
        demand->core = demand->step = record->size;
    node_claims_bind(sub, record->uid, record->spec, demand);
    return true;
}

static bool claim_free(struct sub *sub, struct job *job)
{
    struct tf_demand demand = {0};
    ledger_refresh(&sub->ledger);
    bool fits = demand_of(sub, job, &demand) && may_fit_free(sub, &job->record, &demand) &&
                move_claims(sub, job, &demand);
    tf_demand_release(&demand);
    return fits;
}

static void give_up(struct sub *sub, struct job *job)
{
    tf_reached(sub, SUB_CLAIM_BROKEN);
    char *message = tf_strdup("what it had claimed cannot be had any more: a node went, or somebody did not "
                              "stop in time; and nothing else is free now");
    epoch_end(sub, job, (struct ending){.end = TF_END_REFUSED, .reason = TF_REASON_GPUS, .message = message});
}

/* True while it goes on keeping what it has. */
static bool look_at_reserved(struct sub *sub, struct job *job)
{
    if (worst_state(sub, &job->record) != CLAIM_BROKEN)
        return true;
    if (!reservation_is_begun(job) && claim_free(sub, job)) {
        tf_reached(sub, SUB_RESERVATION_MOVED);
        trace_epoch(sub, job, "keeps other GPUs: a node of it went");
        job_changed(sub, job);
        return true;
    }
    reservation_broken(sub, job);
    return job->record.phase == TF_ALLOCATION_RESERVED;
}

/* ---- of what a running job lacks ---- */

void reclaim_give_up(struct sub *sub, struct job *job, const char *why)
{
    if (claims_only(job) || !job->record.claims.count)
        return;
    tf_reached(sub, SUB_SHORT_CLAIM_GONE);
    trace_epoch(sub, job, "gives up what it claimed of what it lacks: %s", why);
    job_changed(sub, job); /* the change by which they are given up */
    reclaim_drop(sub, job);
    repair_again(sub, sub->now.mono);
}

static bool comes_to_an_end(const struct tf_allocation *record)
{
    tf_vec_each (m, &record->members)
        if (m->state == TF_MEMBER_DONE)
            return true;
    return false;
}

/* What lasts a while only: its claims stay. */
static bool must_wait(const struct sub *sub, const struct job *job)
{
    const struct tf_allocation *record = &job->record;
    return job->unconfirmed || record->restart_at.ms || strays_live(sub, record->uid, record->epoch, false);
}

/* True while it goes on waiting. */
static bool look_at_wanted(struct sub *sub, struct job *job)
{
    const struct tf_allocation *record = &job->record;
    if (repair_missing(job) < (int32_t)record->claims.count || comes_to_an_end(record)) {
        reclaim_give_up(sub, job, "it does not lack that any more, or comes to its end");
        return false;
    }
    if (must_wait(sub, job)) {
        repair_again(sub, (struct tf_mono){sub->now.mono.ms + TF_SECOND});
        return true;
    }
    enum claim_state state = worst_state(sub, record);
    if (state != CLAIM_FREE && claim_free(sub, job)) {
        tf_reached(sub, SUB_CLAIM_MOVED);
        state = CLAIM_FREE;
    }
    if (state == CLAIM_WAITS)
        return true;
    if (state == CLAIM_FREE) {
        tf_reached(sub, SUB_SHORT_STARTS);
        drop_claims(sub, job, 0);
        grow_claimed(sub, job);
    } else
        reclaim_give_up(sub, job, "a node went, or somebody did not stop in time");
    return false;
}

void reclaim_look_at(struct sub *sub, struct job *job)
{
    assert(sub->listed && job->record.phase == TF_ALLOCATION_RUNNING && job->record.claims.count);
    (void)look_at_wanted(sub, job); /* without claims it leaves the list when that is looked at */
}

/* True while it goes on waiting. */
static bool look_at(struct sub *sub, struct job *job)
{
    if (job->record.phase == TF_ALLOCATION_RESERVED)
        return look_at_reserved(sub, job);
    if (!claims_only(job))
        return look_at_wanted(sub, job);
    enum claim_state state = worst_state(sub, &job->record);
    if (state != CLAIM_FREE && claim_free(sub, job)) {
        tf_reached(sub, SUB_CLAIM_MOVED);
        state = CLAIM_FREE;
    }
    if (state == CLAIM_WAITS)
        return true;
    if (state == CLAIM_FREE)
        start_claimed(sub, job);
    else
        give_up(sub, job);
    return false;
}

static void look(struct sub *sub)
{
    size_t kept = 0;
    for (size_t i = 0; i < sub->claiming.count; i++) {
        struct tf_uid uid = sub->claiming.items[i];
        struct job *job = job_find(sub, uid);
        if (job && (claims_only(job) || job->record.claims.count) && look_at(sub, job))
            sub->claiming.items[kept++] = uid;
    }
    sub->claiming.count = kept;
}

/* Not against the decision budget: a claim that is due must not wait behind plans, and there is little to it.
 * The leader has one placement that takes from others on its way here at a time, each is looked at by its own
 * claims and the kinds of nodes (of which there are few hundred), and packed anew only if that says it fits.
 */
void reclaim_look(struct sub *sub)
{
    if (sub->listed && sub->ledger.dirty.count)
        look(sub);
}

void reclaim_listed(struct sub *sub)
{
    assert(sub->listed);
    look(sub);
}

void reclaim_set_levels(struct sub *sub, struct job *job)
{
    tf_level level = tf_level_core(class_rank(sub, job->record.spec));
    for (uint32_t i = 0; i < job->record.claims.count; i++)
        ledger_set_claim_level(&sub->ledger, job->record.uid, i, &job->record.claims.items[i], level);
}
