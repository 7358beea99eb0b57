/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the way of more instances into a running epoch: from a place for them to members. Which job gets what
 * is decided elsewhere; the marks are size.c's, what single instances do members.c's. */
#include "subcluster/core/grow.h"

#include "subcluster/core/allocation.h"
#include "subcluster/core/calls.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/members_private.h"
#include "subcluster/core/migrate.h"
#include "subcluster/core/mix.h"
#include "subcluster/core/moving.h"
#include "subcluster/core/node_claims.h"
#include "subcluster/core/offers.h"
#include "subcluster/core/peers.h"
#include "subcluster/core/reclaim.h"
#include "subcluster/core/repair.h"
#include "subcluster/core/retries.h"
#include "subcluster/core/size.h"
#include "subcluster/core/strays.h"
#include "subcluster/core/trace.h"

#include <assert.h>

enum { BACKOFF_FIRST = 10 * TF_SECOND, BACKOFF_MOST = 5 * TF_MINUTE };

bool grow_pending(const struct job *job)
{
    tf_vec_each (m, &job->record.members)
        if (member_stays(m->state) && m->role != TF_MEMBER_OF_JOB && !member_moves(m))
            return true;
    return job->record.claims.count > 0;
}

const char *grow_bar(const struct sub *sub, const struct job *job)
{
    const struct tf_allocation *record = &job->record;
    if (record->phase != TF_ALLOCATION_RUNNING)
        return "it does not run fully";
    if (job->unconfirmed)
        return "the restored store may be wrong about it";
    if (record->size >= tf_size_align(&record->spec->elastic, record->spec->elastic.max))
        return "it has its max";
    if (record->restart_at.ms)
        return "it is about to restart";
    if (strays_live(sub, record->uid, record->epoch, false))
        return "instances of it that its record has forgotten still run";
    if (grow_pending(job))
        return "it grows already";
    if (moving_any(job) || migrate_has(sub, record->uid))
        return "instances of it move";
    if (job->grow_at.ms > sub->now.mono.ms)
        return "its latest growth failed";
    tf_vec_each (m, &record->members) {
        if (m->state == TF_MEMBER_DONE)
            return "its work comes to an end"; /* §4: from the first such exit it does not grow */
        if (m->state == TF_MEMBER_LEAVING || m->state == TF_MEMBER_MISSING)
            return "it is being made smaller";
    }
    return NULL;
}

/* ---- where ---- */

static int cmp_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The nodes that it is on, and in *class the class of one of them. */
static bool list_nodes(const struct sub *sub, const struct job *job, struct tf_demand *demand,
                       uint32_t *class)
{
    bool any = false;
    for (size_t i = 0; i < job->record.members.count; i++) {
        const struct tf_member *m = &job->record.members.items[i];
        const struct ledger_node *node = sub->ledger.nodes.items[job->runs.items[i].node];
        if (!member_counts(m) || !member_holds(m->state) || !node->known)
            continue;
        tf_vec_push(&demand->used, node->number);
        *class = sub->ledger.node_rows.items[node->number].class;
        any = true;
    }
    if (any)
        qsort(demand->used.items, demand->used.count, sizeof *demand->used.items, cmp_number);
    size_t kept = 0;
    tf_vec_each (number, &demand->used)
        if (kept == 0 || demand->used.items[kept - 1] != *number)
            demand->used.items[kept++] = *number;
    demand->used.count = kept;
    return any;
}

bool grow_demand(const struct sub *sub, const struct job *job, struct tf_demand *demand)
{
    const struct tf_allocation *record = &job->record;
    struct tf_fit_view view = ledger_view(&sub->ledger);
    int rank = class_rank(sub, record->spec);
    uint32_t class = 0;
    if (tf_demand_resolve(demand, record->spec, rank, view.catalog, NULL))
        return false;
    if (record->model)
        tf_demand_fix_model(demand, view.catalog, record->model);
    if (list_nodes(sub, job, demand, &class))
        tf_demand_anchor(demand, view.catalog, class, false);
    if (demand->max_nodes > 0) { /* of the whole job */
        int32_t left = demand->max_nodes - (int32_t)demand->used.count;
        demand->max_nodes = left > 0 ? left : TF_DEMAND_NO_NEW;
    }
    demand->core = record->spec->elastic.step;
    node_claims_bind_running(sub, job, demand);
    if (record->size >= record->spec->elastic.min) {
        demand->is_core = false; /* claims bind cores only (R5) */
        demand->level = TF_LEVEL_FREE;
    }
    return true;
}

