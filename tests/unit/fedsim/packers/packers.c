/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedsim/packers/packers.h"

#include "common/base/cleanup.h"
#include "tests/support/suite.h"

static void add_node(struct tf_trace_nodes *nodes, int32_t gpus, int64_t cores)
{
    struct tf_node *node = tf_vec_add(nodes);
    node->state = TF_NODE_READY;
    node->name = tf_asprintf("n%zu", nodes->count);
    node->model = gpus ? tf_strdup("H800") : NULL;
    node->capacity = (struct tf_vector){gpus, 64, cores * 1000, 1 << 20};
}

static void add_job(struct tf_trace_jobs *jobs, int32_t instances, int32_t gpus, int64_t cores,
                    bool fractional)
{
    struct tf_trace_job *job = tf_vec_add(jobs);
    job->id = tf_asprintf("j%zu", jobs->count);
    job->tenant = tf_strdup("t");
    job->instances = instances;
    job->gpus = gpus;
    job->cpu = cores * 1000;
    job->fractional = fractional;
}

struct yard {
    struct tf_trace_nodes nodes;
    struct tf_trace_jobs jobs;
    struct packers_result result;
};

static int pack(struct yard *yard, uint64_t seed)
{
    return packers_run(&yard->nodes, &yard->jobs, seed, 3, &yard->result, NULL);
}

static void yard_release(struct yard *yard)
{
    tf_trace_nodes_release(&yard->nodes);
    tf_trace_jobs_release(&yard->jobs);
}

/* GPUs of one size on nodes of that size: nobody can do wrong. */
static void test_full(void)
{
    struct yard yard = {0};
    for (int i = 0; i < 5; i++)
        add_node(&yard.nodes, 8, 64);
    add_job(&yard.jobs, 1, 8, 8, false);
    add_job(&yard.jobs, 1, 1, 1, true);  /* a part of a GPU */
    add_job(&yard.jobs, 2, 8, 1, false); /* two instances */
    add_job(&yard.jobs, 1, 0, 1, false);
    CU_ASSERT_EQUAL(pack(&yard, 1), 0);
    CU_ASSERT(yard.result.nodes == 5 && yard.result.gpus == 40 && yard.result.pods == 1);
    for (int i = 0; i < PACKERS; i++) {
        CU_ASSERT_EQUAL(yard.result.of[i].mean, 10000);
        CU_ASSERT_EQUAL(yard.result.of[i].refused, 0);
    }
    yard_release(&yard);
}

/* Work that needs many cores, on nodes with many and with few: who wastes cores strands GPUs. One kind of
 * pod needs the large node; the others fit everywhere, and only careful packers leave it alone. */
static void test_careful(void)
{
    struct yard yard = {0};
    for (int i = 0; i < 10; i++) {
        add_node(&yard.nodes, 8, 128);
        add_node(&yard.nodes, 4, 16);
        add_node(&yard.nodes, 4, 16);
    }
    add_job(&yard.jobs, 1, 8, 64, false);
    for (int i = 0; i < 8; i++)
        add_job(&yard.jobs, 1, 1, 2, false);
    CU_ASSERT_EQUAL(pack(&yard, 1), 0);
    const struct packer_result *of = yard.result.of;
    CU_ASSERT(of[PACKER_RANDOM].mean < of[PACKER_BEST_FIT].mean);
    CU_ASSERT(of[PACKER_RANDOM].mean < of[PACKER_FRAGMENTATION].mean);
    CU_ASSERT_EQUAL(of[PACKER_FRAGMENTATION].refused, 0);
    CU_ASSERT_EQUAL(of[PACKER_WEIGHED].refused, 0);
    CU_ASSERT(of[PACKER_WEIGHED].mean >= of[PACKER_BEST_FIT].mean);
    for (int i = 0; i < PACKERS; i++)
        CU_ASSERT(of[i].least <= of[i].mean && of[i].mean <= of[i].most && of[i].most <= 10000);
    yard_release(&yard);
}

static void test_same_seed(void)
{
    struct yard yard = {0};
    for (int i = 0; i < 20; i++)
        add_node(&yard.nodes, 2 + 2 * (i % 4), 16 + 8 * (i % 3));
    for (int i = 0; i < 60; i++)
        add_job(&yard.jobs, 1, 1 << i % 4, 1 + 7 * (i % 5), false);
    CU_ASSERT_EQUAL(pack(&yard, 7), 0);
    struct packers_result first = yard.result;
    CU_ASSERT_EQUAL(pack(&yard, 7), 0);
    CU_ASSERT_EQUAL(memcmp(&first, &yard.result, sizeof first), 0);
    CU_ASSERT_EQUAL(pack(&yard, 8), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(&first, &yard.result, sizeof first), 0);
    yard_release(&yard);
}

static void test_nothing(void)
{
    struct yard yard = {0};
    struct tf_error err = TF_ERROR_INIT;
    add_node(&yard.nodes, 0, 16);
    add_job(&yard.jobs, 1, 1, 1, false);
    CU_ASSERT_EQUAL(packers_run(&yard.nodes, &yard.jobs, 1, 1, &yard.result, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "the nodes have no GPUs");
    add_node(&yard.nodes, 8, 16);
    yard.jobs.items[0].gpus = 0;
    CU_ASSERT_EQUAL(packers_run(&yard.nodes, &yard.jobs, 1, 1, &yard.result, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "no job of the trace has one instance with whole GPUs");
    yard_release(&yard);
}

int main(void)
{
    static const struct suite_test tests[] = {{"full", test_full},
                                              {"careful", test_careful},
                                              {"same seed", test_same_seed},
                                              {"nothing", test_nothing}};
    return suite_run("packers", tests, TF_ARRAY_LEN(tests));
}
