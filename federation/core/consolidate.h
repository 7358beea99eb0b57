/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_CONSOLIDATE_H
#define TF_FEDERATION_CORE_CONSOLIDATE_H

#include "federation/core/state.h"

/* The placement class "fits after consolidation" (DESIGN.md §6): before anybody's core is taken for a job, it
 * is asked whether instances could be moved together for it, somewhere, so that it fits, and whether that
 * costs less: the GPU-seconds that victims lose against those that moves hold twice. Then the job claims the
 * room in that subcluster, which moves what it must, or refuses to (defrag.h there): profiles are an upper
 * bound. At most once a wait of the job: if nothing comes of it, others are evicted.
 *
 * `consolidate: observe` only says so, in the job's events and decisions. */

struct fed_consolidation {
    struct cluster *cluster;
    int64_t cost; /* of the moves, at least, in GPU-seconds */
};

/* The subcluster where that costs least. False: nowhere, or not less than evicting. Nothing changes. */
bool fed_consolidate_find(const struct fed *fed, const struct job *job, int64_t evicting, struct tf_now now,
                          struct fed_consolidation *out);

/* With `consolidate: observe`: the waiting job fits nowhere, whoever was evicted; moves could make room.
 * (With `on` its subcluster sees to that by itself, as long as it waits.) */
void fed_consolidate_observe(struct fed *fed, struct job *job);
/* Likewise: the profile, which is about to be taken, says that moves could free other nodes than was known.
 * That comes some time after the nodes have changed, and what waits is looked at again for it. */
bool fed_consolidate_hopes(const struct fed *fed, const struct cluster *cluster,
                           const struct tf_profile *profile);

/* "fits after consolidation in b, by moves that cost ...", which the caller frees. evicts NULL: nobody can
 * be evicted. */
char *fed_consolidate_text(const struct fed_consolidation *found, int64_t evicting,
                           const struct cluster *evicts);

/* The level is above what surplus alone gives. */
bool fed_consolidate_takes_cores(tf_level level);
/* Moves may be waited for, for that job: `consolidate: on`, and it has not tried yet. */
bool fed_consolidate_may(const struct fed *fed, const struct job *job);

/* The first waiting job of its demand would be placed in that subcluster: true if it claims room elsewhere
 * instead, and is filed anew. */
bool fed_consolidate_instead(struct fed *fed, struct job *job, const struct cluster *evicts);

#endif
