/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/message.h"

#include "common/base/cleanup.h"
#include "tests/support/suite.h"

/* As for records: completeness of copies is shown by the round trips of the wire. */

static void test_up_of_every_kind(void)
{
    for (int kind = TF_UP_NONE; kind <= TF_UP_STORE; kind++) {
        struct tf_up up = {.kind = (enum tf_up_kind)kind}, copy = {0};
        if (kind == TF_UP_HELLO)
            up.hello.name = tf_strdup("bj-a");
        if (kind == TF_UP_PROFILE)
            tf_vec_push(&up.profile.shorts, (struct tf_short_demand){.missing = 2});
        if (kind == TF_UP_REPORT)
            tf_vec_push(&up.report.members, (struct tf_member){.node = tf_strdup("n1")});
        if (kind == TF_UP_FENCE)
            up.fence_boot_ms = 77;
        if (kind == TF_UP_STORE)
            up.store.text = tf_strdup("away");
        if (kind == TF_UP_ANSWER) {
            up.answer.data = tf_memdup("a\0b", 3);
            up.answer.len = 3;
        }
        tf_up_copy(&copy, &up);
        tf_up_copy(&copy, &up);
        tf_up_release(&up);
        CU_ASSERT_EQUAL(up.kind, TF_UP_NONE);
        CU_ASSERT_EQUAL(copy.kind, (enum tf_up_kind)kind);
        if (kind == TF_UP_REPORT)
            CU_ASSERT_STRING_EQUAL(copy.report.members.items[0].node, "n1");
        if (kind == TF_UP_FENCE)
            CU_ASSERT_EQUAL(copy.fence_boot_ms, 77);
        if (kind == TF_UP_ANSWER)
            CU_ASSERT_EQUAL(memcmp(copy.answer.data, "a\0b", 3), 0);
        tf_up_release(&copy);
    }
}

static void test_down(void)
{
    struct tf_down down = {.kind = TF_DOWN_CHANGE, .n = 5}, copy = {0};
    tf_classes_add(&down.policy.classes, "batch", 1);
    tf_vec_push(&down.entries, (struct tf_entry){.kind = TF_ENTRY_PLACE, .name = tf_strdup("rank")});
    tf_spec_own(&down.entries.items[0].spec)->priority = tf_strdup("batch");
    tf_down_copy(&copy, &down);
    tf_down_copy(&copy, &down);
    tf_down_release(&down);
    CU_ASSERT_EQUAL(down.entries.count, 0);
    CU_ASSERT_EQUAL(copy.n, 5);
    CU_ASSERT_STRING_EQUAL(copy.entries.items[0].spec->priority, "batch");
    CU_ASSERT_STRING_EQUAL(copy.policy.classes.items[0].name, "batch");
    tf_down_release(&copy);
}

static const struct suite_test tests[] = {
    {"copies of messages up share nothing", test_up_of_every_kind},
    {"copies of messages down share nothing", test_down},
};

int main(void)
{
    return suite_run("message", tests, TF_ARRAY_LEN(tests));
}
