/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FIT_MIX_H
#define TF_FIT_MIX_H

#include "common/fit/demand.h"

/* The recent and the waiting work: typical shapes and how often they come. What fragmentation and idle causes
 * are measured against (BOUNDS.md §1, after FGD, Weng et al., ATC'23). */
enum { TF_MIX_MAX = 64, TF_MIX_WORTH = 1 << 30 };

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
    int64_t cpu_worth,
        memory_worth; /* of a millicore and of a MiB, GPUs that go with it, times TF_MIX_WORTH */
};

/* The weight to pack by: the GPUs that so many instances ask for. By instances alone the many small ones
 * would outweigh gangs, which wait longest for whole nodes. */
int32_t tf_mix_weight(const struct tf_job_spec *spec, int64_t instances);

void tf_mix_release(struct tf_mix *mix);
/* Resolves the first TF_MIX_MAX shapes against the catalog; again when the catalog has grown. A shape whose
 * topology this subcluster does not have is left out. mix is zeroed or initialised. */
void tf_mix_resolve(struct tf_mix *mix, const struct tf_mix_shape *shapes, size_t count,
                    const struct tf_catalog *catalog);

/* F of one node of that class with `have` idle: its idle GPUs, times the weight of the shapes that cannot use
 * it: too few GPUs, too little of the rest, or not admitted. (Whole GPUs leave no residue smaller than a
 * shape's GPU.) */
int64_t tf_mix_fragmentation(const struct tf_mix *mix, uint32_t class, struct tf_vector have);
/* What a node costs that gives `need` away (DESIGN.md §8.1): GROWTH_WEIGHT GPUs for each GPU by which F
 * grows, and what is left on it: its GPUs, and as many more as its CPU and its memory would go with in the
 * mix. The node with the least is taken. Growth alone is blind among the many nodes where it is equal, what
 * is left alone to what the work looks like. By the openb fleet (`fedsim packers`) weights from 48 on
 * hand out most, and more than either. The mix asks for GPUs (weight > 0). */
int64_t tf_mix_cost(const struct tf_mix *mix, uint32_t class, struct tf_vector have, struct tf_vector need);
/* By how much F grows when that node gives away `taken`. */
int64_t tf_mix_growth(const struct tf_mix *mix, uint32_t class, struct tf_vector have,
                      struct tf_vector taken);

#endif
