/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an epoch: start, run, end, failure, release, time-outs. */
#include "common/base/cleanup.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;

static enum tf_member_state state_of(uint8_t uid, size_t index)
{
    return driver_allocation(&d, uid)->members.items[index].state;
}

/* The end of the job's last ended epoch. */
static void test_place_run_finish(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 2, 8);
    CU_ASSERT(driver_saw(&d, "persist allocation:1 floor\n"
                             "peers 1/5 v1 size 2\n"
                             "start 1/5/0.1 n1 0-7\n"
                             "start 1/5/1.1 n2 0-7\n"
                             "send report 1/5 Starting 0/2\n"
                             "send profile delta n 2\n"));
    driver_told(&d, 1, 5, 0, 1, SUB_INSTANCE_STARTING, 0, false);
    driver_clear(&d);
    driver_told(&d, 1, 5, 0, 1, SUB_INSTANCE_READY, 0, false);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "peers 1/5 v2 size 2\n"
                             "send report 1/5 Starting 1/2\n"));
    driver_told(&d, 1, 5, 1, 1, SUB_INSTANCE_READY, 0, false);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "peers 1/5 v3 size 2\n"
                             "send report 1/5 Running 2/2\n"));
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->started.ms, d.now.wall.ms);
    driver_exits(&d, 1, 5, 0, 1, 0);
    CU_ASSERT_EQUAL(state_of(1, 0), TF_MEMBER_DONE);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0xff);
    driver_clear(&d);
    driver_exits(&d, 1, 5, 1, 1, 0);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "send report 1/5 ended finished\n"));
    driver_tell(&d, TF_ENTRY_STORED, 1, 5);
    CU_ASSERT(driver_saw(&d, "persist allocation:1-\n"
                             "forget 1/5\n"));
    CU_ASSERT_PTR_NULL(driver_allocation(&d, 1));
    driver_release(&d);
}

/* A program that is over before its readiness was seen has run all the same. */
static void test_exit_before_ready_counts(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 0);
    driver_exits(&d, 1, 5, 0, 1, 0);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_FINISHED);
    driver_release(&d);
}

static void test_rank0_completes_for_all(void)
{
    driver_two_nodes(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 3, 1);
    tf_spec_own(&entry.spec)->completion = TF_COMPLETION_RANK0;
    driver_change(&d, entry);
    driver_all_ready(&d);
    driver_exits(&d, 1, 5, 2, 1, 0);
    driver_clear(&d);
    driver_exits(&d, 1, 5, 0, 1, 0);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "peers 1/5 v6 size 0\n"
                             "stop 1/5/1.1 0+30000\n"
                             "send report 1/5 Stopping 0/3\n"));
    driver_stopped(&d, 1, 5, 1, 1);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_FINISHED);
    driver_release(&d);
}

static void test_release_stops_then_ends(void)
{
    driver_two_nodes(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 2, 8);
    tf_spec_own(&entry.spec)->group.stop_delay = 4000;
    driver_change(&d, entry);
    driver_all_ready(&d);
    driver_clear(&d);
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "peers 1/5 v4 size 0\n"
                             "stop 1/5/0.1 4000+30000\n"
                             "stop 1/5/1.1 4000+30000\n"
                             "send report 1/5 Stopping 0/2\n"));
    driver_stopped(&d, 1, 5, 0, 1);
    driver_clear(&d);
    driver_stopped(&d, 1, 5, 1, 1);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "send report 1/5 ended released\n"));
    driver_release(&d);
}

/* The engine has not answered a start when its stop is asked for. */
static void test_release_while_starting(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 2, 1);
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    driver_clear(&d);
    driver_told(&d, 1, 5, 0, 1, SUB_INSTANCE_ABSENT, 0, false);
    driver_told(&d, 1, 5, 1, 1, SUB_INSTANCE_READY, 0, false);
    CU_ASSERT_EQUAL(state_of(1, 1), TF_MEMBER_STOPPING);
    driver_stopped(&d, 1, 5, 1, 1);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_RELEASED);
    driver_release(&d);
}

/* A start that was not durable yet when the epoch was ended never leaves. */
static void test_release_before_the_start_is_durable(void)
{
    driver_two_nodes(&d);
    d.hold_commits = true;
    driver_place(&d, 1, 5, 1, 1);
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    CU_ASSERT(driver_saw(&d, "persist allocation:1 floor\n"));
    driver_commit(&d);
    CU_ASSERT(driver_saw(&d, "peers 1/5 v1 size 1\n"
                             "send report 1/5 Starting 0/1\n"
                             "send profile delta n 2\n"
                             "persist allocation:1\n"));
    driver_commit(&d);
    CU_ASSERT(driver_saw(&d, "peers 1/5 v2 size 0\n"
                             "stop 1/5/0.1 0+30000\n"
                             "send report 1/5 Stopping 0/1\n"));
    driver_release(&d);
}

