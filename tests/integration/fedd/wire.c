/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that no honest client or subcluster sends: each gets an answer that says what is wrong, and fedd goes
 * on. */
#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "common/base/text.h"
#include "tests/support/fedd/cluster.h"
#include "tests/support/suite.h"

static struct bench b;
static struct fake fake, other;

enum { ASK_MS = 5000 };

static enum tf_error_code ask_bytes(const char *method, struct tf_buf *bytes, struct tf_error *err)
{
    *err = (struct tf_error)TF_ERROR_INIT;
    tf_unary_wait(b.fedds[0].channel, method, bytes, ASK_MS, NULL, NULL, err);
    return err->code;
}

static enum tf_error_code submit_bytes(struct tf_buf *bytes, struct tf_error *err)
{
    return ask_bytes(tf_method_path(TF_METHOD_SUBMIT), bytes, err);
}

/* It still does what it should. */
static void check_fine(void)
{
    struct tf_request request = {.method = TF_METHOD_STATUS};
    struct tf_reply reply = {0};
    CU_ASSERT_EQUAL_FATAL(bench_ask(&b, 0, &request, ASK_MS, &reply, NULL, NULL), 0);
    CU_ASSERT_TRUE(reply.status.leads);
    tf_reply_release(&reply);
}

static struct tf_buf good_submit(const char *name)
{
    struct tf_buf bytes = TF_BUF_INIT;
    struct tf_request request = {.method = TF_METHOD_SUBMIT, .submit.uid = bench_uid(1)};
    bench_manifest(&request.submit.manifest, name, 1);
    CU_ASSERT_EQUAL_FATAL(tf_wire_request_pack(&request, &bytes, NULL), 0);
    tf_request_release(&request);
    return bytes;
}

/* Replaces the first occurrence, of the same length. */
static void replace(struct tf_buf *bytes, const char *from, const void *to)
{
    char *at = memmem(bytes->data, bytes->len, from, strlen(from));
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    memcpy(at, to, strlen(from));
}

static void test_requests(void)
{
    struct tf_error err;
    if (!bench_open_steady(&b, NULL, 0))
        return;
    struct tf_buf bytes = good_submit("name-to-be");
    replace(&bytes, "name-to-be", "name\xff\xfeto-b");
    CU_ASSERT_EQUAL(submit_bytes(&bytes, &err), TF_ERR_INVALID);
    bytes = good_submit("name-to-be");
    replace(&bytes, "name-to-be", "name\0to-be");
    CU_ASSERT_EQUAL(submit_bytes(&bytes, &err), TF_ERR_INVALID);
    bytes = good_submit("name-to-be");
    replace(&bytes, "name-to-be", "../to/../e");
    CU_ASSERT_EQUAL(submit_bytes(&bytes, &err), TF_ERR_INVALID);
    bytes = good_submit("name");
    bytes.len -= 3; /* cut off */
    CU_ASSERT_EQUAL(submit_bytes(&bytes, &err), TF_ERR_INVALID);
    tf_buf_str(&bytes, "garbage, no message at all \xff\xff\xff\xff");
    CU_ASSERT_EQUAL(submit_bytes(&bytes, &err), TF_ERR_INVALID);
    CU_ASSERT_EQUAL(submit_bytes(&bytes, &err), TF_ERR_INVALID); /* empty */

    /* beyond the limits of a manifest, then of a message */
    TF_AUTO_FREE char *big = tf_calloc(1, 10 << 20);
    memset(big, 'x', 1 << 20);
    tf_buf_add(&bytes, big, 1 << 20);
    CU_ASSERT_EQUAL(submit_bytes(&bytes, &err), TF_ERR_TOO_LARGE);
    bytes = (struct tf_buf)TF_BUF_INIT;
    tf_buf_add(&bytes, big, 10 << 20);
    enum tf_error_code code = submit_bytes(&bytes, &err);
    CU_ASSERT_EQUAL(code, TF_ERR_TOO_LARGE);

    /* a list of a hundred thousand labels in a few bytes each */
    for (int i = 0; i < 20000; i++)
        tf_buf_add(&bytes, "\x0a\x00", 2);
    CU_ASSERT_NOT_EQUAL(submit_bytes(&bytes, &err), TF_OK);
    check_fine();
    CU_ASSERT_EQUAL(ask_bytes("/tidefed.v1.Federation/Nonsense", &bytes, &err), TF_ERR_REFUSED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "Nonsense"));
    CU_ASSERT_NOT_EQUAL(ask_bytes(TF_WIRE_METHOD_ATTACH, &bytes, &err), TF_OK); /* a stream, not a call */
    check_fine();
    bench_close(&b);
}

