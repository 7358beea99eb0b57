/* SPDX-License-Identifier: Apache-2.0 */
/* Puts back what turned out not to be needed, so that no victim is redundant (I7). */
#include "subcluster/core/victims/private.h"

int victims_priced_cmp(const void *a, const void *b)
{
    const struct victim_priced *x = a, *y = b;
    int order = victims_cost_cmp(x->search, x->cost, 1, y->cost, 1);
    if (order != 0)
        return -order;
    return x->unit > y->unit ? -1 : x->unit < y->unit;
}

/* Puts back so many of them, from the first on, passing over what goes with a core that goes. */
static void put_back(struct victims_choice *choice, const struct victim_priced *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t unit = list[i].unit;
        if (choice->search.ask->units[unit].core || !victims_search_core_taken(&choice->search, unit))
            victims_search_put_back(&choice->search, unit);
    }
}

static void take_again(struct victims_choice *choice, const struct victim_priced *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!choice->search.taken[list[i].unit])
            victims_search_take(&choice->search, list[i].unit);
}

/* The dearest first, each that the rest can do without stays: whole runs of them at once, as fitting only
 * ever grows with what goes. */
static void trim(struct victims_choice *choice, const struct victim_priced *list, size_t count)
{
    size_t run = 1;
    for (size_t done = 0; done < count;) {
        run = run < count - done ? run : count - done;
        put_back(choice, list + done, run);
        if (victims_search_fits(&choice->search)) {
            done += run;
            run *= 2;
            continue;
        }
        take_again(choice, list + done, run);
        done += run == 1;
        run = run > 1 ? run / 2 : 1;
    }
}

void victims_trim(struct victims_choice *choice)
{
    struct victims_search *search = &choice->search;
    TF_VEC(struct victim_priced) list = {0};
    TF_VEC(int64_t) costs = {0};
    size_t count = 0;
    tf_vec_each (unit, &choice->log)
        count += search->taken[*unit];
    tf_vec_reserve(&costs, count * search->dims + 1);
    memset(costs.items, 0, count * search->dims * sizeof *costs.items);
    tf_vec_each (unit, &choice->log) {
        int64_t *cost = &costs.items[list.count * search->dims];
        victims_cost_add_unit(search, *unit, 1, 1, cost);
        victims_cost_add_hit(search, *unit, cost);
        tf_vec_push(&list, (struct victim_priced){*unit, cost, search});
    }
    if (list.count > 1)
        qsort(list.items, list.count, sizeof *list.items, victims_priced_cmp);
    trim(choice, list.items, list.count);
    tf_vec_release(&costs);
    tf_vec_release(&list);
}
