/* SPDX-License-Identifier: Apache-2.0 */
/* Restart is replay: what the records want, what the engine has, and what neither knows of the other. */
#include "common/base/cleanup.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;

/* The process dies and comes back; nothing is lost of what was durable. */
static void again(void)
{
    driver_crash(&d, true);
    driver_list(&d);
    driver_clear(&d);
}

static void attach(struct tf_entry *entries, size_t count)
{
    driver_link(&d, true);
    driver_set(&d, entries, count);
}

static void test_nothing_is_started_before_the_listing(void)
{
    driver_two_nodes(&d);
    d.hold_commits = true;
    driver_place(&d, 1, 5, 2, 8);
    driver_crash(&d, true); /* durable, but not started */
    d.hold_commits = false;
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->epoch, 5);
    driver_link(&d, true);
    struct tf_entry entry = driver_place_entry(2, 6, 1, 0);
    driver_set(&d, &entry, 1);
    driver_pass(&d, TF_HOUR);
    CU_ASSERT_EQUAL(d.starts, 0);
    driver_clear(&d);
    driver_list(&d);
    CU_ASSERT(driver_saw(&d, "peers 1/5 v1 size 2\n"
                             "start 1/5/0.1 n1 0-7\n"
                             "start 1/5/1.1 n2 0-7\n"
                             "persist allocation:2 floor\n"
                             "peers 2/6 v1 size 1\n"
                             "start 2/6/0.1 n1 \n"
                             "send report 2/6 Starting 0/1\n"
                             "send listed\n"
                             "send profile full n 1\n"));
    driver_release(&d);
}

static void test_what_was_not_durable_never_was(void)
{
    driver_two_nodes(&d);
    d.hold_commits = true;
    driver_place(&d, 1, 5, 2, 8);
    driver_crash(&d, false);
    d.hold_commits = false;
    CU_ASSERT_PTR_NULL(driver_allocation(&d, 1));
    driver_list(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 2, 8); /* the leader wants it still */
    attach(&entry, 1);
    CU_ASSERT_EQUAL(d.starts, 2);
    driver_release(&d);
}

static void test_what_runs_is_adopted(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 2, 8);
    driver_all_ready(&d);
    again();
    CU_ASSERT_EQUAL(d.starts, 2);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_RUNNING);
    driver_pass(&d, TF_HOUR);
    CU_ASSERT(driver_saw(&d, ""));
    driver_release(&d);
}

static void test_what_ended_meanwhile_is_judged(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 2, 1);
    driver_place(&d, 2, 6, 1, 1);
    driver_all_ready(&d);
    d.instances.items[0].state = d.instances.items[1].state = SUB_INSTANCE_EXITED;
    d.instances.items[2].state = SUB_INSTANCE_EXITED;
    d.instances.items[2].exit_code = 1;
    driver_crash(&d, true);
    driver_list(&d);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_FINISHED);
    CU_ASSERT_EQUAL(driver_allocation(&d, 2)->members.items[0].state, TF_MEMBER_BACKOFF);
    driver_pass(&d, 10 * TF_SECOND);
    CU_ASSERT_EQUAL(driver_allocation(&d, 2)->members.items[0].attempt, 2);
    driver_release(&d);
}

/* It should run and the engine has told nothing of it: the start is repeated, the engine judges. */
static void test_what_is_missing_is_started(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 2, 8);
    driver_all_ready(&d);
    free(d.instances.items[1].node);
    d.instances.count = 1;
    driver_crash(&d, true);
    driver_clear(&d);
    driver_list(&d);
    CU_ASSERT(driver_saw(&d, "peers 1/5 v3 size 2\n"
                             "start 1/5/1.1 n2 0-7\n"));
    driver_told(&d, 1, 5, 1, 1, SUB_INSTANCE_LOST, 0, false);
    driver_stopped(&d, 1, 5, 0, 1);
    driver_all_ready(&d);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->size, 2);
    driver_release(&d);
}

