/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the columns of a table of rows: what a count reads of each row, side by side, so that a pass over many
 * rows reads memory in order. Which rows there are is rows.c's. */
#include "common/fit/columns.h"

void fit_columns_release(struct tf_fit_columns *columns)
{
    for (size_t level = 0; level <= TF_LEVEL_TOP; level++)
        free(columns->have[level]);
    tf_vec_release(&columns->rows);
    tf_vec_release(&columns->models);
    *columns = (struct tf_fit_columns){0};
}

void fit_columns_clear(struct tf_fit_columns *columns)
{
    columns->rows.count = columns->models.count = 0;
    columns->levels = 0;
    columns->claimed = false;
}

/* The level's column is the one that speaks for it: of the highest level at or below it that any row has. */
static tf_level speaking(const struct tf_fit_columns *columns, tf_level level)
{
    uint64_t below = columns->levels & (UINT64_MAX >> (63 - level));
    return below ? (tf_level)(63 - __builtin_clzll(below)) : TF_LEVEL_FREE;
}

const struct tf_vector *fit_columns_at(const struct tf_fit_columns *columns, tf_level level)
{
    return columns->levels ? columns->have[speaking(columns, level)] : NULL;
}

static void grow(struct tf_fit_columns *columns, size_t count)
{
    if (columns->cap >= count)
        return;
    columns->cap = 2 * count;
    for (size_t level = 0; level <= TF_LEVEL_TOP; level++)
        if (columns->have[level])
            columns->have[level] =
                tf_reallocarray(columns->have[level], columns->cap, sizeof *columns->have[level]);
}

/* Rows without the level have there what they have at the one below it. */
static void add_level(struct tf_fit_columns *columns, tf_level level)
{
    struct tf_vector **have = &columns->have[level];
    const struct tf_vector *below = fit_columns_at(columns, level);
    *have = tf_reallocarray(*have, columns->cap, sizeof **have);
    if (below)
        memcpy(*have, below, columns->rows.count * sizeof **have);
    else
        memset(*have, 0, columns->rows.count * sizeof **have);
    columns->levels |= UINT64_C(1) << level;
}

void fit_columns_set(struct tf_fit_columns *columns, uint32_t id, const struct tf_profile_row *row)
{
    grow(columns, (size_t)id + 1);
    while (columns->rows.count <= id) {
        for (uint64_t set = columns->levels; set; set &= set - 1)
            columns->have[__builtin_ctzll(set)][columns->rows.count] = (struct tf_vector){0};
        tf_vec_push(&columns->rows, (struct fit_column_row){0});
    }
    columns->rows.items[id] = (struct fit_column_row){row->class, 0};
    columns->claimed |= row->claim_rank >= 0;
    tf_vec_each (at, &row->levels)
        if (!(columns->levels >> at->level & 1))
            add_level(columns, at->level);
    for (uint64_t set = columns->levels; set; set &= set - 1) {
        tf_level level = (tf_level)__builtin_ctzll(set);
        columns->have[level][id] = tf_profile_row_at(row, level);
    }
}

void fit_columns_count(struct tf_fit_columns *columns, uint32_t id, int32_t model, int32_t nodes)
{
    int32_t more = nodes - columns->rows.items[id].nodes;
    columns->rows.items[id].nodes = nodes;
    if (model < 0 || more == 0)
        return;
    while (columns->models.count <= (size_t)model)
        (void)tf_vec_add(&columns->models);
    int64_t *at_least = columns->models.items[model].at_least;
    for (int32_t gpus = columns->have[TF_LEVEL_FREE][id].gpus; gpus > 0; gpus--)
        at_least[gpus] += more;
}
