/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_DEFRAG_H
#define TF_MODEL_DEFRAG_H

#include "common/base/list.h"
#include "common/model/id.h"

/* What people ask a subcluster to free, and what it would move for that (DESIGN.md §8.4). Strings are owned.
 */

enum { TF_DEFRAG_MOVES_MAX = 512, TF_DEFRAG_NODES_MAX = 4096 };

struct tf_defrag_order {
    bool apply;           /* else a question; these two are of apply: */
    struct tf_uid id;     /* of the chain that it becomes: the same again changes nothing */
    uint64_t digest;      /* of the plan that was read: no other is carried out */
    char *model;          /* of GPUs; NULL: the only one there is */
    struct tf_strs nodes; /* only these are freed; empty: any */
    int32_t worst;        /* only so many, those with the most idle GPUs beside work; 0: any */
    int32_t want;         /* so many more than there are; 0: as many as possible */
    bool total;           /* want counts those that are free already, too */
    int32_t gpus;         /* of what is to be free on a node, with: 0 = whole nodes */
    int64_t cpu, memory;  /* millicores, MiB */
    char *plane, *within; /* all in one domain of that level (plane NULL: its only one); NULL: anywhere */
    int32_t max_moves;    /* 0: TF_DEFRAG_MOVES_MAX */
    bool may_restart;     /* jobs with migration: restart, too */
    char *reason, *user;  /* may be NULL */
    char *for_job;        /* TENANT/NAME: what is freed is kept for it, which waits; NULL: for nobody */
};

struct tf_defrag_move {
    char *tenant, *name;
    struct tf_uid uid;
    uint32_t index;
    int32_t gpus;
    char *from, *to;
    uint32_t chain,
        wave; /* moves of one wave may run at once; those of a chain wait for each other's places */
};

struct tf_defrag_site {
    char *node;
    int32_t units;
    uint32_t wave; /* it is free after this one */
};

/* So many nodes have so many GPUs free. */
struct tf_defrag_bucket {
    int32_t free, before, after;
};

/* What does not move, and why. */
struct tf_defrag_lock {
    char *why;
    int32_t instances;
};

struct tf_defrag_plan {
    char *text; /* nothing can be planned, and why; NULL: it could */
    char *note; /* why it could not be carried out now; NULL: it could */
    uint64_t digest;
    char *model, *domain; /* domain NULL: none was asked for */
    TF_VEC(struct tf_defrag_move) moves;
    TF_VEC(struct tf_defrag_site) sites;
    TF_VEC(struct tf_defrag_bucket) buckets; /* by free GPUs */
    TF_VEC(struct tf_defrag_lock) locks;
    int32_t nodes;         /* that were looked at */
    int32_t before, freed; /* units free now, and more by the plan */
    int32_t best;          /* no plan frees more */
    int32_t moves_bound, gpus, gpus_bound, double_booked, waves;
    int32_t sites_locked; /* nodes that something locked keeps from becoming whole */
    bool cut;             /* a limit of the planner's work or of moves ended it */
};

/* init by zeroing; release frees what is owned and zeroes; copy is deep, and releases what was in to first */
void tf_defrag_order_release(struct tf_defrag_order *order);
void tf_defrag_order_copy(struct tf_defrag_order *to, const struct tf_defrag_order *from);
void tf_defrag_plan_release(struct tf_defrag_plan *plan);

/* Of what a plan moves and in which order: equal plans, equal digests. */
uint64_t tf_defrag_digest(const struct tf_defrag_plan *plan);
/* NULL, or what is wrong with it, to be said to who asked. */
const char *tf_defrag_order_fault(const struct tf_defrag_order *order);

#endif
