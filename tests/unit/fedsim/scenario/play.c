/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios as they are played: each kind of event does what it says, each form of expectation can fail. */
#include "tools/fedsim/play/play.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "tests/support/suite.h"

/* Four nodes of eight GPUs in a, two in b; one job on one node, from the beginning. */
static const char fleet[] = "name: test\n"
                            "clusters:\n"
                            "  - {name: a, nodes: [{count: 4, model: H800, gpus: 8}]}\n"
                            "  - {name: b, nodes: [{count: 2, model: H800, gpus: 8}]}\n";
#define JOB_X                                                                                              \
    "jobs:\n"                                                                                              \
    "  - {at: 0s, tenant: t, name: x, spec: {priority: train, instance: {gpus: 8}, placement: {clusters: " \
    "[a]}}}\n"

static void read_text(const char *text, struct scenario *scenario)
{
    struct tf_conf_problems problems = {0};
    TF_AUTO_FREE char *whole = tf_asprintf("%s%s", fleet, text);
    int failed = scenario_read(whole, strlen(whole), scenario, &problems);
    TF_AUTO_BUF shown = TF_BUF_INIT;
    tf_conf_problems_print(&problems, "scenario", &shown);
    tf_conf_problems_release(&problems);
    if (failed)
        printf("\n%s%s", whole, tf_buf_text(&shown));
    CU_ASSERT_EQUAL_FATAL(failed, 0);
}

static void play(const char *text, struct play_options options, struct play_result *result)
{
    struct scenario scenario;
    struct tf_error err = TF_ERROR_INIT;
    read_text(text, &scenario);
    if (scenario_play(&scenario, &options, result, &err))
        printf("\n%s\n", err.text);
    CU_ASSERT_EQUAL_FATAL(err.code, TF_OK);
    scenario_release(&scenario);
}

static const struct play_options plain = {.until = -1};

static void show(const struct play_result *result)
{
    printf("\n%s\n", result->breach);
    tf_vec_each (f, &result->failures)
        printf("  %d: %s\n", f->number, f->text);
}

/* All that is expected holds. */
static void holds(const char *text)
{
    struct play_result result;
    play(text, plain, &result);
    if (!play_is_good(&result)) {
        show(&result);
        printf("%s", text);
    }
    CU_ASSERT_TRUE(play_is_good(&result));
    play_result_release(&result);
}

/* One thing does not hold: this is told of it. */
static void fails(const char *text, const char *told)
{
    struct play_result result;
    play(text, plain, &result);
    bool good =
        !result.breached && result.failures.count == 1 && strcmp(result.failures.items[0].text, told) == 0;
    if (!good) {
        show(&result);
        printf("expected: %s\n", told);
    }
    CU_ASSERT_TRUE(good);
    play_result_release(&result);
}

/* ---- events ---- */

static void test_nodes(void)
{
    holds(JOB_X "events:\n"
                "  - {at: 1m, nodes: [a/n0, a/n1, a/n2], state: down}\n"
                "  - {at: 5m, nodes: [a/n0, a/n1], state: up}\n"
                "  - {at: 6m, node: n3, state: cordoned, for: 1m}\n"
                "  - {at: 8m, node: n1, state: unreachable, for: 10s}\n"
                "expect:\n"
                "  - {at: 30s, cluster: a, freeGpus: 24}\n"
                "  - {at: 30s, cluster: a, wholeFreeNodes: 3}\n"
                "  - {at: 1m, node: a/n2, freeGpus: 0}\n"
                "  - {within: 3m, after: 1m, job: t/x, phase: Running}\n"
                "  - {at: 330s, cluster: a, freeGpus: 16}\n"
                "  - {at: 390s, cluster: a, wholeFreeNodes: 2}\n"
                "  - {at: 430s, cluster: a, wholeFreeNodes: 2}\n"
                "  - {at: 485s, node: n1, freeGpus: 0}\n"
                "  - {at: 500s, node: n1, freeGpus: 8}\n"
                "  - {at: end, job: t/x, phase: Running, instances: 1, cluster: a}\n"
                "until: 10m\n");
}

