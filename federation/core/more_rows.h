/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_MORE_ROWS_H
#define TF_FEDERATION_CORE_MORE_ROWS_H

#include "federation/core/cluster.h"

/* What would fit a subcluster if it had more: its rows as they are, and behind them nodes that are not in
 * them yet. */
struct more_rows { /* init by zeroing */
    TF_VEC(struct tf_profile_row) rows;
    TF_VEC(struct tf_level_vector) vectors; /* of those that are added */
};

void more_rows_release(struct more_rows *more);
/* So many nodes of that class, each with that room free. */
void more_rows_add(struct more_rows *more, uint32_t class, int32_t nodes, struct tf_vector room);
/* All of them, once, when all are added. Borrowed: until the cluster's rows change, or more is released. */
struct tf_fit_view more_rows_view(const struct cluster *cluster, struct more_rows *more);

#endif
