/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_WIRE_API_H
#define TF_WIRE_API_H

#include "common/base/buf.h"
#include "common/model/defrag.h"
#include "common/model/plan.h"
#include "common/model/record.h"
#include "common/model/selector.h"

/* What people and their tools ask of the federation (proto/federation.proto), as plain structs: a request and
 * a reply for each method, and how they become bytes. All strings and lists are owned by the struct; all
 * zero is a valid, empty value. */

/* ---- jobs ---- */

/* Names a job: by tenant and name, by uid, or by both, which then refuses any other job of that name. */
struct tf_job_ref {
    char *tenant, *name; /* both or neither */
    struct tf_uid uid;
};

enum tf_submit_mode {
    TF_SUBMIT_CREATE = 0, /* a taken name is a conflict */
    TF_SUBMIT_APPLY = 1,  /* create or update */
};

struct tf_submit_request {
    struct tf_uid uid; /* made by the client; a repeat of it gets the first answer */
    struct tf_job_manifest manifest;
    enum tf_submit_mode mode;
    bool restart; /* a change that needs a new epoch is wanted */
    bool dry_run;
};

enum tf_outcome { /* numbers are wire format */
                  TF_OUTCOME_NONE = 0,
                  TF_OUTCOME_CREATED = 1,
                  TF_OUTCOME_UNCHANGED = 2,
                  TF_OUTCOME_UPDATED = 3,
                  TF_OUTCOME_RESTARTED = 4,
                  TF_OUTCOME_DELETED = 5, /* accepted: it stops, then its name is free */
                  TF_OUTCOME_DONE = 6,
};

/* The answer to whatever changes something. */
struct tf_change_reply {
    enum tf_outcome outcome;
    struct tf_uid uid;
    uint64_t version; /* of the job after the change */
    struct tf_strs warnings;
};

struct tf_scale_request {
    struct tf_job_ref job;
    struct tf_elastic elastic; /* step 0 = as it is */
};

struct tf_job_filter {
    char *tenant, *name, *cluster; /* NULL = all */
    uint32_t phases;               /* set of 1 << enum tf_phase; 0 = all */
    struct tf_selector selector;
    bool reservations; /* instead of jobs; what a name is given of may be either */
};

enum { TF_PAGE_MAX = 1000 };

struct tf_list_request {
    struct tf_job_filter filter;
    int32_t page_size; /* at most TF_PAGE_MAX; 0 = as many as the server likes */
    char *page_token;  /* next_token of the page before */
};

enum tf_condition { /* set */
                    TF_CONDITION_SHORT = 1,
                    TF_CONDITION_REPAIRING = 2,
                    TF_CONDITION_UNREACHABLE = 4,
                    TF_CONDITION_MOVING = 8,
                    TF_CONDITION_DEGRADED = 16,
};

struct tf_job_view {
    struct tf_uid uid;
    struct tf_job_manifest manifest;
    char *user;
    enum tf_phase phase;
    uint32_t conditions;
    enum tf_reason reason; /* of waiting */
    char *reason_text;
    bool held, deleted;
    uint64_t version;
    char *cluster; /* of the present, else the last epoch */
    uint64_t epoch;
    char *model;
    int32_t size, ready; /* members, ready or starting; of them ready */
    struct tf_wall submitted, placed, started, changed, finished, archived;
    int32_t restarts, evictions, losses, retries_used;
    int64_t lost_gpu_seconds;
    int32_t exit_code;
    char *message, *output;
    TF_VEC(struct tf_member) members;   /* last known; not in lists */
    TF_VEC(struct tf_job_event) events; /* not in lists */
    uint64_t events_dropped;            /* before the first of these */
    int32_t last_size;                  /* of the last epoch that ended, at its end */
    struct tf_wall checkpoint;          /* the latest that the present epoch has told of */
    int64_t restart_took;               /* ms, when it last restarted as a whole; 0 = it has not */
};

struct tf_list_reply {
    TF_VEC(struct tf_job_view) jobs; /* by tenant, then name; archived ones by when, latest first */
    char *next_token;                /* NULL = no more */
};

struct tf_watch_request {
    struct tf_job_filter filter;
    bool changes_only;           /* without the jobs that are there at the start */
    bool events;                 /* jobs come with their events, and at the start only those that have one */
    struct tf_wall events_since; /* no older ones */
};

