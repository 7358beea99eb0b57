/* SPDX-License-Identifier: Apache-2.0 */
/* The checker of the fault tests finds what it is there for, in journals made up for it. */
#include "tests/support/federation/checker.h"
#include "common/base/cleanup.h"
#include "tests/support/federation/load.h"
#include "tests/support/process.h"
#include "tests/support/suite.h"

#include <inttypes.h>
#include <sys/stat.h>

/* One job of two instances, submitted and acknowledged; the list says that it succeeded in epoch 7. */
struct desk {
    char dir[64];
    struct test_client *client;
    struct test_job *job;
    struct test_runs runs;
};

static void desk_open(struct desk *d)
{
    struct tf_strs nobody = {0};
    struct tf_job_manifest manifest;
    *d = (struct desk){.dir = "/tmp/tidefed-checker-XXXXXX"};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(d->dir));
    TF_AUTO_FREE char *journal = tf_asprintf("%s/journal", d->dir);
    CU_ASSERT_EQUAL_FATAL(mkdir(journal, 0700), 0);
    tf_strs_add(&nobody, "127.0.0.1:1");
    d->client = test_client_create(&nobody, 1);
    tf_strs_release(&nobody);
    test_job_make(&manifest, "job", 2, 1, "true");
    d->job = test_client_submit(d->client, &manifest, TF_PHASE_SUCCEEDED);
    d->job->acknowledged = d->job->listed = true;
    d->job->phase = TF_PHASE_SUCCEEDED;
    d->job->epoch = 7;
}

static void desk_close(struct desk *d)
{
    test_remove_tree(d->dir);
    test_client_destroy(d->client);
    test_runs_release(&d->runs);
}

static void write_line(const struct desk *d, const char *line)
{
    TF_AUTO_FREE char *path = tf_asprintf("%s/journal/2026-01-01.log", d->dir);
    FILE *file = fopen(path, "ae");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fprintf(file, "%s\n", line);
    fclose(file);
}

/* "start" or "stop" of epoch/index.attempt at a moment. */
static void write_event(const struct desk *d, const char *event, int epoch, int index, int attempt, int at,
                        const char *end)
{
    char uid[TF_UID_TEXT];
    tf_uid_format(d->job->uid, uid);
    TF_AUTO_FREE char *line =
        tf_asprintf("{\"event\":\"%s\",\"uid\":\"%s\",\"epoch\":%d,\"index\":%d,\"attempt\":%d,"
                    "\"wall\":1,\"boottime\":%d,\"tenant\":\"test\",\"name\":\"job\"%s}",
                    event, uid, epoch, index, attempt, at, end);
    write_line(d, line);
}

#define GOOD ",\"cause\":\"ended\",\"code\":0,\"signal\":0"
#define BAD ",\"cause\":\"ended\",\"code\":1,\"signal\":0"
#define STOPPED ",\"cause\":\"stopped\",\"code\":-1,\"signal\":15"

static void write_run(const struct desk *d, int epoch, int index, int attempt, int begin, int end,
                      const char *how)
{
    write_event(d, "start", epoch, index, attempt, begin, "");
    write_event(d, "stop", epoch, index, attempt, end, how);
}

static void expect(struct desk *d, size_t runs, size_t ends)
{
    test_runs_read(&d->runs, d->dir);
    CU_ASSERT_EQUAL(test_judge_runs(&d->runs, d->client), runs);
    CU_ASSERT_EQUAL(test_judge_ends(&d->runs, d->client), ends);
    desk_close(d);
}

static void test_all_is_well(void)
{
    struct desk d;
    desk_open(&d);
    write_run(&d, 7, 0, 1, 100, 200, GOOD);
    write_run(&d, 7, 1, 1, 100, 150, BAD);
    write_run(&d, 7, 1, 2, 150, 300, GOOD);
    write_event(&d, "stop", 7, 1, 2, 400, STOPPED); /* a second word does not count */
    expect(&d, 0, 0);
}

static void test_second_start(void)
{
    struct desk d;
    desk_open(&d);
    write_run(&d, 7, 0, 1, 100, 200, GOOD);
    write_event(&d, "start", 7, 0, 1, 250, "");
    write_run(&d, 7, 1, 1, 100, 200, GOOD);
    expect(&d, 1, 0);
}

static void test_two_at_a_time(void)
{
    struct desk d;
    desk_open(&d);
    write_run(&d, 7, 0, 1, 100, 200, BAD);
    write_run(&d, 7, 0, 2, 199, 300, GOOD);
    write_run(&d, 7, 1, 1, 100, 200, GOOD);
    expect(&d, 1, 0);
}

static void test_two_epochs_at_a_time(void)
{
    struct desk d;
    desk_open(&d);
    write_run(&d, 6, 1, 1, 100, 180, BAD);
    write_run(&d, 7, 0, 1, 150, 200, GOOD);
    write_run(&d, 7, 1, 1, 180, 200, GOOD);
    expect(&d, 1, 0);
}

