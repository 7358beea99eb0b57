/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/journal.h"

#include "common/base/cleanup.h"
#include "tests/support/suite.h"

struct takes {
    char names[16];
    size_t count, limit;
};

static bool take(struct tf_journal_key key, void *arg)
{
    struct takes *t = arg;
    if (t->count == t->limit)
        return false;
    t->names[t->count++] = *(const char *)key.bytes;
    return true;
}

static void touch(struct tf_journal *j, const char *name)
{
    tf_journal_touch(j, (struct tf_journal_key){TF_RECORD_JOB, name, 1});
}

static void test_nothing_changed_is_durable(void)
{
    struct tf_journal *j = tf_journal_create();
    CU_ASSERT_EQUAL(tf_journal_durable(j), tf_journal_last(j));
    CU_ASSERT_FALSE(tf_journal_dirty(j));
    tf_journal_destroy(j);
}

static void test_oldest_first_and_once(void)
{
    struct tf_journal *j = tf_journal_create();
    touch(j, "a");
    touch(j, "b");
    touch(j, "a");
    CU_ASSERT_EQUAL(tf_journal_durable(j), 0);
    struct takes t = {.limit = 10};
    CU_ASSERT_EQUAL(tf_journal_take(j, take, &t), 2);
    CU_ASSERT_EQUAL(memcmp(t.names, "ab", 2), 0);
    CU_ASSERT_EQUAL(tf_journal_durable(j), 0);
    tf_journal_committed(j);
    CU_ASSERT_EQUAL(tf_journal_durable(j), 3);
    tf_journal_destroy(j);
}

/* A change made while its record is on its way is not covered by that transaction. */
static void test_change_in_flight_is_written_again(void)
{
    struct tf_journal *j = tf_journal_create();
    touch(j, "a");
    struct takes t = {.limit = 10};
    tf_journal_take(j, take, &t);
    touch(j, "a");
    tf_journal_committed(j);
    CU_ASSERT_EQUAL(tf_journal_durable(j), 1);
    CU_ASSERT_EQUAL(tf_journal_take(j, take, &t), 1);
    tf_journal_committed(j);
    CU_ASSERT_EQUAL(tf_journal_durable(j), 2);
    tf_journal_destroy(j);
}

static void test_what_does_not_fit_waits(void)
{
    struct tf_journal *j = tf_journal_create();
    touch(j, "a");
    touch(j, "b");
    touch(j, "c");
    struct takes t = {.limit = 2};
    CU_ASSERT_EQUAL(tf_journal_take(j, take, &t), 2);
    tf_journal_committed(j);
    CU_ASSERT_EQUAL(tf_journal_durable(j), 2);
    CU_ASSERT_TRUE(tf_journal_dirty(j));
    tf_journal_destroy(j);
}

static void test_proof_of_leadership_needs_no_record(void)
{
    struct tf_journal *j = tf_journal_create();
    tf_journal_touch(j, (struct tf_journal_key){.kind = TF_RECORD_NONE});
    CU_ASSERT_TRUE(tf_journal_dirty(j));
    struct takes t = {.limit = 10};
    CU_ASSERT_EQUAL(tf_journal_take(j, take, &t), 0);
    CU_ASSERT_TRUE(tf_journal_in_flight(j));
    CU_ASSERT_EQUAL(tf_journal_durable(j), 0);
    tf_journal_committed(j);
    CU_ASSERT_EQUAL(tf_journal_durable(j), 1);
    tf_journal_destroy(j);
}

static void touch_before(struct tf_journal *j, const char *name, const char *later)
{
    tf_journal_touch_before(j, (struct tf_journal_key){TF_RECORD_JOB, name, 1},
                            (struct tf_journal_key){TF_RECORD_JOB, later, 1});
}

static const char *order_of(struct tf_journal *j, struct takes *t)
{
    *t = (struct takes){.limit = 10};
    tf_journal_take(j, take, t);
    return t->names;
}

/* However the two came to wait, the one goes no later than the other. */
static void test_one_before_another(void)
{
    struct takes t;
    struct tf_journal *j = tf_journal_create();
    touch(j, "a");
    touch(j, "b");
    touch(j, "c");
    touch_before(j, "d", "b");
    CU_ASSERT_STRING_EQUAL(order_of(j, &t), "adbc");
    CU_ASSERT_EQUAL(tf_journal_durable(j), 0);
    tf_journal_committed(j);
    CU_ASSERT_EQUAL(tf_journal_durable(j), tf_journal_last(j));
    touch(j, "a");
    touch_before(j, "b", "a"); /* to the very front */
    CU_ASSERT_EQUAL(tf_journal_durable(j), 4);
    touch_before(j, "c", "e"); /* the other has not changed yet */
    touch(j, "e");
    touch_before(j, "a", "e"); /* it is before it already */
    CU_ASSERT_STRING_EQUAL(order_of(j, &t), "bace");
    tf_journal_committed(j);
    touch(j, "x");
    touch_before(j, "y", "x");
    touch(j, "z"); /* behind the last one still */
    CU_ASSERT_STRING_EQUAL(order_of(j, &t), "yxz");
    tf_journal_destroy(j);
}

/* What waits for a change may wait longer for it, never less. */
static void test_what_moved_up_is_not_durable_early(void)
{
    struct takes t = {.limit = 1};
    struct tf_journal *j = tf_journal_create();
    touch(j, "a");
    touch(j, "b");
    touch_before(j, "b", "a");
    tf_journal_take(j, take, &t);
    CU_ASSERT_EQUAL(t.names[0], 'b');
    tf_journal_committed(j);
    CU_ASSERT_EQUAL(tf_journal_durable(j), 0);
    tf_journal_destroy(j);
}

static const struct suite_test tests[] = {
    {"nothing changed is durable", test_nothing_changed_is_durable},
    {"oldest first and once", test_oldest_first_and_once},
    {"a change in flight is written again", test_change_in_flight_is_written_again},
    {"what does not fit waits", test_what_does_not_fit_waits},
    {"a proof of leadership needs no record", test_proof_of_leadership_needs_no_record},
    {"one before another", test_one_before_another},
    {"what moved up is not durable early", test_what_moved_up_is_not_durable_early},
};

int main(void)
{
    return suite_run("journal", tests, TF_ARRAY_LEN(tests));
}