static void test_a_stop_is_asked_for_again(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 8);
    driver_all_ready(&d);
    d.hold_commits = true;
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    driver_crash(&d, true);
    d.hold_commits = false;
    driver_clear(&d);
    driver_list(&d);
    CU_ASSERT(driver_saw(&d, "peers 1/5 v3 size 0\n"
                             "stop 1/5/0.1 0+30000\n"));
    driver_stopped(&d, 1, 5, 0, 1);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_RELEASED);
    driver_release(&d);
}

static void test_waits_go_on(void)
{
    driver_two_nodes(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 1, 1);
    tf_spec_own(&entry.spec)->max_runtime = TF_HOUR;
    driver_change(&d, entry);
    driver_all_ready(&d);
    driver_place(&d, 2, 6, 1, 1);
    driver_exits(&d, 2, 6, 0, 1, 1);
    driver_pass(&d, 4 * TF_SECOND);
    again();
    driver_pass(&d, 6 * TF_SECOND - 1);
    CU_ASSERT_EQUAL(driver_allocation(&d, 2)->members.items[0].state, TF_MEMBER_BACKOFF);
    driver_pass(&d, 1);
    CU_ASSERT_EQUAL(driver_allocation(&d, 2)->members.items[0].state, TF_MEMBER_PLANNED);
    driver_pass(&d, TF_HOUR - 10 * TF_SECOND - 1);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_RUNNING);
    driver_pass(&d, 1);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_ENDING);
    driver_release(&d);
}

/* A wall clock set back while the process was away: the wait is no longer than the whole. */
static void test_a_wait_is_no_longer_than_the_whole(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 1);
    driver_exits(&d, 1, 5, 0, 1, 1);
    d.now.wall.ms -= 24 * TF_HOUR;
    again();
    driver_pass(&d, 10 * TF_SECOND);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.items[0].state, TF_MEMBER_PLANNED);
    driver_release(&d);
}

static void test_restarts_together_after_a_crash(void)
{
    driver_two_nodes(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 2, 1);
    tf_spec_own(&entry.spec)->on_resize = TF_ON_RESIZE_RESTART;
    driver_change(&d, entry);
    driver_all_ready(&d);
    driver_exits(&d, 1, 5, 0, 1, 1);
    driver_crash(&d, true);
    driver_clear(&d);
    driver_list(&d);
    CU_ASSERT(driver_saw(&d, "peers 1/5 v5 size 2\n"
                             "stop 1/5/1.1 0+30000\n"));
    driver_stopped(&d, 1, 5, 1, 1);
    driver_pass(&d, 10 * TF_SECOND);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.items[0].attempt, 2);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.items[1].attempt, 2);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->retries_used, 1);
    driver_exits(&d, 1, 5, 0, 2, 0);
    driver_exits(&d, 1, 5, 1, 2, 0);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->failures, 1); /* of before the crash */
    driver_release(&d);
}

/* What no record knows: kept, counted as taken, reported as live, stopped only when that is asked for. */
static void test_a_stray_is_kept_until_it_is_released(void)
{
    driver_init(&d);
    driver_node(&d, "n1", "H800", 8);
    driver_stray(&d, 1, 5, 0, "n1", 0x3f);
    driver_load(&d);
    driver_list(&d);
    driver_clear(&d);
    attach(NULL, 0);
    CU_ASSERT(driver_saw(&d, "send hello 0.0 5\n"
                             "send report 1/5 Running 1/1\n"
                             "send listed\n"
                             "persist term\n"
                             "send profile full n 1\n"));
    CU_ASSERT_EQUAL(d.profile.health.free_gpus, 2);
    driver_place(&d, 2, 6, 1, 4);
    CU_ASSERT_EQUAL(driver_end_of(&d, 2)->end, TF_END_REFUSED);
    driver_place(&d, 1, 7, 1, 1); /* not beside an older epoch */
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_REFUSED);
    driver_release(&d);
}

