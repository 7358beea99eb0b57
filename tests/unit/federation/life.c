/* SPDX-License-Identifier: Apache-2.0 */
/* The life of one job: placed, reported, ended in each way; deleted, held, restarted; through a change of
 * leaders. */
#include "common/base/cleanup.h"
#include "tests/support/fed_driver/fed_driver.h"
#include "tests/support/suite.h"

#define PHASE(job, text) CU_ASSERT_STRING_EQUAL(drive_phase(&d, job), text)

/* One subcluster of four nodes, one job placed there. */
static void start(struct drive *d)
{
    drive_init(d);
    drive_cluster_up(d, "bj-a", "4x8:H800");
    drive_submit(d, "rec/x", "n=2 gpus=8");
    drive_expect(d, "reply 1: created #1\nbj-a CHANGE 2: place rec/x e1 2 H800\n");
}

static void test_runs_and_succeeds(void)
{
    struct drive d;
    start(&d);
    PHASE("rec/x", "Pending in bj-a e1 x2");
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_STARTING, 0);
    PHASE("rec/x", "Starting in bj-a e1 x2");
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_RUNNING, 2);
    PHASE("rec/x", "Running in bj-a e1 x2");
    drive_expect(&d, "");
    drive_end(&d, "bj-a", 1, 1, TF_END_FINISHED);
    PHASE("rec/x", "Succeeded");
    drive_expect(&d, "bj-a CHANGE 3: stored #1 e1\n");
    drive_release(&d);
}

static void test_ready_counts_are_not_stored(void)
{
    struct drive d;
    start(&d);
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_STARTING, 0);
    size_t commits = d.commits;
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_STARTING, 1);
    CU_ASSERT_EQUAL(d.commits, commits);
    CU_ASSERT_EQUAL(fed_job_report(d.fed, drive_record(&d, "rec/x"))->ready, 1);
    drive_release(&d);
}

/* A job that fails again and again says why before its retries are used up, and the report that says so again
 * is not stored again. */
static void test_the_latest_failure_is_told(void)
{
    struct drive d;
    start(&d);
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_STARTING, 0);
    struct tf_report report = {.uid = drive_uid(1), .epoch = 1, .phase = TF_PHASE_STARTING, .size = 2};
    report.accepted.ms = d.now.wall.ms;
    report.retries_used = report.restarts = 1;
    report.ended.exit_code = 127;
    report.ended.message = tf_strdup("instance 0 on n0 exited with code 127; retry 1 of 3");
    report.ended.output = tf_strdup("no such file");
    struct tf_up up = {.kind = TF_UP_REPORT};
    tf_report_copy(&up.report, &report);
    drive_say(&d, "bj-a", up);
    PHASE("rec/x", "Starting in bj-a e1 x2");
    const struct tf_job_record *r = drive_record(&d, "rec/x");
    CU_ASSERT_STRING_EQUAL(r->message, "instance 0 on n0 exited with code 127; retry 1 of 3");
    CU_ASSERT_STRING_EQUAL(r->output, "no such file");
    CU_ASSERT_EQUAL(r->exit_code, 127);
    CU_ASSERT_STRING_EQUAL(r->events.items[r->events.count - 1].type, "Retried");
    size_t told = r->events.count;
    report.restarts = 2; /* one of them has moved, which is no retry */
    struct tf_up moved = {.kind = TF_UP_REPORT};
    tf_report_copy(&moved.report, &report);
    drive_say(&d, "bj-a", moved);
    CU_ASSERT_EQUAL(drive_record(&d, "rec/x")->events.count, told);
    struct fed_explanation e = {0};
    CU_ASSERT_EQUAL_FATAL(fed_explain(d.fed, "rec", "x", d.now, &e, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(e.answer, "0 of 2 instances are ready; latest failure: instance 0 on n0 exited"));
    fed_explanation_release(&e);
    size_t commits = d.commits;
    drive_say(&d, "bj-a", (struct tf_up){.kind = TF_UP_REPORT, .report = report});
    CU_ASSERT_EQUAL(d.commits, commits);
    drive_end(&d, "bj-a", 1, 1, TF_END_FINISHED);
    r = drive_record(&d, "rec/x");
    CU_ASSERT_EQUAL(r->exit_code, 0);
    CU_ASSERT_PTR_NULL(r->message);
    CU_ASSERT_PTR_NULL(r->output);
    drive_release(&d);
}