static void test_gpus(void)
{
    holds("jobs: []\nevents:\n"
          "  - {at: 1m, gpu: \"a/n0:3\", state: bad}\n"
          "  - {at: 2m, gpu: \"a/n0:4\", state: bad, for: 1m}\n"
          "  - {at: 4m, gpu: \"a/n0:3\", state: ok}\n"
          "  - {at: 5m, node: b/n0, foreign: \"0-2,7\"}\n"
          "  - {at: 6m, node: b/n0, foreign: none}\n"
          "expect:\n"
          "  - {at: 90s, node: a/n0, freeGpus: 7}\n"
          "  - {at: 150s, node: a/n0, freeGpus: 6}\n"
          "  - {at: 210s, node: a/n0, freeGpus: 7}\n"
          "  - {at: 5m, node: a/n0, freeGpus: 8}\n"
          "  - {at: 5m, node: b/n0, freeGpus: 4}\n"
          "  - {at: 6m, node: b/n0, freeGpus: 8}\n"
          "until: 7m\n");
}

/* While the named daemon is dead a new job waits, and what runs runs on. */
static void test_crashes(void)
{
    static const char *const who[] = {"fedd", "fedd/1", "subclusterd/a", "subclusterd/a/1"};
    for (size_t i = 0; i < TF_ARRAY_LEN(who); i++) {
        TF_AUTO_FREE char *text =
            tf_asprintf(JOB_X "  - {at: 2m, tenant: t, name: y, spec: {priority: train, instance: {gpus: 8}, "
                              "placement: {clusters: [a]}}}\n"
                              "events: [{at: 1m, crash: %s, for: 5m}]\n"
                              "expect:\n"
                              "  - {between: [30s, 10m], job: t/x, phase: Running, readyInstancesMin: 1}\n"
                              "  - {at: 5m, job: t/y, phase: Pending}\n"
                              "  - {within: 1m, after: 6m, job: t/y, phase: Running}\n"
                              "until: 10m\n",
                        who[i]);
        holds(text);
    }
}

/* A daemon that dies in the middle of a list of actions, at an event of that number. */
static void test_crash_between(void)
{
    holds(JOB_X "faults:\n"
                "  - {atEvent: 5, crash: subclusterd/a, before: action 0}\n"
                "  - {atEvent: 5, crash: fedd, before: action 1}\n"
                "events: [{at: 1m, crash: fedd, for: 1s}, {at: 1m, crash: subclusterd/a, for: 1s}]\n"
                "expect:\n"
                "  - {at: 59s, job: t/x, phase: Pending}\n"
                "  - {within: 1m, after: 1m, job: t/x, phase: Running}\n"
                "until: 3m\n");
}

static void test_links(void)
{
    static const char *const how[] = {"cut", "cutUp", "cutDown", "{delay: 3m}"};
    for (size_t i = 0; i < TF_ARRAY_LEN(how); i++) {
        TF_AUTO_FREE char *text =
            tf_asprintf(JOB_X "  - {at: 2m, tenant: t, name: y, spec: {priority: train, instance: "
                              "{gpus: 8}, placement: {clusters: [a]}}}\n"
                              "events: [{at: 1m, cluster: a, link: %s, for: 3m}]\n"
                              "expect:\n"
                              "  - {between: [30s, 10m], job: t/x, phase: Running}\n"
                              "  - {at: 3m, job: t/y, phase: Pending}\n"
                              "  - {at: 8m, job: t/y, phase: Running}\n"
                              "until: 10m\n",
                        how[i]);
        holds(text);
    }
    holds(JOB_X "events: [{at: 1m, cluster: a, link: break}]\n"
                "expect: [{between: [30s, 3m], job: t/x, phase: Running}]\nuntil: 3m\n");
}

static void test_stores(void)
{
    static const char *const how[] = {"store: unavailable",   "store/a: unavailable", "store: {slow: 4m}",
                                      "store/a: {slow: 4m}",  "store: lostReply",     "cutOff: fedd",
                                      "cutOff: subclusterd/a"};
    for (size_t i = 0; i < TF_ARRAY_LEN(how); i++) {
        bool lost = strstr(how[i], "lostReply");
        TF_AUTO_FREE char *text =
            tf_asprintf(JOB_X "  - {at: 2m, tenant: t, name: y, spec: {priority: train, instance: "
                              "{gpus: 8}, placement: {clusters: [a]}}}\n"
                              "events: [{at: 1m, %s, for: %s}]\n"
                              "expect:\n"
                              "  - {between: [30s, 15m], job: t/x, phase: Running}\n"
                              "  - {at: 125s, job: t/y, phase: Pending}\n"
                              "  - {at: 14m, job: t/y, phase: Running}\n"
                              "until: 15m\n",
                        how[i], lost ? "70s" : "3m");
        holds(text);
    }
}

