/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the table of the job manifest. The rules between fields and the defaults by workload are in job.c. */
#include "common/model/manifest.h"

#include "common/base/clock.h"
#include "common/model/selector.h"

#define SPEC struct tf_job_spec
#define GROUP struct tf_group
#define HOURS(n) (INT64_C(n) * TF_HOUR)
#define DAYS(n) (INT64_C(n) * 24 * TF_HOUR)

static const struct tf_row ready_rows[] = {
    {.key = "command",
     TF_STRINGS(GROUP, ready.command),
     .min = 1,
     .count = 256,
     .help = "run in the instance; exit code 0 means ready"},
    {.key = "period",
     TF_DURATION(GROUP, ready.period),
     .min = 100,
     .max = HOURS(1),
     .def = "5s",
     .help = "between two probes"},
    {.key = "timeout",
     TF_DURATION(GROUP, ready.timeout),
     .min = TF_SECOND,
     .max = HOURS(24),
     .def = "2m",
     .help = "an instance that is not ready after so long has failed"},
};
static const struct tf_table ready_table = TF_TABLE(GROUP, ready_rows);

static const struct tf_row instance_rows[] = {
    {.key = "gpus",
     TF_INT32(GROUP, shape.gpus),
     .max = TF_NODE_GPUS_MAX,
     .def = "0",
     .help = "whole GPUs of one node; 0 is legal"},
    {.key = "gpuModels",
     TF_STRINGS(GROUP, shape.gpu_models),
     .min = 1,
     .max = TF_NAME_MAX,
     .count = 16,
     .help = "in order of preference, all instances get one model; absent = any"},
    {.key = "gpuMemory",
     TF_MEMORY(GROUP, shape.gpu_memory),
     .flags = TF_ROW_ZERO,
     .help = "least memory of each GPU; absent = any"},
    {.key = "cpu", TF_CPU(GROUP, shape.cpu), .flags = TF_ROW_ZERO, .help = "cores, or 500m"},
    {.key = "memory", TF_MEMORY(GROUP, shape.memory), .flags = TF_ROW_ZERO, .help = "rounded up to MiB"},
    {.key = "image", TF_STRING(GROUP, image), .min = 1, .max = 1024, .help = "for engines that use images"},
    {.key = "command", TF_STRINGS(GROUP, command), .count = 1024, .help = "program and arguments; no shell"},
    {.key = "env",
     TF_PAIRS(GROUP, env),
     .count = 1024,
     .help = "environment of the instance; TIDEFED_* and CUDA_VISIBLE_DEVICES are set by the engine"},
    {.key = "ports",
     TF_NAMES(GROUP, ports),
     .count = TF_PORTS_MAX,
     .help = "names; the engine gives each instance a port for each"},
    {.key = "grace",
     TF_DURATION(GROUP, grace),
     .max = HOURS(1),
     .def = "30s",
     .help = "between the polite stop and the forced one"},
    {.key = "stopDelay",
     TF_DURATION(GROUP, stop_delay),
     .max = 10 * TF_MINUTE,
     .def = "0s",
     .help = "between leaving the peers file and the polite stop, so that connections drain"},
    {.key = "ready", TF_GROUP(&ready_table), .help = "probe; absent = ready when running"},
};
static const struct tf_table instance_table = TF_TABLE(GROUP, instance_rows);

/* A reservation's instance is a shape: the rows up to `image`. */
enum { SHAPE_ROWS = 5 };
static const struct tf_table shape_table = {
    .size = sizeof(GROUP), .rows = instance_rows, .count = SHAPE_ROWS};

static const struct tf_row elastic_rows[] = {
    {.key = "min",
     TF_INT32(SPEC, elastic.min),
     .min = 1,
     .max = TF_INSTANCES_MAX,
     .flags = TF_ROW_REQUIRED | TF_ROW_RELOADABLE,
     .help = "instances of the core; a multiple of step"},
    {.key = "max",
     TF_INT32(SPEC, elastic.max),
     .min = 1,
     .max = TF_INSTANCES_MAX,
     .flags = TF_ROW_REQUIRED | TF_ROW_RELOADABLE,
     .help = "most instances the job can use; a multiple of step"},
    {.key = "step",
     TF_INT32(SPEC, elastic.step),
     .min = 1,
     .max = TF_INSTANCES_MAX,
     .flags = TF_ROW_RELOADABLE,
     .help = "instances come and go in such groups; absent = 1"},
    {.key = "belowMin",
     TF_ENUM(SPEC, below_min, "keep", "stop"),
     .flags = TF_ROW_FILLED | TF_ROW_RELOADABLE,
     .help = "keep running, or stop as a gang, when losses leave less than min"},
    {.key = "grow",
     TF_ENUM(SPEC, grow, "continuous", "onRestart", "never"),
     .flags = TF_ROW_FILLED | TF_ROW_RELOADABLE,
     .help = "when free steps are taken"},
};
static const struct tf_table elastic_table = TF_TABLE(SPEC, elastic_rows);