static void test_failure_is_retried_in_place(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 2, 4);
    driver_all_ready(&d);
    driver_clear(&d);
    driver_exits(&d, 1, 5, 1, 1, 7);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "peers 1/5 v4 size 2\n"
                             "send report 1/5 Running 1/2\n"));
    CU_ASSERT_EQUAL(state_of(1, 1), TF_MEMBER_BACKOFF);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0);
    driver_pass(&d, 9999);
    CU_ASSERT_EQUAL(state_of(1, 1), TF_MEMBER_BACKOFF);
    driver_clear(&d);
    driver_pass(&d, 1);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "peers 1/5 v5 size 2\n"
                             "start 1/5/1.2 n1 4-7\n"
                             "send report 1/5 Running 1/2\n"));
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->retries_used, 1);
    /* the second attempt waits twice as long */
    driver_exits(&d, 1, 5, 1, 2, 7);
    driver_pass(&d, 19999);
    CU_ASSERT_EQUAL(state_of(1, 1), TF_MEMBER_BACKOFF);
    driver_pass(&d, 1);
    CU_ASSERT_EQUAL(state_of(1, 1), TF_MEMBER_PLANNED);
    driver_release(&d);
}

static void test_back_off_ends_at_five_minutes(void)
{
    driver_two_nodes(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 1, 4);
    tf_spec_own(&entry.spec)->retry_limit = 40;
    driver_change(&d, entry);
    for (uint32_t attempt = 1; attempt <= 12; attempt++) {
        driver_exits(&d, 1, 5, 0, attempt, 1);
        driver_pass(&d, 5 * TF_MINUTE);
        CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.items[0].attempt, attempt + 1);
    }
    driver_release(&d);
}

static void test_wall_jumps_do_not_shorten_a_back_off(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 4);
    driver_exits(&d, 1, 5, 0, 1, 1);
    d.now.wall.ms += TF_HOUR;
    driver_pass(&d, 9999);
    CU_ASSERT_EQUAL(state_of(1, 0), TF_MEMBER_BACKOFF);
    driver_pass(&d, 1);
    CU_ASSERT_EQUAL(state_of(1, 0), TF_MEMBER_PLANNED);
    driver_release(&d);
}

static void test_beyond_the_limit_the_epoch_fails(void)
{
    driver_two_nodes(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 2, 4);
    entry.retries_used = 2; /* in earlier epochs: none is left */
    driver_change(&d, entry);
    driver_all_ready(&d);
    driver_clear(&d);
    struct sub_event event = {.kind = SUB_EV_INSTANCE};
    event.instance = (struct sub_instance_event){.id = {driver_uid(1), 5, 1, 1},
                                                 .state = SUB_INSTANCE_EXITED,
                                                 .exit_code = 137,
                                                 .output = tf_strdup("out of memory\n")};
    driver_step(&d, event);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "peers 1/5 v4 size 0\n"
                             "stop 1/5/0.1 0+30000\n"
                             "send report 1/5 Stopping 0/2\n"));
    driver_stopped(&d, 1, 5, 0, 1);
    const struct tf_ended *end = driver_end_of(&d, 1);
    CU_ASSERT_EQUAL(end->end, TF_END_FAILED);
    CU_ASSERT_EQUAL(end->exit_code, 137);
    CU_ASSERT_EQUAL(end->failures, 0);
    CU_ASSERT_STRING_EQUAL(end->message,
                           "instance 1 on n1 was killed by signal 9; no retry is left (limit 2)");
    CU_ASSERT_STRING_EQUAL(end->output, "out of memory\n");
    driver_release(&d);
}

static void test_on_resize_restart_all_start_again_together(void)
{
    driver_two_nodes(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 3, 1);
    tf_spec_own(&entry.spec)->on_resize = TF_ON_RESIZE_RESTART;
    driver_change(&d, entry);
    driver_all_ready(&d);
    driver_clear(&d);
    driver_exits(&d, 1, 5, 1, 1, 1);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "peers 1/5 v5 size 3\n"
                             "stop 1/5/0.1 0+30000\n"
                             "stop 1/5/2.1 0+30000\n"
                             "peers 1/5 v6 size 3\n"
                             "send report 1/5 Running 0/3\n"));
    driver_pass(&d, 10 * TF_SECOND); /* the back-off of the one is over, the others still run */
    driver_stopped(&d, 1, 5, 0, 1);
    driver_exits(&d, 1, 5, 2, 1, 1); /* it fails with its peers: that is one failure */
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->retries_used, 1);
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.items[i].attempt, 2);
    CU_ASSERT_EQUAL(d.starts, 6);
    driver_release(&d);
}

