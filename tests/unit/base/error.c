/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/error.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tests/support/suite.h"

#include <errno.h>

static void test_set_fills_and_returns_minus_one(void)
{
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL(tf_error_set(&err, TF_ERR_CONFLICT, "key %d taken", 7), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_CONFLICT);
    CU_ASSERT_STRING_EQUAL(err.text, "key 7 taken");
    CU_ASSERT_EQUAL(tf_error_set(NULL, TF_ERR_CONFLICT, "nobody listens"), -1);
}

static void test_errno_is_named(void)
{
    struct tf_error err = TF_ERROR_INIT;
    tf_error_errno(&err, TF_ERR_IO, ENOENT, "open %s", "x");
    CU_ASSERT_EQUAL(err.sys_errno, ENOENT);
    CU_ASSERT_STRING_EQUAL(err.text, "open x: No such file or directory");
}

static void test_wrap_keeps_code_and_inner_text(void)
{
    struct tf_error err = TF_ERROR_INIT;
    tf_error_set(&err, TF_ERR_CONFLICT, "key 7 taken");
    tf_error_wrap(&err, "claiming job %d", 3);
    CU_ASSERT_EQUAL(err.code, TF_ERR_CONFLICT);
    CU_ASSERT_STRING_EQUAL(err.text, "claiming job 3: key 7 taken");
}

static void test_long_text_is_cut_at_a_character(void)
{
    struct tf_error err = TF_ERROR_INIT;
    char longtext[3001];
    for (size_t i = 0; i < 3000; i += 3)
        memcpy(longtext + i, "\xe2\x82\xac", 3);
    longtext[3000] = '\0';
    tf_error_set(&err, TF_ERR_INVALID, "%s", longtext);
    CU_ASSERT_TRUE(strlen(err.text) > 900);
    CU_ASSERT_TRUE(tf_utf8_valid(err.text, strlen(err.text)));
    tf_error_wrap(&err, "%s", longtext);
    CU_ASSERT_TRUE(tf_utf8_valid(err.text, strlen(err.text)));
}

static const struct suite_test tests[] = {
    {"set fills and returns -1", test_set_fills_and_returns_minus_one},
    {"errno is named", test_errno_is_named},
    {"wrap keeps code and inner text", test_wrap_keeps_code_and_inner_text},
    {"long text is cut at a character", test_long_text_is_cut_at_a_character},
};

int main(void)
{
    return suite_run("error", tests, TF_ARRAY_LEN(tests));
}
