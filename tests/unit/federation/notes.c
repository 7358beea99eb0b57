/* SPDX-License-Identifier: Apache-2.0 */
/* What a subcluster does to instances, in the job's events: each once, whoever is away meanwhile. */
#include "common/base/cleanup.h"
#include "tests/support/fed_driver/fed_driver.h"
#include "tests/support/suite.h"

static struct drive d;

/* rec/x runs in bj-a, epoch 1. */
static void start(void)
{
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8:H800");
    drive_submit(&d, "rec/x", "n=2 gpus=8");
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_RUNNING, 2);
    tf_buf_clear(&d.log);
}

/* Its subcluster has noted so many by now and keeps those from `first` on: each is of its own number. */
static void report(uint32_t first, uint32_t noted)
{
    struct tf_report r = {.uid = drive_uid(1),
                          .epoch = 1,
                          .phase = TF_PHASE_RUNNING,
                          .size = 2,
                          .ready = 2,
                          .accepted = d.now.wall,
                          .started = d.now.wall,
                          .noted = noted};
    r.tenant = tf_strdup("rec");
    r.name = tf_strdup("x");
    for (uint32_t n = first; n <= noted; n++) {
        TF_AUTO_FREE char *text = tf_asprintf("note %u", n);
        tf_notes_add(&r.notes, TF_NOTE_MOVED, text);
    }
    drive_say(&d, "bj-a", (struct tf_up){.kind = TF_UP_REPORT, .report = r});
}

/* The events since the job was running, one a line. */
static void expect(const char *lines)
{
    TF_AUTO_BUF seen = TF_BUF_INIT;
    tf_vec_each (e, &drive_record(&d, "rec/x")->events)
        if (strncmp(e->text, "in bj-a, ", 9) == 0 && strcmp(e->type, "Placed") != 0)
            tf_buf_fmt(&seen, "%s: %s\n", e->type, e->text + 9);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&seen), lines);
    if (strcmp(tf_buf_text(&seen), lines) != 0)
        printf("saw:\n%s", tf_buf_text(&seen));
}

static bool persists(void)
{
    return strstr(tf_buf_text(&d.log), "persist") != NULL;
}

static void test_each_once(void)
{
    start();
    d.log_persists = true;
    report(1, 1);
    CU_ASSERT_TRUE(persists());
    report(1, 3);
    tf_buf_clear(&d.log);
    report(1, 3);
    CU_ASSERT_FALSE(persists());
    expect("InstanceMoved: note 1\nInstanceMoved: note 2\nInstanceMoved: note 3\n");
    drive_release(&d);
}

static void test_a_new_leader_knows_what_was_told(void)
{
    start();
    report(1, 2);
    drive_crash(&d);
    drive_attach(&d, "bj-a", "north");
    report(1, 3);
    expect("InstanceMoved: note 1\nInstanceMoved: note 2\nInstanceMoved: note 3\n");
    drive_release(&d);
}

/* The subcluster acted alone for long: what it does not keep is counted. */
static void test_what_is_not_kept_is_counted(void)
{
    start();
    report(1, 1);
    report(6, 7);
    expect("InstanceMoved: note 1\nUntold: 4 moves, drains and losses of instances before the next ones: it "
           "keeps the latest 8 of an epoch\nInstanceMoved: note 6\nInstanceMoved: note 7\n");
    drive_release(&d);
}

/* Its store went back: nothing is told twice, and what is new is told. */
static void test_a_restored_store_counts_anew(void)
{
    start();
    report(1, 3);
    report(1, 1);
    expect("InstanceMoved: note 1\nInstanceMoved: note 2\nInstanceMoved: note 3\n");
    report(1, 2);
    expect("InstanceMoved: note 1\nInstanceMoved: note 2\nInstanceMoved: note 3\nInstanceMoved: note 2\n");
    drive_release(&d);
}

static void test_many_push_nothing_out(void)
{
    start();
    for (uint32_t n = 1; n <= 200; n++)
        report(n > TF_NOTES_MAX ? n - TF_NOTES_MAX + 1 : 1, n);
    const struct tf_job_record *job = drive_record(&d, "rec/x");
    CU_ASSERT_EQUAL(job->events_dropped, 0);
    CU_ASSERT_STRING_EQUAL(job->events.items[0].type, "Submitted");
    const struct tf_job_event *last = &job->events.items[job->events.count - 1];
    CU_ASSERT_EQUAL(last->more, 200 - TF_JOB_NOTES_MAX);
    CU_ASSERT_STRING_EQUAL(last->text, "in bj-a, note 200; and 192 before");
    drive_release(&d);
}

static const struct suite_test tests[] = {
    {"each once", test_each_once},
    {"a new leader knows what was told", test_a_new_leader_knows_what_was_told},
    {"what is not kept is counted", test_what_is_not_kept_is_counted},
    {"a restored store counts anew", test_a_restored_store_counts_anew},
    {"many push nothing out", test_many_push_nothing_out},
};

int main(void)
{
    return suite_run("notes", tests, TF_ARRAY_LEN(tests));
}
