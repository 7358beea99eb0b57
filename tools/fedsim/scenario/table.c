/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the rows of a scenario. What holds between them is in check*.c. */
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/model/manifest.h"
#include "tools/fedsim/scenario/private.h"

#include <assert.h>

#define DAYS(n) (INT64_C(n) * 24 * TF_HOUR)

enum {
    TEXT_MAX = 200,
    FEDDS_MAX = 9,
    DAEMONS_MAX = 9,
    SKEW_MS_MAX = 3600 * 1000,
    DRIFT_MAX = 4900,
    SCALE_MAX = 1000000
};

/* Some tables are made of others' rows, once, when the first scenario is read. */
static struct tf_table settings_table, tide_spec_table, tide_job_table;

/* ---- fleet ---- */

static const struct tf_row plane_rows[] = {
    {.key = "name", TF_NAME(struct tf_plane, name), .flags = TF_ROW_REQUIRED},
    {.key = "levels", TF_NAMES(struct tf_plane, levels), .count = 8},
};
static const struct tf_table plane_table = TF_TABLE(struct tf_plane, plane_rows);

static const struct tf_row domain_rows[] = {
    {.key = "plane", TF_NAME(struct scenario_domains, plane), .flags = TF_ROW_REQUIRED},
    {.key = "path", TF_STRING(struct scenario_domains, path), .min = 1, .max = TEXT_MAX},
};
static const struct tf_table domain_table = TF_TABLE(struct scenario_domains, domain_rows);

#define NODES struct scenario_nodes
static const struct tf_row nodes_rows[] = {
    {.key = "count",
     TF_INT32(NODES, count),
     .min = 1,
     .max = SCENARIO_NODES_MAX,
     .def = "1",
     .help = "so many"},
    {.key = "prefix",
     TF_STRING(NODES, prefix),
     .min = 1,
     .max = TF_NAME_MAX,
     .def = "n",
     .help = "their names are n0, n1 ..."},
    {.key = "model",
     TF_STRING(NODES, model),
     .min = 1,
     .max = TF_NAME_MAX,
     .help = "of the GPUs; needed if there are any"},
    {.key = "gpus", TF_INT32(NODES, gpus), .max = TF_NODE_GPUS_MAX, .def = "0", .help = "of each node"},
    {.key = "gpuMemory", TF_CAPACITY(NODES, gpu_memory), .flags = TF_ROW_ZERO, .help = "of each GPU"},
    {.key = "cpu", TF_CPU(NODES, cpu), .def = "128", .help = "cores"},
    {.key = "memory", TF_CAPACITY(NODES, memory), .def = "1Ti", .help = "of each node"},
    {.key = "slots",
     TF_INT32(NODES, slots),
     .min = 1,
     .max = 100000,
     .def = "110",
     .help = "instances that a node may hold"},
    {.key = "labels", TF_PAIRS(NODES, labels), .max = 127, .count = 64, .help = "for `nodes.labels` of jobs"},
    {.key = "domain",
     TF_STRING(NODES, domain),
     .min = 1,
     .max = TEXT_MAX,
     .excludes = "domains",
     .help = "place in the only plane: `rdma-{i/64}/sw-{i/32}`, i = number of the node, {i/k} = i div k"},
    {.key = "domains", TF_MAP(NODES, domains, &domain_table), .max = 8, .help = "place in each plane"},
    {.key = "foreign",
     TF_STRING(NODES, foreign),
     .min = 1,
     .max = TEXT_MAX,
     .help = "GPUs that others hold from the beginning: \"0-3,6\""},
    {.key = "joins",
     TF_DURATION(NODES, joins),
     .min = 1,
     .max = DAYS(3650),
     .flags = TF_ROW_ZERO,
     .help = "they come then; absent = they are there"},
};
static const struct tf_table nodes_table = TF_TABLE(NODES, nodes_rows);

/* Less than 1 % between any two (DESIGN.md §9, I2). */
#define DRIFT(word, type, field)                                                                         \
    {                                                                                                    \
        .key = (word), TF_INT64(type, field), .min = -DRIFT_MAX, .max = DRIFT_MAX, .flags = TF_ROW_ZERO, \
        .help = "its clocks run so much too fast"                                                        \
    }
