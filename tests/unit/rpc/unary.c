/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rpc/fixture.h"

/* ---- bodies and errors ---- */

static void test_bodies_of_all_sizes(void)
{
    struct fixture f;
    fixture_begin(&f);
    fixture_bind(&f, (struct tf_server_limits){0});
    tf_server_unary(f.server, "/t.T/Echo", echo, NULL);
    tf_server_start(f.server);
    fixture_connect(&f, 0);
    static const size_t sizes[] = {0, 1, 23, 24, 4096, 70000, TF_RPC_MESSAGE_MAX};
    for (size_t i = 0; i < TF_ARRAY_LEN(sizes); i++) {
        char *bytes = tf_malloc(sizes[i] + 1);
        for (size_t k = 0; k < sizes[i]; k++)
            bytes[k] = (char)(k * 7 + sizes[i]);
        struct tf_buf request = body_of(bytes, sizes[i]), reply = TF_BUF_INIT;
        struct tf_error err = TF_ERROR_INIT;
        CU_ASSERT_EQUAL(tf_unary_wait(f.channel, "/t.T/Echo", &request, PATIENCE_MS, &reply, NULL, &err), 0);
        CU_ASSERT_EQUAL(reply.len, sizes[i]);
        CU_ASSERT_TRUE(reply.len == sizes[i] && (sizes[i] == 0 || memcmp(reply.data, bytes, sizes[i]) == 0));
        CU_ASSERT_EQUAL(request.len, 0);
        tf_buf_release(&reply);
        free(bytes);
    }
    fixture_end(&f);
}

static struct tf_error planned_error;
static struct tf_bytes planned_details;

static void fail_as_planned(void *arg, struct tf_call *call, struct tf_bytes request)
{
    (void)arg;
    (void)request;
    tf_call_fail(call, &planned_error, planned_details);
}

static void test_errors_keep_code_text_and_details(void)
{
    struct fixture f;
    struct outcome o = {0};
    fixture_begin(&f);
    fixture_bind(&f, (struct tf_server_limits){0});
    tf_server_unary(f.server, "/t.T/Fail", fail_as_planned, NULL);
    tf_server_start(f.server);
    fixture_connect(&f, 0);
    for (int code = TF_ERR_INVALID; code <= TF_ERR_BUG; code++) {
        tf_error_set(&planned_error, (enum tf_error_code)code, "100 %% wrong:\n\"gr\xc3\xbc\xc3\x9f\" %d",
                     code);
        planned_details = (struct tf_bytes){"\0\xff\x01", 3};
        ask(&f, &o, "/t.T/Fail", "x", PATIENCE_MS);
        CU_ASSERT_EQUAL(o.error.code, (enum tf_error_code)code);
        CU_ASSERT_STRING_EQUAL(o.error.text, planned_error.text);
        CU_ASSERT_TRUE(o.details.len == 3 && memcmp(o.details.data, "\0\xff\x01", 3) == 0);
    }
    /* The longest there is must not push the status out. */
    char details[TF_RPC_DETAILS_MAX + 1];
    memset(details, 0xee, sizeof details);
    memset(planned_error.text, '%', sizeof planned_error.text - 1);
    planned_error.text[sizeof planned_error.text - 1] = 0;
    planned_details = (struct tf_bytes){details, TF_RPC_DETAILS_MAX};
    ask(&f, &o, "/t.T/Fail", "x", PATIENCE_MS);
    CU_ASSERT_EQUAL(o.error.code, TF_ERR_BUG);
    CU_ASSERT_STRING_EQUAL(o.error.text, planned_error.text);
    CU_ASSERT_EQUAL(o.details.len, TF_RPC_DETAILS_MAX);
    planned_details.len++;
    ask(&f, &o, "/t.T/Fail", "x", PATIENCE_MS);
    CU_ASSERT_EQUAL(o.error.code, TF_ERR_BUG);
    CU_ASSERT_EQUAL(o.details.len, 0);
    outcome_release(&o);
    fixture_end(&f);
}

/* ---- answers that come later ---- */

struct keeper {
    struct tf_call *calls[512];
    size_t count;
    int gone;
    int64_t left_ms;
    char peer[64];
};

static void on_gone(void *arg, struct tf_call *call)
{
    struct keeper *k = arg;
    CU_ASSERT_TRUE(tf_call_is_gone(call));
    k->gone++;
}

static void keep(void *arg, struct tf_call *call, struct tf_bytes request)
{
    struct keeper *k = arg;
    CU_ASSERT_TRUE_FATAL(k->count < TF_ARRAY_LEN(k->calls));
    CU_ASSERT_FALSE(tf_call_is_gone(call));
    CU_ASSERT_TRUE(request.len > 0);
    k->calls[k->count++] = call;
    k->left_ms = tf_call_deadline(call).ms - tf_clock_read().mono.ms;
    snprintf(k->peer, sizeof k->peer, "%s", tf_call_peer(call));
    tf_call_on_gone(call, on_gone, k);
}

static void answer_all(struct keeper *k)
{
    for (size_t i = 0; i < k->count; i++) {
        struct tf_buf body = text_body("late");
        tf_call_reply(k->calls[i], &body);
    }
    k->count = 0;
}