static void test_a_released_stray_is_stopped_then_acknowledged(void)
{
    driver_init(&d);
    driver_node(&d, "n1", "H800", 8);
    driver_stray(&d, 1, 5, 0, "n1", 0x3f);
    driver_load(&d);
    driver_list(&d);
    attach(NULL, 0);
    driver_pass(&d, TF_SECOND);
    driver_clear(&d);
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "stop 1/5/0.1 0+30000\n"
                             "send profile delta n 2\n"));
    driver_crash(&d, true); /* the promise holds */
    driver_clear(&d);
    driver_list(&d);
    CU_ASSERT(driver_saw(&d, "stop 1/5/0.1 0+30000\n"));
    attach(NULL, 0);
    driver_clear(&d);
    driver_stopped(&d, 1, 5, 0, 1);
    CU_ASSERT(driver_saw(&d, "send report 1/5 ended released\n"));
    driver_pass(&d, TF_SECOND);
    driver_clear(&d);
    driver_tell(&d, TF_ENTRY_STORED, 1, 5);
    CU_ASSERT(driver_saw(&d, "persist allocation:1-\n"
                             "forget 1/5\n"
                             "send profile delta n 2\n"));
    driver_release(&d);
}

static void test_exits_that_nobody_knows_are_forgotten_after_the_listing(void)
{
    driver_init(&d);
    driver_node(&d, "n1", "H800", 8);
    for (uint32_t i = 0; i < 3; i++) {
        driver_stray(&d, 1, 5, i, "n1", 0);
        d.instances.items[i].state = SUB_INSTANCE_EXITED;
    }
    driver_stray(&d, 2, 6, 0, "n1", 1);
    driver_stray(&d, 2, 6, 1, "n1", 2);
    d.instances.items[3].state = SUB_INSTANCE_EXITED; /* the other one of it still runs */
    driver_load(&d);
    driver_clear(&d);
    driver_list(&d);
    CU_ASSERT(driver_saw(&d, "persist floor\npersist floor\nforget 1/5\n"));
    driver_told(&d, 2, 6, 1, 1, SUB_INSTANCE_EXITED, 0, false);
    CU_ASSERT(driver_saw(&d, "forget 2/6\n"));
    driver_release(&d);
}

/* The local store was lost, the engine was not: what the leader wants and what runs is the same. */
static void test_a_job_without_a_record_is_adopted(void)
{
    driver_two_adopted_nodes(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 2, 8);
    driver_set(&d, &entry, 1);
    CU_ASSERT(driver_saw(&d, "persist term\n"
                             "persist allocation:1\n"
                             "peers 1/5 v1 size 2\n"
                             "send report 1/5 Running 2/2\n"
                             "send profile full n 1\n"));
    CU_ASSERT_EQUAL(d.starts, 0);
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 1)->model, "H800");
    driver_exits(&d, 1, 5, 0, 1, 0);
    driver_exits(&d, 1, 5, 1, 1, 0);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_FINISHED);
    driver_release(&d);
}

/* Only a part of it is left: that part is stopped, then the epoch is told to be lost. */
static void test_a_part_of_a_job_is_not_adopted(void)
{
    driver_init(&d);
    driver_node(&d, "n1", "H800", 8);
    driver_stray(&d, 1, 5, 1, "n1", 0xff);
    driver_load(&d);
    driver_list(&d);
    driver_link(&d, true);
    struct tf_entry entry = driver_place_entry(1, 5, 2, 8);
    driver_set(&d, &entry, 1);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_LOST);
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "ended lost"));
    driver_clear(&d);
    driver_stopped(&d, 1, 5, 1, 1);
    CU_ASSERT(driver_saw(&d, "send report 1/5 ended lost\n"
                             "send profile delta n 1\n"));
    driver_release(&d);
}