#define CLUSTER struct scenario_cluster
static const struct tf_row nodes_from_rows[] = {
    {.key = "csv",
     TF_STRING(CLUSTER, nodes_csv),
     .min = 1,
     .max = 4096,
     .help = "file of nodes, from the folder of the scenario"},
};
static const struct tf_table nodes_from_table = TF_TABLE(CLUSTER, nodes_from_rows);

static const struct tf_row cluster_rows[] = {
    {.key = "name", TF_NAME(CLUSTER, name), .flags = TF_ROW_REQUIRED},
    {.key = "region", TF_NAME(CLUSTER, region), .def = "default"},
    {.key = "levels",
     TF_MAP(CLUSTER, levels, &plane_table),
     .max = 8,
     .help = "topology planes and their levels, widest first: {parameter: [rdma-pod, switch]}"},
    {.key = "nodes", TF_OBJECTS(CLUSTER, nodes, &nodes_table), .help = "groups of equal nodes"},
    {.key = "nodesFrom", TF_GROUP(&nodes_from_table)},
    {.key = "subclusterds",
     TF_INT32(CLUSTER, subclusterds),
     .min = 1,
     .max = DAEMONS_MAX,
     .def = "1",
     .help = "daemons of that name; one is active"},
    {.key = "clockSkewMs",
     TF_INT64(CLUSTER, clock_skew),
     .min = -SKEW_MS_MAX,
     .max = SKEW_MS_MAX,
     .flags = TF_ROW_ZERO,
     .help = "of its wall clock"},
    DRIFT("clockDriftPpm", CLUSTER, clock_drift),
};
static const struct tf_table cluster_table = TF_TABLE(CLUSTER, cluster_rows, .check = scenario_check_cluster);

/* ---- work ---- */

static const struct tf_row times_rows[] = {
    {.key = "from", TF_DURATION(struct scenario_times, from), .def = "0s", .help = "the first"},
    {.key = "every", TF_DURATION(struct scenario_times, every), .flags = TF_ROW_ZERO, .help = "between two"},
    {.key = "count",
     TF_INT32(struct scenario_times, count),
     .min = 1,
     .max = SCENARIO_REPEATS_MAX,
     .flags = TF_ROW_ZERO,
     .help = "so many; absent = one"},
};
static const struct tf_table times_table = TF_TABLE(struct scenario_times, times_rows);

#define SOURCE struct scenario_source
static const struct tf_row source_rows[] = {
    {.key = "csv",
     TF_STRING(SOURCE, csv),
     .min = 1,
     .max = 4096,
     .flags = TF_ROW_REQUIRED,
     .help = "file of jobs, plain or gzipped, from the folder of the scenario"},
    {.key = "tenants", TF_STRINGS(SOURCE, tenants), .min = 1, .max = TF_NAME_MAX, .help = "only theirs"},
    {.key = "timeScale",
     TF_INT32(SOURCE, time_scale),
     .min = 1,
     .max = SCALE_MAX,
     .flags = TF_ROW_ZERO,
     .help = "all times are divided by it: 60 = a minute becomes a second"},
    {.key = "arrivalScale",
     TF_INT32(SOURCE, arrival_scale),
     .min = 1,
     .max = SCALE_MAX,
     .flags = TF_ROW_ZERO,
     .help = "submits come so much faster, runs stay as long"},
    {.key = "resumes",
     TF_BOOL(SOURCE, resumes),
     .flags = TF_ROW_ZERO,
     .help = "who is evicted has left what was not saved (checkpointEvery), not all of its duration again"},
    {.key = "priority", TF_NAME(SOURCE, priority), .help = "class of all; absent = as in the file"},
};
static const struct tf_table source_table = TF_TABLE(SOURCE, source_rows);

