/* SPDX-License-Identifier: Apache-2.0 */
/* Takes units greedily, node by node, until the nodes of a cell hold the demand; by whole steps where these
 * have a domain of their own. May take more than is needed: trim.c puts that back. */
#include "subcluster/core/victims/private.h"

/* ---- filling ---- */

static int32_t instances_on(const struct victims_choice *choice, uint32_t node)
{
    return tf_vector_count(choice->search.ask->demand->need, tf_vector_floor0(choice->search.have[node]));
}

static int64_t instances_in(const struct victims_choice *choice)
{
    int64_t sum = 0;
    tf_vec_each (node, &choice->nodes)
        sum += instances_on(choice, *node);
    return sum;
}

void victims_choice_take(struct victims_choice *choice, uint32_t unit)
{
    victims_search_take(&choice->search, unit);
    tf_vec_push(&choice->log, unit);
}

/* The units of the way, and what goes with a core wherever it is. */
static void take_way(struct victims_choice *choice, const struct victim_way *way)
{
    const struct victim_unit *units = choice->search.ask->units;
    for (size_t i = 0; i < way->count; i++) {
        uint32_t unit = way->units[i];
        uint32_t from = units[unit].core ? victims_search_job_begin(&choice->search, unit) : unit;
        for (uint32_t u = from; u <= unit; u++)
            if (!choice->search.taken[u])
                victims_choice_take(choice, u);
    }
}

void victims_choice_undo(struct victims_choice *choice, size_t log)
{
    while (choice->log.count > log)
        victims_search_put_back(&choice->search, choice->log.items[--choice->log.count]);
}

/* Takes units until the nodes hold so many; false (and what was taken stays) if they cannot. */
static bool fill(struct victims_choice *choice, int64_t count, bool by_share)
{
    int64_t wanted = count - instances_in(choice);
    if (wanted <= 0)
        return true;
    victims_heap_make(choice, (int32_t)wanted, by_share);
    while (choice->heap.count > 0) {
        uint32_t slot = choice->heap.items[0];
        const struct victim_way *way = &choice->slots.items[slot].way;
        if (way->gain > wanted) {
            victims_heap_refresh(choice, slot, (int32_t)wanted, by_share);
            continue;
        }
        size_t log = choice->log.count;
        take_way(choice, way);
        wanted = count - instances_in(choice);
        if (wanted <= 0)
            return true;
        victims_heap_refresh_near(choice, log, (int32_t)wanted, by_share);
    }
    return false;
}

/* ---- steps that have a domain of their own ---- */

/* Fills the step's cell up to one step more, and says at which price: in choice->cost. */
static bool fill_one_step(struct victims_choice *choice, uint32_t cell, bool by_share)
{
    int32_t step = choice->search.ask->demand->step;
    victims_list_nodes(choice, cell, true);
    int64_t now = instances_in(choice);
    if (!fill(choice, now - now % step + step, by_share))
        return false;
    victims_cost_of_set(&choice->search, choice->search.taken, choice->cost);
    return true;
}

static int64_t steps_in(struct victims_choice *choice, uint32_t cell)
{
    victims_list_nodes(choice, cell, true);
    int64_t now = instances_in(choice);
    return now - now % choice->search.ask->demand->step;
}

/* The step's cell of that job's cell in which one step more comes cheapest. */
static uint32_t cheapest_step(struct victims_choice *choice, uint32_t job, bool by_share)
{
    uint32_t best = CELL_NONE;
    int64_t *least = tf_calloc(choice->search.dims, sizeof *least);
    for (uint32_t cell = 0; cell < choice->step_cells.count; cell++) {
        if (choice->step_cells.items[cell].above != job)
            continue;
        size_t log = choice->log.count;
        if (fill_one_step(choice, cell, by_share) &&
            (best == CELL_NONE || victims_cost_cmp(&choice->search, choice->cost, 1, least, 1) < 0)) {
            best = cell;
            memcpy(least, choice->cost, choice->search.dims * sizeof *least);
        }
        victims_choice_undo(choice, log);
    }
    free(least);
    return best;
}

static bool fill_by_steps(struct victims_choice *choice, uint32_t job, bool by_share)
{
    for (;;) {
        int64_t sum = 0;
        for (uint32_t cell = 0; cell < choice->step_cells.count; cell++)
            if (choice->step_cells.items[cell].above == job)
                sum += steps_in(choice, cell);
        if (sum >= choice->search.ask->demand->core)
            return true;
        uint32_t cell = cheapest_step(choice, job, by_share);
        if (cell == CELL_NONE || !fill_one_step(choice, cell, by_share))
            return false;
    }
}

/* ---- one cell ---- */

static bool has_step_rule(const struct tf_demand *demand)
{
    tf_vec_each (rule, &demand->rules)
        if (rule->of_step && !rule->prefer)
            return true;
    return false;
}

/* All that may go on the nodes of the cell. */
static void take_all(struct victims_choice *choice)
{
    const struct victims_ask *ask = choice->search.ask;
    tf_vec_each (node, &choice->nodes)
        for (size_t p = 0; p < ask->detail[*node].part_count; p++) {
            uint32_t unit = ask->detail[*node].parts[p].unit;
            if (choice->search.taken[unit] || !victims_search_may_take(&choice->search, unit))
                continue;
            struct victim_way way = {.units = {unit}, .count = 1};
            take_way(choice, &way);
        }
}

/* Greedily; where that does not keep a rule (maxNodes), everything: the trimming that follows leaves what is
 * needed. */
bool victims_fill_cell(struct victims_choice *choice, uint32_t cell, bool by_share)
{
    const struct tf_demand *demand = choice->search.ask->demand;
    victims_choice_undo(choice, 0);
    victims_list_nodes(choice, cell, false);
    bool filled =
        has_step_rule(demand) ? fill_by_steps(choice, cell, by_share) : fill(choice, demand->core, by_share);
    if (filled && victims_search_fits(&choice->search))
        return true;
    victims_list_nodes(choice, cell, false);
    take_all(choice);
    return victims_search_fits(&choice->search);
}