static void test_fails_with_its_last_words(void)
{
    struct drive d;
    start(&d);
    drive_ended(&d, "bj-a", 1, 1,
                (struct tf_ended){.end = TF_END_FAILED,
                                  .exit_code = 3,
                                  .failures = 4,
                                  .message = "instance 1 failed 4 times",
                                  .output = "no such file"});
    const struct tf_job_record *r = drive_record(&d, "rec/x");
    PHASE("rec/x", "Failed");
    CU_ASSERT_EQUAL(r->exit_code, 3);
    CU_ASSERT_EQUAL(r->retries_used, 4);
    CU_ASSERT_STRING_EQUAL(r->message, "instance 1 failed 4 times");
    CU_ASSERT_STRING_EQUAL(r->output, "no such file");
    drive_release(&d);
}

/* Lost, unknown, evicted, fenced: back to the queue with the old submit time, and on again. */
static void test_goes_back_to_its_place(void)
{
    static const struct {
        enum tf_end end;
        int32_t losses, evictions;
    } cases[] = {{TF_END_LOST, 1, 0}, {TF_END_EVICTED, 0, 1}, {TF_END_FENCED, 0, 0}};
    for (size_t i = 0; i < TF_ARRAY_LEN(cases); i++) {
        struct drive d;
        start(&d);
        struct tf_wall submitted = drive_record(&d, "rec/x")->submitted;
        drive_elapse(&d, 5000);
        drive_end(&d, "bj-a", 1, 1, cases[i].end);
        drive_expect(&d, "bj-a CHANGE 3: stored #1 e1; place rec/x e2 2 H800\n");
        CU_ASSERT_EQUAL(drive_record(&d, "rec/x")->submitted.ms, submitted.ms);
        CU_ASSERT_EQUAL(drive_record(&d, "rec/x")->losses, cases[i].losses);
        CU_ASSERT_EQUAL(drive_record(&d, "rec/x")->evictions, cases[i].evictions);
        drive_release(&d);
    }
}

static void test_delete_of_a_waiting_job(void)
{
    struct drive d;
    drive_init(&d);
    drive_submit(&d, "rec/x", "n=2 gpus=8");
    d.hold_archives = true;
    drive_job(&d, FED_EV_DELETE, "rec/x");
    drive_expect(&d, "reply 1: created #1\narchive rec/x Deleted\nreply 2: deleted #1\n");
    PHASE("rec/x", "Deleted");
    drive_archived(&d);
    drive_commit(&d);
    PHASE("rec/x", "none");
    CU_ASSERT_EQUAL(d.store.count, 1);
    drive_release(&d);
}

static void test_delete_of_a_running_job(void)
{
    struct drive d;
    start(&d);
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_RUNNING, 2);
    drive_job(&d, FED_EV_DELETE, "rec/x");
    drive_expect(&d, "reply 2: deleted #1\nbj-a CHANGE 3: release #1 e1 delete\n");
    PHASE("rec/x", "Stopping in bj-a e1 x2");
    drive_submit(&d, "rec/x", "uid=7 n=1");
    drive_expect(&d, "reply 3: CONFLICT\n");
    CU_ASSERT_PTR_NOT_NULL(strstr(d.said, "is being deleted"));
    drive_job(&d, FED_EV_DELETE, "rec/x");
    drive_expect(&d, "reply 4: deleted #1\n");
    drive_end(&d, "bj-a", 1, 1, TF_END_RELEASED);
    drive_expect(&d, "archive rec/x Deleted\nbj-a CHANGE 4: stored #1 e1\n");
    PHASE("rec/x", "none");
    drive_submit(&d, "rec/x", "uid=7 n=1");
    drive_expect(&d, "reply 5: created #7\nbj-a CHANGE 5: place rec/x e2 1\n");
    drive_release(&d);
}

