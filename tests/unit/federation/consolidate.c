/* SPDX-License-Identifier: Apache-2.0 */
/* Room made by moves where evictions would cost more: who waits for them, how long, and what if they do not
 * come. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tests/support/fed_driver/fed_driver.h"
#include "tests/support/suite.h"

static struct drive d;

/* A core of the lowest class holds the node, for ten minutes; and who would take it. */
#define HELD "core0:1x8 price0:600 "
#define URGENT "n=1 gpus=8 prio=online uid=4"

static void begin(enum tf_consolidate mode)
{
    drive_init(&d);
    d.settings.policy.consolidate = mode;
    struct fed_event event = {.kind = FED_EV_SETTINGS};
    tf_settings_copy(&event.settings, &d.settings);
    drive_step(&d, event);
    tf_buf_clear(&d.log);
}

static bool has_event(const char *job, const char *type)
{
    tf_vec_each (event, &drive_record(&d, job)->events)
        if (strcmp(event->type, type) == 0)
            return true;
    return false;
}

static void answer_has(const char *job, const char *text)
{
    struct fed_explanation e;
    const char *slash = strchr(job, '/');
    TF_AUTO_FREE char *tenant = tf_strndup(job, (size_t)(slash - job));
    CU_ASSERT_EQUAL_FATAL(fed_explain(d.fed, tenant, slash + 1, d.now, &e, NULL), 0);
    if (!strstr(e.answer, text))
        printf("\n%s\n", e.answer);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.answer, text));
    fed_explanation_release(&e);
}

static void test_it_waits_for_the_moves_and_is_placed(void)
{
    begin(TF_CONSOLIDATE_ON);
    drive_cluster_up(&d, "bj-a", HELD);
    drive_cluster_up(&d, "gz-b", HELD "moves1:8:40");
    drive_submit(&d, "rec/x", URGENT);
    drive_expect(&d, "reply 1: created #4\ngz-b CHANGE 2: claim #4\n");
    CU_ASSERT_TRUE(has_event("rec/x", "Consolidating"));
    drive_profile(&d, "gz-b", HELD "moving:rec/x");
    answer_has("rec/x", "rec/x waits (IN_FLIGHT): instances are being moved in gz-b");
    drive_elapse(&d, TF_MINUTE);
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/x"), "Pending");
    tf_buf_clear(&d.log);
    drive_profile(&d, "gz-b", HELD "1x8");
    drive_expect(&d, "gz-b CHANGE 3: place rec/x e1 1 H800\n");
    drive_report(&d, "gz-b", 4, 1, TF_PHASE_STARTING, 0);
    drive_expect(&d, "gz-b CHANGE 4: unclaim #4\n");
    CU_ASSERT_EQUAL(drive_record(&d, "rec/x")->claim_move_cost, 0);
    drive_release(&d);
}

static void test_it_is_placed_elsewhere_meanwhile(void)
{
    begin(TF_CONSOLIDATE_ON);
    drive_cluster_up(&d, "bj-a", HELD);
    drive_cluster_up(&d, "gz-b", HELD "moves1:8:40");
    drive_submit(&d, "rec/x", URGENT);
    drive_profile(&d, "gz-b", HELD "moving:rec/x");
    tf_buf_clear(&d.log);
    drive_profile(&d, "bj-a", HELD "1x8");
    drive_expect(&d, "bj-a CHANGE 2: place rec/x e1 1 H800\n");
    drive_release(&d);
}

static void test_others_go_where_nothing_comes_of_it(void)
{
    begin(TF_CONSOLIDATE_ON);
    drive_cluster_up(&d, "bj-a", HELD "moves1:8:40");
    drive_submit(&d, "rec/x", URGENT);
    drive_expect(&d, "reply 1: created #4\nbj-a CHANGE 2: claim #4\n");
    drive_profile(&d, "bj-a", HELD "moves1:8:40"); /* it has heard of it, and makes none */
    drive_expect(&d, "bj-a CHANGE 3: unclaim #4\nbj-a CHANGE 4: place rec/x e1 1 H800\n");
    drive_release(&d);
}

