/* SPDX-License-Identifier: Apache-2.0 */
/* Owns who lets surplus go for whom (DESIGN.md §5): lower priorities for higher ones, and among equals the
 * highest size/max for the lowest. Nothing is handed over here: what gets free goes the way of all that gets
 * free.
 *
 * What ends it is a potential, in this order: the GPUs that each priority has, from the most important down,
 * then the sizes of its jobs, size/max, from the highest down. Growing from what is free and taking from
 * below raise the first; a move among equals takes no GPU from its priority and lowers the second. So each
 * unforced change brings the subcluster nearer to a state that none of them can better. */
#include "subcluster/core/absorb_private.h"
#include "subcluster/core/allocation.h"
#include "subcluster/core/grow.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/members.h"
#include "subcluster/core/mix.h"
#include "subcluster/core/policy.h"
#include "subcluster/core/reclaim.h"
#include "subcluster/core/size.h"
#include "subcluster/core/trace.h"

#include <assert.h>

enum { TRIALS = 16 }; /* steps that are looked at for one move; who has not been found by then waits */

static int64_t step_gpus(const struct job *job)
{
    return (int64_t)job->record.spec->elastic.step * job->record.spec->group.shape.gpus;
}

static int rank_of(const struct sub *sub, const struct job *job)
{
    return class_rank(sub, job->record.spec);
}

static bool has_surplus(const struct job *job)
{
    return job->record.size > job->record.spec->elastic.min;
}

/* ---- from lower priorities ---- */

static bool any_lower(const struct sub *sub, int rank)
{
    for (const struct job *job = absorb_first(sub); job; job = absorb_next(job))
        if (has_surplus(job) && rank_of(sub, job) < rank)
            return true;
    return false;
}

/* There is some, and it has wanted a step for long enough. */
static bool dwelt_over_lower(struct sub *sub, const struct job *job)
{
    struct tf_mono at = {job->wants.ms + sub->policy.surplus_dwell};
    if (sub_frozen(sub, TF_FROZEN_EVICTIONS) || !any_lower(sub, rank_of(sub, job)))
        return false;
    absorb_again(sub, at);
    return at.ms <= sub->now.mono.ms;
}

/* By that the potential falls: GPUs go from a lower priority to a higher one, and no core is less. */
static bool is_surplus_of_lower(struct sub *sub, const struct job *taker, const struct reclaim_plan *plan)
{
    tf_vec_each (victim, &plan->evicted) {
        if (!tf_uid_is_none(victim->migration)) /* a place that nothing runs in yet */
            continue;
        const struct job *giver = job_find(sub, victim->uid);
        if (!giver || victim->whole || rank_of(sub, giver) >= rank_of(sub, taker))
            return false;
    }
    return true;
}

static bool take_lower(struct sub *sub, struct job *job, const struct absorb_job *hungry)
{
    struct reclaim_plan plan = {0};
    bool found =
        dwelt_over_lower(sub, job) && reclaim_plan_surplus(sub, &hungry->demand, hungry->rank, &plan);
    if (found && reclaim_is_braked(sub, &plan)) {
        absorb_again(sub, (struct tf_mono){sub->now.mono.ms + TF_MINUTE});
        found = false;
    }
    if (found) {
        tf_reached(sub, SUB_SURPLUS_TAKEN);
        trace_epoch(sub, job, "wants a step more: %zu job%s of lower priority give surplus",
                    plan.evicted.count, plan.evicted.count == 1 ? "" : "s");
        bool falls = is_surplus_of_lower(sub, job, &plan);
        assert(falls && "the potential falls");
        (void)falls;
        reclaim_let_go(sub, job, &plan);
    }
    reclaim_plan_release(&plan);
    return found;
}

/* ---- among equals ---- */

struct move {
    struct sub *sub;
    struct absorb_plan *plan; /* its room: what is or gets free and nobody waits for */
    const struct absorb_job *hungry;
    struct job *taker, *giver;
    int32_t steps; /* of the taker, for one of the giver's: it uses at least as many GPUs */
    int32_t trials;
};

/* a.size / a.max < b.size / b.max */
static bool is_lower(int64_t a_size, const struct job *a, int64_t b_size, const struct job *b)
{
    return a_size * b->record.spec->elastic.max < b_size * a->record.spec->elastic.max;
}

/* It lowers the higher of the two, and the taker is next for what gets free. */
static bool is_fairer(const struct move *m)
{
    const struct tf_allocation *taker = &m->taker->record, *giver = &m->giver->record;
    int64_t after = taker->size + (int64_t)m->steps * taker->spec->elastic.step;
    int64_t left = giver->size - giver->spec->elastic.step;
    return after <= m->hungry->max && is_lower(after, m->taker, giver->size, m->giver) &&
           is_lower(taker->size, m->taker, left, m->giver);
}