static void test_delete_of_a_finished_job(void)
{
    struct drive d;
    start(&d);
    drive_end(&d, "bj-a", 1, 1, TF_END_FINISHED);
    tf_buf_clear(&d.log);
    drive_job(&d, FED_EV_DELETE, "rec/x");
    drive_expect(&d, "archive rec/x Succeeded\nreply 2: deleted #1\n");
    PHASE("rec/x", "none");
    drive_release(&d);
}

static void test_hold_and_resume(void)
{
    struct drive d;
    start(&d);
    drive_job(&d, FED_EV_HOLD, "rec/x");
    drive_expect(&d, "reply 2: done #1\nbj-a CHANGE 3: release #1 e1 hold\n");
    PHASE("rec/x", "Stopping in bj-a e1 x2");
    drive_end(&d, "bj-a", 1, 1, TF_END_RELEASED);
    drive_expect(&d, "bj-a CHANGE 4: stored #1 e1\n");
    PHASE("rec/x", "Held");
    drive_job(&d, FED_EV_RESUME, "rec/x");
    drive_expect(&d, "reply 3: done #1\nbj-a CHANGE 5: place rec/x e2 2 H800\n");
    drive_release(&d);
}

static void test_hold_of_a_waiting_job(void)
{
    struct drive d;
    drive_init(&d);
    drive_submit(&d, "rec/x", "n=2 gpus=8");
    drive_job(&d, FED_EV_HOLD, "rec/x");
    drive_cluster_up(&d, "bj-a", "4x8:H800");
    PHASE("rec/x", "Held");
    drive_job(&d, FED_EV_HOLD, "rec/x");
    drive_crash(&d);
    PHASE("rec/x", "Held");
    drive_cluster_up(&d, "bj-a", "4x8:H800");
    drive_job(&d, FED_EV_RESUME, "rec/x");
    PHASE("rec/x", "Pending in bj-a e1 x2");
    drive_release(&d);
}

static void test_resume_before_it_has_stopped(void)
{
    struct drive d;
    start(&d);
    drive_job(&d, FED_EV_HOLD, "rec/x");
    drive_job(&d, FED_EV_RESUME, "rec/x");
    drive_end(&d, "bj-a", 1, 1, TF_END_RELEASED);
    PHASE("rec/x", "Pending in bj-a e2 x2");
    drive_release(&d);
}

static void test_restart_with_another_spec(void)
{
    struct drive d;
    start(&d);
    drive_submit(&d, "rec/x", "apply n=2 gpus=4");
    drive_expect(&d, "reply 2: REFUSED\n");
    CU_ASSERT_PTR_NOT_NULL(strstr(d.said, "spec.instance.gpus"));
    drive_submit(&d, "rec/x", "apply restart n=2 gpus=4 uid=9");
    drive_expect(&d, "reply 3: restarted #1\nbj-a CHANGE 3: release #1 e1 restart\n");
    drive_submit(&d, "rec/x", "apply restart n=2 gpus=4 uid=9");
    drive_expect(&d, "reply 4: restarted #1\n");
    drive_end(&d, "bj-a", 1, 1, TF_END_FINISHED);
    drive_expect(&d, "bj-a CHANGE 4: stored #1 e1; place rec/x e2 2 H800\n");
    drive_crash(&d);
    drive_submit(&d, "rec/x", "apply restart n=2 gpus=4 uid=9");
    drive_expect(&d, "reply 5: restarted #1\n");
    PHASE("rec/x", "Pending in bj-a e2 x2");
    CU_ASSERT_EQUAL(drive_record(&d, "rec/x")->spec->group.shape.gpus, 4);
    drive_release(&d);
}

static void test_update_of_a_running_job(void)
{
    struct drive d;
    start(&d);
    drive_submit(&d, "rec/x", "apply n=2 gpus=8 prio=online");
    drive_expect(&d, "reply 2: updated #1\nbj-a CHANGE 3: place rec/x e1 2 H800\n");
    drive_submit(&d, "rec/x", "apply n=2 gpus=8 prio=online");
    drive_expect(&d, "reply 3: unchanged #1\n");
    drive_release(&d);
}

