/* SPDX-License-Identifier: Apache-2.0 */
/* What a cordon is made of. */
#include "common/model/cordon.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tests/support/suite.h"

static const struct tf_wall now = {1000}, later = {2000};

static void test_the_whole_node(void)
{
    struct tf_cordon c = {0};
    CU_ASSERT_TRUE(tf_cordon_is_empty(&c));
    CU_ASSERT_TRUE(tf_cordon_set(&c, 0, "fan", now));
    CU_ASSERT_TRUE(c.whole);
    CU_ASSERT_FALSE(tf_cordon_set(&c, 0, "fan", later));
    CU_ASSERT_EQUAL(c.at.ms, 1000);
    CU_ASSERT_TRUE(tf_cordon_set(&c, 0, "board", later));
    CU_ASSERT_STRING_EQUAL(c.reason, "board");
    CU_ASSERT_EQUAL(c.at.ms, 2000);
    CU_ASSERT_TRUE(tf_cordon_clear(&c, 0));
    CU_ASSERT_FALSE(tf_cordon_clear(&c, 0));
    CU_ASSERT_TRUE(tf_cordon_is_empty(&c));
    CU_ASSERT_PTR_NULL(c.reason);
    tf_cordon_release(&c);
}

static void test_gpus(void)
{
    struct tf_cordon c = {0};
    CU_ASSERT_TRUE(tf_cordon_set(&c, 0x0f, "XID 79", now));
    CU_ASSERT_FALSE(tf_cordon_set(&c, 0x03, "XID 79", later));
    CU_ASSERT_TRUE(tf_cordon_set(&c, 0x18, "hot", later));
    CU_ASSERT_EQUAL(tf_cordon_gpus(&c), 0x1f);
    CU_ASSERT_EQUAL_FATAL(c.gpus.count, 2);
    CU_ASSERT_EQUAL(c.gpus.items[0].gpus, 0x07);
    CU_ASSERT_PTR_NULL(tf_cordon_fault(&c));
    CU_ASSERT_TRUE(tf_cordon_clear(&c, 0x07));
    CU_ASSERT_EQUAL(c.gpus.count, 1);
    CU_ASSERT_FALSE(tf_cordon_clear(&c, 0x07));
    CU_ASSERT_TRUE(tf_cordon_clear(&c, UINT64_MAX));
    CU_ASSERT_TRUE(tf_cordon_is_empty(&c));
    CU_ASSERT_TRUE(tf_cordon_set(&c, 1, NULL, now));
    CU_ASSERT_FALSE(tf_cordon_set(&c, 1, NULL, later));
    tf_cordon_release(&c);
}

/* The node and its GPUs are cordoned, and uncordoned, each by itself. */
static void test_each_by_itself(void)
{
    struct tf_cordon c = {0};
    tf_cordon_set(&c, 0, "fan", now);
    tf_cordon_set(&c, 4, "XID 79", now);
    tf_cordon_clear(&c, 0);
    CU_ASSERT_EQUAL(tf_cordon_gpus(&c), 4);
    tf_cordon_set(&c, 0, "fan", now);
    tf_cordon_clear(&c, 4);
    CU_ASSERT_TRUE(c.whole);
    tf_cordon_release(&c);
}

static void test_copies(void)
{
    struct tf_cordon a = {.node = tf_strdup("n1")}, b = {0};
    tf_cordon_set(&a, 0, "fan", now);
    tf_cordon_set(&a, 4, "XID 79", now);
    tf_cordon_copy(&b, &a);
    CU_ASSERT_TRUE(tf_cordon_eq(&a, &b));
    b.gpus.items[0].at = later;
    CU_ASSERT_FALSE(tf_cordon_eq(&a, &b));
    tf_cordon_copy(&b, &a);
    tf_str_set(&b.gpus.items[0].reason, "other");
    CU_ASSERT_FALSE(tf_cordon_eq(&a, &b));
    tf_cordon_copy(&b, &a);
    tf_cordon_clear(&b, 0);
    CU_ASSERT_FALSE(tf_cordon_eq(&a, &b));
    tf_cordon_release(&a);
    CU_ASSERT_EQUAL(tf_cordon_gpus(&b), 4);
    tf_cordon_release(&b);
}

static void test_faults(void)
{
    struct tf_cordon c = {0};
    CU_ASSERT_PTR_NOT_NULL(tf_cordon_fault(&c));
    tf_vec_push(&c.gpus, (struct tf_gpu_cordon){.gpus = 3});
    CU_ASSERT_PTR_NULL(tf_cordon_fault(&c));
    tf_vec_push(&c.gpus, (struct tf_gpu_cordon){.gpus = 6});
    CU_ASSERT_PTR_NOT_NULL(tf_cordon_fault(&c));
    c.gpus.items[1].gpus = 0;
    CU_ASSERT_PTR_NOT_NULL(tf_cordon_fault(&c));
    tf_cordon_release(&c);
}

static void test_suspects(void)
{
    struct tf_cordon c = {.node = tf_strdup("n1")}, copy = {0};
    struct tf_uid a = {{1}}, b = {{2}};
    CU_ASSERT_TRUE(tf_cordon_suspect(&c, 3, TF_GPU_BY_OPERATOR, "slow", now));
    CU_ASSERT_FALSE(tf_cordon_suspect(&c, 3, TF_GPU_BY_OPERATOR, "slow", later));
    CU_ASSERT_TRUE(tf_cordon_set(&c, 1, "slow", now)); /* the same words, and more than suspect */
    CU_ASSERT_EQUAL(tf_cordon_suspects(&c), 2);
    CU_ASSERT_FALSE(tf_cordon_suspect(&c, 1, TF_GPU_BY_STARTS, "again", later));
    CU_ASSERT_EQUAL(tf_cordon_gpus(&c), 3);
    CU_ASSERT_TRUE(tf_cordon_clear(&c, 3));
    CU_ASSERT_TRUE(tf_cordon_is_empty(&c));

    CU_ASSERT_EQUAL(tf_cordon_start_failed(&c, 0x30, a, 3), 0);
    CU_ASSERT_EQUAL(tf_cordon_start_failed(&c, 0x10, a, 3), 0);
    CU_ASSERT_FALSE(tf_cordon_is_empty(&c));
    CU_ASSERT_FALSE(tf_cordon_of_people(&c));
    CU_ASSERT_PTR_NULL(tf_cordon_fault(&c));
    tf_cordon_copy(&copy, &c);
    CU_ASSERT_TRUE(tf_cordon_eq(&c, &copy));
    CU_ASSERT_EQUAL(tf_cordon_start_failed(&c, 0x30, b, 3), 0x10); /* three, and of two jobs */
    CU_ASSERT_FALSE(tf_cordon_eq(&c, &copy));
    CU_ASSERT_EQUAL(c.trouble.count, 1);
    CU_ASSERT_TRUE(tf_cordon_start_worked(&c, 0xff));
    CU_ASSERT_FALSE(tf_cordon_start_worked(&c, 0xff));
    CU_ASSERT_TRUE(tf_cordon_is_empty(&c));
    tf_cordon_release(&c);
    tf_cordon_release(&copy);
}

static const struct suite_test tests[] = {
    {"suspects", test_suspects}, {"the whole node", test_the_whole_node},
    {"GPUs", test_gpus},         {"each by itself", test_each_by_itself},
    {"copies", test_copies},     {"faults", test_faults},
};

int main(void)
{
    return suite_run("model cordon", tests, TF_ARRAY_LEN(tests));
}