/* An epoch that ran here, of which the store and the engine know only the exit, does not run again. */
static void test_what_the_engine_has_seen_is_not_started_again(void)
{
    driver_init(&d);
    driver_node(&d, "n1", "H800", 8);
    driver_stray(&d, 1, 5, 0, "n1", 0);
    d.instances.items[0].state = SUB_INSTANCE_EXITED;
    driver_load(&d);
    driver_list(&d);
    driver_link(&d, true);
    driver_clear(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 1, 8);
    driver_set(&d, &entry, 1);
    CU_ASSERT(driver_saw(&d, "persist term\n"
                             "send report 1/5 ended unknown UNKNOWN_EPOCH\n"
                             "send profile full n 1\n"));
    driver_release(&d);
}

/* ---- a restored store ---- */

static void restart_with_rollback(void)
{
    d.boot.accept_rollback = true;
    driver_crash(&d, true);
    d.boot.accept_rollback = false;
    driver_link(&d, true);
}

/* The copy says that it runs, the engine knows nothing of it: it has ended since, and does not run again. */
static void test_a_restored_store_starts_nothing_that_it_may_have_forgotten(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 2, 8);
    driver_all_ready(&d);
    driver_forgets(&d); /* the engine was told to */
    restart_with_rollback();
    driver_clear(&d);
    driver_list(&d);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_LOST);
    /* what it does not know it may have run, too */
    struct tf_entry entry = driver_place_entry(2, 6, 1, 8);
    driver_set(&d, &entry, 1);
    CU_ASSERT_EQUAL(d.starts, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "report 2/6 ended unknown"));
    driver_change(&d, driver_place_entry(3, 7, 1, 8)); /* is new */
    CU_ASSERT_EQUAL(d.starts, 3);
    driver_release(&d);
}

/* What the copy takes for a failure may have been the end of the epoch: nothing of it starts again before the
 * full set says that it is wanted. */
static void test_a_restored_store_retries_nothing_before_the_full_set(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 2, 2);
    driver_place(&d, 2, 6, 2, 2);
    driver_all_ready(&d);
    d.instances.items[0].state = SUB_INSTANCE_EXITED;
    d.instances.items[0].exit_code = 1;
    restart_with_rollback();
    driver_list(&d);
    driver_told(&d, 2, 6, 0, 1, SUB_INSTANCE_EXITED, 143, true); /* a loss, */
    driver_stopped(&d, 2, 6, 1, 1);                              /* which takes its step along */
    driver_pass(&d, TF_MINUTE);
    CU_ASSERT_EQUAL(d.starts, 4);
    struct tf_entry wanted[] = {driver_place_entry(1, 5, 2, 2), driver_place_entry(2, 6, 2, 2)};
    driver_set(&d, wanted, 2);
    driver_pass(&d, 10 * TF_SECOND);
    CU_ASSERT_EQUAL(d.starts, 7);
    driver_release(&d);
}

/* Absence is no order to stop it; but what the set does not name may be over, and is not begun again. */
static void test_a_restored_store_waits_for_each_epoch_to_be_named(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 2, 2);
    driver_all_ready(&d);
    d.instances.items[0].state = SUB_INSTANCE_EXITED;
    d.instances.items[0].exit_code = 1;
    restart_with_rollback();
    driver_list(&d);
    driver_set(&d, NULL, 0);
    driver_pass(&d, TF_MINUTE);
    CU_ASSERT_EQUAL(d.starts, 2);
    driver_change(&d, driver_place_entry(1, 5, 2, 2));
    CU_ASSERT_EQUAL(d.starts, 3);
    driver_release(&d);
}

/* The copy is of before a move, which was under way: both attempts run, and the one that it knows stays. */
static void test_a_restored_store_has_forgotten_a_move(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 2, 2);
    driver_all_ready(&d);
    driver_stray(&d, 1, 5, 0, "n2", 3);
    d.instances.items[d.instances.count - 1].id.attempt = 2;
    restart_with_rollback();
    driver_clear(&d);
    driver_list(&d);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "stop 1/5/0.2"));
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "stop 1/5/0.1"));
    driver_release(&d);
}

/* The copy is of before the next attempt, which runs on another node: it is stopped when the leader has named
 * the epoch, and the one after it starts when it has gone. A second start of its number would be none. */
