/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_STATE_H
#define TF_SUBCLUSTER_CORE_STATE_H

#include "common/base/rng.h"
#include "common/base/tree.h"
#include "common/model/journal.h"
#include "subcluster/core/ledger.h"
#include "subcluster/core/sub.h"

/* All that a subcluster's core knows. Private to this folder; who may change which part is said at the top of
 * each .c. Everything here but the records can be asked again: it is gone with a restart. */

/* What is known of a member's present attempt besides its record. */
struct member_run {
    uint32_t node; /* its number in the ledger */
    bool asked;    /* its start was: never twice, since the engine may refuse the first and do the second */
    bool seen;     /* the engine has told of it since boot */
    bool known;    /* and not that it never ran: that is told also when all else of the epoch is forgotten */
    bool begun;    /* and that it is starting: its time to become ready counts from then */
    bool stuck;    /* its stop took longer than it may: alarmed once */
    struct tf_mono due;   /* start time-out, end of back-off or bound of a stop, by its state */
    struct tf_mono retry; /* earliest next attempt, of one that will be tried again */
};

struct job {
    struct tf_tree_node by_uid; /* beside the uid, with which the record begins */
    struct tf_allocation record;
    TF_VEC(struct member_run) runs; /* one a member, same place */
    struct tf_mono runtime_due;     /* end of maxRuntime */
    struct tf_mono protected_until; /* end of minRuntime; TF_NEVER: not protected (any more) */
    struct tf_mono restart_due;     /* those that stay start again together */
    struct tf_mono repair_due;      /* what it misses must be on its way by then */
    struct tf_mono leave_due;       /* it is ended then: that was promised (yield.h) */
    struct tf_mono grow_at;         /* the latest growth failed: not before */
    struct tf_mono move_at;         /* the latest move failed: not before */
    struct tf_mono shrunk;          /* last; means nothing while its record knows of no time when */
    bool serve;                     /* it is short, in another way than when it was served last */
    bool unconfirmed;               /* of a restored store, and the leader has not named its epoch since */
    struct tf_mono resized;         /* it has its size since then, */
    int32_t noted_size;             /* which is that */
    struct tf_mono saved;           /* its latest checkpoint; means nothing while its record knows of none */
    struct tf_mono restarting; /* all were stopped, to start again, then; TF_NEVER: nothing is measured */
    struct tf_mono wants;      /* a step more, since then; TF_NEVER: it does not. A restart begins anew */
    struct tf_tree_node by_elastic; /* linked while it runs and its max is above its min */
    struct tf_tree_node by_due;     /* linked while due is not TF_NEVER */
    struct tf_mono due;             /* at most the earliest of runtime_due and its members' due */
    bool report_due, peers_due;
};

/* An instance that the engine has and no record wants. */
struct stray {
    struct tf_instance_id id;
    char *tenant, *name, *node;
    uint64_t gpus;
    struct tf_strs ports;
    bool ready;
    bool stopping;      /* SUB_ACT_STOP was asked for */
    struct tf_mono due; /* then: it should be gone by now */
};

struct epoch_id {
    struct tf_uid uid;
    uint64_t epoch;
};

/* What leaves when every change up to `after` is durable. */
struct held_action {
    uint64_t after;
    struct sub_action action;
};
struct outbox {
    struct tf_journal *journal;
    TF_VEC(struct held_action) held;
    size_t first; /* of held: those before it have gone */
};

/* A line of what the leader wants, or (kind NONE) the end of what its message n wanted. */
struct order {
    struct tf_entry entry;
    uint64_t n;
    bool full; /* with NONE: the end of a full set */
};

enum link_state {
    LINK_DOWN = 0,
    LINK_HELLO,  /* said hello, waits for the full set */
    LINK_SET,    /* the full set is coming in */
    LINK_LIVE,   /* the set is complete, changes follow */
    LINK_BROKEN, /* a gap: waits to be closed */
};

struct link {
    enum link_state state;
    uint64_t n;              /* of the last message with entries */
    uint64_t set_left;       /* entries of the set still to come */
    uint64_t highest_epoch;  /* that its leader ever gave out */
    struct tf_policy policy; /* of the set under way */
    bool stale_told;         /* a lower term was traced once */
    struct tf_mono since;    /* not LIVE since then */
    TF_VEC(struct order) orders;
    size_t next_order; /* the cursor: those before it are done */
    bool listed_due;
    bool continue_asked;          /* SUB_EV_CONTINUE is on its way */
    TF_VEC(struct tf_up) answers; /* reports of epochs that have no record */
};

/* What of the ledger the leader has been told. */
struct profiler {
    struct tf_term reflects_term;
    uint64_t reflects_n;
    uint64_t counter; /* of the last generation */
    bool open;        /* the full set was acted on: profiles may go */
    bool full_due, due;
    struct tf_mono next;            /* not before */
    int32_t brakes;                 /* as told */
    struct tf_vacatables vacatable; /* as counted last; */
    struct tf_mono count_at;        /* it is counted again not before; */
    bool count_due;                 /* something has changed since */
};

