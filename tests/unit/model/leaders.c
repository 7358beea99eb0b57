/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/leaders.h"

#include "common/base/cleanup.h"
#include "tests/support/suite.h"

static struct tf_leaders three(void)
{
    struct tf_leaders leaders = {0};
    tf_leaders_add(&leaders, (struct tf_leader){{1, 10}, 0});
    tf_leaders_add(&leaders, (struct tf_leader){{1, 20}, 5});
    tf_leaders_add(&leaders, (struct tf_leader){{1, 40}, 8});
    return leaders;
}

static void test_what_led(void)
{
    struct tf_leaders leaders = three();
    CU_ASSERT_TRUE(tf_leaders_led(&leaders, (struct tf_term){1, 10}, 5));
    CU_ASSERT_TRUE(tf_leaders_led(&leaders, (struct tf_term){1, 20}, 8));
    CU_ASSERT_TRUE(tf_leaders_led(&leaders, (struct tf_term){1, 40}, 100)); /* it goes on counting */
    tf_leaders_release(&leaders);
}

static void test_what_a_restored_store_has_forgotten(void)
{
    struct tf_leaders leaders = three();
    CU_ASSERT_FALSE(tf_leaders_led(&leaders, (struct tf_term){1, 30}, 0)); /* a leader that is missing */
    CU_ASSERT_FALSE(tf_leaders_led(&leaders, (struct tf_term){1, 50}, 0));
    CU_ASSERT_FALSE(tf_leaders_led(&leaders, (struct tf_term){1, 10}, 6)); /* what it placed after the copy */
    CU_ASSERT_FALSE(tf_leaders_led(&leaders, (struct tf_term){1, 20}, 9));
    tf_leaders_release(&leaders);
}

static void test_of_what_nothing_is_known(void)
{
    struct tf_leaders leaders = {0};
    CU_ASSERT_TRUE(tf_leaders_led(&leaders, (struct tf_term){1, 10}, 5));
    leaders = three();
    CU_ASSERT_TRUE(tf_leaders_led(&leaders, (struct tf_term){0, 0}, 0));
    CU_ASSERT_TRUE(tf_leaders_led(&leaders, (struct tf_term){1, 9}, 100));
    CU_ASSERT_TRUE(tf_leaders_led(&leaders, (struct tf_term){0, 30}, 100)); /* another era */
    tf_leaders_release(&leaders);
}

static void test_the_oldest_goes(void)
{
    struct tf_leaders leaders = {0};
    for (uint64_t i = 1; i <= TF_LEADERS_MAX + 1; i++)
        tf_leaders_add(&leaders, (struct tf_leader){{0, i}, i});
    CU_ASSERT_EQUAL(leaders.count, TF_LEADERS_MAX);
    CU_ASSERT_EQUAL(leaders.items[0].term.revision, 2);
    CU_ASSERT_PTR_NULL(tf_leaders_fault(&leaders));
    tf_leaders_add(&leaders, (struct tf_leader){{0, 1}, 0});
    CU_ASSERT_PTR_NOT_NULL(tf_leaders_fault(&leaders));
    tf_leaders_release(&leaders);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"what led", test_what_led},
        {"what a restored store has forgotten", test_what_a_restored_store_has_forgotten},
        {"of what nothing is known", test_of_what_nothing_is_known},
        {"the oldest goes", test_the_oldest_goes},
    };
    return suite_run("leaders", tests, TF_ARRAY_LEN(tests));
}
