/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_SUB_H
#define TF_SUBCLUSTER_CORE_SUB_H

#include "common/base/image.h"
#include "common/model/core.h"
#include "common/model/message.h"
#include "common/model/plan.h"
#include "subcluster/core/situations.h"

/* A subcluster's daemon as one pure step function (DESIGN.md §2): state, event -> actions, in order. Same
 * state, same event, same actions. It exists only while this process owns the local prefix: SUB_EV_BOOT, the
 * stored records, SUB_EV_LOADED, then the engine's listing; a deposed one drops it.
 *
 * Persist, then act and tell: messages, engine calls and everything else besides SUB_ACT_PERSIST,
 * SUB_ACT_CLOSE, SUB_ACT_WAKE, SUB_ACT_CONTINUE, SUB_ACT_TRACE and SUB_ACT_ALARM come out only when every
 * change of state made before them is durable.
 *
 * The engine says what runs, the local store what was promised: what the records want and the engine lacks is
 * started (starts are idempotent), what ran and is gone is judged only after SUB_EV_LISTED. */
struct sub;

struct sub *sub_create(uint64_t seed);
void sub_destroy(struct sub *sub); /* NULL is fine */

/* ---- events ---- */

enum sub_event_kind {
    SUB_EV_NONE = 0,
    SUB_EV_BOOT,
    SUB_EV_RECORD,
    SUB_EV_LOADED,
    SUB_EV_COMMITTED, /* the transaction of the last SUB_ACT_PERSIST is durable */
    SUB_EV_NODE,      /* the engine reports a node, new or changed */
    SUB_EV_INSTANCE,  /* the engine reports an instance */
    SUB_EV_LISTED,    /* the engine has reported everything it knows: judge what is missing */
    SUB_EV_LINK_UP,   /* the stream to a leader is there: say hello */
    SUB_EV_LINK_DOWN,
    SUB_EV_DOWN,  /* a message from it */
    SUB_EV_TIMER, /* the moment of the last SUB_ACT_WAKE has come */
    SUB_EV_CONTINUE,
    SUB_EV_SETTINGS,   /* reloaded configuration */
    SUB_EV_CHECKPOINT, /* an instance has told of a finished checkpoint */
};

enum sub_instance_state {
    SUB_INSTANCE_NONE = 0,
    SUB_INSTANCE_STARTING, /* there, not yet ready */
    SUB_INSTANCE_READY,
    SUB_INSTANCE_EXITED,  /* ended, by itself or because it was told to */
    SUB_INSTANCE_REFUSED, /* the engine will not start it: text says why; it never ran */
    SUB_INSTANCE_LOST,    /* with its node */
    SUB_INSTANCE_ABSENT,  /* never started, and now it never will (a stop of what was not there) */
};

/* Of nodes that went silent. */
struct sub_health_rules {
    int64_t node_lost_after;    /* ms, 0 = such a node is never judged */
    int64_t mass_down_window;   /* ms */
    int32_t mass_down_fraction; /* basis points of all nodes */
    int32_t mass_down_least;    /* nodes */
    int32_t suspect_after;      /* starts that fail on a GPU in a row; 0 = it is never suspect by that */
};

struct sub_boot {
    char *name, *region, *version, *engine;
    struct tf_pairs labels;
    struct tf_planes planes;
    uint64_t owner_revision;
    uint32_t capabilities;   /* bit set of enum tf_capability */
    struct tf_policy policy; /* goes by this until a leader has sent one */
    int64_t profile_interval, decision_budget;
    int64_t loss_cap;     /* ms of work that an eviction may cost an instance, at most, in what is compared */
    int32_t resize_loss;  /* share of its time, in 1/10000, that a job may lose to growing by restarts; > 0 */
    bool accept_rollback; /* the operator knows that the local store was restored */
    struct sub_health_rules health;
};

struct sub_settings_event {
    int64_t profile_interval, decision_budget, loss_cap;
    int32_t resize_loss;
    struct sub_health_rules health;
};

struct sub_instance_event {
    struct tf_instance_id id;
    enum sub_instance_state state;
    int32_t exit_code;          /* 128 + signal when killed */
    bool stopped;               /* EXITED: it was told to stop, so its code says nothing */
    char *text;                 /* REFUSED, or what the engine adds */
    char *output;               /* EXITED: its last lines */
    char *tenant, *name, *node; /* whose, where and with which GPUs: of an instance that no record knows */
    uint64_t gpus;
    struct tf_strs ports; /* "http=31234" */
};

struct sub_event {
    enum sub_event_kind kind;
    union {
        struct sub_boot boot;
        struct tf_record record;
        struct tf_node node;
        struct sub_instance_event instance;
        struct tf_down down;
        struct sub_settings_event settings;
        struct tf_instance_id checkpoint;
    };
};
void sub_event_release(struct sub_event *event);

/* ---- actions ---- */

