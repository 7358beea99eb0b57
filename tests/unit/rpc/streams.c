/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rpc/fixture.h"

enum { MESSAGES = 2000 };

/* One end, as the tests look at it. */
struct end {
    struct tf_stream *stream; /* NULL once it is over */
    int opened, messages, drained, half_closed, ended;
    bool echoes, finishes_on_half_close, checks_order;
    struct tf_error error;
    struct tf_buf last, details;
};

static void end_release(struct end *e)
{
    tf_buf_release(&e->last);
    tf_buf_release(&e->details);
}

static void on_message(void *arg, struct tf_stream *stream, struct tf_bytes body)
{
    struct end *e = arg;
    CU_ASSERT_PTR_EQUAL(stream, e->stream);
    tf_buf_clear(&e->last);
    tf_buf_add(&e->last, body.data, body.len);
    if (e->checks_order) {
        char wanted[16];
        snprintf(wanted, sizeof wanted, "%d", e->messages);
        CU_ASSERT_STRING_EQUAL(tf_buf_text(&e->last), wanted);
    }
    e->messages++;
    if (e->echoes) {
        struct tf_buf reply = body_of(body.data, body.len);
        tf_stream_write(stream, &reply);
    }
}

static void on_half_closed(void *arg, struct tf_stream *stream)
{
    struct end *e = arg;
    e->half_closed++;
    if (e->finishes_on_half_close) {
        tf_stream_finish(stream, NULL, (struct tf_bytes){NULL, 0});
        e->stream = NULL;
    }
}

static void on_drained(void *arg, struct tf_stream *stream)
{
    (void)stream;
    ((struct end *)arg)->drained++;
}

static void on_ended(void *arg, struct tf_stream *stream, const struct tf_error *error,
                     struct tf_bytes details)
{
    struct end *e = arg;
    CU_ASSERT_PTR_EQUAL(stream, e->stream);
    e->stream = NULL;
    e->ended++;
    e->error = *error;
    tf_buf_add(&e->details, details.data, details.len);
}

static const struct tf_stream_events events = {
    .message = on_message,
    .half_closed = on_half_closed,
    .drained = on_drained,
    .ended = on_ended,
};

static void on_open(void *arg, struct tf_stream *stream)
{
    struct end *e = arg;
    e->stream = stream;
    e->opened++;
    tf_stream_accept(stream, &events, e);
}

static void begin(struct fixture *f, struct end *server)
{
    fixture_begin(f);
    fixture_bind(f, (struct tf_server_limits){.stream_queue_max = 100000});
    tf_server_stream(f->server, "/t.T/Stream", on_open, server);
    tf_server_start(f->server);
    fixture_connect(f, 0);
}

static void open_stream(struct fixture *f, struct end *client)
{
    client->stream = tf_stream_open(f->channel, "/t.T/Stream", TF_RPC_NO_TIMEOUT, &events, client);
}

static void say(struct end *e, const char *text)
{
    struct tf_buf body = text_body(text);
    tf_stream_write(e->stream, &body);
}

static void say_numbers(struct end *e)
{
    for (int i = 0; i < MESSAGES; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        say(e, text);
    }
}

static void test_both_ways_until_half_close(void)
{
    struct fixture f;
    struct end server = {.echoes = true, .finishes_on_half_close = true, .checks_order = true};
    struct end client = {.checks_order = true};
    begin(&f, &server);
    open_stream(&f, &client);
    say_numbers(&client);
    tf_stream_half_close(client.stream);
    TURN_UNTIL(&f, client.ended);
    CU_ASSERT_EQUAL(client.error.code, TF_OK);
    CU_ASSERT_EQUAL(server.messages, MESSAGES);
    CU_ASSERT_EQUAL(client.messages, MESSAGES);
    CU_ASSERT_EQUAL(server.half_closed, 1);
    CU_ASSERT_EQUAL(server.ended, 0); /* it finished by itself */
    CU_ASSERT_TRUE(client.drained > 0);
    TURN_UNTIL(&f, tf_server_calls(f.server) == 0);
    end_release(&server);
    end_release(&client);
    fixture_end(&f);
}

static void test_server_speaks_first_and_finishes(void)
{
    struct fixture f;
    struct end server = {0}, client = {.checks_order = true};
    begin(&f, &server);
    open_stream(&f, &client);
    TURN_UNTIL(&f, server.opened);
    CU_ASSERT_TRUE(strstr(tf_stream_peer(server.stream), "127.0.0.1") != NULL);
    say_numbers(&server);
    tf_stream_finish(server.stream, NULL, (struct tf_bytes){NULL, 0});
    TURN_UNTIL(&f, client.ended);
    CU_ASSERT_EQUAL(client.error.code, TF_OK);
    CU_ASSERT_EQUAL(client.messages, MESSAGES); /* all came before the end */
    end_release(&server);
    end_release(&client);
    fixture_end(&f);
}

static void refuse(void *arg, struct tf_stream *stream)
{
    (void)arg;
    struct tf_error error = TF_ERROR_INIT;
    tf_error_set(&error, TF_ERR_CONFLICT, "another subcluster of that name is attached");
    tf_stream_finish(stream, &error, (struct tf_bytes){"\0why", 4});
}

