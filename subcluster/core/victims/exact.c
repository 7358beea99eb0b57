/* SPDX-License-Identifier: Apache-2.0 */
/* Branch and bound over all sets of victims, from a good one: finds the cheapest of all where units are few.
 */
#include "subcluster/core/victims/private.h"

/* What is left to try after that is tried: sets of at most so many units, and so many rows counted. */
enum { EXACT_UNITS = 32, EXACT_ROWS = 100000 };

/* All that may go, the dearest first, is taken or has been put back: those before `at` for good. */
struct bound {
    struct victims_choice *choice;
    TF_VEC(struct victim_priced) list;
    TF_VEC(int64_t) costs;
    bool *kept; /* units that go whatever follows */
    int64_t rows_left;
};

static void list_candidates(struct bound *bound)
{
    struct victims_search *search = &bound->choice->search;
    uint32_t count = (uint32_t)search->ask->unit_count;
    tf_vec_reserve(&bound->costs, count * search->dims);
    memset(bound->costs.items, 0, count * search->dims * sizeof *bound->costs.items);
    for (uint32_t u = 0; u < count; u++) {
        if (!victims_search_may_take(search, u))
            continue;
        int64_t *cost = &bound->costs.items[u * search->dims];
        victims_cost_add_unit(search, u, 1, 1, cost);
        victims_cost_add_hit(search, u, cost);
        tf_vec_push(&bound->list, (struct victim_priced){u, cost, search});
    }
    if (bound->list.count > 1)
        qsort(bound->list.items, bound->list.count, sizeof *bound->list.items, victims_priced_cmp);
}

static bool still_fits(struct bound *bound)
{
    bound->rows_left -= (int64_t)bound->choice->search.rows.count + 1;
    return victims_search_fits(&bound->choice->search);
}

static void decide(struct bound *bound, size_t at);

static void decide_without(struct bound *bound, size_t at)
{
    struct victims_search *search = &bound->choice->search;
    uint32_t unit = bound->list.items[at].unit;
    if (!search->ask->units[unit].core && victims_search_core_taken(search, unit))
        return; /* it goes with its core */
    victims_search_put_back(search, unit);
    if (still_fits(bound))
        decide(bound, at + 1);
    victims_search_take(search, unit);
}

static void decide_with(struct bound *bound, size_t at)
{
    struct victims_choice *choice = bound->choice;
    uint32_t unit = bound->list.items[at].unit;
    bound->kept[unit] = true;
    victims_cost_of_set(&choice->search, bound->kept, choice->cost);
    if (victims_cost_cmp(&choice->search, choice->cost, 1, choice->best_cost, 1) < 0)
        decide(bound, at + 1);
    bound->kept[unit] = false;
}

/* Both ways for the unit at `at`, as long as what goes suffices and what goes for good is cheaper than the
 * best. */
static void decide(struct bound *bound, size_t at)
{
    if (bound->rows_left <= 0)
        return;
    if (at == bound->list.count) {
        victims_choice_keep_if_cheaper(bound->choice);
        return;
    }
    decide_without(bound, at);
    decide_with(bound, at);
}

/* Finds the cheapest set of all, unless the work that it may do is used up before. Expects a good set
 * already: it is what branches are cut by. */
void victims_choice_search_exactly(struct victims_choice *choice)
{
    struct bound bound = {.choice = choice, .rows_left = EXACT_ROWS};
    if (choice->search.ask->unit_count > EXACT_UNITS)
        return;
    bound.kept = tf_calloc(choice->search.ask->unit_count + 1, sizeof *bound.kept);
    memset(choice->search.barred, 0, choice->search.ask->unit_count * sizeof *choice->search.barred);
    victims_choice_undo(choice, 0);
    list_candidates(&bound);
    tf_vec_each (priced, &bound.list)
        victims_choice_take(choice, priced->unit);
    decide(&bound, 0);
    tf_vec_release(&bound.list);
    tf_vec_release(&bound.costs);
    free(bound.kept);
}
