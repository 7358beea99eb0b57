/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for the cheapest victims: in each cell (nodes of one model, one domain) greedily node by node,
 * then less what turned out not to be needed; the cheapest of all cells counts. How a cell is filled is
 * fill.c's, the cheapest ways of one node are node.c's, sets and their costs set.c's.
 */
#include "subcluster/core/victims/victims.h"

#include "subcluster/core/victims/private.h"

/* A set is also searched without each of its victims in turn, while nodes x victims stay below this: beyond,
 * there is so much to choose from that the first answer is hardly ever beaten. */
enum { RETRY_WORK = 2000 };

/* With more nodes, what is spread over several counts whole on each, and is not also tried by its shares. */
enum { SHARE_NODES = 4000 };

void victims_choice_keep_if_cheaper(struct victims_choice *choice)
{
    struct victims_search *search = &choice->search;
    victims_cost_of_set(search, search->taken, choice->cost);
    if (choice->found && victims_cost_cmp(search, choice->cost, 1, choice->best_cost, 1) >= 0)
        return;
    choice->found = true;
    memcpy(choice->best_cost, choice->cost, search->dims * sizeof *choice->cost);
    memcpy(choice->best, search->taken, search->ask->unit_count * sizeof *choice->best);
}

/* The log is what is taken, in any order. */
static void relog(struct victims_choice *choice)
{
    choice->log.count = 0;
    for (uint32_t u = 0; u < choice->search.ask->unit_count; u++)
        if (choice->search.taken[u])
            tf_vec_push(&choice->log, u);
}

/* It could hold the demand if all that may go went. */
static bool is_roomy(struct victims_choice *choice, uint32_t cell)
{
    const struct victims_ask *ask = choice->search.ask;
    int64_t sum = 0;
    victims_list_nodes(choice, cell, false);
    tf_vec_each (node, &choice->nodes)
        sum += tf_vector_count(ask->demand->need,
                               tf_demand_have(ask->demand, &ask->nodes.rows[*node], choice->search.level));
    return sum >= ask->demand->core;
}

static void search_cell(struct victims_choice *choice, uint32_t cell)
{
    if (!is_roomy(choice, cell))
        return;
    int ways = choice->search.ask->nodes.count > SHARE_NODES ? 1 : 2;
    for (int by_share = 0; by_share < ways; by_share++) {
        if (!victims_fill_cell(choice, cell, by_share))
            continue;
        victims_trim(choice);
        relog(choice);
        victims_choice_keep_if_cheaper(choice);
    }
}

/* The first model of the list in which it works, and of its cells the cheapest (R3). */
static void search_cells(struct victims_choice *choice)
{
    size_t models = choice->search.ask->demand->models.count;
    for (int place = 0; place == 0 || (size_t)place < models; place++) {
        if (choice->found && place != choice->place)
            continue;
        choice->place = place;
        for (uint32_t cell = 0; cell < choice->cells.count; cell++)
            if (choice->cells.items[cell].place == place)
                search_cell(choice, cell);
        if (choice->found)
            return;
    }
}

/* Without each victim of the cheapest set in turn; what made it cheaper to leave out stays out. */
static void retry_without_each(struct victims_choice *choice)
{
    const struct victims_ask *ask = choice->search.ask;
    TF_VEC(uint32_t) tries = {0};
    for (uint32_t u = 0; u < ask->unit_count; u++)
        if (choice->best[u])
            tf_vec_push(&tries, u);
    tf_vec_each (unit, &tries) {
        if (tries.count * ask->nodes.count > RETRY_WORK || !choice->best[*unit])
            continue;
        choice->search.barred[*unit] = true;
        search_cells(choice);
        choice->search.barred[*unit] = !choice->best[*unit];
    }
    tf_vec_release(&tries);
}

static void choice_init(struct victims_choice *choice, const struct victims_ask *ask, tf_level level)
{
    *choice = (struct victims_choice){.ways = victims_ways_create()};
    victims_search_init(&choice->search, ask);
    choice->search.level = level;
    choice->slot_of = tf_calloc(ask->nodes.count + 1, sizeof *choice->slot_of);
    choice->best = tf_calloc(ask->unit_count + 1, sizeof *choice->best);
    choice->best_cost = tf_calloc(choice->search.dims, sizeof *choice->best_cost);
    choice->cost = tf_calloc(choice->search.dims, sizeof *choice->cost);
    victims_list_cells(choice);
}

static void choice_release(struct victims_choice *choice)
{
    victims_search_release(&choice->search);
    victims_ways_destroy(choice->ways);
    tf_vec_release(&choice->cells);
    tf_vec_release(&choice->step_cells);
    tf_vec_release(&choice->cell_of);
    tf_vec_release(&choice->step_cell_of);
    tf_vec_release(&choice->nodes);
    tf_vec_release(&choice->slots);
    tf_vec_release(&choice->costs);
    tf_vec_release(&choice->heap);
    tf_vec_release(&choice->log);
    free(choice->slot_of);
    free(choice->best);
    free(choice->best_cost);
    free(choice->cost);
}

void victims_release(struct victims *victims)
{
    tf_vec_release(&victims->units);
    *victims = (struct victims){0};
}

static void export_best(const struct victims_choice *choice, struct victims *out)
{
    const struct victims_ask *ask = choice->search.ask;
    for (uint32_t u = 0; u < ask->unit_count; u++) {
        if (!choice->best[u])
            continue;
        tf_vec_push(&out->units, u);
        out->gpu_seconds += ask->units[u].gpu_seconds;
        if (ask->units[u].level > out->level)
            out->level = ask->units[u].level;
    }
    out->work = choice->search.work;
}

bool victims_choose(const struct victims_ask *ask, struct victims *out)
{
    victims_release(out);
    struct tf_fit fit;
    if (!tf_fit_lowest(&ask->kinds, ask->demand, ask->scratch, &fit))
        return false;
    out->level = fit.level;
    if (fit.level <= TF_LEVEL_GOING)
        return true;
    struct victims_choice choice;
    choice_init(&choice, ask, fit.level);
    search_cells(&choice);
    if (choice.found) {
        retry_without_each(&choice);
        victims_choice_search_exactly(&choice);
    }
    out->level = TF_LEVEL_FREE;
    export_best(&choice, out);
    bool found = choice.found;
    choice_release(&choice);
    return found;
}