static void test_refused_at_once(void)
{
    struct fixture f;
    struct end client = {0};
    fixture_begin(&f);
    fixture_bind(&f, (struct tf_server_limits){0});
    tf_server_stream(f.server, "/t.T/Stream", refuse, NULL);
    tf_server_start(f.server);
    fixture_connect(&f, 0);
    open_stream(&f, &client);
    say(&client, "hello");
    TURN_UNTIL(&f, client.ended);
    CU_ASSERT_EQUAL(client.error.code, TF_ERR_CONFLICT);
    CU_ASSERT_STRING_EQUAL(client.error.text, "another subcluster of that name is attached");
    CU_ASSERT_TRUE(client.details.len == 4 && memcmp(client.details.data, "\0why", 4) == 0);
    end_release(&client);
    TURN_UNTIL(&f, tf_server_calls(f.server) == 0);
    fixture_end(&f);
}

static void test_client_cancels(void)
{
    struct fixture f;
    struct end server = {0}, client = {0};
    begin(&f, &server);
    open_stream(&f, &client);
    say(&client, "hello");
    TURN_UNTIL(&f, server.messages == 1);
    tf_stream_cancel(client.stream);
    TURN_UNTIL(&f, server.ended == 1);
    CU_ASSERT_EQUAL(server.error.code, TF_ERR_UNAVAILABLE);
    CU_ASSERT_TRUE(strstr(server.error.text, "went away") != NULL);
    CU_ASSERT_EQUAL(server.half_closed, 0); /* what breaks is not what ends in order */
    CU_ASSERT_EQUAL(client.ended, 0);
    end_release(&server);
    end_release(&client);
    fixture_end(&f);
}

/* Nothing more is read while paused, at most the one message that was under way; then all, in order. */
static void test_pause(void)
{
    struct fixture f;
    struct end server = {.checks_order = true, .finishes_on_half_close = true}, client = {0};
    begin(&f, &server);
    open_stream(&f, &client);
    TURN_UNTIL(&f, server.opened == 1);
    tf_stream_pause(server.stream);
    say_numbers(&client);
    tf_stream_half_close(client.stream);
    TURN_UNTIL(&f, server.messages == 1);
    for (int i = 0; i < 20; i++)
        tf_loop_turn(f.loop, 10);
    CU_ASSERT_EQUAL(server.messages, 1);
    CU_ASSERT_EQUAL(server.half_closed, 0);
    tf_stream_resume(server.stream);
    TURN_UNTIL(&f, client.ended == 1);
    CU_ASSERT_EQUAL(server.messages, MESSAGES);
    CU_ASSERT_EQUAL(server.half_closed, 1);
    CU_ASSERT_EQUAL(client.error.code, TF_OK);

    open_stream(&f, &client); /* paused, it still hears of the end */
    TURN_UNTIL(&f, server.opened == 2);
    tf_stream_pause(server.stream);
    tf_stream_cancel(client.stream);
    TURN_UNTIL(&f, server.ended == 1);
    end_release(&server);
    end_release(&client);
    fixture_end(&f);
}

static void test_server_cancels(void)
{
    struct fixture f;
    struct end server = {0}, client = {0};
    begin(&f, &server);
    open_stream(&f, &client);
    TURN_UNTIL(&f, server.opened);
    tf_stream_cancel(server.stream);
    TURN_UNTIL(&f, client.ended == 1);
    CU_ASSERT_NOT_EQUAL(client.error.code, TF_OK);
    TURN_UNTIL(&f, tf_server_calls(f.server) == 0);
    end_release(&server);
    end_release(&client);
    fixture_end(&f);
}

static void test_server_goes_away(void)
{
    struct fixture f;
    struct end server = {0}, client = {0};
    begin(&f, &server);
    open_stream(&f, &client);
    TURN_UNTIL(&f, server.opened);
    tf_server_destroy(f.server);
    f.server = NULL;
    CU_ASSERT_EQUAL(server.ended, 1);
    TURN_UNTIL(&f, client.ended == 1);
    CU_ASSERT_EQUAL(client.error.code, TF_ERR_UNKNOWN);
    for (int ends = 2; client.error.code == TF_ERR_UNKNOWN; ends++) { /* may take a moment to be seen */
        open_stream(&f, &client);
        TURN_UNTIL(&f, client.ended == ends);
    }
    CU_ASSERT_EQUAL(client.error.code, TF_ERR_UNAVAILABLE);
    end_release(&server);
    end_release(&client);
    fixture_end(&f);
}

static void test_unknown_method(void)
{
    struct fixture f;
    struct end server = {0}, client = {0};
    begin(&f, &server);
    client.stream = tf_stream_open(f.channel, "/t.T/Nope", TF_RPC_NO_TIMEOUT, &events, &client);
    say(&client, "hello");
    TURN_UNTIL(&f, client.ended);
    CU_ASSERT_EQUAL(client.error.code, TF_ERR_REFUSED);
    end_release(&server);
    end_release(&client);
    fixture_end(&f);
}

