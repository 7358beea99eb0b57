/* SPDX-License-Identifier: Apache-2.0 */
/* Output of an instance, from a subcluster that is played by the test, through a real fedd to a client. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tests/support/fedd/cluster.h"
#include "tests/support/fedd/reader.h"
#include "tests/support/suite.h"

static struct bench b;
static struct fake fake;
static struct reader reader;

enum { ASK_MS = 5000, CHUNK = TF_WIRE_LOG_CHUNK_MAX };

/* ---- the subcluster's side ---- */

static struct pusher {
    struct tf_stream *stream; /* NULL: over */
    struct tf_error error;
} pusher;

static void on_message(void *arg, struct tf_stream *stream, struct tf_bytes body)
{
    (void)arg, (void)stream, (void)body;
}

static void on_ended(void *arg, struct tf_stream *stream, const struct tf_error *error,
                     struct tf_bytes details)
{
    (void)arg, (void)stream, (void)details;
    pusher.stream = NULL;
    pusher.error = *error;
}

static bool pusher_over(void *arg)
{
    (void)arg;
    return pusher.stream == NULL;
}

static void push_open(void)
{
    static const struct tf_stream_events events = {.message = on_message, .ended = on_ended};
    pusher.error = (struct tf_error)TF_ERROR_INIT;
    pusher.stream = tf_stream_open(fake.channel, TF_WIRE_METHOD_PUSH_LOGS, TF_RPC_NO_TIMEOUT, &events, NULL);
}

static void push(uint64_t ask, const char *data, size_t len, const char *error)
{
    struct tf_buf bytes = TF_BUF_INIT;
    const struct tf_log_chunk chunk = {
        .ask = ask, .data = (char *)(uintptr_t)data, .len = len, .error = (char *)(uintptr_t)error};
    CU_ASSERT_EQUAL_FATAL(tf_wire_log_chunk_pack(&chunk, &bytes, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pusher.stream);
    tf_stream_write(pusher.stream, &bytes);
}

static void push_words(uint64_t ask, const char *words)
{
    push(ask, words, strlen(words), NULL);
}

static void push_close(void)
{
    tf_stream_half_close(pusher.stream);
    CU_ASSERT_TRUE(bench_until(&b, pusher_over, NULL));
    CU_ASSERT_EQUAL(pusher.error.code, TF_OK);
}

/* ---- the client's side ---- */

static void read_logs(const char *name, bool follow)
{
    struct tf_request request = {.method = TF_METHOD_LOGS,
                                 .logs = {.follow = follow, .index = 0, .tail_bytes = -1}};
    request.logs.job.tenant = tf_strdup("t");
    request.logs.job.name = tf_strdup(name);
    reader_open(&reader, &b, 0, &request);
    tf_request_release(&request);
}

static char *all_read(void)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_vec_each (reply, &reader.replies)
        tf_buf_add(&text, reply->logs.data, reply->logs.len);
    return tf_strdup(tf_buf_text(&text));
}

/* ---- set-up ---- */

static bool set_up(void)
{
    if (!bench_open(&b, NULL, 0))
        return false;
    bench_one_leader(&b);
    fake_join(&fake, &b);
    fake_run_job(&fake, "one", 1);
    return true;
}

/* Nothing may be left in fedd: a polite stop frees all, which the sanitizer checks. */
static void tear_down(void)
{
    reader_release(&reader);
    if (pusher.stream)
        tf_stream_cancel(TF_STEAL(pusher.stream));
    fake_release(&fake);
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    bench_close(&b);
}

