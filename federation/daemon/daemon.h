/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_DAEMON_DAEMON_H
#define TF_FEDERATION_DAEMON_DAEMON_H

#include "common/keep/keep.h"
#include "common/rpc/server.h"
#include "federation/core/fed.h"
#include "federation/daemon/config.h"

/* fedd: the shell around the federation's core (federation/core/fed.h). Everything here runs in the loop
 * thread, but the streams of logs and the writer of the archive.
 *
 *   lead.c      who leads: the keep of the federation's prefix; creates and drops the core
 *   host.c      feeds the core, carries out its actions
 *   links.c     streams of subclusters
 *   requests.c  clients' calls that wait for the core's word
 *   changes.c   calls that change something       reads.c   calls that only look
 *   watch.c     streams of changes                view.c    what clients see of a job
 *   asks.c      questions about nodes             logs.c    output of instances
 *   archive.c   finished jobs, on disk            upkeep.c  quota and compaction of the store
 *   reload.c    SIGHUP                            roles.c   who may call what
 *   config_show.c  the configuration in force, for clients
 *   metrics.c   figures for Prometheus, health    census.c  how many jobs there are, for them
 */
struct fedd;

struct fedd_options {
    struct fedd_config config; /* taken */
    bool accept_rollback;
};

/* Binds, and begins to stand for leader. loop and rpc are borrowed until it is destroyed. */
struct fedd *fedd_create(struct tf_loop *loop, struct tf_rpc *rpc, struct fedd_options *options,
                         struct tf_error *err);
/* Lets calls in progress end for grace_ms, gives the lead up, then calls done. */
void fedd_stop(struct fedd *fedd, int64_t grace_ms, void (*done)(void *arg), void *arg);
/* SIGHUP: takes over what of the file may change under way, and says in the log what else differs. */
void fedd_reload(struct fedd *fedd, const char *path);
void fedd_destroy(struct fedd *fedd);              /* NULL is fine */
const char *fedd_address(const struct fedd *fedd); /* as advertised */

#endif
