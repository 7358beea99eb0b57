/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_VICTIMS_H
#define TF_SUBCLUSTER_CORE_VICTIMS_H

#include "common/fit/rows.h"

/* Whom to evict so that a demand can be packed (DESIGN.md §8.2, BOUNDS.md §3). Knows nothing of records: the
 * caller says what may go, what each would lose, and where.
 *
 * Costs are vectors, compared in order: of each level, the highest first, (GPU-seconds lost, evictions
 * suffered, jobs hit); then GPUs freed; then age. Lower levels thus always go first, inside a level the
 * cheapest, among equals the smaller overshoot, then the latest start, then the larger uid. Such an order is
 * kept under addition, so a dynamic programme over sums is exact.
 *
 *  1. The lowest level at which the demand fits; nothing above it is touched.
 *  2. On each node, the cheapest way to each number of instances, exactly: a programme over the sums of what
 *     is freed, in all four dimensions, without what another sum beats in every one.
 *  3. Over the nodes, greedily the cheapest instance next, where what is spread over nodes counts once it is
 *     paid for; in two ways (its whole price on its first node, or a share on each), the better of which
 *     counts; then without each victim in turn, where leaving it out from the start comes cheaper.
 *     Each time, the most expensive first, those that are not needed stay: none of a result is redundant.
 *  4. With few units, branch and bound from there: the cheapest of all sets, unless its work is used up. */

/* What goes together: one surplus step, or the core of a job, which takes all other units of the job along.
 */
struct victim_unit {
    uint32_t job; /* the same for all units of one job; without gaps, jobs of larger uids first */
    bool core;    /* at most one a job, the last of its units */
    tf_level level;
    int64_t gpu_seconds; /* that it loses now, as the caller weighs them; >= 0 */
    int64_t before;      /* what evictions of its job before weigh: compared with them, lost no more; >= 0 */
    int32_t evictions;   /* of the job, of late; >= 0 */
    int64_t age;         /* ms since its subcluster took it; >= 0 */
};

/* What one unit frees on one node: usable GPUs only (healthy, claimed by nobody). */
struct victim_part {
    uint32_t unit;
    struct tf_vector frees;
};

struct victim_node {
    struct tf_vector going; /* free, or freed by stops begun and claimed by nobody; may be negative where
                               foreign use exceeds what is left */
    uint32_t kind;          /* index of its row in kinds */
    const struct victim_part *parts; /* ascending by unit */
    size_t part_count;
};

/* All is borrowed for the call. */
struct victims_ask {
    struct tf_fit_view nodes; /* one row a node; count 0: it is not known */
    struct tf_fit_view kinds; /* the same, like nodes in one row; the view of nodes again if demand->used is
                                 not empty, as ids are compared with it */
    const struct victim_node *detail; /* of each node */
    const struct tf_demand *demand;   /* core = the instances asked for */
    const struct victim_unit *units;
    size_t unit_count;
    struct tf_fit_scratch *scratch;
};

struct victims {
    tf_level level;         /* the highest touched; TF_LEVEL_FREE or _GOING: nobody need go */
    TF_VEC(uint32_t) units; /* ascending. A core's other units are among them */
    int64_t gpu_seconds;    /* they lose */
    int64_t work;           /* rows and nodes looked at: for budgets */
};

/* False, and nobody in out, if the demand does not fit whoever goes. out is zeroed or initialised. */
bool victims_choose(const struct victims_ask *ask, struct victims *out);
void victims_release(struct victims *victims);

/* A node's row, in which what is reserved for the demand is in what it has, not beside that: who has
 * something reserved there is not barred by a claim on the node (§5). */
void victims_settle_reserved(struct tf_profile_row *row, const struct tf_demand *demand);

/* Whether the demand could be packed if those units went; chosen: one bool a unit. What brute force and I7
 * go by. */
bool victims_suffice(const struct victims_ask *ask, const bool *chosen);
/* Compares two sets by what they cost: < 0, 0, > 0. */
int victims_cmp(const struct victims_ask *ask, const bool *a, const bool *b);

#endif
