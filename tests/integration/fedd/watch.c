/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of changes: what is there, then each change, in order, until the leader ends. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tests/support/fedd/reader.h"
#include "tests/support/suite.h"

static struct bench b;
static struct reader reader;

enum { ASK_MS = 5000, PADDING_OF_ONE = 1000 };

static bool set_up(void)
{
    if (!bench_open(&b, NULL, 0))
        return false;
    bench_one_leader(&b);
    return true;
}

static void tear_down(void)
{
    reader_release(&reader);
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    bench_close(&b);
}

static void watch(const char *name, bool changes_only)
{
    struct tf_request request = {.method = TF_METHOD_WATCH, .watch.changes_only = changes_only};
    request.watch.filter.name = tf_strdup(name);
    reader_release(&reader);
    reader_open(&reader, &b, 0, &request);
    tf_request_release(&request);
}

static const struct tf_watch_event *event(size_t i)
{
    CU_ASSERT_FATAL(i < reader.replies.count);
    return &reader.replies.items[i].watch;
}

static size_t count_kind(enum tf_watch_kind kind)
{
    size_t count = 0;
    tf_vec_each (reply, &reader.replies)
        count += reply->watch.kind == kind;
    return count;
}

/* Sequences grow, and no job is ever shown older than before. */
static void check_order(void)
{
    size_t wrong = 0;
    for (size_t i = 1; i < reader.replies.count; i++) {
        const struct tf_watch_event *e = event(i);
        wrong += e->sequence <= event(i - 1)->sequence;
        for (size_t k = i; e->kind == TF_WATCH_JOB && k-- > 0;)
            if (tf_uid_eq(event(k)->job.uid, e->job.uid)) {
                wrong += event(k)->job.version > e->job.version;
                break;
            }
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* ---- many requests at once ---- */

static size_t under_way;

static void on_submitted(void *arg, const struct tf_error *error, struct tf_bytes body,
                         struct tf_bytes details)
{
    (void)arg, (void)body, (void)details;
    CU_ASSERT_EQUAL(error->code, TF_OK);
    under_way--;
}

static bool all_answered(void *arg)
{
    (void)arg;
    return under_way == 0;
}

static void send(struct tf_request *request)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    CU_ASSERT_EQUAL_FATAL(tf_wire_request_pack(request, &bytes, NULL), 0);
    tf_unary_start(b.fedds[0].channel, tf_method_path(request->method), &bytes, ASK_MS * 4, on_submitted,
                   NULL);
    tf_request_release(request);
    under_way++;
}

static void send_submit(uint64_t i, size_t padding)
{
    struct tf_request request = {.method = TF_METHOD_SUBMIT, .submit.uid = bench_uid(i + 1)};
    TF_AUTO_FREE char *name = tf_asprintf("job-%04d", (int)i);
    bench_manifest(&request.submit.manifest, name, 1);
    char argument[PADDING_OF_ONE + 1];
    memset(argument, 'x', PADDING_OF_ONE);
    argument[PADDING_OF_ONE] = '\0';
    for (; padding > 0; padding -= PADDING_OF_ONE)
        tf_strs_add(&request.submit.manifest.spec.group.command, argument);
    send(&request);
}

static void send_change(enum tf_method method, uint64_t i)
{
    struct tf_request request = {.method = method, .job.uid = bench_uid(i + 1)};
    send(&request);
}

/* ---- tests ---- */

static void test_changes(void)
{
    if (!set_up())
        return;
    bench_submit(&b, 0, "old", 1, ASK_MS, NULL);
    watch(NULL, false);
    CU_ASSERT_TRUE_FATAL(reader_wait(&reader, 2));
    CU_ASSERT_EQUAL(event(0)->kind, TF_WATCH_JOB);
    CU_ASSERT_STRING_EQUAL(event(0)->job.manifest.name, "old");
    CU_ASSERT_EQUAL(event(1)->kind, TF_WATCH_SYNCED);
    bench_submit(&b, 0, "new", 2, ASK_MS, NULL);
    CU_ASSERT_TRUE_FATAL(reader_wait(&reader, 3));
    CU_ASSERT_EQUAL(event(2)->kind, TF_WATCH_JOB);
    CU_ASSERT_STRING_EQUAL(event(2)->job.manifest.name, "new");
    bench_change(&b, 0, TF_METHOD_HOLD, "new");
    CU_ASSERT_TRUE_FATAL(reader_wait(&reader, 4));
    CU_ASSERT_EQUAL(event(3)->job.phase, TF_PHASE_HELD);
    bench_change(&b, 0, TF_METHOD_DELETE, "new");
    CU_ASSERT_TRUE_FATAL(reader_wait(&reader, 5));
    while (event(reader.replies.count - 1)->kind != TF_WATCH_GONE)
        CU_ASSERT_TRUE_FATAL(reader_wait(&reader, reader.replies.count + 1));
    CU_ASSERT_STRING_EQUAL(event(reader.replies.count - 1)->job.manifest.name, "new");
    check_order();
    tear_down();
}

static void test_filters(void)
{
    if (!set_up())
        return;
    bench_submit(&b, 0, "old", 1, ASK_MS, NULL);
    watch("one", false);
    CU_ASSERT_TRUE_FATAL(reader_wait(&reader, 1));
    CU_ASSERT_EQUAL(event(0)->kind, TF_WATCH_SYNCED);
    bench_submit(&b, 0, "other", 2, ASK_MS, NULL);
    bench_submit(&b, 0, "one", 3, ASK_MS, NULL);
    CU_ASSERT_TRUE_FATAL(reader_wait(&reader, 2));
    CU_ASSERT_STRING_EQUAL(event(1)->job.manifest.name, "one");
    watch(NULL, true);
    CU_ASSERT_TRUE_FATAL(reader_wait(&reader, 1));
    CU_ASSERT_EQUAL(event(0)->kind, TF_WATCH_SYNCED);
    bench_change(&b, 0, TF_METHOD_HOLD, "old");
    CU_ASSERT_TRUE_FATAL(reader_wait(&reader, 2));
    CU_ASSERT_STRING_EQUAL(event(1)->job.manifest.name, "old");
    tear_down();
}

/* Several pages, while jobs change all the time. */
static void test_pages(void)
{
    enum { JOBS = 900, HELD = 300 };
    if (!set_up())
        return;
    for (uint64_t i = 0; i < JOBS; i++)
        send_submit(i, 0);
    CU_ASSERT_TRUE(bench_until(&b, all_answered, NULL));
    for (uint64_t i = 0; i < HELD; i++)
        send_change(TF_METHOD_HOLD, i * 3);
    watch(NULL, false);
    for (uint64_t i = 0; i < HELD; i++)
        send_change(TF_METHOD_RESUME, i * 3);
    CU_ASSERT_TRUE(bench_until(&b, all_answered, NULL));
    while (count_kind(TF_WATCH_SYNCED) == 0)
        CU_ASSERT_TRUE_FATAL(reader_wait(&reader, reader.replies.count + 1));
    send_change(TF_METHOD_DELETE, 0);
    while (count_kind(TF_WATCH_GONE) == 0)
        CU_ASSERT_TRUE_FATAL(reader_wait(&reader, reader.replies.count + 1));
    check_order();
    CU_ASSERT_EQUAL(count_kind(TF_WATCH_SYNCED), 1);
    /* the last word about each is the truth: none is held */
    static bool seen[JOBS];
    size_t jobs = 0, wrong = 0;
    memset(seen, 0, sizeof seen);
    for (size_t i = reader.replies.count; i-- > 0;) {
        const struct tf_watch_event *e = event(i);
        if (e->kind != TF_WATCH_JOB)
            continue;
        long number = strtol(e->job.manifest.name + 4, NULL, 10);
        if (seen[number])
            continue;
        seen[number] = true;
        jobs++;
        wrong += number != 0 && e->job.phase != TF_PHASE_PENDING;
    }
    CU_ASSERT_EQUAL(jobs, JOBS);
    CU_ASSERT_EQUAL(wrong, 0);
    tear_down();
}

/* A client that does not read is cut off, and told so; the others see everything. */
static void test_slow(void)
{
    enum { JOBS = 16, ROUNDS = 40, PADDING = 80000 };
    static struct reader fast;
    size_t rounds = 0;
    if (!set_up())
        return;
    for (uint64_t i = 0; i < JOBS; i++)
        send_submit(i, PADDING);
    CU_ASSERT_TRUE(bench_until(&b, all_answered, NULL));
    struct tf_request request = {.method = TF_METHOD_WATCH, .watch.changes_only = true};
    reader_open(&fast, &b, 0, &request);
    watch(NULL, true);
    CU_ASSERT_TRUE_FATAL(reader_wait(&reader, 1) && reader_wait(&fast, 1));
    tf_stream_pause(reader.stream);
    for (; rounds < ROUNDS; rounds++) {
        for (uint64_t i = 0; i < JOBS; i++)
            send_change(rounds % 2 ? TF_METHOD_RESUME : TF_METHOD_HOLD, i);
        CU_ASSERT_TRUE_FATAL(bench_until(&b, all_answered, NULL));
    }
    CU_ASSERT_TRUE(reader_wait(&fast, 1 + rounds * JOBS));
    CU_ASSERT_PTR_NOT_NULL(fast.stream);
    tf_stream_resume(reader.stream);
    CU_ASSERT_TRUE(reader_wait_end(&reader));
    CU_ASSERT_EQUAL(reader.error.code, TF_ERR_UNAVAILABLE);
    CU_ASSERT_PTR_NOT_NULL(strstr(reader.error.text, "watch again"));
    reader_release(&fast);
    tear_down();
}

static void test_leader_ends(void)
{
    if (!set_up())
        return;
    bench_start(&b, 1);
    CU_ASSERT_TRUE(bench_wait_log(&b, 1, "standing by"));
    watch(NULL, false);
    CU_ASSERT_TRUE_FATAL(reader_wait(&reader, 1));
    bench_freeze(&b, 0);
    bench_wait_leads(&b, 1);
    bench_thaw(&b, 0);
    CU_ASSERT_TRUE(reader_wait_end(&reader));
    CU_ASSERT_EQUAL(reader.error.code, TF_ERR_UNAVAILABLE);
    CU_ASSERT_PTR_NOT_NULL(strstr(reader.error.text, "no longer leads"));
    CU_ASSERT_TRUE(bench_wait_log(&b, 0, "standing by"));
    watch(NULL, false); /* at the standby */
    CU_ASSERT_TRUE(reader_wait_end(&reader));
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader.detail.leader);
    CU_ASSERT_STRING_EQUAL(reader.detail.leader, b.fedds[1].address);
    bench_stop(&b, 1);
    bench_wait_leads(&b, 0);
    watch(NULL, false);
    CU_ASSERT_TRUE_FATAL(reader_wait(&reader, 1));
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    CU_ASSERT_TRUE(reader_wait_end(&reader));
    CU_ASSERT_EQUAL(reader.error.code, TF_ERR_UNAVAILABLE);
    reader_release(&reader);
    bench_close(&b);
}

