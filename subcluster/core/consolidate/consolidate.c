/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes are freed, and how hard it is tried. Where instances go is place.c's, in which
 * order order.c's, and what would be best bound.c's. */
#include "subcluster/core/consolidate/private.h"

#include "common/base/cleanup.h"

#include <assert.h>
#include <string.h>

/* Domains that are planned to the end, of those that could free most. */
enum { DOMAIN_TRIES = 4 };

/* Ways to go about it; none is the best for all pools. */
static const struct way {
    bool direct; /* direct moves before any chain */
    bool many;   /* among sites of one cost: many small instances first, which find places easily; else few
                    large ones, which are fewer moves */
} ways[] = {{true, false}, {true, true}, {false, true}};

/* One of them, from the beginning. */
struct attempt {
    const struct way *way;
    const struct consolidate_ask *ask;
    uint32_t domain;
    struct pool pool;
    TF_VEC(struct consolidate_site) sites;
    int32_t want, freed;
};

/* A site and what its next unit costs, as things are. */
struct candidate {
    uint32_t node;
    int64_t cost;
    int64_t order; /* among those of the same cost */
};

static bool is_worn_out(const struct attempt *attempt)
{
    return attempt->ask->budget > 0 && attempt->pool.work >= attempt->ask->budget;
}

/* ---- sites ---- */

/* Those that must leave the node so that it has one unit more. */
static bool leavers_of(struct attempt *attempt, uint32_t node, struct choice *out)
{
    struct pool *pool = &attempt->pool;
    if (is_whole(attempt->ask) && pool->bins[node].kept.slots > 0)
        return false; /* it has been freed */
    return choose_leavers(pool, node, unit_of(attempt->ask, node), IN_HAND, out);
}

static void keep_unit(struct attempt *attempt, uint32_t node)
{
    pool_keep(&attempt->pool, node, unit_of(attempt->ask, node));
    if (is_whole(attempt->ask))
        pool_close(&attempt->pool, node);
}

/* What is free already stays so. */
static void keep_what_is_free(struct attempt *attempt)
{
    for (uint32_t n = 0; n < attempt->ask->node_count; n++) {
        struct tf_vector unit = unit_of(attempt->ask, n);
        bool any = unit.gpus > 0 && unit.slots > 0;
        while (any && is_site(attempt->ask, n, attempt->domain) &&
               tf_vector_fits(unit, attempt->pool.bins[n].free)) {
            keep_unit(attempt, n);
        }
    }
}

static int candidate_cmp(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return x->node < y->node ? -1 : 1;
}

static size_t list_candidates(struct attempt *attempt, struct candidate *out)
{
    size_t count = 0;
    for (uint32_t n = 0; n < attempt->ask->node_count; n++) {
        struct choice choice;
        attempt->pool.work++;
        if (is_site(attempt->ask, n, attempt->domain) && leavers_of(attempt, n, &choice))
            out[count++] = (struct candidate){
                n, choice.cost, attempt->way->many ? -(int64_t)choice.count : (int64_t)choice.count};
    }
    qsort(out, count, sizeof *out, candidate_cmp);
    return count;
}

static bool within_limits(const struct attempt *attempt)
{
    const struct consolidate_ask *ask = attempt->ask;
    return (ask->max_moves == 0 || attempt->pool.moved <= ask->max_moves) &&
           (ask->max_cost == 0 || attempt->pool.cost <= ask->max_cost);
}

static bool free_site(struct attempt *attempt, uint32_t node, bool eject)
{
    struct pool *pool = &attempt->pool;
    struct choice leavers;
    size_t log = pool->log.count;
    if (!leavers_of(attempt, node, &leavers))
        return false;
    for (size_t i = 0; i < leavers.count; i++)
        pool_lift(pool, leavers.items[i]);
    keep_unit(attempt, node);
    if (place_all(pool, leavers.items, leavers.count, eject) && within_limits(attempt)) {
        tf_vec_push(&attempt->sites, (struct consolidate_site){.node = node, .units = 1});
        attempt->freed++;
        return true;
    }
    struct tf_vector back = tf_vector_sub((struct tf_vector){0}, unit_of(attempt->ask, node));
    pool_undo(pool, log);
    pool_keep(pool, node, back);
    return false;
}

/* ---- passes ---- */

/* The cheapest sites first; those that are meant to be freed take nothing until they were tried. */
static int32_t pass(struct attempt *attempt, bool eject)
{
    TF_AUTO_FREE struct candidate *candidates = tf_calloc(attempt->ask->node_count + 1, sizeof *candidates);
    size_t count = list_candidates(attempt, candidates);
    int32_t before = attempt->freed, missing = attempt->want - attempt->freed;
    for (size_t i = 0; i < count && i < (size_t)missing; i++)
        pool_close(&attempt->pool, candidates[i].node);
    for (size_t i = 0; i < count; i++) {
        uint32_t node = candidates[i].node;
        if (attempt->freed < attempt->want && !is_worn_out(attempt))
            while (attempt->freed < attempt->want && free_site(attempt, node, eject))
                ;
        if (attempt->pool.bins[node].kept.slots == 0 || !is_whole(attempt->ask))
            pool_open(&attempt->pool, node);
    }
    return attempt->freed - before;
}

static void attempt_release(struct attempt *attempt)
{
    pool_release(&attempt->pool);
    tf_vec_release(&attempt->sites);
}

static void attempt_run(struct attempt *attempt)
{
    pool_init(&attempt->pool, attempt->ask);
    keep_what_is_free(attempt);
    if (attempt->way->direct)
        pass(attempt, false);
    while (attempt->freed < attempt->want && !is_worn_out(attempt) && pass(attempt, true) > 0)
        ;
}

