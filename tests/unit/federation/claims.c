/* SPDX-License-Identifier: Apache-2.0 */
/* Who claims nodes after claimAfter, where, and until when. */
#include "common/base/cleanup.h"
#include "tests/support/fed_driver/fed_driver.h"
#include "tests/support/suite.h"

static struct drive d;

static const char *claims_in(const char *job)
{
    const struct tf_job_record *r = drive_record(&d, job);
    return r && r->claims_in ? r->claims_in : "";
}

/* Two subclusters full of a higher class; in gz-b a node is free. */
static void full_house(void)
{
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "core15:4x8");
    drive_cluster_up(&d, "gz-b", "core15:3x8 1x8");
    drive_submit(&d, "rec/small", "n=2 gpus=8 uid=4");
    drive_submit(&d, "rec/large", "n=4 gpus=8 uid=5");
    drive_submit(&d, "rec/too-large", "n=5 gpus=8 prio=online uid=6");
    tf_buf_clear(&d.log);
}

static void test_the_first_of_a_priority_claims_where_it_is_closest(void)
{
    full_house();
    drive_elapse(&d, d.settings.claim_after - TF_MINUTE);
    CU_ASSERT_STRING_EQUAL(claims_in("rec/small"), "");
    drive_elapse(&d, 2 * TF_MINUTE);
    CU_ASSERT_STRING_EQUAL(claims_in("rec/small"), "gz-b");
    CU_ASSERT_STRING_EQUAL(claims_in("rec/large"), "");     /* one a priority */
    CU_ASSERT_STRING_EQUAL(claims_in("rec/too-large"), ""); /* no subcluster could ever hold it */
    drive_expect(&d, "bj-a POLICY 3 shapes, 3 waiting\ngz-b POLICY 3 shapes, 3 waiting\n"
                     "gz-b CHANGE 2: claim #4\n");
    drive_elapse(&d, TF_HOUR);
    drive_expect(&d, "");
    drive_release(&d);
}

static void test_it_ends_when_the_job_has_its_place(void)
{
    full_house();
    drive_elapse(&d, d.settings.claim_after + TF_MINUTE);
    tf_buf_clear(&d.log);
    drive_profile(&d, "bj-a", "4x8"); /* elsewhere */
    drive_expect(&d, "bj-a CHANGE 2: place rec/small e1 2 H800\n");
    drive_report(&d, "bj-a", 4, 1, TF_PHASE_STARTING, 0);
    drive_expect(&d, "gz-b CHANGE 3: unclaim #4\n");
    CU_ASSERT_STRING_EQUAL(claims_in("rec/small"), "");
    drive_release(&d);
}

static void test_a_refusal_does_not_end_it(void)
{
    full_house();
    drive_elapse(&d, d.settings.claim_after + TF_MINUTE);
    drive_profile(&d, "gz-b", "core15:2x8 2x8");
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/small"), "Pending in gz-b e1 x2");
    drive_end(&d, "gz-b", 4, 1, TF_END_REFUSED);
    CU_ASSERT_STRING_EQUAL(claims_in("rec/small"), "gz-b");
    drive_release(&d);
}

/* A claim is of a priority: with another one the job is in another line, in which it has waited as long, and
 * who comes after it in the old one is first there. */
static void test_another_priority(void)
{
    full_house();
    drive_elapse(&d, d.settings.claim_after + TF_MINUTE);
    CU_ASSERT_STRING_EQUAL_FATAL(claims_in("rec/small"), "gz-b");
    tf_buf_clear(&d.log);
    drive_submit(&d, "rec/small", "apply n=2 gpus=8 prio=train uid=9");
    CU_ASSERT_STRING_EQUAL(claims_in("rec/small"), "");
    drive_expect(&d, "reply 4: updated #4\ngz-b CHANGE 3: unclaim #4\n");
    drive_elapse(&d, TF_MINUTE);
    CU_ASSERT_STRING_EQUAL(claims_in("rec/small"), "gz-b");
    CU_ASSERT_STRING_EQUAL(claims_in("rec/large"), "gz-b");
    drive_expect(&d, "bj-a POLICY 3 shapes, 3 waiting\ngz-b POLICY 3 shapes, 3 waiting\n"
                     "gz-b CHANGE 4: claim #4; claim #5\n");
    drive_release(&d);
}

