/* SPDX-License-Identifier: Apache-2.0 */
/* Owns whose turn it is to grow, and when. How what is free is divided is absorb_plan.c's, how a job grows is
 * grow.c's. */
#include "subcluster/core/absorb_private.h"
#include "subcluster/core/checkpoint.h"
#include "subcluster/core/grow.h"
#include "subcluster/core/image.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/link.h"
#include "subcluster/core/members.h"
#include "subcluster/core/mix.h"
#include "subcluster/core/offers.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/policy.h"
#include "subcluster/core/repair.h"
#include "subcluster/core/trace.h"

#include <assert.h>

/* ---- the elastic jobs ---- */

static const struct job *of_elastic(const struct tf_tree_node *node)
{
    return TF_CONTAINER_OF(node, const struct job, by_elastic);
}

static int cmp_uid(const struct tf_tree_node *a, const struct tf_tree_node *b)
{
    return tf_uid_cmp(of_elastic(a)->record.uid, of_elastic(b)->record.uid);
}

void absorb_init(struct sub *sub)
{
    tf_tree_init(&sub->absorb.elastic, cmp_uid);
    sub->absorb.next = TF_NEVER;
}

static struct job *job_of(struct tf_tree_node *node)
{
    return node ? TF_CONTAINER_OF(node, struct job, by_elastic) : NULL;
}

struct job *absorb_first(const struct sub *sub)
{
    return job_of(tf_tree_first(&sub->absorb.elastic));
}

struct job *absorb_next(const struct job *job)
{
    return job_of(tf_tree_next(&job->by_elastic));
}

void absorb_note(struct sub *sub, struct job *job)
{
    const struct tf_elastic *e = &job->record.spec->elastic;
    bool is = job->record.phase == TF_ALLOCATION_RUNNING && e->max > e->min;
    bool was = tf_tree_linked(&job->by_elastic);
    if (was && !is)
        tf_tree_remove(&sub->absorb.elastic, &job->by_elastic);
    if (is && !was)
        tf_tree_insert(&sub->absorb.elastic, &job->by_elastic);
    sub->absorb.due |= is || was;
    if (is && job->noted_size < job->record.size)
        repair_again(sub, sub->now.mono); /* here is surplus that a short job may take */
    if (is && (!was || job->noted_size != job->record.size))
        job->resized = sub->now.mono;
    job->noted_size = job->record.size;
    if (!is || job->record.size >= e->max)
        job->wants = TF_NEVER;
}

void absorb_forget(struct sub *sub, struct job *job)
{
    if (tf_tree_linked(&job->by_elastic))
        tf_tree_remove(&sub->absorb.elastic, &job->by_elastic);
}

/* ---- cool-downs ---- */

void absorb_shrunk(struct sub *sub, struct job *job)
{
    job->shrunk = sub->now.mono;
    job->wants = TF_NEVER;
}

static int64_t latest_of(struct tf_wall a, int64_t b)
{
    return a.ms > b ? a.ms : b;
}

/* A wall clock that was set back does not lengthen the wait. */
void absorb_load(struct sub *sub, struct job *job)
{
    int64_t ago = sub->now.wall.ms - job->record.last_shrink.ms;
    job->shrunk.ms = sub->now.mono.ms - (ago > 0 ? ago : 0);
    absorb_note(sub, job);
    int64_t since =
        latest_of(job->record.started, latest_of(job->record.last_grow, job->record.last_shrink.ms));
    job->resized.ms -= sub->now.wall.ms > since ? sub->now.wall.ms - since : 0;
}

struct tf_mono absorb_cool_at(const struct sub *sub, const struct job *job)
{
    if (job->record.last_shrink.ms == 0)
        return (struct tf_mono){0};
    return (struct tf_mono){job->shrunk.ms + sub->policy.absorb_cooldown};
}

void absorb_again(struct sub *sub, struct tf_mono at)
{
    if (at.ms > sub->now.mono.ms && at.ms < sub->absorb.next.ms)
        sub->absorb.next = at;
}

/* ---- those that restart to grow ---- */

/* BOUNDS.md §5: who changes once in m and loses r by it loses r / (m + r) of its time; that is e for
 * m = r (1 - e) / e. */