static bool is_better(const struct attempt *a, const struct attempt *b)
{
    if (a->freed != b->freed)
        return a->freed > b->freed;
    if (a->pool.cost != b->pool.cost)
        return a->pool.cost < b->pool.cost;
    return a->pool.moved < b->pool.moved;
}

/* ---- the plan ---- */

/* Units of one node under one entry, at the place of the first. */
static void tell_sites(const struct attempt *attempt, struct consolidate_plan *out)
{
    TF_AUTO_FREE size_t *entry = tf_calloc(attempt->ask->node_count + 1, sizeof *entry);
    for (size_t i = 0; i < attempt->sites.count; i++) {
        const struct consolidate_site *site = &attempt->sites.items[i];
        if (entry[site->node]) {
            out->sites.items[entry[site->node] - 1].units++;
        } else {
            tf_vec_push(&out->sites, *site);
            entry[site->node] = out->sites.count;
        }
    }
}

static void plan_in(const struct consolidate_ask *ask, uint32_t domain, int32_t want,
                    struct consolidate_plan *out)
{
    struct attempt best = {0};
    int64_t work = 0;
    bool cut = false;
    for (size_t i = 0; i < TF_ARRAY_LEN(ways); i++) {
        struct attempt attempt = {.way = &ways[i], .ask = ask, .domain = domain, .want = want};
        attempt_run(&attempt);
        work += attempt.pool.work;
        cut |= is_worn_out(&attempt);
        if (!best.way || is_better(&attempt, &best)) {
            struct attempt worse = best;
            best = attempt;
            attempt = worse;
        }
        attempt_release(&attempt);
    }
    tell_sites(&best, out);
    out->domain = domain;
    order_moves(&best.pool, out);
    bound_plan(ask, domain, &out->figures, out->figures.freed);
    out->figures.work = work;
    out->figures.cut = cut;
    attempt_release(&best);
}

static int32_t most_wanted(const struct consolidate_ask *ask, uint32_t domain)
{
    int32_t best = bound_units(ask, domain);
    return ask->want < best ? ask->want : best;
}

/* ---- one domain ---- */

struct domain_hope {
    uint32_t domain;
    int32_t now, most;
};

static int hope_cmp(const void *a, const void *b)
{
    const struct domain_hope *x = a, *y = b;
    int32_t x_most = x->now + x->most, y_most = y->now + y->most;
    if (x_most != y_most)
        return x_most > y_most ? -1 : 1;
    return x->domain < y->domain ? -1 : 1;
}

static size_t list_hopes(const struct consolidate_ask *ask, struct domain_hope *out)
{
    size_t count = 0;
    for (uint32_t d = 0; d < ask->domain_count; d++) {
        struct domain_hope hope = {.domain = d, .most = bound_units(ask, d)};
        for (uint32_t n = 0; n < ask->node_count; n++)
            if (is_site(ask, n, d))
                hope.now += tf_vector_count(unit_of(ask, n), ask->nodes[n].free);
        if (hope.most > 0)
            out[count++] = hope;
    }
    qsort(out, count, sizeof *out, hope_cmp);
    return count;
}

static bool is_better_plan(const struct consolidate_plan *a, const struct consolidate_plan *b)
{
    int32_t a_free = a->figures.before + a->figures.freed, b_free = b->figures.before + b->figures.freed;
    if (a_free != b_free)
        return a_free > b_free;
    return a->figures.cost < b->figures.cost;
}

static void plan_domains(const struct consolidate_ask *ask, struct consolidate_plan *out)
{
    TF_AUTO_FREE struct domain_hope *hopes = tf_calloc(ask->domain_count, sizeof *hopes);
    size_t count = list_hopes(ask, hopes);
    out->domain = CONSOLIDATE_ANY;
    for (size_t i = 0; i < count && i < DOMAIN_TRIES; i++) {
        struct consolidate_plan plan = {0};
        int32_t want = ask->want < hopes[i].most ? ask->want : hopes[i].most;
        plan_in(ask, hopes[i].domain, want, &plan);
        if (out->domain == CONSOLIDATE_ANY || is_better_plan(&plan, out)) {
            struct consolidate_plan worse = *out;
            *out = plan;
            plan = worse;
        }
        consolidate_plan_release(&plan);
    }
}

void consolidate_plan_make(const struct consolidate_ask *ask, struct consolidate_plan *out)
{
    assert(ask->want >= 0 && (is_whole(ask) || ask->unit.slots > 0));
    out->moves.count = out->sites.count = 0;
    out->figures = (struct consolidate_figures){0};
    if (ask->domain_count > 0)
        plan_domains(ask, out);
    else
        plan_in(ask, CONSOLIDATE_ANY, most_wanted(ask, CONSOLIDATE_ANY), out);
}

void consolidate_plan_release(struct consolidate_plan *plan)
{
    tf_vec_release(&plan->moves);
    tf_vec_release(&plan->sites);
}

const char *consolidate_lock_text(enum consolidate_lock lock)
{
    static const char *const texts[CONSOLIDATE_LOCKS] = {
        [CONSOLIDATE_MOVABLE] = "may move",
        [CONSOLIDATE_NEVER] = "migration: never",
        [CONSOLIDATE_RESTART] = "migration: restart",
        [CONSOLIDATE_READY_MIN] = "its job is at its readyMin",
        [CONSOLIDATE_BUSY] = "its job is changing, or it is not ready",
        [CONSOLIDATE_SPREAD] = "its job has rules about nodes",
    };
    return texts[lock];
}
