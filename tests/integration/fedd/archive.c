/* SPDX-License-Identifier: Apache-2.0 */
/* Finished jobs that left the store, read back from real fedds: pages, filters, a standby, crashes, limits.
 */
#include "common/base/cleanup.h"
#include "tests/support/fedd/cluster.h"
#include "tests/support/suite.h"

static struct bench b;

enum { ASK_MS = 8000 };

static struct tf_request request(const char *name, const char *token, int32_t page_size)
{
    return (struct tf_request){
        .method = TF_METHOD_LIST_ARCHIVE,
        .list = {.filter.tenant = tf_strdup("t"),
                 .filter.name = tf_strdup(name),
                 .page_size = page_size,
                 .page_token = tf_strdup(token)},
    };
}

/* What the request gives, and how many; the request is released. */
static size_t ask(size_t fedd, struct tf_request request, struct tf_reply *reply)
{
    struct tf_error err = TF_ERROR_INIT;
    int failed = bench_ask(&b, fedd, &request, ASK_MS, reply, NULL, &err);
    if (failed)
        printf("\n    %s\n", err.text);
    tf_request_release(&request);
    CU_ASSERT_EQUAL_FATAL(failed, 0);
    return reply->list.jobs.count;
}

static size_t count(size_t fedd, struct tf_request request)
{
    struct tf_reply reply = {0};
    size_t n = ask(fedd, request, &reply);
    tf_reply_release(&reply);
    return n;
}

/* Jobs of these numbers come, and are deleted, one after the other. */
static void archive(size_t fedd, uint64_t from, uint64_t to)
{
    for (uint64_t n = from; n <= to; n++) {
        TF_AUTO_FREE char *name = tf_asprintf("j%u", (unsigned)n);
        CU_ASSERT_EQUAL(bench_submit(&b, fedd, name, n, ASK_MS, NULL), TF_OK);
        CU_ASSERT_EQUAL(bench_change(&b, fedd, TF_METHOD_DELETE, name), TF_OK);
        CU_ASSERT_TRUE(bench_wait_phase(&b, fedd, name, TF_PHASE_NONE));
    }
}

static void check_pages(uint64_t last, int32_t page_size)
{
    TF_AUTO_FREE char *token = NULL;
    uint64_t next = last;
    int64_t before = INT64_MAX;
    do {
        struct tf_reply reply = {0};
        size_t n = ask(0, request(NULL, token, page_size), &reply);
        CU_ASSERT_TRUE(n <= (size_t)page_size);
        tf_vec_each (job, &reply.list.jobs) {
            CU_ASSERT_TRUE(tf_uid_eq(job->uid, bench_uid(next)));
            CU_ASSERT_TRUE(job->archived.ms > 0 && job->archived.ms <= before);
            before = job->archived.ms;
            next--;
        }
        free(token);
        token = TF_STEAL(reply.list.next_token);
        tf_reply_release(&reply);
    } while (token);
    CU_ASSERT_EQUAL(next, 0);
}

static void check_filters(void)
{
    struct tf_reply reply = {0};
    CU_ASSERT_EQUAL(ask(0, request("j7", NULL, 0), &reply), 1);
    const struct tf_job_view *job = &reply.list.jobs.items[0];
    CU_ASSERT_EQUAL(job->phase, TF_PHASE_DELETED);
    CU_ASSERT_STRING_EQUAL(job->manifest.name, "j7");
    CU_ASSERT_TRUE(job->events.count > 0); /* a single name: all that is known */
    tf_reply_release(&reply);
    CU_ASSERT_EQUAL(count(0, request("j", NULL, 0)), 0);
    struct tf_request other = request(NULL, NULL, 0);
    other.list.filter.phases = 1u << TF_PHASE_SUCCEEDED;
    CU_ASSERT_EQUAL(count(0, other), 0);
    other = request(NULL, NULL, 0);
    other.list.filter.phases = 1u << TF_PHASE_DELETED;
    CU_ASSERT_EQUAL(count(0, other), 25);
    other = request(NULL, NULL, 0);
    tf_selector_add(&other.list.filter.selector, "team", "ranking");
    CU_ASSERT_EQUAL(count(0, other), 0);
}