static void test_who_goes_claims_no_more(void)
{
    full_house();
    drive_elapse(&d, d.settings.claim_after + TF_MINUTE);
    tf_buf_clear(&d.log);
    drive_job(&d, FED_EV_HOLD, "rec/small");
    CU_ASSERT_STRING_EQUAL(claims_in("rec/small"), "");
    drive_elapse(&d, TF_MINUTE); /* the next one of its priority has waited as long */
    CU_ASSERT_STRING_EQUAL(claims_in("rec/large"), "gz-b");
    drive_job(&d, FED_EV_DELETE, "rec/large");
    drive_elapse(&d, TF_MINUTE);
    drive_expect(&d, "reply 4: done #4\ngz-b CHANGE 3: unclaim #4\n"
                     "bj-a POLICY 3 shapes, 2 waiting\ngz-b POLICY 3 shapes, 2 waiting\n"
                     "gz-b CHANGE 4: claim #5\n"
                     "archive rec/large Deleted\nreply 5: deleted #5\ngz-b CHANGE 5: unclaim #5\n"
                     "bj-a POLICY 2 shapes, 1 waiting\ngz-b POLICY 2 shapes, 1 waiting\n");
    drive_release(&d);
}

static void test_the_next_leader_goes_on_with_it(void)
{
    full_house();
    drive_elapse(&d, d.settings.claim_after + TF_MINUTE);
    drive_crash(&d);
    tf_buf_clear(&d.log);
    drive_attach(&d, "gz-b", "south");
    drive_expect(&d, "gz-b BEGIN 1, 1 entries\ngz-b PART 1: claim #4\ngz-b END 1\n");
    drive_scale(&d, "rec/small", (struct tf_elastic){3, 3, 3}); /* it asks for something else */
    drive_expect(&d, "reply 4: done #4\ngz-b CHANGE 2: claim #4\n");
    drive_release(&d);
}

static void test_a_lost_subcluster_is_left(void)
{
    full_house();
    drive_elapse(&d, d.settings.claim_after + TF_MINUTE);
    drive_cluster(&d, FED_EV_CORDON, "gz-b", true);
    drive_elapse(&d, TF_MINUTE);
    CU_ASSERT_STRING_EQUAL(claims_in("rec/small"), "bj-a");
    drive_release(&d);
}

/* What is kept for one that came later keeps nobody away who was before it. */
static void test_who_was_before_comes_back(void)
{
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "1x8");
    drive_submit(&d, "rec/first", "n=1 gpus=8 uid=4");
    drive_submit(&d, "rec/later", "n=1 gpus=8 uid=5");
    drive_report(&d, "bj-a", 4, 1, TF_PHASE_RUNNING, 1);
    drive_profile(&d, "bj-a", "core15:1x8");
    drive_elapse(&d, d.settings.claim_after + TF_MINUTE);
    CU_ASSERT_STRING_EQUAL(claims_in("rec/later"), "bj-a");
    drive_end(&d, "bj-a", 4, 1, TF_END_EVICTED);
    CU_ASSERT_STRING_EQUAL(claims_in("rec/later"), "");
    drive_elapse(&d, TF_MINUTE);
    CU_ASSERT_STRING_EQUAL(claims_in("rec/first"), ""); /* it has not waited so long */
    CU_ASSERT_STRING_EQUAL(claims_in("rec/later"), "");
    drive_submit(&d, "rec/last", "n=1 gpus=8 uid=6");
    drive_elapse(&d, d.settings.claim_after);
    CU_ASSERT_STRING_EQUAL(claims_in("rec/first"), "bj-a");
    drive_release(&d);
}

