/* SPDX-License-Identifier: Apache-2.0 */
/* More finished jobs than the federation's store has room for: submits are refused with advice while it is
 * nearly full, what runs is untouched, and when the finished jobs have left for the archive all the others
 * are taken, too. Real daemons on a real etcd with a small quota; instances are invented. TF_FULL=1: 20,000
 * jobs, 64 MB. */
#include "common/base/cleanup.h"
#include "common/rpc/client.h"
#include "tests/support/federation/federation.h"
#include "tests/support/federation/load.h"
#include "tests/support/process.h"
#include "tests/support/suite.h"

#include <inttypes.h>

enum {
    IN_FLIGHT_MAX = 64,
    TRY_MS = 10 * 1000,
    AGAIN_MS = 200,
    ASK_MS = 10 * 1000,
    LOOK_MS = 500,
    PATIENCE_MS = 240 * 1000,
};

/* One submit at a time, repeated until it is taken. */
struct slot {
    struct flood *flood;
    uint64_t n; /* of its job */
    struct tf_unary *call;
    struct tf_timer again;
};

struct flood {
    struct test_federation *federation;
    struct tf_loop *loop;
    struct tf_rpc *rpc;
    struct tf_channel *channel;
    uint64_t jobs;
    size_t in_flight;
    int64_t keep_ms;
    char payload[3000]; /* so that a job is of some size */
    struct slot slots[IN_FLIGHT_MAX];
    uint64_t next, accepted, refused, failed;
    char said[sizeof((struct tf_error *)0)->text]; /* of the first refusal */
    int64_t most_percent;
    uint64_t keeper_epoch;
};

/* ---- asking ---- */

static int ask(struct flood *f, const struct tf_request *request, struct tf_reply *reply)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    TF_AUTO_BUF body = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL_FATAL(tf_wire_request_pack(request, &bytes, NULL), 0);
    if (tf_unary_wait(f->channel, tf_method_path(request->method), &bytes, ASK_MS, &body, NULL, &err) ||
        tf_wire_reply_unpack(request->method, body.data, body.len, reply, &err)) {
        printf("    %s\n", err.text);
        return -1;
    }
    return 0;
}

static bool leads(struct flood *f)
{
    const struct tf_request request = {.method = TF_METHOD_STATUS};
    struct tf_reply reply = {0};
    bool yes = ask(f, &request, &reply) == 0 && reply.status.leads && reply.status.attached == 1;
    tf_reply_release(&reply);
    return yes;
}

/* How full the store is, in percent, and how many jobs are in it. *jobs stays when nobody knows. */
static int64_t look(struct flood *f, int64_t *jobs)
{
    const struct tf_request request = {.method = TF_METHOD_STATUS};
    struct tf_reply reply = {0};
    if (ask(f, &request, &reply))
        return -1;
    const struct tf_status_reply *s = &reply.status;
    int64_t percent = s->store_quota ? s->store_bytes * 100 / s->store_quota : 0;
    f->most_percent = percent > f->most_percent ? percent : f->most_percent;
    *jobs = s->jobs;
    tf_reply_release(&reply);
    return percent;
}

static struct tf_request about(enum tf_method method, const char *name)
{
    struct tf_request request = {.method = method};
    request.job = (struct tf_job_ref){.tenant = tf_strdup("t"), .name = tf_strdup(name)};
    return request;
}

enum keeper { KEEPER_RUNS, KEEPER_UNKNOWN, KEEPER_DISTURBED };

/* The service that was there before the flood: the same epoch, all of it ready. A store that is quite full
 * for a moment makes those who ask wait, not those who run; and a leader that has just followed another, as
 * on a machine that is too busy to keep a lease, does not know how much of it is ready before its subcluster
 * has attached, and says so. */
static enum keeper keeper_looks(struct flood *f)
{
    struct tf_request request = about(TF_METHOD_GET, "keeper");
    struct tf_reply reply = {0};
    if (ask(f, &request, &reply)) {
        tf_request_release(&request);
        return KEEPER_UNKNOWN;
    }
    const struct tf_job_view *job = &reply.job;
    bool untold = job->conditions & TF_CONDITION_UNREACHABLE && job->ready == 0;
    bool same = job->phase == TF_PHASE_RUNNING && job->restarts == 0 && job->evictions == 0 &&
                (!f->keeper_epoch || job->epoch == f->keeper_epoch);
    enum keeper keeper = same && job->ready == 4 ? KEEPER_RUNS
                         : same && untold        ? KEEPER_UNKNOWN
                                                 : KEEPER_DISTURBED;
    f->keeper_epoch = job->epoch;
    tf_reply_release(&reply);
    tf_request_release(&request);
    return keeper;
}

