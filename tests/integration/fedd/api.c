/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of clients, through a real fedd and a real etcd; no subcluster is attached. */
#include "common/base/cleanup.h"
#include "tests/support/fedd/bench.h"
#include "tests/support/process.h"
#include "tests/support/suite.h"

static struct bench b;

enum { ASK_MS = 5000 };

static void test_submit(void)
{
    struct tf_error err;
    if (!bench_open_steady(&b, NULL, 0))
        return;
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "one", 1, ASK_MS, &err), TF_OK);
    /* the same request gets the same answer, another of that name none */
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "one", 1, ASK_MS, &err), TF_OK);
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "one", 2, ASK_MS, &err), TF_ERR_CONFLICT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "t/one"));

    struct tf_job_view job = {0};
    CU_ASSERT_TRUE_FATAL(bench_get(&b, 0, "one", &job));
    CU_ASSERT_TRUE(tf_uid_eq(job.uid, bench_uid(1)));
    CU_ASSERT_EQUAL(job.phase, TF_PHASE_PENDING);
    CU_ASSERT_EQUAL(job.reason, TF_REASON_NO_CLUSTERS);
    CU_ASSERT_STRING_EQUAL(job.manifest.spec.group.command.items[0], "/bin/true");
    CU_ASSERT_TRUE(job.events.count > 0);
    tf_job_view_release(&job);
    CU_ASSERT_FALSE(bench_get(&b, 0, "none", &job));
    bench_close(&b);
}

