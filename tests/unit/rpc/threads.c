/* SPDX-License-Identifier: Apache-2.0 */
/* Methods with a thread of their own. */
#include "tests/unit/rpc/fixture.h"

#include <poll.h>
#include <stdatomic.h>

/* ---- handlers ---- */

static atomic_int written, failed, wakes;

/* Writes as many messages of the size as the request says: "COUNT SIZE". */
static int write_many(void *arg, struct tf_thread_call *call, struct tf_bytes request, struct tf_error *err)
{
    (void)arg;
    int count = 0, size = 0;
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)request.len, (const char *)request.data);
    if (sscanf(text, "%d %d", &count, &size) != 2) {
        tf_thread_call_detail(call, tf_bytes_of("a detail"));
        return tf_error_set(err, TF_ERR_INVALID, "\"%s\" is not COUNT SIZE", text);
    }
    for (int i = 0; i < count; i++) {
        struct tf_buf body = TF_BUF_INIT;
        tf_buf_reserve(&body, (size_t)size);
        memset(body.data, 'w', (size_t)size);
        body.len = (size_t)size;
        if (tf_thread_call_write(call, &body)) {
            atomic_fetch_add(&failed, 1);
            return tf_error_set(err, TF_ERR_UNAVAILABLE, "nobody reads");
        }
        atomic_fetch_add(&written, 1);
    }
    return 0;
}

/* As a follower of a log file: sleeps until there is nobody to write for. */
static int wait_until_gone(void *arg, struct tf_thread_call *call, struct tf_bytes request,
                           struct tf_error *err)
{
    (void)arg;
    (void)request;
    atomic_fetch_add(&wakes, 1);
    struct pollfd fd = {.fd = tf_thread_call_gone_fd(call), .events = POLLIN};
    while (poll(&fd, 1, -1) <= 0)
        ;
    atomic_fetch_sub(&wakes, 1);
    return tf_error_set(err, TF_ERR_UNAVAILABLE, "nobody reads");
}

/* What the last read of a handler gave; -2: none has returned yet. */
static atomic_int last_read, last_code, messages, timeouts;
static atomic_size_t bytes_read;
static _Atomic(struct tf_thread_call *) reading_call;

/* Reads to the end, then writes how many messages came. */
static int read_all(void *arg, struct tf_thread_call *call, struct tf_bytes request, struct tf_error *err)
{
    (void)arg;
    CU_ASSERT_EQUAL(request.len, 0);
    atomic_store(&reading_call, call);
    struct tf_bytes body;
    int got;
    while ((got = tf_thread_call_read(call, TF_NEVER, &body, err)) > 0) {
        atomic_fetch_add(&messages, 1);
        atomic_fetch_add(&bytes_read, body.len);
    }
    atomic_store(&last_code, err->code);
    atomic_store(&last_read, got);
    if (got < 0)
        return -1;
    CU_ASSERT_EQUAL(tf_thread_call_read(call, TF_NEVER, &body, err), 0); /* and it stays so */
    char text[32];
    snprintf(text, sizeof text, "%d messages", atomic_load(&messages));
    struct tf_buf answer = text_body(text);
    return tf_thread_call_write(call, &answer);
}

/* Loses patience until something comes, and again after it. */
static int read_impatiently(void *arg, struct tf_thread_call *call, struct tf_bytes request,
                            struct tf_error *err)
{
    (void)arg, (void)request;
    struct tf_bytes body;
    int got;
    do {
        const struct tf_mono due = {tf_clock_read().mono.ms + 20};
        *err = (struct tf_error)TF_ERROR_INIT;
        got = tf_thread_call_read(call, due, &body, err);
        if (got < 0 && err->code == TF_ERR_TIMEOUT)
            atomic_fetch_add(&timeouts, 1);
        else if (got > 0)
            atomic_fetch_add(&messages, 1);
    } while (got > 0 || (err->code == TF_ERR_TIMEOUT && atomic_load(&messages) == 0));
    atomic_store(&last_code, err->code);
    atomic_store(&last_read, got);
    return got;
}

