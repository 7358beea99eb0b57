/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_DAEMON_PRIVATE_H
#define TF_SUBCLUSTER_DAEMON_PRIVATE_H

#include "common/daemon/tally.h"
#include "common/eventlog/recorder.h"
#include "common/keep/keep.h"
#include "common/log/decisions.h"
#include "common/loop/loop.h"
#include "common/monitor/monitor.h"
#include "common/rpc/client.h"
#include "subcluster/core/sub.h"
#include "subcluster/daemon/daemon.h"
#include "subcluster/engine/engine.h"

/* Shared by the files of this folder only. */

struct running;
struct uplink;
struct push;
struct upkeep;
struct metrics;
struct diagnosis;

struct subd {
    struct tf_loop *loop;
    struct tf_rpc *rpc;
    struct subd_config config, first_config; /* in force; as it was at the start */
    struct subd_nodes nodes;
    struct tf_store *store;
    struct tf_keep *keep;

    /* owner.c */
    struct sub *sub;     /* NULL: stands by */
    struct tf_term term; /* of the prefix */
    bool proving;        /* the first transaction of the term is out */
    bool promised;       /* a stored record says that something was promised here */
    bool accept_rollback, new_engine_memory;
    bool stopping;

    /* shell.c */
    TF_VEC(struct sub_event) events; /* from next_event on still to be given to the core */
    size_t next_event;
    bool stepping;
    struct tf_timer wake;
    struct tf_inbox_item again; /* SUB_EV_CONTINUE, after other events */
    bool again_posted;

    struct running *running;
    struct uplink *uplink;
    struct push *pushes;
    struct upkeep *upkeep;
    struct tf_decisions *decisions;
    struct tf_recorder *recorder; /* NULL: its events are not recorded */
    struct metrics *metrics;
    struct diagnosis *diagnosis;
    struct tf_tally tally;

    void (*failed)(void *arg);
    void *failed_arg;
    struct tf_timer leaving; /* the leader is being told that this one stops */
    void (*stopped)(void *arg);
    void *stopped_arg;
};

/* owner.c */
int subd_owner_start(struct subd *subd, struct tf_error *err);
void subd_owner_release(struct subd *subd);
void subd_owner_drop(struct subd *subd); /* the core and all that works for it; none is fine */
/* What the engine and the federation know this owner by: it grows with each owner, also over a rollback. */
uint64_t subd_owner_revision(const struct subd *subd);
/* By our own clock nobody else can hold the prefix now. */
bool subd_owner_is_sure(const struct subd *subd);
void subd_fail(struct subd *subd); /* see subd_create */

/* shell.c: events are taken, and given to the core in order, at once or, from within an action, after it. */
void subd_feed(struct subd *subd, struct sub_event *event);
void subd_shell_reset(struct subd *subd);

/* running.c: only while there is a core */
int subd_running_start(struct subd *subd, struct tf_error *err); /* before SUB_EV_BOOT */
void subd_running_stop(struct subd *subd);                       /* instances live on; none is fine */
uint32_t subd_running_capabilities(const struct subd *subd);     /* set of enum tf_capability */
const char *subd_running_engine(const struct subd *subd);        /* its name */
void subd_running_adopt(struct subd *subd);
bool subd_running_listed(const struct subd *subd); /* the engine has told of all it knows */
/* START, STOP, FORGET, PEERS, FENCE; what the action owns may be taken. */
void subd_running_perform(struct subd *subd, struct sub_action *action);
/* The instance whose output is meant: epoch 0 = the latest, attempt 0 = the last of it. False if the engine
 * knows none. */
bool subd_running_find(const struct subd *subd, struct tf_uid uid, uint64_t epoch, uint32_t index,
                       uint32_t attempt, struct tf_instance_id *id);

/* uplink.c */
void subd_uplink_start(struct subd *subd); /* again is fine */
/* Tells the leader that this is a planned stop, so that people are not alarmed, and then left when it has
 * heard it. False: there is nobody to tell. subd_uplink_stop ends it at any time. */
bool subd_uplink_leave(struct subd *subd, void (*left)(struct subd *subd));
void subd_uplink_stop(struct subd *subd); /* none is fine; tells the core nothing */
void subd_uplink_send(struct subd *subd, const struct tf_up *up);
void subd_uplink_close(struct subd *subd, const char *why);
struct tf_channel *subd_uplink_channel(struct subd *subd); /* NULL: away */
bool subd_uplink_attached(const struct subd *subd);        /* and the leader has answered */

/* asks.c, logs.c */
void subd_ask(struct subd *subd, const struct tf_ask *ask);
void subd_logs_push(struct subd *subd, const struct tf_ask *ask);
void subd_logs_stop(struct subd *subd);    /* all; those that read end soon after */
void subd_logs_destroy(struct subd *subd); /* waits for them */

/* upkeep.c */
void subd_upkeep_start(struct subd *subd);
void subd_upkeep_wrote(struct subd *subd, size_t bytes);
struct tf_store_status subd_upkeep_status(const struct subd *subd); /* as last seen; zero before */
void subd_upkeep_stop(struct subd *subd);

/* diagnosis.c: says in the log what stands against a link to the address, if certificates do */
void subd_diagnose(struct subd *subd, const char *address);
void subd_diagnosis_destroy(struct subd *subd); /* waits for it; none is fine */

/* metrics.c */
int subd_metrics_start(struct subd *subd, struct tf_error *err);
void subd_metrics_stop(struct subd *subd); /* not started is fine */
void subd_metrics_call(struct subd *subd, enum sub_action_kind kind);
void subd_metrics_engine(struct subd *subd, const struct tf_engine_event *event);

#endif