static void test_killed_by_someone(void)
{
    struct desk d;
    desk_open(&d);
    write_run(&d, 6, 0, 1, 10, 20, STOPPED);
    write_run(&d, 7, 0, 1, 100, 200, GOOD);
    write_run(&d, 7, 1, 1, 100, 200, GOOD);
    expect(&d, 1, 0);
}

static void test_success_twice(void)
{
    struct desk d;
    desk_open(&d);
    write_run(&d, 6, 0, 1, 10, 20, GOOD);
    write_run(&d, 7, 0, 1, 100, 200, GOOD);
    write_run(&d, 7, 1, 1, 100, 200, GOOD);
    expect(&d, 0, 1);
}

static void test_same_index_succeeds_twice(void)
{
    struct desk d;
    desk_open(&d);
    write_run(&d, 7, 0, 1, 100, 200, GOOD);
    write_run(&d, 7, 0, 2, 200, 250, GOOD);
    expect(&d, 0, 1);
}

static void test_success_without_a_run(void)
{
    struct desk d;
    desk_open(&d);
    write_run(&d, 7, 0, 1, 100, 200, GOOD);
    expect(&d, 0, 1);
}

static void test_wrong_epoch(void)
{
    struct desk d;
    desk_open(&d);
    write_run(&d, 6, 0, 1, 100, 200, GOOD);
    write_run(&d, 6, 1, 1, 100, 200, GOOD);
    expect(&d, 0, 1);
}

static void test_still_running(void)
{
    struct desk d;
    desk_open(&d);
    write_run(&d, 7, 0, 1, 100, 200, GOOD);
    write_event(&d, "start", 7, 1, 1, 100, "");
    expect(&d, 0, 2);
}

static void test_lost_word(void)
{
    struct desk d;
    desk_open(&d);
    d.job->listed = false;
    expect(&d, 0, 1);
    desk_open(&d);
    d.job->acknowledged = false;
    expect(&d, 0, 1);
    desk_open(&d);
    d.job->phase = TF_PHASE_FAILED;
    expect(&d, 0, 1);
    desk_open(&d);
    d.job->delete_asked = d.job->delete_acknowledged = true; /* and it is Succeeded */
    expect(&d, 0, 1);
}

static void test_failure(void)
{
    struct desk d;
    desk_open(&d);
    d.job->phase = d.job->end = TF_PHASE_FAILED;
    d.job->manifest.spec.retry_limit = 1;
    d.job->exit_code = 1;
    write_run(&d, 7, 0, 1, 100, 200, BAD);
    write_run(&d, 7, 0, 2, 300, 400, BAD);
    expect(&d, 0, 0);
    desk_open(&d);
    d.job->phase = d.job->end = TF_PHASE_FAILED;
    d.job->manifest.spec.retry_limit = 1;
    d.job->exit_code = 2;
    write_run(&d, 7, 0, 1, 100, 200, BAD);
    write_run(&d, 7, 0, 2, 300, 400, BAD);
    expect(&d, 0, 1);
    desk_open(&d);
    d.job->phase = d.job->end = TF_PHASE_FAILED;
    d.job->manifest.spec.retry_limit = 1;
    d.job->exit_code = 1;
    write_run(&d, 7, 0, 1, 100, 200, BAD);
    expect(&d, 0, 1);
}

static void test_nobody_submitted_it(void)
{
    struct desk d;
    desk_open(&d);
    write_run(&d, 7, 0, 1, 100, 200, GOOD);
    write_run(&d, 7, 1, 1, 100, 200, GOOD);
    d.job->uid.bytes[0] ^= 1;
    write_run(&d, 7, 0, 1, 100, 200, GOOD);
    write_run(&d, 7, 1, 1, 100, 200, GOOD);
    expect(&d, 2, 0);
}

static void test_broken_line(void)
{
    struct desk d;
    desk_open(&d);
    write_run(&d, 7, 0, 1, 100, 200, GOOD);
    write_line(&d, "{\"event\":\"sta");
    write_run(&d, 7, 1, 1, 100, 200, GOOD);
    expect(&d, 1, 0);
}

static const struct suite_test tests[] = {
    {"nothing is wrong", test_all_is_well},
    {"an attempt that starts twice", test_second_start},
    {"two attempts at a time", test_two_at_a_time},
    {"two epochs at a time", test_two_epochs_at_a_time},
    {"an end that was not its own", test_killed_by_someone},
    {"more successes than instances", test_success_twice},
    {"one index succeeds twice", test_same_index_succeeds_twice},
    {"a success without its runs", test_success_without_a_run},
    {"another epoch than the list says", test_wrong_epoch},
    {"a run without an end", test_still_running},
    {"an acknowledged word is lost", test_lost_word},
    {"failures", test_failure},
    {"a run that nobody asked for", test_nobody_submitted_it},
    {"a broken line", test_broken_line},
};

int main(void)
{
    return suite_run("checker", tests, TF_ARRAY_LEN(tests));
}
