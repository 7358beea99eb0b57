/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_STATE_H
#define TF_FEDERATION_CORE_STATE_H

#include "common/base/hash.h"
#include "common/base/tree.h"
#include "common/fit/rows.h"
#include "common/model/journal.h"
#include "federation/core/fed.h"

/* All that the leader knows. Private to this folder; who may change which part is said at the top of each .c.
 */

struct shape;
struct cluster;
struct tenant;
struct ask;

enum {
    FED_KEY_MAX = 2 * TF_NAME_MAX + 2, /* "tenant/name" with the NUL */
    FED_DECISIONS_KEPT = 8,            /* decision lines a job */
    FED_ARCHIVES_OUT = 64,             /* FED_ACT_ARCHIVE under way */
};

/* A refusal in force: the job is not tried there before `until`, or until the profile changes. */
struct refusal_wait {
    struct cluster *cluster;
    struct tf_mono until;
    uint64_t profiles; /* the cluster's counter when it refused */
    bool lasts;        /* more room would not help: only time ends it */
};

/* A submit that waits for the finished job of its name to be archived. */
struct replacement {
    struct tf_job_record record;
    TF_VEC(uint64_t) requests;
};

struct job {
    struct tf_tree_node by_name; /* beside the key, which decides the order */
    char key[FED_KEY_MAX];       /* tenant/name */
    struct tf_job_record record;
    UT_hash_handle by_uid;

    struct shape *shape; /* with the waiting jobs of the same demand; NULL when it does not wait */
    struct tf_tree_node waiting;
    int rank;     /* of its class while it waits; -1 = its class is not configured */
    bool charged; /* to its tenant */
    int64_t charged_gpus;
    struct ask *ask; /* the kind that it counts under; NULL: it is finished, or asks for no GPUs */
    int32_t asked;   /* instances that it counts for there */

    TF_VEC(struct refusal_wait) refusals; /* in force */
    struct tf_tree_node refused;          /* when there are any: in order of the next end */
    struct tf_mono refusals_due;

    struct tf_report *report; /* about the present epoch, */
    struct tf_report *coming; /* and about one that may become it (cross.h) */
    int32_t epoch_restarts;   /* of it, as reported */
    struct tf_strs decisions;
    bool told_to_wait; /* traced that it fits nowhere, since it was queued */
    bool awaited;      /* may run already where it was left alone: that one must tell before it is placed */

    struct tf_tree_node finished; /* in order of end, oldest first, until archiving begins */
    struct tf_tree_node expiry;   /* in order of due */
    struct tf_mono due;           /* to be archived */
    bool archiving;               /* FED_ACT_ARCHIVE is queued or out */
    struct replacement *replacement;
};

struct fed_uids {
    struct tf_uid *items;
    size_t count, cap;
};

/* What a job may have of a subcluster that others may not. Zero-initialise; owned. */
struct entitled {
    bool claimant;            /* nodes are kept for it there */
    bool spares;              /* it takes no core from others: room is being made for it by moves */
    struct fed_uids reserved; /* reservations that are kept there, and that it may use; ascending */
};

/* A placement that the profile does not reflect yet: its capacity is debited. */
struct flight {
    uint64_t epoch;
    bool is_short; /* steps that a running job below its min will start by itself, until the next
                      profile tells anew */
    const struct tf_job_spec *spec; /* shared; as placed */
    int rank;
    int32_t size;
    tf_level level; /* the highest that it takes; TF_LEVEL_FREE: nobody goes for it */
    char *model;
    uint64_t n;               /* of the message that carries it; 0 = not queued yet */
    struct tf_wall ends;      /* latest end, as it was judged when it was placed */
    struct entitled entitled; /* to what, when it was placed */
    struct tf_fit_undo debit; /* in force while there is room */
};

struct placed {
    uint64_t epoch;
    struct job *job;
};

/* An end `unknown` that waits for the engine's listing. */
struct unknown_end {
    struct tf_uid uid;
    uint64_t epoch;
};

/* A job that claims nodes in a subcluster. */
struct claimant {
    size_t slot;      /* of the subcluster */
    uint64_t version; /* of the record that was told last */
    int rank;         /* of the job, when it claimed */
    bool challenged;  /* others of its priority have come to the queue: it may not be the first any more */
    struct tf_wall until; /* somebody asked for it, and so long; 0 = it is for its long wait */
    /* Of one for which instances are moved there (consolidate.h): */
    bool moves;
    bool moved;            /* a profile has said so */
    struct tf_mono missed; /* since then none says so any more; 0 = one does */
    uint64_t n;            /* of the message that told the claim last; 0 = not told yet in this attach */
    struct tf_uid uid;
};

