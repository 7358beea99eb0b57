/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for the cheapest victims: which nodes belong together (one model, one domain), then greedily node
 * by node, then less what turned out not to be needed. The cheapest ways of one node are victims_node.c's,
 * sets and their costs victims_set.c's. */
#include "subcluster/core/victims.h"

#include "subcluster/core/victims_private.h"

#include <assert.h>

/* A set is also searched without each of its victims in turn, while nodes x victims stay below this: beyond,
 * there is so much to choose from that the first answer is hardly ever beaten. */
enum { RETRY_WORK = 2000 };

/* With more nodes, what is spread over several counts whole on each, and is not also tried by its shares. */
enum { SHARE_NODES = 4000 };

/* ---- cells ---- */

static bool same_cell(const struct choice *choice, uint32_t class, uint32_t other, bool of_step)
{
    const struct tf_catalog *catalog = choice->search.ask->nodes.catalog;
    tf_vec_each (rule, &choice->search.ask->demand->rules)
        if (!rule->prefer && rule->of_step == of_step &&
            tf_catalog_domain(catalog, class, rule->slot) != tf_catalog_domain(catalog, other, rule->slot))
            return false;
    return true;
}

static uint32_t job_cell(struct choice *choice, uint32_t class)
{
    const struct victims_ask *ask = choice->search.ask;
    int place = tf_demand_admits(ask->demand, ask->nodes.catalog, class);
    if (place < 0)
        return CELL_NONE;
    for (uint32_t i = 0; i < choice->cells.count; i++)
        if (choice->cells.items[i].place == place &&
            same_cell(choice, class, choice->cells.items[i].class, false))
            return i;
    tf_vec_push(&choice->cells, (struct cell){.class = class, .place = place});
    return (uint32_t)choice->cells.count - 1;
}

static uint32_t step_cell(struct choice *choice, uint32_t class, uint32_t above)
{
    if (above == CELL_NONE)
        return CELL_NONE;
    for (uint32_t i = 0; i < choice->step_cells.count; i++)
        if (choice->step_cells.items[i].above == above &&
            same_cell(choice, class, choice->step_cells.items[i].class, true))
            return i;
    tf_vec_push(&choice->step_cells, (struct cell){.class = class, .above = above});
    return (uint32_t)choice->step_cells.count - 1;
}

static void list_cells(struct choice *choice)
{
    size_t classes = choice->search.ask->nodes.catalog->classes.count;
    for (uint32_t class = 0; class < classes; class ++) {
        tf_vec_push(&choice->cell_of, job_cell(choice, class));
        tf_vec_push(&choice->step_cell_of, step_cell(choice, class, choice->cell_of.items[class]));
    }
}

/* The nodes of a job's cell, or of a step's. */
static void list_nodes(struct choice *choice, uint32_t cell, bool of_step)
{
    const struct victims_ask *ask = choice->search.ask;
    const uint32_t *cell_of = of_step ? choice->step_cell_of.items : choice->cell_of.items;
    choice->nodes.count = 0;
    for (uint32_t n = 0; n < ask->nodes.count; n++) {
        const struct tf_profile_row *row = &ask->nodes.rows[n];
        if (row->count > 0 && cell_of[row->class] == cell && !tf_demand_barred(ask->demand, row))
            tf_vec_push(&choice->nodes, n);
    }
}

/* ---- the heap of ways, the cheapest an instance on top ---- */

static const int64_t *slot_cost(const struct choice *choice, uint32_t slot)
{
    return &choice->costs.items[slot * choice->search.dims];
}

static bool is_cheaper(const struct choice *choice, uint32_t a, uint32_t b)
{
    int32_t gain_a = choice->slots.items[a].way.gain, gain_b = choice->slots.items[b].way.gain;
    int order = cost_cmp(&choice->search, slot_cost(choice, a), gain_a, slot_cost(choice, b), gain_b);
    if (order == 0 && gain_a != gain_b)
        return gain_a > gain_b;
    return order < 0 || (order == 0 && a < b);
}

static void heap_put(struct choice *choice, size_t at, uint32_t slot)
{
    choice->heap.items[at] = slot;
    choice->slots.items[slot].at = at;
}

static void sift_up(struct choice *choice, size_t at)
{
    uint32_t slot = choice->heap.items[at];
    for (; at > 0 && is_cheaper(choice, slot, choice->heap.items[(at - 1) / 2]); at = (at - 1) / 2)
        heap_put(choice, at, choice->heap.items[(at - 1) / 2]);
    heap_put(choice, at, slot);
}

