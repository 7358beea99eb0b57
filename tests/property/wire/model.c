/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/cleanup.h"
#include "common/wire/attach.h"
#include "common/wire/records.h"
#include "tests/property/wire/coverage.h"
#include "tests/support/model_eq.h"
#include "tests/support/random_model.h"
#include "tests/support/suite.h"

#include "attach.pb-c.h"

/* Random values of the model become bytes and come back: equal, from equal bytes, and with every field of
 * every message used. A field that the codec, a copy or a generator forgets fails here. */

static void record_round_trip(const struct tf_record *record, const ProtobufCMessageDescriptor *message)
{
    TF_AUTO_BUF key = TF_BUF_INIT;
    TF_AUTO_BUF value = TF_BUF_INIT;
    TF_AUTO_BUF again = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    struct tf_record back = {0}, copy = {0};
    CU_ASSERT_EQUAL(tf_wire_record_key(record, &key, &err), 0);
    CU_ASSERT_EQUAL(tf_wire_record_pack(record, &value, &err), 0);
    CU_ASSERT_EQUAL(tf_wire_record_size(record), value.len);
    CU_ASSERT_EQUAL(tf_wire_record_unpack(key.data, key.len, value.data, value.len, &back, &err), 0);
    if (err.code)
        printf("\n    %s\n", err.text);
    CU_ASSERT_TRUE(eq_record(record, &back));
    tf_record_copy(&copy, &back);
    CU_ASSERT_TRUE(eq_record(record, &copy));
    tf_record_release(&back);
    CU_ASSERT_EQUAL(tf_wire_record_pack(&copy, &again, &err), 0);
    CU_ASSERT_TRUE(again.len == value.len && memcmp(again.data, value.data, value.len) == 0);
    tf_record_release(&copy);
    wire_coverage_add(message, value.data, value.len);
}

static const ProtobufCMessageDescriptor *const record_messages[] = {
    [TF_RECORD_EPOCH] = &tidefed__v1__counter__descriptor,
    [TF_RECORD_JOB] = &tidefed__v1__job_record__descriptor,
    [TF_RECORD_CLUSTER] = &tidefed__v1__cluster_record__descriptor,
    [TF_RECORD_SUMMARY] = &tidefed__v1__summary_record__descriptor,
    [TF_RECORD_TERM] = &tidefed__v1__term__descriptor,
    [TF_RECORD_FLOOR] = &tidefed__v1__counter__descriptor,
    [TF_RECORD_ROLLBACK] = &tidefed__v1__counter__descriptor,
    [TF_RECORD_POLICY] = &tidefed__v1__policy__descriptor,
    [TF_RECORD_ALLOCATION] = &tidefed__v1__allocation__descriptor,
    [TF_RECORD_CORDON] = &tidefed__v1__cordon__descriptor,
    [TF_RECORD_FREEZE] = &tidefed__v1__freeze__descriptor,
    [TF_RECORD_NODE_CLAIM] = &tidefed__v1__node_claim__descriptor,
    [TF_RECORD_LEADERS] = &tidefed__v1__leaders__descriptor,
    [TF_RECORD_MIGRATION] = &tidefed__v1__move_chain__descriptor,
    [TF_RECORD_EVICTIONS] = &tidefed__v1__eviction_count__descriptor,
};

static void test_records(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(11));
    for (size_t round = suite_rounds(150); round > 0; round--)
        for (int kind = TF_RECORD_EPOCH; kind <= TF_RECORD_LAST; kind++) {
            struct tf_record record;
            random_record(&rng, (enum tf_record_kind)kind, &record);
            record_round_trip(&record, record_messages[kind]);
            tf_record_release(&record);
        }
}

static void up_round_trip(const struct tf_up *up)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    TF_AUTO_BUF again = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    struct tf_up back = {0}, copy = {0};
    CU_ASSERT_EQUAL(tf_wire_up_pack(up, &bytes, &err), 0);
    CU_ASSERT_EQUAL(tf_wire_up_unpack(bytes.data, bytes.len, &back, &err), 0);
    if (err.code)
        printf("\n    %s\n", err.text);
    CU_ASSERT_TRUE(eq_up(up, &back));
    tf_up_copy(&copy, &back);
    CU_ASSERT_TRUE(eq_up(up, &copy));
    tf_up_release(&back);
    CU_ASSERT_EQUAL(tf_wire_up_pack(&copy, &again, &err), 0);
    CU_ASSERT_TRUE(again.len == bytes.len && memcmp(again.data, bytes.data, bytes.len) == 0);
    tf_up_release(&copy);
    wire_coverage_add(&tidefed__v1__up__descriptor, bytes.data, bytes.len);
}

