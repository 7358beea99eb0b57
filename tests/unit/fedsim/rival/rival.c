/* SPDX-License-Identifier: Apache-2.0 */
/* Schedulers that tidefed is compared with, in scenarios whose figures can be told by hand. */
#include "tests/support/fedsim/played.h"
#include "tests/support/suite.h"

static struct play_result result;

static void play(enum rival_kind rival, const char *text)
{
    const struct play_options options = {.until = -1, .rival = rival};
    test_play(text, &options, &result);
}

static void expect(const char *name, double want, double off)
{
    test_expect_figure(&result, name, want, off);
}

static void end(void)
{
    play_result_release(&result);
}

#define ONE_NODE                                             \
    "name: test\nclasses: {high: 900, mid: 500, low: 100}\n" \
    "clusters: [{name: a, nodes: [{count: 1, prefix: n, model: H800, gpus: 8}]}]\n"

/* The second does not fit beside the first and waits; the third fits and passes. */
static void test_fifo(void)
{
    play(RIVAL_FIFO, ONE_NODE
         "jobs:\n"
         "  - {at: 0s, tenant: x, name: one, run: 10m, spec: {priority: low, instance: {gpus: 6}}}\n"
         "  - {at: 1m, tenant: x, name: two, run: 10m, spec: {priority: high, instance: {gpus: 8}}}\n"
         "  - {at: 2m, tenant: x, name: three, run: 5m, spec: {priority: low, instance: {gpus: 2}}}\n"
         "until: 1h\n");
    expect("classes.high.waitSeconds.max", 540, 1);
    expect("classes.low.waitSeconds.max", 0, 1);
    expect("evictions", 0, 0);
    expect("jobsCompleted", 3, 0);
    expect("gpuHoursHeld", (60 + 80 + 10) / 60.0, 0.01);
    expect("invariantViolations", 0, 0);
    end();
}

/* Two of four GPUs: the younger is enough. It comes back when there is room, and begins anew. */
static void test_priority(void)
{
    play(RIVAL_PRIORITY, ONE_NODE
         "jobs:\n"
         "  - {at: 0s, tenant: x, name: old, run: 1h, spec: {priority: low, instance: {gpus: 4}}}\n"
         "  - {at: 5m, tenant: x, name: young, run: 1h, spec: {priority: low, instance: {gpus: 4}}}\n"
         "  - {at: 10m, tenant: x, name: urgent, run: 10m, spec: {priority: high, instance: {gpus: 4}}}\n"
         "until: 3h\n");
    expect("evictions", 1, 0);
    expect("jobsEvicted", 1, 0);
    expect("victimsRedundant", 0, 0);
    expect("requeued", 1, 0);
    expect("restarts", 1, 0);
    expect("lostGpuHours", 4 * 5 / 60.0, 0.01);
    expect("reclaimSeconds.count", 1, 0);
    expect("classes.high.waitSeconds.max", 0.5, 1);
    expect("classes.low.jctSeconds.max", 3600 + 15 * 60, 2);
    expect("jobsCompleted", 3, 0);
    end();
}

static const char order[] =
    ONE_NODE "jobs:\n"
             "  - {at: 0s, tenant: x, name: lowest, spec: {priority: low, instance: {gpus: 4}}}\n"
             "  - {at: 5m, tenant: x, name: youngest, spec: {priority: mid, instance: {gpus: 4}}}\n"
             "  - {at: 10m, tenant: x, name: urgent, spec: {priority: high, instance: {gpus: 4}}}\n"
             "until: 1h\n";

static void test_who_goes(void)
{
    play(RIVAL_PRIORITY, order);
    expect("classes.low.evictions", 1, 0);
    expect("classes.mid.evictions", 0, 0);
    end();
    play(RIVAL_YOUNGEST_FIRST, order);
    expect("classes.mid.evictions", 1, 0);
    expect("classes.low.evictions", 1, 0); /* for the youngest, which comes back */
    expect("classes.mid.requeued", 1, 0);
    end();
}

/* The youngest goes though it has too little: priority spares it. */
static void test_not_needed(void)
{
    static const char text[] =
        ONE_NODE "jobs:\n"
                 "  - {at: 0s, tenant: x, name: large, spec: {priority: low, instance: {gpus: 6}}}\n"
                 "  - {at: 5m, tenant: x, name: small, spec: {priority: low, instance: {gpus: 2}}}\n"
                 "  - {at: 10m, tenant: x, name: urgent, spec: {priority: high, instance: {gpus: 6}}}\n"
                 "until: 11m\n";
    play(RIVAL_PRIORITY, text);
    expect("jobsEvicted", 1, 0);
    end();
    play(RIVAL_YOUNGEST_FIRST, text);
    expect("jobsEvicted", 2, 0);
    end();
}