/* ---- because somebody asked ---- */

static void keep_for(const char *name, const char *cluster, int64_t lasts)
{
    struct fed_event event = {.kind = FED_EV_CLAIM, .request = ++d.requests};
    event.claim.tenant = tf_strdup("rec");
    event.claim.name = tf_strdup(name);
    event.claim.cluster = tf_strdup(cluster);
    event.claim.lasts = lasts;
    drive_step(&d, event);
    drive_elapse(&d, TF_SECOND);
}

static void test_asked_for(void)
{
    full_house();
    keep_for("large", "bj-a", TF_HOUR);
    CU_ASSERT_STRING_EQUAL(claims_in("rec/large"),
                           "bj-a"); /* though it is not the first, and has not waited */
    drive_expect(&d, "reply 4: done #5\nbj-a CHANGE 2: claim #5\n");
    keep_for("small", "bj-a", TF_HOUR);
    CU_ASSERT_STRING_EQUAL(claims_in("rec/small"), "");
    keep_for("none", "bj-a", TF_HOUR);
    keep_for("too-large", "nowhere", TF_HOUR);
    drive_expect(&d, "reply 5: REFUSED\nreply 6: REFUSED\nreply 7: REFUSED\n");
    drive_release(&d);
}

/* A time limit, over which no change of leader helps. */
static void test_asked_for_ends(void)
{
    full_house();
    keep_for("large", "bj-a", 20 * TF_MINUTE);
    drive_elapse(&d, 10 * TF_MINUTE);
    drive_crash(&d);
    drive_attach(&d, "bj-a", "north");
    CU_ASSERT_STRING_EQUAL(claims_in("rec/large"), "bj-a");
    drive_elapse(&d, 11 * TF_MINUTE);
    CU_ASSERT_STRING_EQUAL(claims_in("rec/large"), "");
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "unclaim #5"));
    drive_release(&d);
}

/* One of a priority: the one that has waited long comes back afterwards. */
static void test_asked_for_goes_first(void)
{
    full_house();
    drive_elapse(&d, d.settings.claim_after + TF_MINUTE);
    CU_ASSERT_STRING_EQUAL(claims_in("rec/small"), "gz-b");
    keep_for("large", "bj-a", TF_HOUR);
    CU_ASSERT_STRING_EQUAL(claims_in("rec/small"), "");
    CU_ASSERT_STRING_EQUAL(claims_in("rec/large"), "bj-a");
    keep_for("large", "bj-a", 2 * TF_HOUR); /* longer */
    drive_elapse(&d, 90 * TF_MINUTE);
    CU_ASSERT_STRING_EQUAL(claims_in("rec/large"), "bj-a");
    drive_job(&d, FED_EV_HOLD, "rec/large");
    drive_elapse(&d, TF_MINUTE);
    CU_ASSERT_STRING_EQUAL(claims_in("rec/large"), "");
    CU_ASSERT_STRING_EQUAL(claims_in("rec/small"), "gz-b");
    drive_release(&d);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"the first of a priority claims where it is closest",
         test_the_first_of_a_priority_claims_where_it_is_closest},
        {"it ends when the job has its place", test_it_ends_when_the_job_has_its_place},
        {"a refusal does not end it", test_a_refusal_does_not_end_it},
        {"another priority", test_another_priority},
        {"who goes claims no more", test_who_goes_claims_no_more},
        {"the next leader goes on with it", test_the_next_leader_goes_on_with_it},
        {"who was before comes back", test_who_was_before_comes_back},
        {"somebody asks for it", test_asked_for},
        {"what somebody asked for ends", test_asked_for_ends},
        {"what somebody asked for goes first", test_asked_for_goes_first},
        {"a lost subcluster is left", test_a_lost_subcluster_is_left},
    };
    return suite_run("unit/federation/claims", tests, TF_ARRAY_LEN(tests));
}