static void test_a_restored_store_has_forgotten_an_attempt(void)
{
    driver_two_nodes(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 1, 2), again = driver_place_entry(1, 5, 1, 2);
    tf_spec_own(&entry.spec)->retry_limit = tf_spec_own(&again.spec)->retry_limit = 3;
    tf_spec_own(&entry.spec)->retry_backoff = tf_spec_own(&again.spec)->retry_backoff = TF_SECOND;
    driver_change(&d, entry);
    driver_all_ready(&d);
    driver_exits(&d, 1, 5, 0, 1, 9);
    CU_ASSERT_EQUAL_FATAL(driver_count_in(&d, 1, TF_MEMBER_BACKOFF), 1);
    driver_stray(&d, 1, 5, 0, "n2", 3);
    d.instances.items[d.instances.count - 1].id.attempt = 2;
    restart_with_rollback();
    driver_clear(&d);
    driver_list(&d);
    driver_pass(&d, TF_MINUTE);
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "stop 1/5/0.2"));
    attach(&again, 1);
    driver_pass(&d, 2 * TF_SECOND);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "stop 1/5/0.2"));
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "start "));
    driver_stopped(&d, 1, 5, 0, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "start 1/5/0.3 n1"));
    driver_release(&d);
}

/* The copy is of when one waited to start again; since then another got its place, and runs there. */
static void restore_where_another_runs(struct tf_entry entry)
{
    driver_change(&d, entry);
    driver_all_ready(&d);
    driver_exits(&d, 1, 5, 0, 1, 9);
    CU_ASSERT_EQUAL_FATAL(driver_count_in(&d, 1, TF_MEMBER_BACKOFF), 1);
    driver_stray(&d, 2, 6, 0, driver_allocation(&d, 1)->members.items[0].node, 3);
    restart_with_rollback();
    driver_list(&d);
}

static void test_a_restored_store_has_forgotten_who_came_after(void)
{
    driver_two_nodes(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 1, 8), again = driver_place_entry(1, 5, 1, 8);
    tf_spec_own(&entry.spec)->retry_limit = tf_spec_own(&again.spec)->retry_limit = 3;
    tf_spec_own(&entry.spec)->retry_backoff = tf_spec_own(&again.spec)->retry_backoff = TF_MINUTE;
    restore_where_another_runs(entry);
    driver_clear(&d);
    attach((struct tf_entry[]){again, driver_place_entry(2, 6, 1, 2)}, 2);
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "start 1/5/0.2 n1"));
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "stop 2/6/0.1"));
    CU_ASSERT_EQUAL(driver_count_in(&d, 2, TF_MEMBER_READY), 1); /* adopted */
    driver_pass(&d, 2 * TF_MINUTE);
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "start 1/5/0.2 n1"));
    driver_release(&d);
}

/* One without GPUs, in whose place on a node of one slot another runs by now: whoever is named first. */
static void wait_where_another_runs(bool first, bool adopted)
{
    driver_init(&d);
    driver_node(&d, "n1", "H800", 8)->capacity.slots = 1;
    driver_node(&d, "n2", "H800", 8)->capacity.slots = 1;
    driver_ready(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 2, 0), again = driver_place_entry(1, 5, 2, 0);
    tf_spec_own(&entry.spec)->retry_backoff = tf_spec_own(&again.spec)->retry_backoff = TF_SECOND;
    restore_where_another_runs(entry);
    driver_pass(&d, 2 * TF_SECOND);
    driver_clear(&d);
    struct tf_entry other = driver_place_entry(2, 6, 1, 2);
    if (!adopted)
        attach(&again, 1);
    else
        attach(first ? (struct tf_entry[]){again, other} : (struct tf_entry[]){other, again}, 2);
    if (!adopted)
        tf_entry_release(&other);
    driver_pass(&d, 2 * TF_SECOND);
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "start 1/5/0.2"));
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "stop 2/6/0.1"));
}

