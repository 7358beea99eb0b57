/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a plan can be carried out. Shares nothing with what makes plans: tests go by it. */
#include "subcluster/core/consolidate/consolidate.h"

#include "common/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

/* The world as the plan changes it. */
struct replay {
    const struct consolidate_ask *ask;
    const struct consolidate_plan *plan;
    struct tf_vector *free;
    struct tf_vector *spent; /* of each node: spare places that were left, where they serve but once */
    uint32_t *at;            /* of each instance */
};

static bool may_go(const struct consolidate_ask *ask, uint32_t set, uint32_t node)
{
    size_t words = (ask->class_count + 63) / 64, class = ask->nodes[node].class;
    return set == CONSOLIDATE_ANY || (ask->sets[set * words + class / 64] >> class % 64 & 1) != 0;
}

static const char *start_fault(struct replay *replay, const struct consolidate_move *move)
{
    const struct consolidate_ask *ask = replay->ask;
    if (move->instance >= ask->instance_count || move->to >= ask->node_count)
        return "a move of what is not there";
    const struct consolidate_instance *instance = &ask->instances[move->instance];
    if (instance->lock != CONSOLIDATE_MOVABLE || (move->pivot && instance->whole_job))
        return "a move of what may not move";
    if (replay->at[move->instance] != move->from || move->from == move->to)
        return "a move from where it is not";
    if (!ask->nodes[move->to].takes || !may_go(ask, instance->set, move->to))
        return "a move to where it may not go";
    if (!tf_vector_fits(instance->need, replay->free[move->to]))
        return "a target is not free when its move starts";
    replay->free[move->to] = tf_vector_sub(replay->free[move->to], instance->need);
    return NULL;
}

static int wave_cmp(const void *a, const void *b)
{
    const struct consolidate_move *x = *(const struct consolidate_move *const *)a;
    const struct consolidate_move *y = *(const struct consolidate_move *const *)b;
    if (x->wave != y->wave)
        return x->wave < y->wave ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* All targets of a wave are taken before any of its sources is given back. */
static const char *replay_moves(struct replay *replay)
{
    size_t count = replay->plan->moves.count;
    TF_AUTO_FREE const struct consolidate_move **sorted = tf_calloc(count + 1, sizeof *sorted);
    for (size_t m = 0; m < count; m++)
        sorted[m] = &replay->plan->moves.items[m];
    qsort(sorted, count, sizeof *sorted, wave_cmp);
    for (size_t m = 0, end; m < count; m = end) {
        for (end = m; end < count && sorted[end]->wave == sorted[m]->wave; end++) {
            const char *fault = start_fault(replay, sorted[end]);
            if (fault)
                return fault;
        }
        for (size_t done = m; done < end; done++) {
            const struct consolidate_instance *instance = &replay->ask->instances[sorted[done]->instance];
            uint32_t from = sorted[done]->from;
            bool spare = from != instance->node && replay->ask->spares_once;
            struct tf_vector *room = spare ? &replay->spent[from] : &replay->free[from];
            *room = tf_vector_add(*room, instance->need);
            replay->at[sorted[done]->instance] = sorted[done]->to;
        }
    }
    return NULL;
}

static const char *site_fault(const struct replay *replay, const struct consolidate_site *site)
{
    const struct consolidate_ask *ask = replay->ask;
    if (site->node >= ask->node_count || !ask->nodes[site->node].site ||
        !may_go(ask, ask->unit_set, site->node))
        return "a site that is none";
    struct tf_vector unit = ask->unit.gpus ? ask->unit : ask->nodes[site->node].capacity;
    int32_t had = tf_vector_count(unit, ask->nodes[site->node].free);
    if (replay->spent[site->node].slots)
        return "a site that is a spare place, too";
    if (tf_vector_count(unit, replay->free[site->node]) != had + site->units)
        return "a site that is not free in the end";
    return NULL;
}

/* What is free on sites at the end, added up: none was filled to free another. (Ejecting can free a part of a
 * node that was not asked for.) */
static const char *sum_fault(const struct replay *replay)
{
    const struct consolidate_ask *ask = replay->ask;
    int64_t now = 0;
    for (uint32_t n = 0; n < ask->node_count; n++) {
        struct tf_vector unit = ask->unit.gpus ? ask->unit : ask->nodes[n].capacity;
        bool in_domain =
            replay->plan->domain == CONSOLIDATE_ANY || ask->nodes[n].domain == replay->plan->domain;
        if (ask->nodes[n].site && in_domain && may_go(ask, ask->unit_set, n))
            now += tf_vector_count(unit, replay->free[n]);
    }
    const struct consolidate_figures *f = &replay->plan->figures;
    return now >= (int64_t)f->before + f->freed ? NULL : "less is free in the end than the plan says";
}

const char *consolidate_plan_fault(const struct consolidate_ask *ask, const struct consolidate_plan *plan)
{
    TF_AUTO_FREE struct tf_vector *free_now = tf_calloc(ask->node_count + 1, sizeof *free_now);
    TF_AUTO_FREE struct tf_vector *spent = tf_calloc(ask->node_count + 1, sizeof *spent);
    TF_AUTO_FREE uint32_t *at = tf_calloc(ask->instance_count + 1, sizeof *at);
    struct replay replay = {ask, plan, free_now, spent, at};
    for (size_t n = 0; n < ask->node_count; n++)
        free_now[n] = ask->nodes[n].free;
    for (size_t i = 0; i < ask->instance_count; i++)
        at[i] = ask->instances[i].node;
    const char *fault = replay_moves(&replay);
    for (size_t n = 0; n < ask->node_count; n++)
        free_now[n] = tf_vector_add(free_now[n], spent[n]);
    for (size_t s = 0; !fault && s < plan->sites.count; s++)
        fault = site_fault(&replay, &plan->sites.items[s]);
    return fault ? fault : sum_fault(&replay);
}
