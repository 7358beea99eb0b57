/* SPDX-License-Identifier: Apache-2.0 */
/* There are two ways from bytes to the model: a short one for bytes as they are written, and one that takes
 * everything and explains what is wrong. Whatever the bytes are, both give the same, and what was written
 * needs the long one never. */
#include "common/base/cleanup.h"
#include "common/wire/attach.h"
#include "common/wire/records.h"
#include "common/wire/tables.h"
#include "tests/support/random_model.h"
#include "tests/support/suite.h"

/* Field 20000, which no message has: with it the short way gives up at once. */
static const char unknown[] = {(char)0x80, (char)0xe2, 0x09, 0x01};

struct kind {
    const char *key; /* of a record */
    size_t key_len;
};

/* Reads the bytes, and appends what is written of that. False: they are refused. */
typedef bool again_f(const struct kind *kind, const char *bytes, size_t len, struct tf_buf *again);

static bool record_again(const struct kind *kind, const char *bytes, size_t len, struct tf_buf *again)
{
    struct tf_record record = {0};
    if (tf_wire_record_unpack(kind->key, kind->key_len, bytes, len, &record, NULL))
        return false;
    CU_ASSERT_EQUAL(tf_wire_record_pack(&record, again, NULL), 0);
    tf_record_release(&record);
    return true;
}

static bool up_again(const struct kind *kind, const char *bytes, size_t len, struct tf_buf *again)
{
    (void)kind;
    struct tf_up up = {0};
    if (tf_wire_up_unpack(bytes, len, &up, NULL))
        return false;
    CU_ASSERT_EQUAL(tf_wire_up_pack(&up, again, NULL), 0);
    tf_up_release(&up);
    return true;
}

static bool down_again(const struct kind *kind, const char *bytes, size_t len, struct tf_buf *again)
{
    (void)kind;
    struct tf_down down = {0};
    if (tf_wire_down_unpack(bytes, len, &down, NULL))
        return false;
    CU_ASSERT_EQUAL(tf_wire_down_pack(&down, again, NULL), 0);
    tf_down_release(&down);
    return true;
}

static bool compare(again_f *read, const struct kind *kind, const struct tf_buf *bytes)
{
    TF_AUTO_BUF other = TF_BUF_INIT;
    TF_AUTO_BUF one = TF_BUF_INIT;
    TF_AUTO_BUF two = TF_BUF_INIT;
    tf_buf_add(&other, unknown, sizeof unknown);
    tf_buf_add(&other, bytes->data, bytes->len);
    bool accepted = read(kind, bytes->data, bytes->len, &one);
    CU_ASSERT_EQUAL(accepted, read(kind, other.data, other.len, &two));
    CU_ASSERT_TRUE(one.len == two.len && (one.len == 0 || memcmp(one.data, two.data, one.len) == 0));
    return accepted;
}

/* A byte is another, some are missing, or come twice; most often at the beginning, where the fields are that
 * each message must have. */
static void spoil(struct tf_rng *rng, const struct tf_buf *bytes, struct tf_buf *out)
{
    size_t most = tf_rng_below(rng, 2) && bytes->len > 8 ? 8 : bytes->len;
    size_t at = (size_t)tf_rng_below(rng, most + 1);
    size_t len = (size_t)tf_rng_below(rng, most - at + 1);
    out->len = 0;
    tf_buf_add(out, bytes->data, bytes->len);
    switch (tf_rng_below(rng, 3)) {
    case 0:
        if (at < bytes->len)
            out->data[at] = (char)tf_rng_below(rng, 256);
        break;
    case 1:
        out->len = at;
        tf_buf_add(out, bytes->data + at + len, bytes->len - at - len);
        break;
    default:
        tf_buf_add(out, bytes->data + at, len);
        break;
    }
}

static void both_ways(struct tf_rng *rng, again_f *read, const struct kind *kind, const struct tf_buf *bytes)
{
    TF_AUTO_BUF bad = TF_BUF_INIT;
    CU_ASSERT_TRUE(compare(read, kind, bytes));
    for (int i = 0; i < 20; i++) {
        spoil(rng, bytes, &bad);
        compare(read, kind, &bad);
    }
}

static void test_records(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(31));
    for (size_t round = suite_rounds(40); round > 0; round--)
        for (int kind = TF_RECORD_EPOCH; kind <= TF_RECORD_LAST; kind++) {
            TF_AUTO_BUF key = TF_BUF_INIT;
            TF_AUTO_BUF bytes = TF_BUF_INIT;
            struct tf_record record;
            random_record(&rng, (enum tf_record_kind)kind, &record);
            CU_ASSERT_EQUAL(tf_wire_record_key(&record, &key, NULL), 0);
            CU_ASSERT_EQUAL(tf_wire_record_pack(&record, &bytes, NULL), 0);
            both_ways(&rng, record_again, &(struct kind){key.data, key.len}, &bytes);
            tf_record_release(&record);
        }
}

static void test_up(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(32));
    for (size_t round = suite_rounds(40); round > 0; round--)
        for (int kind = TF_UP_HELLO; kind <= TF_UP_STORE; kind++) {
            TF_AUTO_BUF bytes = TF_BUF_INIT;
            struct tf_up up;
            random_up(&rng, (enum tf_up_kind)kind, &up);
            CU_ASSERT_EQUAL(tf_wire_up_pack(&up, &bytes, NULL), 0);
            both_ways(&rng, up_again, &(struct kind){0}, &bytes);
            tf_up_release(&up);
        }
}

static void test_down(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(33));
    for (size_t round = suite_rounds(80); round > 0; round--) {
        TF_AUTO_BUF bytes = TF_BUF_INIT;
        struct tf_down down;
        random_down(&rng, &down);
        CU_ASSERT_EQUAL(tf_wire_down_pack(&down, &bytes, NULL), 0);
        both_ways(&rng, down_again, &(struct kind){0}, &bytes);
        tf_down_release(&down);
    }
}

static void needs_no_other(const struct tf_wire_table *table, const void *object)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    TF_AUTO_FREE void *back = tf_calloc(1, table->size);
    CU_ASSERT_EQUAL(tf_wire_pack(table, object, "it", TF_WIRE_RECORD_MAX, &bytes, NULL), 0);
    CU_ASSERT_TRUE(tf_wire_read(table, bytes.data, bytes.len, back));
    tf_wire_release(table, back);
}

static void test_what_was_written(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(34));
    for (size_t round = suite_rounds(100); round > 0; round--) {
        struct tf_record job, allocation;
        struct tf_up report;
        struct tf_down down;
        random_record(&rng, TF_RECORD_JOB, &job);
        random_record(&rng, TF_RECORD_ALLOCATION, &allocation);
        random_up(&rng, TF_UP_REPORT, &report);
        random_down(&rng, &down);
        needs_no_other(&tf_wire_job_record, &job.job);
        needs_no_other(&tf_wire_allocation, &allocation.allocation);
        needs_no_other(&tf_wire_report, &report.report);
        needs_no_other(&tf_wire_down, &down);
        tf_record_release(&job);
        tf_record_release(&allocation);
        tf_up_release(&report);
        tf_down_release(&down);
    }
}

static const struct suite_test tests[] = {
    {"records, both ways", test_records},
    {"messages up, both ways", test_up},
    {"messages down, both ways", test_down},
    {"what was written takes the short way", test_what_was_written},
};

int main(void)
{
    return suite_run("wire, both ways", tests, TF_ARRAY_LEN(tests));
}
