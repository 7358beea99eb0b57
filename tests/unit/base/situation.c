/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/situation.h"
#include "common/base/cleanup.h"
#include "tests/support/suite.h"

#include <string.h>

struct owner {
    struct tf_situations reached;
};

static void test_counts_are_kept_by_name_and_add_up(void)
{
    struct owner a = {0}, b = {0};
    struct tf_situations sum = {0};
    tf_reached(&a, FED_REFUSED);
    tf_reached(&b, FED_REFUSED);
    tf_reached_if(true, &b, SUB_STRAY);
    tf_reached_if(false, &b, SUB_STRAY);
    tf_situations_add(&sum, &a.reached);
    tf_situations_add(&sum, &b.reached);
    for (size_t i = 0; i < TF_SITUATION_COUNT; i++)
        CU_ASSERT_EQUAL(sum.counts[i], i == TF_SITUATION_FED_REFUSED ? 2
                                       : i == TF_SITUATION_SUB_STRAY ? 1
                                                                     : 0);
}

static void test_names_and_words_are_of_one_each(void)
{
    for (int i = 0; i < TF_SITUATION_COUNT; i++)
        for (int j = 0; j < i; j++) {
            enum tf_situation a = (enum tf_situation)i, b = (enum tf_situation)j;
            CU_ASSERT_NOT_EQUAL(strcmp(tf_situation_name(a), tf_situation_name(b)), 0);
            CU_ASSERT_NOT_EQUAL(strcmp(tf_situation_words(a), tf_situation_words(b)), 0);
        }
    CU_ASSERT_STRING_EQUAL(tf_situation_name(TF_SITUATION_FED_ORPHAN), "FED_ORPHAN");
}

static void test_the_expected_come_first(void)
{
    CU_ASSERT(tf_situation_is_expected(TF_SITUATION_COMMIT_UNKNOWN));
    CU_ASSERT(tf_situation_is_expected(TF_SITUATION_SUB_BUDGET));
    CU_ASSERT_FALSE(tf_situation_is_expected(TF_SITUATION_FED_DELTA_GAP));
}

static const struct suite_test tests[] = {
    {"counts are kept by name and add up", test_counts_are_kept_by_name_and_add_up},
    {"names and words are of one each", test_names_and_words_are_of_one_each},
    {"the expected come first", test_the_expected_come_first},
};

int main(void)
{
    return suite_run("situation", tests, TF_ARRAY_LEN(tests));
}