/* ---- events ---- */

static bool told_of_hold(void *arg)
{
    (void)arg;
    tf_vec_each (reply, &reader.replies)
        tf_vec_each (e, &reply->watch.job.events)
            if (tf_str_eq(e->type, "Held") && tf_str_eq(reply->watch.job.manifest.name, "old"))
                return true;
    return false;
}

/* Jobs come with their events; those of which all are older are none of the snapshot, and what is left out
 * counts. */
static void test_events(void)
{
    if (!set_up())
        return;
    bench_submit(&b, 0, "old", 1, ASK_MS, NULL);
    bench_submit(&b, 0, "new", 2, ASK_MS, NULL);
    bench_pass(&b, 50);
    struct tf_job_view job = {0};
    bench_change(&b, 0, TF_METHOD_HOLD, "new");
    CU_ASSERT_TRUE_FATAL(bench_get(&b, 0, "new", &job));
    CU_ASSERT_EQUAL_FATAL(job.events.count, 2);
    struct tf_request request = {.method = TF_METHOD_WATCH, .watch.events = true};
    request.watch.events_since = job.events.items[1].at;
    tf_job_view_release(&job);
    reader_release(&reader);
    reader_open(&reader, &b, 0, &request);
    CU_ASSERT_TRUE_FATAL(reader_wait(&reader, 2));
    CU_ASSERT_EQUAL_FATAL(count_kind(TF_WATCH_JOB), 1);
    CU_ASSERT_STRING_EQUAL(event(0)->job.manifest.name, "new");
    CU_ASSERT_EQUAL_FATAL(event(0)->job.events.count, 1);
    CU_ASSERT_STRING_EQUAL(event(0)->job.events.items[0].type, "Held");
    CU_ASSERT_EQUAL(event(0)->job.events_dropped, 1);

    request.watch.events_since = (struct tf_wall){0};
    reader_release(&reader);
    reader_open(&reader, &b, 0, &request);
    CU_ASSERT_TRUE_FATAL(reader_wait(&reader, 3));
    CU_ASSERT_EQUAL(count_kind(TF_WATCH_JOB), 2);
    CU_ASSERT_EQUAL(event(0)->job.events_dropped, 0);
    bench_change(&b, 0, TF_METHOD_HOLD, "old"); /* a change comes with them, too */
    CU_ASSERT_TRUE(bench_until(&b, told_of_hold, NULL));
    tear_down();
}

static const struct suite_test tests[] = {
    {"events", test_events},    {"changes", test_changes},
    {"filters", test_filters},  {"pages under change", test_pages},
    {"slow client", test_slow}, {"the leader ends", test_leader_ends},
};

int main(void)
{
    return suite_run("fedd/watch", tests, TF_ARRAY_LEN(tests));
}