#define CHANCE struct scenario_chance
static const struct tf_row chance_rows[] = {
    {.key = "seed", TF_INT64(CHANCE, seed), .flags = TF_ROW_ZERO, .help = "absent = from the scenario's"},
    {.key = "startMax", TF_DURATION(CHANCE, start_max), .flags = TF_ROW_ZERO, .help = "ready after at most"},
    {.key = "runMin",
     TF_DURATION(CHANCE, run_min),
     .flags = TF_ROW_ZERO,
     .help = "each instance runs at least"},
    {.key = "runMax",
     TF_DURATION(CHANCE, run_max),
     .flags = TF_ROW_ZERO,
     .help = "and at most; absent = for ever"},
    {.key = "fail", TF_FRACTION(CHANCE, fail), .flags = TF_ROW_ZERO, .help = "attempts that end with a code"},
    {.key = "failEarly",
     TF_FRACTION(CHANCE, fail_early),
     .flags = TF_ROW_ZERO,
     .help = "attempts that end before they are ready"},
    {.key = "neverReady",
     TF_FRACTION(CHANCE, never_ready),
     .flags = TF_ROW_ZERO,
     .help = "attempts that hang"},
    {.key = "deaf",
     TF_FRACTION(CHANCE, deaf),
     .flags = TF_ROW_ZERO,
     .help = "attempts that ignore the polite stop"},
    {.key = "engineRefuses",
     TF_FRACTION(CHANCE, engine_refuses),
     .flags = TF_ROW_ZERO,
     .help = "starts that the engine refuses"},
};
static const struct tf_table chance_table = TF_TABLE(CHANCE, chance_rows);

#define JOB struct scenario_job
static const struct tf_row job_rows[] = {
    {.key = "at",
     TF_OBJECT(JOB, at, &times_table),
     .flags = TF_ROW_SHORT,
     .help = "when it is submitted: a moment, or {from, every, count} for many"},
    {.key = "from", TF_OBJECT(JOB, from, &source_table), .help = "jobs out of a trace"},
    {.key = "tenant", TF_STRING(JOB, tenant), .min = 1, .max = TEXT_MAX, .excludes = "from"},
    {.key = "name",
     TF_STRING(JOB, name),
     .min = 1,
     .max = TEXT_MAX,
     .excludes = "from",
     .help = "{k} is the running number, from 0, also in the tenant"},
    {.key = "labels", TF_PAIRS(JOB, labels), .max = 127, .count = 64, .excludes = "from"},
    {.key = "spec",
     TF_OBJECT(JOB, spec, &tf_job_spec_table),
     .excludes = "from",
     .help = "as in the manifest of a job"},
    {.key = "reserve",
     TF_OBJECT(JOB, spec.reserve, &tf_reserve_table),
     .excludes = "from",
     .help = "it is a reservation of the spec's instances, and no job"},
    {.key = "work",
     TF_DURATION(JOB, work),
     .min = 1,
     .max = DAYS(10000000),
     .flags = TF_ROW_OPTIONAL,
     .excludes = "run",
     .help = "instance-hours: done when its instances have been ready so long, together"},
    {.key = "run",
     TF_DURATION(JOB, run),
     .min = 1,
     .max = DAYS(3650),
     .flags = TF_ROW_OPTIONAL,
     .excludes = "from",
     .help = "ends so long after its core was ready; absent, with work = until it is deleted"},
    {.key = "startTime",
     TF_DURATION(JOB, start_time),
     .flags = TF_ROW_ZERO,
     .help = "an instance is ready after"},
    {.key = "stopTime",
     TF_DURATION(JOB, stop_time),
     .flags = TF_ROW_ZERO,
     .help = "an instance that is asked to stop takes so long; if longer than grace it is killed"},
    {.key = "checkpointEvery",
     TF_DURATION(JOB, checkpoint_every),
     .flags = TF_ROW_ZERO,
     .help = "absent = never"},
    {.key = "on",
     TF_STRINGS(JOB, on),
     .min = 1,
     .max = TEXT_MAX,
     .flags = TF_ROW_SHORT,
     .excludes = "from",
     .help = "set-up: instance k starts on the k-th of these nodes, the first time"},
    {.key = "chance",
     TF_OBJECT(JOB, chance, &chance_table),
     .help = "what happens to its instances by chance"},
};

static void settle_job(void *object)
{
    struct scenario_job *job = object;
    tf_job_spec_fill(&job->spec);
    if (tf_is_reservation(&job->spec) && !job->spec.reserve.owner.tenant)
        tf_str_set(&job->spec.reserve.owner.tenant, job->tenant);
}

static const struct tf_table job_table =
    TF_TABLE(JOB, job_rows, .settle = settle_job, .check = scenario_check_job);

