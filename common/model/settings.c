/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the tables of settings and what holds between them. Files are read by the daemons (common/conf). */
#include "common/model/settings.h"

#include "common/base/clock.h"
#include "common/base/name.h"
#include "common/base/text.h"

#define S struct tf_settings
#define LOCAL struct tf_local_settings
#define HOURS(n) (INT64_C(n) * TF_HOUR)
#define DAYS(n) (INT64_C(n) * 24 * TF_HOUR)
#define BUDGET_MAX INT64_C(1000000000)
#define MIN_RUNTIME_MAX (8 * TF_HOUR)

static const struct tf_row class_rows[] = {
    {.key = "name", TF_NAME(struct tf_class, name), .flags = TF_ROW_REQUIRED},
    {.key = "priority", TF_INT32(struct tf_class, priority), .min = -1000000, .max = 1000000},
};
static const struct tf_table class_table = TF_TABLE(struct tf_class, class_rows);

static const struct tf_row class_limit_rows[] = {
    {.key = "name", TF_NAME(struct tf_class_limit, class_name), .flags = TF_ROW_REQUIRED},
    {.key = "maxMinRuntime", TF_DURATION(struct tf_class_limit, max_min_runtime), .max = MIN_RUNTIME_MAX},
};
static const struct tf_table class_limit_table = TF_TABLE(struct tf_class_limit, class_limit_rows);

#define TENANT struct tf_tenant_limits
static const struct tf_row tenant_rows[] = {
    {.key = "tenant", TF_NAME(TENANT, tenant), .flags = TF_ROW_REQUIRED},
    {.key = "maxPriority",
     TF_NAME(TENANT, max_priority),
     .flags = TF_ROW_RELOADABLE,
     .help = "highest class its jobs may have; absent = any"},
    {.key = "maxGpus",
     TF_INT32(TENANT, max_gpus),
     .min = 1,
     .max = 100000000,
     .flags = TF_ROW_ZERO | TF_ROW_RELOADABLE,
     .help = "GPUs that its unfinished jobs ask for at min, together; absent = no limit"},
    {.key = "maxJobs",
     TF_INT32(TENANT, max_jobs),
     .min = 1,
     .max = 100000000,
     .flags = TF_ROW_ZERO | TF_ROW_RELOADABLE,
     .help = "unfinished jobs at a time; absent = no limit"},
    {.key = "maxMinRuntime",
     TF_DURATION(TENANT, max_min_runtime),
     .max = MIN_RUNTIME_MAX,
     .def = "0s",
     .flags = TF_ROW_RELOADABLE,
     .help = "longest minRuntime its jobs may claim"},
};
static const struct tf_table tenant_table = TF_TABLE(TENANT, tenant_rows);

static const struct tf_row history_rows[] = {
    {.key = "keep",
     TF_DURATION(S, history_keep),
     .max = DAYS(3650),
     .def = "30d",
     .flags = TF_ROW_RELOADABLE,
     .help =
         "archived jobs are shown so long, and dropped after it; a month covers a usual accounting period"},
    {.key = "max",
     TF_INT64(S, history_max),
     .max = INT64_C(1000000000),
     .def = "1000000",
     .flags = TF_ROW_RELOADABLE,
     .help = "finished jobs at most, both in the store and in the archive: the oldest leave first, in the "
             "archive a "
             "file of up to a tenth of them at a time; a million takes about 1 GiB of disk; 0 = no limit"},
};
static const struct tf_table history_table = TF_TABLE(S, history_rows);

