/* SPDX-License-Identifier: Apache-2.0 */
/* What a report counts of facts that are told to it one by one: changes that need mechanisms of their own to
 * happen in a world, and the sums. */
#include "tools/fedsim/report/report.h"

#include "common/base/cleanup.h"
#include "tests/support/suite.h"
#include "tools/fedsim/report/private.h"

/* A world that nobody runs: two nodes of eight GPUs, a job of two instances. */
struct stage {
    struct sim_world world;
    struct sim_site *site;
    struct report *report;
    struct sim_job job;
    struct sim_instance instances[8];
};

static void add_node(struct sim_site *site, const char *name)
{
    struct tf_node node = {.state = TF_NODE_READY, .name = tf_strdup(name), .model = tf_strdup("H800")};
    node.capacity = (struct tf_vector){8, 32, 128000, 1 << 20};
    world_add_node(site, &node, 0);
}

static void raise(struct stage *stage)
{
    *stage = (struct stage){0};
    world_init(&stage->world, 1, false);
    world_add_fedd(&stage->world);
    stage->site = world_add_site(&stage->world, "a", "north", 1);
    add_node(stage->site, "n0");
    add_node(stage->site, "n1");
    tf_job_manifest_init(&stage->job.manifest);
    stage->job.uid.bytes[0] = 1;
    stage->job.manifest.tenant = tf_strdup("x");
    stage->job.manifest.name = tf_strdup("one");
    stage->job.manifest.spec.priority = tf_strdup("train");
    stage->job.manifest.spec.workload = TF_WORKLOAD_TRAINING;
    stage->job.manifest.spec.elastic = (struct tf_elastic){2, 2, 1};
    stage->job.manifest.spec.group.shape.gpus = 4;
    stage->report = report_create();
    report_begin(stage->report, &stage->world);
}

static void strike(struct stage *stage)
{
    report_end(stage->report);
    report_destroy(stage->report);
    tf_job_manifest_release(&stage->job.manifest);
    world_release(&stage->world);
}

static void at(struct stage *stage, int64_t seconds)
{
    stage->world.agenda.now.ms = seconds * TF_SECOND;
}

static void submit(struct stage *stage)
{
    world_tell(&stage->world,
               &(struct sim_fact){.kind = SIM_FACT_ASKED, .job = &stage->job, .verb = SIM_SUBMIT});
}

static void tell(struct stage *stage, enum sim_fact_kind kind, int i)
{
    world_tell(&stage->world,
               &(struct sim_fact){.kind = kind, .site = stage->site, .instance = &stage->instances[i]});
}

static void start(struct stage *stage, int i, uint32_t index, uint32_t attempt, char *node, uint64_t gpus)
{
    stage->instances[i] = (struct sim_instance){
        .id = {stage->job.uid, 7, index, attempt}, .state = SIM_STARTING, .node = node, .gpus = gpus};
    stage->instances[i].need = (struct tf_vector){4, 1, 1000, 1024};
    stage->instances[i].dies = TF_NEVER;
    tell(stage, SIM_FACT_STARTED, i);
}

static void ready(struct stage *stage, int i)
{
    stage->instances[i].state = SIM_READY;
    stage->instances[i].ready = true;
    tell(stage, SIM_FACT_READY, i);
}

static void stop(struct stage *stage, int i)
{
    stage->instances[i].dies = stage->world.agenda.now;
    tell(stage, SIM_FACT_STOPPING, i);
}

static void end(struct stage *stage, int i)
{
    stage->instances[i].state = SIM_EXITED;
    stage->instances[i].stopped = stage->instances[i].dies.ms != TF_NEVER.ms;
    tell(stage, SIM_FACT_ENDED, i);
}

static void store(struct stage *stage, struct tf_allocation a)
{
    struct tf_record record = {.kind = TF_RECORD_ALLOCATION, .allocation = a};
    world_tell(&stage->world,
               &(struct sim_fact){.kind = SIM_FACT_RECORD, .store = &stage->site->store, .record = &record});
}

static struct tf_allocation running(const struct stage *stage, int32_t size)
{
    return (struct tf_allocation){.uid = stage->job.uid,
                                  .phase = TF_ALLOCATION_RUNNING,
                                  .epoch = 7,
                                  .spec = tf_spec_none(),
                                  .size = size};
}

static int64_t figure(struct stage *stage, const char *name)
{
    int64_t millionths = -1;
    CU_ASSERT_EQUAL(report_figure(stage->report, name, &millionths), 0);
    return millionths;
}

#define EXPECT(stage, name, value) CU_ASSERT_EQUAL(figure(stage, name), (int64_t)((value)*1e6))

