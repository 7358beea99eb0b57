/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_MESSAGE_H
#define TF_MODEL_MESSAGE_H

#include "common/model/cordon.h"
#include "common/model/defrag.h"
#include "common/model/record.h"

/* What flows between the federation's leader and a subcluster (DESIGN.md §7). */

enum { TF_PROTOCOL_VERSION = 1 };

enum tf_capability { /* bit set, of an engine */
                     TF_CAP_NAMES_GPUS = 1,
                     TF_CAP_FREEZES = 2,
                     TF_CAP_FENCES = 4,
                     TF_CAP_PLACEHOLDERS = 8,
                     TF_CAP_MIGRATES = 16,
};

/* ---- up ---- */

struct tf_hello {
    uint32_t protocol;
    char *name, *region, *version;
    struct tf_pairs labels;
    uint64_t owner_revision;
    struct tf_term highest_term;
    uint64_t highest_epoch;
    uint32_t capabilities;
    char *engine;
};

/* The whole truth about one epoch of a job, as its subcluster has committed it; replaces any earlier one. */
struct tf_report {
    struct tf_uid uid;
    uint64_t epoch;
    char *tenant, *name;
    enum tf_phase phase; /* STARTING, RUNNING, STOPPING; or NONE with an end */
    struct tf_ended
        ended; /* end != TF_END_NONE: the epoch is over; else the latest failure, if there was one */
    char *model;
    int32_t size, ready; /* members granted; members ready now */
    struct tf_wall accepted, started;
    int32_t retries_used, restarts;
    int32_t unreachable;       /* members on nodes that do not answer */
    uint64_t successor;        /* the epoch to which this one is promised to yield; 0 = none */
    uint64_t declined;         /* the highest to which it will not be */
    uint64_t predecessor;      /* the epoch that was the job when this one was placed; 0 = none */
    struct tf_wall checkpoint; /* the latest that it has told of; 0 = none */
    int64_t restart_took;      /* ms, when it last restarted as a whole; 0 = it has not */
    TF_VEC(struct tf_member) members;
    struct tf_notes notes; /* the latest, */
    uint32_t noted;        /* of so many */
};

/* To an ask: a message of its kind, as bytes. */
struct tf_answer {
    uint64_t id;
    char *data;
    size_t len;
    int32_t code; /* an enum tf_error_code: not TF_OK = it was not done */
    char *text;   /* why not; or what is to be known of what was done */
};

enum tf_up_kind {
    TF_UP_NONE = 0,
    TF_UP_HELLO = 1,
    TF_UP_PROFILE = 2,
    TF_UP_REPORT = 3,
    TF_UP_LISTED = 4, /* the engine has been listed completely: unknown epochs may be judged */
    TF_UP_FENCE = 5,  /* asks for the lease: own clock */
    TF_UP_ANSWER = 6, /* to an Ask; bytes are of the kind asked */
    TF_UP_STORE = 7,  /* its own store has trouble, or no more: for people, the core is not told */
};
struct tf_store_trouble {
    char *text; /* NULL = it answers again */
};
struct tf_up {
    enum tf_up_kind kind;
    union {
        struct tf_hello hello;
        struct tf_profile profile;
        struct tf_report report;
        int64_t fence_boot_ms;
        struct tf_answer answer;
        struct tf_store_trouble store;
    };
};

/* ---- down ---- */

enum tf_entry_kind {
    TF_ENTRY_NONE = 0,
    TF_ENTRY_PLACE = 1,
    TF_ENTRY_RELEASE = 2,
    TF_ENTRY_STORED = 3, /* the end of (uid, epoch) is stored: its record may go */
    /* of a job that waits, without an epoch, so before all others: */
    TF_ENTRY_UNCLAIM = 4, /* it claims nodes no longer, */
    TF_ENTRY_CLAIM = 5,   /* or does. A full set that does not mention its claim ends it */
};
struct tf_reservation_ref {
    struct tf_uid uid;
};
/* One line of what the leader wants. In a list, ascending by epoch. */
struct tf_entry {
    enum tf_entry_kind kind;
    struct tf_uid uid;
    uint64_t epoch;
    /* PLACE (of a reservation, which is kept and never started, too); of CLAIM only tenant, name and spec */
    char *tenant, *name;
    const struct tf_job_spec *spec; /* shared */
    int32_t size;
    char *model;
    struct tf_wall submitted;
    int32_t retries_used;
    tf_level
        level; /* the highest that may be taken for it, as the leader counted; TF_LEVEL_FREE: nobody goes */
    int32_t evictions;         /* that the job has suffered; */
    struct tf_evicted evicted; /* those of the last day */
    TF_VEC(struct tf_reservation_ref)
    reservations; /* that are placed there, and that it may use; ascending */
    /* RELEASE */
    enum tf_release release;
    /* PLACE, of a job that moves to another subcluster: the epoch there, to which this one is to be promised:
     * it is ended so long (ms) after the promise, at the latest. 0 ms: not to be promised any more */
    uint64_t successor;
    uint64_t predecessor; /* the same seen from there: which was the job when this one was placed */
    int64_t leave_after;
    /* CLAIM */
    int64_t move_cost; /* instances are moved for it if that costs no more, in GPU-seconds; 0: nothing is */
};

