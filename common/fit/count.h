/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FIT_COUNT_H
#define TF_FIT_COUNT_H

#include "common/base/cleanup.h"
#include "common/fit/demand.h"

/* How many instances of a demand a subcluster can hold: the one function that both levels go by (DESIGN.md
 * §6, rules R1 to R5). R1, what the vectors of a row say, is in common/fit/rows.h. */

/* Rows to decide on: those of a profile (one a group of like nodes), or one a node. Rows of count 0 are
 * passed over. Borrowed for the call. */
struct tf_fit_columns;
struct tf_fit_view {
    const struct tf_catalog *catalog;
    const struct tf_profile_row *rows;
    size_t count;
    const struct tf_fit_columns *columns; /* the same rows, laid out to be counted quickly; may be NULL */
};

/* Memory that calls reuse, so that none allocates once it has grown. One a thread. Holds nothing between
 * calls. */
struct tf_fit_scratch;
struct tf_fit_scratch *tf_fit_scratch_create(void);
void tf_fit_scratch_destroy(struct tf_fit_scratch *scratch); /* NULL is fine */
TF_DEFINE_AUTO(tf_fit_scratch, tf_fit_scratch_destroy);

struct tf_fit {
    bool fits;      /* count >= the demand's core */
    int32_t count;  /* instances, a multiple of its step */
    tf_level level; /* at which it was counted */
    int32_t below;  /* of tf_fit_lowest, where it fits: at the next level that has less; at free: 0 */
    int32_t model;  /* of the catalog: the first in which the core fits, else that with the most; -1 = none */
};

/* At one level. Work: the rows once, for all models together; maxNodes sorts them by size. */
void tf_fit_count(const struct tf_fit_view *view, const struct tf_demand *demand, tf_level level,
                  struct tf_fit_scratch *scratch, struct tf_fit *out);
/* At the lowest level at which the core fits, up to the demand's; where it fits at none, the count at the
 * demand's level. Returns out->fits. */
bool tf_fit_lowest(const struct tf_fit_view *view, const struct tf_demand *demand,
                   struct tf_fit_scratch *scratch, struct tf_fit *out);
/* The same when it has been counted at free (as *out says) and does not fit there. */
bool tf_fit_above_free(const struct tf_fit_view *view, const struct tf_demand *demand,
                       struct tf_fit_scratch *scratch, struct tf_fit *out);

#endif
