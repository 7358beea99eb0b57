/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_ABSORB_PLAN_H
#define TF_SUBCLUSTER_CORE_ABSORB_PLAN_H

#include "common/fit/pack.h"

/* Which running elastic jobs get how much of what is free (DESIGN.md §8.3): a plan, which changes nothing but
 * itself. Whole steps, each packed or not given: to the most important first, among equals to the one with
 * the smallest size/max (progressive filling, BOUNDS.md §4: with equal steps the lexicographic max-min). Then
 * the repair pass: where steps differ, some are exchanged for others of the same rank and model if more GPUs
 * are used that way, which makes the fewest GPUs stay idle that whole steps allow. */

/* What may be given away: rows of one node each. */
struct absorb_room {
    const struct tf_catalog *catalog;   /* borrowed */
    TF_VEC(struct tf_profile_row) rows; /* ascending by id; their levels point into: */
    TF_VEC(struct tf_level_vector) have;
};
void absorb_room_release(struct absorb_room *room);
/* One more node, of a larger id than those before; its class and claim are those of `like`. */
void absorb_room_add(struct absorb_room *room, const struct tf_profile_row *like, struct tf_vector have);

/* Valid until a node is added. */
struct tf_fit_view absorb_room_view(struct absorb_room *room);

struct absorb_job {
    struct tf_uid uid;
    int rank;
    struct tf_wall submitted;
    int32_t size, max; /* instances: now, and that it may have, a multiple of its step */
    /* Of one step, anchored where the job runs. Owned by the plan, in which `used` and max_nodes go with what
     * is given. */
    struct tf_demand demand;
    /* the plan */
    int32_t steps;          /* given */
    bool tried;             /* another step would not have fitted */
    TF_VEC(uint32_t) nodes; /* ids of rows, one an instance, step after step */
};

struct absorb_plan {
    const struct tf_mix *mix;       /* to pack by; borrowed, may be NULL */
    TF_VEC(struct absorb_job) jobs; /* in any order */
    struct absorb_room room;        /* in the end: what is left */
    int64_t work;                   /* rows looked at */
};
void absorb_plan_release(struct absorb_plan *plan);

/* Fills in what the jobs get. When `budget` rows have been looked at (checked between steps) no more is given
 * out: false, and what was given is sound. The scratch is as for common/fit. */
bool absorb_plan_make(struct absorb_plan *plan, int64_t budget, struct tf_fit_scratch *scratch);

/* The order of those that are next for a step: rank, size/max, then the one that a step raises more, the
 * older submit, the smaller uid; what the plan has given them counts. < 0: a is first. */
int absorb_job_cmp(const struct absorb_job *a, const struct absorb_job *b);

#endif
