/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_FED_H
#define TF_FEDERATION_CORE_FED_H

#include "common/base/image.h"
#include "common/model/core.h"
#include "common/model/message.h"
#include "common/model/settings.h"
#include "federation/core/situations.h"

/* The federation's leader as one pure step function (DESIGN.md §2): state, event -> actions, in order. Same
 * state, same event, same actions. It exists only while this process leads: on FED_EV_BOOT it is empty, the
 * stored records follow, FED_EV_LOADED opens it; a leader that is deposed drops it.
 *
 * Persist, then act and tell: whatever fed_step returns besides FED_ACT_PERSIST, FED_ACT_WAKE,
 * FED_ACT_CONTINUE, FED_ACT_TRACE and FED_ACT_ALARM comes out only when every change of state made before it
 * is durable; the caller need not hold anything back. */
struct fed;

struct fed *fed_create(uint64_t seed);
void fed_destroy(struct fed *fed); /* NULL is fine */

/* ---- events ---- */

enum fed_event_kind {
    FED_EV_NONE = 0,
    FED_EV_BOOT,      /* elected */
    FED_EV_RECORD,    /* one stored record */
    FED_EV_LOADED,    /* there are no more */
    FED_EV_COMMITTED, /* the transaction of the last FED_ACT_PERSIST is durable */
    FED_EV_ARCHIVED,  /* the record of a FED_ACT_ARCHIVE is on disk */
    FED_EV_SETTINGS,  /* reloaded configuration */
    FED_EV_QUOTA,     /* how full the store is */
    FED_EV_SUBMIT,
    FED_EV_DELETE,
    FED_EV_SCALE,
    FED_EV_HOLD,
    FED_EV_RESUME,
    FED_EV_CORDON,    /* a subcluster, or no longer */
    FED_EV_FORGET,    /* a subcluster that is known to be dead */
    FED_EV_FREEZE,    /* evictions, growth, moves, or no longer */
    FED_EV_CLAIM,     /* nodes are to be kept for a job that waits */
    FED_EV_BARRIER,   /* a read was rendered: reply when what it shows is durable */
    FED_EV_LINK_UP,   /* a subcluster's stream has said hello */
    FED_EV_LINK_DOWN, /* the stream is gone; left: its subclusterd took its leave */
    FED_EV_UP,        /* a message from it */
    FED_EV_TIMER,     /* the moment of the last FED_ACT_WAKE has come */
    FED_EV_CONTINUE,  /* asked for by FED_ACT_CONTINUE: the decision budget was used up */
    FED_EV_MIGRATE,   /* a job, to another subcluster; or no longer */
};

struct fed_submit {
    struct tf_uid uid; /* made by the client; a repeat of it gets the first answer */
    struct tf_job_manifest manifest;
    bool apply;   /* create or update; else a taken name is a conflict */
    bool restart; /* a change that needs a new epoch is wanted */
    bool dry_run;
    char *user;
};

struct fed_event {
    enum fed_event_kind kind;
    uint64_t request; /* of a client: comes back in FED_ACT_REPLY */
    uint64_t link;    /* of a stream: made by the caller, never reused */
    union {
        struct {
            struct tf_term term;
            struct tf_settings settings;
            bool accept_rollback; /* the operator knows that the store was restored */
        } boot;
        struct tf_record record;
        struct tf_uid archived;
        struct tf_settings settings;
        int32_t quota_percent;
        struct fed_submit submit;
        struct {
            char *tenant, *name;
            struct tf_uid uid;         /* none = whatever has the name */
            struct tf_elastic elastic; /* SCALE */
            char *to;                  /* MIGRATE: the subcluster; */
            bool dry_run;              /* only says what it would do, */
            bool abort;                /* or ends the move that there is; */
            char *reason, *user;       /* why, and who says so; may be NULL */
        } job;                         /* DELETE, SCALE, HOLD, RESUME, MIGRATE */
        struct {
            char *name, *reason;
            bool on;
        } cluster; /* CORDON, FORGET */
        struct {
            struct tf_freeze wanted; /* what: a set; its moments are not read */
            int64_t lasts;           /* ms */
            bool on;
        } freeze;
        struct {
            char *tenant, *name, *cluster;
            int64_t lasts; /* ms */
        } claim;
        struct tf_hello hello;
        bool left; /* LINK_DOWN */
        struct tf_up up;
    };
};
void fed_event_release(struct fed_event *event);