/* The second of a name stands by, and takes over. */
static void test_duplicates(void)
{
    holds(
        JOB_X
        "  - {at: 3m, tenant: t, name: y, spec: {priority: train, instance: {gpus: 8}, placement: {clusters: "
        "[a]}}}\n"
        "events:\n"
        "  - {at: 1m, duplicate: fedd}\n"
        "  - {at: 1m, duplicate: subclusterd/a}\n"
        "  - {at: 2m, crash: fedd/1}\n"
        "  - {at: 2m, crash: subclusterd/a/1}\n"
        "expect:\n"
        "  - {between: [30s, 10m], job: t/x, phase: Running}\n"
        "  - {at: 5m, job: t/y, phase: Running}\n"
        "until: 10m\n");
    holds(JOB_X "events:\n"
                "  - {at: 1m, pause: fedd, for: 20s}\n"
                "  - {at: 2m, handOver: fedd}\n"
                "  - {at: 3m, handOver: subclusterd/a}\n"
                "  - {at: 4m, reload: fedd}\n"
                "  - {at: 5m, repeat: a}\n"
                "  - {at: 6m, late: a}\n"
                "expect: [{between: [30s, 10m], job: t/x, phase: Running, instances: 1}]\n"
                "until: 10m\n");
}

/* What was done after the copy is not forgotten by those who did it. */
static void test_restored(void)
{
    holds(JOB_X "  - {at: 3m, tenant: t, name: y, spec: {priority: train, instance: {gpus: 8}}}\n"
                "events: [{at: 5m, store: {restored: {to: 2m}}}, {at: 20m, store/a: {restored: {to: 18m}}}]\n"
                "expect:\n"
                "  - {between: [30s, 40m], job: t/x, phase: Running, readyInstancesMin: 1}\n"
                "  - {at: 4m, job: t/y, phase: Running}\n"
                "  - {at: end, metric: invariantViolations, max: 0}\n"
                "until: 40m\n");
}

static void test_restored_twice(void)
{
    fails("events: [{at: 5m, store: {restored: {to: 2m}}}, {at: 5m, store: {restored: {to: 3m}}}]\nuntil: "
          "10m\n",
          "the store of the federation cannot be restored: there is no copy of that moment, or an earlier "
          "restore is "
          "not over");
}

static void test_operators(void)
{
    holds(
        JOB_X
        "  - {at: 3m, tenant: t, name: y, spec: {priority: train, instance: {gpus: 8}, placement: {clusters: "
        "[a]}}}\n"
        "  - {at: 10m, tenant: t, name: z, spec: {priority: train, instance: {gpus: 8}, placement: "
        "{clusters: "
        "[b]}}}\n"
        "events:\n"
        "  - {at: 1m, clockJump: fedd, byMs: -20000}\n"
        "  - {at: 1m, clockJump: subclusterd/a, byMs: 30000}\n"
        "  - {at: 2m, cordon: a, for: 3m}\n"
        "  - {at: 11m, burn: b}\n"
        "expect:\n"
        "  - {between: [30s, 20m], job: t/x, phase: Running}\n"
        "  - {at: 4m, job: t/y, reason: {cluster: a, code: CLUSTER_CORDONED}}\n"
        "  - {within: 1m, after: 5m, job: t/y, phase: Running}\n"
        "  - {at: 660500ms, cluster: b, freeGpus: 16}\n"
        "  - {at: end, job: t/z, phase: Running}\n"
        "until: 20m\n");
}

static void test_users(void)
{
    holds(JOB_X "  - {at: 0s, tenant: t, name: big, spec: {priority: train, elastic: {min: 9, max: 9, step: "
                "1}, instance: "
                "{gpus: 8}}}\n"
                "events:\n"
                "  - {at: 1m, submit: t/x}\n"
                "  - {at: 2m, hold: t/big, for: 1m}\n"
                "  - {at: 4m, scale: t/big, elastic: {min: 2, max: 2}}\n"
                "  - {at: 6m, delete: t/x}\n"
                "  - {at: 7m, restart: t/big}\n"
                "expect:\n"
                "  - {at: 90s, job: t/big, phase: Pending}\n"
                "  - {at: 90s, job: t/big, reason: {cluster: a, code: NOT_ENOUGH_NODES}}\n"
                "  - {at: 150s, job: t/big, phase: Held}\n"
                "  - {at: 210s, job: t/big, phase: Pending}\n"
                "  - {at: 5m, job: t/big, phase: Running, instances: 2}\n"
                "  - {at: 5m, job: t/x, phase: Running}\n"
                "  - {at: 400s, job: t/x, phase: Deleted}\n"
                "  - {at: 10m, job: t/big, phase: Pending}\n"
                "until: 10m\n");
}