static void test_one_that_is_done_stays_done_when_the_others_restart(void)
{
    driver_two_nodes(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 2, 1);
    tf_spec_own(&entry.spec)->on_resize = TF_ON_RESIZE_RESTART;
    driver_change(&d, entry);
    driver_all_ready(&d);
    driver_exits(&d, 1, 5, 0, 1, 0);
    driver_exits(&d, 1, 5, 1, 1, 1);
    driver_pass(&d, 10 * TF_SECOND);
    CU_ASSERT_EQUAL(state_of(1, 0), TF_MEMBER_DONE);
    CU_ASSERT_EQUAL(state_of(1, 1), TF_MEMBER_PLANNED);
    driver_exits(&d, 1, 5, 1, 2, 0);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_FINISHED);
    driver_release(&d);
}

static void test_not_ready_in_time_is_a_failure(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 1);
    driver_pass(&d, 5 * TF_MINUTE - 1);
    CU_ASSERT_EQUAL(state_of(1, 0), TF_MEMBER_PLANNED);
    driver_clear(&d);
    driver_pass(&d, 1);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "peers 1/5 v2 size 1\n"
                             "stop 1/5/0.1 0+30000\n"
                             "send report 1/5 Starting 0/1\n"));
    driver_stopped(&d, 1, 5, 0, 1);
    driver_pass(&d, 10 * TF_SECOND);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.items[0].attempt, 2);
    driver_release(&d);
}

static void test_the_probe_has_a_time_of_its_own(void)
{
    driver_two_nodes(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 1, 1);
    tf_strs_add(&tf_spec_own(&entry.spec)->group.ready.command, "probe");
    tf_spec_own(&entry.spec)->group.ready.timeout = 20 * TF_MINUTE;
    driver_change(&d, entry);
    driver_told(&d, 1, 5, 0, 1, SUB_INSTANCE_STARTING, 0, false);
    driver_pass(&d, 20 * TF_MINUTE - 1);
    CU_ASSERT_EQUAL(state_of(1, 0), TF_MEMBER_STARTING);
    driver_pass(&d, 1);
    CU_ASSERT_EQUAL(state_of(1, 0), TF_MEMBER_STOPPING);
    driver_release(&d);
}

static void test_max_runtime_ends_it(void)
{
    driver_two_nodes(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 1, 1);
    tf_spec_own(&entry.spec)->max_runtime = TF_HOUR;
    driver_change(&d, entry);
    driver_pass(&d, TF_MINUTE);
    driver_all_ready(&d);
    d.now.wall.ms += TF_HOUR; /* a jump does not count */
    driver_pass(&d, TF_HOUR - 1);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_RUNNING);
    driver_pass(&d, 1);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_ENDING);
    driver_stopped(&d, 1, 5, 0, 1);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_FAILED);
    CU_ASSERT_STRING_EQUAL(driver_end_of(&d, 1)->message,
                           "maxRuntime: it ran for 3600 s, which is all it may");
    driver_release(&d);
}

static void test_a_stuck_stop_is_told_and_keeps_its_gpus(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 8);
    driver_all_ready(&d);
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    driver_pass(&d, 40 * TF_SECOND - 1); /* grace 30 s, kill bound 10 s */
    driver_clear(&d);
    driver_pass(&d, 1);
    CU_ASSERT(
        driver_saw(&d, "alarm job t/j1: instance 0 on n1 should have been killed by now and is not known to "
                       "be gone; its GPUs (0-7) stay held until it is: look at the node\n"
                       "stop 1/5/0.1 0+0\n"
                       "send profile delta n 3\n"));
    driver_pass(&d, TF_HOUR);
    CU_ASSERT(driver_saw(&d, ""));
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).held_gpus, 0xff);
    driver_place(&d, 2, 6, 2, 8);
    CU_ASSERT_EQUAL(driver_end_of(&d, 2)->end, TF_END_REFUSED);
    driver_stopped(&d, 1, 5, 0, 1);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_RELEASED);
    driver_release(&d);
}