/* ---- starting ---- */

int32_t grow_joining(const struct tf_allocation *record)
{
    int32_t count = 0;
    tf_vec_each (m, &record->members)
        count += member_stays(m->state) && m->role == TF_MEMBER_JOINS;
    return count;
}

static bool restarts_together(const struct job *job)
{
    return job->record.spec->on_resize == TF_ON_RESIZE_RESTART;
}

static void add_joiners(struct sub *sub, struct job *job, const struct tf_fit_placement *packing)
{
    int32_t older = job->record.size, each = job->record.spec->group.shape.gpus;
    tf_vec_each (row, &packing->rows) {
        assert(row->nodes == 1 && row->row < sub->ledger.nodes.count);
        const struct ledger_node *node = sub->ledger.nodes.items[row->row];
        for (int32_t i = 0; i < row->each; i++) {
            uint64_t gpus = tf_gpu_set_lowest(ledger_free_gpus(node), each);
            assert(tf_gpu_set_count(gpus) == each && "packed into what is free");
            member_join(sub, job, node->node.name, gpus, older++);
        }
    }
}

/* They are members at once, which start when the others have stopped. */
static void restart_with(struct sub *sub, struct job *job)
{
    struct tf_allocation *record = &job->record;
    for (size_t i = 0; i < record->members.count; i++) {
        struct tf_member *m = &record->members.items[i];
        if (m->state != TF_MEMBER_PLANNED || m->role == TF_MEMBER_OF_JOB || member_moves(m))
            continue;
        record->size += m->role == TF_MEMBER_JOINS;
        m->role = TF_MEMBER_OF_JOB;
        m->state = TF_MEMBER_BACKOFF;
        m->retry_at = sub->now.wall;
        job->runs.items[i].retry = sub->now.mono;
    }
    record->last_grow = sub->now.wall;
    size_mark_again(sub, job);
    repair_note(sub, job);
    members_restart(sub, job);
}

static void start_joiners(struct sub *sub, struct job *job)
{
    const struct tf_allocation *record = &job->record;
    tf_reached(sub, SUB_GROWS);
    trace_epoch(sub, job, "grows from %d to %d instances", record->size, record->size + grow_joining(record));
    job_changed(sub, job);
    if (restarts_together(job))
        restart_with(sub, job);
    else
        members_start(sub, job);
}

void grow_begin(struct sub *sub, struct job *job, const struct tf_fit_placement *packing)
{
    const struct tf_allocation *record = &job->record;
    assert(!grow_bar(sub, job) && packing->instances > 0 &&
           packing->instances % record->spec->elastic.step == 0 &&
           record->size + packing->instances <= record->spec->elastic.max);
    add_joiners(sub, job, packing);
    start_joiners(sub, job);
}

void grow_claimed(struct sub *sub, struct job *job)
{
    struct tf_allocation *record = &job->record;
    int32_t older = record->size;
    assert(record->phase == TF_ALLOCATION_RUNNING && grow_joining(record) == 0);
    tf_vec_each (claim, &record->claims) {
        member_join(sub, job, claim->node, claim->gpus, older++);
        tf_claim_release(claim);
    }
    tf_vec_release(&record->claims);
    start_joiners(sub, job);
}

void grow_open_nodes(const struct sub *sub, struct open_nodes *open)
{
    struct tf_fit_view view = ledger_view(&sub->ledger);
    open->count = 0;
    for (size_t i = 0; i < view.count; i++) {
        tf_vec_push(open, view.rows[i]);
        if (!offers_are_over(sub->ledger.nodes.items[i]))
            open->items[i].count = 0;
    }
}