enum tf_down_kind {
    TF_DOWN_NONE = 0,
    TF_DOWN_BEGIN = 1, /* of the full desired set: policy, and how many entries follow */
    TF_DOWN_PART = 2,
    TF_DOWN_END = 3,          /* now act on the set */
    TF_DOWN_CHANGE = 4,       /* numbered n, by one more than the last */
    TF_DOWN_WANT_PROFILE = 5, /* a gap: send a full one */
    TF_DOWN_FENCE = 6,        /* echo of the subcluster's clock */
    TF_DOWN_ASK = 7,
    TF_DOWN_CONSIDERED = 8, /* waiting cores were considered against this generation (absorb, part 5) */
    TF_DOWN_POLICY = 9,     /* changed while attached */
};
enum tf_ask_kind {
    TF_ASK_NONE = 0,
    TF_ASK_NODES = 1,
    TF_ASK_LOGS = 2,  /* answered on a stream of its own */
    TF_ASK_PLACE = 3, /* what would be done with that placement: a tf_place_plan */
    TF_ASK_DRAIN = 4,
    TF_ASK_MIGRATE = 5,
    TF_ASK_DEFRAG = 6,
    TF_ASK_CORDON = 7,     /* a change, which is answered when it is durable */
    TF_ASK_GET_CONFIG = 8, /* request and answer are those of the client's call */
    TF_ASK_DIFF_CONFIG = 9,
    TF_ASK_CONFIRM_LOST = 10, /* a change: the node, which its engine cannot reach, is lost */
};
struct tf_ask {
    uint64_t id;
    enum tf_ask_kind kind;
    struct tf_uid uid;             /* LOGS */
    uint64_t epoch;                /* LOGS; 0 = the live or latest one */
    uint32_t index;                /* LOGS */
    bool follow;                   /* LOGS */
    int64_t tail_bytes;            /* LOGS; -1 = everything kept */
    char *node;                    /* CORDON, CONFIRM_LOST */
    uint64_t gpus;                 /* CORDON; a set, 0 = the whole node */
    bool on;                       /* CORDON; false = no longer */
    bool suspect;                  /* CORDON, of GPUs: they are only suspect, not bad */
    char *reason;                  /* CORDON, CONFIRM_LOST */
    uint32_t attempt;              /* LOGS; 0 = the latest one */
    struct tf_drain_order drain;   /* CORDON, of a whole node */
    TF_VEC(struct tf_entry) place; /* PLACE: one, that would be placed; its uid is of no job */
    char *data;                    /* ..._CONFIG: the client's request */
    size_t len;
    TF_VEC(struct tf_migrate_order) migrate; /* MIGRATE: one. LIST and PLAN are answered with chains */
    TF_VEC(struct tf_defrag_order) defrag;   /* DEFRAG: one. A question is answered with a tf_defrag_plan */
    char *domain; /* CORDON: instead of a node, the drain of all of that domain (node.h) */
};
struct tf_down {
    enum tf_down_kind kind;
    struct tf_term term;
    uint64_t n;
    uint64_t count;                  /* BEGIN */
    uint64_t highest_epoch;          /* BEGIN: that the leader ever gave out */
    struct tf_policy policy;         /* BEGIN, POLICY */
    TF_VEC(struct tf_entry) entries; /* PART, CHANGE */
    int64_t fence_boot_ms;
    struct tf_ask ask;
    struct tf_generation considered;
};

/* init by zeroing; release frees what is owned and zeroes; copy is deep, and releases what was in to first */
void tf_hello_release(struct tf_hello *hello);
void tf_hello_copy(struct tf_hello *to, const struct tf_hello *from);
void tf_report_release(struct tf_report *report);
void tf_report_copy(struct tf_report *to, const struct tf_report *from);
void tf_up_release(struct tf_up *up);
void tf_up_copy(struct tf_up *to, const struct tf_up *from);
void tf_entry_release(struct tf_entry *entry);
void tf_entry_copy(struct tf_entry *to, const struct tf_entry *from);
void tf_ask_release(struct tf_ask *ask);
void tf_ask_copy(struct tf_ask *to, const struct tf_ask *from);
void tf_down_release(struct tf_down *down);
void tf_down_copy(struct tf_down *to, const struct tf_down *from);

#endif
