/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of small scenarios, whose figures can be told by hand. */
#include "tests/support/fedsim/played.h"
#include "common/base/cleanup.h"
#include "tests/support/suite.h"

#include <cjson/cJSON.h>

static void play_without(const char *text, unsigned without, struct play_result *result)
{
    const struct play_options options = {.until = -1, .without = without};
    test_play(text, &options, result);
}

static void play(const char *text, struct play_result *result)
{
    play_without(text, 0, result);
}

static void expect_idle(const struct play_result *result, double want)
{
    static const char *const causes[] = {"deliverable", "count", "cpu_memory", "topology",
                                         "policy",      "step",  "health"};
    double sum = 0;
    for (size_t i = 0; i < TF_ARRAY_LEN(causes); i++) {
        TF_AUTO_FREE char *name = tf_asprintf("idleGpuHoursByCause.%s", causes[i]);
        sum += test_figure(result, name);
    }
    if (sum < want - 0.1 || sum > want + 0.1)
        printf("\nidle causes sum to %f, expected %f\n", sum, want);
    CU_ASSERT(sum >= want - 0.1 && sum <= want + 0.1);
}

/* Two jobs on one node, one after the other. */
static void test_times(void)
{
    struct play_result result;
    play("name: test\n"
         "clusters: [{name: a, nodes: [{count: 1, prefix: n, model: H800, gpus: 8}]}]\n"
         "jobs:\n"
         "  - {at: 0s, tenant: x, name: one, run: 10m, spec: {priority: train, instance: {gpus: 8}}}\n"
         "  - {at: 1m, tenant: y, name: two, run: 10m, spec: {priority: train, instance: {gpus: 8}}}\n"
         "  - {at: 2m, tenant: y, name: six, spec: {priority: train, instances: 6, instance: {gpus: 8}}}\n"
         "until: 30m\n",
         &result);
    test_expect_figure(&result, "simulatedSeconds", 1800, 0);
    test_expect_figure(&result, "jobsSubmitted", 3, 0);
    test_expect_figure(&result, "jobsCompleted", 2, 0);
    test_expect_figure(&result, "jobsPending", 1, 0);
    test_expect_figure(&result, "jobsRunning", 0, 0);
    test_expect_figure(&result, "placements", 2, 0);
    test_expect_figure(&result, "waitSeconds.count", 2, 0);
    test_expect_figure(&result, "waitSeconds.p50", 0, 2);
    test_expect_figure(&result, "waitSeconds.max", 540, 2);
    test_expect_figure(&result, "waitSeconds.mean", 270, 2);
    test_expect_figure(&result, "jctSeconds.p50", 600, 2);
    test_expect_figure(&result, "jctSeconds.max", 1140, 2);
    test_expect_figure(&result, "gpuHoursThere", 4, 0.01);
    test_expect_figure(&result, "gpuHoursHeld", 8.0 / 3, 0.01);
    test_expect_figure(&result, "gpuAllocation", 2.0 / 3, 0.001);
    test_expect_figure(&result, "gpuUsable", 2.0 / 3, 0.001);
    test_expect_figure(&result, "tenants.y.jobsSubmitted", 2, 0);
    test_expect_figure(&result, "tenants.y.waitSeconds.max", 540, 2);
    test_expect_figure(&result, "tenants.x.jctSeconds.max", 600, 2);
    test_expect_figure(&result, "classes.train.gpuHoursHeld", 8.0 / 3, 0.01);
    test_expect_figure(&result, "clusters.a.gpuAllocation", 2.0 / 3, 0.001);
    test_expect_figure(&result, "requeued", 0, 0);
    expect_idle(&result, 4.0 / 3);
    test_expect_figure(&result, "idleGpuHoursByCause.step", 4.0 / 3,
                       0.1); /* six nodes are wanted: one is there */
    play_result_release(&result);
}

/* What runs on a lost node is lost since its last checkpoint; the job begins again on the other, in the same
 * epoch. */
