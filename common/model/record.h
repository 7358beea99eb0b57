/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_RECORD_H
#define TF_MODEL_RECORD_H

#include "common/base/clock.h"
#include "common/model/cordon.h"
#include "common/model/cross.h"
#include "common/model/evicted.h"
#include "common/model/freeze.h"
#include "common/model/leaders.h"
#include "common/model/migration.h"
#include "common/model/note.h"
#include "common/model/policy.h"
#include "common/model/profile.h"
#include "common/model/spec.h"

/* What the two stores hold (DESIGN.md §7). One record a job on either side: a decision about a job is the
 * change of one record, so it is atomic by itself. Whatever a later decision may depend on is here; what can
 * be asked again is not. */

enum {
    TF_JOB_EVENTS_MAX = 32,   /* kept in a record; older ones are dropped and counted */
    TF_JOB_NOTES_MAX = 8,     /* of these, in a row, by what subclusters do to single instances */
    TF_JOB_EVENT_TEXT = 1024, /* bytes of an event's text with its NUL: longer ones are cut */
    TF_REFUSALS_MAX = 32,
    TF_RECORD_BYTES_MAX = 256 * 1024,
};

/* ---- the federation's ---- */

/* An epoch that was committed and whose end is not yet stored: it counts as possibly running. */
struct tf_placement {
    uint64_t epoch;
    char *cluster;
    int32_t size;                             /* the grant, in instances */
    char *model;                              /* chosen GPU model, NULL if none asked */
    enum tf_phase phase;                      /* PENDING (not yet accepted), STARTING, RUNNING, STOPPING */
    struct tf_wall placed, accepted, started; /* started: first fully ready */
    enum tf_release release;                  /* NONE, or why the subcluster is told to end it */
    tf_level level;     /* highest level touched; TF_LEVEL_FREE when it fitted in free capacity */
    uint64_t successor; /* epoch that takes over in a move between subclusters, 0 = none */
    uint32_t noted;     /* of the epoch's notes so many are in the job's events */
};

/* What happened to a job, or to a subcluster. */
struct tf_job_event {
    struct tf_wall at;
    uint64_t epoch; /* 0: of the job itself; of a subcluster always */
    char *type;     /* one word: Submitted, Placed, Refused, Started, ...; Registered, Lost, Returned, ... */
    char *text;
    uint32_t more; /* it stands for so many earlier ones of its type, too */
};
struct tf_job_events {
    struct tf_job_event *items;
    size_t count, cap;
};

/* A subcluster that refused the job: not tried again before `until`. */
struct tf_refusal {
    char *cluster;
    enum tf_reason reason;
    char *text;
    int32_t times; /* in a row: the wait doubles */
    struct tf_wall until;
};

struct tf_job_record {
    struct tf_uid uid;
    char *tenant, *name;
    struct tf_pairs labels;
    const struct tf_job_spec *spec; /* shared */
    char *user;                     /* who submitted, from the certificate; NULL without TLS */
    struct tf_wall submitted;       /* never changes: the place in the queue */
    enum tf_phase phase;
    bool held, deleted; /* what was asked */
    uint64_t version;   /* grows with each change: optimistic concurrency of clients */
    TF_VEC(struct tf_placement)
    placements; /* the last one is the job: one that only may become it is before it */
    TF_VEC(struct tf_refusal) refusals;
    struct tf_job_events events;
    uint64_t events_dropped;
    int32_t retries_used; /* failures since the submit, over all epochs */
    int32_t restarts, evictions, losses;
    int64_t lost_gpu_seconds;
    struct tf_wall changed;  /* last change of phase */
    struct tf_wall finished; /* Succeeded, Failed, Deleted */
    int32_t exit_code;       /* of the instance that decided a failure; 128 + signal */
    char *message;           /* the end, or the latest trouble, in words */
    char *output;            /* last lines of the instance that failed */
    char *last_cluster; /* where its last ended epoch was: its output is still there; NULL = none ended */
    uint64_t last_epoch;
    struct tf_uid change;       /* the submit that changed it last: a repeat of it changes nothing more */
    int32_t last_size;          /* of the last epoch that ended, at its end */
    char *claims_in;            /* while it waits: the subcluster in which it claims nodes; NULL = in none */
    struct tf_wall claim_until; /* it claims there because somebody asked for it, no longer than that; 0 = for
                                   its long wait */
    int64_t claim_move_cost; /* GPU-seconds: room is made for it there by moves that cost no more; 0 = none */
    struct tf_wall consolidated; /* when that was begun, or said, the last time: at most once a wait */
    struct tf_evicted evicted;
    struct tf_cross cross; /* its latest move between subclusters */
};

/* An epoch of a job that a restored store of the federation knows nothing of. */
struct tf_left_alone {
    struct tf_uid uid;
    uint64_t epoch;
};
enum { TF_LEFT_ALONE_MAX = 4096 }; /* in one record */