/* As many of so many steps as fit these rows. */
static int32_t grow_on(struct sub *sub, struct job *job, int32_t steps, const struct tf_profile_row *rows)
{
    const struct tf_elastic *e = &job->record.spec->elastic;
    struct tf_demand demand = {0};
    struct tf_fit_placement packing = {0};
    struct tf_fit fit = {0};
    int32_t most = (tf_size_align(e, e->max) - job->record.size) / e->step, begun = 0;
    struct tf_fit_view view = ledger_view(&sub->ledger);
    view.rows = rows;
    steps = steps < most ? steps : most;
    if (steps > 0 && !grow_bar(sub, job) && grow_demand(sub, job, &demand)) {
        tf_fit_count(&view, &demand, TF_LEVEL_FREE, sub->scratch, &fit);
        begun = fit.count / e->step < steps ? fit.count / e->step : steps;
        if (begun > 0 && tf_fit_pack(&view, &demand, TF_LEVEL_FREE, begun * e->step, mix_of_all(sub),
                                     sub->scratch, &packing))
            grow_begin(sub, job, &packing);
        else
            begun = 0;
    }
    tf_fit_placement_release(&packing);
    tf_demand_release(&demand);
    return begun;
}

/* By kinds of nodes, but for what is bound to single ones. */
int32_t grow_count(const struct sub *sub, const struct tf_demand *demand)
{
    struct tf_fit_view view =
        demand->max_nodes ? ledger_view(&sub->ledger) : tf_fit_rows_view(sub->ledger.rows);
    struct tf_demand own = *demand; /* lent */
    struct tf_fit fit;
    if (!demand->max_nodes)
        memset(&own.used, 0, sizeof own.used);
    tf_fit_count(&view, &own, TF_LEVEL_FREE, sub->scratch, &fit);
    return fit.count;
}

bool grow_may_fit(const struct sub *sub, const struct tf_demand *demand, tf_level level)
{
    struct tf_fit_view kinds = tf_fit_rows_view(sub->ledger.rows);
    struct tf_demand loose = *demand; /* lent */
    struct tf_fit fit;
    loose.level = level > demand->level ? level : demand->level;
    loose.max_nodes = 0;
    memset(&loose.used, 0, sizeof loose.used); /* rows of one node each */
    tf_fit_count(&kinds, &loose, level, sub->scratch, &fit);
    return fit.count >= demand->step;
}

/* What does not fit what is free, on offer or not. */
static bool is_hopeless(struct sub *sub, const struct job *job)
{
    struct tf_demand demand = {0};
    bool hopeless = !grow_demand(sub, job, &demand) || !grow_may_fit(sub, &demand, TF_LEVEL_FREE);
    tf_demand_release(&demand);
    return hopeless;
}

int32_t grow_steps(struct sub *sub, struct job *job, int32_t steps)
{
    struct open_nodes open = {0};
    if (steps <= 0 || grow_bar(sub, job))
        return 0;
    ledger_refresh(&sub->ledger);
    if (is_hopeless(sub, job))
        return 0;
    grow_open_nodes(sub, &open);
    int32_t begun = grow_on(sub, job, steps, open.items);
    tf_vec_release(&open);
    return begun;
}

/* ---- replacing ---- */

/* The ones that are missing get the places of the packing, in turn. */
static void place_missing(struct sub *sub, struct job *job, const struct tf_fit_placement *packing)
{
    size_t next = 0;
    int32_t each = job->record.spec->group.shape.gpus;
    tf_vec_each (row, &packing->rows) {
        const struct ledger_node *node = sub->ledger.nodes.items[row->row];
        for (int32_t i = 0; i < row->each; i++) {
            while (job->record.members.items[next].state != TF_MEMBER_MISSING)
                next++;
            uint64_t gpus = tf_gpu_set_lowest(ledger_free_gpus(node), each);
            assert(tf_gpu_set_count(gpus) == each && "packed into what is free");
            member_replace(sub, job, next, node->node.name, gpus);
        }
    }
}

/* All that are missing or none: what waits for the rest would be held for nothing. */
static int32_t to_replace(const struct tf_allocation *record)
{
    int32_t count = 0;
    tf_vec_each (m, &record->members) {
        if (m->role == TF_MEMBER_REPLACES && member_stays(m->state))
            return 0; /* some are on their way, or not known to be gone */
        count += m->state == TF_MEMBER_MISSING;
    }
    return count;
}

