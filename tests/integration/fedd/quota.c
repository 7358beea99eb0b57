/* SPDX-License-Identifier: Apache-2.0 */
/* A store that fills up: a warning, then submits are refused with advice, work that runs is untouched. */
#include "common/base/base64.h"
#include "common/base/cleanup.h"
#include "tests/support/fedd/cluster.h"
#include "tests/support/suite.h"

static struct bench b;
static struct fake fake;

enum { ASK_MS = 5000, QUOTA = 8 << 20, CHUNK = 160 << 10 };

/* How full fedd believes the store to be. */
static int64_t percent(void)
{
    struct tf_request request = {.method = TF_METHOD_STATUS};
    struct tf_reply reply = {0};
    CU_ASSERT_EQUAL_FATAL(bench_ask(&b, 0, &request, ASK_MS, &reply, NULL, NULL), 0);
    int64_t quota = reply.status.store_quota, used = reply.status.store_bytes;
    tf_reply_release(&reply);
    return quota ? used * 100 / quota : 0;
}

static bool is_70(void *arg)
{
    (void)arg;
    return percent() >= 70;
}

static bool is_90(void *arg)
{
    (void)arg;
    return percent() >= 90;
}

static bool is_free(void *arg)
{
    (void)arg;
    return percent() < 70;
}

static unsigned number; /* of keys that are beside fedd's */

static void post(const char *path, const char *body)
{
    TF_AUTO_FREE char *command =
        tf_asprintf("curl -sf -o /dev/null %s/v3/%s -d '%s'", test_etcd_endpoint(b.etcd), path, body);
    CU_ASSERT_EQUAL(system(command), 0);
}

/* Fills the store past fedd, beside its keys, to so many percent and not much more: it counts what it has
 * written out, which it does when it has time, unless its hash is asked for; and any write may copy large
 * values that lie beside what it changes. */
static void fill(int64_t to)
{
    TF_AUTO_FREE char *data = tf_calloc(1, CHUNK);
    while (bench_store_used(&b) * 100 / QUOTA < to) {
        TF_AUTO_FREE char *key = tf_asprintf("../../other/%u", number++);
        bench_store_put(&b, key, data, CHUNK);
        post("maintenance/hash", "{}");
    }
}

static void empty(void)
{
    while (number > 0) {
        TF_AUTO_FREE char *key = tf_asprintf("../../other/%u", --number);
        bench_store_put(&b, key, NULL, 0);
    }
}

static void test_quota(void)
{
    struct tf_error err;
    if (!bench_open_steady(&b, NULL, QUOTA))
        return;
    fake_join(&fake, &b);
    fake_run_job(&fake, "one", 1);

    fill(71);
    CU_ASSERT_TRUE(bench_until(&b, is_70, NULL));
    CU_ASSERT_TRUE(percent() < 90);
    CU_ASSERT_TRUE(bench_wait_log(&b, 0, "% full: submits are refused from 90 %"));
    CU_ASSERT_TRUE(bench_log_has(&b, 0, "quota-backend-bytes"));
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "two", 2, ASK_MS, NULL), TF_OK);

    fill(91);
    CU_ASSERT_TRUE(bench_until(&b, is_90, NULL));
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "three", 3, ASK_MS, &err), TF_ERR_REFUSED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "quota-backend-bytes"));
    /* what was accepted goes on: a repeat is answered, work ends, jobs are deleted */
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "two", 2, ASK_MS, NULL), TF_OK);
    CU_ASSERT_EQUAL(bench_change(&b, 0, TF_METHOD_HOLD, "two"), TF_OK);
    CU_ASSERT_TRUE(bench_wait_phase(&b, 0, "one", TF_PHASE_RUNNING));
    fake_end(&fake, fake_entry(&fake, TF_ENTRY_PLACE, 1), TF_END_FINISHED);
    CU_ASSERT_TRUE(bench_wait_phase(&b, 0, "one", TF_PHASE_SUCCEEDED));
    CU_ASSERT_EQUAL(bench_change(&b, 0, TF_METHOD_DELETE, "one"), TF_OK);
    CU_ASSERT_TRUE(bench_wait_phase(&b, 0, "one", TF_PHASE_NONE));
    /* room again: fedd compacts, and gives back what etcd would still count */
    empty();
    CU_ASSERT_TRUE(bench_until(&b, is_free, NULL) || bench_until(&b, is_free, NULL));
    CU_ASSERT_TRUE(bench_log_has(&b, 0, "the store is defragmented"));
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "three", 3, ASK_MS, &err), TF_OK);
    fake_release(&fake);
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    bench_close(&b);
}