#define TIDE struct scenario_tide
static const struct tf_row tide_rows[] = {
    {.key = "job",
     TF_OBJECT(TIDE, job, &tide_job_table),
     .flags = TF_ROW_REQUIRED,
     .help = "the service; of elastic the step alone"},
    {.key = "low", TF_INT32(TIDE, low), .min = 1, .max = TF_INSTANCES_MAX, .flags = TF_ROW_REQUIRED},
    {.key = "high", TF_INT32(TIDE, high), .min = 1, .max = TF_INSTANCES_MAX, .flags = TF_ROW_REQUIRED},
    {.key = "period", TF_DURATION(TIDE, period), .min = TF_SECOND, .max = DAYS(365), .def = "24h"},
    {.key = "peakAt", TF_DURATION(TIDE, peak_at), .def = "12h", .help = "when it is highest"},
    {.key = "every",
     TF_DURATION(TIDE, every),
     .min = TF_SECOND,
     .max = DAYS(1),
     .def = "5m",
     .help = "the autoscaler looks so often"},
};
static const struct tf_table tide_table = TF_TABLE(TIDE, tide_rows, .check = scenario_check_tide);

/* ---- what happens ---- */

#define EVENT struct scenario_event
static const struct tf_row link_rows[] = {
    {.key = "cut", TF_ENUM(EVENT, link.cut, "cut", "cutUp", "cutDown", "break")},
    {.key = "delay", TF_DURATION(EVENT, link.delay), .max = TF_HOUR, .flags = TF_ROW_ZERO},
};
static const struct tf_table link_table = TF_TABLE(EVENT, link_rows);

static const struct tf_row restored_rows[] = {
    {.key = "to", TF_DURATION(EVENT, store.restored), .flags = TF_ROW_OPTIONAL},
    {.key = "unaware",
     TF_BOOL(EVENT, store.unaware),
     .flags = TF_ROW_ZERO,
     .help = "nobody tells fedd: it must find out"},
};
static const struct tf_table restored_table = TF_TABLE(EVENT, restored_rows);

#define STORE_FAULT(word, field, text)                                                       \
    {                                                                                        \
        .key = (word), TF_FRACTION(EVENT, store.field), .flags = TF_ROW_ZERO, .help = (text) \
    }
static const struct tf_row store_rows[] = {
    {.key = "fault", TF_ENUM(EVENT, store.fault, "unavailable", "lostReply")},
    {.key = "slow", TF_DURATION(EVENT, store.slow), .max = TF_HOUR, .flags = TF_ROW_ZERO},
    {.key = "restored", TF_GROUP(&restored_table)},
    STORE_FAULT("refused", refused, "requests that it refuses"),
    STORE_FAULT("lostRequests", lost_requests, "requests that are lost on their way"),
    STORE_FAULT("lostReplies", lost_replies, "requests that are done, and whose answers are lost"),
    STORE_FAULT("late", late, "requests that are done after their client's time-out"),
    {.key = "lateMax", TF_DURATION(EVENT, store.late_max), .max = TF_MINUTE, .flags = TF_ROW_ZERO},
};
static const struct tf_table store_table = TF_TABLE(EVENT, store_rows);

static const struct tf_row scale_rows[] = {
    {.key = "min", TF_INT32(EVENT, elastic.min), .min = 1, .max = TF_INSTANCES_MAX, .flags = TF_ROW_ZERO},
    {.key = "max", TF_INT32(EVENT, elastic.max), .min = 1, .max = TF_INSTANCES_MAX, .flags = TF_ROW_ZERO},
    {.key = "step", TF_INT32(EVENT, elastic.step), .min = 1, .max = TF_INSTANCES_MAX, .flags = TF_ROW_ZERO},
};
static const struct tf_table scale_table = TF_TABLE(EVENT, scale_rows);

#define WHO(word, field, text)                                                            \
    {                                                                                     \
        .key = (word), TF_STRING(EVENT, field), .min = 1, .max = TEXT_MAX, .help = (text) \
    }