/* What is wrong comes with the path of the field. */
static void test_refusals(void)
{
    if (!bench_open_steady(&b, NULL, 0))
        return;
    struct tf_error err = TF_ERROR_INIT;
    struct tf_error_detail detail = {0};
    struct tf_request request = {.method = TF_METHOD_SUBMIT, .submit.uid = bench_uid(1)};
    bench_manifest(&request.submit.manifest, "bad", 1);
    request.submit.manifest.spec.elastic = (struct tf_elastic){7, 8, 2};
    CU_ASSERT_EQUAL(bench_ask(&b, 0, &request, ASK_MS, NULL, &detail, &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_INVALID);
    CU_ASSERT_EQUAL(detail.code, TF_ERR_INVALID);
    CU_ASSERT_TRUE_FATAL(detail.complaints.count > 0);
    CU_ASSERT_STRING_EQUAL(detail.complaints.items[0].path, "spec.elastic.min");
    CU_ASSERT_PTR_NOT_NULL(strstr(detail.complaints.items[0].text, "8"));
    tf_error_detail_release(&detail);
    tf_request_release(&request);

    CU_ASSERT_EQUAL(bench_change(&b, 0, TF_METHOD_DELETE, "none"), TF_ERR_NOT_FOUND);
    CU_ASSERT_EQUAL(bench_change(&b, 0, TF_METHOD_EXPLAIN, "none"), TF_ERR_NOT_FOUND);
    struct tf_request by_uid = {.method = TF_METHOD_GET, .job.uid = bench_uid(99)};
    CU_ASSERT_EQUAL(bench_ask(&b, 0, &by_uid, ASK_MS, NULL, NULL, &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_NOT_FOUND);
    struct tf_request page = {.method = TF_METHOD_LIST, .list.page_token = tf_strdup("nonsense")};
    CU_ASSERT_EQUAL(bench_ask(&b, 0, &page, ASK_MS, NULL, NULL, &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_INVALID);
    tf_request_release(&page);
    bench_close(&b);
}

/* ---- lists ---- */

enum { JOBS = 25 };

static void submit_many(void)
{
    for (uint64_t i = 0; i < JOBS; i++) {
        struct tf_request request = {.method = TF_METHOD_SUBMIT, .submit.uid = bench_uid(i + 1)};
        TF_AUTO_FREE char *name = tf_asprintf("job-%02d", (int)i);
        bench_manifest(&request.submit.manifest, name, 1);
        tf_pairs_set(&request.submit.manifest.labels, "team", i % 5 ? "many" : "few");
        CU_ASSERT_EQUAL_FATAL(bench_ask(&b, 0, &request, ASK_MS, NULL, NULL, NULL), 0);
        tf_request_release(&request);
    }
}

/* Lists page by page; how many jobs there were, in order and each once. */
static size_t list_all(struct tf_list_request *list, size_t *pages)
{
    char last[64] = "";
    size_t count = 0;
    *pages = 0;
    do {
        struct tf_request request = {.method = TF_METHOD_LIST, .list = *list};
        struct tf_reply reply = {0};
        CU_ASSERT_EQUAL_FATAL(bench_ask(&b, 0, &request, ASK_MS, &reply, NULL, NULL), 0);
        tf_vec_each (job, &reply.list.jobs) {
            CU_ASSERT_TRUE(strcmp(job->manifest.name, last) > 0);
            snprintf(last, sizeof last, "%s", job->manifest.name);
            CU_ASSERT_EQUAL(job->events.count, 0);
        }
        if (list->page_size)
            CU_ASSERT_TRUE(reply.list.jobs.count <= (size_t)list->page_size);
        count += reply.list.jobs.count;
        tf_str_set(&list->page_token, reply.list.next_token);
        tf_reply_release(&reply);
        (*pages)++;
    } while (list->page_token);
    struct tf_request used = {.method = TF_METHOD_LIST, .list = *list};
    tf_request_release(&used);
    return count;
}

static void test_list(void)
{
    size_t pages;
    if (!bench_open_steady(&b, NULL, 0))
        return;
    submit_many();
    CU_ASSERT_EQUAL(list_all(&(struct tf_list_request){0}, &pages), JOBS);
    CU_ASSERT_EQUAL(pages, 1);
    CU_ASSERT_EQUAL(list_all(&(struct tf_list_request){.page_size = 10}, &pages), JOBS);
    CU_ASSERT_EQUAL(pages, 3);
    CU_ASSERT_EQUAL(list_all(&(struct tf_list_request){.page_size = 1}, &pages), JOBS);

    struct tf_list_request few = {.page_size = 2};
    tf_selector_add(&few.filter.selector, "team", "few");
    CU_ASSERT_EQUAL(list_all(&few, &pages), JOBS / 5);
    static const struct {
        const char *text;
        size_t jobs;
    } selectors[] = {
        {"team!=few", JOBS - JOBS / 5}, {"team in (few,none)", JOBS / 5}, {"team", JOBS}, {"!team", 0},
        {"team,team notin (x)", JOBS},
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(selectors); i++) {
        struct tf_list_request some = {.page_size = 7};
        CU_ASSERT_EQUAL(tf_selector_parse(selectors[i].text, &some.filter.selector, NULL), 0);
        CU_ASSERT_EQUAL(list_all(&some, &pages), selectors[i].jobs);
    }
    CU_ASSERT_EQUAL(list_all(&(struct tf_list_request){.filter.tenant = tf_strdup("other")}, &pages), 0);
    CU_ASSERT_EQUAL(list_all(&(struct tf_list_request){.filter.name = tf_strdup("job-07")}, &pages), 1);
    CU_ASSERT_EQUAL(list_all(&(struct tf_list_request){.filter.phases = 1U << TF_PHASE_RUNNING}, &pages), 0);
    CU_ASSERT_EQUAL(list_all(&(struct tf_list_request){.filter.phases = 1U << TF_PHASE_PENDING}, &pages),
                    JOBS);
    CU_ASSERT_EQUAL(list_all(&(struct tf_list_request){.filter.cluster = tf_strdup("bj-a")}, &pages), 0);
    bench_close(&b);
}

/* ---- hold, resume, delete, explain, status ---- */

static void test_changes(void)
{
    struct tf_job_view job = {0};
    if (!bench_open_steady(&b, NULL, 0))
        return;
    bench_submit(&b, 0, "one", 1, ASK_MS, NULL);
    CU_ASSERT_EQUAL(bench_change(&b, 0, TF_METHOD_HOLD, "one"), TF_OK);
    CU_ASSERT_TRUE_FATAL(bench_get(&b, 0, "one", &job));
    CU_ASSERT_EQUAL(job.phase, TF_PHASE_HELD);
    CU_ASSERT_EQUAL(job.reason, TF_REASON_HELD);
    uint64_t version = job.version;
    tf_job_view_release(&job);
    CU_ASSERT_EQUAL(bench_change(&b, 0, TF_METHOD_RESUME, "one"), TF_OK);
    CU_ASSERT_TRUE_FATAL(bench_get(&b, 0, "one", &job));
    CU_ASSERT_EQUAL(job.phase, TF_PHASE_PENDING);
    CU_ASSERT_TRUE(job.version > version);
    tf_job_view_release(&job);
    CU_ASSERT_EQUAL(bench_change(&b, 0, TF_METHOD_DELETE, "one"), TF_OK);
    CU_ASSERT_TRUE(bench_wait_phase(&b, 0, "one", TF_PHASE_NONE));
    /* the name is free again */
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "one", 2, ASK_MS, NULL), TF_OK);
    bench_close(&b);
}

static void test_explain_and_status(void)
{
    struct tf_reply reply = {0};
    if (!bench_open_steady(&b, NULL, 0))
        return;
    bench_submit(&b, 0, "one", 1, ASK_MS, NULL);
    struct tf_request explain = {.method = TF_METHOD_EXPLAIN, .job.uid = bench_uid(1)};
    CU_ASSERT_EQUAL_FATAL(bench_ask(&b, 0, &explain, ASK_MS, &reply, NULL, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reply.explain.answer);
    CU_ASSERT_PTR_NOT_NULL(strstr(reply.explain.answer, "subcluster"));
    CU_ASSERT_EQUAL(reply.explain.rows.count, 0);
    CU_ASSERT_TRUE(tf_uid_eq(reply.explain.job.uid, bench_uid(1)));
    tf_reply_release(&reply);

    struct tf_request status = {.method = TF_METHOD_STATUS};
    CU_ASSERT_EQUAL_FATAL(bench_ask(&b, 0, &status, ASK_MS, &reply, NULL, NULL), 0);
    CU_ASSERT_TRUE(reply.status.leads && reply.status.open);
    CU_ASSERT_STRING_EQUAL(reply.status.leader, b.fedds[0].address);
    CU_ASSERT_STRING_EQUAL(reply.status.store, "ok");
    CU_ASSERT_EQUAL(reply.status.jobs, 1);
    CU_ASSERT_EQUAL(reply.status.clusters, 0);
    CU_ASSERT_TRUE(reply.status.term.revision > 0);
    tf_reply_release(&reply);
    bench_close(&b);
}

/* A polite stop ends at once, and the next start has everything. */
static void test_stop(void)
{
    if (!bench_open_steady(&b, NULL, 0))
        return;
    bench_submit(&b, 0, "one", 1, ASK_MS, NULL);
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    CU_ASSERT_TRUE(bench_log_has(&b, 0, "gave the lead up"));
    bench_one_leader(&b);
    CU_ASSERT_TRUE(bench_wait_phase(&b, 0, "one", TF_PHASE_PENDING));
    bench_close(&b);
}

static const struct suite_test tests[] = {
    {"submit and get", test_submit},
    {"refusals", test_refusals},
    {"lists", test_list},
    {"hold, resume, delete", test_changes},
    {"explain and status", test_explain_and_status},
    {"stop and start", test_stop},
};

int main(void)
{
    return suite_run("fedd/api", tests, TF_ARRAY_LEN(tests));
}
