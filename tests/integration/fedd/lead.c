/* SPDX-License-Identifier: Apache-2.0 */
/* Two fedd on one store: one leads, the other stands by, and takes over when the first dies, stops, or stands
 * still for longer than its lease. What was acknowledged survives. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tests/support/fedd/cluster.h"
#include "tests/support/process.h"
#include "tests/support/suite.h"

static struct bench b;

enum { ASK_MS = 5000, LEASE_MS = 1000 };

static bool set_up(void)
{
    if (!bench_open(&b, NULL, 0))
        return false;
    bench_one_leader(&b);
    bench_start(&b, 1);
    CU_ASSERT_TRUE(bench_wait_log(&b, 1, "standing by"));
    return true;
}

/* ---- a client that never stops submitting, to whoever leads ---- */

enum { SUBMITS = 2000, IN_FLIGHT = 8 };

static struct {
    uint64_t next;
    bool acknowledged[SUBMITS];
    size_t count, repeats;
    size_t fedd; /* asked next */
    bool stop;
    size_t under_way;
} load;

struct submit {
    uint64_t number;
    size_t fedd; /* that was asked */
    struct tf_timer again;
};
static struct submit submits[IN_FLIGHT];

static void submit_send(struct submit *s);

static void submit_next(struct submit *s)
{
    if (load.stop || load.next == SUBMITS) {
        load.under_way--;
        return;
    }
    s->number = load.next++;
    submit_send(s);
}

static void on_again(struct tf_timer *timer)
{
    submit_send(TF_CONTAINER_OF(timer, struct submit, again));
}

static void on_submitted(void *arg, const struct tf_error *error, struct tf_bytes body,
                         struct tf_bytes details)
{
    struct submit *s = arg;
    (void)body, (void)details;
    if (error->code == TF_OK) {
        load.acknowledged[s->number] = true;
        load.count++;
        submit_next(s);
        return;
    }
    bool may_repeat =
        error->code == TF_ERR_UNAVAILABLE || error->code == TF_ERR_UNKNOWN || error->code == TF_ERR_TIMEOUT;
    CU_ASSERT_TRUE(may_repeat);
    load.repeats++;
    load.fedd = 1 - s->fedd;
    struct tf_mono at = {tf_loop_now(b.loop).mono.ms + 20};
    tf_timer_start(b.loop, &s->again, at, on_again);
}

static void submit_send(struct submit *s)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct tf_request request = {.method = TF_METHOD_SUBMIT, .submit.uid = bench_uid(s->number + 1)};
    TF_AUTO_FREE char *name = tf_asprintf("job-%04d", (int)s->number);
    bench_manifest(&request.submit.manifest, name, 1);
    CU_ASSERT_EQUAL_FATAL(tf_wire_request_pack(&request, &bytes, NULL), 0);
    tf_request_release(&request);
    s->fedd = load.fedd;
    tf_unary_start(b.fedds[s->fedd].channel, tf_method_path(TF_METHOD_SUBMIT), &bytes, ASK_MS, on_submitted,
                   s);
}

static void load_start(void)
{
    memset(&load, 0, sizeof load);
    load.under_way = IN_FLIGHT;
    for (size_t i = 0; i < IN_FLIGHT; i++)
        submit_next(&submits[i]);
}

static bool load_ended(void *arg)
{
    (void)arg;
    return load.under_way == 0;
}

static bool has_more(void *arg)
{
    const size_t *wanted = arg;
    return load.count >= *wanted || load.under_way == 0;
}

static void load_more(size_t more)
{
    size_t wanted = load.count + more;
    CU_ASSERT_TRUE(bench_until(&b, has_more, &wanted));
}

/* Every acknowledged job is there. */
static void load_check(size_t leader)
{
    struct tf_request request = {.method = TF_METHOD_LIST, .list.page_size = TF_PAGE_MAX};
    size_t acknowledged = 0, found = 0;
    load.stop = true;
    CU_ASSERT_TRUE(bench_until(&b, load_ended, NULL));
    do {
        struct tf_reply reply = {0};
        CU_ASSERT_EQUAL_FATAL(bench_ask(&b, leader, &request, ASK_MS, &reply, NULL, NULL), 0);
        tf_vec_each (job, &reply.list.jobs) {
            long number = strtol(job->manifest.name + strlen("job-"), NULL, 10);
            found += tf_starts_with(job->manifest.name, "job-") && load.acknowledged[number];
        }
        tf_str_set(&request.list.page_token, reply.list.next_token);
        tf_reply_release(&reply);
    } while (request.list.page_token);
    for (size_t i = 0; i < SUBMITS; i++)
        acknowledged += load.acknowledged[i];
    CU_ASSERT_EQUAL(found, acknowledged);
    CU_ASSERT_EQUAL(acknowledged, load.count);
    printf("(%zu acknowledged, %zu repeated) ", load.count, load.repeats);
}

/* ---- tests ---- */