static struct tf_mono dwell_end(const struct sub *sub, const struct job *job)
{
    int64_t e = sub->boot.resize_loss, r = restart_cost(job);
    if (r < 0)
        return TF_NEVER; /* it is looked at again when they are */
    return (struct tf_mono){job->resized.ms + r * (10000 - e) / e};
}

/* Then growing costs nothing more. */
static bool restarts_anyway(const struct job *job)
{
    if (job->record.spec->on_resize != TF_ON_RESIZE_RESTART)
        return false;
    tf_vec_each (m, &job->record.members)
        if (member_counts(m) && (m->state == TF_MEMBER_STOPPING || m->state == TF_MEMBER_BACKOFF))
            return true;
    return false;
}

/* Whatever is lost by that was done since the latest checkpoint; a job that tells of none would lose it all.
 */
static bool may_restart_now(const struct sub *sub, const struct job *job)
{
    return job->record.spec->grow != TF_GROW_ON_RESTART || restarts_anyway(job) ||
           job->record.spec->on_resize != TF_ON_RESIZE_RESTART || checkpoint_is_fresh(sub, job);
}

static bool may_grow_now(struct sub *sub, const struct job *job)
{
    enum tf_grow grow = job->record.spec->grow;
    if (grow != TF_GROW_ON_RESTART || restarts_anyway(job))
        return grow != TF_GROW_NEVER;
    absorb_again(sub, dwell_end(sub, job));
    return dwell_end(sub, job).ms <= sub->now.mono.ms;
}

/* Whether its growth is a matter of what is free alone. A short job is served as one that waits (repair.h).
 */
static bool is_hungry(struct sub *sub, const struct job *job)
{
    const struct tf_allocation *record = &job->record;
    struct tf_mono cool = absorb_cool_at(sub, job);
    if (record->spec->grow == TF_GROW_NEVER || record->size < record->spec->elastic.min)
        return false;
    absorb_again(sub, job->grow_at);
    if (grow_bar(sub, job))
        return false;
    absorb_again(sub, cool);
    return cool.ms <= sub->now.mono.ms && may_grow_now(sub, job);
}

/* ---- what is free ---- */

static void add_hungry(struct sub *sub, struct job *job, struct absorb_plan *plan)
{
    const struct tf_allocation *record = &job->record;
    struct tf_demand demand = {0};
    if (!grow_demand(sub, job, &demand)) {
        tf_demand_release(&demand);
        return;
    }
    tf_vec_push(&plan->jobs,
                (struct absorb_job){.uid = record->uid,
                                    .rank = class_rank(sub, record->spec),
                                    .submitted = record->submitted,
                                    .size = record->size,
                                    .max = tf_size_align(&record->spec->elastic, record->spec->elastic.max),
                                    .demand = demand});
}

static bool was_tried(const struct sub *sub, const struct job *job)
{
    tf_vec_each (uid, &sub->absorb.tried)
        if (tf_uid_eq(*uid, job->record.uid))
            return true;
    return false;
}

void absorb_plan_of(struct sub *sub, const struct hungry *hungry, struct absorb_plan *plan)
{
    tf_vec_each (job, hungry)
        if (!was_tried(sub, *job))
            add_hungry(sub, *job, plan);
}

bool absorb_without_gpus(const struct hungry *hungry)
{
    tf_vec_each (job, hungry)
        if ((*job)->record.spec->group.shape.gpus == 0)
            return true;
    return false;
}

static void list_hungry(struct sub *sub, struct hungry *hungry)
{
    hungry->count = 0;
    for (struct job *job = absorb_first(sub); job; job = absorb_next(job))
        if (is_hungry(sub, job) && may_restart_now(sub, job))
            tf_vec_push(hungry, job);
        else if (job->wants.ms == TF_NEVER.ms && is_hungry(sub, job))
            job->wants = sub->now.mono; /* while it waits for a checkpoint, its dwell goes on */
}