/* ---- actions ---- */

enum fed_action_kind {
    FED_ACT_NONE = 0,
    FED_ACT_PERSIST, /* one transaction, which may have no records (it then proves leadership); at most one is
                        out */
    FED_ACT_REPLY,   /* to a client's request */
    FED_ACT_SEND,    /* a message on a link */
    FED_ACT_CLOSE,   /* end a link, with the reason */
    FED_ACT_ARCHIVE, /* append a finished job to the archive, then FED_EV_ARCHIVED */
    FED_ACT_WAKE,    /* FED_EV_TIMER at that time; replaces the last wish */
    FED_ACT_CONTINUE, /* FED_EV_CONTINUE as soon as other events have had their turn */
    FED_ACT_TRACE,    /* one line of why */
    FED_ACT_ALARM,    /* something an operator must know: logged as an error */
};

enum fed_outcome {
    FED_OUTCOME_NONE = 0,
    FED_OUTCOME_CREATED,
    FED_OUTCOME_UNCHANGED,
    FED_OUTCOME_UPDATED,
    FED_OUTCOME_RESTARTED,
    FED_OUTCOME_DELETED, /* accepted: it stops, then its name is free */
    FED_OUTCOME_DONE,    /* SCALE, HOLD, RESUME, CORDON, FORGET, FREEZE, BARRIER, MIGRATE */
};

struct fed_reply {
    uint64_t request;
    struct tf_error error; /* code TF_OK: done */
    struct tf_complaints complaints;
    enum fed_outcome outcome;
    struct tf_uid uid;
    uint64_t version;
    char *text; /* what is to be known of what was done, or would be; may be NULL */
};

struct fed_action {
    enum fed_action_kind kind;
    uint64_t link;
    union {
        struct {
            struct tf_record *items;
            size_t count;
        } persist;
        struct fed_reply reply;
        struct tf_down send;
        struct tf_job_record archive;
        struct tf_mono wake;
        char *text; /* CLOSE, TRACE, ALARM */
    };
};

struct fed_actions {
    struct fed_action *items;
    size_t count, cap;
};
void fed_actions_release(struct fed_actions *actions); /* frees what is left in it and zeroes it */

/* Takes what the event owns (it is released inside) and appends to actions. */
void fed_step(struct fed *fed, struct tf_now now, struct fed_event *event, struct fed_actions *actions);

/* ---- images (common/base/image.h): the whole state between two steps, and what goes in and comes out ----
 *
 * A state that was read decides as its original from then on. Writing changes nothing. Reading, *fed is made
 * (and owned by the caller, also after a failure) and events and actions are empty before. */
void fed_image_state(struct tf_image *image, struct fed **fed);
void fed_image_event(struct tf_image *image, struct fed_event *event);
void fed_image_action(struct tf_image *image, struct fed_action *action);
extern const struct tf_core_ops fed_core;

/* ---- the state, for reading: borrowed until the next fed_step ---- */

bool fed_is_open(const struct fed *fed); /* loaded, and not waiting for --accept-rollback */
struct tf_term fed_term(const struct fed *fed);
size_t fed_job_count(const struct fed *fed);
/* The rare paths taken since it was made. */
const struct fed_situations *fed_reached(const struct fed *fed);
/* NULL if there is none. */
const struct tf_job_record *fed_job_find(const struct fed *fed, const char *tenant, const char *name);
const struct tf_job_record *fed_job_find_uid(const struct fed *fed, struct tf_uid uid);
/* Jobs in order of (tenant, name): the first after the given one; NULL, NULL starts. */
const struct tf_job_record *fed_job_next(const struct fed *fed, const char *tenant, const char *name);
/* The i-th of those that are on their way to another subcluster, by uid; NULL: there are no more. */
const struct tf_job_record *fed_job_moving(const struct fed *fed, size_t i);
/* The same of those whose latest such move is over. */
const struct tf_job_record *fed_job_moved(const struct fed *fed, size_t i);
/* Such moves that are over, by what decided that, since the core began; for figures. */
struct fed_moves_over {
    uint64_t done[TF_CROSS_CAUSES], rolled_back[TF_CROSS_CAUSES];
};
const struct fed_moves_over *fed_moves_over(const struct fed *fed);
/* The latest report about the job's present epoch; NULL if there is none since this leader was elected. */
const struct tf_report *fed_job_report(const struct fed *fed, const struct tf_job_record *job);

