/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_CONSOLIDATE_PRIVATE_H
#define TF_SUBCLUSTER_CORE_CONSOLIDATE_PRIVATE_H

#include "subcluster/core/consolidate/consolidate.h"

/* What the files of consolidate share. */

#define IN_HAND UINT32_MAX /* node of an instance that was lifted and not yet put down */

/* A node while a plan is made. */
enum { TABLES_MAX = 9 };
struct bin {
    struct tf_vector free;     /* less what is kept free as a result */
    struct tf_vector kept;     /* that: units that are free, or were freed */
    uint32_t first;            /* of its instances; IN_HAND: none */
    uint32_t rank;             /* among equals the lowest takes first: those that are dear to free */
    bool open;                 /* it takes instances */
    int32_t movable;           /* instances on it that may move */
    int32_t small[TABLES_MAX]; /* GPUs of those that are smaller than each table's size */
    uint32_t bucket;           /* in the tables */
    uint32_t tables;           /* bit set of those that it is in */
};

struct pool_step {
    uint32_t instance, from, to;
};

/* Nodes that take instances, in tables of buckets: by free GPUs, then by free CPU in coarse levels; in a
 * bucket by rank. Table 0 has all of them; each other one those on which an instance of its size might find a
 * place if smaller ones left. */
enum { POOL_CPU_LEVELS = 16 };
struct bucket_index {
    int32_t gpus; /* the most of a node */
    size_t words; /* of one bucket's bit set of ranks, its summary behind it */
    size_t summary;
    uint64_t *bits;
    uint32_t *count;
    uint32_t *by_rank; /* nodes */
    int64_t cpu_max;
    int32_t sizes[TABLES_MAX]; /* GPUs, of each table, ascending; the first is not used */
    size_t tables;
    bool exact; /* every size there is has its table */
    bool plain; /* nothing but GPUs counts */
};

/* The instances where the plan so far has them. */
struct pool {
    const struct consolidate_ask *ask;
    struct bin *bins;
    uint32_t *at, *next, *prev;   /* of each instance */
    TF_VEC(struct pool_step) log; /* for undoing */
    struct bucket_index index;
    uint32_t *set_first, *set_nodes; /* nodes of each set, where they are few; set_first: one more */
    int32_t moved;                   /* instances that are not where they were */
    int64_t cost;
    int64_t work;
    int64_t far; /* looks that may still be spent beyond the first of each bucket */
};

/* ---- pool.c ---- */

void pool_init(struct pool *pool, const struct consolidate_ask *ask);
void pool_release(struct pool *pool);
bool pool_admits(const struct pool *pool, uint32_t set, uint32_t node);
/* Takes the instance off its node. */
void pool_lift(struct pool *pool, uint32_t instance);
void pool_put(struct pool *pool, uint32_t instance, uint32_t node); /* one that is in hand */
void pool_undo(struct pool *pool, size_t log);                      /* back to that length of the log */
/* The node takes instances from now on, or does not. */
void pool_open(struct pool *pool, uint32_t node);
void pool_close(struct pool *pool, uint32_t node);
/* So much of what is free there stays free; a negative amount is given back. */
void pool_keep(struct pool *pool, uint32_t node, struct tf_vector amount);

/* Nodes of a set that has few, sorted; count 0: it has many. */
const uint32_t *pool_set_nodes(const struct pool *pool, uint32_t set, size_t *count);

/* ---- index.c ---- */

void index_init(struct pool *pool);
void index_release(struct bucket_index *index);
/* The instance came to the bin, or left it (sign -1); index_update follows. */
void index_count(struct pool *pool, struct bin *bin, const struct consolidate_instance *instance, int sign);
/* The bin has changed. */
void index_update(struct pool *pool, struct bin *bin);

/* Looks at nodes that take, of those that the instance may go to, until look returns false. At most
 * POOL_LOOKS a bucket; far: more, while there is something left of pool->far.
 * Direct: from the fewest free GPUs that suffice on; then by free CPU, then rank.
 * Ejecting: only where smaller ones could make the place; from the most free GPUs down. */
enum { POOL_LOOKS = 48, POOL_FAR = 100 };
typedef bool pool_look_f(struct pool *pool, uint32_t node, void *ctx);
void pool_each_direct(struct pool *pool, uint32_t instance, pool_look_f *look, void *ctx);
void pool_each_ejecting(struct pool *pool, uint32_t instance, bool far, pool_look_f *look, void *ctx);

/* ---- place.c ---- */

/* Chooses, of the movable instances of the node, those that must go so that `need` is free there, few GPUs
 * first; below (IN_HAND: any): only smaller ones than that instance. False: it cannot be. */
enum { CHOICE_MAX = 64 };
struct choice {
    uint32_t items[CHOICE_MAX];
    size_t count;
    int32_t gpus;
    int64_t cost;
};
bool choose_leavers(struct pool *pool, uint32_t node, struct tf_vector need, uint32_t below,
                    struct choice *out);
/* Puts down the instances, which are in hand, and whatever they eject. False: the pool is to be undone. */
bool place_all(struct pool *pool, const uint32_t *instances, size_t count, bool eject);

/* ---- order.c ---- */

/* The moves from where the instances are to where the pool has them, in order; sites are in plan. */
void order_moves(struct pool *pool, struct consolidate_plan *plan);

/* ---- bound.c ---- */

/* What a plan that frees `freed` more can at best be: figures' best and bounds. */
void bound_plan(const struct consolidate_ask *ask, uint32_t domain, struct consolidate_figures *out,
                int32_t freed);
/* W* less what is free, for one domain or CONSOLIDATE_ANY. */
int32_t bound_units(const struct consolidate_ask *ask, uint32_t domain);

/* ---- all ---- */

static inline bool is_whole(const struct consolidate_ask *ask)
{
    return ask->unit.gpus == 0;
}

/* What one unit is on the node. */
static inline struct tf_vector unit_of(const struct consolidate_ask *ask, uint32_t node)
{
    return is_whole(ask) ? ask->nodes[node].capacity : ask->unit;
}

bool is_site(const struct consolidate_ask *ask, uint32_t node, uint32_t domain);
bool set_admits(const struct consolidate_ask *ask, uint32_t set, uint32_t class);

#endif
