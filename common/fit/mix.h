/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FIT_MIX_H
#define TF_FIT_MIX_H

#include "common/fit/demand.h"

/* The recent and the waiting work: typical shapes and how often they come. What fragmentation and idle causes
 * are measured against (BOUNDS.md §1, after FGD, Weng et al., ATC'23). */
enum { TF_MIX_MAX = 64 };

struct tf_mix_shape {
    const struct tf_job_spec *spec; /* borrowed for the call */
    int rank;
    int32_t weight; /* popularity, > 0 */
};

struct tf_mix_entry {
    struct tf_demand demand;
    int32_t weight;
};

/* What one measure of an entry needs, side by side. */
struct tf_mix_need {
    struct tf_vector need;
    int64_t weight;
};

struct tf_mix {
    TF_VEC(struct tf_mix_entry) entries;
    TF_VEC(struct tf_mix_need) needs; /* of the entries, in their order */
    TF_VEC(uint64_t) admitted;        /* of each class of the catalog: the entries that may use its nodes */
    int64_t weight;                   /* of all entries */
};

void tf_mix_release(struct tf_mix *mix);
/* Resolves the first TF_MIX_MAX shapes against the catalog; again when the catalog has grown. A shape whose
 * topology this subcluster does not have is left out. mix is zeroed or initialised. */
void tf_mix_resolve(struct tf_mix *mix, const struct tf_mix_shape *shapes, size_t count,
                    const struct tf_catalog *catalog);

/* F of one node of that class with `have` idle: its idle GPUs, times the weight of the shapes that cannot use
 * it: too few GPUs, too little of the rest, or not admitted. (Whole GPUs leave no residue smaller than a
 * shape's GPU.) */
int64_t tf_mix_fragmentation(const struct tf_mix *mix, uint32_t class, struct tf_vector have);
/* By how much F grows when that node gives away `taken`. */
int64_t tf_mix_growth(const struct tf_mix *mix, uint32_t class, struct tf_vector have,
                      struct tf_vector taken);

#endif