/* What is applied to a finished job begins it anew, under another id. */
static void test_applied(void)
{
    holds("jobs:\n"
          "  - {at: 0s, tenant: t, name: short, run: 1m, spec: {priority: train, instance: {gpus: 8}}}\n"
          "events:\n"
          "  - {at: 30s, apply: t/short, priority: online}\n"
          "  - {at: 3m, apply: t/short, priority: train}\n"
          "expect:\n"
          "  - {at: 40s, job: t/short, phase: Running}\n"
          "  - {at: 2m, job: t/short, phase: Succeeded}\n"
          "  - {at: 200s, job: t/short, phase: Running}\n"
          "  - {at: end, job: t/short, phase: Succeeded}\n"
          "until: 6m\n");
}

static void test_not_possible(void)
{
    fails("jobs: [{at: 1m, tenant: t, name: y, spec: {priority: train, minRuntime: 2h, instance: {gpus: "
          "8}}}]\nuntil: 2m\n",
          "at 1m10ms: submit t/y is refused: the job was not accepted: spec.minRuntime: 7200 s, and tenant t "
          "with class "
          "train may ask for 0 s (maxMinRuntime)");
}

/* ---- work ---- */

#define JOB(more) \
    "jobs:\n  - {at: 0s, tenant: t, name: j, " more ", spec: {priority: train, retries: {limit: 9}, "

static void test_runs(void)
{
    holds(JOB("run: 10m, startTime: 1m") "instance: {gpus: 8}}}\nexpect:\n"
                                         "  - {at: 55s, job: t/j, phase: Starting, instances: 1}\n"
                                         "  - {at: 65s, job: t/j, phase: Running}\n"
                                         "  - {at: 655s, job: t/j, phase: Running}\n"
                                         "  - {at: 670s, job: t/j, phase: Succeeded, instances: 0}\n"
                                         "  - {at: end, metric: jobsCompleted, min: 1, max: 1}\n"
                                         "until: 20m\n");
    /* four instance-hours by two and then, when nothing else is left, still two */
    holds(JOB("work: 4h") "instances: 2, instance: {gpus: 8}}}\nexpect:\n"
                          "  - {at: 119m, job: t/j, phase: Running}\n"
                          "  - {at: 121m, job: t/j, phase: Succeeded}\n"
                          "until: 3h\n");
}

/* A new epoch goes on from the last checkpoint, or from nothing. */
static void test_checkpoints(void)
{
    static const struct {
        const char *every, *done, *not_yet;
    } cases[] = {{"1h", "3h20m", "2h50m"}, {"10m", "2h30m", "1h50m"}};
    for (size_t i = 0; i < TF_ARRAY_LEN(cases); i++) {
        TF_AUTO_FREE char *text = tf_asprintf(
            JOB("work: 2h, checkpointEvery: %s") "placement: {clusters: [a]}, instance: {gpus: 8}}}\n"
                                                 "events:\n"
                                                 "  - {at: 55m, nodes: [n0, n1, n2, n3], state: down, for: "
                                                 "10m}\n"
                                                 "expect:\n"
                                                 "  - {at: %s, job: t/j, phase: Running}\n"
                                                 "  - {at: %s, job: t/j, phase: Succeeded}\n"
                                                 "until: 5h\n",
            cases[i].every, cases[i].not_yet, cases[i].done);
        holds(text);
    }
}

static void test_stop_times(void)
{
    holds(JOB("stopTime: 20s") "instance: {gpus: 8, grace: 30s}}}\n"
                               "events: [{at: 1m, delete: t/j}]\nexpect:\n"
                               "  - {at: 75s, job: t/j, phase: Stopping, instances: 0}\n"
                               "  - {at: 85s, job: t/j, phase: Deleted}\n"
                               "until: 2m\n");
    holds(JOB("stopTime: 90s") "instance: {gpus: 8, grace: 30s}}}\n"
                               "events: [{at: 1m, delete: t/j}]\nexpect:\n"
                               "  - {at: 85s, job: t/j, phase: Stopping}\n"
                               "  - {at: 95s, job: t/j, phase: Deleted}\n"
                               "until: 3m\n");
}

