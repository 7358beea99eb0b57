/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_DAEMON_DAEMON_H
#define TF_SUBCLUSTER_DAEMON_DAEMON_H

#include "common/rpc/rpc.h"
#include "subcluster/daemon/config.h"

/* subclusterd: the shell around the subcluster's core (subcluster/core/sub.h). Everything here runs in the
 * loop thread, but the reading of output files.
 *
 *   owner.c    who acts: the keep of the local prefix; makes and drops the core
 *   shell.c    feeds the core, carries out its actions
 *   running.c  the engine: calls to it, what it tells
 *   uplink.c   the stream to the federation's leader
 *   asks.c     its questions          logs.c  output of instances, on streams of its own
 *   reload.c   SIGHUP                          diagnosis.c  why there is no link
 *   upkeep.c   room in the store            metrics.c  figures for Prometheus, health */
struct subd;

struct subd_options {
    struct subd_config config; /* taken, also on failure */
    bool accept_rollback;      /* the store was restored: raise the era, once */
    bool new_engine_memory;    /* the engine's memory is gone for good: make it anew, once */
};

/* Begins to stand for owner. loop and rpc are borrowed until it is destroyed. failed is called from the loop
 * when it can never work as it is; the reason has been logged. */
struct subd *subd_create(struct tf_loop *loop, struct tf_rpc *rpc, struct subd_options *options,
                         void (*failed)(void *arg), void *arg, struct tf_error *err);
/* Leaves the federation, gives the prefix up, then calls done. Instances live on. Once. */
void subd_stop(struct subd *subd, void (*done)(void *arg), void *arg);
/* Takes over what of the file may change under way, and says in the log what else differs. */
void subd_reload(struct subd *subd, const char *path);
struct sub_health_rules subd_health_rules(const struct tf_local_settings *settings);
void subd_destroy(struct subd *subd); /* NULL is fine */

#endif
