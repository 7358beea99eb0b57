/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_PHASE_H
#define TF_MODEL_PHASE_H

/* What is shown as words and stored as numbers. Numbers are wire format: append only. The _name functions
 * give the word ("Pending", "NOT_ENOUGH_NODES", "released"); an unknown number gives "?". */

enum tf_phase {
    TF_PHASE_NONE = 0,
    TF_PHASE_PENDING = 1,
    TF_PHASE_HELD = 2,
    TF_PHASE_STARTING = 3,
    TF_PHASE_RUNNING = 4, /* the epoch's core was fully ready once */
    TF_PHASE_STOPPING = 5,
    TF_PHASE_SUCCEEDED = 6,
    TF_PHASE_FAILED = 7,
    TF_PHASE_DELETED = 8,
};
const char *tf_phase_name(enum tf_phase phase);
int tf_phase_is_final(enum tf_phase phase); /* Succeeded, Failed, Deleted */

/* Why a job is not running in a subcluster; in the order in which the first that applies is shown (DESIGN.md
 * §3.1). */
enum tf_reason {
    TF_REASON_NONE = 0,
    TF_REASON_POLICY = 1,
    TF_REASON_CLUSTER_LOST = 2,
    TF_REASON_CLUSTER_CORDONED = 3,
    TF_REASON_NO_SUCH_MODEL = 4,
    TF_REASON_GPU_MEMORY = 5,
    TF_REASON_NODE_TOO_SMALL = 6,
    TF_REASON_NOT_ENOUGH_NODES = 7,
    TF_REASON_TOPOLOGY = 8,
    TF_REASON_HIGHER_PRIORITY = 9,
    TF_REASON_PROTECTED = 10,
    TF_REASON_CLAIMED = 11,
    TF_REASON_CPU_MEMORY = 12,
    TF_REASON_GPUS = 13,
    TF_REASON_BRAKE = 14,
    TF_REASON_FROZEN = 15,
    TF_REASON_REFUSED = 16,
    TF_REASON_IN_FLIGHT = 17,
    TF_REASON_NOT_CONSIDERED_YET = 18,
    TF_REASON_HELD = 19, /* of the job itself: fedctl resume releases it */
    TF_REASON_FENCE_UNSUPPORTED = 20,
    TF_REASON_UNKNOWN_EPOCH = 21, /* at or below the subcluster's floor, without a record */
    TF_REASON_ENGINE = 22,        /* the engine refused: its words are in the text */
    TF_REASON_NO_CLUSTERS = 23,   /* no subcluster is registered */
};
const char *tf_reason_name(enum tf_reason reason);

/* How an epoch ended: once. */
enum tf_end {
    TF_END_NONE = 0,
    TF_END_RELEASED = 1,
    TF_END_EVICTED = 2,
    TF_END_FENCED = 3,
    TF_END_FINISHED = 4,
    TF_END_FAILED = 5,
    TF_END_LOST = 6,
    TF_END_REFUSED = 7,
    TF_END_UNKNOWN = 8, /* the subcluster has no record of it and never started it; the leader stores lost */
};
const char *tf_end_name(enum tf_end end);

/* Why the leader wants an epoch to end. */
enum tf_release {
    TF_RELEASE_NONE = 0,
    TF_RELEASE_DELETE = 1,
    TF_RELEASE_HOLD = 2,
    TF_RELEASE_RESTART = 3, /* apply --restart: the same uid goes on with a new spec and epoch */
    TF_RELEASE_ORPHAN = 4,  /* the leader knows of no such placement */
    TF_RELEASE_MOVE = 5,
};
const char *tf_release_name(enum tf_release release);

/* One instance, as the ledger of its subcluster has it. */
enum tf_member_state {
    TF_MEMBER_NONE = 0,
    TF_MEMBER_PLANNED = 1,  /* recorded; the engine may or may not have been asked */
    TF_MEMBER_STARTING = 2, /* the engine said so */
    TF_MEMBER_READY = 3,
    TF_MEMBER_STOPPING = 4,
    TF_MEMBER_DONE = 5,    /* ended with code 0 */
    TF_MEMBER_BACKOFF = 6, /* failed; the next attempt starts at retry_at */
    TF_MEMBER_GONE = 7,    /* stopped or lost, will not run again in this epoch */
    TF_MEMBER_LEAVING = 8, /* no part of the job any more; holds what it has until it is gone */
    TF_MEMBER_MISSING = 9, /* lost, and holds nothing; it is to be replaced before the job goes on */
};
const char *tf_member_state_name(enum tf_member_state state);

/* What one that has been started is to the job. */
enum tf_member_role {
    TF_MEMBER_OF_JOB = 0,
    TF_MEMBER_JOINS = 1, /* no member yet: it is one when all of its step is ready */
    TF_MEMBER_REPLACES =
        2, /* a member that was lost: out of the peers file until all that are missing are there */
    TF_MEMBER_MOVES_IN = 3,  /* no member yet: takes the place of one that runs elsewhere when it is ready */
    TF_MEMBER_MOVES_OUT = 4, /* no member any more: another is, and it runs on until that is safe */
};

enum tf_node_state {
    TF_NODE_NONE = 0,
    TF_NODE_READY = 1,
    TF_NODE_UNREACHABLE = 2,
    TF_NODE_LOST = 3,
    TF_NODE_CORDONED = 4,
    TF_NODE_DRAINING = 5,
};
const char *tf_node_state_name(enum tf_node_state state);

#endif
