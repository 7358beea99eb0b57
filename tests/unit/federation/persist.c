/* SPDX-License-Identifier: Apache-2.0 */
/* Persist, then act and tell; what is kept and for how long. */
#include "common/base/cleanup.h"
#include "common/model/transaction.h"
#include "tests/support/fed_driver/fed_driver.h"
#include "tests/support/suite.h"

#define PHASE(job, text) CU_ASSERT_STRING_EQUAL(drive_phase(&d, job), text)

static void test_nothing_leaves_before_its_commit(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    d.hold_commits = d.log_persists = true;
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    drive_expect(&d, "persist: job rec/x, epoch 1\n");
    drive_submit(&d, "rec/y", "n=1 gpus=8");
    drive_barrier(&d);
    drive_expect(&d, "");
    drive_commit(&d);
    drive_expect(&d,
                 "persist: job rec/y, epoch 2\nreply 1: created #1\nbj-a CHANGE 2: place rec/x e1 1 H800\n");
    drive_commit(&d);
    drive_expect(&d, "reply 2: created #2\nbj-a CHANGE 3: place rec/y e2 1 H800\nreply 3: done\n");
    drive_barrier(&d);
    drive_expect(&d, "reply 4: done\n");
    drive_release(&d);
}

static void test_a_crash_forgets_what_was_not_committed(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    d.hold_commits = true;
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    drive_submit(&d, "rec/y", "n=1 gpus=8");
    drive_commit(&d);
    d.hold_commits = false;
    drive_crash(&d);
    PHASE("rec/x", "Pending in bj-a e1 x1");
    PHASE("rec/y", "none");
    tf_buf_clear(&d.log);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_submit(&d, "rec/y", "n=1 gpus=8 uid=2");
    drive_expect(&d, "reply 3: created #2\nbj-a CHANGE 2: place rec/y e2 1 H800\n");
    drive_release(&d);
}

static size_t largest, transactions;

static void watch_sizes(struct drive *d, const struct fed_action *action, void *arg)
{
    (void)d;
    (void)arg;
    if (action->kind != FED_ACT_PERSIST)
        return;
    transactions++;
    if (action->persist.count > largest)
        largest = action->persist.count;
}

static void test_transactions_are_bounded(void)
{
    struct drive d;
    drive_init(&d);
    d.on_action = watch_sizes;
    d.hold_commits = true;
    largest = transactions = 0;
    for (int i = 0; i < 300; i++) {
        TF_AUTO_FREE char *name = tf_asprintf("rec/j%d", i);
        drive_submit(&d, name, "n=1");
    }
    while (d.in_flight)
        drive_commit(&d);
    CU_ASSERT_EQUAL(largest, TF_TRANSACTION_RECORDS);
    CU_ASSERT_EQUAL(transactions, 4); /* 1, then 120 at a time */
    CU_ASSERT_EQUAL(d.store.count, 301);
    drive_release(&d);
}

/* A record that changes while its transaction is out is written again, with what it is by then. */
static void test_a_change_under_way_is_written_again(void)
{
    struct drive d;
    drive_init(&d);
    d.hold_commits = d.log_persists = true;
    drive_submit(&d, "rec/x", "n=1");
    drive_job(&d, FED_EV_HOLD, "rec/x");
    drive_job(&d, FED_EV_RESUME, "rec/x");
    drive_commit(&d);
    drive_expect(&d, "persist: job rec/x\npersist: job rec/x\nreply 1: created #1\n");
    drive_commit(&d);
    drive_expect(&d, "reply 2: done #1\nreply 3: done #1\n");
    drive_release(&d);
}

/* A leader that has been deposed without knowing it may decide, but must not write that into the archive. */
static void test_the_archive_waits_for_the_commit(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    drive_submit(&d, "rec/y", "n=99 gpus=8");
    drive_job(&d, FED_EV_DELETE, "rec/x");
    tf_buf_clear(&d.log);
    d.hold_commits = d.hold_archives = true;
    drive_job(&d, FED_EV_DELETE, "rec/y");
    drive_expect(&d, "");
    drive_commit(&d);
    drive_expect(&d, "archive rec/y Deleted\nreply 4: deleted #2\n");
    drive_end(&d, "bj-a", 1, 1, TF_END_RELEASED);
    drive_expect(&d, "");
    drive_commit(&d);
    drive_expect(&d, "archive rec/x Deleted\nbj-a CHANGE 4: stored #1 e1\n");
    drive_release(&d);
}

static void test_finished_jobs_are_kept_for_a_while(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_submit(&d, "rec/x", "n=1 keep=60000");
    drive_submit(&d, "rec/y", "n=1 keep=3600000");
    drive_end(&d, "bj-a", 1, 1, TF_END_FINISHED);
    drive_end(&d, "bj-a", 2, 2, TF_END_FINISHED);
    drive_elapse(&d, 59999);
    PHASE("rec/x", "Succeeded");
    tf_buf_clear(&d.log);
    drive_elapse(&d, 1);
    drive_expect(&d, "archive rec/x Succeeded\n");
    PHASE("rec/x", "none");
    PHASE("rec/y", "Succeeded");
    drive_crash(&d);
    tf_buf_clear(&d.log);
    drive_elapse(&d, 3540000 - 1);
    PHASE("rec/y", "Succeeded");
    drive_elapse(&d, 1);
    PHASE("rec/y", "none");
    drive_release(&d);
}