bool grow_replace(struct sub *sub, struct job *job)
{
    struct tf_demand demand = {0};
    struct tf_fit_placement packing = {0};
    struct open_nodes open = {0};
    bool forgotten = strays_live(sub, job->record.uid, job->record.epoch, false); /* may be in one's place */
    int32_t missing = forgotten ? 0 : to_replace(&job->record);
    ledger_refresh(&sub->ledger);
    grow_open_nodes(sub, &open);
    struct tf_fit_view view = ledger_view(&sub->ledger);
    view.rows = open.items;
    bool placed = missing > 0 && grow_demand(sub, job, &demand);
    demand.step = 1;
    demand.core = missing;
    demand.is_core = true;
    placed = placed &&
             tf_fit_pack(&view, &demand, TF_LEVEL_FREE, missing, mix_of_all(sub), sub->scratch, &packing);
    if (placed) {
        place_missing(sub, job, &packing);
        tf_reached(sub, SUB_REPLACES);
        trace_epoch(sub, job, "replaces %d of its %d instances", missing, job->record.size);
        job_changed(sub, job);
        if (restarts_together(job))
            restart_with(sub, job);
        else
            members_start(sub, job);
    }
    tf_fit_placement_release(&packing);
    tf_demand_release(&demand);
    tf_vec_release(&open);
    return placed;
}

/* ---- joining ---- */

/* The next whole step of those that join from this place on, in the order of their indices, as they were
 * added: the places in `step`. False if there is none. */
static bool next_step(const struct tf_allocation *record, size_t *from, struct places *step)
{
    step->count = 0;
    for (; *from < record->members.count && (int32_t)step->count < record->spec->elastic.step; (*from)++) {
        const struct tf_member *m = &record->members.items[*from];
        if (member_stays(m->state) && m->role == TF_MEMBER_JOINS)
            tf_vec_push(step, *from);
    }
    return (int32_t)step->count == record->spec->elastic.step;
}

static bool all_ready(const struct tf_allocation *record, const struct places *step)
{
    tf_vec_each (place, step)
        if (record->members.items[*place].state != TF_MEMBER_READY)
            return false;
    return true;
}

static bool join_ready(struct job *job)
{
    struct tf_allocation *record = &job->record;
    struct places step = {0};
    bool any = false;
    for (size_t from = 0; next_step(record, &from, &step);) {
        if (!all_ready(record, &step))
            continue;
        tf_vec_each (place, &step)
            record->members.items[*place].role = TF_MEMBER_OF_JOB;
        record->size += record->spec->elastic.step;
        any = true;
    }
    tf_vec_release(&step);
    return any;
}

/* The others go on only when none is missing any more. */
static bool replace_ready(struct job *job)
{
    bool any = false;
    tf_vec_each (m, &job->record.members) {
        if (!member_stays(m->state) || (m->role != TF_MEMBER_REPLACES && m->state != TF_MEMBER_MISSING))
            continue;
        if (m->state != TF_MEMBER_READY)
            return false;
        any = true;
    }
    tf_vec_each (m, &job->record.members)
        if (m->role == TF_MEMBER_REPLACES)
            m->role = TF_MEMBER_OF_JOB;
    return any;
}

/* It has grown; but another step of it may have failed of late. */
static void forget_failures(const struct sub *sub, struct job *job)
{
    if (job->grow_at.ms > sub->now.mono.ms)
        return;
    job->record.grow_after = (struct tf_wall){0};
    job->record.grow_failures = 0;
}

void grow_all_ready(struct sub *sub, struct job *job)
{
    const struct tf_allocation *record = &job->record;
    if (record->grow_failures == 0 || !restarts_together(job) ||
        record->last_grow.ms <= record->last_shrink.ms)
        return;
    tf_vec_each (m, &record->members)
        if (member_counts(m) && m->state != TF_MEMBER_READY && m->state != TF_MEMBER_DONE)
            return;
    forget_failures(sub, job);
    job_changed(sub, job);
}

void grow_look(struct sub *sub, struct job *job)
{
    struct tf_allocation *record = &job->record;
    int32_t before = record->size;
    bool joined = join_ready(job), replaced = replace_ready(job);
    if (!joined && !replaced)
        return;
    record->last_grow = sub->now.wall;
    forget_failures(sub, job);
    if (joined)
        trace_epoch(sub, job, "has grown from %d to %d instances", before, record->size);
    if (replaced)
        trace_epoch(sub, job, "has all its %d instances again", record->size);
    tf_reached_if(joined, sub, SUB_GREW);
    tf_reached_if(replaced, sub, SUB_REPLACED);
    job_changed(sub, job);
    size_mark_again(sub, job);
    peers_write(sub, job);
    repair_note(sub, job);
    epoch_look(sub, job);
}