static const struct tf_row settings_rows[] = {
    {.key = "classes",
     TF_MAP(S, policy.classes, &class_table),
     .min = 1,
     .max = TF_CLASSES_MAX,
     .def = "offline: 100, batch: 300, train: 500, online: 900",
     .flags = TF_ROW_RELOADABLE,
     .help = "priority classes, name to number; higher is more important"},
    {.key = "protectionCeiling",
     TF_NAME(S, policy.ceiling),
     .flags = TF_ROW_RELOADABLE,
     .help = "class from which on protected cores may be taken; absent = the highest, so that the most "
             "urgent work "
             "never waits for a time slice"},
    {.key = "scheduleLabels",
     TF_STRINGS(S, policy.schedule_labels),
     .min = 1,
     .max = 127,
     .count = 16,
     .flags = TF_ROW_RELOADABLE,
     .help =
         "node labels that jobs can ask for; each makes more classes of nodes, so only those that are used"},
    {.key = "maxEvictionsPerMinute",
     TF_INT32(S, policy.max_evictions_per_minute),
     .max = 1000000,
     .def = "60",
     .flags = TF_ROW_RELOADABLE,
     .help = "jobs evicted a minute in one subcluster; a brake on mistakes that urgent work does not feel"},
    {.key = "maxMoves",
     TF_INT32(S, policy.max_moves),
     .min = 1,
     .max = 1000000,
     .def = "32",
     .flags = TF_ROW_RELOADABLE,
     .help = "instances that move at once in one subcluster; each is double-booked while it does"},
    {.key = "maxMovesPerNode",
     TF_INT32(S, policy.max_moves_per_node),
     .min = 1,
     .max = 1000,
     .def = "8",
     .flags = TF_ROW_RELOADABLE,
     .help = "the same to or from one node; eight empty it in one go"},
    {.key = "maxMovesPerJob",
     TF_INT32(S, policy.max_moves_per_job),
     .min = 1,
     .max = 1000,
     .def = "1",
     .flags = TF_ROW_RELOADABLE,
     .help = "the same of one job that moves without a restart; one at a time is what a service expects"},
    {.key = "consolidate",
     TF_ENUM(S, policy.consolidate, "off", "observe", "on"),
     .def = "off",
     .flags = TF_ROW_RELOADABLE,
     .help = "whether a subcluster moves instances, unasked, to make room for work that waits where only "
             "scattered GPUs "
             "are idle; observe: it only says, in its decisions, what it would have moved"},
    {.key = "consolidateCooldown",
     TF_DURATION(S, policy.consolidate_cooldown),
     .min = TF_SECOND,
     .max = DAYS(1),
     .def = "10m",
     .flags = TF_ROW_RELOADABLE,
     .help = "from one such plan of a subcluster to the next, so that moves do not chase each other"},
    {.key = "consolidateMoves",
     TF_INT32(S, policy.consolidate_moves),
     .min = 1,
     .max = 512,
     .def = "16",
     .flags = TF_ROW_RELOADABLE,
     .help =
         "instances that one such plan moves, at most; what takes more waits for people and `fedctl defrag`"},
    {.key = "absorbCooldown",
     TF_DURATION(S, policy.absorb_cooldown),
     .max = DAYS(1),
     .def = "5m",
     .flags = TF_ROW_RELOADABLE,
     .help = "a job that was shrunk does not grow for so long, so that tides do not make it swing"},
    {.key = "surplusDwell",
     TF_DURATION(S, policy.surplus_dwell),
     .max = DAYS(1),
     .def = "15m",
     .flags = TF_ROW_RELOADABLE,
     .help = "a job wants a step for so long before it takes surplus of lower priorities for it; 15m pay for "
             "a restart "
             "of 40s "
             "at 5 %"},
    {.key = "offerTime",
     TF_DURATION(S, policy.offer_time),
     .max = HOURS(1),
     .def = "3s",
     .flags = TF_ROW_RELOADABLE,
     .help =
         "freed capacity waits so long for the queue before running jobs absorb it; a few profile intervals"},
    {.key = "repairWait",
     TF_DURATION(S, policy.repair_wait),
     .max = HOURS(1),
     .def = "2m",
     .flags = TF_ROW_RELOADABLE,
     .help = "a gang below min is repaired in place for so long; most nodes that return do so sooner"},
    {.key = "failureSettle",
     TF_DURATION(S, policy.failure_settle),
     .max = 10 * TF_MINUTE,
     .def = "5s",
     .flags = TF_ROW_RELOADABLE,
     .help = "failures in so short a time count as one: members of a gang fall together"},
    {.key = "hubAwayAfter",
     TF_DURATION(S, policy.hub_away_after),
     .min = TF_SECOND,
     .max = HOURS(1),
     .def = "10s",
     .flags = TF_ROW_RELOADABLE,
     .help = "a subcluster without a leader for so long acts alone; longer than a change of leader"},
    {.key = "startTimeout",
     TF_DURATION(S, policy.start_timeout),
     .min = TF_SECOND,
     .max = HOURS(24),
     .def = "5m",
     .flags = TF_ROW_RELOADABLE,
     .help = "a start that is not running by then is given up; leaves time to pull an image"},
    {.key = "killBound",
     TF_DURATION(S, policy.kill_bound),
     .min = TF_SECOND,
     .max = HOURS(1),
     .def = "10s",
     .flags = TF_ROW_RELOADABLE,
     .help = "a forced stop that takes longer is stuck and reported"},
    {.key = "fenceTimeout",
     TF_DURATION(S, policy.fence_timeout),
     .min = 10 * TF_SECOND,
     .max = DAYS(1),
     .def = "10m",
     .flags = TF_ROW_RELOADABLE | TF_ROW_UNUSED,
     .help =
         "an instance of a job with onClusterLost: restart stops itself when its cluster was cut off for so "
         "long; longer than most network faults"},
    {.key = "fenceMargin",
     TF_DURATION(S, fence_margin),
     .max = HOURS(1),
     .def = "1m",
     .flags = TF_ROW_RELOADABLE | TF_ROW_UNUSED,
     .help = "added to the wait for a fence, for slow stops"},
    {.key = "clusterLostAfter",
     TF_DURATION(S, cluster_lost_after),
     .min = TF_SECOND,
     .max = DAYS(1),
     .def = "30s",
     .flags = TF_ROW_RELOADABLE,
     .help = "a subcluster whose stream is away so long, while the federation was up, is lost: nothing new "
             "goes there"},
    {.key = "lostFraction",
     TF_FRACTION(S, lost_fraction),
     .def = "33.33%",
     .flags = TF_ROW_RELOADABLE | TF_ROW_UNUSED,
     .help = "if more subclusters than this are lost at once, the fault is nearer: nothing fails over"},
    {.key = "lostLeast",
     TF_INT32(S, lost_least),
     .min = 1,
     .max = 1000,
     .def = "2",
     .flags = TF_ROW_RELOADABLE | TF_ROW_UNUSED,
     .help = "lostFraction means at least so many subclusters"},
    {.key = "claimAfter",
     TF_DURATION(S, claim_after),
     .min = TF_SECOND,
     .max = DAYS(30),
     .def = "30m",
     .flags = TF_ROW_RELOADABLE,
     .help = "the first waiting job of a priority claims a place after so long, so that large gangs do not "
             "starve"},
    {.key = "refusalBackoff",
     TF_DURATION(S, refusal_backoff),
     .min = 10,
     .max = HOURS(1),
     .def = "1s",
     .flags = TF_ROW_RELOADABLE,
     .help =
         "a subcluster that refused a job is not asked for so long; doubles, and ends with its next profile"},
    {.key = "refusalBackoffMax",
     TF_DURATION(S, refusal_backoff_max),
     .min = 10,
     .max = HOURS(24),
     .def = "60s",
     .flags = TF_ROW_RELOADABLE,
     .help = "refusalBackoff grows up to this"},
    {.key = "leaseTtl",
     TF_DURATION(S, lease_ttl),
     .min = TF_SECOND,
     .max = 10 * TF_MINUTE,
     .def = "5s",
     .help = "of the leader's key: another takes over within twice this; shorter costs more writes and false "
             "alarms"},
    {.key = "decisionBudget",
     TF_INT64(S, decision_budget),
     .min = 1,
     .max = BUDGET_MAX,
     .def = "1000000",
     .flags = TF_ROW_RELOADABLE,
     .help =
         "candidate evaluations a step, then others have their turn; keeps answers quick with long queues"},
    {.key = "maxMinRuntime",
     TF_DURATION(S, max_min_runtime),
     .max = MIN_RUNTIME_MAX,
     .def = "0s",
     .flags = TF_ROW_RELOADABLE,
     .help = "longest minRuntime of any job; 0s: only tenants and classes that are given one may claim it"},
    {.key = "classMaxMinRuntime",
     TF_MAP(S, class_limits, &class_limit_table),
     .max = TF_CLASSES_MAX,
     .flags = TF_ROW_RELOADABLE,
     .help = "longest minRuntime of the jobs of a class, class to duration"},
    {.key = "tenants",
     TF_MAP(S, tenants, &tenant_table),
     .max = TF_ITEMS_MAX,
     .flags = TF_ROW_RELOADABLE,
     .help = "limits of tenants, checked at submit"},
    {.key = "history", TF_GROUP(&history_table)},
};

