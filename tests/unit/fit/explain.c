/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a refusal, and one idle cause at a time. */
#include "common/fit/explain.h"

#include "tests/support/suite.h"
#include "tests/unit/fit/fleet.h"

enum { BATCH = 0, ONLINE = 1 };

static struct tf_fit_why explain(struct fleet *f, const struct tf_job_spec *spec, tf_level level)
{
    struct tf_fit_view view = fleet_view(f);
    TF_AUTO(tf_fit_scratch) scratch = tf_fit_scratch_create();
    struct tf_demand demand = {0};
    struct tf_fit_why why;
    CU_ASSERT_EQUAL_FATAL(tf_demand_resolve(&demand, spec, BATCH, view.catalog, NULL), 0);
    tf_fit_explain(&view, &demand, level, spec, scratch, &why);
    tf_demand_release(&demand);
    return why;
}

static void says(const struct tf_fit_why *why, enum tf_reason reason, const char *text)
{
    CU_ASSERT_EQUAL(why->reason, reason);
    CU_ASSERT_STRING_EQUAL(why->text, text);
    if (strcmp(why->text, text) != 0)
        printf("\n    got: %s\n", why->text);
}

/* 3 nodes free, 12 with free GPUs but few cores; all held by `level` otherwise. */
static struct fleet make_fleet(tf_level level)
{
    struct fleet f = {0};
    fleet_plane(&f, "parameter", "pod", NULL);
    fleet_row(&f, 3, "H800", "p-1", fleet_vector(8, 96, 900));
    struct tf_profile_row *row = fleet_row(&f, 12, "H800", "p-2", fleet_vector(8, 40, 900));
    fleet_level(row, level, fleet_vector(8, 96, 900));
    return f;
}

static void test_cpu(void)
{
    struct fleet f = make_fleet(tf_level_surplus(BATCH));
    struct tf_job_spec spec = fleet_spec(4, 8, 90, 800);
    tf_strs_add(&spec.group.shape.gpu_models, "H800");
    struct tf_fit_why why = explain(&f, &spec, TF_LEVEL_FREE);
    says(&why, TF_REASON_CPU_MEMORY,
         "needs 4 x 8 GPUs of H800; 3 nodes have free room for one instance, 12 more have the GPUs but at "
         "most 40 "
         "cores and "
         "900Gi; 3 of 4 fit");
    why = explain(&f, &spec, tf_level_core(BATCH) - 1);
    CU_ASSERT_EQUAL(why.reason, TF_REASON_NONE);
    CU_ASSERT_STRING_EQUAL(why.text, "");
    fleet_release(&f);
    f = make_fleet(tf_level_core(ONLINE));
    why = explain(&f, &spec, TF_LEVEL_FREE);
    says(&why, TF_REASON_HIGHER_PRIORITY,
         "needs 4 x 8 GPUs of H800; 3 nodes have free room for one instance, 12 more have the GPUs but at "
         "most 40 "
         "cores and "
         "900Gi; 3 of 4 fit, the rest is held by work of equal or higher priority");
    tf_job_spec_release(&spec);
    fleet_release(&f);
}

static void test_static_reasons(void)
{
    struct fleet f = make_fleet(tf_level_surplus(BATCH));
    struct tf_job_spec spec = fleet_spec(20, 8, 90, 800);
    struct tf_fit_why why = explain(&f, &spec, TF_LEVEL_FREE);
    says(&why, TF_REASON_NOT_ENOUGH_NODES,
         "needs 20 x 8 GPUs; its 15 ready nodes would hold 15 if nothing else ran");
    spec.elastic = (struct tf_elastic){13, 13, 1};
    fleet_rule(&spec, NULL, "pod", TF_TOPOLOGY_OF_JOB, TF_TOPOLOGY_REQUIRE);
    why = explain(&f, &spec, TF_LEVEL_FREE);
    says(&why, TF_REASON_TOPOLOGY,
         "needs 13 x 8 GPUs, all in one pod; that holds 12 at most, even if nothing else ran");
    spec.group.shape.cpu = 128 * 1000;
    why = explain(&f, &spec, TF_LEVEL_FREE);
    says(&why, TF_REASON_NODE_TOO_SMALL,
         "one instance needs 8 GPUs, 128 cores and 800Gi; the most that its empty nodes of that kind have is "
         "8 GPUs, "
         "96 cores and 900Gi");
    spec.group.shape.gpu_memory = 141 * 1024;
    why = explain(&f, &spec, TF_LEVEL_FREE);
    says(&why, TF_REASON_GPU_MEMORY,
         "needs 13 x 8 GPUs with 141Gi each; none of its 15 nodes of that model has so much");
    CU_ASSERT_STRING_EQUAL(why.unblock, "a spec.instance.gpuMemory of at most 80Gi");
    tf_strs_add(&spec.group.shape.gpu_models, "B200");
    tf_strs_add(&spec.group.shape.gpu_models, "GB300");
    why = explain(&f, &spec, TF_LEVEL_FREE);
    says(&why, TF_REASON_NO_SUCH_MODEL, "needs 13 x 8 GPUs of B200 or GB300; it has H800");
    CU_ASSERT_STRING_EQUAL(why.unblock, "nodes with B200 or GB300, or other spec.instance.gpuModels");
    tf_job_spec_release(&spec);
    spec = fleet_spec(1, 8, 1, 1);
    tf_pairs_set(&spec.node_labels, "disk", "nvme");
    why = explain(&f, &spec, TF_LEVEL_FREE);
    says(&why, TF_REASON_NOT_ENOUGH_NODES, "needs 1 x 8 GPUs; no node of that kind has the labels disk=nvme");
    tf_job_spec_release(&spec);
    fleet_release(&f);
}