/* Registration of a subcluster: it exists from its first attach. */
struct tf_cluster_record {
    char *name, *region;
    struct tf_pairs labels;
    bool cordoned;
    char *cordon_reason;
    struct tf_wall registered;
    uint64_t highest_epoch; /* ever placed there */
    bool forgotten;         /* cluster forget: its unfinished epochs were ended lost */
    struct tf_job_events events;
    uint64_t events_dropped;
    TF_VEC(struct tf_left_alone) left_alone; /* that run there */
};

/* Written at most every 30 s: what is known of a subcluster without it. */
struct tf_summary_record {
    char *name;
    struct tf_wall contact;
    struct tf_generation generation;
    struct tf_health_counts health;
};

/* ---- a subcluster's ---- */

struct tf_member {
    uint32_t index, attempt;
    char *node;
    uint64_t gpus;
    int32_t mark; /* 0 = core, k > 0 = surplus step k */
    enum tf_member_state state;
    struct tf_wall started, ready, ended, retry_at;
    int32_t exit_code;
    enum tf_member_role role;
    uint32_t attempts; /* the highest of this index so far, where that is not its own: of a move taken back,
                          or of one that a restored store had forgotten */
    struct tf_strs ports; /* "http=31234", given by the engine */
};

/* A claim on whole nodes, for a job that has waited for very long (DESIGN.md §5): cores of its priority or
 * lower are placed there only if they end before `until`, which is fixed when it is made. */
struct tf_node_claim {
    struct tf_uid uid; /* of the job, which waits; there is one a job */
    char *tenant, *name;
    const struct tf_job_spec *spec; /* shared; as it waits: what the nodes were chosen for */
    struct tf_strs nodes;
    struct tf_wall until;
};

/* The end of an epoch, kept until the leader has stored it. */
struct tf_ended {
    uint64_t epoch;
    enum tf_end end;
    enum tf_reason reason; /* of a refusal */
    struct tf_wall at;
    int32_t exit_code;
    int32_t failures; /* retries that this epoch used */
    char *message, *output;
    int32_t evictions;        /* of the epoch, those of single steps included, */
    int64_t lost_gpu_seconds; /* and what was lost by them */
};

enum tf_allocation_phase {
    TF_ALLOCATION_IDLE = 0, /* no live epoch: only ends that wait to be stored by the leader */
    TF_ALLOCATION_STARTING = 1,
    TF_ALLOCATION_RUNNING = 2,  /* the core was fully ready once */
    TF_ALLOCATION_ENDING = 3,   /* `ending` is decided; instances are being stopped */
    TF_ALLOCATION_CLAIMING = 4, /* no members yet: claims, one an instance, which wait for others to go */
    TF_ALLOCATION_RESERVED = 5, /* of a reservation: claims, one an instance, which wait for its owner */
};

struct tf_allocation {
    struct tf_uid uid;
    char *tenant, *name;
    enum tf_allocation_phase phase;
    /* of the live epoch; empty when IDLE */
    uint64_t epoch;
    struct tf_term term;                         /* of the leader that placed it */
    const struct tf_job_spec *spec;              /* shared; tf_spec_none when IDLE */
    struct tf_wall submitted, accepted, started; /* started: first fully ready; protection counts from it */
    int32_t size;                                /* instances granted and started with */
    char *model;
    TF_VEC(struct tf_member) members;
    TF_VEC(struct tf_claim) claims;
    int32_t retries_used;      /* of the job, as told with the placement, plus this epoch's */
    int32_t evictions;         /* that the job had suffered when it was placed; */
    struct tf_evicted evicted; /* those of the last day, with those of this epoch */
    uint64_t peers_version;
    struct tf_wall last_shrink, last_grow;
    struct tf_wall last_checkpoint; /* that it has told of; 0 = none in this epoch */
    int64_t restart_took;       /* ms from stop to ready, when it last restarted as a whole; 0 = it has not */
    struct tf_wall short_since; /* below its min, or without anything that runs, since then; 0 = it is not */
    struct tf_wall restart_at;  /* those that stay start again together then; 0 = nothing is due */
    struct tf_wall grow_after;  /* the latest growth failed: none before; 0 = at any time */
    int32_t grow_failures;      /* in a row */
    struct tf_wall move_after;  /* the latest move failed: none before; 0 = at any time */
    int32_t move_failures;      /* in a row */
    uint32_t noted;             /* notes so far, */
    uint64_t successor; /* epoch in another subcluster to which this one was promised to yield; 0 = none */
    uint64_t declined;  /* the highest to which it will never be */
    uint64_t
        predecessor; /* epoch in another subcluster that was the job when this one was placed; 0 = none */
    struct tf_wall leave_at; /* then it is ended, whatever the link does; with a successor */
    struct tf_ended
        ending; /* with ENDING: what the end will be; before, the latest failure and the retries used */
    /* ends not yet stored by the leader */
    TF_VEC(struct tf_ended) ended;
    struct tf_notes notes; /* and the latest of them */
};