static const struct tf_row topology_rows[] = {
    {.key = "plane",
     TF_NAME(struct tf_topology_rule, plane),
     .help = "named topology; absent = the one that has a level of that name"},
    {.key = "within",
     TF_NAME(struct tf_topology_rule, within),
     .flags = TF_ROW_REQUIRED,
     .help = "level: all in one domain of it"},
    {.key = "of",
     TF_ENUM(struct tf_topology_rule, of, "job", "step"),
     .flags = TF_ROW_FILLED,
     .help = "what shares the domain; absent = job"},
    {.key = "mode",
     TF_ENUM(struct tf_topology_rule, mode, "require", "prefer"),
     .flags = TF_ROW_FILLED,
     .help = "absent = require"},
};
static const struct tf_table topology_table = TF_TABLE(struct tf_topology_rule, topology_rows);

static const struct tf_row nodes_rows[] = {
    {.key = "labels",
     TF_PAIRS(SPEC, node_labels),
     .max = 127,
     .count = 64,
     .help = "only nodes that have them"},
};
static const struct tf_table nodes_table = TF_TABLE(SPEC, nodes_rows);

static const struct tf_row spread_rows[] = {
    {.key = "maxNodes",
     TF_INT32(SPEC, max_nodes),
     .min = 1,
     .max = TF_INSTANCES_MAX,
     .flags = TF_ROW_ZERO,
     .help = "all instances on at most so many nodes; absent = any number"},
};
static const struct tf_table spread_table = TF_TABLE(SPEC, spread_rows);

static const struct tf_row retries_rows[] = {
    {.key = "limit",
     TF_INT32(SPEC, retry_limit),
     .max = 1000,
     .def = "3",
     .help = "failures of the job that are answered by a new attempt; losses do not count"},
    {.key = "backoff",
     TF_DURATION(SPEC, retry_backoff),
     .max = 5 * TF_MINUTE,
     .def = "10s",
     .help = "before the first new attempt; doubles, up to 5m"},
};
static const struct tf_table retries_table = TF_TABLE(SPEC, retries_rows);

static const struct tf_row placement_rows[] = {
    {.key = "clusters",
     TF_NAMES(SPEC, clusters),
     .count = 256,
     .flags = TF_ROW_RELOADABLE,
     .help = "only these, in the job's order of preference; absent = any"},
    {.key = "regions",
     TF_NAMES(SPEC, regions),
     .count = 256,
     .flags = TF_ROW_RELOADABLE,
     .help = "only clusters of these; absent = any"},
    {.key = "onClusterLost",
     TF_ENUM(SPEC, on_cluster_lost, "wait", "restart"),
     .flags = TF_ROW_FILLED | TF_ROW_RELOADABLE,
     .help = "wait for the cluster, or restart elsewhere once the fence has run out; absent = wait"},
};
static const struct tf_table placement_table = TF_TABLE(SPEC, placement_rows);

/* A reservation that is lost with its cluster waits there: nothing of it runs that a fence could stop. */
enum { WHERE_ROWS = 2 };
static const struct tf_table where_table = {
    .size = sizeof(SPEC), .rows = placement_rows, .count = WHERE_ROWS};

static const struct tf_row owner_rows[] = {
    {.key = "tenant",
     TF_NAME(struct tf_owner, tenant),
     .help = "jobs of this tenant; absent = that of the reservation"},
    {.key = "job",
     TF_NAME(struct tf_owner, job),
     .excludes = "selector",
     .help = "only the job of that name; the reservation ends when it does"},
    {.key = "selector",
     TF_STRING(struct tf_owner, selector),
     .min = 1,
     .max = TF_SELECTOR_TEXT_MAX,
     .help = "only jobs with such labels: `team=ranking,stage!=dev`"},
};
static const struct tf_table owner_table = TF_TABLE(struct tf_owner, owner_rows);

static const struct tf_row reserve_rows[] = {
    {.key = "expires",
     TF_DURATION(struct tf_reserve, expires),
     .max = DAYS(365),
     .flags = TF_ROW_ZERO,
     .help = "after it was accepted"},
    {.key = "owner", TF_OBJECT(struct tf_reserve, owner, &owner_table), .help = "whose jobs may start in it"},
};
const struct tf_table tf_reserve_table = TF_TABLE(struct tf_reserve, reserve_rows);

