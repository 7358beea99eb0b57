/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/intern.h"

#include "common/base/cleanup.h"
#include "tests/support/suite.h"

#include <stdio.h>

static void test_numbers_are_dense_and_stable(void)
{
    struct tf_intern in = {0};
    CU_ASSERT_EQUAL(tf_intern_find(&in, "a"), -1);
    for (int round = 0; round < 2; round++)
        for (int32_t i = 0; i < 1000; i++) {
            char text[16];
            snprintf(text, sizeof text, "s%d", i);
            CU_ASSERT_EQUAL(tf_intern_add(&in, text), i);
        }
    CU_ASSERT_EQUAL(in.count, 1000);
    CU_ASSERT_EQUAL(tf_intern_find(&in, "s777"), 777);
    CU_ASSERT_EQUAL(tf_intern_find(&in, "s1000"), -1);
    CU_ASSERT_STRING_EQUAL(tf_intern_text(&in, 42), "s42");
    CU_ASSERT_EQUAL(tf_intern_add(&in, ""), 1000);
    tf_intern_release(&in);
    CU_ASSERT_EQUAL(in.count, 0);
    CU_ASSERT_EQUAL(tf_intern_add(&in, "s5"), 0);
    tf_intern_release(&in);
}

static const struct suite_test tests[] = {
    {"numbers are dense and stable", test_numbers_are_dense_and_stable},
};

int main(void)
{
    return suite_run("intern", tests, TF_ARRAY_LEN(tests));
}