/* One transition a job: one that grows or is being made smaller gives nothing on top of that. Nor does one
 * whose work comes to an end: what a step of it frees is less than its GPUs, and soon it will free them all.
 */
static bool is_steady(const struct job *job)
{
    if (job->record.phase != TF_ALLOCATION_RUNNING || grow_pending(job) || job->record.restart_at.ms)
        return false;
    tf_vec_each (m, &job->record.members)
        if (m->state == TF_MEMBER_LEAVING || m->state == TF_MEMBER_MISSING || m->state == TF_MEMBER_DONE)
            return false;
    return true;
}

static bool may_give(struct move *m, struct job *giver)
{
    const struct tf_allocation *record = &giver->record;
    int64_t mine = step_gpus(m->taker), its = step_gpus(giver);
    if (giver == m->taker || record->spec->grow != TF_GROW_CONTINUOUS || !has_surplus(giver) ||
        rank_of(m->sub, giver) != m->hungry->rank || !is_steady(giver) || mine == 0 || its == 0)
        return false;
    m->giver = giver;
    m->steps = (int32_t)((its + mine - 1) / mine);
    if (!is_fairer(m))
        return false;
    absorb_again(m->sub, absorb_cool_at(m->sub, giver));
    return absorb_cool_at(m->sub, giver).ms <= m->sub->now.mono.ms;
}

static void free_step(const struct sub *sub, const struct job *giver, int32_t mark, struct tf_vector *extra)
{
    for (size_t i = 0; i < giver->record.members.count; i++) {
        const struct tf_member *m = &giver->record.members.items[i];
        const struct ledger_node *node = sub->ledger.nodes.items[giver->runs.items[i].node];
        struct tf_vector frees = tf_shape_vector(&giver->record.spec->group.shape);
        if (m->mark != mark || !member_counts(m) || !member_holds(m->state))
            continue;
        frees.gpus = tf_gpu_set_count(m->gpus & ledger_usable_gpus(node));
        extra[node->number] = tf_vector_add(extra[node->number], frees);
    }
}

/* Whether the taker's steps fit when this one has gone. */
static bool would_fit(struct move *m, int32_t mark)
{
    struct tf_fit_view view = ledger_view(&m->sub->ledger);
    struct absorb_room room = {.catalog = view.catalog};
    struct tf_vector *have = tf_calloc(view.count + 1, sizeof *have);
    struct tf_fit_placement packing = {0};
    for (size_t i = 0; i < m->plan->room.rows.count; i++)
        have[m->plan->room.rows.items[i].id] = m->plan->room.have.items[i].have;
    free_step(m->sub, m->giver, mark, have);
    for (size_t i = 0; i < view.count; i++)
        if (view.rows[i].count && have[i].slots > 0)
            absorb_room_add(&room, &view.rows[i], have[i]);
    struct tf_fit_view after = absorb_room_view(&room);
    bool fits = tf_fit_pack(&after, &m->hungry->demand, TF_LEVEL_FREE, m->steps * m->hungry->demand.step,
                            mix_of_all(m->sub), m->sub->scratch, &packing);
    tf_fit_placement_release(&packing);
    absorb_room_release(&room);
    free(have);
    return fits;
}

/* The youngest step that helps; 0: none. */
static int32_t choose_step(struct move *m)
{
    for (int32_t mark = size_steps(&m->giver->record); mark > 0 && m->trials < TRIALS; mark--, m->trials++)
        if (would_fit(m, mark))
            return mark;
    return 0;
}

static void give_step(struct move *m, int32_t mark)
{
    const struct tf_allocation *giver = &m->giver->record, *taker = &m->taker->record;
    int64_t before = giver->size;
    tf_reached(m->sub, SUB_EVENED_OUT);
    trace_epoch(m->sub, m->giver, "gives a step to %s/%s, its equal: %d of %d against %d of %d instances",
                taker->tenant, taker->name, giver->size, giver->spec->elastic.max, taker->size,
                taker->spec->elastic.max);
    size_drop_steps(m->sub, m->giver, &mark, 1);
    int64_t after = taker->size + (int64_t)m->steps * taker->spec->elastic.step;
    assert(is_lower(giver->size, m->giver, before, m->giver) && is_lower(after, m->taker, before, m->giver) &&
           m->steps * step_gpus(m->taker) >= step_gpus(m->giver) && "the potential falls");
    (void)before;
    (void)after;
}

/* The highest of those that may, by size/max; of equals the larger uid. */
static struct job *next_giver(struct move *m, const struct job *last)
{
    struct job *best = NULL;
    for (struct job *job = absorb_first(m->sub); job; job = absorb_next(job)) {
        bool behind = !last || is_lower(job->record.size, job, last->record.size, last) ||
                      (!is_lower(last->record.size, last, job->record.size, job) &&
                       tf_uid_cmp(job->record.uid, last->record.uid) < 0);
        if (!behind || !may_give(m, job))
            continue;
        if (!best || !is_lower(job->record.size, job, best->record.size, best))
            best = job;
    }
    return best;
}