static const struct tf_row event_rows[] = {
    {.key = "at", TF_DURATION(EVENT, at), .flags = TF_ROW_OPTIONAL, .excludes = "atEvent"},
    {.key = "atEvent",
     TF_INT64(EVENT, at_event),
     .flags = TF_ROW_OPTIONAL,
     .help = "when the world has done so many things"},
    {.key = "for",
     TF_DURATION(EVENT, lasts),
     .min = 1,
     .max = DAYS(3650),
     .flags = TF_ROW_ZERO,
     .help = "over after so long"},
    {.key = "node",
     TF_STRINGS(EVENT, node),
     .min = 1,
     .max = TEXT_MAX,
     .count = 1,
     .flags = TF_ROW_SHORT,
     .excludes = "nodes"},
    {.key = "nodes", TF_STRINGS(EVENT, nodes), .min = 1, .max = TEXT_MAX, .flags = TF_ROW_SHORT},
    {.key = "state",
     TF_ENUM(EVENT, state, "down", "up", "unreachable", "cordoned", "draining", "bad", "ok", "suspect"),
     .help = "of nodes down, up, unreachable, cordoned, draining; of a gpu bad, ok"},
    {.key = "lostAfter",
     TF_DURATION(EVENT, lost_after),
     .flags = TF_ROW_OPTIONAL,
     .help = "the engine gives an unreachable node up after so long; absent = never"},
    {.key = "within",
     TF_DURATION(EVENT, within),
     .min = 1,
     .max = DAYS(3650),
     .flags = TF_ROW_ZERO,
     .help = "of a drain: what is there after so long is stopped; absent = never"},
    {.key = "atOnce",
     TF_INT32(EVENT, at_once),
     .min = 1,
     .max = TF_INSTANCES_MAX,
     .flags = TF_ROW_ZERO,
     .help = "of a drain: so many moves of drains in its subcluster"},
    {.key = "force",
     TF_BOOL(EVENT, force),
     .flags = TF_ROW_ZERO,
     .help = "of a drain, with within: then protected cores go, too"},
    WHO("gpu", gpu, "CLUSTER/NODE:INDEX"),
    {.key = "foreign",
     TF_STRING(EVENT, foreign),
     .min = 1,
     .max = TEXT_MAX,
     .help = "GPUs of the node that others hold from now on: \"0-3,6\" or none"},
    {.key = "cluster", TF_NAME(EVENT, cluster)},
    {.key = "link",
     TF_GROUP(&link_table),
     .flags = TF_ROW_SHORT,
     .help = "cut, cutUp, cutDown, break or {delay: 2s}: between the cluster and the federation"},
    WHO("fedd", fedd, "with link: only the way to that daemon, as in fedd/2"),
    WHO("crash", crash, "fedd, fedd/2, subclusterd/NAME: it dies at once; instances live on"),
    {.key = "before",
     TF_NOTATION(EVENT, before, &scenario_action),
     .max = INT32_MAX,
     .flags = TF_ROW_OPTIONAL,
     .help = "with crash: dies in its next step, before that action of the list"},
    WHO("pause", pause, "it stands still and hears nothing"),
    WHO("handOver", hand_over, "it gives up leading, and stands by"),
    WHO("reload", reload, "it reads its settings again"),
    WHO("cutOff", store_away, "it does not reach its store"),
    WHO("duplicate", duplicate, "fedd or subclusterd/NAME: a second one starts"),
    {.key = "store/", TF_STRING(EVENT, store_of), .min = 1, .max = TEXT_MAX, .flags = TF_ROW_SUFFIX},
    {.key = "store",
     TF_GROUP(&store_table),
     .flags = TF_ROW_SHORT,
     .help = "unavailable, lostReply, {slow: 2s} or {restored: {to: 2h}}; store/NAME is a subcluster's"},
    WHO("clockJump", clock_jump, "a daemon, with byMs: its wall clock is set"),
    {.key = "byMs", TF_INT64(EVENT, by_ms), .min = -SKEW_MS_MAX, .max = SKEW_MS_MAX, .flags = TF_ROW_ZERO},
    WHO("cordon", cordon, "CLUSTER: nothing new is placed there"),
    WHO("freeze", freeze, "CLUSTER, with what: that does not begin there"),
    {.key = "what",
     TF_ENUM(EVENT, what, "evictions", "growth", "moves", "all"),
     .help = "with freeze: evictions, growth, moves or all"},
    WHO("burn", burn, "CLUSTER: all of it is lost; when it is forgotten it is built anew"),
    WHO("submit", submit, "once more"),
    WHO("delete", delete_job, "TENANT/NAME"),
    WHO("hold", hold, "TENANT/NAME"),
    WHO("resume", resume, "TENANT/NAME"),
    WHO("restart", restart, "TENANT/NAME: its manifest is applied again, with --restart"),
    WHO("look", look, "TENANT/NAME: its user looks at it"),
    WHO("scale", scale, "TENANT/NAME"),
    {.key = "elastic", TF_GROUP(&scale_table), .help = "with scale"},
    WHO("apply", apply, "TENANT/NAME, with priority: its manifest is applied again, with that class"),
    {.key = "priority", TF_NAME(EVENT, priority), .help = "with apply"},
    WHO("repeat", repeat, "CLUSTER: its engine says something once more"),
    WHO("late", late, "CLUSTER: messages of an old leader arrive"),
    WHO("defrag", defrag, "CLUSTER: plan and apply, with model and nodes"),
    WHO("model", model, "with defrag"),
    WHO("roomFor", room_for, "TENANT/NAME: with defrag: as many as that job needs, kept for it"),
    WHO("migrate", migrate,
        "TENANT/NAME: its instances, or one, go to another node; for: given up after so long"),
    {.key = "instance", TF_INT64(EVENT, instance), .max = TF_INSTANCES_MAX, .flags = TF_ROW_OPTIONAL},
    WHO("to", to, "with migrate: a node, or a cluster for the whole job; absent: any node"),
    {.key = "refused",
     TF_BOOL(EVENT, refused),
     .flags = TF_ROW_ZERO,
     .help = "with migrate: that must be refused"},
    WHO("pauseMoves", pause_moves, "CLUSTER: no move that is under way there begins its next step"),
    WHO("abortMoves", abort_moves, "CLUSTER: what can be of those that are under way there is taken back"),
    WHO("drain", drain, "CLUSTER: all of its nodes, as one order, or those of:"),
    {.key = "domain",
     TF_STRING(EVENT, domain),
     .min = 1,
     .max = TEXT_MAX,
     .excludes = "labels",
     .help = "with drain: what is in that domain"},
    {.key = "labels",
     TF_STRING(EVENT, labels),
     .min = 1,
     .max = TEXT_MAX,
     .help = "with drain: what has these labels, as in `fedctl drain node -l`"},
};
static const struct tf_table event_table = TF_TABLE(EVENT, event_rows, .check = scenario_check_event);