/* The client asks, and the question arrives. */
static uint64_t ask(bool follow, size_t n)
{
    reader_release(&reader);
    read_logs("one", follow);
    const struct tf_ask *asked = fake_wait_ask(&fake, n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(asked);
    CU_ASSERT_EQUAL(asked->kind, TF_ASK_LOGS);
    CU_ASSERT_TRUE(tf_uid_eq(asked->uid, bench_uid(1)));
    CU_ASSERT_EQUAL(asked->follow, follow);
    CU_ASSERT_EQUAL(asked->tail_bytes, -1);
    push_open();
    return asked->id;
}

/* ---- tests ---- */

static void test_all(void)
{
    if (!set_up())
        return;
    uint64_t id = ask(false, 0);
    push(id, NULL, 0, NULL);
    push_words(id, "hello ");
    push_words(id, "world\n");
    push_close();
    CU_ASSERT_TRUE(reader_wait_end(&reader));
    CU_ASSERT_EQUAL(reader.error.code, TF_OK);
    TF_AUTO_FREE char *text = all_read();
    CU_ASSERT_STRING_EQUAL(text, "hello world\n");

    id = ask(false, 1); /* none at all */
    push(id, NULL, 0, NULL);
    push_close();
    CU_ASSERT_TRUE(reader_wait_end(&reader));
    CU_ASSERT_EQUAL(reader.error.code, TF_OK);
    CU_ASSERT_EQUAL(reader.replies.count, 0);
    tear_down();
}

static void test_refusals(void)
{
    if (!set_up())
        return;
    uint64_t id = ask(false, 0);
    push(id, "some", 4, NULL);
    push(id, NULL, 0, "the disk is broken");
    CU_ASSERT_TRUE(reader_wait_end(&reader));
    CU_ASSERT_EQUAL(reader.error.code, TF_ERR_REFUSED);
    CU_ASSERT_STRING_EQUAL(reader.error.text, "the disk is broken");
    TF_AUTO_FREE char *text = all_read();
    CU_ASSERT_STRING_EQUAL(text, "some");

    reader_release(&reader);
    read_logs("none", false);
    CU_ASSERT_TRUE(reader_wait_end(&reader));
    CU_ASSERT_EQUAL(reader.error.code, TF_ERR_NOT_FOUND);
    CU_ASSERT_EQUAL(reader.detail.code, TF_ERR_NOT_FOUND);

    reader_release(&reader);
    fake_leave(&fake);
    bench_pass(&b, 200);
    read_logs("one", false);
    CU_ASSERT_TRUE(reader_wait_end(&reader));
    CU_ASSERT_EQUAL(reader.error.code, TF_ERR_UNAVAILABLE);
    CU_ASSERT_PTR_NOT_NULL(strstr(reader.error.text, "bj-a"));
    tear_down();
}

/* Both ends may go at any time. */
static void test_leaving(void)
{
    if (!set_up())
        return;
    uint64_t id = ask(true, 0);
    push_words(id, "tick");
    CU_ASSERT_TRUE(reader_wait(&reader, 1));
    reader_release(&reader); /* the client leaves: the subcluster hears of it */
    CU_ASSERT_TRUE(bench_until(&b, pusher_over, NULL));
    CU_ASSERT_NOT_EQUAL(pusher.error.code, TF_OK);

    id = ask(true, 1);
    push_words(id, "tick");
    CU_ASSERT_TRUE(reader_wait(&reader, 1));
    tf_stream_cancel(TF_STEAL(pusher.stream)); /* the subcluster leaves */
    CU_ASSERT_TRUE(reader_wait_end(&reader));
    CU_ASSERT_EQUAL(reader.error.code, TF_ERR_UNAVAILABLE);
    CU_ASSERT_PTR_NOT_NULL(strstr(reader.error.text, "ask again"));

    id = ask(true, 2); /* the client leaves before the subcluster's stream begins */
    reader_release(&reader);
    bench_pass(&b, 200);
    push_words(id, "tick");
    CU_ASSERT_TRUE(bench_until(&b, pusher_over, NULL));

    id = ask(true, 3);
    push_words(id, "tick");
    CU_ASSERT_TRUE(reader_wait(&reader, 1));
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0); /* fedd stops */
    CU_ASSERT_TRUE(reader_wait_end(&reader));
    CU_ASSERT_EQUAL(reader.error.code, TF_ERR_UNAVAILABLE);
    bench_one_leader(&b);
    tear_down();
}

/* What a confused or hostile subcluster could send. */
static void test_garbage(void)
{
    if (!set_up())
        return;
    uint64_t id = ask(true, 0);
    push_words(id, "mine");
    CU_ASSERT_TRUE(reader_wait(&reader, 1));
    push_words(id + 1000, "not mine"); /* the number changes */
    CU_ASSERT_TRUE(reader_wait_end(&reader));
    CU_ASSERT_EQUAL(reader.error.code, TF_ERR_UNAVAILABLE);
    CU_ASSERT_TRUE(bench_until(&b, pusher_over, NULL));

    id = ask(true, 1);
    push_words(id, "mine");
    CU_ASSERT_TRUE(reader_wait(&reader, 1));
    struct tf_buf garbage = TF_BUF_INIT;
    tf_buf_str(&garbage, "\xff\xff\xff garbage");
    tf_stream_write(pusher.stream, &garbage);
    CU_ASSERT_TRUE(reader_wait_end(&reader));
    CU_ASSERT_PTR_NOT_NULL(strstr(reader.error.text, "cannot be read"));
    CU_ASSERT_TRUE(bench_until(&b, pusher_over, NULL));

    id = ask(true, 2); /* a second stream for the same question does not disturb the first */
    push_words(id, "first");
    CU_ASSERT_TRUE(reader_wait(&reader, 1));
    struct tf_stream *first = pusher.stream;
    push_open();
    push_words(id, "second");
    CU_ASSERT_TRUE(bench_until(&b, pusher_over, NULL));
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader.stream);
    pusher.stream = first;
    push_words(id, " and last");
    push_close();
    CU_ASSERT_TRUE(reader_wait_end(&reader));
    CU_ASSERT_EQUAL(reader.error.code, TF_OK);
    TF_AUTO_FREE char *text = all_read();
    CU_ASSERT_STRING_EQUAL(text, "first and last");
    tear_down();
}