enum tf_watch_kind {
    TF_WATCH_NONE = 0,
    TF_WATCH_JOB = 1,    /* there at the start, new, or changed */
    TF_WATCH_GONE = 2,   /* no longer there, or no longer matching; only what names the job is set */
    TF_WATCH_SYNCED = 3, /* all that was there at the start has been sent */
    TF_WATCH_BOOKMARK = 4,
};

struct tf_watch_event {
    enum tf_watch_kind kind;
    uint64_t sequence; /* grows in a leader's term */
    struct tf_job_view job;
};

/* ---- explain ---- */

struct tf_blocker {
    enum tf_reason reason;
    struct tf_wall until; /* of a reason that ends by itself; 0 = open */
    char *text, *unblock;
};

struct tf_explain_row {
    char *cluster;
    enum tf_reason reason;          /* NONE: it fits there now */
    int32_t has, asked, missing;    /* instances */
    struct tf_wall until;           /* of a reason that ends by itself; 0 = open */
    char *text;                     /* what it has, what is asked, what is missing */
    char *unblock;                  /* what would unblock it */
    TF_VEC(struct tf_blocker) more; /* what else is in the way, in the order of reasons */
};

struct tf_explain_reply {
    char *answer; /* one line */
    TF_VEC(struct tf_explain_row) rows;
    struct tf_strs decisions; /* the latest decision lines about this job */
    struct tf_job_view job;
    int64_t clock_ms;   /* of the leader, by which decision lines are told: "[   120.000]" is 120000 */
    struct tf_wall now; /* what that is as a moment */
};

/* ---- plan ---- */

struct tf_plan_request { /* where it would go if it came now */
    struct tf_job_manifest manifest;
};

struct tf_plan_row {
    char *cluster;
    enum tf_reason reason;    /* NONE: it fits there */
    int32_t free, has, asked; /* instances: that fit in what is free, in what it may take; at least */
    char *level;              /* the highest that would be taken: "free", "surplus(batch)" */
    int32_t size;             /* it would start with */
    char *model;
    bool answered;  /* by the subcluster itself; else counted from its profile */
    int64_t age_ms; /* since that came */
    /* if answered */
    int32_t jobs;             /* that would give way */
    int64_t lost_gpu_seconds; /* by them */
    int64_t wait;             /* ms until they must have gone, at most */

    struct tf_wall until; /* of a reason that ends by itself; 0 = open */
    char *text, *unblock;
};

struct tf_plan_reply {
    char *answer;                    /* one line */
    char *cluster;                   /* where it would go; NULL = it would wait */
    TF_VEC(struct tf_plan_row) rows; /* in order of preference */
    struct tf_place_plan plan;       /* of that cluster; empty if it has not answered */
    struct tf_wall now;
};

/* ---- subclusters ---- */

struct tf_empty {
    char unused;
};

struct tf_cluster_info {
    char *name, *region;
    struct tf_pairs labels;
    bool attached, lost, cordoned;
    char *cordon_reason;
    bool forgotten;
    struct tf_wall registered, contact;
    uint64_t highest_epoch;
    int32_t placements; /* unfinished epochs placed there */
    char *version, *engine;
    uint32_t capabilities; /* set of enum tf_capability */
    struct tf_generation generation;
    struct tf_health_counts health;
    struct tf_idle_causes idle;
    int32_t brakes;              /* as in tf_profile */
    bool stopped;                /* not attached, because its subclusterd was stopped politely */
    struct tf_job_events events; /* if asked for */
    uint64_t events_dropped;     /* before the first of these */
    char *store_trouble; /* why its own store does not answer it: it accepts nothing now; NULL = it does */
    struct tf_wall store_trouble_since;
};

struct tf_clusters_request {
    bool events; /* clusters come with what happened to them */
};

struct tf_clusters_reply {
    TF_VEC(struct tf_cluster_info) clusters; /* by name */
    struct tf_freezes freezes;               /* all that are in force */
};

struct tf_cluster_request {
    char *cluster, *reason;
    bool confirmed; /* FORGET_CLUSTER: it is known to be dead */
};