static void check_bad_token(void)
{
    struct tf_request bad = request(NULL, "nonsense", 0);
    struct tf_error_detail detail = {0};
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL(bench_ask(&b, 0, &bad, ASK_MS, NULL, &detail, &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_INVALID);
    CU_ASSERT_EQUAL(detail.code, TF_ERR_INVALID);
    tf_error_detail_release(&detail);
    tf_request_release(&bad);
}

static void test_pages(void)
{
    if (!bench_open(&b, NULL, 0))
        return;
    bench_one_leader(&b);
    CU_ASSERT_EQUAL(count(0, request(NULL, NULL, 0)), 0);
    archive(0, 1, 25);
    check_pages(25, 1000);
    check_pages(25, 7);
    check_pages(25, 1);
    check_filters();
    check_bad_token();
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    bench_close(&b);
}

/* Each member keeps what left while it led, and shows it whoever leads; a crash loses nothing of it. */
static void test_members(void)
{
    if (!bench_open(&b, NULL, 0))
        return;
    bench_one_leader(&b);
    archive(0, 1, 3);
    bench_start(&b, 1);
    bench_kill(&b, 0);
    TF_AUTO_FREE char *path = tf_asprintf("%s/archive", b.fedds[0].folder);
    FILE *file = fopen(path, "ae"); /* killed in the middle of a line */
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs("1234567 40 t/torn AAAA", file);
    fclose(file);
    bench_wait_leads(&b, 1);
    archive(1, 4, 5);
    bench_start(&b, 0);
    struct tf_request status = {.method = TF_METHOD_STATUS};
    while (bench_ask(&b, 0, &status, ASK_MS, NULL, NULL, NULL))
        bench_pass(&b, 50);
    CU_ASSERT_EQUAL(count(0, request(NULL, NULL, 0)), 3);
    CU_ASSERT_EQUAL(count(1, request(NULL, NULL, 0)), 2);
    CU_ASSERT_TRUE(bench_wait_log(&b, 0, "lines that cannot be read"));
    CU_ASSERT_EQUAL(bench_stop(&b, 1), 0);
    bench_wait_leads(&b, 0);
    archive(0, 6, 6);
    CU_ASSERT_EQUAL(count(0, request(NULL, NULL, 0)), 4);
    bench_close(&b);
}

static bool shows_none(void *arg)
{
    (void)arg;
    return count(0, request(NULL, NULL, 0)) == 0;
}

static bool is_trimmed(void *arg)
{
    (void)arg;
    return count(0, request(NULL, NULL, 0)) <= 10;
}

static void test_limits(void)
{
    if (!bench_open_steady(&b, "  history: {max: 10}\n", 0))
        return;
    archive(0, 1, 25);
    CU_ASSERT_TRUE(bench_until(&b, is_trimmed, NULL)); /* after the last has been answered */
    CU_ASSERT_TRUE(count(0, request(NULL, NULL, 0)) >= 9);
    CU_ASSERT_EQUAL(count(0, request("j25", NULL, 0)), 1);
    CU_ASSERT_EQUAL(count(0, request("j10", NULL, 0)), 0);
    bench_close(&b);
    if (!bench_open_steady(&b, "  history: {keep: 5s}\n", 0))
        return;
    archive(0, 1, 2);
    CU_ASSERT_EQUAL(count(0, request(NULL, NULL, 0)), 2);
    CU_ASSERT_TRUE(bench_until(&b, shows_none, NULL)); /* no longer shown */
    bench_close(&b);
}

static const struct suite_test tests[] = {
    {"pages and filters", test_pages},
    {"each member has its own", test_members},
    {"limits", test_limits},
};

int main(void)
{
    return suite_run("fedd/archive", tests, TF_ARRAY_LEN(tests));
}
