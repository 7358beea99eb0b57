/* SPDX-License-Identifier: Apache-2.0 */
/* A job that goes from one subcluster to another: each transition of the graph in federation/core/cross.c,
 * and each thing that can come between. */
#include "common/base/cleanup.h"
#include "tests/support/fed_driver/fed_driver.h"
#include "tests/support/suite.h"

#define PHASE(job, text) CU_ASSERT_STRING_EQUAL(drive_phase(&d, job), text)
#define STATE(is) CU_ASSERT_EQUAL(drive_record(&d, "rec/x")->cross.state, TF_CROSS_##is)

/* rec/x runs in bj-a with 2 instances; gz-b has room for 4. */
static void start_with(struct drive *d, const char *words)
{
    drive_init(d);
    drive_cluster_up(d, "bj-a", "4x8:H800");
    drive_submit(d, "rec/x", words);
    drive_report(d, "bj-a", 1, 1, TF_PHASE_RUNNING, 2);
    drive_profile(d, "bj-a", "2x8:H800");
    drive_cluster_up(d, "gz-b", "4x8:H800");
}

static void start(struct drive *d)
{
    start_with(d, "n=2 gpus=8");
}

/* Ordered, and placed there. */
static void starting(struct drive *d)
{
    start(d);
    drive_migrate(d, "rec/x", "gz-b");
    drive_expect(d, "reply 2: done #1\ngz-b CHANGE 2: place rec/x e2 2 H800\n");
}

/* Ready there: bj-a is asked. */
static void releasing(struct drive *d)
{
    starting(d);
    drive_report(d, "gz-b", 1, 2, TF_PHASE_STARTING, 0);
    drive_expect(d, "");
    drive_report(d, "gz-b", 1, 2, TF_PHASE_RUNNING, 2);
    drive_expect(d, "bj-a CHANGE 3: place rec/x e1 2 H800 for e2\n");
}

static void switched(struct drive *d)
{
    releasing(d);
    drive_answer(d, "bj-a", 1, 1, 2, true);
    drive_expect(d, "bj-a CHANGE 4: release #1 e1 move\n");
}