static void test_standby(void)
{
    struct tf_error err = TF_ERROR_INIT;
    struct tf_error_detail detail = {0};
    struct tf_request list = {.method = TF_METHOD_LIST};
    struct tf_reply reply = {0};
    if (!set_up())
        return;
    CU_ASSERT_EQUAL(bench_ask(&b, 1, &list, ASK_MS, NULL, &detail, &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_UNAVAILABLE);
    CU_ASSERT_STRING_EQUAL(detail.leader, b.fedds[0].address);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, b.fedds[0].address));
    tf_error_detail_release(&detail);
    struct tf_request status = {.method = TF_METHOD_STATUS};
    CU_ASSERT_EQUAL_FATAL(bench_ask(&b, 1, &status, ASK_MS, &reply, NULL, NULL), 0);
    CU_ASSERT_FALSE(reply.status.leads);
    CU_ASSERT_STRING_EQUAL(reply.status.leader, b.fedds[0].address);
    tf_reply_release(&reply);
    /* a subcluster, too, is told where to go */
    struct fake fake;
    fake_init(&fake, &b, "bj-a", 1);
    fake_dial(&fake, 1);
    CU_ASSERT_TRUE(fake_wait_ended(&fake));
    CU_ASSERT_EQUAL(fake.ended.code, TF_ERR_UNAVAILABLE);
    CU_ASSERT_PTR_NOT_NULL(strstr(fake.ended.text, b.fedds[0].address));
    fake_release(&fake);
    CU_ASSERT_EQUAL(bench_stop(&b, 1), 0); /* a standby ends politely as well */
    bench_close(&b);
}

static void take_over(const char *how, size_t to)
{
    int64_t begin = test_now_ms();
    bench_wait_leads(&b, to);
    printf("(%s: %lld ms, lease %d ms) ", how, (long long)(test_now_ms() - begin), LEASE_MS);
}

static void test_killed(void)
{
    if (!set_up())
        return;
    load_start();
    load_more(50);
    bench_kill(&b, 0);
    take_over("killed", 1);
    load_more(50);
    bench_start(&b, 0);
    CU_ASSERT_TRUE(bench_wait_log(&b, 0, "standing by"));
    bench_kill(&b, 1); /* and back */
    take_over("killed", 0);
    load_more(50);
    load_check(0);
    bench_close(&b);
}

/* A polite end gives the lead up at once. */
static void test_stopped(void)
{
    if (!set_up())
        return;
    load_start();
    load_more(50);
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    take_over("stopped", 1);
    load_more(50);
    load_check(1);
    bench_close(&b);
}

/* One that stood still does not know yet that it was replaced: it must not answer as if it led. */
static void test_frozen(void)
{
    struct tf_error err = TF_ERROR_INIT;
    struct tf_job_view job = {0};
    if (!set_up())
        return;
    load_start();
    load_more(50);
    bench_freeze(&b, 0);
    take_over("frozen", 1);
    CU_ASSERT_EQUAL(bench_submit(&b, 1, "late", 900001, ASK_MS, NULL), TF_OK);
    bench_thaw(&b, 0);
    struct tf_request get = {.method = TF_METHOD_GET, .job.uid = bench_uid(900001)};
    CU_ASSERT_EQUAL(bench_ask(&b, 0, &get, ASK_MS, NULL, NULL, &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_UNAVAILABLE); /* and not NOT_FOUND */
    CU_ASSERT_TRUE(bench_wait_log(&b, 0, "deposed"));
    load_more(50);
    load_check(1);
    CU_ASSERT_TRUE(bench_get(&b, 1, "late", &job));
    tf_job_view_release(&job);
    CU_ASSERT_EQUAL(bench_stop(&b, 1), 0);
    bench_wait_leads(&b, 0); /* it leads again when the other ends */
    CU_ASSERT_TRUE(bench_get(&b, 0, "late", &job));
    tf_job_view_release(&job);
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    bench_close(&b);
}

/* Placements go on under the next leader, with the same epoch. */
static void test_placement_survives(void)
{
    struct fake fake;
    struct tf_job_view job = {0};
    if (!set_up())
        return;
    fake_join(&fake, &b);
    fake_run_job(&fake, "one", 1);
    uint64_t epoch = fake_entry(&fake, TF_ENTRY_PLACE, 1)->epoch;
    bench_kill(&b, 0);
    bench_wait_leads(&b, 1);
    fake_attach(&fake, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fake_entry(&fake, TF_ENTRY_PLACE, 1));
    CU_ASSERT_EQUAL(fake_entry(&fake, TF_ENTRY_PLACE, 1)->epoch, epoch);
    CU_ASSERT_TRUE_FATAL(bench_get(&b, 1, "one", &job));
    CU_ASSERT_EQUAL(job.phase, TF_PHASE_RUNNING);
    tf_job_view_release(&job);
    fake_end(&fake, fake_entry(&fake, TF_ENTRY_PLACE, 1), TF_END_FINISHED);
    CU_ASSERT_TRUE(bench_wait_phase(&b, 1, "one", TF_PHASE_SUCCEEDED));
    fake_release(&fake);
    bench_close(&b);
}

static const struct suite_test tests[] = {
    {"a standby names the leader", test_standby},    {"the leader is killed", test_killed},
    {"the leader is stopped", test_stopped},         {"the leader stands still", test_frozen},
    {"placements survive", test_placement_survives},
};

int main(void)
{
    return suite_run("fedd/lead", tests, TF_ARRAY_LEN(tests));
}