static void test_claimed(void)
{
    struct fleet f = {0};
    fleet_plane(&f, "parameter", "pod", NULL);
    struct tf_profile_row *row = fleet_row(&f, 2, "H800", "p-1", fleet_vector(8, 96, 900));
    row->claim_rank = BATCH;
    row->claim_until.ms = 5000;
    struct tf_job_spec spec = fleet_spec(1, 8, 1, 1);
    struct tf_fit_why why = explain(&f, &spec, TF_LEVEL_FREE);
    CU_ASSERT_EQUAL(why.reason, TF_REASON_CLAIMED);
    CU_ASSERT_EQUAL(why.until.ms, 5000);
    CU_ASSERT_EQUAL(why.missing, 1);
    CU_ASSERT_EQUAL(why.best, 2);
    CU_ASSERT_STRING_EQUAL(why.unblock, "a spec.maxRuntime that ends before the claim begins, or its end");
    tf_job_spec_release(&spec);
    fleet_release(&f);
}

static struct tf_idle_causes causes(struct fleet *f, const struct tf_job_spec *spec)
{
    struct tf_fit_view view = fleet_view(f);
    TF_AUTO(tf_fit_scratch) scratch = tf_fit_scratch_create();
    struct tf_mix mix = {0};
    struct tf_mix_shape shape = {spec, BATCH, 1};
    tf_mix_resolve(&mix, &shape, 1, view.catalog);
    struct tf_idle_causes out;
    tf_fit_idle_causes(&view, &mix, 3, scratch, &out, NULL);
    tf_mix_release(&mix);
    return out;
}

static bool are(struct tf_idle_causes a, struct tf_idle_causes b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void test_idle_causes(void)
{
    struct fleet f = {0};
    fleet_plane(&f, "parameter", "pod", NULL);
    fleet_row(&f, 3, "H800", "p-1", fleet_vector(8, 96, 900));
    fleet_row(&f, 2, "H800", "p-2", fleet_vector(8, 96, 900));
    fleet_row(&f, 1, "H800", "p-1", fleet_vector(8, 2, 900));
    fleet_row(&f, 1, "H800", "p-1", fleet_vector(5, 96, 900));
    fleet_row(&f, 1, "L40", "p-1", fleet_vector(8, 96, 900));
    struct tf_job_spec spec = fleet_spec(1, 8, 8, 8);
    tf_strs_add(&spec.group.shape.gpu_models, "H800");
    CU_ASSERT_TRUE(are(
        causes(&f, &spec),
        (struct tf_idle_causes){.deliverable = 40, .cpu_memory = 8, .count = 5, .policy = 8, .health = 3}));
    spec.elastic = (struct tf_elastic){2, 8, 2}; /* five nodes make two steps */
    CU_ASSERT_TRUE(
        are(causes(&f, &spec),
            (struct tf_idle_causes){
                .deliverable = 32, .step = 8, .cpu_memory = 8, .count = 5, .policy = 8, .health = 3}));
    spec.elastic = (struct tf_elastic){3, 3, 3};
    fleet_rule(&spec, NULL, "pod", TF_TOPOLOGY_OF_JOB, TF_TOPOLOGY_REQUIRE); /* p-2 is too small for three */
    CU_ASSERT_EQUAL(causes(&f, &spec).deliverable, 24);
    spec.elastic = (struct tf_elastic){4, 4, 4}; /* and p-1 for four, but together they are not */
    CU_ASSERT_EQUAL(causes(&f, &spec).deliverable, 0);
    CU_ASSERT_EQUAL(causes(&f, &spec).topology, 40);
    spec.elastic = (struct tf_elastic){6, 6, 6}; /* too few anywhere */
    CU_ASSERT_EQUAL(causes(&f, &spec).step, 40);
    spec.topology.items[0].mode = TF_TOPOLOGY_PREFER;
    spec.elastic = (struct tf_elastic){2, 2, 2};
    spec.max_nodes = 2; /* one job after the other takes two nodes; the fifth is left */
    CU_ASSERT_EQUAL(causes(&f, &spec).deliverable, 32);
    tf_job_spec_release(&spec);
    fleet_release(&f);
}

static const struct suite_test tests[] = {
    {"missing CPU is said with numbers", test_cpu},
    {"what no eviction would change", test_static_reasons},
    {"a claim is in the way until its moment", test_claimed},
    {"idle causes, one at a time", test_idle_causes},
};

int main(void)
{
    return suite_run("fit explain", tests, TF_ARRAY_LEN(tests));
}