static void test_plain(void)
{
    struct drive d;
    starting(&d);
    PHASE("rec/x", "Running in gz-b e2 x2 in bj-a e1 x2"); /* the last one is the job */
    STATE(STARTING);
    struct fed_explanation why = {0};
    CU_ASSERT_EQUAL_FATAL(fed_explain(d.fed, "rec", "x", d.now, &why, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(why.answer, "rec/x runs in bj-a"));
    CU_ASSERT_PTR_NOT_NULL(strstr(why.answer, "; it goes from bj-a to gz-b: STARTING"));
    fed_explanation_release(&why);
    drive_release(&d);
    releasing(&d);
    STATE(RELEASING);
    drive_release(&d);
    switched(&d);
    STATE(SWITCHED);
    PHASE("rec/x", "Running in bj-a e1 x2 in gz-b e2 x2");
    CU_ASSERT_EQUAL(fed_job_report(d.fed, drive_record(&d, "rec/x"))->epoch, 2);
    drive_end(&d, "bj-a", 1, 1, TF_END_RELEASED);
    drive_expect(&d, "bj-a CHANGE 5: stored #1 e1\n");
    STATE(DONE);
    PHASE("rec/x", "Running in gz-b e2 x2");
    drive_end(&d, "gz-b", 1, 2, TF_END_FINISHED);
    PHASE("rec/x", "Succeeded");
    drive_release(&d);
}

/* Not before every instance is ready, also if the core once was. */
static void test_asked_only_when_ready(void)
{
    struct drive d;
    starting(&d);
    drive_report(&d, "gz-b", 1, 2, TF_PHASE_RUNNING, 1);
    drive_expect(&d, "");
    STATE(STARTING);
    drive_release(&d);
}

static void test_refused_orders(void)
{
    struct drive d;
    start(&d);
    drive_migrate(&d, "rec/y", "gz-b");
    drive_migrate(&d, "rec/x", "hz-c");
    drive_migrate(&d, "rec/x", "bj-a");
    drive_migrate(&d, "rec/x", NULL);
    drive_expect(&d, "reply 2: NOT_FOUND\nreply 3: NOT_FOUND\nreply 4: REFUSED\nreply 5: REFUSED\n");
    drive_cluster(&d, FED_EV_CORDON, "gz-b", true);
    drive_migrate(&d, "rec/x", "gz-b");
    CU_ASSERT_PTR_NOT_NULL(strstr(d.said, "cordoned"));
    drive_cluster(&d, FED_EV_CORDON, "gz-b", false);
    drive_profile(&d, "gz-b", "1x8:H800 core0:3x8");
    drive_migrate(&d, "rec/x", "gz-b");
    CU_ASSERT_PTR_NOT_NULL(strstr(d.said, "room for"));
    STATE(NONE);
    drive_release(&d);
    start_with(&d, "n=2 gpus=8 moves=never");
    drive_migrate(&d, "rec/x", "gz-b");
    CU_ASSERT_PTR_NOT_NULL(strstr(d.said, "never"));
    drive_release(&d);
    start_with(&d, "n=2 gpus=8 clusters=bj-a");
    drive_migrate(&d, "rec/x", "gz-b");
    CU_ASSERT_PTR_NOT_NULL(strstr(d.said, "placement"));
    drive_release(&d);
}

static void test_asked_twice(void)
{
    struct drive d;
    starting(&d);
    drive_cluster_up(&d, "hz-c", "4x8:H800");
    drive_migrate(&d, "rec/x", "gz-b");
    drive_migrate(&d, "rec/x", "hz-c");
    drive_expect(&d, "reply 3: unchanged #1\nreply 4: CONFLICT\n");
    drive_release(&d);
}

/* ---- what people are told ---- */

static const struct tf_job_event *last_event(const struct drive *d)
{
    const struct tf_job_record *job = drive_record(d, "rec/x");
    return &job->events.items[job->events.count - 1];
}

static void expect_event(const struct drive *d, const char *type, const char *text)
{
    CU_ASSERT_STRING_EQUAL(last_event(d)->type, type);
    CU_ASSERT_STRING_EQUAL(last_event(d)->text, text);
}

static void test_who_asked_and_why(void)
{
    struct drive d;
    start(&d);
    drive_migrate_as(&d, "rec/x", "gz-b", "ann", "power");
    CU_ASSERT_STRING_EQUAL(drive_record(&d, "rec/x")->cross.user, "ann");
    drive_crash(&d); /* a new leader knows, too */
    drive_attach(&d, "gz-b", "south");
    drive_attach(&d, "bj-a", "north");
    drive_report(&d, "gz-b", 1, 2, TF_PHASE_RUNNING, 2);
    drive_answer(&d, "bj-a", 1, 1, 2, true);
    drive_end(&d, "bj-a", 1, 1, TF_END_RELEASED);
    expect_event(&d, "Moved", "from bj-a to gz-b (asked for by ann: power)");
    CU_ASSERT_EQUAL(fed_moves_over(d.fed)->done[TF_CROSS_BY_NOTHING], 1);
    drive_release(&d);

    start(&d);
    drive_migrate_as(&d, "rec/x", "gz-b", NULL, "power");
    drive_migrate_as(&d, "rec/x", NULL, "bob", "too early");
    drive_end(&d, "gz-b", 1, 2, TF_END_RELEASED);
    expect_event(&d, "MoveEnded", "not from bj-a to gz-b: aborted by bob: too early (asked for: power)");
    CU_ASSERT_EQUAL(fed_moves_over(d.fed)->rolled_back[TF_CROSS_BY_ABORT], 1);
    CU_ASSERT_EQUAL(drive_record(&d, "rec/x")->cross.cause, TF_CROSS_BY_ABORT);
    CU_ASSERT_PTR_NULL(fed_job_moving(d.fed, 0));
    CU_ASSERT_PTR_EQUAL(fed_job_moved(d.fed, 0), drive_record(&d, "rec/x"));
    drive_crash(&d);
    CU_ASSERT_PTR_EQUAL(fed_job_moved(d.fed, 0), drive_record(&d, "rec/x"));
    drive_migrate(&d, "rec/x", "gz-b"); /* refused: nothing is known of gz-b yet; what was is still listed */
    CU_ASSERT_PTR_NULL(fed_job_moved(d.fed, 1));
    drive_release(&d);
}

/* ---- back ---- */

static void expect_back(struct drive *d)
{
    CU_ASSERT_STRING_EQUAL(drive_phase(d, "rec/x"), "Running in bj-a e1 x2");
    CU_ASSERT_EQUAL(drive_record(d, "rec/x")->cross.state, TF_CROSS_ROLLED_BACK);
    CU_ASSERT_EQUAL(drive_record(d, "rec/x")->retries_used, 0);
    CU_ASSERT_EQUAL(drive_record(d, "rec/x")->losses, 0);
}

static void test_target_refuses_or_fails(void)
{
    static const enum tf_end ends[] = {TF_END_REFUSED, TF_END_FAILED, TF_END_LOST, TF_END_EVICTED,
                                       TF_END_FINISHED};
    for (size_t i = 0; i < TF_ARRAY_LEN(ends); i++) {
        struct drive d;
        starting(&d);
        drive_ended(&d, "gz-b", 1, 2, (struct tf_ended){.end = ends[i], .failures = 1});
        drive_expect(&d, "gz-b CHANGE 3: stored #1 e2\n");
        expect_back(&d);
        drive_release(&d);
    }
}

/* A way back that needs no answer: nothing was asked of the old one yet. */
static void test_aborted_while_starting(void)
{
    struct drive d;
    starting(&d);
    drive_migrate(&d, "rec/x", NULL);
    drive_expect(&d, "reply 3: done #1\ngz-b CHANGE 3: release #1 e2 move\n");
    STATE(ROLLING_BACK);
    drive_end(&d, "gz-b", 1, 2, TF_END_RELEASED);
    expect_back(&d);
    drive_release(&d);
}

static void test_aborted_while_asked(void)
{
    struct drive d;
    releasing(&d);
    drive_migrate(&d, "rec/x", NULL);
    drive_expect(&d, "reply 3: done #1\nbj-a CHANGE 4: place rec/x e1 2 H800 not for e2\n");
    STATE(WITHDRAWING);
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_RUNNING, 2); /* it has not heard of it yet, or not of the epoch */
    drive_expect(&d, "bj-a CHANGE 5: place rec/x e1 2 H800 not for e2\n");
    drive_answer(&d, "bj-a", 1, 1, 2, false);
    drive_expect(&d, "gz-b CHANGE 3: release #1 e2 move\n");
    drive_end(&d, "gz-b", 1, 2, TF_END_RELEASED);
    expect_back(&d);
    drive_release(&d);
}