static void sift_down(struct choice *choice, size_t at)
{
    uint32_t slot = choice->heap.items[at];
    for (size_t child = 2 * at + 1; child < choice->heap.count; child = 2 * at + 1) {
        if (child + 1 < choice->heap.count &&
            is_cheaper(choice, choice->heap.items[child + 1], choice->heap.items[child]))
            child++;
        if (!is_cheaper(choice, choice->heap.items[child], slot))
            break;
        heap_put(choice, at, choice->heap.items[child]);
        at = child;
    }
    heap_put(choice, at, slot);
}

static void heap_remove(struct choice *choice, uint32_t slot)
{
    size_t at = choice->slots.items[slot].at;
    if (at == SIZE_MAX)
        return;
    choice->slots.items[slot].at = SIZE_MAX;
    uint32_t last = choice->heap.items[--choice->heap.count];
    if (last == slot)
        return;
    heap_put(choice, at, last);
    sift_up(choice, at);
    sift_down(choice, choice->slots.items[last].at);
}

/* Looks at the slot's node anew. */
static void refresh(struct choice *choice, uint32_t slot, int32_t wanted, bool by_share)
{
    struct slot *s = &choice->slots.items[slot];
    heap_remove(choice, slot);
    if (!node_ways_best(choice->ways, &choice->search, s->node, wanted, by_share, &s->way,
                        &choice->costs.items[slot * choice->search.dims]))
        return;
    tf_vec_push(&choice->heap, slot);
    sift_up(choice, choice->heap.count - 1);
}

/* ---- filling ---- */

static int32_t instances_on(const struct choice *choice, uint32_t node)
{
    return tf_vector_count(choice->search.ask->demand->need, tf_vector_floor0(choice->search.have[node]));
}

static int64_t instances_in(const struct choice *choice)
{
    int64_t sum = 0;
    tf_vec_each (node, &choice->nodes)
        sum += instances_on(choice, *node);
    return sum;
}

void choice_take(struct choice *choice, uint32_t unit)
{
    search_take(&choice->search, unit);
    tf_vec_push(&choice->log, unit);
}

/* The units of the way, and what goes with a core wherever it is. */
static void take_way(struct choice *choice, const struct victim_way *way)
{
    const struct victim_unit *units = choice->search.ask->units;
    for (size_t i = 0; i < way->count; i++) {
        uint32_t unit = way->units[i];
        uint32_t from = units[unit].core ? search_job_begin(&choice->search, unit) : unit;
        for (uint32_t u = from; u <= unit; u++)
            if (!choice->search.taken[u])
                choice_take(choice, u);
    }
}

void choice_undo(struct choice *choice, size_t log)
{
    while (choice->log.count > log)
        search_put_back(&choice->search, choice->log.items[--choice->log.count]);
}

static void make_slots(struct choice *choice, int32_t wanted, bool by_share)
{
    choice->slots.count = choice->heap.count = 0;
    tf_vec_reserve(&choice->slots, choice->nodes.count);
    tf_vec_reserve(&choice->costs, choice->nodes.count * choice->search.dims);
    tf_vec_each (node, &choice->nodes) {
        uint32_t slot = (uint32_t)choice->slots.count++;
        choice->slots.items[slot].node = *node;
        choice->slots.items[slot].at = SIZE_MAX;
        choice->slot_of[*node] = slot;
        refresh(choice, slot, wanted, by_share);
    }
}

/* Other nodes of the slots on which something of log[from...] was: their ways have changed. */
static void refresh_neighbours(struct choice *choice, size_t from, int32_t wanted, bool by_share)
{
    const struct victims_search *search = &choice->search;
    for (size_t i = from; i < choice->log.count; i++) {
        uint32_t unit = choice->log.items[i];
        for (size_t p = search->unit_first.items[unit]; p < search->unit_first.items[unit + 1]; p++) {
            uint32_t node = search->places.items[p].node, slot = choice->slot_of[node];
            if (slot < choice->slots.count && choice->slots.items[slot].node == node)
                refresh(choice, slot, wanted, by_share);
        }
    }
}