struct tf_freeze_request {
    int32_t what;  /* set of enum tf_frozen */
    char *cluster; /* NULL = all */
    bool on;       /* false = no longer */
    int64_t lasts; /* ms */
    char *reason;
};

struct tf_cordon_request { /* its subcluster keeps it: it must be attached */
    char *cluster, *node;
    uint64_t gpus; /* set; 0 = the whole node */
    bool on;       /* false = no longer */
    char *reason;
    struct tf_drain_order drain; /* of a whole node: what runs there is to leave, too */
    char *domain;                /* instead of a node: the drain of all of that domain (node.h) */
    bool suspect;                /* of GPUs: they are only suspect, not bad */
};

struct tf_nodes_request {
    char *cluster; /* NULL = all that are attached */
};

struct tf_node_instance {
    char *tenant, *name;
    struct tf_uid uid;
    uint64_t epoch;
    uint32_t index;
    uint64_t gpus;
    enum tf_member_state state;
};

struct tf_node_info {
    char *cluster;
    struct tf_node node;
    uint64_t free_gpus, held_gpus; /* sets */
    struct tf_vector used;         /* by ours */
    TF_VEC(struct tf_node_instance) instances;
    struct tf_cordon cordon;    /* what people keep new work from; its node is not set */
    char *engine;               /* what runs instances there */
    struct tf_idle_causes idle; /* why its idle GPUs are idle */
};

struct tf_nodes_reply { /* also the bytes of a tf_answer to TF_ASK_NODES */
    TF_VEC(struct tf_node_info) nodes;
    struct tf_strs missing; /* subclusters that did not answer */
};

struct tf_instance_info {
    char *tenant, *name;
    struct tf_uid uid;
    uint64_t epoch;
    char *cluster;
    struct tf_member member;
};

struct tf_instances_reply {
    TF_VEC(struct tf_instance_info) instances;
    char *next_token;
    struct tf_strs missing; /* subclusters that are away: what runs there is not known now */
};

/* ---- logs, status ---- */

struct tf_logs_request {
    struct tf_job_ref job;
    uint64_t epoch; /* 0 = the live or latest one */
    uint32_t index;
    bool follow;
    int64_t tail_bytes; /* -1 = everything kept */
    uint32_t attempt;   /* 0 = the latest one */
};

struct tf_logs_reply {
    char *data; /* any bytes, no NUL at the end */
    size_t len;
};

struct tf_status_reply {
    char *version;     /* of the software */
    uint32_t protocol; /* of attach */
    bool leads;
    char *leader;         /* endpoint; NULL = not known */
    struct tf_term term;  /* of the leader */
    struct tf_wall since; /* of the leadership */
    bool open;            /* loaded, and not waiting for --accept-rollback */
    char *store;          /* "ok", or what is wrong with it */
    int64_t store_bytes, store_quota;
    int32_t jobs, clusters, attached;
};

/* ---- configuration: of the fedd that answers ---- */

enum tf_config_origin { /* numbers are wire format */
                        TF_CONFIG_NONE = 0,
                        TF_CONFIG_DEFAULT = 1, /* as without a line in the file */
                        TF_CONFIG_FILE = 2,    /* read at the start */
                        TF_CONFIG_RELOAD = 3,  /* taken over from the file since */
                        TF_CONFIG_OPTION = 4,  /* of the command line */
};

struct tf_config_value {
    char *key;   /* "settings.classes.batch" */
    char *value; /* as YAML in one line; NULL = not set */
    enum tf_config_origin origin;
    bool reloadable;
    bool unused;   /* decides nothing yet */
    char *meaning; /* one line; NULL of items of maps and lists */
};

struct tf_get_config_request {
    char *key;     /* and what is below it; NULL = all */
    bool leader;   /* a fedd that does not lead names the leader instead of answering */
    char *cluster; /* of its subclusterd, which the leader asks; NULL = of the fedd itself */
};

struct tf_get_config_reply {
    TF_VEC(struct tf_config_value) values; /* in the order of the documentation */
    bool leads;
};

struct tf_diff_config_request {
    char *name; /* of the file, for messages */
    char *text; /* any bytes, no NUL at the end */
    size_t len;
    bool leader;
    char *cluster;
};