/* At the end it must be known, too. */
static bool keeper_runs(struct flood *f)
{
    enum keeper keeper;
    for (int64_t end = test_now_ms() + PATIENCE_MS;
         (keeper = keeper_looks(f)) == KEEPER_UNKNOWN && test_now_ms() < end;)
        tf_loop_turn(f->loop, AGAIN_MS);
    return keeper == KEEPER_RUNS;
}

/* ---- submits ---- */

static struct tf_request submit(uint64_t n, const char *name, int32_t instances, const char *script)
{
    struct tf_request request = {.method = TF_METHOD_SUBMIT};
    test_job_make(&request.submit.manifest, name, instances, 0, script);
    tf_job_spec_fill(&request.submit.manifest.spec);
    tf_str_set(&request.submit.manifest.tenant, "t");
    memcpy(request.submit.uid.bytes, &n, sizeof n);
    return request;
}

static void send_job(struct slot *slot);

static void next_job(struct slot *slot)
{
    struct flood *f = slot->flood;
    if (f->next > f->jobs)
        return;
    slot->n = f->next++;
    send_job(slot);
}

static void on_again(struct tf_timer *timer)
{
    send_job(TF_CONTAINER_OF(timer, struct slot, again));
}

static void on_answer(void *arg, const struct tf_error *error, struct tf_bytes body, struct tf_bytes details)
{
    struct slot *slot = arg;
    struct flood *f = slot->flood;
    (void)body, (void)details;
    slot->call = NULL;
    if (error->code == TF_OK) {
        f->accepted++;
        next_job(slot);
        return;
    }
    if (error->code == TF_ERR_REFUSED) {
        if (f->refused++ == 0)
            snprintf(f->said, sizeof f->said, "%s", error->text);
    } else if (error->code != TF_ERR_UNAVAILABLE && error->code != TF_ERR_UNKNOWN &&
               error->code != TF_ERR_TIMEOUT && f->failed++ == 0)
        printf("    %s\n", error->text);
    struct tf_mono due = {tf_loop_now(f->loop).mono.ms + AGAIN_MS};
    tf_timer_start(f->loop, &slot->again, due, on_again);
}

static void send_job(struct slot *slot)
{
    struct flood *f = slot->flood;
    struct tf_buf bytes = TF_BUF_INIT;
    TF_AUTO_FREE char *name = tf_asprintf("flood-%" PRIu64, slot->n);
    struct tf_request request = submit(slot->n, name, 1, "exit 0");
    request.submit.manifest.spec.keep_finished = f->keep_ms;
    tf_pairs_set(&request.submit.manifest.spec.group.env, "PAYLOAD", f->payload);
    CU_ASSERT_EQUAL_FATAL(tf_wire_request_pack(&request, &bytes, NULL), 0);
    tf_request_release(&request);
    slot->call =
        tf_unary_start(f->channel, tf_method_path(TF_METHOD_SUBMIT), &bytes, TRY_MS, on_answer, slot);
}

static void start_keeper(struct flood *f)
{
    struct tf_request request = submit(1u << 31, "keeper", 4, "exit 0");
    struct tf_reply reply = {0};
    tf_strs_release(&request.submit.manifest.spec.group.command);
    tf_strs_add(&request.submit.manifest.spec.group.command, "sleep");
    tf_strs_add(&request.submit.manifest.spec.group.command, "100000");
    CU_ASSERT_EQUAL_FATAL(ask(f, &request, &reply), 0);
    tf_reply_release(&reply);
    tf_request_release(&request);
    for (int64_t end = test_now_ms() + PATIENCE_MS; keeper_looks(f) != KEEPER_RUNS;) {
        f->keeper_epoch = 0;
        CU_ASSERT_TRUE_FATAL(test_now_ms() < end);
        tf_loop_turn(f->loop, 50);
    }
}

/* ---- the run ---- */

