/* SPDX-License-Identifier: Apache-2.0 */
/* fedd passes a cordon of a node on to its subcluster, and says what that says; or that nobody knows. */
#include "common/base/cleanup.h"
#include "tests/support/fedd/cluster.h"
#include "tests/support/suite.h"

enum { ASK_MS = 20000, SHORT_MS = 1500 };

static struct bench b;
static struct fake fake;

static struct {
    bool done;
    struct tf_error error;
    struct tf_reply reply;
} answer;

static void on_answer(void *arg, const struct tf_error *error, struct tf_bytes body, struct tf_bytes details)
{
    (void)arg;
    (void)details;
    answer.done = true;
    answer.error = *error;
    if (error->code == TF_OK)
        CU_ASSERT_EQUAL(tf_wire_reply_unpack(TF_METHOD_CORDON_NODE, body.data, body.len, &answer.reply, NULL),
                        0);
}

static bool is_done(void *arg)
{
    (void)arg;
    return answer.done;
}

static void cordon(const char *cluster, int64_t timeout_ms)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct tf_request request = {.method = TF_METHOD_CORDON_NODE,
                                 .cordon = {.cluster = tf_strdup(cluster),
                                            .node = tf_strdup("n1"),
                                            .gpus = 0x11,
                                            .on = true,
                                            .reason = tf_strdup("XID 79")}};
    tf_reply_release(&answer.reply);
    answer.done = false;
    CU_ASSERT_EQUAL_FATAL(tf_wire_request_pack(&request, &bytes, NULL), 0);
    tf_request_release(&request);
    tf_unary_start(b.fedds[0].channel, tf_method_path(TF_METHOD_CORDON_NODE), &bytes, timeout_ms, on_answer,
                   NULL);
}

static void say(uint64_t id, enum tf_error_code code, const char *text)
{
    struct tf_up up = {.kind = TF_UP_ANSWER,
                       .answer = {.id = id, .code = (int32_t)code, .text = tf_strdup(text)}};
    fake_say(&fake, &up);
    CU_ASSERT_TRUE(bench_until(&b, is_done, NULL));
}

static bool begin(void)
{
    if (!bench_open_steady(&b, NULL, 0))
        return false;
    fake_join(&fake, &b);
    return true;
}

static void end(void)
{
    tf_reply_release(&answer.reply);
    fake_release(&fake);
    bench_close(&b);
}

static void test_done_and_refused(void)
{
    if (!begin())
        return;
    cordon("bj-a", ASK_MS);
    const struct tf_ask *ask = fake_wait_ask(&fake, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(ask);
    CU_ASSERT_EQUAL(ask->kind, TF_ASK_CORDON);
    CU_ASSERT_STRING_EQUAL(ask->node, "n1");
    CU_ASSERT_EQUAL(ask->gpus, 0x11);
    CU_ASSERT_TRUE(ask->on);
    CU_ASSERT_STRING_EQUAL(ask->reason, "XID 79");
    say(ask->id, TF_OK, "it stays unused");
    CU_ASSERT_EQUAL(answer.error.code, TF_OK);
    CU_ASSERT_EQUAL(answer.reply.change.outcome, TF_OUTCOME_DONE);
    CU_ASSERT_EQUAL_FATAL(answer.reply.change.warnings.count, 1);
    CU_ASSERT_STRING_EQUAL(answer.reply.change.warnings.items[0], "it stays unused");

    cordon("bj-a", ASK_MS);
    say(fake_wait_ask(&fake, 1)->id, TF_ERR_NOT_FOUND, "bj-a has no node n1");
    CU_ASSERT_EQUAL(answer.error.code, TF_ERR_NOT_FOUND);
    CU_ASSERT_STRING_EQUAL(answer.error.text, "bj-a has no node n1");
    end();
}

static void test_not_there(void)
{
    if (!begin())
        return;
    cordon("nowhere", ASK_MS);
    CU_ASSERT_TRUE(bench_until(&b, is_done, NULL));
    CU_ASSERT_EQUAL(answer.error.code, TF_ERR_NOT_FOUND);
    fake_leave(&fake);
    do {
        cordon("bj-a", SHORT_MS); /* the leader may not have noticed yet */
        CU_ASSERT_TRUE(bench_until(&b, is_done, NULL));
    } while (answer.error.code == TF_ERR_UNKNOWN);
    CU_ASSERT_EQUAL(answer.error.code, TF_ERR_REFUSED);
    CU_ASSERT_PTR_NOT_NULL(strstr(answer.error.text, "is not attached"));
    end();
}

/* Nobody can say whether it was done: in time, by a stream that broke, by a leader that stops. */
static void test_unknown(void)
{
    if (!begin())
        return;
    cordon("bj-a", SHORT_MS);
    uint64_t late = fake_wait_ask(&fake, 0)->id;
    CU_ASSERT_TRUE(bench_until(&b, is_done, NULL));
    CU_ASSERT_EQUAL(answer.error.code, TF_ERR_UNKNOWN);
    CU_ASSERT_PTR_NOT_NULL(strstr(answer.error.text, "has not confirmed the change in time"));
    say(late, TF_OK, NULL); /* ignored */

    cordon("bj-a", ASK_MS);
    fake_wait_ask(&fake, 1);
    fake_leave(&fake);
    CU_ASSERT_TRUE(bench_until(&b, is_done, NULL));
    CU_ASSERT_EQUAL(answer.error.code, TF_ERR_UNKNOWN);
    CU_ASSERT_PTR_NOT_NULL(strstr(answer.error.text, "went away before it confirmed"));

    fake_attach(&fake, 0);
    cordon("bj-a", ASK_MS);
    CU_ASSERT_PTR_NOT_NULL(fake_wait_ask(&fake, 0));
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    CU_ASSERT_TRUE(bench_until(&b, is_done, NULL));
    CU_ASSERT_EQUAL(answer.error.code, TF_ERR_UNKNOWN);
    end();
}

static const struct suite_test tests[] = {
    {"done and refused", test_done_and_refused},
    {"not there", test_not_there},
    {"of unknown outcome", test_unknown},
};

int main(void)
{
    return suite_run("fedd/cordon", tests, TF_ARRAY_LEN(tests));
}