/* A full store refuses transactions, also those that only remove: this is what `etcdctl del` sends. */
static void remove_others(void)
{
    TF_AUTO_BUF from = TF_BUF_INIT;
    TF_AUTO_BUF end = TF_BUF_INIT;
    tf_base64_encode(&from, tf_bytes_of("/tidefed/v1/../../other/"));
    tf_base64_encode(&end, tf_bytes_of("/tidefed/v1/../../other0"));
    TF_AUTO_FREE char *body =
        tf_asprintf("{\"key\":\"%s\",\"range_end\":\"%s\"}", tf_buf_text(&from), tf_buf_text(&end));
    post("kv/deleterange", body);
    number = 0;
}

static enum tf_error_code put_other(const char *data, size_t len)
{
    TF_AUTO_FREE char *key = tf_asprintf("../../other/%u", number++);
    return bench_store_try_put(&b, key, data, len);
}

/* To the brim, with what no compaction and no defragmentation gives back, while fedd stands still. If that
 * took longer than its lease, it no longer leads, and cannot lead again. */
static void fill_up(void)
{
    enum { SMALL = 8 << 10 };
    TF_AUTO_FREE char *data = tf_calloc(1, CHUNK);
    enum tf_error_code code = TF_OK;
    bench_freeze(&b, 0);
    while (number < (unsigned)(QUOTA / 100 * 50 / CHUNK))
        CU_ASSERT_EQUAL_FATAL(put_other(data, CHUNK), TF_OK);
    for (int64_t percent = 80; percent <= 92; percent += 12) { /* what is lost inside goes */
        while (bench_store_used(&b) * 100 / QUOTA < percent)
            CU_ASSERT_EQUAL_FATAL(put_other(data, SMALL), TF_OK);
        post("maintenance/defragment", "{}");
    }
    while (code == TF_OK)
        code = put_other(data, SMALL);
    CU_ASSERT_EQUAL(code, TF_ERR_REFUSED);
    bench_thaw(&b, 0);
}

/* A store that is full takes no writes: clients and the log say so, and fedd ends politely. Somebody who
 * makes room need do no more: the next fedd opens it again, although it cannot lead before. */
static void test_full(void)
{
    struct tf_error err;
    struct tf_reply reply = {0};
    struct tf_request status = {.method = TF_METHOD_STATUS};
    if (!bench_open(&b, NULL, QUOTA))
        return;
    bench_one_leader(&b);
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "one", 1, ASK_MS, NULL), TF_OK);
    fill_up();
    enum tf_error_code code = bench_submit(&b, 0, "two", 2, ASK_MS, &err);
    CU_ASSERT_TRUE(code == TF_ERR_UNKNOWN || code == TF_ERR_REFUSED || code == TF_ERR_UNAVAILABLE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "etcdctl alarm disarm") || strstr(err.text, "quota") ||
                           code == TF_ERR_UNAVAILABLE);
    CU_ASSERT_TRUE(bench_wait_log(&b, 0, "the store cannot be used"));
    CU_ASSERT_EQUAL_FATAL(bench_ask(&b, 0, &status, ASK_MS, &reply, NULL, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(reply.status.store, "space exceeded"));
    tf_reply_release(&reply);
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);

    bench_start(&b, 0);
    CU_ASSERT_TRUE(bench_wait_log(&b, 0, "space exceeded"));
    remove_others();
    bench_wait_leads(&b, 0);
    CU_ASSERT_TRUE(bench_log_has(&b, 0, "takes writes again"));
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "two", 2, ASK_MS, &err), TF_OK);
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    bench_close(&b);
}

static const struct suite_test tests[] = {
    {"70 and 90 percent", test_quota},
    {"full", test_full},
};

int main(void)
{
    return suite_run("fedd/quota", tests, TF_ARRAY_LEN(tests));
}