/* Takes units until the nodes hold so many; false (and what was taken stays) if they cannot. */
static bool fill(struct choice *choice, int64_t count, bool by_share)
{
    int64_t wanted = count - instances_in(choice);
    if (wanted <= 0)
        return true;
    make_slots(choice, (int32_t)wanted, by_share);
    while (choice->heap.count > 0) {
        uint32_t slot = choice->heap.items[0];
        const struct victim_way *way = &choice->slots.items[slot].way;
        if (way->gain > wanted) {
            refresh(choice, slot, (int32_t)wanted, by_share);
            continue;
        }
        size_t log = choice->log.count;
        take_way(choice, way);
        wanted = count - instances_in(choice);
        if (wanted <= 0)
            return true;
        refresh_neighbours(choice, log, (int32_t)wanted, by_share);
    }
    return false;
}

/* ---- steps that have a domain of their own ---- */

/* Fills the step's cell up to one step more, and says at which price: in choice->cost. */
static bool fill_one_step(struct choice *choice, uint32_t cell, bool by_share)
{
    int32_t step = choice->search.ask->demand->step;
    list_nodes(choice, cell, true);
    int64_t now = instances_in(choice);
    if (!fill(choice, now - now % step + step, by_share))
        return false;
    cost_of_set(&choice->search, choice->search.taken, choice->cost);
    return true;
}

static int64_t steps_in(struct choice *choice, uint32_t cell)
{
    list_nodes(choice, cell, true);
    int64_t now = instances_in(choice);
    return now - now % choice->search.ask->demand->step;
}

/* The step's cell of that job's cell in which one step more comes cheapest. */
static uint32_t cheapest_step(struct choice *choice, uint32_t job, bool by_share)
{
    uint32_t best = CELL_NONE;
    int64_t *least = tf_calloc(choice->search.dims, sizeof *least);
    for (uint32_t cell = 0; cell < choice->step_cells.count; cell++) {
        if (choice->step_cells.items[cell].above != job)
            continue;
        size_t log = choice->log.count;
        if (fill_one_step(choice, cell, by_share) &&
            (best == CELL_NONE || cost_cmp(&choice->search, choice->cost, 1, least, 1) < 0)) {
            best = cell;
            memcpy(least, choice->cost, choice->search.dims * sizeof *least);
        }
        choice_undo(choice, log);
    }
    free(least);
    return best;
}

static bool fill_by_steps(struct choice *choice, uint32_t job, bool by_share)
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
static void take_all(struct choice *choice)
{
    const struct victims_ask *ask = choice->search.ask;
    tf_vec_each (node, &choice->nodes)
        for (size_t p = 0; p < ask->detail[*node].part_count; p++) {
            uint32_t unit = ask->detail[*node].parts[p].unit;
            if (choice->search.taken[unit] || !search_may_take(&choice->search, unit))
                continue;
            struct victim_way way = {.units = {unit}, .count = 1};
            take_way(choice, &way);
        }
}

/* Greedily; where that does not keep a rule (maxNodes), everything: the trimming that follows leaves what is
 * needed. */
static bool fill_cell(struct choice *choice, uint32_t cell, bool by_share)
{
    const struct tf_demand *demand = choice->search.ask->demand;
    choice_undo(choice, 0);
    list_nodes(choice, cell, false);
    bool filled =
        has_step_rule(demand) ? fill_by_steps(choice, cell, by_share) : fill(choice, demand->core, by_share);
    if (filled && search_fits(&choice->search))
        return true;
    list_nodes(choice, cell, false);
    take_all(choice);
    return search_fits(&choice->search);
}

/* ---- without what is not needed ---- */

/* The dearest first; of equals the one that was found last. */
int priced_cmp(const void *a, const void *b)
{
    const struct priced *x = a, *y = b;
    int order = cost_cmp(x->search, x->cost, 1, y->cost, 1);
    if (order != 0)
        return -order;
    return x->unit > y->unit ? -1 : x->unit < y->unit;
}

/* Puts back so many of them, from the first on, passing over what goes with a core that goes. */
static void put_back(struct choice *choice, const struct priced *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t unit = list[i].unit;
        if (choice->search.ask->units[unit].core || !search_core_taken(&choice->search, unit))
            search_put_back(&choice->search, unit);
    }
}

static void take_again(struct choice *choice, const struct priced *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!choice->search.taken[list[i].unit])
            search_take(&choice->search, list[i].unit);
}

/* The dearest first, each that the rest can do without stays: whole runs of them at once, as fitting only
 * ever grows with what goes. */