/* Each instance where it is told, whatever else there is; jobs without nodes find what is left. */
static void test_on(void)
{
    holds("jobs:\n"
          "  - {at: 0s, tenant: t, name: x, on: [a/n2], spec: {priority: train, instance: {gpus: 4}}}\n"
          "  - {at: 0s, tenant: t, name: y, on: [b/n0, b/n1], spec: {priority: train, instances: 2, "
          "instance: {gpus: 4}}}\n"
          "  - {at: 0s, tenant: t, name: z, on: [n2], spec: {priority: train, instance: {gpus: 4}}}\n"
          "  - {at: 1m, tenant: t, name: w, spec: {priority: train, instances: 3, instance: {gpus: 8}}}\n"
          "expect:\n"
          "  - {at: 55s, node: a/n2, freeGpus: 0}\n"
          "  - {at: 55s, node: b/n0, freeGpus: 4}\n"
          "  - {at: 55s, node: b/n1, freeGpus: 4}\n"
          "  - {at: 55s, metric: jobsRunning, min: 3}\n"
          "  - {at: 2m, job: t/w, phase: Running}\n"
          "  - {at: end, cluster: a, freeGpus: 0}\n"
          "until: 3m\n");
    /* what comes at the same moment does not take those nodes */
    holds("jobs:\n"
          "  - {at: 0s, tenant: t, name: v, spec: {priority: train, instances: 5, instance: {gpus: 8}}}\n"
          "  - {at: 0s, tenant: t, name: x, on: [a/n0, a/n1], spec: {priority: offline, instances: 2, "
          "instance: "
          "{gpus: 2}}}\n"
          "tides:\n"
          "  - {job: {tenant: t, name: w, spec: {priority: offline, elastic: {step: 1}, instance: {gpus: "
          "8}}}, low: "
          "1, high: 1}\n"
          "expect:\n"
          "  - {between: [5s, 3m], job: t/x, phase: Running, instances: 2}\n"
          "  - {at: 20s, job: t/w, phase: Running}\n"
          "  - {at: 3m, node: a/n0, freeGpus: 6}\n"
          "  - {at: 3m, job: t/v, phase: Pending}\n"
          "until: 3m\n");
    fails("jobs: [{at: 0s, tenant: t, name: x, on: n0, spec: {priority: train, instance: {gpus: 8, memory: "
          "2Ti}}}]\n"
          "until: 3m\n",
          "job t/x cannot be started on the nodes that `on` names: they have no room for it, or others were "
          "there first");
}

/* Whatever does not hold is told with its place in the file. */
static void test_places(void)
{
    static const struct {
        const char *text, *where;
    } cases[] = {
        {"jobs: [{at: 0s, tenant: t, name: x, on: n0, spec: {priority: train, instance: {memory: 2Ti}}}]\n",
         "jobs[0].on"},
        {"jobs: [{at: 0s, tenant: t, name: x, spec: {priority: train, minRuntime: 1h, instance: {gpus: "
         "1}}}]\n",
         "jobs[0]"},
        {JOB_X "events:\n"
               "  - {at: 1m, scale: t/x, elastic: {max: 4}}\n"
               "  - {at: 2m, scale: t/x, elastic: {min: 9}}\n"
               "  - {at: 3m, scale: t/x, elastic: {max: 3}}\n",
         "events[1]"},
        {JOB_X "events: [{at: 1m, store: {restored: {to: 0s}}}]\n", "events[0]"},
        {JOB_X "expect: [{at: 1m, job: t/x, phase: Running}, {at: 1m, job: t/x, phase: Held}]\n",
         "expect[1]"},
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(cases); i++) {
        struct play_result result;
        play(cases[i].text, plain, &result);
        const char *where = result.failures.count == 1 ? result.failures.items[0].where : NULL;
        if (!where || strcmp(where, cases[i].where) != 0)
            show(&result);
        CU_ASSERT_PTR_NOT_NULL_FATAL(where);
        CU_ASSERT_STRING_EQUAL(where, cases[i].where);
        play_result_release(&result);
    }
}