static void test_scale_of_a_waiting_job(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8:H800");
    drive_submit(&d, "rec/x", "n=8 gpus=8");
    drive_scale(&d, "rec/x", (struct tf_elastic){3, 3, 3});
    drive_expect(&d, "reply 1: created #1\nreply 2: done #1\nbj-a CHANGE 2: place rec/x e1 3 H800\n");
    drive_scale(&d, "rec/x", (struct tf_elastic){2, 2, 2});
    drive_expect(&d, "reply 3: REFUSED\n");
    drive_release(&d);
}

/* Its subcluster is told, by the placement; what it makes of it is in its report. */
static void test_scale_of_a_running_job(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8:H800");
    drive_submit(&d, "rec/x", "n=4 gpus=8");
    drive_expect(&d, "reply 1: created #1\nbj-a CHANGE 2: place rec/x e1 4 H800\n");
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_STARTING, 0);
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_RUNNING, 4);
    drive_scale(&d, "rec/x", (struct tf_elastic){2, 2, 2});
    drive_expect(&d, "reply 2: done #1\nbj-a CHANGE 3: place rec/x e1 4 H800\n");
    CU_ASSERT_EQUAL(drive_record(&d, "rec/x")->spec->elastic.max, 2);
    drive_scale(&d, "rec/x", (struct tf_elastic){2, 2, 2}); /* again: the same answer, nothing is told */
    drive_expect(&d, "reply 3: done #1\n");
    drive_scale(&d, "rec/x", (struct tf_elastic){3, 3, 3});
    drive_expect(&d, "reply 4: REFUSED\n");
    CU_ASSERT_EQUAL(drive_record(&d, "rec/x")->spec->elastic.max, 2);
    drive_submit(&d, "rec/x", "apply n=3 gpus=8");
    drive_expect(&d, "reply 5: REFUSED\n");
    drive_submit(&d, "rec/x", "apply n=4 gpus=8");
    drive_expect(&d, "reply 6: updated #1\nbj-a CHANGE 4: place rec/x e1 4 H800\n");
    drive_release(&d);
}

/* Not accepted yet: it is told with no more than it may have now. */
static void test_scale_before_it_is_accepted(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8:H800");
    drive_submit(&d, "rec/x", "n=4 gpus=8");
    drive_scale(&d, "rec/x", (struct tf_elastic){2, 2, 2});
    drive_expect(&d, "reply 1: created #1\nbj-a CHANGE 2: place rec/x e1 4 H800\n"
                     "reply 2: done #1\nbj-a CHANGE 3: place rec/x e1 2 H800\n");
    PHASE("rec/x", "Pending in bj-a e1 x2");
    drive_release(&d);
}

/* What is being stopped is not told; the next epoch has the new size. */
static void test_scale_of_a_held_job(void)
{
    struct drive d;
    start(&d);
    drive_job(&d, FED_EV_HOLD, "rec/x");
    drive_scale(&d, "rec/x", (struct tf_elastic){1, 1, 1});
    drive_expect(&d, "reply 2: done #1\nbj-a CHANGE 3: release #1 e1 hold\nreply 3: done #1\n");
    drive_end(&d, "bj-a", 1, 1, TF_END_RELEASED);
    drive_job(&d, FED_EV_RESUME, "rec/x");
    drive_expect(&d, "bj-a CHANGE 4: stored #1 e1\nreply 4: done #1\nbj-a CHANGE 5: place rec/x e2 1 H800\n");
    drive_release(&d);
}

static void test_scale_to_what_is_no_size(void)
{
    struct drive d;
    drive_init(&d);
    drive_submit(&d, "rec/x", "n=8 gpus=8");
    drive_scale(&d, "rec/x", (struct tf_elastic){7, 8, 2});
    drive_expect(&d, "reply 1: created #1\nreply 2: INVALID\n");
    CU_ASSERT_EQUAL(drive_record(&d, "rec/x")->spec->elastic.min, 8);
    drive_release(&d);
}