static void trim(struct choice *choice, const struct priced *list, size_t count)
{
    size_t run = 1;
    for (size_t done = 0; done < count;) {
        run = run < count - done ? run : count - done;
        put_back(choice, list + done, run);
        if (search_fits(&choice->search)) {
            done += run;
            run *= 2;
            continue;
        }
        take_again(choice, list + done, run);
        done += run == 1;
        run = run > 1 ? run / 2 : 1;
    }
}

static void trim_taken(struct choice *choice)
{
    struct victims_search *search = &choice->search;
    TF_VEC(struct priced) list = {0};
    TF_VEC(int64_t) costs = {0};
    size_t count = 0;
    tf_vec_each (unit, &choice->log)
        count += search->taken[*unit];
    tf_vec_reserve(&costs, count * search->dims + 1);
    memset(costs.items, 0, count * search->dims * sizeof *costs.items);
    tf_vec_each (unit, &choice->log) {
        int64_t *cost = &costs.items[list.count * search->dims];
        cost_add_unit(search, *unit, 1, 1, cost);
        cost_add_hit(search, *unit, cost);
        tf_vec_push(&list, (struct priced){*unit, cost, search});
    }
    if (list.count > 1)
        qsort(list.items, list.count, sizeof *list.items, priced_cmp);
    trim(choice, list.items, list.count);
    tf_vec_release(&costs);
    tf_vec_release(&list);
}

/* ---- all cells ---- */

void choice_keep_if_cheaper(struct choice *choice)
{
    struct victims_search *search = &choice->search;
    cost_of_set(search, search->taken, choice->cost);
    if (choice->found && cost_cmp(search, choice->cost, 1, choice->best_cost, 1) >= 0)
        return;
    choice->found = true;
    memcpy(choice->best_cost, choice->cost, search->dims * sizeof *choice->cost);
    memcpy(choice->best, search->taken, search->ask->unit_count * sizeof *choice->best);
}

/* The log is what is taken, in any order. */
static void relog(struct choice *choice)
{
    choice->log.count = 0;
    for (uint32_t u = 0; u < choice->search.ask->unit_count; u++)
        if (choice->search.taken[u])
            tf_vec_push(&choice->log, u);
}

/* It could hold the demand if all that may go went. */
static bool is_roomy(struct choice *choice, uint32_t cell)
{
    const struct victims_ask *ask = choice->search.ask;
    int64_t sum = 0;
    list_nodes(choice, cell, false);
    tf_vec_each (node, &choice->nodes)
        sum += tf_vector_count(ask->demand->need,
                               tf_profile_row_at(&ask->nodes.rows[*node], choice->search.level));
    return sum >= ask->demand->core;
}

static void search_cell(struct choice *choice, uint32_t cell)
{
    if (!is_roomy(choice, cell))
        return;
    int ways = choice->search.ask->nodes.count > SHARE_NODES ? 1 : 2;
    for (int by_share = 0; by_share < ways; by_share++) {
        if (!fill_cell(choice, cell, by_share))
            continue;
        trim_taken(choice);
        relog(choice);
        choice_keep_if_cheaper(choice);
    }
}

/* The first model of the list in which it works, and of its cells the cheapest (R3). */
static void search_cells(struct choice *choice)
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
static void retry_without_each(struct choice *choice)
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

static void choice_init(struct choice *choice, const struct victims_ask *ask, tf_level level)
{
    *choice = (struct choice){.ways = node_ways_create()};
    search_init(&choice->search, ask);
    choice->search.level = level;
    choice->slot_of = tf_calloc(ask->nodes.count + 1, sizeof *choice->slot_of);
    choice->best = tf_calloc(ask->unit_count + 1, sizeof *choice->best);
    choice->best_cost = tf_calloc(choice->search.dims, sizeof *choice->best_cost);
    choice->cost = tf_calloc(choice->search.dims, sizeof *choice->cost);
    list_cells(choice);
}

static void choice_release(struct choice *choice)
{
    search_release(&choice->search);
    node_ways_destroy(choice->ways);
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

static void export_best(const struct choice *choice, struct victims *out)
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
    struct choice choice;
    choice_init(&choice, ask, fit.level);
    search_cells(&choice);
    if (choice.found) {
        retry_without_each(&choice);
        choice_search_exactly(&choice);
    }
    out->level = TF_LEVEL_FREE;
    export_best(&choice, out);
    bool found = choice.found;
    choice_release(&choice);
    return found;
}