static char n0[] = "n0", n1[] = "n1";

static void begin_running(struct stage *stage)
{
    raise(stage);
    at(stage, 10);
    submit(stage);
    submit(stage); /* repeated, without an answer */
    at(stage, 20);
    start(stage, 0, 0, 1, n0, 0x0f);
    start(stage, 1, 1, 1, n0, 0xf0);
    at(stage, 30);
    ready(stage, 0);
    EXPECT(stage, "jobsRunning", 0);
    at(stage, 40);
    ready(stage, 1);
    store(stage, running(stage, 2));
}

static void test_running(void)
{
    struct stage stage;
    begin_running(&stage);
    EXPECT(&stage, "jobsSubmitted", 1);
    EXPECT(&stage, "jobsRunning", 1);
    EXPECT(&stage, "waitSeconds.max", 30);
    at(&stage, 20 + 3600);
    EXPECT(&stage, "gpuHoursHeld", 8);
    EXPECT(&stage, "tenants.x.gpuHoursHeld", 8);
    end(&stage, 0);
    EXPECT(&stage, "jobsRunning", 1);
    at(&stage, 20 + 7200);
    EXPECT(&stage, "gpuHoursHeld", 12);
    end(&stage, 1);
    EXPECT(&stage, "jobsPending", 1); /* nothing is known of its end yet */
    struct tf_ended ended = {.epoch = 7, .end = TF_END_FINISHED};
    struct tf_allocation a = {.uid = stage.job.uid};
    tf_vec_push(&a.ended, ended);
    store(&stage, a);
    EXPECT(&stage, "jobsPending", 0);
    tf_vec_release(&a.ended);
    EXPECT(&stage, "lostGpuHours", 0);
    strike(&stage);
}

static void test_resizes(void)
{
    struct stage stage;
    begin_running(&stage);
    store(&stage, running(&stage, 1));
    store(&stage, running(&stage, 1));
    store(&stage, running(&stage, 2));
    EXPECT(&stage, "resizes", 2);
    struct tf_allocation next = running(&stage, 1);
    next.epoch = 8;
    store(&stage, next);
    EXPECT(&stage, "resizes", 2); /* a restart is none */
    strike(&stage);
}

static void evict(struct stage *stage)
{
    struct tf_allocation ending = running(stage, 2);
    ending.phase = TF_ALLOCATION_ENDING;
    ending.ending.end = TF_END_EVICTED;
    store(stage, ending);
    stop(stage, 0);
    stop(stage, 1);
    at(stage, 40 + 3600);
    end(stage, 0);
    end(stage, 1);
    struct tf_ended ended = {.epoch = 7, .end = TF_END_EVICTED};
    struct tf_allocation idle = {.uid = stage->job.uid};
    tf_vec_push(&idle.ended, ended);
    store(stage, idle);
    store(stage, idle);
    tf_vec_release(&idle.ended);
}

static void test_evictions(void)
{
    struct stage stage;
    begin_running(&stage);
    evict(&stage);
    EXPECT(&stage, "evictions", 2);
    EXPECT(&stage, "evictionsByCause.core", 2);
    EXPECT(&stage, "evictionsByCause.surplus", 0);
    EXPECT(&stage, "jobsEvicted", 1);
    EXPECT(&stage, "victimsRedundant", 1); /* nobody wanted its GPUs */
    EXPECT(&stage, "classes.train.evictions", 2);
    /* two instances of four GPUs: 3,600 s since the one was ready, ten more since the other; lost is only
     * what was done while the core was ready */
    CU_ASSERT(figure(&stage, "lostGpuHours") >= 8000000 && figure(&stage, "lostGpuHours") <= 8020000);
    strike(&stage);
}

/* First it gives one instance away and runs on, then it goes with what it has left. */
static void test_evictions_by_cause(void)
{
    struct stage stage;
    begin_running(&stage);
    struct tf_allocation smaller = running(&stage, 1);
    tf_spec_own(&smaller.spec)->elastic = (struct tf_elastic){1, 2, 1};
    struct tf_member stays = {.index = 0, .state = TF_MEMBER_READY, .ready = {1}};
    struct tf_member leaves = {.index = 1, .mark = 1, .state = TF_MEMBER_LEAVING, .ready = {1}};
    tf_vec_push(&smaller.members, stays);
    tf_vec_push(&smaller.members, leaves);
    store(&stage, smaller);
    stop(&stage, 1);
    EXPECT(&stage, "evictions", 1);
    EXPECT(&stage, "evictionsByCause.core", 0);
    EXPECT(&stage, "evictionsByCause.surplus", 1);
    EXPECT(&stage, "jobsEvicted", 0);
    struct tf_allocation ending = running(&stage, 1);
    ending.phase = TF_ALLOCATION_ENDING;
    ending.ending.end = TF_END_EVICTED;
    store(&stage, ending);
    stop(&stage, 0);
    EXPECT(&stage, "evictions", 2);
    EXPECT(&stage, "evictionsByCause.core", 1);
    EXPECT(&stage, "tenants.x.evictionsByCause.surplus", 1);
    tf_vec_release(&smaller.members);
    tf_spec_drop(smaller.spec);
    strike(&stage);
}