/* What only the CSV files can tell is wrong is told with its place, before anything runs. */
static void test_wrong(void)
{
    static const struct {
        const char *text, *where, *told;
    } cases[] = {
        {JOB_X "  - {at: 1m, tenant: t, name: x, spec: {priority: train, instance: {}}}\n", "jobs[1].name",
         "the job t/x is there twice: jobs[0] is it, too"},
        {JOB_X "events: [{at: 1m, migrate: t/x, to: n9}]\n", "events[0].to",
         "there is neither a cluster nor a node n9"},
        {JOB_X "events: [{at: 1m, migrate: t/x, to: b/n2}]\n", "events[0].to", "cluster b has no node n2"},
        {JOB_X "events: [{at: 1m, migrate: t/x, instance: 1}]\n", "events[0].instance",
         "t/x has at most 1 instances, and the first is 0"},
        {JOB_X "events: [{at: 1m, drain: a, labels: disk=nvme}]\n", "events[0].labels",
         "cluster a has no node with the labels disk=nvme"},
        {JOB_X "events: [{at: 1m, drain: b, domain: rack-1}]\n", "events[0].domain",
         "cluster b has no node in domain rack-1"},
        {JOB_X "events: [{at: 1m, nodes: [a/n0, b/n1], foreign: \"7-8\"}]\n", "events[0].foreign",
         "node a/n0 has 8 GPUs, and the first is 0"},
        {JOB_X "expect: [{at: end, metric: evictons, max: 0}]\n", "expect[0].metric",
         "\"evictons\" is no figure of a report; did you mean \"evictions\"?"},
        {JOB_X "expect: [{always: {metric: classes.nope.evictions, max: 0}}]\n", "expect[0].always.metric",
         "there is no class nope"},
        {JOB_X "expect: [{at: end, metric: tenants.u.evictions, max: 0}]\n", "expect[0].metric",
         "there is no tenant with jobs u"},
        {JOB_X "expect: [{at: end, metric: clusters.c.evictions, max: 0}]\n", "expect[0].metric",
         "there is no cluster c"},
        {"jobs: [{at: 0s, tenant: t, name: x, on: n0, spec: {priority: train, instances: 2, instance: "
         "{}}}]\n",
         "jobs[0].on",
         "names 1 node, and 2 instances start together: name one for each, the same once more if it takes "
         "several"},
        {"jobs: [{from: {csv: /nowhere.csv}}]\n", "jobs[0].from.csv",
         "cannot open /nowhere.csv: No such file or directory"},
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(cases); i++) {
        struct scenario scenario;
        struct play_result result;
        struct tf_error err = TF_ERROR_INIT;
        read_text(cases[i].text, &scenario);
        CU_ASSERT_EQUAL_FATAL(scenario_play(&scenario, &plain, &result, &err), -1);
        CU_ASSERT_STRING_EQUAL(err.text, cases[i].told);
        CU_ASSERT_PTR_NOT_NULL_FATAL(result.where);
        CU_ASSERT_STRING_EQUAL(result.where, cases[i].where);
        play_result_release(&result);
        scenario_release(&scenario);
    }
}

static void test_many(void)
{
    holds("jobs:\n"
          "  - {at: {from: 1m, every: 10s, count: 6}, tenant: \"t-{k/3}\", name: \"s-{k}\", run: 5m, spec: "
          "{priority: "
          "train, instance: {gpus: 8}}}\n"
          "expect:\n"
          "  - {at: 85s, metric: jobsSubmitted, min: 3, max: 3}\n"
          "  - {at: 130s, job: t-1/s-5, phase: Running}\n"
          "  - {at: 130s, metric: jobsRunning, min: 6, max: 6}\n"
          "  - {at: 10m, metric: jobsCompleted, min: 6}\n"
          "until: 10m\n");
}

static void test_tides(void)
{
    /* a running epoch gets smaller and not yet larger: what it has stays when the tide rises */
    holds("tides:\n"
          "  - {job: {tenant: t, name: s, spec: {priority: online, workload: inference, elastic: {step: 1}, "
          "instance: {gpus: "
          "8}, placement: {clusters: [a]}}}, low: 1, high: 3, period: 1h, peakAt: 30m, every: 10m}\n"
          "expect:\n"
          "  - {at: 5m, job: t/s, phase: Running, instances: 1}\n"
          "  - {at: 64m, job: t/s, phase: Running, instances: 1}\n"
          "until: 65m\n");
}

/* ---- expectations that do not hold ---- */