struct fed_cluster_view {
    const struct tf_cluster_record *record;
    const struct tf_profile *profile; /* NULL until one came */
    const struct tf_hello *hello;     /* of the present or last attach; NULL if none since the election */
    bool attached;
    bool stopped;  /* not attached, since its subclusterd took its leave: people know of that */
    bool lost;     /* away for so long that it is not reckoned with, stopped or not */
    uint64_t link; /* of the present attach */
    struct tf_wall contact;
    int32_t placements; /* unfinished epochs placed there */
};
size_t fed_cluster_count(const struct fed *fed);
/* Subclusters in order of name. */
struct fed_cluster_view fed_cluster_at(const struct fed *fed, size_t index);

/* What is frozen, in order; some may be over by now, and not yet gone. */
const struct tf_freezes *fed_freezes(const struct fed *fed);

/* Tenant and name: people look for a job that has just left for the archive, too. */
#define FED_NO_JOB                                                                                           \
    "there is no job %s/%s: `fedctl get jobs -A` lists them, `fedctl get jobs --archived` those that ended " \
    "and left"

/* Why a job is where it is, or is not: computed anew from the present state (I13). */
struct fed_blocker {
    enum tf_reason reason;
    struct tf_wall until; /* of a reason that ends by itself; 0 = open */
    char *text;           /* what it has, what is asked, what is missing */
    char *unblock;        /* what would take the reason away; NULL: nothing that people can do */
};
struct fed_explain_row {
    char *cluster;
    int32_t has, asked;              /* instances */
    struct fed_blocker first;        /* in the order of DESIGN.md §3.1; reason NONE: it fits there now */
    TF_VEC(struct fed_blocker) more; /* what else is in the way, in that order */
};
struct fed_explain_rows {
    struct fed_explain_row *items;
    size_t count, cap;
};
struct fed_explanation {
    char *answer; /* the first line: one sentence */
    struct fed_explain_rows rows;
    struct tf_strs decisions; /* the latest decision lines about this job */
};
int fed_explain(const struct fed *fed, const char *tenant, const char *name, struct tf_now now,
                struct fed_explanation *out, struct tf_error *err);
void fed_explanation_release(struct fed_explanation *explanation);

/* NULL, or why the job can never be placed in that subcluster, whatever is free there. A job or subcluster
 * that is not known bars nothing. Owned by the caller. */
char *fed_placement_bar(const struct fed *fed, const char *tenant, const char *name, const char *cluster);

/* Where a job would go if it came now, as counted from profiles: what the leader would decide. Which nodes,
 * and who gives way, its subcluster knows. */
struct fed_plan_row {
    struct fed_explain_row why; /* reason NONE: it fits there */
    int32_t free;               /* instances that fit in what is free */
    uint64_t link;              /* 0: not attached */
    /* where it fits: what its placement would say */
    tf_level level;
    char *level_name; /* "free", "surplus(batch)": the highest that it would take */
    int32_t size;
    char *model;   /* NULL: none asked */
    char *instead; /* NULL; or it fits there after consolidation: what that costs, and what it spares */
};
struct fed_plan {
    TF_VEC(struct fed_plan_row) rows; /* those where it fits first, in order of preference; then by name */
    bool stopped;                     /* nothing is placed at present, wherever it fits */
};
/* The manifest has been checked and filled. Nothing changes. */
void fed_plan_place(const struct fed *fed, const struct tf_job_manifest *manifest, struct tf_now now,
                    struct fed_plan *out);
/* Why the job would wait, in one sentence, if nothing came of the rows where it fits: what explain would say.
 * Owned by the caller. */
char *fed_plan_waits(const struct fed *fed, const struct tf_job_manifest *manifest,
                     const struct fed_plan *plan);
void fed_plan_release(struct fed_plan *plan);

#endif