/* Every method, with damaged bytes. */
static void test_random(void)
{
    enum { ROUNDS = 3000 };
    struct tf_rng rng;
    size_t fine = 0;
    if (!bench_open_steady(&b, NULL, 0))
        return;
    tf_rng_init(&rng, suite_seed(7));
    for (size_t i = 0; i < suite_rounds(ROUNDS); i++) {
        struct tf_error err;
        struct tf_buf bytes = good_submit("name-to-be");
        for (size_t k = 0; k <= tf_rng_below(&rng, 4); k++)
            bytes.data[tf_rng_below(&rng, bytes.len)] = (char)tf_rng_below(&rng, 256);
        enum tf_method method = 1 + (enum tf_method)tf_rng_below(&rng, TF_METHOD_COUNT - 1);
        if (tf_method_streams(method))
            method = TF_METHOD_SUBMIT;
        fine += ask_bytes(tf_method_path(method), &bytes, &err) == TF_OK;
    }
    printf("(%zu accepted) ", fine);
    check_fine();
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    bench_close(&b);
}

/* ---- subclusters ---- */

static void refused_hello(const char *words)
{
    fake_dial(&fake, 0);
    CU_ASSERT_TRUE(fake_wait_ended(&fake));
    CU_ASSERT_PTR_NOT_NULL(strstr(fake.ended.text, words));
    if (!strstr(fake.ended.text, words))
        fprintf(stderr, "%s\n", fake.ended.text);
}

static struct tf_error raw_error;
static bool raw_over;

static void on_message(void *arg, struct tf_stream *stream, struct tf_bytes body)
{
    (void)arg, (void)stream, (void)body;
}

static void on_ended(void *arg, struct tf_stream *stream, const struct tf_error *error,
                     struct tf_bytes details)
{
    (void)arg, (void)stream, (void)details;
    raw_error = *error;
    raw_over = true;
}

static bool is_over(void *arg)
{
    (void)arg;
    return raw_over;
}

/* A stream whose first message is these bytes (none if NULL), and how it ended. */
static enum tf_error_code first_message(struct tf_buf *bytes)
{
    static const struct tf_stream_events events = {.message = on_message, .ended = on_ended};
    raw_over = false;
    struct tf_stream *stream =
        tf_stream_open(b.fedds[0].channel, TF_WIRE_METHOD_ATTACH, TF_RPC_NO_TIMEOUT, &events, NULL);
    if (bytes)
        tf_stream_write(stream, bytes);
    CU_ASSERT_TRUE_FATAL(bench_until(&b, is_over, NULL));
    return raw_error.code;
}

static void test_hellos(void)
{
    if (!bench_open_steady(&b, NULL, 0))
        return;
    fake_init(&fake, &b, "bj-a", 4);
    fake_init(&other, &b, "bj-a", 4);
    fake.protocol = 99;
    refused_hello("99");
    fake.protocol = TF_PROTOCOL_VERSION;

    /* two of one name: the newer owner stays */
    fake_attach(&fake, 0);
    other.owner = 2;
    fake_attach(&other, 0);
    CU_ASSERT_TRUE(fake_wait_ended(&fake));
    CU_ASSERT_PTR_NOT_NULL(strstr(fake.ended.text, "bj-a"));
    refused_hello("newer owner");
    CU_ASSERT_PTR_NOT_NULL(other.stream);

    /* a message before the hello, a second hello, no message at all */
    fake_leave(&fake);
    fake_leave(&other);
    fake_attach(&fake, 0);
    struct tf_up hello = {.kind = TF_UP_HELLO,
                          .hello = {.protocol = TF_PROTOCOL_VERSION, .name = tf_strdup("bj-a")}};
    fake_say(&fake, &hello);
    CU_ASSERT_TRUE(fake_wait_ended(&fake));
    CU_ASSERT_PTR_NOT_NULL(strstr(fake.ended.text, "hello"));
    fake_attach(&fake, 0);
    fake_say_bytes(&fake, "\xff\xff\xff\xff", 4);
    CU_ASSERT_TRUE(fake_wait_ended(&fake));
    CU_ASSERT_EQUAL(fake.ended.code, TF_ERR_INVALID);
    fake_attach(&fake, 0);
    check_fine();
    fake_release(&fake);
    fake_release(&other);
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    bench_close(&b);
}

