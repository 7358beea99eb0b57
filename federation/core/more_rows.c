/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/core/more_rows.h"

void more_rows_release(struct more_rows *more)
{
    tf_vec_release(&more->rows);
    tf_vec_release(&more->vectors);
}

void more_rows_add(struct more_rows *more, uint32_t class, int32_t nodes, struct tf_vector room)
{
    tf_vec_push(&more->vectors, (struct tf_level_vector){TF_LEVEL_FREE, room});
    tf_vec_push(&more->rows, (struct tf_profile_row){.class = class, .count = nodes, .claim_rank = -1});
}

struct tf_fit_view more_rows_view(const struct cluster *cluster, struct more_rows *more)
{
    struct tf_fit_view view = tf_fit_rows_view(cluster->room);
    size_t first = more->rows.count;
    for (size_t i = 0; i < first; i++) /* only now, as their list moves while it grows */
        more->rows.items[i].levels = (struct tf_level_vectors){&more->vectors.items[i], 1, 1};
    for (size_t i = 0; i < view.count; i++)
        tf_vec_push(&more->rows, view.rows[i]);
    for (size_t i = 0; i < first; i++)
        more->rows.items[i].id = (uint32_t)(view.count + i);
    return (struct tf_fit_view){.catalog = view.catalog, .rows = more->rows.items, .count = more->rows.count};
}