static void test_a_restored_store_has_forgotten_whom_a_node_is_full_of(void)
{
    for (int first = 0; first < 2; first++) {
        wait_where_another_runs(first, true);
        CU_ASSERT_EQUAL(driver_count_in(&d, 2, TF_MEMBER_READY), 1); /* adopted */
        CU_ASSERT_EQUAL(driver_count_in(&d, 1, TF_MEMBER_BACKOFF), 0);
        driver_pass(&d, 2 * TF_MINUTE);
        CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "start 1/5/0.2"));
        driver_release(&d);
    }
}

/* Nobody wants the other one: when it has gone the place is there again. */
static void test_a_retry_waits_for_what_a_restored_store_has_forgotten(void)
{
    wait_where_another_runs(true, false);
    CU_ASSERT_EQUAL(driver_count_in(&d, 1, TF_MEMBER_BACKOFF), 1);
    driver_tell(&d, TF_ENTRY_RELEASE, 2, 6);
    driver_stopped(&d, 2, 6, 0, 1);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "start 1/5/0.2"));
    driver_release(&d);
}

/* That outlives a crash before the full set. */
static void test_a_rollback_is_remembered_until_the_full_set(void)
{
    driver_two_nodes(&d);
    restart_with_rollback();
    driver_crash(&d, true);
    driver_list(&d);
    struct tf_entry entry = driver_place_entry(2, 6, 1, 8), again = driver_place_entry(2, 6, 1, 8);
    attach(&entry, 1);
    CU_ASSERT_EQUAL(d.starts, 0);
    driver_crash(&d, true);
    driver_list(&d);
    attach(&again, 1);
    CU_ASSERT_EQUAL(d.starts, 0); /* the floor is above it now */
    driver_release(&d);
}

/* It says hello when it knows what the engine has seen: that is part of its highest epoch. */
static void test_a_restored_store_says_hello_after_the_listing(void)
{
    driver_two_nodes(&d);
    driver_stray(&d, 1, 9, 0, "n1", 0);
    d.instances.items[0].state = SUB_INSTANCE_EXITED;
    restart_with_rollback();
    driver_pass(&d, TF_MINUTE);
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "hello"));
    driver_list(&d);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "hello"));
    driver_release(&d);
}

/* An adopted instance that never becomes ready is a failure, as any other. */
static void test_an_adopted_start_has_its_time(void)
{
    driver_init(&d);
    driver_node(&d, "n1", "H800", 8);
    driver_stray(&d, 1, 5, 0, "n1", 0xff);
    d.instances.items[0].state = SUB_INSTANCE_STARTING;
    driver_load(&d);
    driver_list(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 1, 8);
    attach(&entry, 1);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_STARTING);
    driver_clear(&d);
    driver_pass(&d, 5 * TF_MINUTE + TF_SECOND);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "stop 1/5/0.1"));
    driver_release(&d);
}

/* A record that cannot be believed is left aside, loudly, and the rest goes on. */
static void test_an_unsound_record_is_left_aside(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 8);
    driver_all_ready(&d);
    struct tf_record record = {0};
    record.kind = TF_RECORD_ALLOCATION;
    tf_allocation_copy(&record.allocation, driver_allocation(&d, 1));
    record.allocation.uid = driver_uid(2);
    record.allocation.epoch = 9;
    record_store_put(&d.store, &record, 1); /* on the same GPUs */
    tf_record_release(&record);
    driver_clear(&d);
    driver_crash(&d, true);
    CU_ASSERT(driver_saw(
        &d, "alarm the stored allocation 02000000000000000000000000000000 of job t/j1 is not sound "
            "and is left aside: another holds one of its GPUs. Nothing of it is started; what "
            "runs of it is reported as without a record\n"));
    CU_ASSERT_PTR_NULL(driver_allocation(&d, 2));
    CU_ASSERT_PTR_NOT_NULL(driver_allocation(&d, 1));
    driver_list(&d);
    driver_link(&d, true);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "send hello 1.1 9\n"));
    driver_release(&d);
}

