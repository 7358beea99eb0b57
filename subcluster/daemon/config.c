/* SPDX-License-Identifier: Apache-2.0 */
/* The table of subclusterd.yaml. */
#include "subcluster/daemon/config.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/conf/conf.h"
#include "common/model/profile.h"
#include "common/net/address.h"

#define C struct subd_config
#define N struct subd_node_group

static const struct tf_row plane_rows[] = {
    {.key = "plane",
     TF_NAME(struct tf_plane, name),
     .flags = TF_ROW_REQUIRED,
     .help = "the name of the network, e.g. `parameter`"},
    {.key = "levels",
     TF_NAMES(struct tf_plane, levels),
     .count = 8,
     .flags = TF_ROW_REQUIRED,
     .help = "the names of its levels, widest first, e.g. `[rdma-pod, switch]`"},
};
static const struct tf_table plane_table = TF_TABLE(struct tf_plane, plane_rows);

static const struct tf_row node_rows[] = {
    {.key = "name", TF_NAME(N, name), .excludes = "prefix", .help = "of one node"},
    {.key = "prefix",
     TF_STRING(N, prefix),
     .min = 1,
     .max = 48,
     .help = "of `count` like nodes, which are named PREFIX0, PREFIX1, ..."},
    {.key = "count",
     TF_INT32(N, count),
     .min = 1,
     .max = SUBD_NODES_MAX,
     .def = "1",
     .help = "how many nodes this entry stands for"},
    {.key = "model",
     TF_STRING(N, model),
     .min = 1,
     .max = TF_NAME_MAX,
     .help = "of its GPUs, as jobs ask for it"},
    {.key = "gpus", TF_INT32(N, gpus), .max = TF_NODE_GPUS_MAX, .def = "0", .help = "how many it has"},
    {.key = "gpuMemory", TF_CAPACITY(N, gpu_memory), .def = "0", .help = "of each GPU"},
    {.key = "cpu",
     TF_CPU(N, cpu),
     .max = TF_QUANTITY_MAX,
     .flags = TF_ROW_REQUIRED,
     .help = "what instances may use: cores, or `500m`"},
    {.key = "memory",
     TF_CAPACITY(N, memory),
     .max = TF_QUANTITY_MAX,
     .flags = TF_ROW_REQUIRED,
     .help = "what instances may use"},
    {.key = "slots",
     TF_INT32(N, slots),
     .min = 1,
     .max = TF_NODE_SLOTS_MAX,
     .flags = TF_ROW_ZERO,
     .help =
         "how many instances it may hold, so that those without a GPU are finite, too; absent = two a GPU "
         "and sixteen more"},
    {.key = "labels", TF_PAIRS(N, labels), .count = 64, .help = "for `nodes.labels` of jobs"},
    {.key = "domains",
     TF_PAIRS(N, domains),
     .count = 16,
     .help = "its place in each plane of `topology`, e.g. `{parameter: rdma-3/sw-12}`; in it `{i}` is the "
             "node's number in this entry, from 0, and `{i/8}` that number divided by 8"},
};
static const struct tf_table node_table = TF_TABLE(N, node_rows);

#define P struct subd_process

static const struct tf_row process_rows[] = {
    {.key = "workDir",
     TF_PATH(P, work_dir),
     .help = "absolute path of the folder in which commands run; absent = `/`"},
    {.key = "cgroup",
     TF_BOOL(P, cgroup),
     .def = "true",
     .help =
         "give each instance a cgroup of its own where that is allowed: what it leaves behind is then found "
         "for certain"},
    {.key = "outputLimit",
     TF_INT64(P, output_limit),
     .min = 4096,
     .max = INT64_C(1) << 40,
     .def = "1048576",
     .help = "bytes of one output file; two are kept of each of an instance's two streams"},
    {.key = "openFiles",
     TF_INT32(P, files_limit),
     .max = 1048576,
     .flags = TF_ROW_ZERO,
     .help = "soft limit of open files of an instance; absent = as of the daemon"},
    {.key = "portLow",
     TF_INT32(P, port_low),
     .min = 1024,
     .max = 65535,
     .def = "20000",
     .help = "ports of instances are taken from here"},
    {.key = "portHigh",
     TF_INT32(P, port_high),
     .min = 1024,
     .max = 65535,
     .def = "29999",
     .help = "up to here"},
    {.key = "journalDays",
     TF_INT32(P, journal_days),
     .max = 36500,
     .def = "30",
     .help = "the journal of starts and ends is kept for so many days; 0 = for ever"},
};
static const struct tf_table process_table = TF_TABLE(P, process_rows);

