/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_VICTIMS_PRIVATE_H
#define TF_SUBCLUSTER_CORE_VICTIMS_PRIVATE_H

#include "subcluster/core/victims/victims.h"

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

/* ---- set.c: sets of units, what they cost, whether they suffice ---- */

void victims_search_init(struct victims_search *search, const struct victims_ask *ask);
void victims_search_release(struct victims_search *search);
void victims_search_take(struct victims_search *search, uint32_t unit); /* it alone */
void victims_search_put_back(struct victims_search *search, uint32_t unit);
void victims_search_set(struct victims_search *search, const bool *set); /* exactly these are taken */
/* The demand fits with what is taken. */
bool victims_search_fits(struct victims_search *search);
/* The core goes, so all other units of its job do. */
bool victims_search_core_taken(const struct victims_search *search, uint32_t unit);
uint32_t victims_search_job_end(const struct victims_search *search, uint32_t unit);
uint32_t victims_search_job_begin(const struct victims_search *search, uint32_t unit);
bool victims_search_may_take(const struct victims_search *search, uint32_t unit);

/* share of whole parts of what the unit loses by itself is added to the cost. */
void victims_cost_add_unit(const struct victims_search *search, uint32_t unit, int64_t share, int64_t whole,
                           int64_t *cost);
/* The job of the unit is hit at the unit's level. */
void victims_cost_add_hit(const struct victims_search *search, uint32_t unit, int64_t *cost);
void victims_cost_of_set(const struct victims_search *search, const bool *set, int64_t *cost);
/* a/of_a against b/of_b */
int victims_cost_cmp(const struct victims_search *search, const int64_t *a, int64_t of_a, const int64_t *b,
                     int64_t of_b);

/* ---- node.c: the cheapest ways of one node ---- */

enum { WAY_UNITS = 64 };

/* One way to more instances on a node: the cheapest for so many. */
struct victim_way {
    int32_t gain;              /* instances more than with what is taken already */
    uint32_t units[WAY_UNITS]; /* to take, cores after their jobs' others */
    size_t count;
};

struct victims_ways;
struct victims_ways *victims_ways_create(void);
void victims_ways_destroy(struct victims_ways *ways);
/* The way with the lowest cost an instance, of those that gain at most `most` (> 0) instances or overshoot
 * it; cost: dims integers, for the gain. by_share: what is spread over nodes costs its share of here. False
 * if there is none. */
bool victims_ways_best(struct victims_ways *ways, struct victims_search *search, uint32_t node, int32_t most,
                       bool by_share, struct victim_way *way, int64_t *cost);

/* ---- one search ---- */

#define CELL_NONE UINT32_MAX

/* Nodes that may hold one job (or, within it, one step) together: one model, one domain of each required
 * rule. */
struct victim_cell {
    uint32_t class; /* one of them */
    int place;      /* of the model in the demand's list */
    uint32_t above; /* of a step's cell: the job's */
};

/* The best way known of one node. */
struct victim_slot {
    uint32_t node;
    size_t at; /* in the heap; SIZE_MAX: it has no way */
    struct victim_way way;
};

struct victims_choice {
    struct victims_search search;
    struct victims_ways *ways;
    TF_VEC(struct victim_cell) cells, step_cells;
    TF_VEC(uint32_t) cell_of, step_cell_of; /* of each class */

    TF_VEC(uint32_t) nodes; /* of the cell under way */
    TF_VEC(struct victim_slot) slots;
    TF_VEC(int64_t) costs; /* slots x dims */
    TF_VEC(uint32_t) heap; /* of slots */
    uint32_t *slot_of;     /* of each node; means something while that slot is of that node */
    TF_VEC(uint32_t) log;  /* units taken, in order */

    bool *best; /* the cheapest set so far */
    int64_t *best_cost, *cost;
    bool found;
    int place; /* of the model under way; of the cheapest set, once found */
};

/* ---- cell.c ---- */

/* Gives each class its cell and its step's. Once, before any search. */
void victims_list_cells(struct victims_choice *choice);
/* The nodes of a job's cell, or of a step's, become those under way. */
void victims_list_nodes(struct victims_choice *choice, uint32_t cell, bool of_step);

/* ---- heap.c ---- */

/* A slot, and its best way to at most `wanted` instances, for each node under way. */
void victims_heap_make(struct victims_choice *choice, int32_t wanted, bool by_share);
/* Looks at the slot's node anew. */
void victims_heap_refresh(struct victims_choice *choice, uint32_t slot, int32_t wanted, bool by_share);
/* Nodes on which something of log[from...] was: their ways have changed. */
void victims_heap_refresh_near(struct victims_choice *choice, size_t from, int32_t wanted, bool by_share);

/* ---- fill.c ---- */

void victims_choice_take(struct victims_choice *choice, uint32_t unit);
void victims_choice_undo(struct victims_choice *choice, size_t log); /* back to that length of the log */
/* Takes, from nothing, what lets the demand be packed in the cell: greedily, so more than it needs; false if
 * all that may go does not suffice. */
bool victims_fill_cell(struct victims_choice *choice, uint32_t cell, bool by_share);

/* ---- trim.c ---- */

/* A unit and what it costs by itself. */
struct victim_priced {
    uint32_t unit;
    const int64_t *cost;
    const struct victims_search *search;
};
/* The dearest first; of equals the one that was found last. */
int victims_priced_cmp(const void *a, const void *b);
/* Puts back what the rest can do without. The log stays. */
void victims_trim(struct victims_choice *choice);

/* ---- victims.c ---- */

/* What is taken is the best set, if it is cheaper than the one so far. */
void victims_choice_keep_if_cheaper(struct victims_choice *choice);

/* ---- exact.c ---- */

/* Finds the cheapest set of all, unless the work that it may do is used up before. Expects a good set
 * already: it is what branches are cut by. */
void victims_choice_search_exactly(struct victims_choice *choice);

#endif