/* At every durable state of one life, with the last transaction lost or not: the same end. */
static void live_a_life(size_t crash_after, bool lands)
{
    driver_two_nodes(&d);
    d.hold_commits = true;
    size_t commits = 0;
    struct tf_entry entry = driver_place_entry(1, 5, 2, 8);
    driver_change(&d, entry);
    for (int round = 0; round < 60 && !(driver_end_of(&d, 1) && !d.out_waits); round++) {
        if (d.out_waits && commits++ == crash_after) {
            driver_crash(&d, lands);
            driver_list(&d);
            entry = driver_place_entry(1, 5, 2, 8);
            attach(&entry, 1);
        }
        driver_commit(&d);
        driver_all_ready(&d);
        if (round == 20)
            driver_exits(&d, 1, 5, 0, 1, 0);
        if (round == 25)
            driver_exits(&d, 1, 5, 1, 1, 0);
        driver_pass(&d, TF_SECOND);
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(driver_end_of(&d, 1));
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_FINISHED);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->ended.count, 1);
    driver_release(&d);
}

static void test_a_crash_at_every_transaction(void)
{
    for (size_t at = 0; at < 10; at++) {
        live_a_life(at, false);
        live_a_life(at, true);
    }
}

static const struct suite_test tests[] = {
    {"nothing is started before the listing", test_nothing_is_started_before_the_listing},
    {"what was not durable never was", test_what_was_not_durable_never_was},
    {"what runs is adopted", test_what_runs_is_adopted},
    {"what ended meanwhile is judged", test_what_ended_meanwhile_is_judged},
    {"what is missing is started", test_what_is_missing_is_started},
    {"a stop is asked for again", test_a_stop_is_asked_for_again},
    {"waits go on", test_waits_go_on},
    {"a wait is no longer than the whole", test_a_wait_is_no_longer_than_the_whole},
    {"restarts together after a crash", test_restarts_together_after_a_crash},
    {"a stray is kept until it is released", test_a_stray_is_kept_until_it_is_released},
    {"a released stray", test_a_released_stray_is_stopped_then_acknowledged},
    {"exits that nobody knows are forgotten", test_exits_that_nobody_knows_are_forgotten_after_the_listing},
    {"a job without a record is adopted", test_a_job_without_a_record_is_adopted},
    {"a part of a job is not adopted", test_a_part_of_a_job_is_not_adopted},
    {"what the engine has seen is not started again", test_what_the_engine_has_seen_is_not_started_again},
    {"a restored store starts nothing that it may have forgotten",
     test_a_restored_store_starts_nothing_that_it_may_have_forgotten},
    {"a restored store retries nothing before the full set",
     test_a_restored_store_retries_nothing_before_the_full_set},
    {"a restored store waits for each epoch to be named",
     test_a_restored_store_waits_for_each_epoch_to_be_named},
    {"a restored store has forgotten a move", test_a_restored_store_has_forgotten_a_move},
    {"a restored store has forgotten an attempt", test_a_restored_store_has_forgotten_an_attempt},
    {"a restored store has forgotten who came after", test_a_restored_store_has_forgotten_who_came_after},
    {"a restored store has forgotten whom a node is full of",
     test_a_restored_store_has_forgotten_whom_a_node_is_full_of},
    {"a retry waits for what a restored store has forgotten",
     test_a_retry_waits_for_what_a_restored_store_has_forgotten},
    {"a rollback is remembered until the full set", test_a_rollback_is_remembered_until_the_full_set},
    {"a restored store says hello after the listing", test_a_restored_store_says_hello_after_the_listing},
    {"an adopted start has its time", test_an_adopted_start_has_its_time},
    {"an unsound record is left aside", test_an_unsound_record_is_left_aside},
    {"a crash at every transaction", test_a_crash_at_every_transaction},
};

int main(void)
{
    return suite_run("restart", tests, TF_ARRAY_LEN(tests));
}