static void test_expectations_fail(void)
{
    static const struct {
        const char *expect, *told;
    } cases[] = {
        {"at: 2m, job: t/x, phase: Pending", "at 2m: the phase is Running, expected Pending"},
        {"at: 2m, job: t/x, instances: 2", "at 2m: instances is 1, expected 2"},
        {"at: 2m, job: t/x, instancesMin: 2", "at 2m: instances is 1, expected at least 2"},
        {"at: 2m, job: t/x, instancesMax: 0", "at 2m: instances is 1, expected at most 0"},
        {"at: 2m, job: t/x, cluster: b", "at 2m: the cluster is a, expected b"},
        {"at: 2m, job: t/x, evictions: 1", "at 2m: evictions is 0, expected 1"},
        {"at: 2m, job: t/x, restarts: 1", "at 2m: restarts is 0, expected 1"},
        {"at: 2m, job: t/x, short: 1", "at 2m: short is 0, expected 1"},
        {"at: 2m, job: t/x, reason: {cluster: a, code: GPUS}",
         "at 2m: the reason in a is NONE, expected GPUS"},
        {"at: 5m, job: t/x, instances: 0", "at 5m: instances is 1, expected 0"},
        {"at: 2m, cluster: a, freeGpus: 25", "at 2m: freeGpus is 24, expected 25"},
        {"at: 2m, cluster: a, wholeFreeNodes: 4", "at 2m: wholeFreeNodes is 3, expected 4"},
        {"at: 2m, node: b/n1, freeGpus: 0", "at 2m: freeGpus is 8, expected 0"},
        {"at: end, metric: jobsRunning, max: 0", "at 6m: jobsRunning is 1, expected at most 0"},
        {"at: end, metric: jobsRunning, min: 1.5", "at 6m: jobsRunning is 1, expected at least 1.5"},
        {"within: 1m, after: 1m, job: t/x, phase: Pending", "by 2m: the phase is Running, expected Pending"},
        {"within: 1m, job: t/x, instances: 2", "by 1m: instances is 1, expected 2"},
        {"between: [1m, 4m], job: t/x, readyInstancesMin: 1",
         "at 3m: the number of ready instances is 0, expected at least 1"},
        {"always: {job: t/x, waiting: \"< 30s\"}",
         "at 3m30s6ms: it has waited for 30s6ms, expected less than 30s"},
        {"always: {metric: jobsPending, max: 0}", "at 1ms: jobsPending is 1, expected at most 0"},
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(cases); i++) {
        TF_AUTO_FREE char *text =
            tf_asprintf(JOB_X "events: [{at: 3m, nodes: [a/n0, a/n1, a/n2, a/n3], state: down, for: "
                              "40s}]\nexpect: [{%s}]\nuntil: 6m\n",
                        cases[i].expect);
        fails(text, cases[i].told);
    }
}

/* ---- orders ---- */

#define STAYS \
    "jobs: [{at: 0s, tenant: t, name: x, spec: {priority: train, migration: never, instance: {gpus: 8}}}]\n"

/* An order that is refused has moved nothing: the run says so, unless that is what is expected. */
static void test_orders(void)
{
    fails(STAYS "events: [{at: 1m, migrate: t/x, instance: 0, to: a/n1}]\n",
          "at 1m: migrate t/x is refused: t/x/0: migration: never");
    holds(STAYS "events: [{at: 1m, migrate: t/x, instance: 0, to: a/n1, refused: true}]\n");
    fails(JOB_X "events: [{at: 1m, migrate: t/x, instance: 0, to: a/n1, refused: true}]\n",
          "at 1m: migrate t/x was to be refused, and was not");
    fails("jobs: [{at: 5m, tenant: t, name: x, spec: {priority: train, instance: {gpus: 8}}}]\n"
          "events: [{at: 1m, migrate: t/x}]\n",
          "at 1m: migrate t/x is refused: nothing of that runs in a");
    fails(JOB_X "events:\n"
                "  - {at: 1m, cluster: a, link: cut, for: 5m}\n"
                "  - {at: 1m, cluster: b, link: cut, for: 5m}\n"
                "  - {at: 3m, migrate: t/x}\n",
          "at 3m: migrate t/x: no subclusterd could be asked: none is attached");
    fails(JOB_X "events: [{at: 1m, defrag: a, model: H100, nodes: 1}]\n",
          "defrag a: a has no GPUs of model H100");
}

/* What had nothing to do, or less than was asked for, is no failure, and no gain either. */
static void test_notes(void)
{
    static const char scattered[] =
        "jobs:\n"
        "  - {at: 0s, tenant: t, name: p, on: n0, spec: {priority: train, instance: {gpus: 2}}}\n"
        "  - {at: 0s, tenant: t, name: q, on: n1, spec: {priority: train, instance: {gpus: 2}}}\n";
    static const struct {
        const char *text, *told;
    } cases[] = {
        {"events: [{at: 1m, defrag: a, model: H800, nodes: max}]\n", NULL},
        {"events: [{at: 1m, defrag: a, model: H800, nodes: 3}]\n",
         "at 1m: defrag a frees 1 more, and 3 were asked for"},
        {"events: [{at: 1m, defrag: b, model: H800, nodes: 1}]\n",
         "at 1m: defrag b had nothing to move: 2 free, and no plan frees more"},
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(cases); i++) {
        struct play_result result;
        TF_AUTO_FREE char *text = tf_asprintf("%s%s", scattered, cases[i].text);
        play(text, plain, &result);
        CU_ASSERT_TRUE(play_is_good(&result));
        CU_ASSERT_EQUAL_FATAL(result.notes.count, cases[i].told ? 1 : 0);
        if (cases[i].told)
            CU_ASSERT_STRING_EQUAL(result.notes.items[0].text, cases[i].told);
        play_result_release(&result);
    }
}

