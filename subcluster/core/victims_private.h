/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_VICTIMS_PRIVATE_H
#define TF_SUBCLUSTER_CORE_VICTIMS_PRIVATE_H

#include "subcluster/core/victims.h"

/* What the files of victims share. */

/* What a unit frees on one node. */
struct victim_place {
    uint32_t node;
    struct tf_vector frees;
};

/* One call. A set of units is an array of one bool a unit; a cost is `dims` integers side by side. */
struct victims_search {
    const struct victims_ask *ask;
    tf_level level; /* nothing above it may go */
    int64_t work;

    size_t dims;
    size_t place_of[TF_LEVEL_TOP + 1]; /* of a level in a cost */
    TF_VEC(uint32_t) job_first;        /* first unit of each job, one more at the end */
    TF_VEC(struct victim_place) places;
    TF_VEC(size_t) unit_first; /* first of its places, one more at the end */
    TF_VEC(int32_t) gpus;      /* that it frees in all */

    bool *taken;            /* the units that go */
    bool *barred;           /* units that may not */
    struct tf_vector *have; /* of each node: going, and what the taken ones free there */
    TF_VEC(uint32_t) touched;
    int32_t *touches;                   /* taken places on each node */
    TF_VEC(struct tf_profile_row) rows; /* for packing */
    TF_VEC(struct tf_level_vector) own;
};

/* ---- victims_set.c: sets of units, what they cost, whether they suffice ---- */

void search_init(struct victims_search *search, const struct victims_ask *ask);
void search_release(struct victims_search *search);
void search_take(struct victims_search *search, uint32_t unit); /* it alone */
void search_put_back(struct victims_search *search, uint32_t unit);
void search_set(struct victims_search *search, const bool *set); /* exactly these are taken */
/* The demand fits with what is taken. */
bool search_fits(struct victims_search *search);
/* The core goes, so all other units of its job do. */
bool search_core_taken(const struct victims_search *search, uint32_t unit);
uint32_t search_job_end(const struct victims_search *search, uint32_t unit);
uint32_t search_job_begin(const struct victims_search *search, uint32_t unit);
bool search_may_take(const struct victims_search *search, uint32_t unit);

/* share of whole parts of what the unit loses by itself is added to the cost. */
void cost_add_unit(const struct victims_search *search, uint32_t unit, int64_t share, int64_t whole,
                   int64_t *cost);
/* The job of the unit is hit at the unit's level. */
void cost_add_hit(const struct victims_search *search, uint32_t unit, int64_t *cost);
void cost_of_set(const struct victims_search *search, const bool *set, int64_t *cost);
/* a/of_a against b/of_b */
int cost_cmp(const struct victims_search *search, const int64_t *a, int64_t of_a, const int64_t *b,
             int64_t of_b);

/* ---- victims_node.c: the cheapest ways of one node ---- */

enum { WAY_UNITS = 64 };

/* One way to more instances on a node: the cheapest for so many. */
struct victim_way {
    int32_t gain;              /* instances more than with what is taken already */
    uint32_t units[WAY_UNITS]; /* to take, cores after their jobs' others */
    size_t count;
};

struct node_ways;
struct node_ways *node_ways_create(void);
void node_ways_destroy(struct node_ways *ways);
/* The way with the lowest cost an instance, of those that gain at most `most` (> 0) instances or overshoot
 * it; cost: dims integers, for the gain. by_share: what is spread over nodes costs its share of here. False
 * if there is none. */
bool node_ways_best(struct node_ways *ways, struct victims_search *search, uint32_t node, int32_t most,
                    bool by_share, struct victim_way *way, int64_t *cost);

#endif
