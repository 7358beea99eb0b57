/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_ENGINE_PROCESS_H
#define TF_ENGINE_PROCESS_H

#include "common/loop/loop.h"
#include "subcluster/engine/engine.h"

/* The engine that runs real processes on this machine, each under a shim (shim/shim.h) that outlives the
 * daemon. Its nodes are configured: parts of this machine that have names. To take one out of service, make
 * the file STATE_DIR/down/NODE: its instances are killed and the node is told lost; remove the file: ready
 * again.
 *
 * Works in a thread of its own, since it waits for disks; events come in the loop thread. What is on the disk
 * is described in state/folder.h and state/journal.h. */
struct tf_process_config {
    char *state_dir;      /* absolute; made by initialise */
    char *shim;           /* path of tidefed-shim; NULL = beside this program */
    char *work_dir;       /* in which commands are run; absolute */
    bool allow_root;      /* run jobs as root, if the daemon does */
    bool cgroup;          /* put each instance into a cgroup v2 of its own where that is allowed */
    int64_t output_limit; /* bytes of one output file; two are kept for each of the two streams */
    int32_t files_limit;  /* soft limit of open files of a job; 0 = the daemon's */
    int32_t port_low, port_high;
    int64_t kill_bound;   /* ms after a forced stop was due until it is carried out by other means */
    int32_t journal_days; /* older days of the journal are removed; 0 = none */
    struct {
        struct tf_node *items;
        size_t count, cap;
    } nodes; /* names differ; state is ignored */
};
void tf_process_config_init(struct tf_process_config *config); /* defaults; no nodes, no state_dir */
void tf_process_config_release(struct tf_process_config *config);

/* config is copied. event is called in the thread of loop, which outlives the engine; context is borrowed.
 * NULL: the configuration is wrong, no shim, out of threads or descriptors. */
struct tf_engine *tf_process_engine_create(const struct tf_process_config *config, struct tf_loop *loop,
                                           tf_engine_event_f event, void *context, struct tf_error *err);

#endif