/* ---- what must be true ---- */

#define ASSERTION struct scenario_assertion
#define REASON_NAMES                                                                                     \
    "POLICY", "CLUSTER_LOST", "CLUSTER_CORDONED", "NO_SUCH_MODEL", "GPU_MEMORY", "NODE_TOO_SMALL",       \
        "NOT_ENOUGH_NODES", "TOPOLOGY", "HIGHER_PRIORITY", "PROTECTED", "CLAIMED", "CPU_MEMORY", "GPUS", \
        "BRAKE", "FROZEN", "REFUSED", "IN_FLIGHT", "NOT_CONSIDERED_YET", "HELD", "FENCE_UNSUPPORTED",    \
        "UNKNOWN_EPOCH", "ENGINE", "NO_CLUSTERS"

static const struct tf_row reason_rows[] = {
    {.key = "cluster", TF_NAME(ASSERTION, reason.cluster)},
    {.key = "code", TF_ENUM(ASSERTION, reason.code, REASON_NAMES)},
};
static const struct tf_table reason_table = TF_TABLE(ASSERTION, reason_rows);

#define COUNT(word, field)                                                  \
    {                                                                       \
        .key = (word), TF_INT64(ASSERTION, field), .flags = TF_ROW_OPTIONAL \
    }
/* The assertion is the first member of an expectation, whose rows begin with these. */
#define ASSERTION_ROWS                                                                                    \
    {.key = "job", TF_STRING(ASSERTION, job), .min = 1, .max = TEXT_MAX, .help = "TENANT/NAME"},          \
        {.key = "cluster", TF_NAME(ASSERTION, cluster)},                                                  \
        {.key = "node", TF_STRING(ASSERTION, node), .min = 1, .max = TEXT_MAX, .help = "CLUSTER/NAME"},   \
        {.key = "metric",                                                                                 \
         TF_STRING(ASSERTION, metric),                                                                    \
         .min = 1,                                                                                        \
         .max = TEXT_MAX,                                                                                 \
         .help = "as in the report"},                                                                     \
        {.key = "phase",                                                                                  \
         TF_ENUM(ASSERTION, phase, "Pending", "Held", "Starting", "Running", "Stopping", "Succeeded",     \
                 "Failed", "Deleted")},                                                                   \
        COUNT("instances", instances), COUNT("instancesMin", instances_min),                              \
        COUNT("instancesMax", instances_max), COUNT("readyInstancesMin", ready_instances_min),            \
        COUNT("evictions", evictions), COUNT("restarts", restarts), COUNT("short", is_short),             \
        COUNT("freeGpus", free_gpus), COUNT("wholeFreeNodes", whole_free_nodes),                          \
        {.key = "reason", TF_GROUP(&reason_table), .help = "why it waits: {cluster, code}"},              \
        {.key = "min", TF_NOTATION(ASSERTION, min, &scenario_decimal), .flags = TF_ROW_OPTIONAL},         \
        {.key = "max", TF_NOTATION(ASSERTION, max, &scenario_decimal), .flags = TF_ROW_OPTIONAL},         \
    {                                                                                                     \
        .key = "waiting", TF_NOTATION(ASSERTION, waiting, &scenario_less_than), .flags = TF_ROW_OPTIONAL, \
        .help = "time since the core it wants was not fully ready"                                        \
    }