static void test_loss(void)
{
    struct play_result result;
    play("name: test\n"
         "clusters: [{name: a, nodes: [{count: 2, prefix: n, model: H800, gpus: 8}]}]\n"
         "jobs:\n"
         "  - {at: 0s, tenant: x, name: one, work: 1h, checkpointEvery: 10m, on: [a/n0],\n"
         "     spec: {priority: train, workload: training, instance: {gpus: 4}}}\n"
         "events: [{at: 25m, node: a/n0, state: down}]\n"
         "until: 2h\n",
         &result);
    test_expect_figure(&result, "lostGpuHours", 4 * 5.0 / 60, 0.01);
    test_expect_figure(&result, "clusters.a.lostGpuHours", 4 * 5.0 / 60, 0.01);
    test_expect_figure(&result, "restarts", 1, 0);
    test_expect_figure(&result, "requeued", 0, 0);
    test_expect_figure(&result, "placements", 1, 0);
    test_expect_figure(&result, "evictions", 0, 0);
    test_expect_figure(&result, "jobsCompleted", 1, 0);
    test_expect_figure(&result, "waitSeconds.count", 1, 0);
    test_expect_figure(&result, "gpuHoursThere", 8 * 25.0 / 60 + 16, 0.1);
    play_result_release(&result);
}

/* Bad GPUs are not there, and idle for their health. */
static void test_health(void)
{
    struct play_result result;
    play("name: test\n"
         "clusters: [{name: a, nodes: [{count: 1, prefix: n, model: H800, gpus: 8}]}]\n"
         "jobs:\n"
         "  - {at: 10m, tenant: x, name: no, spec: {priority: train, instances: 2, instance: {gpus: 1}}}\n"
         "events: [{at: 0s, gpu: a/n0:7, state: bad}]\n"
         "until: 1h\n",
         &result);
    test_expect_figure(&result, "gpuHoursThere", 7, 0.01);
    test_expect_figure(&result, "idleGpuHoursByCause.health", 1, 0.01);
    test_expect_figure(&result, "gpuHoursHeld", 2 * 50.0 / 60, 0.01);
    expect_idle(&result, 8 - 2 * 50.0 / 60);
    play_result_release(&result);
}

/* ---- forms ---- */

static void expect_member(const cJSON *object, const char *name)
{
    if (!cJSON_HasObjectItem(object, name))
        printf("\nthe report has no %s\n", name);
    CU_ASSERT_TRUE(cJSON_HasObjectItem(object, name));
}

static void expect_no_twins(const cJSON *object)
{
    for (const cJSON *a = object->child; a; a = a->next) {
        for (const cJSON *b = a->next; b; b = b->next)
            CU_ASSERT_STRING_NOT_EQUAL(a->string, b->string);
        if (cJSON_IsObject(a))
            expect_no_twins(a);
    }
}