/* Nodes of which more got free, in the order in which it did (offers.h). */
struct offer {
    uint32_t node; /* its number */
    struct tf_mono at;
    uint64_t counter; /* of the first profile that says so */
};
struct offers {
    struct offer *items;
    size_t count, cap;
    size_t first; /* those before it are over */
    bool over;    /* some have ended since running jobs were looked at last */
};

/* When running jobs grow (absorb.h). */
struct absorb {
    struct tf_tree elastic;      /* of jobs, by uid */
    bool due;                    /* something about them has changed since they were looked at */
    bool unfinished;             /* the budget was used up; of those that were looked at: */
    TF_VEC(struct tf_uid) tried; /* they had no use for what is free */
    struct tf_mono next;         /* a wait of one of them ends */
};

/* A claim on whole nodes. */
/* Jobs that were evicted at one moment. */
struct evictions {
    struct tf_mono at;
    uint32_t count;
};

struct node_claim {
    struct tf_node_claim record;
    bool told;                /* by the full set under way, or since */
    struct tf_mono next_look; /* not before; TF_NEVER: as soon as a node has changed */
};

/* A chain of moves. */
struct migration {
    struct tf_migration record;
    TF_VEC(uint64_t) switched;  /* of each move: the change by which it was SWITCHED, of this process */
    TF_VEC(struct tf_mono) due; /* of each: it waits in its state no longer than that */
    struct tf_mono until;       /* what has not begun by then is rolled back */
};

/* Nodes that went silent. */
struct health {
    TF_VEC(uint32_t) watched; /* by number: those that are silent, or of which something was concluded */
    int32_t suspects;         /* nodes whose verdict is SUSPECT: the brake is on while there are any */
    bool look;                /* something changed */
    struct tf_mono due;       /* then the next has been silent for too long */
};

struct candidates;
struct idle_mix;

struct sub {
    struct tf_now now;           /* of the step under way */
    struct sub_actions *actions; /* likewise */
    struct tf_rng rng;           /* for what has to be drawn by lot */
    bool loaded, listed;
    bool unsure; /* the store is new, or older than what ran here: until the first full set was acted on,
                    what neither it nor the engine knows may have ended, and is not begun */
    bool rollback_noted; /* that is in the store */
    bool floor_stored;   /* a store without it is new */
    bool hello_due; /* a stream is there, but what the engine knows is part of the hello of one that is unsure
                     */
    struct sub_boot boot;
    struct tf_term term;
    uint64_t floor;
    struct tf_policy policy;
    struct outbox outbox;
    struct ledger ledger;
    struct health health;
    struct tf_tree jobs;            /* by uid */
    struct tf_tree dues;            /* by (due, uid) */
    TF_VEC(struct stray) strays;    /* by id */
    TF_VEC(struct epoch_id) exited; /* of no record, ended before the listing was complete */
    TF_VEC(struct tf_uid) touched;  /* jobs with something to tell */
    TF_VEC(struct tf_uid)
    claiming;                     /* jobs that wait for their claims, as they came; after a restart by uid */
    TF_VEC(struct tf_uid) shorts; /* jobs below their min, as they were last served */
    struct tf_mono repair_at;     /* when all of them are looked at next */
    bool serve;                   /* some are looked at now: job.serve */
    TF_VEC(uint32_t) drains;      /* nodes that are drained, by number, as they came */
    TF_VEC(struct tf_domain_cordon) cordons; /* of domains, which cordons of nodes name: each once */
    struct tf_mono drains_due;               /* then they are looked at */
    struct sub_moves_over moves_over;
    TF_VEC(struct node_claim) node_claims; /* at most one a priority; as they came */
    TF_VEC(struct migration *) migrations; /* as they were made */
    struct tf_mono defrag_at;              /* not before is anything moved unasked again */
    TF_VEC(struct evictions) evictions;    /* of jobs, within the last minute, oldest first */
    struct tf_eviction_count evicted;      /* the same as stored */
    bool strays_due;                       /* reports of epochs that no record knows */
    struct link link;
    struct profiler profiler;
    struct offers offers;
    struct absorb absorb;
    struct tf_profile *view; /* for sub_profile */
    struct mixes *mixes;     /* mix.h */
    struct tf_fit_scratch *scratch;
    struct candidates *candidates; /* the last list of who may go: its memory is used again */
    int64_t stakes_hour;           /* of the wall clock, for which what is at stake was counted */
    struct tf_mono wake;           /* the last SUB_ACT_WAKE; TF_NEVER = none */
    struct sub_situations reached;
};

#endif
