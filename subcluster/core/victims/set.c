/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of units that may be evicted: what they cost together, what each node has once they are gone, and
 * whether the demand fits then. Which set is chosen is victims.c's. */
#include "subcluster/core/victims/private.h"

#include <assert.h>

/* ---- tables ---- */

/* Levels that occur, the highest first; three figures each, then GPUs and age. */
static void place_levels(struct victims_search *search)
{
    bool occurs[TF_LEVEL_TOP + 1] = {false};
    for (size_t i = 0; i < search->ask->unit_count; i++)
        occurs[search->ask->units[i].level] = true;
    for (int level = TF_LEVEL_TOP; level >= 0; level--) {
        search->place_of[level] = search->dims;
        search->dims += occurs[level] ? 3 : 0;
    }
    search->dims += 2;
}

static void list_jobs(struct victims_search *search)
{
    const struct victims_ask *ask = search->ask;
    for (uint32_t i = 0; i < ask->unit_count; i++) {
        assert(i == 0 || ask->units[i].job - ask->units[i - 1].job <= 1);
        assert(i == 0 || ask->units[i].job != ask->units[i - 1].job || !ask->units[i - 1].core);
        if (i == 0 || ask->units[i].job != ask->units[i - 1].job)
            tf_vec_push(&search->job_first, i);
    }
    tf_vec_push(&search->job_first, (uint32_t)ask->unit_count);
}

/* The parts of nodes, by unit: a counting sort. */
static void list_places(struct victims_search *search)
{
    const struct victims_ask *ask = search->ask;
    for (size_t i = 0; i <= ask->unit_count; i++)
        tf_vec_push(&search->unit_first, 0);
    size_t *first = search->unit_first.items;
    for (size_t n = 0; n < ask->nodes.count; n++)
        for (size_t p = 0; p < ask->detail[n].part_count; p++)
            first[ask->detail[n].parts[p].unit + 1]++;
    for (size_t i = 0; i < ask->unit_count; i++)
        first[i + 1] += first[i];
    search->places.count = 0;
    tf_vec_reserve(&search->places, first[ask->unit_count] + 1);
    search->places.count = first[ask->unit_count];
    for (size_t n = ask->nodes.count; n-- > 0;)
        for (size_t p = 0; p < ask->detail[n].part_count; p++) {
            const struct victim_part *part = &ask->detail[n].parts[p];
            search->places.items[--first[part->unit + 1]] = (struct victim_place){(uint32_t)n, part->frees};
        }
    /* The ends have become beginnings, one place too far to the right. */
    memmove(first, first + 1, ask->unit_count * sizeof *first);
    first[ask->unit_count] = search->places.count;
}

static void sum_gpus(struct victims_search *search)
{
    for (size_t i = 0; i < search->ask->unit_count; i++) {
        int32_t gpus = 0;
        for (size_t p = search->unit_first.items[i]; p < search->unit_first.items[i + 1]; p++)
            gpus += search->places.items[p].frees.gpus;
        tf_vec_push(&search->gpus, gpus);
    }
}

void victims_search_init(struct victims_search *search, const struct victims_ask *ask)
{
    *search = (struct victims_search){.ask = ask, .level = TF_LEVEL_TOP};
    place_levels(search);
    list_jobs(search);
    list_places(search);
    sum_gpus(search);
    search->taken = tf_calloc(ask->unit_count + 1, sizeof *search->taken);
    search->barred = tf_calloc(ask->unit_count + 1, sizeof *search->barred);
    search->touches = tf_calloc(ask->nodes.count + 1, sizeof *search->touches);
    search->have = tf_calloc(ask->nodes.count + 1, sizeof *search->have);
    for (size_t n = 0; n < ask->nodes.count; n++)
        search->have[n] = ask->detail[n].going;
}

void victims_search_release(struct victims_search *search)
{
    tf_vec_release(&search->job_first);
    tf_vec_release(&search->places);
    tf_vec_release(&search->unit_first);
    tf_vec_release(&search->gpus);
    tf_vec_release(&search->touched);
    tf_vec_release(&search->rows);
    tf_vec_release(&search->own);
    free(search->taken);
    free(search->barred);
    free(search->touches);
    free(search->have);
}

uint32_t victims_search_job_begin(const struct victims_search *search, uint32_t unit)
{
    return search->job_first.items[search->ask->units[unit].job - search->ask->units[0].job];
}

uint32_t victims_search_job_end(const struct victims_search *search, uint32_t unit)
{
    return search->job_first.items[search->ask->units[unit].job - search->ask->units[0].job + 1];
}

bool victims_search_core_taken(const struct victims_search *search, uint32_t unit)
{
    uint32_t last = victims_search_job_end(search, unit) - 1;
    return search->ask->units[last].core && search->taken[last];
}

/* A core may not go when something of its job may not. */
bool victims_search_may_take(const struct victims_search *search, uint32_t unit)
{
    const struct victim_unit *units = search->ask->units;
    if (search->barred[unit] || units[unit].level > search->level)
        return false;
    if (units[unit].core)
        for (uint32_t u = victims_search_job_begin(search, unit); u < unit; u++)
            if (search->barred[u] || units[u].level > search->level)
                return false;
    return true;
}

/* ---- taking ---- */

static void touch(struct victims_search *search, uint32_t unit, int32_t times)
{
    for (size_t p = search->unit_first.items[unit]; p < search->unit_first.items[unit + 1]; p++) {
        const struct victim_place *place = &search->places.items[p];
        struct tf_vector *have = &search->have[place->node];
        *have = times > 0 ? tf_vector_add(*have, place->frees) : tf_vector_sub(*have, place->frees);
        if (search->touches[place->node] == 0)
            tf_vec_push(&search->touched, place->node);
        search->touches[place->node] += times;
    }
}