static void test_json(void)
{
    static const char *const names[] = {"simulatedSeconds",
                                        "wallSeconds",
                                        "events",
                                        "jobsSubmitted",
                                        "jobsCompleted",
                                        "jobsRunning",
                                        "jobsPending",
                                        "gpuAllocation",
                                        "gpuUsable",
                                        "evictions",
                                        "jobsEvicted",
                                        "requeued",
                                        "evictionsByCause",
                                        "victimsRedundant",
                                        "resizes",
                                        "restarts",
                                        "migrations",
                                        "nodesVacated",
                                        "migrationsRolledBack",
                                        "waitSeconds",
                                        "jctSeconds",
                                        "lostGpuHours",
                                        "reclaimSeconds",
                                        "placementsRefused",
                                        "idleGpuHoursByCause",
                                        "firstViolation",
                                        "invariantViolations",
                                        "seed"};
    static const char *const parts[] = {"count", "mean", "p50", "p90", "p95", "p99", "max"};
    struct play_result result;
    play("name: \"a \\\"name\\\"\"\n"
         "clusters: [{name: a, nodes: [{count: 1, prefix: n, model: H800, gpus: 8}]}]\n"
         "jobs: [{at: 0s, tenant: x, name: one, run: 1m, spec: {priority: train, instance: {gpus: 8}}}]\n"
         "until: 10m\n",
         &result);
    const struct report_frame frame = {"a \"name\"", NULL, 7, 1234, 2048, "broken"};
    TF_AUTO_BUF text = TF_BUF_INIT;
    report_json(result.report, &frame, &text);
    cJSON *json = cJSON_Parse(tf_buf_text(&text));
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    expect_no_twins(json);
    for (size_t i = 0; i < TF_ARRAY_LEN(names); i++)
        expect_member(json, names[i]);
    for (size_t i = 0; i < TF_ARRAY_LEN(parts); i++)
        expect_member(cJSON_GetObjectItem(json, "waitSeconds"), parts[i]);
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(json, "scenario")->valuestring, "a \"name\"");
    CU_ASSERT_EQUAL(cJSON_GetObjectItem(json, "seed")->valueint, 7);
    CU_ASSERT_EQUAL(cJSON_GetObjectItem(json, "jobsCompleted")->valueint, 1);
    expect_member(cJSON_GetObjectItem(cJSON_GetObjectItem(json, "classes"), "train"), "jctSeconds");
    expect_member(cJSON_GetObjectItem(cJSON_GetObjectItem(json, "tenants"), "x"), "waitSeconds");
    expect_member(cJSON_GetObjectItem(cJSON_GetObjectItem(json, "clusters"), "a"), "idleGpuHoursByCause");
    cJSON_Delete(json);
    tf_buf_clear(&text);
    report_text(result.report, &frame, &text);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&text), "1 submitted: 1 completed, 0 failed"));
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&text), "BREACH broken"));
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&text), "idle GPUs"));
    int64_t value;
    CU_ASSERT_EQUAL(report_figure(result.report, "tenants.z.evictions", &value), -1);
    CU_ASSERT_EQUAL(report_figure(result.report, "waitSeconds", &value), -1);
    CU_ASSERT_EQUAL(report_figure(result.report, "classes.train.idleGpuHoursByCause.step", &value), -1);
    play_result_release(&result);
}

/* Four nodes, of which one is busy for an hour; who can use pairs of nodes only, and would like two pairs. */
static const char pairs[] =
    "name: test\n"
    "clusters: [{name: a, nodes: [{count: 4, prefix: n, model: H800, gpus: 8}]}]\n"
    "jobs:\n"
    "  - {at: 0s, tenant: x, name: busy, run: 1h, spec: {priority: train, instance: {gpus: 8}}}\n"
    "  - {at: 1m, tenant: y, name: pairs,\n"
    "     spec: {priority: offline, elastic: {min: 2, max: 4, step: 2}, instance: {gpus: 8}}}\n"
    "until: 2h\n";

static void test_without(void)
{
    struct play_result result;
    play(pairs, &result);
    test_expect_figure(&result, "classes.offline.gpuHoursHeld", 16 + 32, 1);
    test_expect_figure(&result, "classes.offline.gpuUsable", (16.0 + 32) / 64, 0.01);
    play_result_release(&result);
    play_without(pairs, PLAY_WITHOUT_ABSORB, &result);
    test_expect_figure(&result, "classes.offline.gpuHoursHeld", 16 + 16, 1);
    test_expect_figure(&result, "resizes", 0, 0);
    play_result_release(&result);
    play_without(pairs, PLAY_WITHOUT_ALIGN, &result);
    test_expect_figure(&result, "classes.offline.gpuHoursHeld", 24 + 32, 1);
    test_expect_figure(&result, "classes.offline.gpuUsable", (16.0 + 32) / 64, 0.01);
    play_result_release(&result);
}

/* A service that asks for two more when one is there: it has what it asked for when the other node is free.
 */