static void test_claims(void)
{
    struct stage stage;
    begin_running(&stage);
    struct sim_job other = stage.job;
    other.uid.bytes[0] = 2;
    world_tell(&stage.world, &(struct sim_fact){.kind = SIM_FACT_ASKED, .job = &other, .verb = SIM_SUBMIT});
    struct tf_allocation claimant = {
        .uid = other.uid, .phase = TF_ALLOCATION_STARTING, .epoch = 9, .spec = tf_spec_none()};
    struct tf_claim claim = {.node = n0, .gpus = 0x03};
    tf_vec_push(&claimant.claims, claim);
    store(&stage, claimant);
    evict(&stage);
    tf_vec_release(&claimant.claims);
    EXPECT(&stage, "jobsEvicted", 1);
    EXPECT(&stage, "victimsRedundant", 0);
    stage.job.uid = other.uid;
    start(&stage, 4, 0, 1, n0, 0x0f);
    start(&stage, 5, 1, 1, n0, 0xf0);
    ready(&stage, 4);
    ready(&stage, 5);
    EXPECT(&stage, "reclaimSeconds.count", 1);
    EXPECT(&stage, "reclaimSeconds.max", 3600);
    EXPECT(&stage, "waitSeconds.count", 2);
    strike(&stage);
}

/* Make before break; n0 becomes free when both have left it. */
static void test_migrations(void)
{
    struct stage stage;
    begin_running(&stage);
    start(&stage, 2, 0, 2, n1, 0x0f);
    ready(&stage, 2);
    stop(&stage, 0);
    end(&stage, 0);
    EXPECT(&stage, "migrations", 1);
    EXPECT(&stage, "nodesVacated", -1); /* n1 is in use, and n0 still is */
    start(&stage, 3, 1, 2, n1, 0xf0);
    stop(&stage, 3);
    end(&stage, 3);
    EXPECT(&stage, "migrations", 1);
    EXPECT(&stage, "migrationsRolledBack", 1);
    start(&stage, 3, 1, 3, n1, 0xf0);
    ready(&stage, 3);
    stop(&stage, 1);
    end(&stage, 1);
    EXPECT(&stage, "migrations", 2);
    EXPECT(&stage, "nodesVacated", 0);
    EXPECT(&stage, "restarts", 3); /* attempts after the first, wherever they ran */
    EXPECT(&stage, "jobsRunning", 1);
    strike(&stage);
}

static void test_percentiles(void)
{
    struct report_samples samples = {0};
    CU_ASSERT_EQUAL(report_percentile(&samples, 99), 0);
    CU_ASSERT_EQUAL(report_mean(&samples), 0);
    for (int64_t i = 100; i >= 1; i--)
        report_sample(&samples, i);
    CU_ASSERT_EQUAL(report_percentile(&samples, 50), 50);
    CU_ASSERT_EQUAL(report_percentile(&samples, 95), 95);
    CU_ASSERT_EQUAL(report_percentile(&samples, 99), 99);
    CU_ASSERT_EQUAL(report_percentile(&samples, 100), 100);
    CU_ASSERT_EQUAL(report_mean(&samples), 50);
    report_sample(&samples, 1000);
    CU_ASSERT_EQUAL(report_percentile(&samples, 100), 1000);
    CU_ASSERT_EQUAL(report_percentile(&samples, 50), 51);
    tf_vec_release(&samples.ms);
}

static void expect_number(int64_t millionths, const char *want)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    report_number(&text, millionths);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&text), want);
}

static void test_numbers(void)
{
    expect_number(0, "0");
    expect_number(5000000, "5");
    expect_number(250000, "0.25");
    expect_number(1, "0.000001");
    expect_number(-1500000, "-1.5");
    expect_number(-1, "-0.000001");
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"running", test_running},         {"resizes", test_resizes},
        {"evictions", test_evictions},     {"causes of evictions", test_evictions_by_cause},
        {"claims", test_claims},           {"migrations", test_migrations},
        {"percentiles", test_percentiles}, {"numbers", test_numbers},
    };
    return suite_run("report/told", tests, TF_ARRAY_LEN(tests));
}