/* It had promised before it heard that it should not: there is no way back. */
static void test_promised_before_it_was_withdrawn(void)
{
    struct drive d;
    releasing(&d);
    drive_migrate(&d, "rec/x", NULL);
    drive_answer(&d, "bj-a", 1, 1, 2, true);
    STATE(SWITCHED);
    drive_migrate(&d, "rec/x", NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(d.said, "no way back"));
    drive_end(&d, "bj-a", 1, 1, TF_END_RELEASED);
    PHASE("rec/x", "Running in gz-b e2 x2");
    drive_release(&d);
}

/* The new one dies while the old one may have promised: its word decides. */
static void test_target_dies_while_asked(void)
{
    struct drive d;
    releasing(&d);
    drive_end(&d, "gz-b", 1, 2, TF_END_LOST);
    drive_expect(&d, "bj-a CHANGE 4: place rec/x e1 2 H800 not for e2\ngz-b CHANGE 3: stored #1 e2\n");
    STATE(WITHDRAWING);
    drive_answer(&d, "bj-a", 1, 1, 2, false);
    expect_back(&d);
    drive_release(&d);
    releasing(&d);
    drive_end(&d, "gz-b", 1, 2, TF_END_LOST);
    drive_answer(&d, "bj-a", 1, 1, 2, true);
    STATE(ROLLED_BACK);
    drive_profile(&d, "bj-a", "2x8:H800");
    drive_profile(&d, "gz-b", "4x8:H800");
    drive_end(&d, "bj-a", 1, 1, TF_END_RELEASED); /* as promised: it waits anew, and finds a place */
    PHASE("rec/x", "Pending in gz-b e3 x2");
    drive_release(&d);
}

static void test_deadline(void)
{
    struct drive d;
    starting(&d);
    drive_elapse(&d, 10 * TF_MINUTE);
    STATE(ROLLING_BACK);
    drive_end(&d, "gz-b", 1, 2, TF_END_RELEASED);
    expect_back(&d);
    drive_release(&d);
    releasing(&d);
    drive_elapse(&d, 10 * TF_MINUTE);
    STATE(WITHDRAWING);
    drive_release(&d);
}

static void test_target_cordoned_or_lost(void)
{
    struct drive d;
    starting(&d);
    drive_cluster(&d, FED_EV_CORDON, "gz-b", true);
    STATE(ROLLING_BACK);
    drive_release(&d);
    releasing(&d);
    drive_detach(&d, "gz-b");
    drive_elapse(&d, TF_MINUTE);
    STATE(WITHDRAWING);
    drive_answer(&d, "bj-a", 1, 1, 2, false);
    STATE(ROLLING_BACK);
    drive_cluster(&d, FED_EV_FORGET, "gz-b", true);
    expect_back(&d);
    drive_release(&d);
}