struct cluster {
    struct tf_cluster_record record;
    struct tf_summary_record summary; /* as stored last */
    uint64_t stored_epoch;            /* highest_epoch as written last */
    size_t slot;                      /* index of verdicts; never reused */
    TF_VEC(struct placed) placed;     /* unfinished epochs there, ascending */

    struct tf_hello *hello; /* of the present or last attach */
    uint64_t link;          /* 0 = not attached */
    struct tf_mono away_since;
    bool lost;
    struct tf_wall contact;
    bool listed;
    int32_t suspects;               /* GPUs, as its events say */
    bool told;                      /* it has told this leader of all that runs there */
    TF_VEC(struct tf_report) alone; /* epochs that a restored store has forgotten with their jobs */
    TF_VEC(struct unknown_end) unknown;

    uint64_t n;                      /* of the last full set or change, in this term */
    bool set_sent;                   /* in this attach */
    uint64_t set_n;                  /* of the full set of this attach */
    TF_VEC(struct tf_entry) entries; /* of this step, for one CHANGE at its end */
    bool proof;                      /* they wait for a proof of leadership */
    bool wants_profile;              /* asked for a full one */
    struct tf_generation considered; /* of its profile: told that the waiting cores were gone through */

    struct tf_profile *profile;    /* as received; NULL until one came in this attach */
    struct tf_fit_rows *room;      /* the same less the flights */
    uint64_t grown;                /* the world in which it last became able to take more */
    int shorts_from;               /* short jobs of its profile from this rank on are among them */
    TF_VEC(struct flight) flights; /* in order of debit */
    uint64_t profiles;             /* counts profiles that changed a row of the one before */
    uint64_t capacity;             /* counts the times that more may have become free */
    uint64_t change;               /* counts all changes of room */

    struct tf_mix mix;  /* what it was told of, resolved against its profile's classes, */
    uint64_t mix_made;  /* as of fed.mix_made; 0 = not yet */
    size_t mix_classes; /* and of so many classes */

    bool summary_due;            /* the profile differs from the stored summary */
    struct tf_mono summary_next; /* not before */

    /* No node has more than this, in any dimension: for who takes what is free, then for the core of each
     * rank; as of that capacity. Last in the struct: behind arrays the compiler is wrong about padding, which
     * images go by. */
    struct tf_vector most[1 + TF_CLASSES_MAX];
    uint64_t most_at[1 + TF_CLASSES_MAX];
};

/* What is known of one shape in one cluster; valid for the counters with which it was made. */
struct verdict {
    uint64_t capacity, change; /* 0 = none yet */
    bool fits;
    bool kept;       /* a reservation that it may use keeps something there */
    tf_level level;  /* lowest at which the core fits: TF_LEVEL_FREE, or others go for it */
    int32_t free;    /* most instances in free capacity */
    int32_t below;   /* most at the level below it */
    int32_t count;   /* most at that level (where the core fits at none: in free capacity), of that model */
    int32_t model;   /* its place in the job's list */
    int32_t number;  /* of the model in the subcluster's catalog, -1 = none */
    int32_t domains; /* of the preferred plane that the core would be spread over */
    struct tf_wall good_until; /* it fits so: later it would not end before claims of others on some rows */
};

/* By what one subcluster is preferred to another, in this order (DESIGN.md §6). */
enum {
    FED_PREFER_LEVEL,      /* the lowest highest level touched, what is free being the lowest of all */
    FED_PREFER_RESERVED,   /* something is reserved for it there */
    FED_PREFER_COST,       /* of reclaim, roughly */
    FED_PREFER_TOPOLOGY,   /* domains that the core is spread over */
    FED_PREFER_MODEL,      /* the job's own order */
    FED_PREFER_CLUSTER,    /* likewise */
    FED_PREFER_EXACT_COST, /* to the last second, so that equal subclusters take turns */
    FED_PREFER_GROWTH,     /* room to grow */
    FED_PREFER_ROOM,       /* balance: the most room left, roughly */
    FED_PREFER_TURN,       /* the one that was given something longest ago */
    FED_PREFERENCES,
};
struct preference {
    int64_t by[FED_PREFERENCES];
};
/* A subcluster where the job under consideration fits, by what is known of it. */
struct option {
    struct preference preference;
    struct cluster *cluster;
    size_t order;  /* in which it was asked */
    bool narrowed; /* what is cheap to know by now has been looked at */
};

