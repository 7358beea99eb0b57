/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_RECLAIM_H
#define TF_SUBCLUSTER_CORE_RECLAIM_H

#include "subcluster/core/jobs.h"

/* Urgent work takes what others have (DESIGN.md §8.2): commit or nothing. First a plan, which changes
 * nothing: who goes, and which GPUs of which nodes the job will have. Then, in one decision, durable claims
 * on exactly these in its name and the begin of the evictions. When nobody is in the way of any claim any
 * more, their owner becomes the holder and starts.
 *
 * While it waits (CLAIMING), it is looked at whenever some node has changed: if the whole of it fits into
 * what is free by then, its claims move there and it starts; if a claim cannot be had any more (its node is
 * gone, a stop is stuck) and it does not, it is refused, for the leader to try elsewhere.
 *
 * A claim ranks at its owner's core level (DESIGN.md §5): a higher priority may take it like any core. The
 * owner's epoch ends `evicted`, which sends it back to its place in the queue. Evictions that had begun for
 * it go on: what they free is the taker's, or free.
 *
 * A running job claims what it lacks of its core in the same way (shortage.h), while it runs. Those claims go
 * without it: whatever ranks higher in the job (a release, a smaller size, a loss), a higher priority, or a
 * node that is lost ends them, and repair begins anew. */

/* A job of which victims were chosen. */
struct evicted_job {
    struct tf_uid uid;
    bool waits; /* for claims of its own, which are taken; nothing that runs is stopped */
    struct tf_uid
        migration; /* or it is the place of a move of this chain, which is rolled back, and no job */
    size_t move;
    bool whole; /* the job; else surplus steps of it: */
    TF_VEC(int32_t) marks;
    tf_level level; /* the highest that was taken from it */
    int64_t lost_gpu_seconds;
};

struct reclaim_plan {
    int32_t model;  /* of the catalog, -1 = none asked */
    tf_level level; /* highest touched */
    TF_VEC(struct evicted_job) evicted;
    TF_VEC(struct tf_claim) claims; /* one an instance */
    int64_t work;                   /* candidates looked at; also when there is no plan */
};

void reclaim_plan_release(struct reclaim_plan *plan);
/* The cheapest way to the demand's core by taking at most `level`; false, and only `work` in plan, if there
 * is none. The ledger must have been refreshed. plan is zeroed or initialised. */
bool reclaim_plan_make(struct sub *sub, const struct tf_demand *demand, tf_level level,
                       struct reclaim_plan *plan);
/* The same for a step more of a running job: who of the ranks below lets which surplus go. No claims are made
 * of it. The demand's core is the step. */
bool reclaim_plan_surplus(struct sub *sub, const struct tf_demand *demand, int below,
                          struct reclaim_plan *plan);
/* Begins these evictions, in the name of the job. */
void reclaim_let_go(struct sub *sub, const struct job *job, const struct reclaim_plan *plan);
/* maxEvictionsPerMinute does not let so many jobs be evicted now. */
bool reclaim_is_braked(const struct sub *sub, const struct reclaim_plan *plan);
/* The job is CLAIMING, or runs and is short, without claims yet: it gets those of the plan (which are taken),
 * out of the entry's reservations, too (entry may be NULL), and evictions begin. */
void reclaim_commit(struct sub *sub, struct job *job, const struct tf_entry *entry,
                    struct reclaim_plan *plan);
/* In the ledger its claims are no more, or are again: what they are may change between. */
void reclaim_unhold(struct sub *sub, struct job *job);
void reclaim_hold(struct sub *sub, struct job *job);
/* It has claims by its record: it was loaded, or they are of what is free. */
void reclaim_load(struct sub *sub, struct job *job);
/* Its class, or the classes in force, have changed. */
void reclaim_set_levels(struct sub *sub, struct job *job);

/* Looks at all that wait for their claims. Before new placements. */
void reclaim_look(struct sub *sub);
/* The engine has told of everything: what holders gave up until then may be all that claims have waited for.
 */
void reclaim_listed(struct sub *sub);
/* The owner's epoch is over: its claims are given up by the last change. */
void reclaim_drop(struct sub *sub, struct job *job);
/* A running job claims nothing any more. Nothing happens if it does not now. */
void reclaim_give_up(struct sub *sub, struct job *job, const char *why);
/* A running job has claims: they may be free by now, or what made them wait is over. */
void reclaim_look_at(struct sub *sub, struct job *job);

#endif