static void test_history_keeps_the_latest(void)
{
    struct drive d;
    drive_init(&d);
    d.settings.history_max = 2;
    drive_crash(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    for (int i = 1; i <= 4; i++) {
        TF_AUTO_FREE char *name = tf_asprintf("rec/j%d", i);
        drive_submit(&d, name, "n=1");
        drive_end(&d, "bj-a", (uint64_t)i, (uint64_t)i, TF_END_FINISHED);
        drive_elapse(&d, 1000);
    }
    PHASE("rec/j1", "none");
    PHASE("rec/j2", "none");
    PHASE("rec/j3", "Succeeded");
    PHASE("rec/j4", "Succeeded");
    drive_release(&d);
}

static void test_many_archives_go_a_few_at_a_time(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    for (uint64_t i = 1; i <= 100; i++) {
        TF_AUTO_FREE char *name = tf_asprintf("rec/j%u", (unsigned)i);
        drive_submit(&d, name, "n=1 keep=1000");
        drive_end(&d, "bj-a", i, i, TF_END_FINISHED);
    }
    d.hold_archives = true;
    drive_elapse(&d, 2000);
    CU_ASSERT_EQUAL(d.archiving.count, 64);
    d.hold_archives = false;
    drive_barrier(&d);
    CU_ASSERT_EQUAL(fed_job_count(d.fed), 0);
    drive_release(&d);
}

static size_t summaries(const struct drive *d)
{
    size_t count = 0;
    const char *at = tf_buf_text(&d->log);
    while ((at = strstr(at, "summary bj-a"))) {
        count++;
        at++;
    }
    return count;
}

static void test_summaries_are_written_now_and_then(void)
{
    struct drive d;
    drive_init(&d);
    d.log_persists = true;
    drive_attach(&d, "bj-a", "north");
    for (int i = 0; i < 120; i++) {
        drive_profile(&d, "bj-a", i % 2 ? "4x8" : "3x8");
        drive_elapse(&d, 500);
    }
    CU_ASSERT_EQUAL(summaries(&d), 3); /* after 0, 30 and 60 s */
    drive_profile(&d, "bj-a", "2x8");
    CU_ASSERT_EQUAL(summaries(&d), 3);
    drive_elapse(&d, 30 * TF_SECOND);
    CU_ASSERT_EQUAL(summaries(&d), 4);
    size_t commits = d.commits;
    drive_elapse(&d, 10 * TF_HOUR);
    CU_ASSERT_EQUAL(d.commits, commits); /* at rest nothing is written */
    drive_release(&d);
}

static void test_settings_change_under_way(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "1x8");
    drive_submit(&d, "rec/blocker", "n=1 gpus=8 prio=online");
    drive_submit(&d, "rec/low", "n=1 gpus=8");
    drive_submit(&d, "rec/high", "n=1 gpus=8 prio=batch");
    tf_buf_clear(&d.log);
    for (size_t i = 0; i < d.settings.policy.classes.count; i++)
        if (strcmp(d.settings.policy.classes.items[i].name, "batch") == 0)
            d.settings.policy.classes.items[i].priority = 1;
    struct tf_classes sorted = {0};
    tf_vec_each (class, &d.settings.policy.classes)
        tf_classes_add(&sorted, class->name, class->priority);
    tf_classes_release(&d.settings.policy.classes);
    d.settings.policy.classes = sorted;
    struct fed_event event = {.kind = FED_EV_SETTINGS};
    tf_settings_copy(&event.settings, &d.settings);
    drive_step(&d, event);
    drive_expect(&d, "bj-a POLICY\n");
    drive_end(&d, "bj-a", 1, 1, TF_END_FINISHED);
    PHASE("rec/low", "Pending in bj-a e2 x1");
    drive_release(&d);
}

static const struct suite_test tests[] = {
    {"nothing leaves before its commit", test_nothing_leaves_before_its_commit},
    {"a crash forgets what was not committed", test_a_crash_forgets_what_was_not_committed},
    {"transactions are bounded", test_transactions_are_bounded},
    {"a change under way is written again", test_a_change_under_way_is_written_again},
    {"the archive waits for the commit", test_the_archive_waits_for_the_commit},
    {"finished jobs are kept for a while", test_finished_jobs_are_kept_for_a_while},
    {"history keeps the latest", test_history_keeps_the_latest},
    {"many archives go a few at a time", test_many_archives_go_a_few_at_a_time},
    {"summaries are written now and then", test_summaries_are_written_now_and_then},
    {"settings change under way", test_settings_change_under_way},
};

int main(void)
{
    return suite_run("persist", tests, TF_ARRAY_LEN(tests));
}