struct tf_config_change {
    char *key;
    char *running, *file; /* NULL = not set */
    bool restart;         /* needed before it counts */
    bool unused;
};

struct tf_diff_config_reply {
    TF_VEC(struct tf_config_change) changes; /* by key */
    char *conflict;                          /* why a reload would take over nothing of it; NULL = it would */
    bool leads;
};

/* ---- defragmentation ---- */

struct tf_defrag_request {
    char *cluster;
    struct tf_defrag_order order;
};

/* ---- moves ---- */

struct tf_migrate_request {
    char *cluster;                 /* LIST: NULL = all; else it may be NULL where a job says it */
    struct tf_job_ref job;         /* BEGIN, PLAN: whose; neither: of all that is on order.from */
    struct tf_migrate_order order; /* its uid and user are the server's */
    char *to_cluster; /* BEGIN, PLAN: the job as a whole goes to that subcluster; NULL: instances of it,
                       * inside of theirs. An ABORT that names a job is of such a move */
};

struct tf_chain_info {
    char *cluster;
    struct tf_migration chain;
};

/* The latest move of a job to another subcluster. */
struct tf_job_move {
    struct tf_uid uid;
    char *tenant, *name;
    struct tf_cross move;
};
enum { TF_JOB_MOVES_OVER = 100 }; /* in a list: of those that are over, the latest */

struct tf_migrate_reply {
    TF_VEC(struct tf_chain_info) chains; /* PLAN: one, of which nothing comes; LIST: all */
    struct tf_strs missing;              /* LIST: subclusters that did not answer */
    char *text;                          /* of a change: what is to be known of it */
    TF_VEC(struct tf_job_move) jobs;     /* LIST: by their begin */
};

/* ---- methods ---- */

enum tf_method {
    TF_METHOD_NONE = 0,
    TF_METHOD_SUBMIT,
    TF_METHOD_GET,
    TF_METHOD_LIST,
    TF_METHOD_LIST_ARCHIVE,
    TF_METHOD_DELETE,
    TF_METHOD_SCALE,
    TF_METHOD_HOLD,
    TF_METHOD_RESUME,
    TF_METHOD_WATCH, /* a stream of replies */
    TF_METHOD_EXPLAIN,
    TF_METHOD_PLAN,
    TF_METHOD_LIST_CLUSTERS,
    TF_METHOD_LIST_NODES,
    TF_METHOD_LIST_INSTANCES,
    TF_METHOD_LOGS, /* a stream of replies */
    TF_METHOD_CORDON_CLUSTER,
    TF_METHOD_UNCORDON_CLUSTER,
    TF_METHOD_CORDON_NODE,
    TF_METHOD_FORGET_CLUSTER,
    TF_METHOD_FREEZE,
    TF_METHOD_STATUS,
    TF_METHOD_GET_CONFIG,
    TF_METHOD_DIFF_CONFIG,
    TF_METHOD_CONFIRM_LOST,
    TF_METHOD_PLAN_DEFRAG,
    TF_METHOD_DEFRAG,
    TF_METHOD_MIGRATE,
    TF_METHOD_COUNT,
};
/* "/tidefed.v1.Federation/Submit" */
const char *tf_method_path(enum tf_method method);
/* True if it answers with a stream of replies. */
bool tf_method_streams(enum tf_method method);

/* All members of a union begin at `body`. */
struct tf_request {
    enum tf_method method;
    union {
        char body;
        struct tf_submit_request submit;
        struct tf_job_ref job;       /* GET, DELETE, HOLD, RESUME, EXPLAIN */
        struct tf_list_request list; /* LIST, LIST_ARCHIVE, LIST_INSTANCES */
        struct tf_scale_request scale;
        struct tf_plan_request plan;
        struct tf_watch_request watch;
        struct tf_clusters_request clusters;
        struct tf_empty empty; /* STATUS */
        struct tf_nodes_request nodes;
        struct tf_logs_request logs;
        struct tf_cluster_request cluster; /* CORDON_, UNCORDON_, FORGET_CLUSTER */
        struct tf_freeze_request freeze;
        struct tf_cordon_request cordon; /* CORDON_NODE; CONFIRM_LOST: gpus and on are not looked at */
        struct tf_get_config_request get_config;
        struct tf_diff_config_request diff_config;
        struct tf_defrag_request defrag; /* PLAN_DEFRAG, DEFRAG */
        struct tf_migrate_request migrate;
    };
};

