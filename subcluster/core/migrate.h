/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_MIGRATE_H
#define TF_SUBCLUSTER_CORE_MIGRATE_H

#include "subcluster/core/jobs.h"

/* Chains of moves (DESIGN.md §8.5): make before break, on behalf of an operator, a drain or a plan. A move:
 *
 *     PLANNED -> RESERVED -> STARTING -> READY -> SWITCHED -> STOPPING -> DONE
 *        |          |           |          |         |
 *        +----------+-----------+----------+---------+--> ROLLED_BACK
 *
 *  PLANNED      the chain waits for room: nothing is claimed. At most MIGRATE_WAIT.
 *  RESERVED     all claims of all moves of the chain were taken in one transaction (the chain is one record,
 *               migrations/<id>, and its claims are in it). It waits until its place is free (moves before it
 *               may have to go first) and the limits on running moves let it begin.
 *  STARTING     the new instance holds its place and starts: same index, next attempt. From here on the job's
 *               own record is the truth; it is stored before the chain says so, or with it.
 *  READY, SWITCHED  it was ready, and took the old one's line in the peers file.
 *  STOPPING     the switch is durable, and the new one is still ready: the old one's stopDelay, grace and
 *               forced stop. The point of no return.
 *
 * A job with `migration: restart` is not double-booked: RESERVED -> STOPPING (all of it stops) -> STARTING
 * (all of it starts, those of the chain in their new places) -> DONE; all its moves of a chain go together.
 *
 * An instance may go by way of a spare place, where it waits until its own is free: that is two moves of the
 * chain, the second from where the first leads to. In between it is like any other instance, and if the
 * second move comes to nothing it stays there: the place is its own.
 *
 * What rolls back gives up its claim and, if it has begun, stops the new instance; the moves of its chain
 * that wait for its place roll back too, others go on. A job whose move failed is not moved again for a
 * growing while. Chains that are over stay known as history, the latest MIGRATE_HISTORY. */

enum { MIGRATE_WAIT = 5 * TF_MINUTE, MIGRATE_HISTORY = 100 };

struct migrate_want {
    struct tf_uid uid;
    uint32_t index;
    const char *to; /* NULL: chosen here */
};

struct migrate_ask {
    struct tf_uid id; /* of the chain: the same again changes nothing */
    enum tf_move_cause cause;
    const char *owner, *reason, *user; /* may be NULL */
    const struct migrate_want *wants;  /* in the order in which they must happen; an instance comes twice at
                                          most, each time with a node, and not if its job restarts */
    size_t count;
    bool may_restart;              /* jobs with migration: restart, too */
    const struct tf_strs *empties; /* nodes that take nothing until all of it is over; NULL: none */
};

/* What became of one want. */
struct migrate_place {
    char *node;    /* where it would go, or NULL: */
    char *refusal; /* why not */
    uint64_t gpus;
    bool waits; /* for another move of the chain, or for waiting work that is considered first (offers.h) */
};
struct migrate_plan {
    struct migrate_place *items; /* one a want */
    size_t count, cap;
    bool possible; /* none was refused */
};
void migrate_plan_release(struct migrate_plan *plan);
/* Where each would go now; nothing changes but that the ledger is brought up to date. plan is zeroed. */
void migrate_plan_make(struct sub *sub, const struct migrate_ask *ask, struct migrate_plan *plan);

/* Begins the chain, all of it or nothing: NULL, or why not (the caller frees it). What only has to wait, for
 * a brake or for work that is considered first, is no refusal: it is PLANNED. */
char *migrate_begin(struct sub *sub, const struct migrate_ask *ask);

/* NULL if there is none, or it is history no more. Borrowed until the next step. */
const struct tf_migration *migrate_find(const struct sub *sub, struct tf_uid id);
/* By the order in which they were made; `at` counts from 0, NULL at the end. */
const struct tf_migration *migrate_at(const struct sub *sub, size_t at);
/* Of that instance, not over; NULL if it does not move. */
const struct tf_move *migrate_of(const struct sub *sub, struct tf_uid uid, uint32_t index);
/* Something of the job moves, or is to. */
bool migrate_has(const struct sub *sub, struct tf_uid uid);
/* What waits in the chain goes on, or begins no further. What has begun goes on. False: there is none. */
bool migrate_pause(struct sub *sub, struct tf_uid id, bool paused);
/* It can be rolled back yet: neither is it over, nor is the old one gone for it. */
bool migrate_has_way_back(const struct tf_move *move);
/* What has no way back goes on, all else is rolled back. False: there is none, or it is over. */
bool migrate_abort(struct sub *sub, struct tf_uid id, const char *why);

/* What people ask (TF_ASK_MIGRATE); what changes nothing is answered by the daemon. The answer leaves when
 * what was done is durable. */
void migrate_asked(struct sub *sub, const struct tf_ask *ask);

/* ---- of this core ---- */

/* Takes it, if it is sound; else why not. */
const char *migrate_load(struct sub *sub, struct tf_migration *record);
/* All records are there: the chains go by what the jobs' records say. */
void migrate_loaded(struct sub *sub);
/* Takes the next steps of all that move. The ledger must have been refreshed. */
void migrate_look(struct sub *sub);
struct tf_mono migrate_due(const struct sub *sub); /* of their waits; TF_NEVER */
/* That instance's move is rolled back in the job's record, or will be with its epoch: so is the chain's. */
void migrate_undone(struct sub *sub, const struct job *job, uint32_t index, const char *why);
/* The place that is claimed for the member of a job that has stopped as a whole; NULL: it stays where it is.
 * Its claim is its holding from now on. */
const struct tf_claim *migrate_restart_place(struct sub *sub, const struct job *job, uint32_t index);
/* Classes or their ranks have changed. */
void migrate_set_levels(struct sub *sub);
void migrate_release_all(struct sub *sub);

/* For victims (§5: a reservation ranks at its owner's level): calls for each place that is claimed for a
 * move, or held by a new instance that is no member yet. */
struct migrate_stake {
    struct tf_uid migration;
    size_t move;
    const char *node;
    bool claimed; /* else held */
    uint64_t gpus;
    struct tf_vector amount;
    tf_level level;
};
typedef void migrate_stake_f(const struct migrate_stake *stake, void *arg);
void migrate_each_stake(const struct sub *sub, migrate_stake_f *each, void *arg);
/* It goes to that job, whose claim is stored no earlier. */
void migrate_take(struct sub *sub, struct tf_uid migration, size_t move, const struct job *taker);

#endif
