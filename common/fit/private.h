/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FIT_PRIVATE_H
#define TF_FIT_PRIVATE_H

#include "common/fit/count.h"

#include <assert.h>

/* What counting and packing share: the rows sorted into spots. A spot is a combination (model, domains of the
 * required rules): spots of jobs, and, below them when there are required step rules, spots of steps. */

#define SPOT_NONE UINT32_MAX

struct spot {
    uint32_t above;     /* key: the spot this one refines, SPOT_NONE for a model's */
    int32_t domain;     /* key: a domain, or the place of the model */
    uint32_t next;      /* in its bucket */
    uint32_t job;       /* the spot of the job it belongs to */
    int32_t place;      /* of the model in the demand's order */
    bool leaf;          /* rows are in it */
    int64_t sum, total; /* instances: of its rows; of a job: what counts of its steps */
};

/* The nodes of one row, for one demand at one level. */
struct fit_entry {
    uint32_t row; /* index in the view */
    uint32_t spot;
    int32_t cap; /* instances a node */
    int32_t nodes;
    bool used;   /* the job runs there already */
    int64_t key; /* of the split in progress */
};

/* A part of the entries chosen for a number of instances. */
struct fit_part {
    size_t first, last; /* entries [first, last) */
    int64_t cap;        /* instances it can hold under the rules of the split */
    int64_t whole;      /* the same, without rounding to steps */
    int64_t take;
    uint32_t row; /* the lowest, for ties */
};

/* One state of like nodes while instances are placed one by one. */
struct fit_state {
    int64_t cost;          /* of one instance more (tf_mix_cost); 0 without a mix */
    struct tf_vector have; /* before that */
    uint32_t row;
    int32_t nodes, held; /* nodes in this state; instances placed on each */
    bool kept;           /* reservations that it may use keep something there */
};

struct tf_fit_scratch {
    TF_VEC(struct spot) spots;
    TF_VEC(uint32_t) buckets;
    uint32_t *class_spot; /* of the class, valid if class_round is the present round */
    uint32_t *class_round;
    size_t class_cap;
    uint32_t round;
    bool add_protected; /* count what protected cores above the level hold, too (explain) */
    TF_VEC(struct fit_entry) entries;
    TF_VEC(struct fit_part) parts;
    TF_VEC(struct fit_state) heap, done;
    TF_VEC(int32_t) domains; /* of the first preferred rule, that the placement uses */
};

/* Starts a new demand: what was known of classes no longer counts. */
void fit_begin(const struct tf_fit_view *view, struct tf_fit_scratch *scratch);
uint32_t fit_find_spot(const struct tf_fit_view *view, const struct tf_demand *demand, uint32_t class,
                       struct tf_fit_scratch *scratch);
/* The spot of the class, SPOT_NONE if it is not for the demand. */
static inline uint32_t fit_class_spot(const struct tf_fit_view *view, const struct tf_demand *demand,
                                      uint32_t class, struct tf_fit_scratch *scratch)
{
    assert(class < view->catalog->classes.count);
    return scratch->class_round[class] == scratch->round ? scratch->class_spot[class]
                                                         : fit_find_spot(view, demand, class, scratch);
}
/* The same of the row, which may be barred. */
uint32_t fit_spot(const struct tf_fit_view *view, const struct tf_demand *demand,
                  const struct tf_profile_row *row, struct tf_fit_scratch *scratch);
/* After fit_begin: the sums of spots and the totals of job spots at that level. */
void fit_sum(const struct tf_fit_view *view, const struct tf_demand *demand, tf_level level,
             struct tf_fit_scratch *scratch);
/* Order of entries (qsort): by key, then nodes in use (maxNodes does not limit them), then the largest, then
 * the lower row. */
int fit_by_size(const void *a, const void *b);
bool fit_is_used(const struct tf_demand *demand, uint32_t row_id);
/* How many nodes besides those, with maxNodes. */
static inline int32_t fit_new_nodes(const struct tf_demand *demand)
{
    return demand->max_nodes > 0 ? demand->max_nodes : 0;
}
bool fit_has_step_rule(const struct tf_demand *demand);
int64_t fit_align(int64_t n, int32_t step);

#endif