/* ---- the old one ends ---- */

static void test_source_ends_first(void)
{
    static const enum tf_end ends[] = {TF_END_EVICTED, TF_END_LOST, TF_END_RELEASED};
    for (size_t i = 0; i < TF_ARRAY_LEN(ends); i++) {
        struct drive d;
        starting(&d);
        drive_end(&d, "bj-a", 1, 1, ends[i]);
        PHASE("rec/x", "Starting in gz-b e2 x2");
        STATE(DONE);
        drive_report(&d, "gz-b", 1, 2, TF_PHASE_RUNNING, 2);
        PHASE("rec/x", "Running in gz-b e2 x2");
        drive_release(&d);
    }
}

/* Its work is done, or it has failed for good: the new one is not wanted any more. */
static void test_job_ends_in_mid_move(void)
{
    static const struct {
        enum tf_end end;
        const char *phase;
    } ends[] = {{TF_END_FINISHED, "Succeeded"}, {TF_END_FAILED, "Failed"}};
    for (size_t i = 0; i < 2; i++) {
        struct drive d;
        releasing(&d);
        drive_end(&d, "bj-a", 1, 1, ends[i].end);
        drive_expect(&d, "bj-a CHANGE 4: stored #1 e1\ngz-b CHANGE 3: release #1 e2 move\n");
        drive_crash(&d);
        drive_cluster_up(&d, "gz-b", "4x8:H800");
        drive_end(&d, "gz-b", 1, 2, TF_END_RELEASED);
        PHASE("rec/x", ends[i].phase);
        STATE(ROLLED_BACK);
        drive_release(&d);
    }
}

/* After the switch the end of the new one is the job's, as soon as nothing of the old one runs. */
static void test_new_one_finishes_first(void)
{
    struct drive d;
    switched(&d);
    drive_end(&d, "gz-b", 1, 2, TF_END_FINISHED);
    PHASE("rec/x", "Running in bj-a e1 x2");
    drive_end(&d, "bj-a", 1, 1, TF_END_RELEASED);
    PHASE("rec/x", "Succeeded");
    drive_release(&d);
}

/* ---- other orders in mid-move ---- */

static void test_deleted(void)
{
    for (int state = 0; state < 3; state++) {
        struct drive d;
        (state == 0 ? starting : state == 1 ? releasing : switched)(&d);
        drive_job(&d, FED_EV_DELETE, "rec/x");
        drive_end(&d, state == 1 ? "gz-b" : "bj-a", 1, state == 1 ? 2 : 1, TF_END_RELEASED);
        CU_ASSERT_STRING_NOT_EQUAL(drive_phase(&d, "rec/x"), "none");
        drive_end(&d, state == 1 ? "bj-a" : "gz-b", 1, state == 1 ? 1 : 2, TF_END_RELEASED);
        PHASE("rec/x", "none"); /* archived */
        drive_release(&d);
    }
}

/* The promise comes when all of the job was told to stop: the move goes on until both have. */
static void test_promised_when_deleted(void)
{
    struct drive d;
    releasing(&d);
    drive_job(&d, FED_EV_DELETE, "rec/x");
    drive_answer(&d, "bj-a", 1, 1, 2, true);
    STATE(WITHDRAWING);
    drive_end(&d, "bj-a", 1, 1, TF_END_RELEASED);
    STATE(ROLLING_BACK);
    PHASE("rec/x", "Stopping in gz-b e2 x2");
    drive_end(&d, "gz-b", 1, 2, TF_END_RELEASED);
    PHASE("rec/x", "none");
    drive_release(&d);
}

static void test_held(void)
{
    struct drive d;
    releasing(&d);
    drive_job(&d, FED_EV_HOLD, "rec/x");
    drive_end(&d, "bj-a", 1, 1, TF_END_RELEASED);
    PHASE("rec/x", "Stopping in gz-b e2 x2");
    drive_end(&d, "gz-b", 1, 2, TF_END_RELEASED);
    PHASE("rec/x", "Held");
    drive_release(&d);
}

static void test_scaled(void)
{
    struct drive d;
    starting(&d);
    drive_scale(&d, "rec/x", (struct tf_elastic){1, 4, 1});
    drive_expect(&d, "reply 3: done #1\nbj-a CHANGE 3: place rec/x e1 2 H800\n"
                     "gz-b CHANGE 3: release #1 e2 move\n");
    STATE(ROLLING_BACK);
    drive_release(&d);
}