/* Until all are taken and have left the store; the keeper is looked at all the time. */
static void pour(struct flood *f)
{
    int64_t begin = test_now_ms(), tell = begin, jobs = INT64_MAX;
    size_t disturbed = 0;
    for (size_t i = 0; i < f->in_flight; i++) {
        f->slots[i].flood = f;
        next_job(&f->slots[i]);
    }
    while ((f->accepted < f->jobs || jobs > 1) && test_now_ms() < begin + PATIENCE_MS) {
        for (int64_t end = test_now_ms() + LOOK_MS; test_now_ms() < end;)
            tf_loop_turn(f->loop, end - test_now_ms());
        int64_t percent = look(f, &jobs);
        disturbed += keeper_looks(f) == KEEPER_DISTURBED;
        if (test_now_ms() < tell)
            continue;
        printf("    %3" PRId64 " s: %" PRIu64 " taken, %" PRIu64 " refusals, %" PRId64
               " in the store, which is %" PRId64 " %% full\n",
               (test_now_ms() - begin) / 1000, f->accepted, f->refused, jobs, percent);
        tell = test_now_ms() + 5000;
    }
    printf("    %" PRIu64 " of %" PRIu64 " jobs taken and archived in %" PRId64 " s, %" PRIu64
           " submits refused, the store %" PRId64 " %% full at most\n",
           f->accepted, f->jobs, (test_now_ms() - begin) / 1000, f->refused, f->most_percent);
    CU_ASSERT_EQUAL(f->accepted, f->jobs);
    CU_ASSERT_EQUAL(f->failed, 0);
    CU_ASSERT_EQUAL(jobs, 1);
    CU_ASSERT_EQUAL(disturbed, 0);
    CU_ASSERT_TRUE(keeper_runs(f));
}

static uint64_t count_archived(struct flood *f)
{
    struct tf_request request = {.method = TF_METHOD_LIST_ARCHIVE, .list.page_size = TF_PAGE_MAX};
    uint64_t succeeded = 0;
    do {
        struct tf_reply reply = {0};
        CU_ASSERT_EQUAL_FATAL(ask(f, &request, &reply), 0);
        tf_vec_each (job, &reply.list.jobs)
            succeeded += job->phase == TF_PHASE_SUCCEEDED;
        free(request.list.page_token);
        request.list.page_token = TF_STEAL(reply.list.next_token);
        tf_reply_release(&reply);
    } while (request.list.page_token);
    tf_request_release(&request);
    return succeeded;
}

static bool open_flood(struct flood *f, int64_t quota)
{
    static const struct test_subcluster subcluster = {
        "bj-a", 1, "prefix: n, count: 100, model: H800, gpus: 8, cpu: 128, memory: 1Ti"};
    const struct test_federation_options options = {
        .fedds = 1,
        .subclusters = &subcluster,
        .subcluster_count = 1,
        .lease = "5s",
        .quota = quota,
        .engine = "virtual",
        .more = "virtual: {startMin: 0s, startMax: 0s, stopMin: 0s, stopMax: 0s, run: 20ms}\n"};
    struct tf_error err = TF_ERROR_INIT;
    if (!test_federation_available())
        return false;
    f->federation = test_federation_create(&options);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->federation);
    CU_ASSERT_TRUE_FATAL(test_federation_round(f->federation));
    f->loop = tf_loop_create(&err);
    f->rpc = tf_rpc_create(f->loop, &err);
    const struct tf_channel_options channel = {.address = test_federation_endpoints(f->federation)->items[0]};
    f->channel = tf_channel_create(f->rpc, &channel, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->channel);
    for (int64_t end = test_now_ms() + PATIENCE_MS; !leads(f);) {
        CU_ASSERT_TRUE_FATAL(test_now_ms() < end);
        tf_loop_turn(f->loop, 100);
    }
    return true;
}

static void close_flood(struct flood *f)
{
    for (size_t i = 0; i < IN_FLIGHT_MAX; i++) {
        tf_timer_cancel(f->loop, &f->slots[i].again);
        if (f->slots[i].call)
            tf_unary_cancel(f->slots[i].call);
    }
    tf_channel_destroy(f->channel);
    tf_rpc_destroy(f->rpc);
    tf_loop_destroy(f->loop);
    if (CU_get_number_of_failures() > 0)
        test_federation_keep(f->federation);
    CU_ASSERT_TRUE(test_federation_destroy(f->federation));
}

static void test_flood(void)
{
    bool full = getenv("TF_FULL") != NULL;
    struct flood f = {.next = 1,
                      .in_flight = full ? IN_FLIGHT_MAX : 8,
                      .jobs = full ? 20000 : 1400,
                      .keep_ms = full ? 60000 : 6000};
    printf("\n");
    if (!open_flood(&f, full ? 64 << 20 : 6 << 20))
        return;
    memset(f.payload, 'x', sizeof f.payload - 1);
    start_keeper(&f);
    pour(&f);
    CU_ASSERT_TRUE(f.refused > 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(f.said, "keepFinished"));
    CU_ASSERT_PTR_NOT_NULL(strstr(f.said, "quota-backend-bytes"));
    CU_ASSERT_TRUE(f.most_percent >= 90);
    printf("    refusals said: %s\n", f.said);
    CU_ASSERT_EQUAL(count_archived(&f), f.jobs);
    close_flood(&f);
}

static const struct suite_test tests[] = {{"finished jobs", test_flood}};

int main(void)
{
    return suite_run("flood", tests, TF_ARRAY_LEN(tests));
}