static const struct tf_row spec_rows[] = {
    {.key = "priority",
     TF_NAME(SPEC, priority),
     .flags = TF_ROW_REQUIRED | TF_ROW_RELOADABLE,
     .help = "a class of the federation's configuration"},
    {.key = "workload",
     TF_ENUM(SPEC, workload, "inference", "training", "offline", "debug"),
     .flags = TF_ROW_FILLED,
     .help = "chooses the defaults that depend on it, nothing else; absent = offline"},
    {.key = "instances",
     TF_SIZES(SPEC, elastic.min, 3),
     .min = 1,
     .max = TF_INSTANCES_MAX,
     .excludes = "elastic",
     .flags = TF_ROW_RELOADABLE,
     .help = "short for elastic with min = max = step; absent, like elastic = 1"},
    {.key = "elastic", TF_GROUP(&elastic_table), .flags = TF_ROW_RELOADABLE, .help = "sizes of the job"},
    {.key = "instance",
     TF_OBJECT(SPEC, group, &instance_table),
     .flags = TF_ROW_REQUIRED,
     .help = "what each instance needs and runs"},
    {.key = "topology",
     TF_OBJECTS(SPEC, topology, &topology_table),
     .max = 8,
     .help = "closeness that is required or preferred"},
    {.key = "nodes", TF_GROUP(&nodes_table)},
    {.key = "spread", TF_GROUP(&spread_table)},
    {.key = "onResize",
     TF_CHOICE(SPEC, on_resize, TF_ON_RESIZE_SIGNAL, resize_signal, "none", "signal", "restart"),
     .flags = TF_ROW_FILLED,
     .help = "how members learn of a new size: not at all, by `{signal: SIGUSR1}`, by a restart"},
    {.key = "migration",
     TF_ENUM(SPEC, migration, "allow", "restart", "never"),
     .flags = TF_ROW_FILLED,
     .help = "allow: make before break; restart: only with a restart of the job"},
    {.key = "readyMin",
     TF_INT32(SPEC, ready_min),
     .max = TF_INSTANCES_MAX,
     .def = "0",
     .help = "a move or drain never goes below so many ready"},
    {.key = "minRuntime",
     TF_DURATION(SPEC, min_runtime),
     .max = TF_MIN_RUNTIME_MAX,
     .def = "0s",
     .flags = TF_ROW_RELOADABLE,
     .help = "the core is not evicted before; capped by the limits of tenant and class"},
    {.key = "maxRuntime",
     TF_DURATION(SPEC, max_runtime),
     .min = TF_SECOND,
     .max = DAYS(365),
     .flags = TF_ROW_FILLED | TF_ROW_NONE | TF_ROW_RELOADABLE,
     .help = "the job is stopped after so long; or `none`"},
    {.key = "retries", TF_GROUP(&retries_table)},
    {.key = "completion",
     TF_ENUM(SPEC, completion, "all", "rank0"),
     .flags = TF_ROW_FILLED,
     .help = "whose exit with 0 ends the job; absent = all"},
    {.key = "keepFinished",
     TF_DURATION(SPEC, keep_finished),
     .max = DAYS(365),
     .def = "24h",
     .flags = TF_ROW_RELOADABLE,
     .help = "how long the finished job can be looked at before it is archived"},
    {.key = "placement", TF_GROUP(&placement_table), .flags = TF_ROW_RELOADABLE},
    /* for copying and comparing whole specs; it is `kind: Reservation` that says so, in rows of its own */
    {.key = "reserve",
     TF_OBJECT(SPEC, reserve, &tf_reserve_table),
     .flags = TF_ROW_HIDDEN | TF_ROW_RELOADABLE},
};
const struct tf_table tf_job_spec_table = TF_TABLE(SPEC, spec_rows);

static const struct tf_row metadata_rows[] = {
    {.key = "tenant",
     TF_NAME(struct tf_job_manifest, tenant),
     .flags = TF_ROW_REQUIRED,
     .help = "whose job it is; part of every key"},
    {.key = "name",
     TF_NAME(struct tf_job_manifest, name),
     .flags = TF_ROW_REQUIRED,
     .help = "unique in the tenant"},
    {.key = "labels",
     TF_PAIRS(struct tf_job_manifest, labels),
     .max = 127,
     .count = 64,
     .flags = TF_ROW_RELOADABLE,
     .help = "for selectors"},
};
static const struct tf_table metadata_table = TF_TABLE(struct tf_job_manifest, metadata_rows);

static const struct tf_row manifest_rows[] = {
    {.key = "apiVersion",
     TF_CONST(TF_API_VERSION),
     .flags = TF_ROW_REQUIRED,
     .help = "version of this format"},
    {.key = "kind", TF_CONST(TF_KIND_JOB), .flags = TF_ROW_REQUIRED, .help = "what the document describes"},
    {.key = "metadata", TF_GROUP(&metadata_table), .flags = TF_ROW_REQUIRED},
    {.key = "spec", TF_OBJECT(struct tf_job_manifest, spec, &tf_job_spec_table), .flags = TF_ROW_REQUIRED},
};