static const struct tf_row assertion_rows[] = {ASSERTION_ROWS};
static const struct tf_table assertion_table = TF_TABLE(ASSERTION, assertion_rows);

#define EXPECT struct scenario_expect
static const struct tf_row expect_rows[] = {
    ASSERTION_ROWS,
    {.key = "at",
     TF_NOTATION(EXPECT, at, &scenario_moment),
     .flags = TF_ROW_OPTIONAL,
     .help = "true at that moment, or at the end, after all else of that moment"},
    {.key = "within",
     TF_DURATION(EXPECT, within),
     .flags = TF_ROW_OPTIONAL,
     .excludes = "at",
     .help = "true at some moment, so long after `after`"},
    {.key = "after", TF_DURATION(EXPECT, after), .flags = TF_ROW_OPTIONAL, .excludes = "at"},
    {.key = "between",
     TF_STRINGS(EXPECT, between),
     .min = 1,
     .max = 40,
     .excludes = "at",
     .help = "true at all moments from the one to the other"},
    {.key = "always",
     TF_OBJECT(EXPECT, always, &assertion_table),
     .excludes = "at",
     .help = "true at all moments"},
};
static const struct tf_table expect_table = TF_TABLE(EXPECT, expect_rows, .check = scenario_check_expect);

/* ---- the world ---- */

#define WORLD struct scenario_world
static const struct tf_row world_rows[] = {
    {.key = "fedds",
     TF_INT32(WORLD, fedds),
     .min = 1,
     .max = FEDDS_MAX,
     .def = "1",
     .help = "federation daemons"},
    {.key = "messageDelayMin", TF_DURATION(WORLD, message_delay_min), .max = TF_MINUTE, .def = "5ms"},
    {.key = "messageDelayMax", TF_DURATION(WORLD, message_delay_max), .max = TF_MINUTE, .def = "5ms"},
    {.key = "engineDelayMax", TF_DURATION(WORLD, engine_delay_max), .max = TF_MINUTE, .def = "0s"},
    {.key = "storeLatency", TF_DURATION(WORLD, store_latency_max), .max = TF_MINUTE, .def = "2ms"},
    {.key = "feddClockSkewMs",
     TF_INT64(WORLD, fedd_skew),
     .min = -SKEW_MS_MAX,
     .max = SKEW_MS_MAX,
     .flags = TF_ROW_ZERO},
    {.key = "answersLost",
     TF_FRACTION(WORLD, answers_lost),
     .flags = TF_ROW_ZERO,
     .help = "of those to clients"},
    DRIFT("feddClockDriftPpm", WORLD, fedd_drift),
    {.key = "unordered",
     TF_BOOL(WORLD, unordered),
     .flags = TF_ROW_ZERO,
     .help = "what happens at one moment comes in an order drawn from the seed, and stores answer within "
             "storeLatency"},
    {.key = "rests",
     TF_BOOL(WORLD, rests),
     .flags = TF_ROW_ZERO,
     .help = "at the end all faults are healed, and everything must come to rest"},
};
static const struct tf_table world_table = TF_TABLE(WORLD, world_rows);

