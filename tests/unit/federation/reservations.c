/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations of people: whom each is for, where it counts, when it ends. */
#include "common/base/cleanup.h"
#include "tests/support/fed_driver/fed_driver.h"
#include "tests/support/suite.h"

static struct drive d;

/* Reservation #1 of two whole nodes is kept in bj-a; nothing else is free there. */
static void kept(const char *words)
{
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "2x8");
    drive_cluster_up(&d, "gz-b", "2x8");
    TF_AUTO_FREE char *all = tf_asprintf("n=2 gpus=8 clusters=bj-a expires=3600000 %s", words);
    drive_submit(&d, "rec/room", all);
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_RUNNING, 2);
    drive_profile(&d, "bj-a", "reserved1:2x8");
    tf_buf_clear(&d.log);
}

static void test_it_is_placed_like_a_job_and_takes_nothing_from_others(void)
{
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "core0:4x8"); /* a job of its priority would take that */
    drive_submit(&d, "rec/room", "n=2 gpus=8 prio=online expires=3600000");
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/room"), "Pending");
    drive_profile(&d, "bj-a", "2x8");
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/room"), "Pending in bj-a e1 x2");
    drive_report(&d, "bj-a", 1, 1, TF_PHASE_RUNNING, 2);
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/room"), "Running in bj-a e1 x2");
    drive_release(&d);
}

static void test_it_is_for_its_owner_alone(void)
{
    kept("owner=launch");
    drive_submit(&d, "rec/other", "n=2 gpus=8 clusters=bj-a");
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/other"), "Pending");
    drive_submit(&d, "ads/launch", "n=2 gpus=8 clusters=bj-a"); /* another tenant's */
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "ads/launch"), "Pending");
    drive_submit(&d, "rec/launch", "n=2 gpus=8"); /* gz-b has as much free */
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/launch"), "Pending in bj-a e2 x2");
    drive_release(&d);
}

static void test_a_selector(void)
{
    kept("for=label=a");
    drive_submit(&d, "rec/one", "n=1 gpus=8 clusters=bj-a label=b");
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/one"), "Pending");
    drive_submit(&d, "rec/one", "n=1 gpus=8 clusters=bj-a label=a apply");
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/one"), "Pending in bj-a e2 x1");
    drive_release(&d);
}

/* What is in flight for one owner is not there for the next. */
static void test_it_is_given_once(void)
{
    kept("");
    drive_submit(&d, "rec/one", "n=1 gpus=8 clusters=bj-a");
    drive_submit(&d, "rec/two", "n=1 gpus=8 clusters=bj-a");
    drive_submit(&d, "rec/three", "n=1 gpus=8 clusters=bj-a");
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/two"), "Pending in bj-a e3 x1");
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/three"), "Pending");
    drive_release(&d);
}

static void test_it_expires(void)
{
    kept("");
    drive_elapse(&d, 50 * TF_MINUTE);
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/room"), "Running in bj-a e1 x2");
    tf_buf_clear(&d.log);
    drive_elapse(&d, 11 * TF_MINUTE);
    drive_expect(&d, "bj-a CHANGE 3: release #1 e1 delete\n");
    tf_buf_clear(&d.log);
    drive_end(&d, "bj-a", 1, 1, TF_END_RELEASED);
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/room"), "none"); /* its name is free */
    CU_ASSERT_PTR_NOT_NULL(
        strstr(tf_buf_text(&d.log), "archive rec/room Deleted: Expired: its time is over\n"));
    drive_release(&d);
}

static void test_who_deletes_it_is_told_of(void)
{
    kept("");
    drive_job(&d, FED_EV_DELETE, "rec/room");
    tf_buf_clear(&d.log);
    drive_end(&d, "bj-a", 1, 1, TF_END_RELEASED);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(tf_buf_text(&d.log), "archive rec/room Deleted: DeleteAsked: what it keeps is given up\n"));
    drive_release(&d);
}

