/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FIT_PACK_PRIVATE_H
#define TF_FIT_PACK_PRIVATE_H

#include "common/fit/pack.h"
#include "common/fit/private.h"

/* One call of tf_fit_pack. */
struct pack {
    const struct tf_fit_view *view;
    const struct tf_demand *demand;
    tf_level level;
    const struct tf_mix *mix;
    struct tf_fit_scratch *scratch;
    struct tf_fit_placement *placement;
};

/* Puts part->take instances on the nodes of its entries, which hold them. */
void pack_place(const struct pack *pack, const struct fit_part *part);
/* Sorts the entries [first, last) by key and size. */
void pack_sort(const struct pack *pack, size_t first, size_t last);

#endif
