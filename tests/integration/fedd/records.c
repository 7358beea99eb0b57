/* SPDX-License-Identifier: Apache-2.0 */
/* Records that cannot be read: named loudly, left as they are, their names blocked, what runs of them left
 * alone; the rest goes on. And a store that was restored. */
#include "common/base/cleanup.h"
#include "tests/support/fedd/cluster.h"
#include "tests/support/fedd/reader.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <sys/wait.h>

static struct bench b;
static struct fake fake, other;

enum { ASK_MS = 5000 };

static const char garbage[] = "\xff\x00garbage";

static void put_garbage(const char *key)
{
    bench_store_put(&b, key, garbage, sizeof garbage);
}

static void check_untouched(const char *key)
{
    size_t len;
    TF_AUTO_FREE char *value = bench_store_get(&b, key, &len);
    CU_ASSERT_TRUE(value && len == sizeof garbage && memcmp(value, garbage, len) == 0);
}

static void test_jobs(void)
{
    struct tf_error err;
    if (!bench_open(&b, NULL, 0))
        return;
    bench_one_leader(&b);
    fake_join(&fake, &b);
    fake_run_job(&fake, "one", 1);
    fake_run_job(&fake, "two", 2);
    bench_stop(&b, 0);

    /* what runs, and whose record will be lost */
    struct tf_entry one = *fake_entry(&fake, TF_ENTRY_PLACE, 1);
    one.tenant = (char[]){"t"};
    one.name = (char[]){"one"};
    size_t len;
    TF_AUTO_FREE char *two = bench_store_get(&b, "jobs/t/two", &len);
    put_garbage("jobs/t/one");
    put_garbage("jobs/t/x/y");
    put_garbage("strange");
    bench_store_put(&b, "jobs/t/three", two, len); /* its value says another name */
    bench_one_leader(&b);
    CU_ASSERT_TRUE(bench_log_has(&b, 0, "key=jobs/t/one"));
    CU_ASSERT_TRUE(bench_log_has(&b, 0, "key=jobs/t/x/y"));
    CU_ASSERT_TRUE(bench_log_has(&b, 0, "key=strange"));
    CU_ASSERT_TRUE(bench_log_has(&b, 0, "key=jobs/t/three"));
    CU_ASSERT_TRUE(bench_log_has(&b, 0, "quarantined=4"));

    /* the name is blocked, for all that could overwrite it */
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "one", 9, ASK_MS, &err), TF_ERR_CONFLICT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "quarantine"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "jobs/t/one"));
    CU_ASSERT_EQUAL(bench_change(&b, 0, TF_METHOD_GET, "one"), TF_ERR_CONFLICT);
    CU_ASSERT_EQUAL(bench_change(&b, 0, TF_METHOD_DELETE, "one"), TF_ERR_CONFLICT);
    CU_ASSERT_EQUAL(bench_change(&b, 0, TF_METHOD_EXPLAIN, "one"), TF_ERR_CONFLICT);

    /* what runs of it is told to nobody; the other goes on */
    fake_attach(&fake, 0);
    CU_ASSERT_PTR_NULL(fake_entry(&fake, TF_ENTRY_PLACE, 1));
    fake_report(&fake, &one, TF_PHASE_RUNNING);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fake_entry(&fake, TF_ENTRY_PLACE, 2));
    fake_end(&fake, fake_entry(&fake, TF_ENTRY_PLACE, 2), TF_END_FINISHED);
    CU_ASSERT_PTR_NOT_NULL(
        fake_wait_entry(&fake, TF_ENTRY_STORED, 2)); /* said later, so what came before is through */
    CU_ASSERT_PTR_NULL(fake_entry(&fake, TF_ENTRY_RELEASE, 1));
    CU_ASSERT_TRUE(bench_wait_phase(&b, 0, "two", TF_PHASE_SUCCEEDED));
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "four", 4, ASK_MS, NULL), TF_OK);

    check_untouched("jobs/t/one");
    check_untouched("jobs/t/x/y");
    check_untouched("strange");

    /* removed by an operator, and the leader started again: the name is free, and what runs is an orphan */
    bench_store_put(&b, "jobs/t/one", NULL, 0);
    CU_ASSERT_EQUAL(bench_stop(&b, 0), 0);
    bench_one_leader(&b);
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "one", 9, ASK_MS, NULL), TF_OK);
    fake_attach(&fake, 0);
    fake_report(&fake, &one, TF_PHASE_RUNNING);
    CU_ASSERT_PTR_NOT_NULL(fake_wait_entry(&fake, TF_ENTRY_RELEASE, 1));
    fake_release(&fake);
    bench_close(&b);
}

/* A registration: its subcluster stays outside, its jobs are kept, the others attach. */
static void test_registration(void)
{
    struct tf_job_view job = {0};
    if (!bench_open(&b, NULL, 0))
        return;
    bench_one_leader(&b);
    fake_init(&fake, &b, "bj-a", 4);
    fake_init(&other, &b, "gz-b", 4);
    fake_attach(&fake, 0);
    fake_run_job(&fake, "one", 1);
    bench_stop(&b, 0);
    put_garbage("subclusters/bj-a");
    put_garbage("summaries/gz-b");
    bench_one_leader(&b);
    fake_dial(&fake, 0);
    CU_ASSERT_TRUE(fake_wait_ended(&fake));
    CU_ASSERT_EQUAL(fake.ended.code, TF_ERR_CONFLICT);
    CU_ASSERT_PTR_NOT_NULL(strstr(fake.ended.text, "subclusters/bj-a"));
    fake_attach(&other, 0);
    fake_run_job(&other, "two", 2); /* its profile has come, and would be summed up */
    CU_ASSERT_TRUE_FATAL(bench_get(&b, 0, "one", &job));
    CU_ASSERT_EQUAL(job.phase, TF_PHASE_RUNNING);
    tf_job_view_release(&job);
    check_untouched("subclusters/bj-a");
    check_untouched("summaries/gz-b");
    fake_release(&fake);
    fake_release(&other);
    bench_close(&b);
}

