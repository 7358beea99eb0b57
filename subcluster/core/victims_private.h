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

/* ---- victims.c: one search ---- */

#define CELL_NONE UINT32_MAX

/* Nodes that may hold one job (or, within it, one step) together: one model, one domain of each required
 * rule. */
struct cell {
    uint32_t class; /* one of them */
    int place;      /* of the model in the demand's list */
    uint32_t above; /* of a step's cell: the job's */
};

/* The best way known of one node. */
struct slot {
    uint32_t node;
    size_t at; /* in the heap; SIZE_MAX: it has no way */
    struct victim_way way;
};

struct choice {
    struct victims_search search;
    struct node_ways *ways;
    TF_VEC(struct cell) cells, step_cells;
    TF_VEC(uint32_t) cell_of, step_cell_of; /* of each class */

    TF_VEC(uint32_t) nodes; /* of the cell under way */
    TF_VEC(struct slot) slots;
    TF_VEC(int64_t) costs; /* slots x dims */
    TF_VEC(uint32_t) heap; /* of slots */
    uint32_t *slot_of;     /* of each node; means something while that slot is of that node */
    TF_VEC(uint32_t) log;  /* units taken, in order */

    bool *best; /* the cheapest set so far */
    int64_t *best_cost, *cost;
    bool found;
    int place; /* of the model under way; of the cheapest set, once found */
};

/* A unit and what it costs by itself. */
struct priced {
    uint32_t unit;
    const int64_t *cost;
    const struct victims_search *search;
};
int priced_cmp(const void *a, const void *b); /* the dearest first; of equals the one that was found last */

void choice_take(struct choice *choice, uint32_t unit);
void choice_undo(struct choice *choice, size_t log); /* back to that length of the log */
/* What is taken is the best set, if it is cheaper than the one so far. */
void choice_keep_if_cheaper(struct choice *choice);

/* ---- victims_exact.c ---- */

/* Finds the cheapest set of all, unless the work that it may do is used up before. Expects a good set
 * already: it is what branches are cut by. */
void choice_search_exactly(struct choice *choice);

#endif