static void settle(void *object)
{
    struct tf_job_manifest *manifest = object;
    tf_job_spec_fill(&manifest->spec);
}

static void check_job(const void *object, struct tf_complaints *out)
{
    const struct tf_job_manifest *manifest = object;
    tf_job_manifest_check_rules(manifest, out);
    if (tf_is_reservation(&manifest->spec))
        tf_complaints_add(out, "spec.reserve", "no job reserves: that is `kind: %s`", TF_KIND_RESERVATION);
}

const struct tf_table tf_job_manifest_table =
    TF_TABLE(struct tf_job_manifest, manifest_rows, .settle = settle, .check = check_job);

/* ---- reservations: the same struct, with rows of their own ---- */

static const struct tf_row reservation_spec_rows[] = {
    {.key = "priority",
     TF_NAME(SPEC, priority),
     .flags = TF_ROW_REQUIRED | TF_ROW_RELOADABLE,
     .help = "a class of the federation's configuration: what it keeps is taken by higher ones only"},
    {.key = "count",
     TF_INT32(SPEC, elastic.min),
     .min = 1,
     .max = TF_INSTANCES_MAX,
     .def = "1",
     .help = "instances to keep room for, all or none"},
    {.key = "instance",
     TF_OBJECT(SPEC, group, &shape_table),
     .flags = TF_ROW_REQUIRED,
     .help = "what each of them will need, at least one GPU"},
    {.key = "owner",
     TF_OBJECT(SPEC, reserve.owner, &owner_table),
     .flags = TF_ROW_REQUIRED | TF_ROW_RELOADABLE,
     .help = "whose jobs may start in it"},
    {.key = "expires",
     TF_DURATION(SPEC, reserve.expires),
     .min = TF_SECOND,
     .max = DAYS(365),
     .flags = TF_ROW_REQUIRED | TF_ROW_RELOADABLE,
     .help = "after it was accepted; required, so that none is forgotten"},
    {.key = "topology",
     TF_OBJECTS(SPEC, topology, &topology_table),
     .max = 8,
     .help = "closeness that is required or preferred"},
    {.key = "nodes", TF_GROUP(&nodes_table)},
    {.key = "spread", TF_GROUP(&spread_table)},
    {.key = "placement", TF_GROUP(&where_table), .flags = TF_ROW_RELOADABLE},
    {.key = "keepFinished",
     TF_DURATION(SPEC, keep_finished),
     .max = DAYS(365),
     .def = "24h",
     .flags = TF_ROW_RELOADABLE,
     .help = "how long it can be looked at when it is over"},
};
const struct tf_table tf_reservation_spec_table = TF_TABLE(SPEC, reservation_spec_rows);

static const struct tf_row reservation_rows[] = {
    {.key = "apiVersion",
     TF_CONST(TF_API_VERSION),
     .flags = TF_ROW_REQUIRED,
     .help = "version of this format"},
    {.key = "kind",
     TF_CONST(TF_KIND_RESERVATION),
     .flags = TF_ROW_REQUIRED,
     .help = "what the document describes"},
    {.key = "metadata", TF_GROUP(&metadata_table), .flags = TF_ROW_REQUIRED},
    {.key = "spec",
     TF_OBJECT(struct tf_job_manifest, spec, &tf_reservation_spec_table),
     .flags = TF_ROW_REQUIRED},
};

static void settle_reservation(void *object)
{
    struct tf_job_manifest *manifest = object;
    tf_job_spec_fill(&manifest->spec);
    if (!manifest->spec.reserve.owner.tenant)
        tf_str_set(&manifest->spec.reserve.owner.tenant, manifest->tenant);
}

void tf_reservation_settle(struct tf_job_manifest *manifest)
{
    struct tf_job_manifest said = {0};
    tf_table_copy(&tf_reservation_manifest_table, &said, manifest);
    settle_reservation(&said);
    tf_job_manifest_release(manifest);
    *manifest = said;
}

static void check_reservation(const void *object, struct tf_complaints *out)
{
    tf_job_manifest_check_rules(object, out);
}

const struct tf_table tf_reservation_manifest_table = TF_TABLE(
    struct tf_job_manifest, reservation_rows, .settle = settle_reservation, .check = check_reservation);

const struct tf_table *tf_manifest_table_of(const struct tf_job_spec *spec)
{
    return tf_is_reservation(spec) ? &tf_reservation_manifest_table : &tf_job_manifest_table;
}