static void test_others_go_when_the_moves_were_not_enough(void)
{
    begin(TF_CONSOLIDATE_ON);
    drive_cluster_up(&d, "bj-a", HELD "moves1:8:40");
    drive_submit(&d, "rec/x", URGENT);
    drive_profile(&d, "bj-a", HELD "moving:rec/x");
    drive_profile(&d, "bj-a", HELD); /* what they freed may be told a little later */
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/x"), "Pending");
    drive_elapse(&d, TF_MINUTE);
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/x"), "Pending in bj-a e1 x1");
    drive_release(&d);
}

static void test_it_does_not_wait_for_ever(void)
{
    begin(TF_CONSOLIDATE_ON);
    drive_cluster_up(&d, "bj-a", HELD "moves1:8:40");
    drive_submit(&d, "rec/x", URGENT);
    drive_profile(&d, "bj-a", HELD "moving:rec/x");
    drive_elapse(&d, TF_HOUR);
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/x"), "Pending in bj-a e1 x1");
    drive_release(&d);
}

static void test_what_is_dearer_is_not_waited_for(void)
{
    begin(TF_CONSOLIDATE_ON);
    drive_cluster_up(&d, "bj-a", HELD "moves1:8:4801"); /* 8 GPUs x 600 s are lost */
    drive_submit(&d, "rec/x", URGENT);
    drive_expect(&d, "reply 1: created #4\nbj-a CHANGE 2: place rec/x e1 1 H800\n");
    drive_release(&d);
}

static void test_what_is_no_core_goes_first(void)
{
    begin(TF_CONSOLIDATE_ON);
    drive_cluster_up(&d, "bj-a", "protected0:1x8 price0:600 moves1:8:1"); /* below all cores */
    drive_submit(&d, "rec/x", URGENT);
    drive_expect(&d, "reply 1: created #4\nbj-a CHANGE 2: place rec/x e1 1 H800\n");
    drive_release(&d);
}

static void test_frozen_moves_are_not_waited_for(void)
{
    begin(TF_CONSOLIDATE_ON);
    drive_cluster_up(&d, "bj-a", HELD "moves1:8:40");
    drive_freeze(&d, true, TF_FROZEN_MOVES, NULL, TF_HOUR);
    drive_submit(&d, "rec/x", URGENT);
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/x"), "Pending in bj-a e1 x1");
    drive_release(&d);
}

static void test_observed_it_is_said(void)
{
    begin(TF_CONSOLIDATE_OBSERVE);
    drive_cluster_up(&d, "bj-a", HELD "moves1:8:40");
    drive_submit(&d, "rec/x", URGENT);
    drive_expect(&d, "reply 1: created #4\nbj-a CHANGE 2: place rec/x e1 1 H800\n");
    CU_ASSERT_TRUE(has_event("rec/x", "WouldConsolidate"));
    struct fed_explanation e;
    CU_ASSERT_EQUAL_FATAL(fed_explain(d.fed, "rec", "x", d.now, &e, NULL), 0);
    CU_ASSERT_FATAL(e.decisions.count > 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.decisions.items[0], "fits after consolidation"));
    CU_ASSERT_PTR_NOT_NULL(strstr(e.decisions.items[0], "consolidate: observe"));
    fed_explanation_release(&e);
    drive_release(&d);
}

static void test_observed_where_nobody_can_go(void)
{
    begin(TF_CONSOLIDATE_OBSERVE);
    drive_cluster_up(&d, "bj-a", "core15:1x8 moves1:8:400000");
    drive_submit(&d, "rec/x", URGENT);
    drive_expect(&d, "reply 1: created #4\n");
    CU_ASSERT_TRUE(has_event("rec/x", "WouldConsolidate"));
    struct fed_explanation e;
    CU_ASSERT_EQUAL_FATAL(fed_explain(d.fed, "rec", "x", d.now, &e, NULL), 0);
    CU_ASSERT_FATAL(e.decisions.count > 1);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(e.decisions.items[1], "by moves that cost 111.1 gpu-h or more; nobody can be"));
    fed_explanation_release(&e);
    size_t events = drive_record(&d, "rec/x")->events.count;
    drive_profile(&d, "bj-a", "core15:1x8 moves1:8:300000"); /* said once a wait */
    CU_ASSERT_EQUAL(drive_record(&d, "rec/x")->events.count, events);
    drive_release(&d);
}