static void refused(uint8_t uid, uint64_t epoch, uint32_t index, uint32_t attempt)
{
    struct sub_event event = {.kind = SUB_EV_INSTANCE};
    event.instance = (struct sub_instance_event){.id = {driver_uid(uid), epoch, index, attempt},
                                                 .state = SUB_INSTANCE_REFUSED,
                                                 .text = tf_strdup("root jobs are not allowed")};
    driver_step(&d, event);
}

static void test_the_engine_refuses(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 2, 1);
    refused(1, 5, 0, 1);
    refused(1, 5, 1, 1);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_REFUSED);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->reason, TF_REASON_ENGINE);
    CU_ASSERT_STRING_EQUAL(driver_end_of(&d, 1)->message,
                           "the engine refused to start instance 0 on n1: root jobs are not allowed");
    driver_release(&d);
}

/* A refusal after it ran is a loss: the job costs no retry and is placed anew. */
static void test_the_engine_refuses_a_second_attempt(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 1);
    driver_all_ready(&d);
    driver_exits(&d, 1, 5, 0, 1, 1);
    driver_pass(&d, 10 * TF_SECOND);
    refused(1, 5, 0, 2);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->ended.count, 0); /* it is tried in another place */
    driver_all_ready(&d);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.items[0].attempt, 3);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->size, 1);
    driver_release(&d);
}

static void test_late_and_repeated_events_change_nothing(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 1);
    driver_all_ready(&d);
    driver_exits(&d, 1, 5, 0, 1, 1);
    driver_pass(&d, 10 * TF_SECOND);
    driver_told(&d, 1, 5, 0, 2, SUB_INSTANCE_READY, 0, false);
    driver_clear(&d);
    driver_exits(&d, 1, 5, 0, 1, 1); /* of the first attempt */
    refused(1, 5, 0, 1);
    driver_told(&d, 1, 5, 0, 2, SUB_INSTANCE_READY, 0, false);
    driver_told(&d, 1, 5, 0, 2, SUB_INSTANCE_STARTING, 0, false);
    CU_ASSERT(driver_saw(&d, ""));
    CU_ASSERT_EQUAL(state_of(1, 0), TF_MEMBER_READY);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->retries_used, 1);
    driver_release(&d);
}

static void test_stopped_by_somebody_else_is_a_loss(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 1);
    driver_all_ready(&d);
    driver_stopped(&d, 1, 5, 0, 1);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->retries_used, 0);
    driver_all_ready(&d);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.items[0].attempt, 2);
    driver_release(&d);
}

/* At rest nothing is written and no engine call is made (I11). */
static void test_at_rest_nothing_happens(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 2, 8);
    driver_all_ready(&d);
    driver_pass(&d, TF_SECOND);
    driver_clear(&d);
    driver_pass(&d, 24 * TF_HOUR);
    CU_ASSERT(driver_saw(&d, ""));
    driver_release(&d);
}

static const struct suite_test tests[] = {
    {"place, run, finish", test_place_run_finish},
    {"an exit before it was ready counts", test_exit_before_ready_counts},
    {"rank 0 completes for all", test_rank0_completes_for_all},
    {"release stops, then ends", test_release_stops_then_ends},
    {"release while starting", test_release_while_starting},
    {"release before the start is durable", test_release_before_the_start_is_durable},
    {"a failure is retried in place", test_failure_is_retried_in_place},
    {"back-off ends at five minutes", test_back_off_ends_at_five_minutes},
    {"wall jumps do not shorten a back-off", test_wall_jumps_do_not_shorten_a_back_off},
    {"beyond the limit the epoch fails", test_beyond_the_limit_the_epoch_fails},
    {"onResize: restart: all start again together", test_on_resize_restart_all_start_again_together},
    {"one that is done stays done", test_one_that_is_done_stays_done_when_the_others_restart},
    {"not ready in time is a failure", test_not_ready_in_time_is_a_failure},
    {"the probe has a time of its own", test_the_probe_has_a_time_of_its_own},
    {"maxRuntime ends it", test_max_runtime_ends_it},
    {"a stuck stop is told and keeps its GPUs", test_a_stuck_stop_is_told_and_keeps_its_gpus},
    {"the engine refuses", test_the_engine_refuses},
    {"the engine refuses a second attempt", test_the_engine_refuses_a_second_attempt},
    {"late and repeated events change nothing", test_late_and_repeated_events_change_nothing},
    {"stopped by somebody else is a loss", test_stopped_by_somebody_else_is_a_loss},
    {"at rest nothing happens", test_at_rest_nothing_happens},
};

int main(void)
{
    return suite_run("life", tests, TF_ARRAY_LEN(tests));
}