/* Waiting jobs that ask for the same: what failed for one fails for all. */
struct shape {
    char *key;
    UT_hash_handle hh;
    struct tf_tree waiting;          /* of jobs, in queue order */
    struct tf_tree_node todo;        /* by its first job, while it is to be considered */
    struct job *first;               /* of the waiting ones */
    uint64_t failed;                 /* the world in which it fitted nowhere; later changes alone can help */
    TF_VEC(struct verdict) verdicts; /* by slot of the cluster */
};

/* What leaves when everything up to `after` is durable. */
struct held_action {
    uint64_t after;
    struct fed_action action;
};
struct outbox {
    struct held_action *items; /* a ring */
    size_t first, count, cap;
};

/* A placement of the round under way, which may still be raised. */
struct raise {
    struct job *job;
    struct cluster *cluster;
    uint64_t epoch;
    tf_level level;
    char *line; /* of the decision trace, so far */
};

enum fed_stage { FED_STAGE_NEW = 0, FED_STAGE_LOADING, FED_STAGE_OPEN };

struct jobs {
    struct job **items;
    size_t count, cap;
};

struct fed {
    struct tf_now now; /* of the event under way */
    enum fed_stage stage;
    struct tf_term term;
    struct tf_mono boot;
    struct tf_settings settings;
    bool accept_rollback;   /* this leader was started with it */
    bool waits_for_all;     /* after that: for every registered subcluster */
    uint64_t adopted_up_to; /* running epochs up to this one may have been forgotten by a restored store */
    char *closed;           /* why nothing is done: the store was restored; NULL = all is well */

    struct tf_leaders leaders; /* this one is the last */
    uint64_t epoch;            /* the counter: the highest one given out */
    struct tf_journal *journal;
    struct outbox outbox;

    struct tf_tree jobs; /* by tenant, name */
    struct job *jobs_by_uid;
    struct tenant *tenants;
    TF_VEC(struct cluster *) clusters; /* by name */
    struct tf_freezes freezes;         /* in order */
    size_t slots;                      /* given to clusters */

    struct shape *shapes;
    struct tf_tree todo;    /* shapes to be considered, in order of their first jobs */
    struct tf_tree refused; /* jobs with refusals in force */
    TF_VEC(struct raise) round;
    TF_VEC(struct job *) reservations; /* that are not over, by uid */
    struct tf_mono reservations_due;   /* then the next of them expires; TF_NEVER: none does */
    struct jobs moving;                /* to another subcluster, by uid; */
    struct jobs moved;                 /* those whose latest such move is over */
    TF_VEC(struct claimant) claimants; /* at most one a priority; as they came */
    struct tf_mono claims_due;         /* then whoever is first in line is looked at; TF_NEVER: no need */
    struct ask *asks;                  /* what unfinished jobs ask for, kind by kind */
    struct tf_shapes mix;     /* of these, what subclusters are told, with clusters and regions; by kind */
    struct tf_mono mix_due;   /* then it is looked at whether it is another; TF_NEVER: no need */
    struct tf_mono mix_after; /* but not before */
    uint64_t mix_made;        /* how often it was made; from 1 on */
    int64_t mix_pace;         /* ms between two looks: more while it changes each time */
    uint64_t world;           /* counts the times that some subcluster may have become able to take more */
    bool more_room;           /* it has grown: consider every shape */
    bool unfinished;          /* the budget was used up */
    bool told_late;           /* some subcluster has yet to be told that what it has free was considered */
    bool continuing;          /* FED_ACT_CONTINUE is out */

    struct tf_tree finished, expiry;
    size_t archives_out;
    int32_t quota;
    bool quota_alarmed;
    struct tf_mono wake; /* the last wish; TF_NEVER = none */

    /* memory that decisions reuse */
    struct tf_demand demand;
    struct tf_fit_scratch *scratch;
    struct tf_fit_placement pack;
    TF_VEC(struct option) options;
    struct entitled entitled;

    struct fed_actions *out; /* of the step under way */
    struct fed_situations reached;
    struct fed_moves_over moves_over;
};

#endif
