/* SPDX-License-Identifier: Apache-2.0 */
/* A round of placement: the waiting jobs in queue order, each to the subcluster that suits it best, at its
 * smallest size; then, when every waiting core has been considered, the placements of this round take more of
 * what is still free, step by step. Which jobs are due is queue.c's, what a subcluster has left is
 * ledger.c's.
 *
 * Work is counted in candidate evaluations (one demand against one subcluster); the budget is looked at
 * between demands. A verdict is kept until there is more room than it was made from; who is chosen by one is
 * looked at again if there is less. */
#include "federation/core/place.h"

#include "common/model/transaction.h"
#include "federation/core/cluster.h"
#include "federation/core/desired.h"
#include "federation/core/jobs.h"
#include "federation/core/ledger.h"
#include "federation/core/outbox.h"
#include "federation/core/queue.h"
#include "federation/core/refusals.h"
#include "federation/core/trace.h"

#include <assert.h>

/* ---- who may be asked ---- */

static bool job_allows(const struct tf_job_spec *spec, const struct cluster *cluster)
{
    if (spec->clusters.count && !tf_strs_has(&spec->clusters, cluster->record.name))
        return false;
    return !spec->regions.count ||
           (cluster->record.region && tf_strs_has(&spec->regions, cluster->record.region));
}

bool fed_place_allows(const struct job *job, const struct cluster *cluster)
{
    return job->rank >= 0 && job_allows(&job->record.spec, cluster);
}

bool fed_place_claims_in(const struct job *job, const struct cluster *cluster)
{
    return job->record.claims_in && strcmp(job->record.claims_in, cluster->record.name) == 0;
}

enum tf_reason fed_place_bar(const struct fed *fed, const struct job *job, const struct cluster *cluster)
{
    if (!fed_place_allows(job, cluster))
        return TF_REASON_POLICY;
    if (cluster->lost || cluster->record.forgotten)
        return TF_REASON_CLUSTER_LOST;
    if (cluster->record.cordoned)
        return TF_REASON_CLUSTER_CORDONED;
    if (!fed_cluster_is_current(fed, cluster))
        return TF_REASON_NOT_CONSIDERED_YET;
    return fed_refusals_hold(fed, job, cluster) ? TF_REASON_REFUSED : TF_REASON_NONE;
}

/* Nothing is placed at present. */
static bool is_stopped(const struct fed *fed)
{
    return fed->stage != FED_STAGE_OPEN || fed->closed || fed->waits_for_all;
}

/* ---- one demand ---- */

static void judge(struct fed *fed, struct shape *shape, struct cluster *cluster, int64_t *work)
{
    const struct job *job = fed_queue_first(shape);
    fed_ledger_fit(fed, cluster, &job->record.spec, job->rank, fed_place_claims_in(job, cluster),
                   &shape->verdicts.items[cluster->slot]);
    ++*work;
}

/* The shape's verdict about the subcluster, made anew if there is more room than when it was made. As long as
 * there is only less, and later, nothing of it can have become better: it bounds what a new one would say. */
static const struct verdict *bound_of(struct fed *fed, struct shape *shape, struct cluster *cluster,
                                      int64_t *work)
{
    while (shape->verdicts.count <= cluster->slot)
        (void)tf_vec_add(&shape->verdicts);
    if (shape->verdicts.items[cluster->slot].capacity != cluster->capacity)
        judge(fed, shape, cluster, work);
    return &shape->verdicts.items[cluster->slot];
}

static size_t place_in_list(const struct tf_strs *list, const char *name)
{
    size_t i = 0;
    while (i < list->count && strcmp(list->items[i], name) != 0)
        i++;
    return i;
}

static int32_t room_to_grow(const struct tf_job_spec *spec, const struct verdict *v)
{
    return spec->grow == TF_GROW_NEVER ? 0 : tf_size_align(&spec->elastic, v->count);
}

int64_t fed_place_cost(const struct tf_job_spec *spec, struct tf_wall now, const struct cluster *cluster,
                       const struct verdict *v)
{
    int64_t taken = (int64_t)(spec->elastic.min - v->below) * spec->group.shape.gpus;
    if (v->level <= TF_LEVEL_GOING || taken <= 0)
        return 0;
    return tf_profile_price(cluster->profile, v->level, taken, now);
}