#define V struct subd_virtual

static const struct tf_row virtual_rows[] = {
    {.key = "seed",
     TF_INT64(V, seed),
     .max = INT64_MAX,
     .def = "1",
     .help = "of all that is drawn: the same instance has the same fate wherever the seed is the same"},
    {.key = "startMin",
     TF_DURATION(V, start_min),
     .max = TF_HOUR,
     .def = "1s",
     .help = "an instance is ready so long after its start, at least"},
    {.key = "startMax", TF_DURATION(V, start_max), .max = TF_HOUR, .def = "3s", .help = "and at most"},
    {.key = "stopMin",
     TF_DURATION(V, stop_min),
     .max = TF_HOUR,
     .def = "100ms",
     .help = "it ends so long after it is asked to, at least"},
    {.key = "stopMax",
     TF_DURATION(V, stop_max),
     .max = TF_HOUR,
     .def = "1s",
     .help = "and at most; what takes longer than its `grace` is killed then"},
    {.key = "run",
     TF_DURATION(V, run),
     .max = 365 * 24 * (int64_t)TF_HOUR,
     .def = "0s",
     .help = "how long it runs, unless its environment says `VIRTUAL_RUN` or its command is `sleep N`; 0 = "
             "for ever. It ends with the code `VIRTUAL_EXIT`, or 0"},
    {.key = "fail",
     TF_FRACTION(V, fail),
     .max = 10000,
     .def = "0%",
     .help = "so many attempts end before their time, with the code 1"},
    {.key = "foreign",
     TF_FRACTION(V, foreign),
     .max = 9000,
     .def = "0%",
     .help = "so much of the time somebody else uses GPUs of a node, from one to all that are free"},
    {.key = "foreignStay",
     TF_DURATION(V, foreign_stay),
     .min = 100,
     .max = 24 * TF_HOUR,
     .def = "10m",
     .help = "how long such a use lasts on average"},
};
static const struct tf_table virtual_table = TF_TABLE(V, virtual_rows);

static const struct tf_row rows[] = {
    {.key = "name",
     TF_NAME(C, name),
     .flags = TF_ROW_REQUIRED,
     .help =
         "of the subcluster, unique in its federation; several daemons may have it, of which one is active"},
    {.key = "region", TF_NAME(C, region), .help = "for `placement.regions` of jobs"},
    {.key = "labels", TF_PAIRS(C, labels), .count = 64, .help = "of the subcluster, shown and for selectors"},
    {.key = "federation",
     TF_STRINGS(C, federation),
     .min = 1,
     .max = 253,
     .count = 16,
     .flags = TF_ROW_REQUIRED,
     .help = "addresses of the federation's daemons, `HOST:PORT` or `unix:/path`; any of them names the one "
             "that leads; without `tls` only on this machine"},
    {.key = "tls",
     TF_OBJECT(C, tls, &tf_tls_table),
     .help = "mutual TLS to the federation; the common name of the certificate is `subcluster/NAME`"},
    {.key = "store",
     TF_OBJECT(C, store, &tf_store_config_table),
     .flags = TF_ROW_REQUIRED,
     .help = "the subcluster's own etcd"},
    {.key = "stateDir",
     TF_PATH(C, state_dir),
     .flags = TF_ROW_REQUIRED,
     .help =
         "absolute path of the folder of the engine's memory: records, locks and output of instances; made "
         "if it is missing, and never to be removed while instances run"},
    {.key = "engine",
     TF_ENUM(C, engine, "process", "virtual"),
     .def = "process",
     .help = "what runs instances; `process`: processes on this machine; `virtual`: nothing runs, nodes and "
             "instances are invented"},
    {.key = "allowRoot",
     TF_BOOL(C, allow_root),
     .def = "false",
     .help = "let the process engine run jobs although this daemon is root: they then are root, too"},
    {.key = "shim", TF_PATH(C, shim), .help = "path of `tidefed-shim`; absent = beside this program"},
    {.key = "process", TF_OBJECT(C, process, &process_table), .help = "of the process engine"},
    {.key = "virtual", TF_OBJECT(C, invented, &virtual_table), .help = "of the virtual engine"},
    {.key = "keepOutput",
     TF_DURATION(C, keep_output),
     .max = 24 * TF_HOUR,
     .def = "10m",
     .help =
         "the output of a job's instances can be read so long after its end; of the latest 1000 epochs at "
         "most"},
    {.key = "topology",
     TF_OBJECTS(C, topology, &plane_table),
     .min = 0,
     .max = 16,
     .help = "the networks that nodes have places in"},
    {.key = "nodes",
     TF_OBJECTS(C, node_groups, &node_table),
     .min = 1,
     .max = TF_ITEMS_MAX,
     .flags = TF_ROW_REQUIRED,
     .help = "of the process engine: what this machine passes for; of the virtual one: what there is"},
    {.key = "settings",
     TF_OBJECT(C, settings, &tf_local_settings_table),
     .help = "what decisions go by that the federation does not say"},
    {.key = "metrics", TF_OBJECT(C, monitor, &tf_monitor_table), .help = "what is shown over HTTP"},
    {.key = "log", TF_OBJECT(C, log, &tf_log_config_table), .help = "the log of the daemon"},
    {.key = "eventLog",
     TF_OBJECT(C, event_log, &tf_eventlog_config_table),
     .help = "what it decides from, recorded for `fedsim replay`"},
};

