/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/situation.h"
#include "tests/support/suite.h"

#include <string.h>

#define TEST_SITUATIONS_EXPECTED(X) \
    X(DOOR_SHUT, "a door was shut") \
    X(DOOR_AJAR, "a door was neither")
#define TEST_SITUATIONS_OTHER(X) X(HOUSE_GONE, "there was no house")
TF_SITUATIONS_DECLARE(test, TEST_SITUATIONS_EXPECTED, TEST_SITUATIONS_OTHER);
TF_SITUATIONS_DEFINE(test, TEST_SITUATIONS_EXPECTED, TEST_SITUATIONS_OTHER);

struct owner {
    struct test_situations reached;
};

static void test_counts_are_kept_by_name(void)
{
    struct owner owner = {0};
    tf_reached(&owner, DOOR_AJAR);
    tf_reached(&owner, HOUSE_GONE);
    tf_reached_if(true, &owner, HOUSE_GONE);
    tf_reached_if(false, &owner, DOOR_SHUT);
    CU_ASSERT_EQUAL(owner.reached.DOOR_SHUT, 0);
    CU_ASSERT_EQUAL(owner.reached.DOOR_AJAR, 1);
    CU_ASSERT_EQUAL(owner.reached.HOUSE_GONE, 2);
}

static void test_a_list_tells_name_words_and_count_of_each(void)
{
    struct owner owner = {0};
    tf_reached(&owner, DOOR_AJAR);
    tf_reached_if(true, &owner, HOUSE_GONE);
    struct tf_situations all = TF_SITUATIONS_OF(test, &owner.reached);
    CU_ASSERT_EQUAL_FATAL(all.count, 3);
    CU_ASSERT_STRING_EQUAL(all.list[0].name, "DOOR_SHUT");
    CU_ASSERT_STRING_EQUAL(all.list[1].words, "a door was neither");
    CU_ASSERT_STRING_EQUAL(all.list[2].name, "HOUSE_GONE");
    CU_ASSERT_EQUAL(all.counts[0], 0);
    CU_ASSERT_EQUAL(all.counts[1], 1);
    CU_ASSERT_EQUAL(all.counts[2], 1);
    CU_ASSERT(all.list[0].expected && all.list[1].expected);
    CU_ASSERT_FALSE(all.list[2].expected);
}

static const struct suite_test tests[] = {
    {"counts are kept by name", test_counts_are_kept_by_name},
    {"a list tells name, words and count of each", test_a_list_tells_name_words_and_count_of_each},
};

int main(void)
{
    return suite_run("situation", tests, TF_ARRAY_LEN(tests));
}