/* ---- not joining ---- */

static void try_later(struct sub *sub, struct job *job, const char *why)
{
    struct tf_allocation *record = &job->record;
    int64_t wait = BACKOFF_FIRST;
    for (int32_t i = 0; i < record->grow_failures && wait < BACKOFF_MOST; i++)
        wait *= 2;
    wait = wait < BACKOFF_MOST ? wait : BACKOFF_MOST;
    record->grow_failures++;
    record->grow_after = (struct tf_wall){sub->now.wall.ms + wait};
    job->grow_at = moment_in(sub, wait);
    tf_reached(sub, SUB_GROWTH_FAILED);
    trace_epoch(sub, job, "does not grow: %s; tried again after %lld ms", why, (long long)wait);
    job_changed(sub, job);
}

/* Joiners that still have or may get something leave; one that is gone already is gone. */
static void dismiss(struct sub *sub, struct job *job, struct places *step)
{
    size_t kept = 0;
    tf_vec_each (place, step)
        if (member_stays(job->record.members.items[*place].state))
            step->items[kept++] = *place;
    step->count = kept;
    if (kept)
        members_dismiss(sub, job, step->items, step->count);
}

/* The step of the one in that place; it counts among them though it may be gone. */
static void step_of(const struct tf_allocation *record, size_t place, struct places *step)
{
    for (size_t from = 0; next_step(record, &from, step);)
        tf_vec_each (at, step)
            if (*at == place)
                return;
    step->count = 0;
}

void grow_load(struct sub *sub, struct job *job)
{
    int64_t left = job->record.grow_after.ms ? job->record.grow_after.ms - sub->now.wall.ms : 0;
    if (left > 0)
        job->grow_at = moment_in(sub, left < BACKOFF_MOST ? left : BACKOFF_MOST);
}

void grow_broken(struct sub *sub, struct job *job, size_t place, bool gone, char *why)
{
    struct tf_allocation *record = &job->record;
    struct tf_member *m = &record->members.items[place];
    struct places step = {0};
    if (member_moves(m) || moving_is_switched(job, place)) {
        moving_broken(sub, job, place, gone, why);
        return;
    }
    assert(m->role != TF_MEMBER_OF_JOB && record->phase != TF_ALLOCATION_ENDING);
    if (m->role == TF_MEMBER_JOINS)
        step_of(record, place, &step);
    if (gone)
        member_let_go(sub, job, m, m->role == TF_MEMBER_REPLACES ? TF_MEMBER_MISSING : TF_MEMBER_GONE);
    else if (m->role == TF_MEMBER_REPLACES)
        member_stop(sub, job, place);
    try_later(sub, job, why);
    free(why);
    dismiss(sub, job, &step);
    repair_note(sub, job);
    tf_vec_release(&step);
}

void grow_refused(struct sub *sub, struct job *job)
{
    /* what others grow by is no member yet, and has its own back-off; of many at once it is one failure */
    if (restarts_together(job) && job_lives(job) && job->record.phase == TF_ALLOCATION_RUNNING &&
        job->grow_at.ms <= sub->now.mono.ms)
        try_later(sub, job, "the engine refused what it restarts with");
}

void grow_undo(struct sub *sub, struct job *job)
{
    struct places all = {0};
    moving_undo(sub, job, "its job has something more urgent to do: it shrinks or is repaired");
    reclaim_give_up(sub, job, "something more urgent happens to it");
    for (size_t i = 0; i < job->record.members.count; i++) {
        const struct tf_member *m = &job->record.members.items[i];
        if (member_stays(m->state) && m->role == TF_MEMBER_JOINS)
            tf_vec_push(&all, i);
    }
    if (all.count) {
        tf_reached(sub, SUB_GROWTH_UNDONE);
        trace_epoch(sub, job, "gives up growing by %zu instances", all.count);
        dismiss(sub, job, &all);
    }
    tf_vec_release(&all);
}