static void settle(void *object)
{
    struct subd_config *config = object;
    if (!config->store.prefix && config->name)
        config->store.prefix = tf_asprintf("/tidefed/local/%s", config->name);
    if (!config->log.decisions && config->state_dir)
        config->log.decisions = tf_asprintf("%s/decisions.log", config->state_dir);
}

static void check_values(const struct subd_config *config, struct tf_complaints *out)
{
    if (config->state_dir[0] != '/')
        tf_complaints_add(out, "stateDir", "\"%s\" is not an absolute path", config->state_dir);
    if (config->process.work_dir && config->process.work_dir[0] != '/')
        tf_complaints_add(out, "process.workDir", "\"%s\" is not an absolute path", config->process.work_dir);
    if (config->process.port_high < config->process.port_low)
        tf_complaints_add(out, "process.portHigh", "%d is below portLow, %d", config->process.port_high,
                          config->process.port_low);
    if (config->invented.start_max < config->invented.start_min)
        tf_complaints_add(out, "virtual.startMax", "it is below startMin");
    if (config->invented.stop_max < config->invented.stop_min)
        tf_complaints_add(out, "virtual.stopMax", "it is below stopMin");
}

static void check_federation(const struct subd_config *config, struct tf_complaints *out)
{
    tf_vec_each (address, &config->federation) {
        struct tf_error err = TF_ERROR_INIT;
        if (tf_address_check(*address, &err))
            tf_complaints_add(out, "federation", "%s", err.text);
        else if (!tf_tls_is_set(&config->tls) && !tf_address_is_local(*address))
            tf_complaints_add(
                out, "federation",
                "\"%s\" is on another machine, so it needs `tls` (deploy/tls.sh makes the files)", *address);
    }
}

static void check_planes(const struct tf_planes *planes, struct tf_complaints *out)
{
    for (size_t i = 0; i < planes->count; i++)
        for (size_t k = 0; k < i; k++)
            if (tf_str_eq(planes->items[i].name, planes->items[k].name)) {
                TF_AUTO_FREE char *path = tf_asprintf("topology[%zu].plane", i);
                tf_complaints_add(out, path, "there are two planes of the name \"%s\"",
                                  planes->items[i].name);
            }
}

static void check(const void *object, struct tf_complaints *out)
{
    const struct subd_config *config = object;
    struct subd_nodes nodes = {0};
    check_values(config, out);
    check_federation(config, out);
    check_planes(&config->topology, out);
    subd_config_nodes(config, &nodes, out);
    subd_nodes_release(&nodes);
}

const struct tf_table subd_config_table = TF_TABLE(C, rows, .settle = settle, .check = check);

int subd_config_load(const char *path, struct subd_config *config, struct tf_error *err)
{
    return tf_conf_load(path, &subd_config_table, config, err);
}

void subd_config_release(struct subd_config *config)
{
    tf_table_release(&subd_config_table, config);
}