/* What opens a stream has to say who it is, within ten seconds. */
static void test_first_message(void)
{
    if (!bench_open_steady(&b, NULL, 0))
        return;
    struct tf_buf bytes = TF_BUF_INIT;
    struct tf_up up = {.kind = TF_UP_LISTED};
    CU_ASSERT_EQUAL(tf_wire_up_pack(&up, &bytes, NULL), 0);
    CU_ASSERT_EQUAL(first_message(&bytes), TF_ERR_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(raw_error.text, "hello"));
    up = (struct tf_up){.kind = TF_UP_HELLO,
                        .hello = {.protocol = TF_PROTOCOL_VERSION, .name = tf_strdup("up-bj")}};
    CU_ASSERT_EQUAL(tf_wire_up_pack(&up, &bytes, NULL), 0);
    tf_up_release(&up);
    replace(&bytes, "up-bj", "../bj");
    CU_ASSERT_EQUAL(first_message(&bytes), TF_ERR_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(raw_error.text, "name"));
    CU_ASSERT_EQUAL(first_message(NULL), TF_ERR_TIMEOUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(raw_error.text, "hello"));
    check_fine();
    bench_close(&b);
}

/* Messages that can be read but are wrong: numbers out of range, epochs of others, answers nobody asked for.
 */
static void test_wrong_messages(void)
{
    if (!bench_open_steady(&b, NULL, 0))
        return;
    fake_join(&fake, &b);
    struct tf_up answer = {.kind = TF_UP_ANSWER, .answer = {.id = 12345}};
    fake_say(&fake, &answer);
    bench_submit(&b, 0, "one", 1, ASK_MS, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fake_wait_entry(&fake, TF_ENTRY_PLACE, 1));
    struct tf_entry wrong = *fake_entry(&fake, TF_ENTRY_PLACE, 1);
    wrong.epoch += 1000; /* of an epoch that was never placed */
    fake_report(&fake, &wrong, TF_PHASE_RUNNING);
    CU_ASSERT_PTR_NOT_NULL(fake_wait_entry(&fake, TF_ENTRY_RELEASE, 1));
    fake_report(&fake, fake_entry(&fake, TF_ENTRY_PLACE, 1), TF_PHASE_SUCCEEDED); /* no live phase */
    fake_report(&fake, fake_entry(&fake, TF_ENTRY_PLACE, 1), TF_PHASE_RUNNING);
    CU_ASSERT_TRUE(bench_wait_phase(&b, 0, "one", TF_PHASE_RUNNING));
    /* a profile of nonsense ends the stream, with the reason */
    struct tf_up up = {.kind = TF_UP_PROFILE, .profile = {.full = true, .reflects_term = fake.term}};
    up.profile.generation = up.profile.base = (struct tf_generation){fake.owner, 1000};
    struct tf_profile_row *row = tf_vec_add(&up.profile.rows);
    row->class = 77; /* there is no such class */
    row->count = 1;
    row->claim_rank = -1;
    struct tf_level_vector level = {TF_LEVEL_FREE, {.gpus = 1, .slots = 1}};
    tf_vec_push(&row->levels, level);
    fake_say(&fake, &up);
    CU_ASSERT_TRUE(fake_wait_ended(&fake));
    CU_ASSERT_PTR_NOT_NULL(strstr(fake.ended.text, "profile"));
    fake_attach(&fake, 0);
    check_fine();
    fake_release(&fake);
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    bench_close(&b);
}

static const struct suite_test tests[] = {
    {"requests", test_requests},
    {"random requests", test_random},
    {"hellos", test_hellos},
    {"the first message", test_first_message},
    {"wrong messages", test_wrong_messages},
};

int main(void)
{
    return suite_run("fedd/wire", tests, TF_ARRAY_LEN(tests));
}