/* Without the counter of epochs, or the guard's own record, nobody may lead; restored, all goes on. */
static void test_vital(void)
{
    static const char *const keys[] = {"epoch", "head"}, *const words[] = {"counter of epochs", "v1/head"};
    struct tf_error err;
    for (size_t i = 0; i < TF_ARRAY_LEN(keys); i++) {
        if (!bench_open(&b, NULL, 0))
            return;
        bench_one_leader(&b);
        fake_join(&fake, &b);
        fake_run_job(&fake, "one", 1);
        bench_stop(&b, 0);
        size_t len;
        TF_AUTO_FREE char *good = bench_store_get(&b, keys[i], &len);
        CU_ASSERT_PTR_NOT_NULL_FATAL(good);
        put_garbage(keys[i]);
        bench_start(&b, 0);
        CU_ASSERT_TRUE(bench_wait_log(&b, 0, words[i]));
        CU_ASSERT_EQUAL(bench_submit(&b, 0, "two", 2, ASK_MS, &err), TF_ERR_UNAVAILABLE);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, keys[i]));
        fake_dial(&fake, 0);
        CU_ASSERT_TRUE(fake_wait_ended(&fake));
        check_untouched(keys[i]);
        bench_kill(&b, 0);
        bench_store_put(&b, keys[i], good, len);
        bench_one_leader(&b);
        CU_ASSERT_EQUAL(bench_submit(&b, 0, "two", 2, ASK_MS, &err), TF_OK);
        fake_release(&fake);
        bench_close(&b);
    }
}

/* A subcluster knows of more than the store: somebody put back an older one. */
static void test_restored(void)
{
    struct tf_error err;
    if (!bench_open(&b, NULL, 0))
        return;
    bench_one_leader(&b);
    fake_join(&fake, &b);
    fake.highest_epoch = 1000;
    fake_dial(&fake, 0);
    CU_ASSERT_TRUE(fake_wait_ended(&fake));
    CU_ASSERT_PTR_NOT_NULL(strstr(fake.ended.text, "--accept-rollback"));
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "one", 1, ASK_MS, &err), TF_ERR_UNAVAILABLE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "--accept-rollback"));
    struct reader reader; /* watchers, too, hear why */
    struct tf_request watch = {.method = TF_METHOD_WATCH};
    reader_open(&reader, &b, 0, &watch);
    CU_ASSERT_TRUE(reader_wait_end(&reader));
    CU_ASSERT_PTR_NOT_NULL(strstr(reader.error.text, "--accept-rollback"));
    reader_release(&reader);
    bench_stop(&b, 0);
    b.option = "--accept-rollback";
    bench_one_leader(&b);
    fake_attach(&fake, 0);
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "one", 1, ASK_MS, &err), TF_OK);
    const struct tf_entry *place = fake_wait_entry(&fake, TF_ENTRY_PLACE, 1);
    CU_ASSERT_TRUE(place && place->epoch > 1000);
    fake_release(&fake);
    bench_close(&b);
}

/* The exit code of `fedctl cluster forget NAME OPTION`. */
static int forget(const char *name, const char *option)
{
    TF_AUTO_FREE char *command = tf_asprintf("'%s' --endpoints %s cluster forget %s %s 2>&1", TF_FEDCTL,
                                             b.fedds[0].address, name, option);
    char line[512];
    FILE *pipe = popen(command, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(pipe);
    while (fgets(line, sizeof line, pipe))
        printf("%s", line);
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A restored store waits for each subcluster: for a dead one until somebody says that it is. */
static void test_restored_and_one_is_dead(void)
{
    struct tf_error err;
    if (!bench_open(&b, NULL, 0))
        return;
    bench_one_leader(&b);
    fake_init(&fake, &b, "bj-a", 4);
    fake_init(&other, &b, "us-c", 4);
    fake_attach(&fake, 0);
    fake_run_job(&fake, "one", 1);
    fake_attach(&other, 0);
    bench_submit(&b, 0, "two", 2, ASK_MS, &err);
    fake_leave(&other);
    bench_stop(&b, 0);
    b.option = "--accept-rollback";
    bench_one_leader(&b);
    fake_dial(&fake, 0);
    CU_ASSERT_EQUAL(bench_submit(&b, 0, "three", 3, ASK_MS, &err), TF_OK);
    CU_ASSERT_NOT_EQUAL(forget("us-c", ""), 0);
    CU_ASSERT_FALSE(fake.complete); /* nobody is told anything before us-c was heard */
    CU_ASSERT_EQUAL(forget("us-c", "--i-know-it-is-dead"), 0);
    CU_ASSERT_PTR_NOT_NULL(fake_wait_entry(&fake, TF_ENTRY_PLACE, 3));
    CU_ASSERT_NOT_EQUAL(forget("bj-a", "--i-know-it-is-dead"), 0); /* it is attached */
    fake_release(&fake);
    fake_release(&other);
    bench_close(&b);
}

static const struct suite_test tests[] = {
    {"jobs", test_jobs},
    {"a registration", test_registration},
    {"what nobody can lead without", test_vital},
    {"a restored store", test_restored},
    {"a restored store and a dead subcluster", test_restored_and_one_is_dead},
};

int main(void)
{
    return suite_run("fedd/records", tests, TF_ARRAY_LEN(tests));
}
