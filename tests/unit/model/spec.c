/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/spec.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/model/manifest.h"
#include "tests/support/suite.h"

/* That nothing is freed twice, or not at all, is for the sanitizers to find. */

static const struct tf_job_spec *batch(void)
{
    struct tf_job_spec spec = {.priority = tf_strdup("batch"), .elastic = {2, 4, 2}};
    const struct tf_job_spec *shared = tf_spec_share(&spec);
    CU_ASSERT_PTR_NULL(spec.priority);
    CU_ASSERT_EQUAL(spec.elastic.max, 0);
    return shared;
}

static void test_goes_with_its_last_owner(void)
{
    const struct tf_job_spec *first = batch(), *second = tf_spec_take(first);
    CU_ASSERT_PTR_EQUAL(first, second);
    tf_spec_drop(first);
    CU_ASSERT_STRING_EQUAL(second->priority, "batch");
    tf_spec_drop(second);
    CU_ASSERT_PTR_NULL(tf_spec_take(NULL));
    tf_spec_drop(NULL);
}

static void test_set(void)
{
    const struct tf_job_spec *one = batch(), *field = NULL;
    tf_spec_set(&field, one);
    tf_spec_set(&field, field); /* its own */
    tf_spec_drop(one);
    CU_ASSERT_EQUAL(field->elastic.max, 4);
    tf_spec_set(&field, NULL);
    CU_ASSERT_PTR_NULL(field);
}

static void test_whoever_writes_owns_it_alone(void)
{
    const struct tf_job_spec *mine = batch();
    CU_ASSERT_PTR_EQUAL(tf_spec_own(&mine), mine);
    const struct tf_job_spec *theirs = tf_spec_take(mine);
    tf_spec_own(&mine)->elastic.max = 8;
    CU_ASSERT_EQUAL(mine->elastic.max, 8);
    CU_ASSERT_STRING_EQUAL(mine->priority, "batch");
    CU_ASSERT_EQUAL(theirs->elastic.max, 4);
    CU_ASSERT_FALSE(tf_spec_eq(mine, theirs));
    tf_spec_own(&mine)->elastic.max = 4;
    CU_ASSERT_TRUE(tf_spec_eq(mine, theirs));
    tf_spec_drop(mine);
    tf_spec_drop(theirs);
}

static void test_none_says_nothing(void)
{
    const struct tf_job_spec *none = tf_spec_take(tf_spec_none()), *absent = NULL;
    const struct tf_job_spec zero = {0};
    CU_ASSERT_TRUE(tf_job_spec_eq(none, &zero));
    CU_ASSERT_FALSE(tf_spec_eq(none, absent));
    CU_ASSERT_TRUE(tf_spec_eq(absent, NULL));
    tf_spec_own(&none)->max_nodes = 1;
    tf_spec_own(&absent)->max_nodes = 1;
    CU_ASSERT_TRUE(tf_spec_eq(none, absent));
    CU_ASSERT_EQUAL(tf_spec_none()->max_nodes, 0);
    tf_spec_drop(none);
    tf_spec_drop(absent);
}

static void test_weight_is_that_of_what_is_written(void)
{
    const struct tf_job_spec *shared = batch();
    size_t before = tf_spec_weight(shared);
    CU_ASSERT_EQUAL(before, tf_table_weight(&tf_job_spec_table, shared));
    CU_ASSERT_EQUAL(tf_spec_weight(shared), before);
    tf_strs_add(&tf_spec_own(&shared)->regions, "north");
    CU_ASSERT_TRUE(tf_spec_weight(shared) > before);
    CU_ASSERT_EQUAL(tf_spec_weight(shared), tf_table_weight(&tf_job_spec_table, shared));
    CU_ASSERT_EQUAL(tf_spec_weight(tf_spec_none()) + tf_spec_weight(NULL), 0);
    tf_spec_drop(shared);
}

static const struct suite_test tests[] = {
    {"goes with its last owner", test_goes_with_its_last_owner},
    {"a field is set", test_set},
    {"whoever writes owns it alone", test_whoever_writes_owns_it_alone},
    {"its weight is that of what is written", test_weight_is_that_of_what_is_written},
    {"none says nothing", test_none_says_nothing},
};

int main(void)
{
    return suite_run("spec", tests, TF_ARRAY_LEN(tests));
}