/* Classes are kept in the order of their priorities. */
static void settle(void *object)
{
    struct tf_settings *settings = object;
    struct tf_classes sorted = {0};
    tf_vec_each (c, &settings->policy.classes)
        if (c->name)
            tf_classes_add(&sorted, c->name, c->priority);
    tf_classes_release(&settings->policy.classes);
    settings->policy.classes = sorted;
}

static void check_class(const struct tf_settings *settings, const char *name, const char *path,
                        struct tf_complaints *out)
{
    if (name && tf_classes_rank(&settings->policy.classes, name) < 0)
        tf_complaints_add(out, path, "\"%.63s\" is not one of the classes", name);
}

static void check(const void *object, struct tf_complaints *out)
{
    const struct tf_settings *settings = object;
    check_class(settings, settings->policy.ceiling, "protectionCeiling", out);
    tf_vec_each (t, &settings->tenants) {
        char path[TF_NAME_MAX + 64];
        snprintf(path, sizeof path, "tenants.%s.maxPriority", t->tenant);
        check_class(settings, t->max_priority, path, out);
    }
    tf_vec_each (l, &settings->class_limits) {
        char path[TF_NAME_MAX + 64];
        snprintf(path, sizeof path, "classMaxMinRuntime.%s", l->class_name);
        check_class(settings, l->class_name, path, out);
    }
    if (settings->refusal_backoff > settings->refusal_backoff_max)
        tf_complaints_add(out, "refusalBackoff", "is longer than refusalBackoffMax");
}