/* The answer to "what is this that keeps my GPUs". */
static void answers(const char *words, const char *text)
{
    struct fed_explanation why = {0};
    struct tf_error err = TF_ERROR_INIT;
    kept(words);
    CU_ASSERT_EQUAL(fed_explain(d.fed, "rec", "room", d.now, &why, &err), 0);
    if (!strstr(why.answer, text))
        printf("\ngot %s\n", why.answer);
    CU_ASSERT_PTR_NOT_NULL(strstr(why.answer, text));
    CU_ASSERT_PTR_NOT_NULL(strstr(why.answer, "rec/room is kept in bj-a since "));
    CU_ASSERT_PTR_NOT_NULL(strstr(why.answer, "room for 2 of 2 instances is left"));
    fed_explanation_release(&why);
    drive_release(&d);
}

static void test_it_is_explained(void)
{
    answers("", ", for jobs of tenant rec; it is over when that is used up, at ");
    answers("for=label=a", ", for jobs of tenant rec with label=a; it is over");
    answers("owner=launch", ", for job rec/launch; it is over when that is used up, at ");
    answers("owner=launch", " UTC, with that job, or by `fedctl delete reservation rec/room`");
}

static void test_it_expires_while_it_waits(void)
{
    drive_init(&d);
    drive_submit(&d, "rec/room", "n=2 gpus=8 expires=60000");
    drive_elapse(&d, 2 * TF_MINUTE);
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/room"), "none");
    drive_release(&d);
}

/* rec/x goes from gz-b to bj-a, where its room is kept; it stops before it starts. */
static void test_it_does_not_expire_under_a_move(void)
{
    kept("owner=x");
    drive_profile(&d, "bj-a", "");
    drive_submit(&d, "rec/x", "n=2 gpus=8 moves=restart");
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/x"), "Pending in gz-b e2 x2");
    drive_report(&d, "gz-b", 2, 2, TF_PHASE_RUNNING, 2);
    drive_profile(&d, "bj-a", "reserved1:2x8");
    drive_migrate(&d, "rec/x", "bj-a");
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/x"), "Stopping in gz-b e2 x2");
    drive_elapse(&d, 2 * TF_HOUR);
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/room"), "Running in bj-a e1 x2");
    const struct tf_job_record *room = drive_record(&d, "rec/room");
    size_t refused = 0;
    tf_vec_each (event, &room->events)
        refused += strcmp(event->type, "ExpiryRefused") == 0;
    CU_ASSERT_EQUAL(refused, 1);
    tf_buf_clear(&d.log);
    drive_end(&d, "gz-b", 2, 2, TF_END_RELEASED);
    drive_elapse(&d, TF_SECOND);
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/x"), "Pending in bj-a e3 x2");
    const char *placed = strstr(tf_buf_text(&d.log), "place rec/x e3");
    CU_ASSERT_PTR_NOT_NULL_FATAL(placed);
    CU_ASSERT_PTR_NOT_NULL(strstr(placed, "release #1 e1 delete")); /* what is left, and not before */
    drive_release(&d);
}

static void test_it_ends_with_the_job_that_owns_it(void)
{
    kept("owner=launch");
    drive_submit(&d, "rec/launch", "n=1 gpus=8 clusters=bj-a");
    drive_report(&d, "bj-a", 2, 2, TF_PHASE_RUNNING, 1);
    tf_buf_clear(&d.log);
    drive_end(&d, "bj-a", 2, 2, TF_END_FINISHED);
    drive_expect(&d, "bj-a CHANGE 4: release #1 e1 delete; stored #2 e2\n");
    drive_release(&d);
}

/* It is said by the record, whoever leads. */
static void test_a_later_leader(void)
{
    kept("");
    drive_crash(&d);
    drive_elapse(&d, 2 * TF_HOUR);
    drive_cluster_up(&d, "bj-a", "reserved1:2x8");
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/room"), "Stopping in bj-a e1 x2");
    drive_release(&d);
}

