/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_MIGRATION_H
#define TF_MODEL_MIGRATION_H

#include "common/base/clock.h"
#include "common/base/list.h"
#include "common/base/vec.h"
#include "common/model/id.h"

#include <stdbool.h>
#include <stdint.h>

/* Instances that go from node to node (DESIGN.md §8.5): one chain of moves, which is one record of its
 * subcluster. Wire format: numbers are appended only. Strings are owned. */

/* A claim on a node's capacity for an owner that does not hold it yet (§1, §8.2). */
struct tf_claim {
    char *node;
    uint64_t gpus;
    int64_t cpu, memory;
    int32_t slots;
    struct tf_wall until; /* 0 = until its owner's work is done */
};

enum tf_move_state {
    TF_MOVE_NONE = 0,
    TF_MOVE_PLANNED = 1,  /* nothing is claimed */
    TF_MOVE_RESERVED = 2, /* its place is claimed; all moves of a chain get there at once */
    TF_MOVE_STARTING = 3, /* the new instance holds its place, and starts */
    TF_MOVE_READY = 4,    /* and is ready */
    TF_MOVE_SWITCHED = 5, /* it is in the peers file in the old one's stead */
    TF_MOVE_STOPPING = 6, /* the old one is told to stop: there is no way back */
    TF_MOVE_DONE = 7,
    TF_MOVE_ROLLED_BACK = 8, /* nothing of it is left, or the new instance is being stopped */
};
const char *tf_move_state_name(enum tf_move_state state); /* "RESERVED"; "?" of an unknown number */
static inline bool tf_move_is_over(enum tf_move_state state)
{
    return state == TF_MOVE_DONE || state == TF_MOVE_ROLLED_BACK;
}

struct tf_move {
    struct tf_uid uid; /* of the job */
    char *tenant, *name;
    uint64_t epoch;
    uint32_t index;
    uint32_t attempt; /* of the new instance; 0 = it has none yet */
    bool restarts;    /* its job stops and starts as a whole: STOPPING comes before STARTING */
    char *from;
    char *wanted;          /* the node that was asked for; NULL = any */
    struct tf_claim claim; /* where to; its node is NULL as long as that is not chosen */
    enum tf_move_state state;
    struct tf_wall reserved, started, ready, switched, stopping, ended;
    char *why; /* it was rolled back */
};

/* Who wants it. */
enum tf_move_cause {
    TF_MOVE_BY_NOBODY = 0,
    TF_MOVE_BY_OPERATOR = 1,
    TF_MOVE_BY_DRAIN = 2,
    TF_MOVE_BY_DEFRAG = 3,
};
const char *tf_move_cause_name(enum tf_move_cause cause); /* "operator" */

enum { TF_MOVES_MAX = 512 }; /* of one chain */

struct tf_migration {
    struct tf_uid id;
    enum tf_move_cause cause;
    char *owner;                  /* the name of the drain or plan; NULL: of none */
    char *reason, *user;          /* may be NULL */
    struct tf_wall created;       /* never changes: their order */
    struct tf_wall until;         /* it waits for its places no longer than that */
    struct tf_wall ended;         /* all of its moves are over since then; 0 = not all */
    bool paused;                  /* begins no further move */
    TF_VEC(struct tf_move) moves; /* in the order in which they must happen */
    struct tf_strs empties;       /* nodes that take nothing until all of it is over */
};

/* What people, or the federation for them, ask of one subcluster. */
enum tf_migrate_verb {
    TF_MIGRATE_NONE = 0,
    TF_MIGRATE_BEGIN = 1,
    TF_MIGRATE_PLAN = 2, /* where would what go? Answered with a chain that nothing comes of */
    TF_MIGRATE_LIST = 3, /* all chains that are known */
    TF_MIGRATE_PAUSE = 4,
    TF_MIGRATE_RESUME = 5,
    TF_MIGRATE_ABORT = 6,
};
struct tf_migrate_order {
    enum tf_migrate_verb verb;
    struct tf_uid id;  /* of the chain; BEGIN: the same again changes nothing */
    struct tf_uid uid; /* BEGIN, PLAN: of this job; none: of all that have something on `from` */
    bool all;          /* all of its instances (those on `from`); else this one: */
    uint32_t index;
    char *from, *to; /* nodes; NULL: any */
    bool may_restart;
    char *reason, *user;
};

/* init by zeroing; release frees what is owned and zeroes; copy is deep, and releases what was in to first */
void tf_claim_release(struct tf_claim *claim);
void tf_claim_copy(struct tf_claim *to, const struct tf_claim *from);
void tf_move_release(struct tf_move *move);
void tf_move_copy(struct tf_move *to, const struct tf_move *from);
void tf_migration_release(struct tf_migration *migration);
void tf_migration_copy(struct tf_migration *to, const struct tf_migration *from);

void tf_migrate_order_release(struct tf_migrate_order *order);
void tf_migrate_order_copy(struct tf_migrate_order *to, const struct tf_migrate_order *from);

bool tf_migration_is_over(const struct tf_migration *migration); /* all of its moves are */
/* NULL, or what is wrong with one that was stored. */
const char *tf_migration_fault(const struct tf_migration *migration);

#endif