/* The service's peak is its own, the batch job that never ends has the rest and no more. */
static void test_static_quota(void)
{
    play(RIVAL_STATIC_QUOTA,
         "name: test\nclasses: {high: 900, low: 100}\n"
         "clusters: [{name: a, nodes: [{count: 10, prefix: n, model: H800, gpus: 8}]}]\n"
         "tides: [{job: {tenant: x, name: service, spec: {priority: high, workload: inference, elastic: "
         "{step: 1}, "
         "instance: {gpus: 8}}}, low: 1, high: 6, period: 2h, peakAt: 1h, every: 5m}]\n"
         "jobs: [{at: 0s, tenant: y, name: batch, spec: {priority: low, elastic: {min: 1, max: 10, step: 1}, "
         "instance: {gpus: 8}}}]\n"
         "until: 2h\n");
    expect("evictions", 0, 0);
    expect("classes.low.gpuHoursHeld", 4 * 8 * 2, 0.1);
    expect("classes.high.unmetGpuHours", 0, 0.05);
    expect("classes.high.scaleSeconds.max", 0, 1);
    expect("jobsSubmitted", 11, 0); /* ten pieces of the batch job */
    end();
}

/* A gang starts again whole, a service replaces what it lost; both lose the node that goes down. */
static void test_loss(void)
{
    play(RIVAL_FIFO, "name: test\nclasses: {high: 900, low: 100}\n"
                     "clusters: [{name: a, nodes: [{count: 4, prefix: n, model: H800, gpus: 8}]}]\n"
                     "jobs:\n"
                     "  - {at: 0s, tenant: x, name: gang, work: 4h, checkpointEvery: 10m,\n"
                     "     spec: {priority: low, workload: training, instances: 2, instance: {gpus: 4}}}\n"
                     "  - {at: 1s, tenant: x, name: service,\n"
                     "     spec: {priority: high, workload: inference, instances: 2, instance: {gpus: 8}}}\n"
                     "events:\n"
                     "  - {at: 25m, node: a/n0, state: down}\n"
                     "  - {at: 55m, node: a/n1, state: down}\n"
                     "until: 4h\n");
    expect("classes.low.requeued", 1, 0);
    expect("classes.high.requeued", 0, 0);
    expect("classes.low.lostGpuHours", 8 * 5 / 60.0, 0.01);
    expect("restarts", 3, 0);
    expect("jobsCompleted", 1, 0);
    end();
}

/* What is held or deleted gives its GPUs back; a failed one is tried again, and then no more. */
static void test_verbs(void)
{
    play(RIVAL_FIFO, ONE_NODE
         "jobs:\n"
         "  - {at: 0s, tenant: x, name: held, spec: {priority: low, instance: {gpus: 8}}}\n"
         "  - {at: 5m, tenant: x, name: gone, spec: {priority: low, instance: {gpus: 8}}}\n"
         "  - {at: 6m, tenant: x, name: next, run: 10m, spec: {priority: low, instance: {gpus: 8}}}\n"
         "events:\n"
         "  - {at: 10m, hold: x/held}\n"
         "  - {at: 20m, delete: x/gone}\n"
         "  - {at: 25m, resume: x/held}\n"
         "until: 1h\n");
    expect("jobsDeleted", 1, 0);
    expect("jobsCompleted", 1, 0);
    expect("jobsRunning", 1, 0);
    expect("classes.low.gpuHoursHeld", 8 * (10 + 10 + 10 + 30) / 60.0, 0.1);
    end();
}

static void test_names(void)
{
    enum rival_kind kind = RIVAL_FIFO;
    CU_ASSERT_EQUAL(rival_named("tidefed", &kind), 0);
    CU_ASSERT_EQUAL(kind, RIVAL_NONE);
    CU_ASSERT_EQUAL(rival_named("youngest-first", &kind), 0);
    CU_ASSERT_EQUAL(kind, RIVAL_YOUNGEST_FIRST);
    CU_ASSERT_EQUAL(rival_named("lottery", &kind), -1);
}

int main(void)
{
    static const struct suite_test tests[] = {{"fifo", test_fifo},
                                              {"priority", test_priority},
                                              {"who goes", test_who_goes},
                                              {"not needed", test_not_needed},
                                              {"static quota", test_static_quota},
                                              {"loss", test_loss},
                                              {"verbs", test_verbs},
                                              {"names", test_names}};
    return suite_run("rival", tests, TF_ARRAY_LEN(tests));
}