/* ---- leaders, links ---- */

/* Each state is in the record: the next leader goes on from there, and tells both again. */
static void test_new_leader(void)
{
    struct drive d;
    releasing(&d);
    drive_crash(&d);
    STATE(RELEASING);
    drive_attach(&d, "bj-a", "north");
    drive_expect(&d, "bj-a BEGIN 1, 1 entries\nbj-a PART 1: place rec/x e1 2 H800 for e2\nbj-a END 1\n");
    drive_answer(&d, "bj-a", 1, 1, 2, true);
    STATE(SWITCHED);
    drive_crash(&d);
    drive_attach(&d, "bj-a", "north");
    drive_expect(&d, "bj-a CHANGE 2: release #1 e1 move\n"
                     "bj-a BEGIN 1, 1 entries\nbj-a PART 1: release #1 e1 move\nbj-a END 1\n");
    drive_end(&d, "bj-a", 1, 1, TF_END_RELEASED);
    STATE(DONE);
    PHASE("rec/x", "Running in gz-b e2 x2");
    drive_release(&d);
}

/* Nothing tells of the switch before it is durable. */
static void test_switch_is_durable_first(void)
{
    struct drive d;
    releasing(&d);
    d.hold_commits = true;
    drive_answer(&d, "bj-a", 1, 1, 2, true);
    drive_expect(&d, "");
    drive_commit(&d);
    drive_expect(&d, "bj-a CHANGE 4: release #1 e1 move\n");
    drive_release(&d);
}

/* What became of it a restored store cannot know: it asks for the way back, and believes what it hears. */
static void test_restored_store(void)
{
    struct drive d;
    releasing(&d);
    drive_crash_with(&d, true);
    STATE(WITHDRAWING);
    drive_attach(&d, "bj-a", "north");
    drive_attach(&d, "gz-b", "north");
    drive_answer(&d, "bj-a", 1, 1, 2, true);
    STATE(SWITCHED);
    drive_release(&d);
    starting(&d);
    drive_crash_with(&d, true);
    STATE(WITHDRAWING);
    drive_attach(&d, "bj-a", "north");
    drive_attach(&d, "gz-b", "north");
    drive_answer(&d, "bj-a", 1, 1, 2, false);
    STATE(ROLLING_BACK);
    drive_release(&d);
}

/* It began, in bj-a again, to follow what runs in gz-b; the restored store knows only of the move before. */
static void report_follower(struct drive *d, const char *cluster, uint64_t predecessor, int64_t accepted)
{
    struct tf_report r = {.uid = drive_uid(1), .epoch = 40, .predecessor = predecessor, .size = 2};
    r.tenant = tf_strdup("rec");
    r.name = tf_strdup("x");
    r.phase = TF_PHASE_STARTING;
    r.accepted.ms = accepted;
    drive_say(d, cluster, (struct tf_up){.kind = TF_UP_REPORT, .report = r});
}

static void say_hello_ahead(struct drive *d, const char *cluster)
{
    struct tf_hello ahead = {.protocol = TF_PROTOCOL_VERSION, .owner_revision = 1, .highest_epoch = 40};
    ahead.name = tf_strdup(cluster);
    ahead.highest_term = (struct tf_term){1, 99};
    drive_hello(d, cluster, ahead);
}

/* The copy is of before the first move was over, however far it had come; a second one has begun since: of
 * the first one's epochs the old one is over, and the new one runs and is the job. */
static void test_restored_to_the_move_before(void)
{
    static void (*const before[])(struct drive *) = {starting, releasing, switched};
    for (size_t i = 0; i < TF_ARRAY_LEN(before); i++) {
        struct drive d;
        before[i](&d);
        d.term.era = 2;
        drive_crash_with(&d, true);
        say_hello_ahead(&d, "bj-a");
        report_follower(&d, "bj-a", 2, d.now.wall.ms);
        STATE(WITHDRAWING);
        CU_ASSERT_PTR_NOT_NULL(strstr(drive_phase(&d, "rec/x"), " in bj-a e40 x2 in gz-b e2 x2"));
        drive_attach(&d, "gz-b", "north");
        drive_report(&d, "gz-b", 1, 2, TF_PHASE_RUNNING, 2);
        PHASE("rec/x", "Running in bj-a e40 x2 in gz-b e2 x2");
        drive_answer(&d, "gz-b", 1, 2, 40, false);
        STATE(ROLLING_BACK);
        drive_end(&d, "bj-a", 1, 40, TF_END_RELEASED);
        PHASE("rec/x", "Running in gz-b e2 x2");
        drive_release(&d);
    }
}

