/* SPDX-License-Identifier: Apache-2.0 */
/* The store dies, hangs, comes back: clients get an answer in time that says what is wrong, and nothing that
 * was acknowledged is lost. */
#include "common/base/cleanup.h"
#include "tests/support/fedd/bench.h"
#include "tests/support/suite.h"

static struct bench b;

enum { ASK_MS = 5000, SHORT_MS = 1500 };

/* A person must see what does not answer, and what to do. */
static void check_advice(const struct tf_error *err)
{
    CU_ASSERT_PTR_NOT_NULL(strstr(err->text, "store"));
    bool advised = strstr(err->text, "repeat") || strstr(err->text, "again") || strstr(err->text, "etcd");
    CU_ASSERT_TRUE(advised);
    if (!advised || !strstr(err->text, "store"))
        fprintf(stderr, "%s\n", err->text);
}

/* Before the lease has run out the leader still accepts, and cannot confirm; afterwards it refuses. */
static void check_clients(void)
{
    struct tf_error err;
    struct tf_reply reply = {0};
    struct tf_request list = {.method = TF_METHOD_LIST}, status = {.method = TF_METHOD_STATUS};
    enum tf_error_code code = bench_submit(&b, 0, "during", 2, SHORT_MS, &err);
    CU_ASSERT_TRUE(code == TF_ERR_UNKNOWN || code == TF_ERR_UNAVAILABLE);
    check_advice(&err);
    bench_pass(&b, 1500); /* longer than the lease */
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "during", 2, SHORT_MS, &err), TF_ERR_UNAVAILABLE);
    check_advice(&err);
    CU_ASSERT_EQUAL(bench_ask(&b, 0, &list, SHORT_MS, NULL, NULL, &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_UNAVAILABLE);
    check_advice(&err);
    CU_ASSERT_EQUAL_FATAL(bench_ask(&b, 0, &status, SHORT_MS, &reply, NULL, NULL), 0);
    CU_ASSERT_FALSE(reply.status.leads);
    CU_ASSERT_STRING_NOT_EQUAL(reply.status.store, "ok");
    tf_reply_release(&reply);
}

static void check_after(void)
{
    struct tf_job_view job = {0};
    bench_wait_leads(&b, 0);
    CU_ASSERT_TRUE(bench_get(&b, 0, "before", &job));
    tf_job_view_release(&job);
    /* repeated as told */
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "during", 2, ASK_MS, NULL), TF_OK);
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "after", 3, ASK_MS, NULL), TF_OK);
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    bench_one_leader(&b);
    CU_ASSERT_TRUE(bench_get(&b, 0, "during", &job));
    tf_job_view_release(&job);
}

static void test_dead(void)
{
    if (!bench_open(&b, NULL, 0))
        return;
    bench_one_leader(&b);
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "before", 1, ASK_MS, NULL), TF_OK);
    test_etcd_kill(b.etcd);
    check_clients();
    CU_ASSERT_TRUE_FATAL(test_etcd_restart(b.etcd));
    check_after();
    bench_close(&b);
}

static void test_frozen(void)
{
    if (!bench_open(&b, NULL, 0))
        return;
    bench_one_leader(&b);
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "before", 1, ASK_MS, NULL), TF_OK);
    test_etcd_freeze(b.etcd);
    check_clients();
    test_etcd_thaw(b.etcd);
    check_after();
    bench_close(&b);
}

/* It comes up without a store, says so, and works as soon as there is one. */
static void test_dead_at_start(void)
{
    struct tf_error err;
    if (!bench_open(&b, NULL, 0))
        return;
    test_etcd_kill(b.etcd);
    bench_start(&b, 0);
    CU_ASSERT_TRUE(bench_wait_log(&b, 0, "the store cannot be used"));
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "one", 1, SHORT_MS, &err), TF_ERR_UNAVAILABLE);
    check_advice(&err);
    CU_ASSERT_TRUE_FATAL(test_etcd_restart(b.etcd));
    bench_wait_leads(&b, 0);
    CU_ASSERT_TRUE(bench_wait_log(&b, 0, "the store can be used again"));
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "one", 1, ASK_MS, NULL), TF_OK);
    bench_close(&b);
}

/* Also without a store it ends when it is told to. */
static void test_stop_without_store(void)
{
    if (!bench_open(&b, NULL, 0))
        return;
    bench_one_leader(&b);
    test_etcd_freeze(b.etcd);
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    test_etcd_thaw(b.etcd);
    bench_wait_log(&b, 0, "stopping");
    bench_one_leader(&b);
    test_etcd_kill(b.etcd);
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    bench_close(&b);
}

/* Killed right after each acknowledgement. */
static void test_acknowledged(void)
{
    enum { ROUNDS = 5 };
    static const char *const names[ROUNDS] = {"a", "b", "c", "d", "e"};
    struct tf_job_view job = {0};
    if (!bench_open(&b, NULL, 0))
        return;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        bench_one_leader(&b);
        CU_ASSERT_EQUAL(bench_submit(&b, 0, names[i], i + 1, ASK_MS, NULL), TF_OK);
        if (i > 0)
            CU_ASSERT_EQUAL(bench_change(&b, 0, TF_METHOD_HOLD, names[i - 1]), TF_OK);
        bench_kill(&b, 0);
    }
    bench_one_leader(&b);
    for (size_t i = 0; i < ROUNDS; i++) {
        CU_ASSERT_TRUE_FATAL(bench_get(&b, 0, names[i], &job));
        CU_ASSERT_EQUAL(job.held, i + 1 < ROUNDS);
        tf_job_view_release(&job);
    }
    bench_close(&b);
}

static const struct suite_test tests[] = {
    {"etcd dies", test_dead},
    {"etcd stands still", test_frozen},
    {"etcd is away at the start", test_dead_at_start},
    {"a polite end without a store", test_stop_without_store},
    {"acknowledged, then killed", test_acknowledged},
};

int main(void)
{
    return suite_run("fedd/store", tests, TF_ARRAY_LEN(tests));
}