struct tf_reply {
    enum tf_method method; /* which it answers */
    union {
        char body;
        struct tf_change_reply
            change;                /* SUBMIT, DELETE, SCALE, HOLD, RESUME, CORDON_..., UNCORDON_, FORGET_ */
        struct tf_job_view job;    /* GET */
        struct tf_list_reply list; /* LIST, LIST_ARCHIVE */
        struct tf_watch_event watch;
        struct tf_explain_reply explain;
        struct tf_plan_reply plan;
        struct tf_clusters_reply clusters;
        struct tf_nodes_reply nodes;
        struct tf_instances_reply instances;
        struct tf_logs_reply logs;
        struct tf_status_reply status;
        struct tf_get_config_reply config;
        struct tf_diff_config_reply config_diff;
        struct tf_defrag_plan defrag; /* PLAN_DEFRAG */
        struct tf_migrate_reply migrate;
    };
};

void tf_request_release(struct tf_request *request); /* frees what is owned and zeroes it */
void tf_reply_release(struct tf_reply *reply);
void tf_job_view_release(struct tf_job_view *job);
void tf_nodes_reply_release(struct tf_nodes_reply *nodes);
void tf_migrate_reply_release(struct tf_migrate_reply *reply);

enum {
    TF_WIRE_MANIFEST_MAX =
        96 * 1024, /* of a submit or plan: keeps a job's record within TF_RECORD_BYTES_MAX */
    TF_WIRE_CONFIG_MAX = 512 * 1024, /* of a configuration: 4096 tenants with all their limits */
    TF_WIRE_REQUEST_MAX = 64 * 1024, /* of any other request */
    TF_WIRE_REPLY_MAX = 4 << 20,     /* of one reply: what gRPC takes by default */
};

/* pack appends. -1: TF_ERR_INVALID when a rule of the format is broken (the text names the field),
 * TF_ERR_TOO_LARGE beyond the limits. unpack expects nothing of its result, which is empty after a failure,
 * and does not check manifests: see tf_job_manifest_check. */
int tf_wire_request_pack(const struct tf_request *request, struct tf_buf *out, struct tf_error *err);
int tf_wire_request_unpack(enum tf_method method, const void *bytes, size_t len, struct tf_request *request,
                           struct tf_error *err);
int tf_wire_reply_pack(const struct tf_reply *reply, struct tf_buf *out, struct tf_error *err);
int tf_wire_reply_unpack(enum tf_method method, const void *bytes, size_t len, struct tf_reply *reply,
                         struct tf_error *err);
/* Bytes that a job adds to a list, at most; 0 if it cannot be packed. */
size_t tf_wire_job_size(const struct tf_job_view *job);

int tf_wire_migrate_pack(const struct tf_migrate_reply *reply, struct tf_buf *out, struct tf_error *err);
int tf_wire_migrate_unpack(const void *bytes, size_t len, struct tf_migrate_reply *reply,
                           struct tf_error *err);
int tf_wire_nodes_pack(const struct tf_nodes_reply *nodes, struct tf_buf *out, struct tf_error *err);
int tf_wire_nodes_unpack(const void *bytes, size_t len, struct tf_nodes_reply *nodes, struct tf_error *err);

/* ---- errors ---- */

/* Comes with every refusal: what a client needs beyond code and text. */
struct tf_error_detail {
    enum tf_error_code code;
    enum tf_reason reason; /* when it has one of its own, e.g. FENCE_UNSUPPORTED */
    char *text;
    struct tf_complaints complaints;
    char *leader;           /* endpoint; NULL = not known */
    int64_t retry_after_ms; /* 0 = not said */
};
void tf_error_detail_release(struct tf_error_detail *detail);
/* Appends at most limit bytes, leaving out complaints that do not fit: the last one then says how many. */
void tf_wire_error_detail_pack(const struct tf_error_detail *detail, size_t limit, struct tf_buf *out);
int tf_wire_error_detail_unpack(const void *bytes, size_t len, struct tf_error_detail *detail,
                                struct tf_error *err);

#endif
