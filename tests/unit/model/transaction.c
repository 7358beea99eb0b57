/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/transaction.h"

#include "common/base/cleanup.h"
#include "tests/support/suite.h"

struct world {
    size_t output; /* bytes of each job's output */
};

static void render(struct tf_journal_key key, struct tf_record *out, void *arg)
{
    const struct world *w = arg;
    out->kind = key.kind;
    memcpy(out->job.uid.bytes, key.bytes, key.len);
    out->job.output = tf_malloc(w->output + 1);
    memset(out->job.output, 'x', w->output);
    out->job.output[w->output] = '\0';
}

static void touch(struct tf_journal *j, uint8_t name)
{
    uint8_t uid[TF_UID_BYTES] = {name};
    tf_journal_touch(j, (struct tf_journal_key){TF_RECORD_JOB, uid, sizeof uid});
}

/* The first bytes of the uids taken, e.g. 1 2 3 as first = 1, count = 3. */
static void expect(struct tf_journal *j, struct world *w, uint8_t first, size_t count)
{
    size_t got = 0;
    struct tf_record *records = tf_transaction_take(j, render, w, &got);
    CU_ASSERT_EQUAL_FATAL(got, count);
    for (size_t i = 0; i < got; i++) {
        CU_ASSERT_EQUAL(records[i].job.uid.bytes[0], first + i);
        tf_record_release(&records[i]);
    }
    free(records);
    tf_journal_committed(j);
}

static void test_at_most_120_records(void)
{
    struct tf_journal *j = tf_journal_create();
    struct world w = {10};
    for (uint8_t i = 0; i < 130; i++)
        touch(j, i);
    expect(j, &w, 0, 120);
    expect(j, &w, 120, 10);
    CU_ASSERT_FALSE(tf_journal_dirty(j));
    tf_journal_destroy(j);
}

static void test_at_most_a_mebibyte(void)
{
    struct tf_journal *j = tf_journal_create();
    struct world w = {300 * 1024};
    for (uint8_t i = 0; i < 5; i++)
        touch(j, i);
    expect(j, &w, 0, 3);
    expect(j, &w, 3, 2);
    tf_journal_destroy(j);
}

/* One that is too large alone goes nevertheless: the shell says so, nothing waits for ever behind it. */
static void test_the_first_always_goes(void)
{
    struct tf_journal *j = tf_journal_create();
    struct world w = {3 * 1024 * 1024};
    touch(j, 1);
    touch(j, 2);
    expect(j, &w, 1, 1);
    expect(j, &w, 2, 1);
    tf_journal_destroy(j);
}

static void test_a_proof_has_no_records(void)
{
    struct tf_journal *j = tf_journal_create();
    struct world w = {1};
    tf_journal_touch(j, (struct tf_journal_key){.kind = TF_RECORD_NONE});
    size_t count = 1;
    CU_ASSERT_PTR_NULL(tf_transaction_take(j, render, &w, &count));
    CU_ASSERT_EQUAL(count, 0);
    CU_ASSERT_TRUE(tf_journal_in_flight(j));
    tf_journal_committed(j);
    tf_journal_destroy(j);
}

static const struct suite_test tests[] = {
    {"at most 120 records", test_at_most_120_records},
    {"at most a mebibyte", test_at_most_a_mebibyte},
    {"the first always goes", test_the_first_always_goes},
    {"a proof has no records", test_a_proof_has_no_records},
};

int main(void)
{
    return suite_run("transaction", tests, TF_ARRAY_LEN(tests));
}