static void begin_keeper(struct fixture *f, struct keeper *k, struct tf_server_limits limits)
{
    *k = (struct keeper){.count = 0};
    fixture_begin(f);
    fixture_bind(f, limits);
    tf_server_unary(f->server, "/t.T/Keep", keep, k);
    tf_server_unary(f->server, "/t.T/Echo", echo, NULL);
    tf_server_start(f->server);
    fixture_connect(f, 0);
}

static void test_late_answer(void)
{
    struct fixture f;
    struct keeper k;
    struct outcome o = {0};
    begin_keeper(&f, &k, (struct tf_server_limits){0});
    struct tf_buf request = text_body("x");
    tf_unary_start(f.channel, "/t.T/Keep", &request, TF_RPC_NO_TIMEOUT, on_outcome, &o);
    TURN_UNTIL(&f, k.count == 1);
    CU_ASSERT_EQUAL(tf_call_deadline(k.calls[0]).ms, TF_NEVER.ms);
    CU_ASSERT_TRUE(strstr(k.peer, "127.0.0.1") != NULL);
    CU_ASSERT_EQUAL(tf_server_calls(f.server), 1);
    answer_all(&k);
    TURN_UNTIL(&f, o.calls == 1);
    CU_ASSERT_EQUAL(o.error.code, TF_OK);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&o.body), "late");
    CU_ASSERT_EQUAL(k.gone, 0);
    outcome_release(&o);
    TURN_UNTIL(&f, tf_server_calls(f.server) == 0);
    fixture_end(&f);
}

static void test_deadline_passes(void)
{
    struct fixture f;
    struct keeper k;
    struct outcome o = {0};
    begin_keeper(&f, &k, (struct tf_server_limits){0});
    ask(&f, &o, "/t.T/Echo", "connects", PATIENCE_MS);
    ask(&f, &o, "/t.T/Keep", "x", 300);
    CU_ASSERT_EQUAL(o.error.code, TF_ERR_TIMEOUT);
    CU_ASSERT_TRUE(strstr(o.error.text, "did not answer /t.T/Keep in time") != NULL);
    CU_ASSERT_TRUE(strstr(o.error.text, f.address) != NULL);
    TURN_UNTIL(&f, k.gone == 1);
    CU_ASSERT_TRUE(k.left_ms < 1000); /* gRPC rounds it up on its way */
    answer_all(&k);                   /* nobody wants it, and that is fine */
    ask(&f, &o, "/t.T/Echo", "still there", PATIENCE_MS);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&o.body), "still there");
    outcome_release(&o);
    fixture_end(&f);
}

static void test_cancel(void)
{
    struct fixture f;
    struct keeper k;
    struct outcome o = {0};
    begin_keeper(&f, &k, (struct tf_server_limits){0});
    struct tf_buf request = text_body("x");
    struct tf_unary *unary = tf_unary_start(f.channel, "/t.T/Keep", &request, PATIENCE_MS, on_outcome, &o);
    TURN_UNTIL(&f, k.count == 1);
    tf_unary_cancel(unary);
    TURN_UNTIL(&f, k.gone == 1);
    planned_error = (struct tf_error){.code = TF_ERR_BUG, .text = "x"};
    tf_call_fail(k.calls[0], &planned_error, (struct tf_bytes){NULL, 0});
    CU_ASSERT_EQUAL(o.calls, 0);
    outcome_release(&o);
    fixture_end(&f);
    CU_ASSERT_EQUAL(o.calls, 0);
}

static void test_many_in_flight(void)
{
    enum { MANY = 256 };
    struct fixture f;
    struct keeper k;
    static struct outcome outcomes[MANY];
    begin_keeper(&f, &k, (struct tf_server_limits){0});
    for (int i = 0; i < MANY; i++) {
        struct tf_buf request = text_body("x");
        tf_unary_start(f.channel, "/t.T/Keep", &request, PATIENCE_MS, on_outcome, &outcomes[i]);
    }
    TURN_UNTIL(&f, k.count == MANY);
    answer_all(&k);
    for (int i = 0; i < MANY; i++) {
        TURN_UNTIL(&f, outcomes[i].calls == 1);
        CU_ASSERT_EQUAL(outcomes[i].error.code, TF_OK);
        outcome_release(&outcomes[i]);
    }
    fixture_end(&f);
}

static int ended(const struct outcome *outcomes, int count)
{
    int n = 0;
    for (int i = 0; i < count; i++)
        n += outcomes[i].calls;
    return n;
}