#define S struct scenario
static struct tf_row classes_row; /* that of the federation's settings */
static struct tf_row scenario_rows[] = {
    {.key = "name", TF_STRING(S, name), .min = 1, .max = 1000, .flags = TF_ROW_REQUIRED},
    {.key = "seed", TF_INT64(S, seed), .def = "1"},
    {.key = "classes"},
    {.key = "settings", TF_OBJECT(S, settings, &settings_table), .help = "of both daemons, by their names"},
    {.key = "world", TF_OBJECT(S, world, &world_table), .help = "how the simulated machines behave"},
    {.key = "clusters", TF_OBJECTS(S, clusters, &cluster_table), .min = 1, .max = 1000},
    {.key = "jobs", TF_OBJECTS(S, jobs, &job_table)},
    {.key = "tides", TF_OBJECTS(S, tides, &tide_table)},
    {.key = "events", TF_OBJECTS(S, events, &event_table)},
    {.key = "faults", TF_OBJECTS(S, faults, &event_table)},
    {.key = "expect", TF_OBJECTS(S, expect, &expect_table)},
    {.key = "until", TF_DURATION(S, until), .flags = TF_ROW_OPTIONAL, .help = "the end, inclusive"},
};
static struct tf_table whole_table = TF_TABLE(S, scenario_rows, .check = scenario_check_all);

/* ---- tables made of others' rows ---- */

static void settle_settings(void *object)
{
    struct scenario_settings *settings = object;
    tf_settings_table.settle(&settings->federation);
    settings->subcluster.lease_ttl = settings->federation.lease_ttl;
    settings->subcluster.decision_budget = settings->federation.decision_budget;
}

static void check_settings(const void *object, struct tf_complaints *out)
{
    const struct scenario_settings *settings = object;
    tf_settings_table.check(&settings->federation, out);
}

static void make_settings(void)
{
    static struct tf_row rows[64];
    size_t count = 0;
    assert(tf_settings_table.count + tf_local_settings_table.count <= TF_ARRAY_LEN(rows));
    for (size_t i = 0; i < tf_settings_table.count; i++) {
        rows[count] = tf_settings_table.rows[i];
        rows[count].offset += offsetof(struct scenario_settings, federation);
        if (strcmp(rows[count].key, "classes") == 0) {
            classes_row = rows[count];
            classes_row.offset += offsetof(S, settings);
        } else {
            count++;
        }
    }
    for (size_t i = 0; i < tf_local_settings_table.count; i++) {
        const struct tf_row *row = &tf_local_settings_table.rows[i];
        if (tf_table_find(&tf_settings_table, row->key))
            continue;
        rows[count] = *row;
        rows[count++].offset += offsetof(struct scenario_settings, subcluster);
    }
    settings_table = (struct tf_table){.size = sizeof(struct scenario_settings),
                                       .rows = rows,
                                       .count = count,
                                       .settle = settle_settings,
                                       .check = check_settings};
}

/* A copy of the table with one row replaced by a group of another table. */
static void replace(struct tf_table *to, struct tf_row *rows, size_t max, const struct tf_table *from,
                    const char *key, const struct tf_table *with)
{
    assert(from->count <= max);
    memcpy(rows, from->rows, from->count * sizeof *rows);
    for (size_t i = 0; i < from->count; i++)
        if (strcmp(rows[i].key, key) == 0)
            rows[i].table = with;
    *to = *from;
    to->rows = rows;
}

/* In a tide the sizes of the job are the tide's. */
static void make_tides(void)
{
    static struct tf_row elastic_rows[16], spec_rows[64], rows[32];
    static struct tf_table elastic_table;
    const struct tf_table *elastic = tf_table_find(&tf_job_spec_table, "elastic")->table;
    assert(elastic->count <= TF_ARRAY_LEN(elastic_rows));
    memcpy(elastic_rows, elastic->rows, elastic->count * sizeof *elastic_rows);
    for (size_t i = 0; i < elastic->count; i++)
        elastic_rows[i].flags &= ~(unsigned)TF_ROW_REQUIRED;
    elastic_table = *elastic;
    elastic_table.rows = elastic_rows;
    replace(&tide_spec_table, spec_rows, TF_ARRAY_LEN(spec_rows), &tf_job_spec_table, "elastic",
            &elastic_table);
    replace(&tide_job_table, rows, TF_ARRAY_LEN(rows), &job_table, "spec", &tide_spec_table);
}

const struct tf_table *scenario_table(void)
{
    if (settings_table.count)
        return &whole_table;
    make_settings();
    make_tides();
    for (size_t i = 0; i < TF_ARRAY_LEN(scenario_rows); i++)
        if (strcmp(scenario_rows[i].key, "classes") == 0)
            scenario_rows[i] = classes_row;
    return &whole_table;
}