static void begin(struct fixture *f)
{
    atomic_store(&written, 0);
    atomic_store(&failed, 0);
    atomic_store(&messages, 0);
    atomic_store(&timeouts, 0);
    atomic_store(&bytes_read, 0);
    atomic_store(&last_read, -2);
    atomic_store(&reading_call, NULL);
    fixture_begin(f);
    fixture_bind(f, (struct tf_server_limits){.threads_max = 3});
    tf_server_thread(f->server, "/t.T/Many", write_many, NULL);
    tf_server_thread(f->server, "/t.T/Wait", wait_until_gone, NULL);
    tf_server_thread_stream(f->server, "/t.T/Read", read_all, NULL);
    tf_server_thread_stream(f->server, "/t.T/Impatient", read_impatiently, NULL);
    tf_server_unary(f->server, "/t.T/Echo", echo, NULL);
    tf_server_start(f->server);
    fixture_connect(f, 0);
}

/* ---- clients ---- */

struct reader {
    struct tf_stream *stream;
    int messages, ended, stop_after;
    bool has_detail;
    struct tf_error error;
};

static void on_message(void *arg, struct tf_stream *stream, struct tf_bytes body)
{
    struct reader *r = arg;
    CU_ASSERT_TRUE(body.len > 0);
    if (++r->messages == r->stop_after)
        tf_stream_cancel(stream);
}

static void on_ended(void *arg, struct tf_stream *stream, const struct tf_error *error,
                     struct tf_bytes details)
{
    (void)stream;
    struct reader *r = arg;
    r->has_detail = tf_bytes_eq(details, tf_bytes_of("a detail"));
    r->ended++;
    r->error = *error;
}

static const struct tf_stream_events events = {.message = on_message, .ended = on_ended};

static void start(struct fixture *f, struct reader *r, const char *method, const char *text)
{
    r->stream = tf_stream_open(f->channel, method, TF_RPC_NO_TIMEOUT, &events, r);
    struct tf_buf request = text_body(text);
    tf_stream_write(r->stream, &request);
    tf_stream_half_close(r->stream);
}

static void test_messages_and_end(void)
{
    struct fixture f;
    struct reader r = {0};
    begin(&f);
    start(&f, &r, "/t.T/Many", "1000 100");
    TURN_UNTIL(&f, r.ended);
    CU_ASSERT_EQUAL(r.error.code, TF_OK);
    CU_ASSERT_EQUAL(r.messages, 1000);
    r = (struct reader){0};
    start(&f, &r, "/t.T/Many", "nonsense");
    TURN_UNTIL(&f, r.ended);
    CU_ASSERT_EQUAL(r.error.code, TF_ERR_INVALID);
    CU_ASSERT_STRING_EQUAL(r.error.text, "\"nonsense\" is not COUNT SIZE");
    CU_ASSERT_TRUE(r.has_detail);
    fixture_end(&f);
}

/* The reader's loop stands still: the writer waits, having got rid of a bounded number of bytes. */
static void test_writer_waits_for_a_slow_reader(void)
{
    enum { COUNT = 2000, SIZE = 20000 };
    struct fixture f, slow;
    struct reader r = {0};
    struct outcome o = {0};
    begin(&f);
    fixture_begin(&slow);
    snprintf(slow.address, sizeof slow.address, "%s", f.address);
    fixture_connect(&slow, 0);
    start(&slow, &r, "/t.T/Many", "2000 20000");
    /* Its request leaves only when its loop turns after the connection is there. */
    int64_t end = tf_clock_read().mono.ms + PATIENCE_MS;
    while (atomic_load(&written) == 0 && tf_clock_read().mono.ms < end)
        tf_loop_turn(slow.loop, 1);
    for (int before = -1, same = 0; same < 20 && tf_clock_read().mono.ms < end;) {
        ask(&f, &o, "/t.T/Echo", "the loop is free meanwhile", PATIENCE_MS);
        int now = atomic_load(&written);
        same = now == before ? same + 1 : 0;
        before = now;
        tf_loop_turn(f.loop, 5);
    }
    CU_ASSERT_TRUE(atomic_load(&written) < COUNT);
    end = tf_clock_read().mono.ms + PATIENCE_MS;
    while (!r.ended && tf_clock_read().mono.ms < end)
        tf_loop_turn(slow.loop, 10);
    CU_ASSERT_EQUAL(r.messages, COUNT);
    CU_ASSERT_EQUAL(r.error.code, TF_OK);
    outcome_release(&o);
    fixture_end(&slow);
    fixture_end(&f);
}