static void test_until(void)
{
    struct play_options options = {.until = 2 * TF_MINUTE};
    struct play_result result;
    play(JOB_X "expect:\n"
               "  - {at: 1m, job: t/x, phase: Running}\n"
               "  - {at: 3m, job: t/x, phase: Failed}\n"
               "  - {within: 1m, after: 90s, job: t/x, phase: Failed}\n"
               "  - {at: end, job: t/x, phase: Running}\n"
               "events: [{at: 4m, delete: t/x}, {at: 3m, hold: t/x}, {at: 1m, look: t/x}]\n"
               "until: 6m\n",
         options, &result);
    CU_ASSERT_TRUE(play_is_good(&result));
    CU_ASSERT_EQUAL(result.ended, 2 * TF_MINUTE);
    CU_ASSERT_EQUAL_FATAL(result.skipped.count, 3);
    CU_ASSERT_STRING_EQUAL(result.skipped.items[2].where, "events[1]");
    CU_ASSERT_STRING_EQUAL(result.skipped.items[2].text,
                           "2 events are later than the end, the first at 3m, and the run ended at 2m");
    CU_ASSERT_EQUAL(result.skipped.items[0].number, 1);
    CU_ASSERT_EQUAL(result.skipped.items[1].number, 2);
    CU_ASSERT_STRING_EQUAL(result.skipped.items[1].text, "is about 2m30s, and the run ended at 2m");
    play_result_release(&result);
}

/* ---- the same again ---- */

static const char eventful[] = "jobs:\n"
                               "  - {at: {from: 0s, every: 20s, count: 20}, tenant: t, name: \"s-{k}\", run: "
                               "1m, chance: {startMax: 5s, fail: 20%}, "
                               "spec: {priority: train, instance: {gpus: 8}}}\n"
                               "events:\n"
                               "  - {at: 1m, crash: fedd, for: 10s}\n"
                               "  - {at: 2m, crash: subclusterd/a, for: 10s}\n"
                               "  - {at: 3m, node: a/n0, state: down, for: 1m}\n"
                               "  - {at: 4m, cluster: b, link: cut, for: 30s}\n"
                               "until: 20m\n";

static void test_same_seed_same_run(void)
{
    struct play_result first, second, other;
    play(eventful, plain, &first);
    play(eventful, plain, &second);
    play(eventful, (struct play_options){.until = -1, .has_seed = true, .seed = 2}, &other);
    CU_ASSERT_FALSE(first.breached);
    CU_ASSERT_EQUAL(first.hash, second.hash);
    CU_ASSERT_EQUAL(first.events, second.events);
    CU_ASSERT_NOT_EQUAL(first.hash, other.hash);
    play_result_release(&first);
    play_result_release(&second);
    play_result_release(&other);
}

static const struct suite_test tests[] = {
    {"nodes", test_nodes},
    {"gpus", test_gpus},
    {"crashes", test_crashes},
    {"crash between two actions", test_crash_between},
    {"links", test_links},
    {"stores", test_stores},
    {"duplicates", test_duplicates},
    {"restored", test_restored},
    {"restored twice", test_restored_twice},
    {"operators", test_operators},
    {"users", test_users},
    {"applied", test_applied},
    {"not possible", test_not_possible},
    {"places", test_places},
    {"orders", test_orders},
    {"notes", test_notes},
    {"wrong", test_wrong},
    {"runs", test_runs},
    {"checkpoints", test_checkpoints},
    {"stop times", test_stop_times},
    {"on", test_on},
    {"many", test_many},
    {"tides", test_tides},
    {"expectations fail", test_expectations_fail},
    {"until", test_until},
    {"same seed same run", test_same_seed_same_run},
};

int main(void)
{
    return suite_run("play", tests, TF_ARRAY_LEN(tests));
}