/* Nodes whose offers are over. */
static void list_free(const struct sub *sub, bool without_gpus, struct absorb_room *room)
{
    struct tf_fit_view view = ledger_view(&sub->ledger);
    room->catalog = view.catalog;
    for (size_t i = 0; i < view.count; i++) {
        const struct tf_profile_row *row = &view.rows[i];
        if (row->count == 0 || !offers_are_over(sub->ledger.nodes.items[i]))
            continue;
        struct tf_vector have = tf_profile_row_at(row, TF_LEVEL_FREE);
        if (have.slots > 0 && (have.gpus > 0 || without_gpus))
            absorb_room_add(room, row, have);
    }
}

/* One node's instances stay together, and steps in their order. */
static void begin(struct sub *sub, const struct absorb_job *given)
{
    struct job *job = job_find(sub, given->uid);
    struct tf_fit_placement packing = {.instances = (int32_t)given->nodes.count, .model = -1};
    tf_vec_each (node, &given->nodes) {
        struct tf_place_row *last = packing.rows.count ? &packing.rows.items[packing.rows.count - 1] : NULL;
        if (last && last->row == *node)
            last->each++;
        else
            tf_vec_push(&packing.rows, (struct tf_place_row){*node, 1, 1});
    }
    trace_epoch(sub, job, "absorbs %d step%s of what is free: %d of at most %d instances", given->steps,
                given->steps == 1 ? "" : "s", given->size + (int32_t)given->nodes.count, given->max);
    tf_reached(sub, SUB_ABSORBED);
    grow_begin(sub, job, &packing);
    tf_fit_placement_release(&packing);
}

/* What is free only gets less until then: who had no use for it has none. */
static void go_on(struct sub *sub)
{
    sub->absorb.unfinished = true;
    link_continue(sub);
}

/* Where nothing is free nobody is asked: that is how it is most of the time. */
static void divide_free(struct sub *sub, const struct hungry *hungry)
{
    struct absorb_plan plan = {.mix = mix_of_all(sub)};
    bool done = true;
    list_free(sub, absorb_without_gpus(hungry), &plan.room);
    if (plan.room.rows.count) {
        absorb_plan_of(sub, hungry, &plan);
        done = absorb_plan_make(&plan, sub->boot.decision_budget, sub->scratch);
    }
    tf_vec_each (job, &plan.jobs)
        if (job->steps > 0)
            begin(sub, job);
        else if (job->tried && !done)
            tf_vec_push(&sub->absorb.tried, job->uid);
    if (!done)
        go_on(sub);
    absorb_plan_release(&plan);
    ledger_refresh(&sub->ledger);
}

/* ---- when ---- */

/* What is wanted of the subcluster comes first. */
static bool may_look(const struct sub *sub)
{
    return sub->listed && !sub->unsure && !link_has_orders(sub) && !sub_frozen(sub, TF_FROZEN_GROWTH);
}

void absorb_look(struct sub *sub)
{
    struct absorb *absorb = &sub->absorb;
    absorb->due |= sub->offers.over || absorb->next.ms <= sub->now.mono.ms;
    if ((!absorb->due && !absorb->unfinished) || !may_look(sub))
        return;
    if (absorb->due)
        absorb->tried.count = 0;
    absorb->due = absorb->unfinished = false;
    absorb->next = TF_NEVER;
    ledger_refresh(&sub->ledger);
    struct hungry hungry = {0};
    list_hungry(sub, &hungry);
    if (hungry.count) {
        divide_free(sub, &hungry);
        list_hungry(sub, &hungry);
    }
    if (hungry.count && !absorb->unfinished) {
        absorb->tried.count = 0; /* for what is free: all have been, and any may take surplus */
        surplus_move(sub, &hungry);
    }
    tf_vec_release(&hungry);
}

struct tf_mono absorb_due(const struct sub *sub)
{
    return may_look(sub) ? sub->absorb.next : TF_NEVER;
}

/* ---- images ---- */

void absorb_image(struct tf_image *image, struct absorb *absorb)
{
    tf_image_open(image, absorb);
    tf_image_skip(image, &absorb->elastic, "made of the jobs");
    tf_image_number(image, &absorb->due);
    tf_image_number(image, &absorb->unfinished);
    tf_image_list(image, &absorb->tried, tf_image_uid);
    tf_image_number(image, &absorb->next);
    tf_image_close(image);
}