/* What is alike to a quarter counts as equal: of costs, no two are ever the same, and topology and the job's
 * own order should still count; of room, what was known before the last few placements is then good enough to
 * choose by. */
static int64_t coarse(int64_t cost)
{
    int64_t unit = 1;
    while (cost / unit >= 8)
        unit *= 2;
    return cost / unit * unit;
}

/* DESIGN.md §6: the lowest level touched, what is free being the lowest of all; then lower cost, better
 * topology, the job's own order (models, then clusters), the cost to the last second (so that equal
 * subclusters take turns), room to grow, balance: most room left, among equals the one that was given
 * something longest ago. Equal in all: the one asked first stays. */
bool fed_place_is_better(const struct tf_job_spec *spec, struct tf_wall now, const struct cluster *a,
                         const struct verdict *va, const struct cluster *b, const struct verdict *vb)
{
    if (va->level != vb->level)
        return va->level < vb->level;
    int64_t ca = fed_place_cost(spec, now, a, va), cb = fed_place_cost(spec, now, b, vb);
    if (coarse(ca) != coarse(cb))
        return ca < cb;
    if (va->domains != vb->domains)
        return va->domains < vb->domains;
    if (va->model != vb->model)
        return va->model < vb->model;
    size_t pa = place_in_list(&spec->clusters, a->record.name),
           pb = place_in_list(&spec->clusters, b->record.name);
    if (pa != pb)
        return pa < pb;
    if (ca != cb)
        return ca < cb;
    if (room_to_grow(spec, va) != room_to_grow(spec, vb))
        return room_to_grow(spec, va) > room_to_grow(spec, vb);
    if (coarse(va->count) != coarse(vb->count))
        return va->count > vb->count;
    return a->record.highest_epoch < b->record.highest_epoch;
}

static struct cluster *best_bound(struct fed *fed, struct shape *shape, int64_t *work)
{
    const struct job *job = fed_queue_first(shape);
    struct cluster *best = NULL;
    tf_vec_each (c, &fed->clusters) {
        if ((*c)->grown <= shape->failed || fed_place_bar(fed, job, *c) != TF_REASON_NONE)
            continue;
        const struct verdict *v = bound_of(fed, shape, *c, work);
        if (v->fits && (!best || fed_place_is_better(&job->record.spec, fed->now.wall, *c, v, best,
                                                     &shape->verdicts.items[best->slot])))
            best = *c;
    }
    return best;
}

static bool holds_still(const struct fed *fed, const struct shape *shape, const struct cluster *cluster)
{
    const struct verdict *v = &shape->verdicts.items[cluster->slot];
    return v->change == cluster->change && fed->now.wall.ms <= v->good_until.ms;
}

/* The best subcluster for the first job of the shape; NULL if it fits in none. Of many, only those are
 * counted anew that could be the best by what was known of them. */
static struct cluster *choose(struct fed *fed, struct shape *shape, int64_t *work)
{
    struct cluster *best, *judged = NULL;
    while ((best = best_bound(fed, shape, work)) && best != judged && !holds_still(fed, shape, best)) {
        judge(fed, shape, best, work);
        judged = best; /* of one that waits for its own claim, the moment may have passed at once */
    }
    return best;
}

static void commit(struct fed *fed, struct job *job, struct cluster *cluster)
{
    const struct tf_job_spec *spec = &job->record.spec;
    struct raise raise = {
        .job = job, .cluster = cluster, .line = fed_trace_candidates(fed, job->shape, cluster)};
    tf_level level = raise.level = job->shape->verdicts.items[cluster->slot].level;
    struct tf_placement *placement = fed_job_place(fed, job, cluster, spec->elastic.min);
    placement->level = level;
    tf_reached_if(level > TF_LEVEL_FREE, fed, FED_RECLAIMS);
    const char *model = fed_ledger_add(fed, cluster, spec, job->rank, fed_place_claims_in(job, cluster),
                                       placement->epoch, placement->size, level);
    placement->model = tf_strdup(model);
    raise.epoch = placement->epoch;
    tf_vec_push(&fed->round, raise);
}

static void consider(struct fed *fed, struct shape *shape, int64_t *work)
{
    struct job *job = fed_queue_first(shape);
    struct cluster *cluster = choose(fed, shape, work);
    if (cluster) {
        commit(fed, job, cluster);
        return;
    }
    if (!job->told_to_wait)
        fed_trace_waits(fed, job);
    job->told_to_wait = true;
    shape->failed = fed->world;
    fed_queue_considered(fed, shape);
}