static void test_writer_learns_that_the_reader_is_gone(void)
{
    struct fixture f;
    struct reader r = {.stop_after = 5};
    begin(&f);
    start(&f, &r, "/t.T/Many", "100000000 1000");
    TURN_UNTIL(&f, atomic_load(&failed) == 1);
    CU_ASSERT_EQUAL(r.messages, 5);
    CU_ASSERT_EQUAL(r.ended, 0);
    TURN_UNTIL(&f, tf_server_calls(f.server) == 0);
    fixture_end(&f);
}

static void test_threads_are_bounded_and_end_with_the_server(void)
{
    struct fixture f;
    struct reader r[4] = {{0}};
    begin(&f);
    for (int i = 0; i < 3; i++)
        start(&f, &r[i], "/t.T/Wait", "x");
    TURN_UNTIL(&f, atomic_load(&wakes) == 3);
    start(&f, &r[3], "/t.T/Wait", "x");
    TURN_UNTIL(&f, r[3].ended);
    CU_ASSERT_EQUAL(r[3].error.code, TF_ERR_UNAVAILABLE);
    CU_ASSERT_TRUE(strstr(r[3].error.text, "3 such calls") != NULL);
    struct reader other = {0}; /* each method has its own */
    start(&f, &other, "/t.T/Many", "5 5");
    TURN_UNTIL(&f, other.ended);
    CU_ASSERT_EQUAL(other.error.code, TF_OK);
    tf_server_destroy(f.server);
    f.server = NULL;
    CU_ASSERT_EQUAL(atomic_load(&wakes), 0);
    for (int i = 0; i < 3; i++)
        TURN_UNTIL(&f, r[i].ended);
    fixture_end(&f);
}

static void open_writer(struct fixture *f, struct reader *r, const char *method)
{
    r->stream = tf_stream_open(f->channel, method, TF_RPC_NO_TIMEOUT, &events, r);
}

static void say(struct reader *r, const char *text)
{
    struct tf_buf body = text_body(text);
    tf_stream_write(r->stream, &body);
}

static void test_reads(void)
{
    struct fixture f;
    struct reader r = {0};
    begin(&f);
    open_writer(&f, &r, "/t.T/Read");
    for (int i = 0; i < 1000; i++)
        say(&r, "four");
    tf_stream_half_close(r.stream);
    TURN_UNTIL(&f, r.ended);
    CU_ASSERT_EQUAL(r.error.code, TF_OK);
    CU_ASSERT_EQUAL(r.messages, 1);
    CU_ASSERT_EQUAL(atomic_load(&messages), 1000);
    CU_ASSERT_EQUAL(atomic_load(&bytes_read), 4000);
    r = (struct reader){0}; /* none at all */
    atomic_store(&messages, 0);
    open_writer(&f, &r, "/t.T/Read");
    tf_stream_half_close(r.stream);
    TURN_UNTIL(&f, r.ended);
    CU_ASSERT_EQUAL(r.error.code, TF_OK);
    CU_ASSERT_EQUAL(atomic_load(&messages), 0);
    fixture_end(&f);
}

