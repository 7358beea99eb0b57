/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FIT_COLUMNS_H
#define TF_FIT_COLUMNS_H

#include "common/fit/count.h"

/* Private to this folder. */

struct fit_column_row {
    uint32_t class;
    int32_t nodes; /* 0: passed over */
};

/* Nodes of one GPU model. */
struct fit_free_nodes {
    int64_t at_least[TF_NODE_GPUS_MAX + 1]; /* with so many GPUs free */
};

/* The rows of a view by column, at the same places. Zero-initialise. */
struct tf_fit_columns {
    TF_VEC(struct fit_column_row) rows;
    uint64_t levels;                          /* a set: those that some row has had since the last clear */
    bool claimed;                             /* some row has had a claim since then */
    TF_VEC(struct fit_free_nodes) models;     /* of the catalog */
    size_t cap;                               /* of each column of vectors */
    struct tf_vector *have[TF_LEVEL_TOP + 1]; /* at the levels of the set: what each row has */
};

void fit_columns_release(struct tf_fit_columns *columns);
void fit_columns_clear(struct tf_fit_columns *columns); /* keeps the memory */
/* The row of that place has that content, and no nodes; new if it is behind the last. */
void fit_columns_set(struct tf_fit_columns *columns, uint32_t id, const struct tf_profile_row *row);
/* So many nodes of the row, which are of that model (-1: none of them has GPUs). */
void fit_columns_count(struct tf_fit_columns *columns, uint32_t id, int32_t model, int32_t nodes);
/* What each row has for a demand that may take the level: tf_profile_row_at of them all. NULL: no row yet. */
const struct tf_vector *fit_columns_at(const struct tf_fit_columns *columns, tf_level level);

/* One pass over a view at one level, by column if it has columns. */
struct fit_pass {
    const struct tf_fit_view *view;
    tf_level level;
    const struct fit_column_row *rows; /* NULL: row by row */
    const struct tf_vector *have;
    bool claimed; /* rows may be barred */
};
static inline struct fit_pass fit_pass_begin(const struct tf_fit_view *view, tf_level level)
{
    const struct tf_fit_columns *columns = view->columns;
    if (!columns)
        return (struct fit_pass){view, level, NULL, NULL, true};
    return (struct fit_pass){view, level, columns->rows.items, fit_columns_at(columns, level),
                             columns->claimed};
}
static inline int32_t fit_pass_nodes(const struct fit_pass *pass, size_t i)
{
    return pass->rows ? pass->rows[i].nodes : pass->view->rows[i].count;
}
static inline uint32_t fit_pass_class(const struct fit_pass *pass, size_t i)
{
    return pass->rows ? pass->rows[i].class : pass->view->rows[i].class;
}
static inline struct tf_vector fit_pass_have(const struct fit_pass *pass, size_t i)
{
    return pass->rows ? pass->have[i] : tf_profile_row_at(&pass->view->rows[i], pass->level);
}

#endif