/* ---- the rest of the room ---- */

/* What takes from others takes its core alone. */
static bool may_grow(const struct raise *raise)
{
    const struct tf_job_spec *spec = &raise->job->record.spec;
    return raise->level == TF_LEVEL_FREE && spec->elastic.max > spec->elastic.min &&
           spec->grow != TF_GROW_NEVER;
}

static size_t growers_in(const struct fed *fed, const struct cluster *cluster)
{
    size_t count = 0;
    tf_vec_each (raise, &fed->round)
        count += raise->cluster == cluster && may_grow(raise);
    return count;
}

/* One step to each in turn, until none can take another or the budget is used up. */
static void raise_by_steps(struct fed *fed, struct cluster *cluster, int64_t *work)
{
    bool more = true;
    while (more) {
        more = false;
        tf_vec_each (raise, &fed->round) {
            if (raise->cluster != cluster || !may_grow(raise) || *work >= fed->settings.decision_budget)
                continue;
            more |= fed_ledger_raise_step(fed, cluster, raise->epoch);
            ++*work;
        }
    }
}

static void raise_round(struct fed *fed, int64_t *work)
{
    tf_vec_each (c, &fed->clusters) {
        size_t growers = growers_in(fed, *c);
        if (growers > 1)
            raise_by_steps(fed, *c, work);
        tf_vec_each (raise, &fed->round)
            if (growers == 1 && raise->cluster == *c && may_grow(raise))
                fed_ledger_raise_most(fed, *c, raise->epoch);
    }
}

/* The sizes of this round are final: they are recorded, told and traced. What fits into one transaction is
 * told together, so that the first need not wait for the last. */
static void close_round(struct fed *fed)
{
    tf_vec_each (raise, &fed->round) {
        struct job *job = raise->job;
        struct tf_placement *p = fed_job_placement(job, raise->epoch);
        p->size = fed_ledger_size(raise->cluster, raise->epoch);
        tf_reached_if(p->size > job->record.spec.elastic.min, fed, FED_RAISED);
        tf_job_record_event(&job->record, fed->now.wall, p->epoch, "Placed", "in %s, %d instance%s%s%s",
                            p->cluster, p->size, p->size == 1 ? "" : "s", p->model ? " on " : "",
                            p->model ? p->model : "");
        fed_trace_placed(fed, job, p, raise->line);
        free(raise->line);
        fed_desired_place(raise->cluster, job, p);
        fed_touch_job(fed, job);
        if ((size_t)(raise - fed->round.items) % TF_TRANSACTION_RECORDS == TF_TRANSACTION_RECORDS - 1)
            fed_desired_flush(fed);
    }
    fed->round.count = 0;
}

void fed_place_round(struct fed *fed)
{
    fed->unfinished = false;
    if (is_stopped(fed))
        return;
    if (fed->more_room)
        fed_queue_reconsider(fed);
    fed->more_room = false;
    int64_t work = 0;
    struct shape *shape;
    while ((shape = fed_queue_next(fed)) && work < fed->settings.decision_budget)
        consider(fed, shape, &work);
    fed->unfinished = shape != NULL;
    tf_reached_if(fed->unfinished, fed, FED_BUDGET);
    if (!fed->unfinished)
        raise_round(fed, &work);
    close_round(fed);
}

/* ---- what nobody waiting has use for ---- */

/* Not while something that takes from others is on its way: what else waits could not be considered (§6). */
static bool is_considered(const struct fed *fed, const struct cluster *cluster)
{
    return fed_cluster_is_current(fed, cluster) && !cluster->wants_profile &&
           !fed_ledger_is_reclaiming(cluster);
}

void fed_place_tell(struct fed *fed)
{
    if (!fed->told_late || fed->unfinished || is_stopped(fed))
        return;
    fed->told_late = false;
    tf_vec_each (c, &fed->clusters) {
        struct cluster *cluster = *c;
        if (!cluster->link || !cluster->profile || !cluster->profile->health.free_gpus ||
            tf_generation_cmp(cluster->profile->generation, cluster->considered) == 0)
            continue;
        if (!is_considered(fed, cluster)) {
            fed->told_late = true;
            continue;
        }
        cluster->considered = cluster->profile->generation;
        fed_desired_send(fed, cluster, TF_DOWN_CONSIDERED);
    }
}