/* The server's loop stands still while they come. */
static void test_reads_past_the_loop(void)
{
    struct fixture f, client;
    struct reader r = {0};
    begin(&f);
    fixture_begin(&client);
    snprintf(client.address, sizeof client.address, "%s", f.address);
    fixture_connect(&client, 0);
    open_writer(&client, &r, "/t.T/Read");
    for (int i = 0; i < 1000; i++)
        say(&r, "four");
    tf_stream_half_close(r.stream);
    TURN_UNTIL(&client, r.ended);
    CU_ASSERT_EQUAL(r.error.code, TF_OK);
    CU_ASSERT_EQUAL(atomic_load(&messages), 1000);
    fixture_end(&client);
    fixture_end(&f);
}

static void test_reads_in_time(void)
{
    struct fixture f;
    struct reader r = {0};
    begin(&f);
    open_writer(&f, &r, "/t.T/Impatient");
    TURN_UNTIL(&f, atomic_load(&timeouts) >= 2);
    say(&r, "late"); /* is not lost, whichever read was waiting */
    TURN_UNTIL(&f, r.ended);
    CU_ASSERT_EQUAL(atomic_load(&messages), 1);
    CU_ASSERT_EQUAL(r.error.code, TF_ERR_TIMEOUT);
    /* The handler has left while a receive was under way, and the client kept its half open. */
    TURN_UNTIL(&f, tf_server_calls(f.server) == 0);
    fixture_end(&f);
}

static void check_reader_gone(struct fixture *f)
{
    TURN_UNTIL(f, atomic_load(&last_read) != -2);
    CU_ASSERT_EQUAL(atomic_load(&last_read), -1);
    CU_ASSERT_EQUAL(atomic_load(&last_code), TF_ERR_UNAVAILABLE);
}

static void test_readers_learn_that_the_writer_is_gone(void)
{
    struct fixture f;
    struct reader r = {0};
    begin(&f);
    open_writer(&f, &r, "/t.T/Read");
    say(&r, "one");
    TURN_UNTIL(&f, atomic_load(&messages) == 1);
    tf_stream_cancel(r.stream);
    check_reader_gone(&f);
    TURN_UNTIL(&f, tf_server_calls(f.server) == 0);

    atomic_store(&last_read, -2);
    atomic_store(&messages, 0);
    open_writer(&f, &r, "/t.T/Read");
    say(&r, "one");
    TURN_UNTIL(&f, atomic_load(&messages) == 1);
    tf_thread_call_cancel(atomic_load(&reading_call)); /* from another thread */
    check_reader_gone(&f);
    TURN_UNTIL(&f, r.ended);
    CU_ASSERT_NOT_EQUAL(r.error.code, TF_OK);
    TURN_UNTIL(&f, tf_server_calls(f.server) == 0);

    atomic_store(&last_read, -2);
    atomic_store(&messages, 0);
    r = (struct reader){0};
    open_writer(&f, &r, "/t.T/Read");
    say(&r, "one");
    TURN_UNTIL(&f, atomic_load(&messages) == 1);
    tf_server_destroy(f.server);
    f.server = NULL;
    check_reader_gone(&f);
    TURN_UNTIL(&f, r.ended);
    fixture_end(&f);
}

static const struct suite_test tests[] = {
    {"messages and end", test_messages_and_end},
    {"writer waits for a slow reader", test_writer_waits_for_a_slow_reader},
    {"writer learns that the reader is gone", test_writer_learns_that_the_reader_is_gone},
    {"threads are bounded and end with the server", test_threads_are_bounded_and_end_with_the_server},
    {"reads", test_reads},
    {"reads past the loop", test_reads_past_the_loop},
    {"reads in time", test_reads_in_time},
    {"readers learn that the writer is gone", test_readers_learn_that_the_writer_is_gone},
};

int main(void)
{
    return suite_run("threads", tests, TF_ARRAY_LEN(tests));
}