/* What moves could free is counted some time after the nodes have changed: who waits by then is told, too. */
static void test_observed_later(void)
{
    begin(TF_CONSOLIDATE_OBSERVE);
    d.deltas = true;
    drive_cluster_up(&d, "bj-a", "core15:1x8");
    drive_submit(&d, "rec/x", URGENT);
    CU_ASSERT_FALSE(has_event("rec/x", "WouldConsolidate"));
    drive_profile(&d, "bj-a", "core15:1x8 moves1:8:40");
    CU_ASSERT_TRUE(has_event("rec/x", "WouldConsolidate"));
    drive_release(&d);
}

static void test_the_next_leader_goes_on_waiting(void)
{
    begin(TF_CONSOLIDATE_ON);
    drive_cluster_up(&d, "bj-a", HELD "moves1:8:40");
    drive_submit(&d, "rec/x", URGENT);
    drive_crash(&d);
    tf_buf_clear(&d.log);
    drive_attach(&d, "bj-a", "north");
    drive_expect(&d, "bj-a BEGIN 1, 1 entries\nbj-a PART 1: claim #4\nbj-a END 1\n");
    drive_profile(&d, "bj-a", HELD "moving:rec/x");
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/x"), "Pending");
    drive_profile(&d, "bj-a", HELD "1x8");
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/x"), "Pending in bj-a e1 x1");
    drive_release(&d);
}

static void test_a_subcluster_that_is_lost_is_not_waited_for(void)
{
    begin(TF_CONSOLIDATE_ON);
    drive_cluster_up(&d, "bj-a", HELD "moves1:8:40");
    drive_cluster_up(&d, "gz-b", HELD);
    drive_submit(&d, "rec/x", URGENT);
    drive_profile(&d, "bj-a", HELD "moving:rec/x");
    drive_detach(&d, "bj-a");
    drive_elapse(&d, d.settings.cluster_lost_after + TF_MINUTE);
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/x"), "Pending in gz-b e1 x1");
    drive_release(&d);
}

static void test_plan_says_so(void)
{
    begin(TF_CONSOLIDATE_ON);
    drive_cluster_up(&d, "bj-a", HELD);
    drive_cluster_up(&d, "gz-b", HELD "moves1:8:40");
    struct tf_job_manifest m = {0};
    struct fed_plan plan;
    drive_manifest(&d, "rec/x", URGENT, &m);
    fed_plan_place(d.fed, &m, d.now, &plan);
    CU_ASSERT_EQUAL_FATAL(plan.rows.count, 2);
    CU_ASSERT_STRING_EQUAL(plan.rows.items[0].why.cluster, "gz-b");
    CU_ASSERT_STRING_EQUAL(plan.rows.items[0].level_name, "free, after consolidation");
    CU_ASSERT_STRING_EQUAL(plan.rows.items[0].instead,
                           "fits after consolidation in gz-b, by moves that cost 0.0 gpu-h or more; to evict "
                           "others in bj-a costs 1.3 gpu-h");
    fed_plan_release(&plan);
    tf_job_manifest_release(&m);
    drive_release(&d);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"it waits for the moves and is placed", test_it_waits_for_the_moves_and_is_placed},
        {"it is placed elsewhere meanwhile", test_it_is_placed_elsewhere_meanwhile},
        {"others go where nothing comes of it", test_others_go_where_nothing_comes_of_it},
        {"others go when the moves were not enough", test_others_go_when_the_moves_were_not_enough},
        {"it does not wait for ever", test_it_does_not_wait_for_ever},
        {"what is dearer is not waited for", test_what_is_dearer_is_not_waited_for},
        {"what is no core goes first", test_what_is_no_core_goes_first},
        {"frozen moves are not waited for", test_frozen_moves_are_not_waited_for},
        {"observed, it is said", test_observed_it_is_said},
        {"observed where nobody can go", test_observed_where_nobody_can_go},
        {"observed by one who waits already", test_observed_later},
        {"the next leader goes on waiting", test_the_next_leader_goes_on_waiting},
        {"a subcluster that is lost is not waited for", test_a_subcluster_that_is_lost_is_not_waited_for},
        {"plan says so", test_plan_says_so},
    };
    return suite_run("unit/federation/consolidate", tests, TF_ARRAY_LEN(tests));
}