static void test_deadline(void)
{
    struct fixture f;
    struct end server = {0}, client = {0};
    begin(&f, &server);
    client.stream = tf_stream_open(f.channel, "/t.T/Stream", 300, &events, &client);
    TURN_UNTIL(&f, client.ended);
    CU_ASSERT_EQUAL(client.error.code, TF_ERR_TIMEOUT);
    if (server.opened) /* on a very slow machine the time may be over before it arrives */
        TURN_UNTIL(&f, server.ended);
    end_release(&server);
    end_release(&client);
    fixture_end(&f);
}

/* The reader's loop stands still, so its one message is not taken: the writer's queue grows to the limit, and
 * the reader, when it comes back, gets what was on its way and then the reason. */
static void test_slow_reader_is_cut_off(void)
{
    struct fixture f, slow;
    struct end server = {0}, client = {0};
    begin(&f, &server);
    fixture_begin(&slow);
    snprintf(slow.address, sizeof slow.address, "%s", f.address);
    fixture_connect(&slow, 0);
    open_stream(&slow, &client);
    TURN_UNTIL(&f, server.opened);
    char *bytes = tf_calloc(1, 20000);
    size_t queued = 0;
    int written = 0;
    for (; queued <= tf_stream_queue_max(server.stream) && written < 10000; written++) {
        struct tf_buf body = body_of(bytes, 20000);
        queued = tf_stream_write(server.stream, &body);
        tf_loop_turn(f.loop, 0);
    }
    free(bytes);
    CU_ASSERT_TRUE(queued > 100000 && written < 10000);
    CU_ASSERT_TRUE(tf_stream_queued(server.stream) <= queued);
    struct tf_error error = TF_ERROR_INIT;
    tf_error_set(&error, TF_ERR_REFUSED, "too slow: %zu bytes waited", queued);
    tf_stream_finish(server.stream, &error, (struct tf_bytes){NULL, 0});
    int64_t end = tf_clock_read().mono.ms + PATIENCE_MS;
    while (!client.ended && tf_clock_read().mono.ms < end) {
        tf_loop_turn(slow.loop, 1);
        tf_loop_turn(f.loop, 1);
    }
    CU_ASSERT_EQUAL(client.error.code, TF_ERR_REFUSED);
    CU_ASSERT_TRUE(client.messages < written);
    CU_ASSERT_STRING_EQUAL(client.error.text, error.text);
    end_release(&server);
    end_release(&client);
    fixture_end(&slow);
    fixture_end(&f);
}

/* ---- the blocking form ---- */

static void push_three(void *arg, struct tf_stream *stream)
{
    on_open(arg, stream);
    for (int i = 0; i < 3; i++) {
        struct tf_buf body = text_body("abc");
        tf_stream_write(stream, &body);
    }
    tf_stream_finish(stream, NULL, (struct tf_bytes){NULL, 0});
}

static bool count_answers(void *arg, struct tf_bytes body)
{
    CU_ASSERT_EQUAL(body.len, 3);
    int *left = arg;
    return --*left > 0;
}

static void test_waiting_for_answers(void)
{
    struct fixture f;
    struct end server = {0};
    fixture_begin(&f);
    fixture_bind(&f, (struct tf_server_limits){0});
    tf_server_stream(f.server, "/t.T/Three", push_three, &server);
    tf_server_stream(f.server, "/t.T/Refuse", refuse, NULL);
    tf_server_start(f.server);
    fixture_connect(&f, 0);
    struct tf_error err = TF_ERROR_INIT;
    for (int enough = 2; enough <= 4; enough += 2) { /* stops early, and reads to the end */
        int left = enough;
        struct tf_buf request = text_body("x");
        CU_ASSERT_EQUAL(
            tf_stream_wait(f.channel, "/t.T/Three", &request, PATIENCE_MS, count_answers, &left, NULL, &err),
            0);
        CU_ASSERT_EQUAL(left, enough == 2 ? 0 : 1);
    }
    TF_AUTO_BUF details = TF_BUF_INIT;
    int left = 1;
    struct tf_buf request = text_body("x");
    CU_ASSERT_EQUAL(
        tf_stream_wait(f.channel, "/t.T/Refuse", &request, PATIENCE_MS, count_answers, &left, &details, &err),
        -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_CONFLICT);
    CU_ASSERT_EQUAL(details.len, 4);
    end_release(&server);
    fixture_end(&f);
}

static const struct suite_test tests[] = {
    {"both ways until half close", test_both_ways_until_half_close},
    {"server speaks first and finishes", test_server_speaks_first_and_finishes},
    {"refused at once", test_refused_at_once},
    {"client cancels", test_client_cancels},
    {"pause and resume", test_pause},
    {"server cancels", test_server_cancels},
    {"server goes away", test_server_goes_away},
    {"unknown method", test_unknown_method},
    {"deadline", test_deadline},
    {"slow reader is cut off", test_slow_reader_is_cut_off},
    {"waiting for answers", test_waiting_for_answers},
};

int main(void)
{
    return suite_run("streams", tests, TF_ARRAY_LEN(tests));
}