static void test_calls_over_the_limit_are_refused_at_once(void)
{
    enum { MANY = 20, LIMIT = 8 };
    struct fixture f;
    struct keeper k;
    static struct outcome outcomes[MANY];
    begin_keeper(&f, &k, (struct tf_server_limits){.calls_max = LIMIT});
    for (int i = 0; i < MANY; i++) {
        struct tf_buf request = text_body("x");
        tf_unary_start(f.channel, "/t.T/Keep", &request, PATIENCE_MS, on_outcome, &outcomes[i]);
    }
    TURN_UNTIL(&f, k.count == LIMIT && ended(outcomes, MANY) == MANY - LIMIT);
    for (int i = 0; i < MANY; i++) {
        if (outcomes[i].calls == 0)
            continue;
        CU_ASSERT_EQUAL(outcomes[i].error.code, TF_ERR_UNAVAILABLE);
        CU_ASSERT_TRUE(strstr(outcomes[i].error.text, "8 calls in progress") != NULL);
    }
    answer_all(&k);
    for (int i = 0; i < MANY; i++) {
        TURN_UNTIL(&f, outcomes[i].calls == 1);
        outcome_release(&outcomes[i]);
    }
    struct outcome o = {0};
    TURN_UNTIL(&f, tf_server_calls(f.server) == 0);
    ask(&f, &o, "/t.T/Echo", "again", PATIENCE_MS);
    CU_ASSERT_EQUAL(o.error.code, TF_OK);
    outcome_release(&o);
    fixture_end(&f);
}

static void test_bytes_over_the_limit_are_refused(void)
{
    struct fixture f;
    struct keeper k;
    struct outcome first = {0}, second = {0};
    begin_keeper(&f, &k, (struct tf_server_limits){.request_bytes_max = 1000});
    char big[600];
    memset(big, 'b', sizeof big);
    struct tf_buf request = body_of(big, sizeof big);
    tf_unary_start(f.channel, "/t.T/Keep", &request, PATIENCE_MS, on_outcome, &first);
    TURN_UNTIL(&f, k.count == 1);
    request = body_of(big, sizeof big);
    tf_unary_start(f.channel, "/t.T/Echo", &request, PATIENCE_MS, on_outcome, &second);
    TURN_UNTIL(&f, second.calls == 1);
    CU_ASSERT_EQUAL(second.error.code, TF_ERR_UNAVAILABLE);
    CU_ASSERT_TRUE(strstr(second.error.text, "1000 bytes") != NULL);
    answer_all(&k);
    TURN_UNTIL(&f, first.calls == 1);
    CU_ASSERT_EQUAL(first.error.code, TF_OK);
    outcome_release(&first);
    outcome_release(&second);
    fixture_end(&f);
}

/* ---- stopping ---- */

static void on_stopped(void *arg)
{
    *(bool *)arg = true;
}

static void test_stop_lets_calls_end(void)
{
    struct fixture f;
    struct keeper k;
    struct outcome o = {0}, refused = {0};
    begin_keeper(&f, &k, (struct tf_server_limits){0});
    struct tf_buf request = text_body("x");
    tf_unary_start(f.channel, "/t.T/Keep", &request, PATIENCE_MS, on_outcome, &o);
    TURN_UNTIL(&f, k.count == 1);
    bool stopped = false;
    tf_server_stop(f.server, PATIENCE_MS, on_stopped, &stopped);
    ask(&f, &refused, "/t.T/Echo", "too late", PATIENCE_MS);
    CU_ASSERT_NOT_EQUAL(refused.error.code, TF_OK);
    CU_ASSERT_FALSE(stopped);
    answer_all(&k);
    TURN_UNTIL(&f, stopped);
    TURN_UNTIL(&f, o.calls == 1);
    CU_ASSERT_EQUAL(o.error.code, TF_OK);
    outcome_release(&o);
    outcome_release(&refused);
    fixture_end(&f);
}

static void test_stop_cancels_after_the_grace_and_answers_may_come_later(void)
{
    struct fixture f;
    struct keeper k;
    struct outcome o = {0};
    begin_keeper(&f, &k, (struct tf_server_limits){0});
    struct tf_buf request = text_body("x");
    tf_unary_start(f.channel, "/t.T/Keep", &request, PATIENCE_MS, on_outcome, &o);
    TURN_UNTIL(&f, k.count == 1);
    bool stopped = false;
    tf_server_stop(f.server, 20, on_stopped, &stopped);
    TURN_UNTIL(&f, stopped);
    CU_ASSERT_EQUAL(k.gone, 1);
    TURN_UNTIL(&f, o.calls == 1);
    CU_ASSERT_EQUAL(o.error.code, TF_ERR_UNKNOWN);
    tf_server_destroy(f.server);
    f.server = NULL;
    answer_all(&k);
    outcome_release(&o);
    fixture_end(&f);
}

static const struct suite_test tests[] = {
    {"bodies of all sizes", test_bodies_of_all_sizes},
    {"errors keep code, text and details", test_errors_keep_code_text_and_details},
    {"late answer", test_late_answer},
    {"deadline passes", test_deadline_passes},
    {"cancel", test_cancel},
    {"many in flight", test_many_in_flight},
    {"calls over the limit are refused at once", test_calls_over_the_limit_are_refused_at_once},
    {"bytes over the limit are refused", test_bytes_over_the_limit_are_refused},
    {"stop lets calls end", test_stop_lets_calls_end},
    {"stop cancels after the grace, and answers may come later",
     test_stop_cancels_after_the_grace_and_answers_may_come_later},
};

int main(void)
{
    return suite_run("unary", tests, TF_ARRAY_LEN(tests));
}