enum sub_action_kind {
    SUB_ACT_NONE = 0,
    SUB_ACT_PERSIST,
    SUB_ACT_SEND,  /* up the link */
    SUB_ACT_CLOSE, /* messages were missed: end the link, saying why, and dial again for the full set */
    SUB_ACT_START,
    SUB_ACT_STOP,   /* also of what may never have started: a later start of it must then be refused */
    SUB_ACT_FORGET, /* the epoch's end is stored by the leader: its exit records may go */
    SUB_ACT_PEERS,  /* replace the peers file of an epoch */
    SUB_ACT_FENCE,  /* the epoch's instances stop by themselves at that boot time, 0 = no deadline */
    SUB_ACT_WAKE,
    SUB_ACT_CONTINUE,
    SUB_ACT_TRACE,
    SUB_ACT_ALARM,
};

struct sub_start {
    struct tf_instance_id id;
    char *tenant, *name, *node;
    uint64_t gpus;
    uint32_t rank;
    int32_t size;
    struct tf_group group; /* a copy of the spec's */
};

struct sub_action {
    enum sub_action_kind kind;
    union {
        struct {
            struct tf_record *items;
            size_t count;
        } persist;
        struct tf_up send;
        struct sub_start start;
        struct {
            struct tf_instance_id id;
            int64_t stop_delay, grace; /* ms; both 0: at once */
        } stop;
        struct {
            struct tf_uid uid;
            uint64_t epoch;
        } forget;
        struct {
            struct tf_uid uid;
            uint64_t epoch;
            char *content; /* the whole file: a JSON line of the epoch, then one a member (DESIGN.md §3) */
        } peers;
        struct {
            struct tf_uid uid;
            uint64_t epoch;
            int64_t deadline_boot_ms;
        } fence;
        struct tf_mono wake;
        char *text; /* CLOSE, TRACE, ALARM */
    };
};

struct sub_actions {
    struct sub_action *items;
    size_t count, cap;
};
void sub_actions_release(struct sub_actions *actions);

/* Takes what the event owns (it is released inside) and appends to actions. */
void sub_step(struct sub *sub, struct tf_now now, struct sub_event *event, struct sub_actions *actions);

/* ---- images (common/base/image.h): the whole state between two steps, and what goes in and comes out ----
 *
 * A state that was read decides as its original from then on. Writing changes nothing. Reading, *sub is made
 * (and owned by the caller, also after a failure) and events and actions are empty before. */
void sub_image_state(struct tf_image *image, struct sub **sub);
void sub_image_event(struct tf_image *image, struct sub_event *event);
void sub_image_action(struct tf_image *image, struct sub_action *action);
extern const struct tf_core_ops sub_core;

/* ---- the state, for reading: borrowed until the next sub_step ---- */

/* The rare paths taken since it was made. */
const struct sub_situations *sub_reached(const struct sub *sub);
const struct tf_allocation *sub_allocation_find(const struct sub *sub, struct tf_uid uid);
size_t sub_allocation_count(const struct sub *sub);
const struct tf_allocation *sub_allocation_next(const struct sub *sub,
                                                const struct tf_uid *after); /* by uid */

struct sub_node_view {
    const struct tf_node *node; /* less what is cordoned */
    const struct tf_cordon *cordon;
    uint64_t free_gpus, held_gpus; /* disjoint; the rest is foreign or bad */
    struct tf_vector used;         /* by ours */
    int32_t instances;
};
size_t sub_node_count(const struct sub *sub);
struct sub_node_view sub_node_at(const struct sub *sub, size_t index); /* by name */
/* Why idle GPUs are idle, each under one cause: those that are free by what keeps the policy's mix of shapes
 * from them, those that are kept for a claimant (policy), those that are bad or whose node is not ready
 * (health). */
void sub_idle(const struct sub *sub, struct tf_idle_causes *out);
/* Why each node's idle GPUs are idle: room for sub_node_count of them, by name. */
void sub_idle_of_nodes(const struct sub *sub, struct tf_idle_causes *out);
/* The present profile, as a leader would be sent in full. */
const struct tf_profile *sub_profile(const struct sub *sub);
/* What would be done with this placement if it came now, by the decision that would then be taken (its uid
 * and epoch count for nothing unless a job of that uid lives here). Nothing changes. out is owned by the
 * caller. */
void sub_plan_place(const struct sub *sub, struct tf_now now, const struct tf_entry *entry,
                    struct tf_place_plan *out);
/* Likewise, what would go where by that order (TF_MIGRATE_PLAN), as a chain of which nothing comes: a move
 * has the node of its claim, or why there is none. NULL; or why nothing can be said, which the caller frees.
 */
char *sub_plan_migrate(const struct sub *sub, struct tf_now now, const struct tf_migrate_order *order,
                       struct tf_migration *out);
/* Chains that are on their way, and the latest that were; by the order in which they were made, NULL at the
 * end. */
const struct tf_migration *sub_migration_at(const struct sub *sub, size_t at);
/* Moves that are over, by who wanted them, since the core began; for figures. */
struct sub_moves_over {
    uint64_t done[TF_MOVE_BY_DEFRAG + 1], rolled_back[TF_MOVE_BY_DEFRAG + 1];
};
const struct sub_moves_over *sub_moves_over(const struct sub *sub);
/* What would be moved to free what is ordered. Nothing changes. out is owned by the caller. */
void sub_plan_defrag(const struct sub *sub, struct tf_now now, const struct tf_defrag_order *order,
                     struct tf_defrag_plan *out);

#endif