/* The subcluster's store was put back, too, and with the record went what the epoch is to follow: whether the
 * one that the federation knows has ended its own subcluster says. */
static void test_restored_on_both_sides(void)
{
    for (int lives = 0; lives < 2; lives++) {
        struct drive d;
        start(&d);
        d.term.era = 2;
        drive_crash_with(&d, true);
        say_hello_ahead(&d, "gz-b");
        report_follower(&d, "gz-b", 0, 0);
        STATE(WITHDRAWING);
        CU_ASSERT_PTR_NOT_NULL(strstr(drive_phase(&d, "rec/x"), " in gz-b e40 x2 in bj-a e1 x2"));
        drive_attach(&d, "bj-a", "north");
        if (lives) {
            drive_answer(&d, "bj-a", 1, 1, 40, false);
            STATE(ROLLING_BACK);
            drive_end(&d, "gz-b", 1, 40, TF_END_RELEASED);
            PHASE("rec/x", "Running in bj-a e1 x2");
        } else {
            drive_end(&d, "bj-a", 1, 1, TF_END_UNKNOWN);
            drive_listed(&d, "bj-a");
            PHASE("rec/x", "Starting in gz-b e40 x2");
        }
        drive_release(&d);
    }
}

/* ---- restart ---- */

static void test_restart_never_overlaps(void)
{
    struct drive d;
    start_with(&d, "n=2 gpus=8 moves=restart");
    drive_migrate(&d, "rec/x", "gz-b");
    drive_expect(&d, "reply 2: done #1\nbj-a CHANGE 3: release #1 e1 move\n");
    STATE(STOPPING);
    PHASE("rec/x", "Stopping in bj-a e1 x2");
    drive_end(&d, "bj-a", 1, 1, TF_END_RELEASED);
    drive_expect(&d, "bj-a CHANGE 4: stored #1 e1\ngz-b CHANGE 2: place rec/x e2 2 H800\n");
    STATE(DONE);
    PHASE("rec/x", "Pending in gz-b e2 x2");
    drive_release(&d);
}

static void test_restart_finds_no_room(void)
{
    struct drive d;
    start_with(&d, "n=2 gpus=8 moves=restart");
    drive_migrate(&d, "rec/x", "gz-b");
    drive_profile(&d, "gz-b", "core1:4x8");
    drive_profile(&d, "bj-a", "2x8:H800");
    int64_t submitted = drive_record(&d, "rec/x")->submitted.ms;
    drive_end(&d, "bj-a", 1, 1, TF_END_RELEASED);
    STATE(ROLLED_BACK);
    CU_ASSERT_PTR_NOT_NULL(strstr(drive_record(&d, "rec/x")->cross.why, "no room"));
    CU_ASSERT_EQUAL(drive_record(&d, "rec/x")->submitted.ms, submitted);
    drive_release(&d);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"plain", test_plain},
        {"asked only when ready", test_asked_only_when_ready},
        {"refused orders", test_refused_orders},
        {"asked twice", test_asked_twice},
        {"who asked, and why", test_who_asked_and_why},
        {"the target refuses or fails", test_target_refuses_or_fails},
        {"aborted while starting", test_aborted_while_starting},
        {"aborted while the old one is asked", test_aborted_while_asked},
        {"promised before it was withdrawn", test_promised_before_it_was_withdrawn},
        {"the target dies while the old one is asked", test_target_dies_while_asked},
        {"deadline", test_deadline},
        {"target cordoned or lost", test_target_cordoned_or_lost},
        {"the source ends first", test_source_ends_first},
        {"the job ends in mid-move", test_job_ends_in_mid_move},
        {"the new one finishes first", test_new_one_finishes_first},
        {"deleted", test_deleted},
        {"promised when deleted", test_promised_when_deleted},
        {"held", test_held},
        {"scaled", test_scaled},
        {"new leader", test_new_leader},
        {"the switch is durable first", test_switch_is_durable_first},
        {"restored store", test_restored_store},
        {"restored to the move before", test_restored_to_the_move_before},
        {"restored on both sides", test_restored_on_both_sides},
        {"restart never overlaps", test_restart_never_overlaps},
        {"restart finds no room", test_restart_finds_no_room},
    };
    return suite_run("unit/federation/cross", tests, TF_ARRAY_LEN(tests));
}