static void test_up(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(12));
    for (size_t round = suite_rounds(150); round > 0; round--)
        for (int kind = TF_UP_HELLO; kind <= TF_UP_STORE; kind++) {
            struct tf_up up;
            random_up(&rng, (enum tf_up_kind)kind, &up);
            up_round_trip(&up);
            tf_up_release(&up);
        }
}

static void down_round_trip(const struct tf_down *down)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    TF_AUTO_BUF again = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    struct tf_down back = {0}, copy = {0};
    CU_ASSERT_EQUAL(tf_wire_down_pack(down, &bytes, &err), 0);
    CU_ASSERT_EQUAL(tf_wire_down_unpack(bytes.data, bytes.len, &back, &err), 0);
    if (err.code)
        printf("\n    %s\n", err.text);
    CU_ASSERT_TRUE(eq_down(down, &back));
    tf_down_copy(&copy, &back);
    CU_ASSERT_TRUE(eq_down(down, &copy));
    tf_down_release(&back);
    CU_ASSERT_EQUAL(tf_wire_down_pack(&copy, &again, &err), 0);
    CU_ASSERT_TRUE(again.len == bytes.len && memcmp(again.data, bytes.data, bytes.len) == 0);
    size_t entries = 0;
    tf_vec_each (entry, &copy.entries)
        entries += tf_wire_entry_size(entry);
    CU_ASSERT_TRUE(entries <= bytes.len + 8 * copy.entries.count);
    tf_down_release(&copy);
    wire_coverage_add(&tidefed__v1__down__descriptor, bytes.data, bytes.len);
}

static void test_down(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(13));
    for (size_t round = suite_rounds(300); round > 0; round--) {
        struct tf_down down;
        random_down(&rng, &down);
        down_round_trip(&down);
        tf_down_release(&down);
    }
}

static void test_log_chunks(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(14));
    for (size_t round = suite_rounds(50); round > 0; round--) {
        TF_AUTO_BUF bytes = TF_BUF_INIT;
        struct tf_error err = TF_ERROR_INIT;
        struct tf_log_chunk back = {0}, chunk = {.ask = random_counter(&rng), .error = random_optional(&rng)};
        chunk.len = (size_t)tf_rng_below(&rng, 100);
        chunk.data = tf_calloc(chunk.len + 1, 1);
        for (size_t i = 0; i < chunk.len; i++)
            chunk.data[i] = (char)tf_rng_below(&rng, 256);
        CU_ASSERT_EQUAL(tf_wire_log_chunk_pack(&chunk, &bytes, &err), 0);
        CU_ASSERT_EQUAL(tf_wire_log_chunk_unpack(bytes.data, bytes.len, &back, &err), 0);
        CU_ASSERT_TRUE(back.ask == chunk.ask && back.len == chunk.len);
        CU_ASSERT_TRUE(chunk.len == 0 || memcmp(back.data, chunk.data, chunk.len) == 0);
        CU_ASSERT_EQUAL(back.error == NULL, chunk.error == NULL);
        tf_log_chunk_release(&back);
        tf_log_chunk_release(&chunk);
        wire_coverage_add(&tidefed__v1__log_chunk__descriptor, bytes.data, bytes.len);
    }
}

static void test_every_field_was_used(void)
{
    for (size_t i = TF_RECORD_EPOCH; i < TF_ARRAY_LEN(record_messages); i++)
        CU_ASSERT_EQUAL(wire_coverage_missing(record_messages[i]), 0);
    CU_ASSERT_EQUAL(wire_coverage_missing(&tidefed__v1__up__descriptor), 0);
    CU_ASSERT_EQUAL(wire_coverage_missing(&tidefed__v1__down__descriptor), 0);
    CU_ASSERT_EQUAL(wire_coverage_missing(&tidefed__v1__log_chunk__descriptor), 0);
}

static void test_no_message_is_recursive(void)
{
    for (size_t i = TF_RECORD_EPOCH; i < TF_ARRAY_LEN(record_messages); i++)
        CU_ASSERT_TRUE(wire_coverage_depth(record_messages[i]) > 0);
    CU_ASSERT_TRUE(wire_coverage_depth(&tidefed__v1__up__descriptor) > 0);
    CU_ASSERT_TRUE(wire_coverage_depth(&tidefed__v1__down__descriptor) > 0);
}

static const struct suite_test tests[] = {
    {"records", test_records},
    {"messages up", test_up},
    {"messages down", test_down},
    {"pieces of output", test_log_chunks},
    {"every field of every message was used", test_every_field_was_used},
    {"no message contains itself", test_no_message_is_recursive},
};

int main(void)
{
    return suite_run("wire", tests, TF_ARRAY_LEN(tests));
}
