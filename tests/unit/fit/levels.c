/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/cleanup.h"
#include "common/fit/rows.h"
#include "tests/support/suite.h"

static bool is(const struct tf_level_vectors *levels, size_t i, tf_level level, struct tf_vector have)
{
    return i < levels->count && levels->items[i].level == level && tf_vector_eq(levels->items[i].have, have);
}

/* 8 GPUs, 16 slots, 96 cores: GPU 7 is bad, GPU 6 and 2 cores foreign. */
static struct tf_node make_node(void)
{
    return (struct tf_node){.capacity = {8, 16, 96, 96},
                            .bad_gpus = 0x80,
                            .foreign = {.gpus = 0x40, .slots = 1, .cpu = 2, .memory = 3},
                            .state = TF_NODE_READY};
}

static void test_empty_node(void)
{
    struct tf_node node = make_node();
    struct tf_level_vectors levels = {0};
    tf_fit_node_levels(&node, NULL, 0, NULL, 0, &levels);
    CU_ASSERT_EQUAL(levels.count, 1);
    CU_ASSERT_TRUE(is(&levels, 0, TF_LEVEL_FREE, (struct tf_vector){6, 15, 94, 93}));
    node.state = TF_NODE_DRAINING;
    tf_fit_node_levels(&node, NULL, 0, NULL, 0, &levels);
    CU_ASSERT_EQUAL(levels.count, 1);
    CU_ASSERT_TRUE(is(&levels, 0, TF_LEVEL_FREE, (struct tf_vector){0}));
    tf_vec_release(&levels);
}

/* A claim of core(2) on the GPUs of a going surplus and on free ones: until the holder goes, both moments
 * count. */
static void test_claim_on_a_going_holder(void)
{
    struct tf_node node = make_node();
    const struct tf_hold holders[] = {
        {TF_LEVEL_GOING, 0x03, {2, 1, 40, 10}},
        {tf_level_core(0), 0x04, {1, 1, 10, 10}},
    };
    const struct tf_hold claim = {tf_level_core(2), 0x0b, {3, 1, 20, 50}};
    struct tf_level_vectors levels = {0};
    tf_fit_node_levels(&node, holders, 2, &claim, 1, &levels);
    CU_ASSERT_EQUAL(levels.count, 4);
    /* free: max(40 + 10, 10 + 20) cores, max(20, 10 + 50) of memory, max(2, 2) slots, GPUs 4 and 5 */
    CU_ASSERT_TRUE(is(&levels, 0, TF_LEVEL_FREE, (struct tf_vector){2, 13, 44, 33}));
    CU_ASSERT_TRUE(is(&levels, 1, TF_LEVEL_GOING, (struct tf_vector){2, 13, 64, 33}));
    CU_ASSERT_TRUE(is(&levels, 2, tf_level_core(0), (struct tf_vector){3, 14, 74, 43}));
    CU_ASSERT_TRUE(is(&levels, 3, tf_level_core(2), (struct tf_vector){6, 15, 94, 93}));
    tf_vec_release(&levels);
}

static void test_going_without_a_claim_is_a_level(void)
{
    struct tf_node node = make_node();
    const struct tf_hold holder = {TF_LEVEL_GOING, 0x3f, {6, 1, 94, 93}};
    struct tf_level_vectors levels = {0};
    tf_fit_node_levels(&node, &holder, 1, NULL, 0, &levels);
    CU_ASSERT_EQUAL(levels.count, 2);
    CU_ASSERT_TRUE(is(&levels, 0, TF_LEVEL_FREE, (struct tf_vector){0, 14, 0, 0}));
    CU_ASSERT_TRUE(is(&levels, 1, TF_LEVEL_GOING, (struct tf_vector){6, 15, 94, 93}));
    tf_vec_release(&levels);
}

static const struct suite_test tests[] = {
    {"foreign, bad and not ready are in no vector", test_empty_node},
    {"a claim counts now and when its victims are gone", test_claim_on_a_going_holder},
    {"going without a claim is a level of its own", test_going_without_a_claim_is_a_level},
};

int main(void)
{
    return suite_run("fit levels", tests, TF_ARRAY_LEN(tests));
}
