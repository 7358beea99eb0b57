/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_DAEMON_CONFIG_H
#define TF_SUBCLUSTER_DAEMON_CONFIG_H

#include "common/eventlog/config.h"
#include "common/log/config.h"
#include "common/model/node.h"
#include "common/model/settings.h"
#include "common/monitor/monitor.h"
#include "common/net/tls.h"
#include "common/store/config.h"

/* What subclusterd.yaml says. */

enum { SUBD_NODES_MAX = 20000 };

/* One entry of `nodes`: a node, or `count` like ones. */
struct subd_node_group {
    char *name, *prefix; /* one of them; with a prefix the names are PREFIX0, PREFIX1, ... */
    int32_t count;
    char *model; /* of the GPUs */
    int32_t gpus;
    int64_t gpu_memory, cpu, memory;
    int32_t slots; /* 0 = not said: two a GPU and sixteen more */
    struct tf_pairs labels;
    struct tf_pairs domains; /* plane -> path, in which {i} is the node's number in its entry, {i/K} that
                                number divided by K */
};
struct subd_node_groups {
    struct subd_node_group *items;
    size_t count, cap;
};

struct subd_nodes {
    struct tf_node *items;
    size_t count, cap;
};
void subd_nodes_release(struct subd_nodes *nodes);

/* Of the process engine. */
struct subd_process {
    char *work_dir; /* NULL = the engine's default */
    bool cgroup;
    int64_t output_limit; /* bytes */
    int32_t files_limit, port_low, port_high, journal_days;
};

/* Of the virtual engine; see engine/virtual/virtual.h. */
struct subd_virtual {
    int64_t seed;
    int64_t start_min, start_max, stop_min, stop_max, run; /* ms */
    int32_t fail, foreign;                                 /* basis points */
    int64_t foreign_stay;                                  /* ms */
};

enum subd_engine_kind { SUBD_ENGINE_NONE, SUBD_ENGINE_PROCESS, SUBD_ENGINE_VIRTUAL };

struct subd_config {
    char *name, *region;
    struct tf_pairs labels;
    struct tf_strs federation;    /* addresses of fedd */
    struct tf_tls_files tls;      /* to it; not set: all of them are on this machine */
    struct tf_store_config store; /* its prefix is never NULL after the load */
    char *state_dir;
    enum subd_engine_kind engine;
    bool allow_root;
    char *shim;          /* NULL = beside this program */
    int64_t keep_output; /* ms after the end of an epoch was stored */
    struct subd_process process;
    struct subd_virtual invented;
    struct tf_planes topology;
    struct subd_node_groups node_groups;
    struct tf_local_settings settings;
    struct tf_monitor_config monitor;
    struct tf_log_config log; /* its decisions are never NULL after the load */
    struct tf_eventlog_config event_log;
};
extern const struct tf_table subd_config_table;

/* Reads the file; what is wrong comes with line and column. */
int subd_config_load(const char *path, struct subd_config *config, struct tf_error *err);
void subd_config_release(struct subd_config *config);

/* The nodes that the entries stand for, in their order, all READY: nodes starts empty and is owned by the
 * caller, also on failure. Complaints have the paths of the file. False if there was one. */
bool subd_config_nodes(const struct subd_config *config, struct subd_nodes *nodes,
                       struct tf_complaints *complaints);

#endif