void victims_search_take(struct victims_search *search, uint32_t unit)
{
    assert(!search->taken[unit]);
    search->taken[unit] = true;
    touch(search, unit, 1);
}

void victims_search_put_back(struct victims_search *search, uint32_t unit)
{
    assert(search->taken[unit]);
    search->taken[unit] = false;
    touch(search, unit, -1);
}

void victims_search_set(struct victims_search *search, const bool *set)
{
    for (uint32_t u = 0; u < search->ask->unit_count; u++) {
        if (set[u] && !search->taken[u])
            victims_search_take(search, u);
        else if (!set[u] && search->taken[u])
            victims_search_put_back(search, u);
    }
}

/* ---- whether they suffice ---- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Nodes on which something is taken, each once. */
static void tidy_touched(struct victims_search *search)
{
    size_t kept = 0;
    if (search->touched.count > 1)
        qsort(search->touched.items, search->touched.count, sizeof *search->touched.items, by_number);
    tf_vec_each (node, &search->touched)
        if (search->touches[*node] > 0 && (kept == 0 || search->touched.items[kept - 1] != *node))
            search->touched.items[kept++] = *node;
    search->touched.count = kept;
}

void victims_settle_reserved(struct tf_profile_row *row, const struct tf_demand *demand)
{
    if (!tf_demand_barred(demand, row))
        row->claim_rank = -1;
    row->reserved = (struct tf_reserved_list){0};
}

/* Rows of kinds without the touched nodes, and one for each of those. */
static void make_rows(struct victims_search *search)
{
    const struct victims_ask *ask = search->ask;
    tidy_touched(search);
    size_t own = search->touched.count;
    tf_vec_reserve(&search->rows, ask->kinds.count + own);
    tf_vec_reserve(&search->own, own);
    memcpy(search->rows.items, ask->kinds.rows, ask->kinds.count * sizeof *search->rows.items);
    for (size_t i = 0; i < own; i++) {
        uint32_t node = search->touched.items[i];
        struct tf_profile_row *row = &search->rows.items[ask->kinds.count + i];
        search->rows.items[ask->detail[node].kind].count--;
        search->own.items[i] = (struct tf_level_vector){TF_LEVEL_FREE, tf_vector_floor0(search->have[node])};
        *row = ask->nodes.rows[node];
        row->levels.items = &search->own.items[i];
        row->levels.count = row->levels.cap = 1;
        victims_settle_reserved(row, ask->demand);
    }
    search->rows.count = ask->kinds.count + own;
}

bool victims_search_fits(struct victims_search *search)
{
    make_rows(search);
    struct tf_fit_view view = {search->ask->kinds.catalog, search->rows.items, search->rows.count, NULL};
    struct tf_fit fit;
    search->work += (int64_t)search->rows.count;
    tf_fit_count(&view, search->ask->demand, TF_LEVEL_GOING, search->ask->scratch, &fit);
    return fit.fits;
}

bool victims_suffice(const struct victims_ask *ask, const bool *chosen)
{
    struct victims_search search;
    victims_search_init(&search, ask);
    victims_search_set(&search, chosen);
    bool fits = victims_search_fits(&search);
    victims_search_release(&search);
    return fits;
}

/* ---- costs ---- */

void victims_cost_add_unit(const struct victims_search *search, uint32_t unit, int64_t share, int64_t whole,
                           int64_t *cost)
{
    const struct victim_unit *u = &search->ask->units[unit];
    cost[search->place_of[u->level]] += (u->gpu_seconds + u->before) * share / whole;
    cost[search->dims - 2] += search->gpus.items[unit] * share / whole;
    cost[search->dims - 1] += u->age * share / whole;
}

void victims_cost_add_hit(const struct victims_search *search, uint32_t unit, int64_t *cost)
{
    const struct victim_unit *u = &search->ask->units[unit];
    cost[search->place_of[u->level] + 1] += u->evictions;
    cost[search->place_of[u->level] + 2]++;
}

/* A job is hit once at the level of its surplus and once at that of its core. */
void victims_cost_of_set(const struct victims_search *search, const bool *set, int64_t *cost)
{
    const struct victim_unit *units = search->ask->units;
    memset(cost, 0, search->dims * sizeof *cost);
    bool hit = false;
    for (uint32_t u = 0; u < search->ask->unit_count; u++) {
        if (u == 0 || units[u].job != units[u - 1].job)
            hit = false;
        if (!set[u])
            continue;
        victims_cost_add_unit(search, u, 1, 1, cost);
        if (units[u].core || !hit)
            victims_cost_add_hit(search, u, cost);
        hit = true;
    }
}

int victims_cost_cmp(const struct victims_search *search, const int64_t *a, int64_t of_a, const int64_t *b,
                     int64_t of_b)
{
    for (size_t i = 0; i < search->dims; i++) {
        int64_t x = a[i] * of_b, y = b[i] * of_a;
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

int victims_cmp(const struct victims_ask *ask, const bool *a, const bool *b)
{
    struct victims_search search;
    victims_search_init(&search, ask);
    int64_t *costs = tf_calloc(2 * search.dims, sizeof *costs);
    victims_cost_of_set(&search, a, costs);
    victims_cost_of_set(&search, b, costs + search.dims);
    int order = victims_cost_cmp(&search, costs, 1, costs + search.dims, 1);
    free(costs);
    victims_search_release(&search);
    return order;
}