/* The job of before its name's past does not end what is for the next. */
static void test_reserved_for_the_next_of_a_name(void)
{
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "3x8");
    drive_submit(&d, "rec/launch", "n=1 gpus=8 uid=7");
    drive_end(&d, "bj-a", 7, 1, TF_END_FINISHED);
    drive_elapse(&d, TF_SECOND);
    drive_submit(&d, "rec/room", "n=1 gpus=8 owner=launch expires=3600000");
    drive_crash(&d);
    drive_elapse(&d, TF_SECOND);
    CU_ASSERT_STRING_NOT_EQUAL(drive_phase(&d, "rec/room"), "none");
    drive_release(&d);
}

static void test_a_change_of_owner(void)
{
    kept("owner=launch");
    drive_submit(&d, "rec/other", "n=1 gpus=8 clusters=bj-a");
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/other"), "Pending");
    drive_submit(&d, "rec/room", "n=2 gpus=8 clusters=bj-a expires=3600000 owner=other apply");
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/other"), "Pending in bj-a e2 x1");
    drive_release(&d);
}

static void test_what_it_refuses(void)
{
    kept("");
    drive_job(&d, FED_EV_HOLD, "rec/room");
    CU_ASSERT_PTR_NOT_NULL(strstr(d.said, "is a reservation"));
    drive_scale(&d, "rec/room", (struct tf_elastic){1, 1, 1});
    CU_ASSERT_PTR_NOT_NULL(strstr(d.said, "is a reservation"));
    drive_submit(&d, "rec/room", "n=1 gpus=8 apply");
    CU_ASSERT_PTR_NOT_NULL(strstr(d.said, "share their names"));
    drive_submit(&d, "rec/room", "n=1 gpus=8 clusters=bj-a expires=3600000 apply"); /* it was packed as one */
    CU_ASSERT_PTR_NOT_NULL(strstr(d.said, "reservation rec/room has an epoch in bj-a"));
    CU_ASSERT_PTR_NOT_NULL(strstr(d.said, "spec.count cannot change"));
    drive_submit(&d, "rec/none", "n=1 gpus=0 expires=60000");
    CU_ASSERT_PTR_NOT_NULL(strstr(d.said, "at least one an instance"));
    drive_release(&d);
}

static void test_explain(void)
{
    struct fed_explanation why = {0};
    struct tf_error err = TF_ERROR_INIT;
    kept("owner=launch");
    drive_submit(&d, "rec/other", "n=2 gpus=8 clusters=bj-a");
    CU_ASSERT_EQUAL(fed_explain(d.fed, "rec", "other", d.now, &why, &err), 0);
    const struct fed_blocker *first = &why.rows.items[0].first;
    CU_ASSERT_EQUAL(first->reason, TF_REASON_CLAIMED);
    CU_ASSERT_PTR_NOT_NULL(strstr(first->text, "reserved by rec/room (until "));
    CU_ASSERT_EQUAL(first->until.ms, drive_record(&d, "rec/room")->submitted.ms + TF_HOUR);
    fed_explanation_release(&why);
    drive_release(&d);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"placed like a job, and takes nothing from others",
         test_it_is_placed_like_a_job_and_takes_nothing_from_others},
        {"it is for its owner alone", test_it_is_for_its_owner_alone},
        {"a selector", test_a_selector},
        {"it is given once", test_it_is_given_once},
        {"it expires", test_it_expires},
        {"who deletes it is told of", test_who_deletes_it_is_told_of},
        {"it is explained", test_it_is_explained},
        {"it expires while it waits", test_it_expires_while_it_waits},
        {"it does not expire under a move", test_it_does_not_expire_under_a_move},
        {"it ends with the job that owns it", test_it_ends_with_the_job_that_owns_it},
        {"a later leader", test_a_later_leader},
        {"reserved for the next of a name", test_reserved_for_the_next_of_a_name},
        {"a change of owner", test_a_change_of_owner},
        {"what it refuses", test_what_it_refuses},
        {"explain", test_explain},
    };
    return suite_run("unit/federation/reservations", tests, TF_ARRAY_LEN(tests));
}
