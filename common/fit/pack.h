/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FIT_PACK_H
#define TF_FIT_PACK_H

#include "common/fit/count.h"
#include "common/fit/mix.h"

/* Which nodes for n instances (DESIGN.md §8.1). Both levels choose with it: the federation among the rows of
 * a profile, to debit them; a subcluster among rows of one node each (row id = the node's number). */

struct tf_place_row {
    uint32_t row;  /* id */
    int32_t nodes; /* so many of the row's nodes */
    int32_t each;  /* take so many instances */
};

struct tf_fit_placement {
    int32_t instances, nodes;
    int32_t model;   /* of the catalog, -1 = any node (gpus: 0) */
    int32_t domains; /* of the first preferred rule; 0 = there is none */
    TF_VEC(struct tf_place_row)
    rows; /* a row may occur more than once. With a required rule of: step each run of
             `step` instances, in this order, is one step */
};

void tf_fit_placement_release(struct tf_fit_placement *placement);

/* All n instances or none: false (and an empty placement) if they do not fit. Whatever tf_fit_count counts at
 * that level, and every n below it (a multiple of step where steps have a required rule), fits.
 *  1. the first model of the demand's list that holds n; of its required domains the tightest that does;
 *  2. preferred domains: as few as possible, filled by descending capacity, the remainder in the tightest
 * that holds it: this split majorises every other (BOUNDS.md §6). Steps stay whole if they can;
 *  3. in them, instance by instance, where a reservation keeps room for it, then at the least cost by `mix`
 * (tf_mix_cost; NULL or of no weight: none), then the tightest fit: least left in GPUs, then CPU, then
 * memory, then slots; then the lower row. Where 2 or 3 would break maxNodes the largest nodes are taken
 * instead. placement is zeroed or initialised. */
bool tf_fit_pack(const struct tf_fit_view *view, const struct tf_demand *demand, tf_level level, int32_t n,
                 const struct tf_mix *mix, struct tf_fit_scratch *scratch,
                 struct tf_fit_placement *placement);

#endif