/* init by zeroing; release frees what is owned and zeroes; copy is deep, and releases what was in to first */
void tf_job_record_release(struct tf_job_record *record);
void tf_job_record_copy(struct tf_job_record *to, const struct tf_job_record *from);
/* Append an event, dropping the oldest beyond TF_JOB_EVENTS_MAX. */
void tf_job_record_event(struct tf_job_record *record, struct tf_wall at, uint64_t epoch, const char *type,
                         const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The same of what may come by the hundred: beyond TF_JOB_NOTES_MAX of such events in a row, the new one
 * takes the place of the latest of its type and counts it, so that they push nothing else out. */
void tf_job_record_note(struct tf_job_record *record, struct tf_wall at, uint64_t epoch,
                        enum tf_note_kind kind, const char *text);
void tf_cluster_record_event(struct tf_cluster_record *record, struct tf_wall at, const char *type,
                             const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void tf_placement_release(struct tf_placement *placement);
void tf_placement_copy(struct tf_placement *to, const struct tf_placement *from);
void tf_job_event_release(struct tf_job_event *event);
void tf_job_event_copy(struct tf_job_event *to, const struct tf_job_event *from);
void tf_refusal_release(struct tf_refusal *refusal);
void tf_refusal_copy(struct tf_refusal *to, const struct tf_refusal *from);
void tf_cluster_record_release(struct tf_cluster_record *record);
void tf_cluster_record_copy(struct tf_cluster_record *to, const struct tf_cluster_record *from);
void tf_summary_record_release(struct tf_summary_record *record);
void tf_summary_record_copy(struct tf_summary_record *to, const struct tf_summary_record *from);
void tf_member_release(struct tf_member *member);
void tf_member_copy(struct tf_member *to, const struct tf_member *from);
void tf_node_claim_release(struct tf_node_claim *claim);
void tf_node_claim_copy(struct tf_node_claim *to, const struct tf_node_claim *from);
void tf_ended_release(struct tf_ended *ended);
void tf_ended_copy(struct tf_ended *to, const struct tf_ended *from);
void tf_allocation_release(struct tf_allocation *allocation);
void tf_allocation_copy(struct tf_allocation *to, const struct tf_allocation *from);
/* Drops what belongs to the live epoch (members, claims, spec, ending): the record becomes IDLE. */
void tf_allocation_clear_epoch(struct tf_allocation *allocation);

/* How many jobs of a subcluster were evicted within the minute that ended with the last one: what is left of
 * maxEvictionsPerMinute after a restart. */
struct tf_eviction_count {
    struct tf_wall last;
    uint32_t count; /* at most TF_EVICTION_COUNT_MAX */
};
#define TF_EVICTION_COUNT_MAX 1000000u

/* The number of a federation's ROLLBACK as long as not every subcluster was heard: above every epoch. */
#define TF_ROLLBACK_WAITS (UINT64_C(1) << 62)

/* A record of any kind, as it goes to or comes from a store. */
enum tf_record_kind {
    TF_RECORD_NONE = 0,
    TF_RECORD_EPOCH, /* federation: the counter */
    TF_RECORD_JOB,
    TF_RECORD_CLUSTER,
    TF_RECORD_SUMMARY,
    TF_RECORD_TERM,  /* subcluster: highest term seen */
    TF_RECORD_FLOOR, /* subcluster: highest epoch ever accepted or promised away */
    TF_RECORD_POLICY,
    TF_RECORD_ROLLBACK, /* either: the store was restored, and what follows from that is not done yet; of the
                           federation the highest epoch that may have been forgotten */
    TF_RECORD_ALLOCATION,
    TF_RECORD_CORDON,     /* subcluster: of one node */
    TF_RECORD_FREEZE,     /* federation */
    TF_RECORD_NODE_CLAIM, /* subcluster: by the uid of its owner */
    TF_RECORD_LEADERS,    /* federation */
    TF_RECORD_MIGRATION,  /* subcluster */
    TF_RECORD_EVICTIONS,  /* subcluster */
    TF_RECORD_LAST = TF_RECORD_EVICTIONS,
};
struct tf_record {
    enum tf_record_kind kind;
    bool gone; /* delete it: only what names it is set */
    union {
        uint64_t number; /* EPOCH, FLOOR, ROLLBACK */
        struct tf_term term;
        struct tf_job_record job;
        struct tf_cluster_record cluster;
        struct tf_summary_record summary;
        struct tf_policy policy;
        struct tf_allocation allocation;
        struct tf_cordon cordon;
        struct tf_freeze freeze;
        struct tf_node_claim node_claim;
        struct tf_leaders leaders;
        struct tf_migration migration;
        struct tf_eviction_count evictions;
    };
};
void tf_record_release(struct tf_record *record);
void tf_record_copy(struct tf_record *to, const struct tf_record *from);

#endif
