/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_CONSOLIDATE_H
#define TF_SUBCLUSTER_CORE_CONSOLIDATE_H

#include "common/model/resource.h"

/* Which instances to move so that scattered GPUs become whole nodes (DESIGN.md §8.4, BOUNDS.md §2). A pure
 * function of flat arrays: knows nothing of records, says what would be moved and moves nothing. One call is
 * about nodes of one GPU model, as an instance stays on the model that its job was started on.
 *
 *  1. Sites (nodes that may be freed) from the cheapest on, and those that are meant to be freed take
 * nothing. Whatever can be freed by direct moves first; then, for the shortfall only, by ejection chains.
 *  2. The same in other orders, and with chains from the start. The best counts: most freed, then least cost.
 *  3. Each instance goes where it leaves the least; one for which nothing is free ejects strictly smaller
 *     ones, at most CONSOLIDATE_DEPTH deep. What was ejected is placed largest first. With GPUs alone, and
 *     sizes each of which divides the next, this never fails where the slot lemma says that it could be done:
 *     a place for an instance of s GPUs is missing only if smaller ones are in the way.
 *  4. Only net moves count: an instance that went from node to node goes directly, and one that would take
 * the place of its like lets that one stay.
 *  5. In an order in which every target is free before its move starts (make before break). A cycle is broken
 *     by a pivot: one of it waits in a spare place meanwhile, which costs a move more.
 *
 * The whole of it at once: 20,000 nodes take a tenth of a second, and groups of 500 would lose up to 1.2 % of
 * what can be freed. */

enum { CONSOLIDATE_DEPTH = 3, CONSOLIDATE_GPUS_MAX = 64 };
#define CONSOLIDATE_ANY UINT32_MAX /* of classes: all; of domains: none */

enum consolidate_lock {
    CONSOLIDATE_MOVABLE,
    CONSOLIDATE_NEVER,     /* migration: never */
    CONSOLIDATE_RESTART,   /* migration: restart, and the caller does not allow it */
    CONSOLIDATE_READY_MIN, /* its job is at its readyMin */
    CONSOLIDATE_BUSY,      /* its job is in a transition, or it is not ready */
    CONSOLIDATE_SPREAD,    /* its job has rules about nodes that a move could break */
    CONSOLIDATE_LOCKS
};

struct consolidate_node {
    struct tf_vector capacity; /* that ours may use: without foreign use and what is bad; slots > 0 */
    struct tf_vector free;     /* nobody holds or claims it; 0 or more */
    uint32_t class;            /* below class_count */
    uint32_t domain;           /* below domain_count, or CONSOLIDATE_ANY */
    bool site;                 /* may be freed */
    bool takes;                /* may take instances */
};

struct consolidate_instance {
    uint32_t node;
    struct tf_vector need;
    uint32_t job; /* below job_count */
    uint32_t set; /* the classes of nodes that it may go to; CONSOLIDATE_ANY */
    enum consolidate_lock lock;
    bool whole_job; /* all of its job goes at once, or nothing: it waits in no spare place */
    int64_t cost; /* of moving it, in a unit of the caller's; > 0. Its GPUs, where nothing is known better */
};

/* All is borrowed for the call. */
struct consolidate_ask {
    const struct consolidate_node *nodes;
    const struct consolidate_instance *instances;
    size_t node_count, instance_count, job_count, class_count;
    const uint64_t *sets; /* set_count bit sets of classes, each of (class_count + 63) / 64 words */
    size_t set_count;
    const int32_t *job_at_once; /* of each job: instances that may move at the same time, > 0; NULL: any */
    struct tf_vector unit;      /* what is to be freed: room for this on a node; gpus 0: a whole node */
    uint32_t unit_set;          /* classes of nodes on which it counts; CONSOLIDATE_ANY */
    int32_t want;               /* so many more than there are; INT32_MAX: as many as possible */
    size_t domain_count;        /* > 0: in one domain, that in which most are free afterwards */
    int32_t max_moves;          /* 0 = no limit */
    int64_t max_cost;           /* 0 = no limit */
    bool spares_once;           /* a spare place serves one cycle, and is on no node that is freed */
    int32_t at_once;            /* moves that run at the same time; 0 = no limit */
    int64_t budget;             /* nodes and instances looked at, at most about; 0 = no limit */
};

/* In order: each may start when all before it of a lower wave are done. */
struct consolidate_move {
    uint32_t instance, from, to;
    uint32_t chain; /* the same for moves of which one waits for another's place; ascending from 0 */
    uint32_t wave;  /* moves of one wave may run at the same time; from 0 */
    bool pivot;     /* the first half of a way that needs a spare place */
};

struct consolidate_site {
    uint32_t node;
    int32_t units;
    uint32_t wave; /* it is free after this wave */
};

struct consolidate_figures {
    int32_t before;             /* units that are free on sites now */
    int32_t freed;              /* that the plan adds */
    int32_t best;               /* no plan whatever adds more: W* less what is free */
    int32_t moves, moves_bound; /* a plan that frees as many moves at least so many instances ... */
    int32_t gpus, gpus_bound;   /* ... and so many GPUs */
    int64_t cost;               /* of what is moved, in the caller's unit; a pivot's instance counts twice */
    int32_t pivots, chains, waves;
    int32_t double_booked; /* GPUs held twice, at most, if each wave ends before the next begins */
    int32_t ejected;       /* instances moved from nodes that are not freed */
    int32_t locked[CONSOLIDATE_LOCKS]; /* instances on sites, by what locks them */
    int32_t sites_locked;              /* sites that cannot be whole, because of one of those */
    int64_t work;                      /* nodes and instances looked at */
    bool cut;                          /* the budget was used up: more may be possible */
};

struct consolidate_plan {
    TF_VEC(struct consolidate_move) moves;
    TF_VEC(struct consolidate_site) sites; /* as they are freed */
    uint32_t domain;                       /* that was chosen; CONSOLIDATE_ANY */
    struct consolidate_figures figures;
};

/* out is zeroed or initialised. */
void consolidate_plan_make(const struct consolidate_ask *ask, struct consolidate_plan *out);
void consolidate_plan_release(struct consolidate_plan *plan);

/* No plan whatever frees more units (BOUNDS.md §2); as figures.best. */
int32_t consolidate_most(const struct consolidate_ask *ask);

/* Carries the plan out in thought, wave by wave, on what the ask says is free. NULL: each target is free
 * before its move starts, and every site has what the plan says; else what is wrong with it. The plan may
 * come from anywhere. */
const char *consolidate_plan_fault(const struct consolidate_ask *ask, const struct consolidate_plan *plan);

/* "migration: never" */
const char *consolidate_lock_text(enum consolidate_lock lock);

#endif