/* A client that does not read makes the subcluster wait; nothing is lost. */
static void test_slow_reader(void)
{
    enum { CHUNKS = 512 }; /* 32 MiB: more than all buffers on the way */
    if (!set_up())
        return;
    TF_AUTO_FREE char *data = tf_calloc(1, CHUNK);
    uint64_t id = ask(true, 0);
    tf_stream_pause(reader.stream);
    for (int i = 0; i < CHUNKS; i++) {
        memset(data, 'a' + i % 26, CHUNK);
        push(id, data, CHUNK, NULL);
    }
    bench_pass(&b, 3000);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pusher.stream);
    CU_ASSERT_TRUE(tf_stream_queued(pusher.stream) > 0);
    CU_ASSERT_TRUE(reader.bytes < (size_t)CHUNKS * CHUNK / 2);
    tf_stream_resume(reader.stream);
    push_close();
    CU_ASSERT_TRUE(reader_wait_end(&reader));
    CU_ASSERT_EQUAL(reader.error.code, TF_OK);
    CU_ASSERT_EQUAL(reader.replies.count, CHUNKS);
    size_t wrong = 0;
    for (size_t i = 0; i < reader.replies.count; i++)
        wrong += reader.replies.items[i].logs.len != CHUNK ||
                 reader.replies.items[i].logs.data[0] != (char)('a' + i % 26);
    CU_ASSERT_EQUAL(wrong, 0);
    tear_down();
}

static bool loop_answers(void)
{
    struct tf_request request = {.method = TF_METHOD_STATUS};
    return bench_ask(&b, 0, &request, 500, NULL, NULL, NULL) == 0;
}

/* The thread that decides has no part in the flow: it may stand still meanwhile. */
static void test_past_the_loop(void)
{
    enum { CHUNKS = 64 }; /* 4 MiB: more than the relay holds */
    if (!set_up())
        return;
    uint64_t id = ask(true, 0);
    push_words(id, "first");
    CU_ASSERT_TRUE(reader_wait(&reader, 1));
    TF_AUTO_FREE char *data = tf_calloc(1, CHUNK);
    bench_hold_loop(&b, 0);
    CU_ASSERT_FALSE(loop_answers());
    for (int i = 0; i < CHUNKS; i++)
        push(id, data, CHUNK, NULL);
    push_close();
    CU_ASSERT_TRUE(reader_wait(&reader, CHUNKS + 1));
    CU_ASSERT_FALSE(loop_answers());
    bench_let_loop_go(&b, 0);
    CU_ASSERT_TRUE(reader_wait_end(&reader));
    CU_ASSERT_EQUAL(reader.error.code, TF_OK);
    tear_down();
}

/* As many as may follow at a time, and one more; then fedd stops under them. */
static void test_many(void)
{
    enum { MANY = 33 };
    struct reader readers[MANY] = {0};
    struct tf_request request = {.method = TF_METHOD_LOGS, .logs = {.follow = true, .tail_bytes = -1}};
    if (!set_up())
        return;
    request.logs.job.tenant = tf_strdup("t");
    request.logs.job.name = tf_strdup("one");
    for (size_t i = 0; i < MANY - 1; i++) {
        reader_open(&readers[i], &b, 0, &request);
        const struct tf_ask *asked = fake_wait_ask(&fake, i);
        CU_ASSERT_PTR_NOT_NULL_FATAL(asked);
        push_open();
        push_words(asked->id, "mine");
        CU_ASSERT_TRUE(reader_wait(&readers[i], 1));
    }
    reader_open(&readers[MANY - 1], &b, 0, &request);
    CU_ASSERT_TRUE(reader_wait_end(&readers[MANY - 1]));
    CU_ASSERT_EQUAL(readers[MANY - 1].error.code, TF_ERR_UNAVAILABLE);
    CU_ASSERT_PTR_NOT_NULL(strstr(readers[MANY - 1].error.text, "try again later"));
    CU_ASSERT_TRUE(loop_answers());
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    for (size_t i = 0; i < MANY; i++) {
        CU_ASSERT_TRUE(reader_wait_end(&readers[i]));
        reader_release(&readers[i]);
    }
    tf_request_release(&request);
    bench_one_leader(&b);
    tear_down();
}

/* A subcluster that never begins: the client is told. */
static void test_silence(void)
{
    if (!set_up())
        return;
    ask(true, 0); /* the stream is there, but does not say for whom */
    CU_ASSERT_TRUE(reader_wait_end(&reader));
    CU_ASSERT_EQUAL(reader.error.code, TF_ERR_TIMEOUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(reader.error.text, "subclusterd"));
    CU_ASSERT_TRUE(bench_until(&b, pusher_over, NULL));
    tear_down();
}

static const struct suite_test tests[] = {
    {"all of it", test_all},   {"refusals", test_refusals},       {"leaving", test_leaving},
    {"garbage", test_garbage}, {"slow reader", test_slow_reader}, {"past the loop", test_past_the_loop},
    {"many", test_many},       {"silence", test_silence},
};

int main(void)
{
    return suite_run("fedd/logs", tests, TF_ARRAY_LEN(tests));
}