static void test_scale(void)
{
    struct play_result result;
    play("name: test\n"
         "clusters: [{name: a, nodes: [{count: 3, prefix: n, model: H800, gpus: 8}]}]\n"
         "jobs:\n"
         "  - {at: 0s, tenant: x, name: service, spec: {priority: train, workload: inference, elastic: {min: "
         "1, "
         "max: 1, step: 1}, instance: {gpus: 8}}}\n"
         "  - {at: 0s, tenant: x, name: busy, run: 30m, spec: {priority: train, instance: {gpus: 8}}}\n"
         "  - {at: 50m, tenant: x, name: late, spec: {priority: train, instances: 9, instance: {gpus: 8}}}\n"
         "events:\n"
         "  - {at: 10m, scale: x/service, elastic: {min: 3, max: 3, step: 1}}\n"
         "until: 1h\n",
         &result);
    test_expect_figure(&result, "scaleSeconds.count", 1, 0);
    test_expect_figure(&result, "scaleSeconds.max", 20 * 60, 5);
    test_expect_figure(&result, "classes.train.unmetGpuHours", 8 / 3.0 + 72 / 6.0, 0.05);
    play_result_release(&result);
}

/* ---- names ---- */

static void expect_known(const char *name)
{
    enum report_set set;
    char *group = NULL;
    struct tf_error err = TF_ERROR_INIT;
    if (report_name_check(name, &set, &group, &err))
        printf("\n%s: %s\n", name, err.text);
    CU_ASSERT_EQUAL(err.code, TF_OK);
    free(group);
}

/* Every number of it is a figure that can be expected, under its name. */
static size_t expect_all_known(const cJSON *json, const char *prefix)
{
    size_t count = 0;
    for (const cJSON *at = json->child; at; at = at->next) {
        TF_AUTO_FREE char *name = tf_asprintf("%s%s", prefix, at->string);
        TF_AUTO_FREE char *deeper = tf_asprintf("%s.", name);
        bool of_this_run = strcmp(name, "seed") == 0 || strcmp(name, "wallSeconds") == 0 ||
                           strcmp(name, "peakMemoryKib") == 0;
        if (cJSON_IsObject(at))
            count += expect_all_known(at, deeper);
        if (!cJSON_IsNumber(at) || of_this_run)
            continue;
        expect_known(name);
        count++;
    }
    return count;
}

static void expect_unknown(const char *name, const char *told)
{
    enum report_set set;
    char *group = NULL;
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL(report_name_check(name, &set, &group, &err), -1);
    CU_ASSERT_PTR_NULL(group);
    CU_ASSERT_STRING_EQUAL(err.text, told);
}

static void test_names(void)
{
    struct play_result result;
    enum report_set set;
    char *group = NULL;
    play("name: names\n"
         "clusters: [{name: a.b, nodes: [{count: 1, prefix: n, model: H800, gpus: 8}]}]\n"
         "jobs: [{at: 0s, tenant: x, name: one, run: 1m, spec: {priority: train, instance: {gpus: 8}}}]\n"
         "until: 10m\n",
         &result);
    TF_AUTO_BUF text = TF_BUF_INIT;
    report_json(result.report, &(struct report_frame){.seed = 1}, &text);
    cJSON *json = cJSON_Parse(tf_buf_text(&text));
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    CU_ASSERT(expect_all_known(json, "") > 150);
    cJSON_Delete(json);
    play_result_release(&result);
    CU_ASSERT_EQUAL(report_name_check("clusters.a.b.waitSeconds.p99", &set, &group, NULL), 0);
    CU_ASSERT_EQUAL(set, REPORT_CLUSTERS);
    CU_ASSERT_STRING_EQUAL(group, "a.b");
    free(group);
    expect_unknown("evictons", "\"evictons\" is no figure of a report; did you mean \"evictions\"?");
    expect_unknown("waitSeconds", "is several figures: name one of them, as waitSeconds.count");
    expect_unknown("tenants.x.waitSeconds", "is several figures: name one of them, as waitSeconds.count");
    expect_unknown("classes.train.gpuHoursThere", "\"gpuHoursThere\" is no figure that these have; did you "
                                                  "mean \"gpuHoursHeld\"?");
    expect_unknown("classes.train", "\"train\" is no figure that these have");
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"times", test_times},     {"loss", test_loss},   {"health", test_health}, {"json", test_json},
        {"without", test_without}, {"scale", test_scale}, {"names", test_names}};
    return suite_run("report/played", tests, TF_ARRAY_LEN(tests));
}
