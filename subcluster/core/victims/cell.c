/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes belong together: one model, one domain of each required rule. */
#include "subcluster/core/victims/private.h"

static bool same_cell(const struct victims_choice *choice, uint32_t class, uint32_t other, bool of_step)
{
    const struct tf_catalog *catalog = choice->search.ask->nodes.catalog;
    tf_vec_each (rule, &choice->search.ask->demand->rules)
        if (!rule->prefer && rule->of_step == of_step &&
            tf_catalog_domain(catalog, class, rule->slot) != tf_catalog_domain(catalog, other, rule->slot))
            return false;
    return true;
}

static uint32_t job_cell(struct victims_choice *choice, uint32_t class)
{
    const struct victims_ask *ask = choice->search.ask;
    int place = tf_demand_admits(ask->demand, ask->nodes.catalog, class);
    if (place < 0)
        return CELL_NONE;
    for (uint32_t i = 0; i < choice->cells.count; i++)
        if (choice->cells.items[i].place == place &&
            same_cell(choice, class, choice->cells.items[i].class, false))
            return i;
    tf_vec_push(&choice->cells, (struct victim_cell){.class = class, .place = place});
    return (uint32_t)choice->cells.count - 1;
}

static uint32_t step_cell(struct victims_choice *choice, uint32_t class, uint32_t above)
{
    if (above == CELL_NONE)
        return CELL_NONE;
    for (uint32_t i = 0; i < choice->step_cells.count; i++)
        if (choice->step_cells.items[i].above == above &&
            same_cell(choice, class, choice->step_cells.items[i].class, true))
            return i;
    tf_vec_push(&choice->step_cells, (struct victim_cell){.class = class, .above = above});
    return (uint32_t)choice->step_cells.count - 1;
}

void victims_list_cells(struct victims_choice *choice)
{
    size_t classes = choice->search.ask->nodes.catalog->classes.count;
    for (uint32_t class = 0; class < classes; class ++) {
        tf_vec_push(&choice->cell_of, job_cell(choice, class));
        tf_vec_push(&choice->step_cell_of, step_cell(choice, class, choice->cell_of.items[class]));
    }
}

void victims_list_nodes(struct victims_choice *choice, uint32_t cell, bool of_step)
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