static void test_verbs_on_what_is_not_there(void)
{
    struct drive d;
    drive_init(&d);
    drive_job(&d, FED_EV_DELETE, "rec/x");
    drive_job(&d, FED_EV_HOLD, "rec/x");
    drive_scale(&d, "rec/x", (struct tf_elastic){1, 1, 1});
    drive_cluster(&d, FED_EV_CORDON, "bj-a", true);
    drive_cluster(&d, FED_EV_FORGET, "bj-a", true);
    drive_expect(&d, "reply 1: NOT_FOUND\nreply 2: NOT_FOUND\nreply 3: NOT_FOUND\nreply 4: NOT_FOUND\n"
                     "reply 5: NOT_FOUND\n");
    drive_release(&d);
}

static void test_events_are_ordered_with_one_end(void)
{
    struct drive d;
    start(&d);
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_STARTING, 0);
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_RUNNING, 2);
    drive_end(&d, "bj-a", 1, 1, TF_END_FINISHED);
    drive_end(&d, "bj-a", 1, 1, TF_END_FAILED);
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_RUNNING, 2);
    TF_AUTO_BUF types = TF_BUF_INIT;
    tf_vec_each (event, &drive_record(&d, "rec/x")->events)
        tf_buf_fmt(&types, "%s ", event->type);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&types), "Submitted Placed Accepted Running Succeeded ");
    drive_release(&d);
}

static void test_a_new_leader_goes_on(void)
{
    struct drive d;
    start(&d);
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_RUNNING, 2);
    tf_buf_clear(&d.log);
    drive_crash(&d);
    PHASE("rec/x", "Running in bj-a e1 x2");
    drive_attach(&d, "bj-a", "north");
    drive_expect(&d, "bj-a BEGIN 1, 1 entries\nbj-a PART 1: place rec/x e1 2 H800\nbj-a END 1\n");
    drive_end(&d, "bj-a", 1, 1, TF_END_FINISHED);
    PHASE("rec/x", "Succeeded");
    drive_release(&d);
}

static void test_a_release_survives_the_leader(void)
{
    struct drive d;
    start(&d);
    drive_job(&d, FED_EV_DELETE, "rec/x");
    drive_crash(&d);
    tf_buf_clear(&d.log);
    drive_attach(&d, "bj-a", "north");
    drive_expect(&d, "bj-a BEGIN 1, 1 entries\nbj-a PART 1: release #1 e1 delete\nbj-a END 1\n");
    drive_end(&d, "bj-a", 1, 1, TF_END_RELEASED);
    drive_expect(&d, "archive rec/x Deleted\nbj-a CHANGE 2: stored #1 e1\n");
    drive_release(&d);
}

static const struct suite_test tests[] = {
    {"runs and succeeds", test_runs_and_succeeds},
    {"ready counts are not stored", test_ready_counts_are_not_stored},
    {"the latest failure is told", test_the_latest_failure_is_told},
    {"fails with its last words", test_fails_with_its_last_words},
    {"goes back to its place", test_goes_back_to_its_place},
    {"delete of a waiting job", test_delete_of_a_waiting_job},
    {"delete of a running job", test_delete_of_a_running_job},
    {"delete of a finished job", test_delete_of_a_finished_job},
    {"hold and resume", test_hold_and_resume},
    {"hold of a waiting job", test_hold_of_a_waiting_job},
    {"resume before it has stopped", test_resume_before_it_has_stopped},
    {"restart with another spec", test_restart_with_another_spec},
    {"update of a running job", test_update_of_a_running_job},
    {"scale of a waiting job", test_scale_of_a_waiting_job},
    {"scale of a running job", test_scale_of_a_running_job},
    {"scale before it is accepted", test_scale_before_it_is_accepted},
    {"scale of a held job", test_scale_of_a_held_job},
    {"scale to what is no size", test_scale_to_what_is_no_size},
    {"verbs on what is not there", test_verbs_on_what_is_not_there},
    {"events are ordered, with one end", test_events_are_ordered_with_one_end},
    {"a new leader goes on", test_a_new_leader_goes_on},
    {"a release survives the leader", test_a_release_survives_the_leader},
};

int main(void)
{
    return suite_run("life", tests, TF_ARRAY_LEN(tests));
}