static bool even_out(struct move *m)
{
    struct job *giver = NULL;
    if (sub_frozen(m->sub, TF_FROZEN_EVICTIONS))
        return false;
    while (m->trials < TRIALS && (giver = next_giver(m, giver))) {
        bool may = may_give(m, giver); /* sets the move to it */
        assert(may);
        int32_t mark = may ? choose_step(m) : 0;
        if (mark == 0)
            continue;
        give_step(m, mark);
        return true;
    }
    return false;
}

/* ---- one move ---- */

static void list_going(const struct sub *sub, bool without_gpus, struct absorb_room *room)
{
    struct tf_fit_view view = ledger_view(&sub->ledger);
    room->catalog = view.catalog;
    for (size_t i = 0; i < view.count; i++) {
        struct tf_vector have = tf_vector_floor0(ledger_going(sub->ledger.nodes.items[i]));
        if (view.rows[i].count && have.slots > 0 && (have.gpus > 0 || without_gpus))
            absorb_room_add(room, &view.rows[i], have);
    }
}

/* ---- whether it is worth a closer look: a glance at sizes, without a look at nodes ---- */

/* By rank: the lowest that is hungry, by size/max; NULL: none. */
struct lowest {
    const struct job *of[TF_CLASSES_MAX];
};

static void find_lowest(const struct sub *sub, const struct hungry *hungry, struct lowest *lowest)
{
    *lowest = (struct lowest){{NULL}};
    tf_vec_each (job, hungry) {
        const struct job **best = &lowest->of[rank_of(sub, *job)];
        if (!*best || is_lower((*job)->record.size, *job, (*best)->record.size, *best))
            *best = *job;
    }
}

/* Its step might be one for the lowest of its equals. */
static bool may_even_out(struct sub *sub, const struct job *giver, const struct job *lowest)
{
    const struct tf_allocation *record = &giver->record;
    struct tf_mono cool = absorb_cool_at(sub, giver);
    if (!lowest || sub_frozen(sub, TF_FROZEN_EVICTIONS) || record->spec->grow != TF_GROW_CONTINUOUS ||
        !has_surplus(giver) ||
        !is_lower(lowest->record.size, lowest, record->size - record->spec->elastic.step, giver))
        return false;
    absorb_again(sub, cool);
    return cool.ms <= sub->now.mono.ms;
}

static bool may_move(struct sub *sub, const struct hungry *hungry)
{
    struct lowest lowest;
    bool may = false;
    find_lowest(sub, hungry, &lowest);
    tf_vec_each (job, hungry)
        may |= dwelt_over_lower(sub, *job);
    for (const struct job *job = absorb_first(sub); job; job = absorb_next(job))
        may |= may_even_out(sub, job, lowest.of[rank_of(sub, job)]);
    return may;
}

static int by_order(const void *a, const void *b)
{
    return absorb_job_cmp(a, b);
}

/* Those that will have room when all has gone that is going need nobody to give way. */
static bool move_one(struct sub *sub, struct absorb_plan *plan)
{
    struct move m = {.sub = sub, .plan = plan};
    qsort(plan->jobs.items, plan->jobs.count, sizeof *plan->jobs.items, by_order);
    tf_vec_each (hungry, &plan->jobs) {
        if (hungry->steps > 0)
            continue;
        m.hungry = hungry;
        m.taker = job_find(sub, hungry->uid);
        if (take_lower(sub, m.taker, hungry) || even_out(&m))
            return true;
    }
    return false;
}

void surplus_move(struct sub *sub, const struct hungry *hungry)
{
    struct absorb_plan plan = {.mix = mix_of_all(sub)};
    const struct tf_freeze *freeze = sub_frozen(sub, TF_FROZEN_EVICTIONS);
    tf_vec_each (job, hungry)
        (*job)->wants = (*job)->wants.ms == TF_NEVER.ms ? sub->now.mono : (*job)->wants;
    if (freeze) /* nobody gives way before that, and then nothing else may happen that would make one look */
        absorb_again(sub, (struct tf_mono){sub->now.mono.ms + freeze->until.ms - sub->now.wall.ms});
    if (!may_move(sub, hungry))
        return;
    absorb_plan_of(sub, hungry, &plan);
    list_going(sub, absorb_without_gpus(hungry), &plan.room);
    (void)absorb_plan_make(&plan, INT64_MAX / 2, sub->scratch);
    if (plan.jobs.count && move_one(sub, &plan))
        ledger_refresh(&sub->ledger);
    absorb_plan_release(&plan);
}