const struct tf_table tf_settings_table = TF_TABLE(S, settings_rows, .settle = settle, .check = check);

void tf_settings_init(struct tf_settings *settings)
{
    tf_table_init(&tf_settings_table, settings);
    settle(settings);
}

void tf_settings_release(struct tf_settings *settings)
{
    tf_table_release(&tf_settings_table, settings);
}

void tf_settings_copy(struct tf_settings *to, const struct tf_settings *from)
{
    tf_table_copy(&tf_settings_table, to, from);
    to->policy.version = from->policy.version;
}

void tf_policy_init(struct tf_policy *policy)
{
    struct tf_settings settings;
    *policy = (struct tf_policy){0};
    tf_settings_init(&settings);
    tf_policy_copy(policy, &settings.policy);
    tf_settings_release(&settings);
}

const struct tf_tenant_limits *tf_settings_tenant(const struct tf_settings *settings, const char *tenant)
{
    tf_vec_each (t, &settings->tenants)
        if (tf_str_eq(t->tenant, tenant))
            return t;
    return NULL;
}

int64_t tf_settings_max_min_runtime(const struct tf_settings *settings, const char *tenant,
                                    const char *class_name)
{
    const struct tf_tenant_limits *limits = tf_settings_tenant(settings, tenant);
    int64_t most = settings->max_min_runtime;
    if (limits && limits->max_min_runtime > most)
        most = limits->max_min_runtime;
    tf_vec_each (l, &settings->class_limits)
        if (tf_str_eq(l->class_name, class_name) && l->max_min_runtime > most)
            most = l->max_min_runtime;
    return most;
}

/* ---- of a subcluster ---- */

static const struct tf_row local_rows[] = {
    {.key = "lossCap",
     TF_DURATION(LOCAL, loss_cap),
     .min = TF_MINUTE,
     .max = DAYS(30),
     .def = "2h",
     .flags = TF_ROW_RELOADABLE,
     .help =
         "most work that an eviction counts as lost, an instance: beyond it a job should have checkpointed"},
    {.key = "resizeLoss",
     TF_FRACTION(LOCAL, resize_loss),
     .min = 1,
     .max = 9999,
     .def = "5%",
     .flags = TF_ROW_RELOADABLE,
     .help = "share of its time that a job may lose to growing by restarts"},
    {.key = "nodeLostAfter",
     TF_DURATION(LOCAL, node_lost_after),
     .min = TF_SECOND,
     .max = DAYS(1),
     .def = "15s",
     .flags = TF_ROW_RELOADABLE,
     .help = "an unreachable node is lost after so long; 60s fit Kubernetes, whose own judgement is slower"},
    {.key = "massDownFraction",
     TF_FRACTION(LOCAL, mass_down_fraction),
     .def = "10%",
     .flags = TF_ROW_RELOADABLE,
     .help =
         "if more nodes than this go silent in massDownWindow, the network is suspected and none is judged"},
    {.key = "massDownLeast",
     TF_INT32(LOCAL, mass_down_least),
     .min = 1,
     .max = 100000,
     .def = "3",
     .flags = TF_ROW_RELOADABLE,
     .help = "fewer nodes than this are never a mass, whatever massDownFraction says"},
    {.key = "gpuSuspectAfter",
     TF_INT32(LOCAL, gpu_suspect_after),
     .min = 0,
     .max = 1000,
     .def = "3",
     .flags = TF_ROW_RELOADABLE,
     .help =
         "so many starts that fail on a GPU in a row make it suspect, if others of their jobs run elsewhere; "
         "0 = none do"},
    {.key = "massDownWindow",
     TF_DURATION(LOCAL, mass_down_window),
     .min = TF_SECOND,
     .max = DAYS(1),
     .def = "60s",
     .flags = TF_ROW_RELOADABLE,
     .help = "nodes that go silent within it count together"},
    {.key = "leaseTtl",
     TF_DURATION(LOCAL, lease_ttl),
     .min = TF_SECOND,
     .max = 10 * TF_MINUTE,
     .def = "5s",
     .help = "of the owner's key: a standby takes over within twice this"},
    {.key = "profileInterval",
     TF_DURATION(LOCAL, profile_interval),
     .min = 10,
     .max = TF_MINUTE,
     .def = "500ms",
     .flags = TF_ROW_RELOADABLE,
     .help = "least time between two profiles; the federation's view is that old at most"},
    {.key = "decisionBudget",
     TF_INT64(LOCAL, decision_budget),
     .min = 1,
     .max = BUDGET_MAX,
     .def = "1000000",
     .flags = TF_ROW_RELOADABLE,
     .help = "candidate evaluations a step, then others have their turn"},
};

const struct tf_table tf_local_settings_table = TF_TABLE(LOCAL, local_rows);
