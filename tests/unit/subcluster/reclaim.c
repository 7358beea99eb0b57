/* SPDX-License-Identifier: Apache-2.0 */
/* Urgent work and those who give way: claims, evictions, shrinks by whole steps. */
#include "common/base/cleanup.h"
#include "subcluster/core/check.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;

/* A job of that class which needs n whole nodes. */
static struct tf_entry job(uint8_t uid, uint64_t epoch, const char *class, int32_t nodes)
{
    return driver_class_entry(uid, epoch, class, nodes, 8);
}

/* The same, counted on what lower classes hold. */
static struct tf_entry urgent(uint8_t uid, uint64_t epoch, int32_t nodes)
{
    struct tf_entry entry = job(uid, epoch, "high", nodes);
    entry.level = (tf_level)(tf_level_core(2) - 1);
    return entry;
}

/* n1 is held by a low job that started an hour ago, n2 by one that started just now. */
static void two_low_jobs(void)
{
    driver_two_nodes(&d);
    driver_change(&d, job(1, 5, "low", 1));
    driver_all_ready(&d);
    driver_pass(&d, TF_HOUR);
    driver_change(&d, job(2, 6, "low", 1));
    driver_all_ready(&d);
    driver_clear(&d);
}

static void test_one_needed_one_evicted(void)
{
    two_low_jobs();
    driver_change(&d, urgent(3, 7, 1));
    CU_ASSERT_EQUAL(driver_phase_of(&d, 1), TF_ALLOCATION_RUNNING);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 2), TF_ALLOCATION_ENDING); /* it loses least */
    CU_ASSERT_EQUAL(driver_phase_of(&d, 3), TF_ALLOCATION_CLAIMING);
    CU_ASSERT(driver_saw(&d, "persist allocation:3 floor evictions allocation:2\n"
                             "peers 2/6 v3 size 0\n"
                             "stop 2/6/0.1 0+30000\n"
                             "send report 3/7 Starting 0/1\n"
                             "send report 2/6 Stopping 0/1\n"));
    driver_stopped(&d, 2, 6, 0, 1);
    CU_ASSERT_EQUAL(driver_end_of(&d, 2)->end, TF_END_EVICTED);
    CU_ASSERT_PTR_NOT_NULL_FATAL(strstr(driver_end_of(&d, 2)->message, "t/j3"));
    CU_ASSERT_EQUAL(driver_phase_of(&d, 3), TF_ALLOCATION_STARTING);
    CU_ASSERT_EQUAL(driver_allocation(&d, 3)->members.items[0].gpus, 0xff);
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 3)->members.items[0].node, "n2");
    driver_all_ready(&d);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 3), TF_ALLOCATION_RUNNING);
    driver_release(&d);
}

/* What it loses now is told, not what it lost before, which only makes it dearer. */
static void test_what_is_lost_is_told_once(void)
{
    driver_two_nodes(&d);
    struct tf_entry again = job(1, 5, "low", 1);
    again.evictions = 1;
    tf_evicted_add(&again.evicted, d.now.wall, 1);
    driver_change(&d, job(2, 4, "low", 1));
    driver_change(&d, again);
    driver_all_ready(&d);
    driver_pass(&d, 100 * TF_SECOND);
    driver_change(&d, urgent(3, 7, 1));
    CU_ASSERT_EQUAL(driver_phase_of(&d, 1), TF_ALLOCATION_RUNNING);
    driver_change(&d, urgent(4, 8, 1));
    driver_stopped(&d, 1, 5, 0, 1);
    driver_stopped(&d, 2, 4, 0, 1);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->lost_gpu_seconds, 800);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->evictions, 1);
    CU_ASSERT_EQUAL(driver_end_of(&d, 2)->lost_gpu_seconds, 800);
    driver_release(&d);
}

/* Persist, then act: no stop leaves before the claims are durable. */
/* Of a gang with an instance on each of two nodes of one slot n1 is cordoned: what leaves that makes no room
 * there, GPUs or not. */
static void test_who_leaves_a_closed_node_makes_no_room(void)
{
    driver_init(&d);
    driver_node(&d, "n1", "H800", 8)->capacity.slots = 1;
    driver_node(&d, "n2", "H800", 8)->capacity.slots = 1;
    driver_ready(&d);
    driver_change(&d, driver_class_entry(1, 5, "low", 2, 0));
    driver_all_ready(&d);
    struct sub_event cordon = {.kind = SUB_EV_DOWN, .down = {.kind = TF_DOWN_ASK, .term = d.term}};
    cordon.down.ask = (struct tf_ask){.id = 1, .kind = TF_ASK_CORDON, .node = tf_strdup("n1"), .on = true};
    driver_step(&d, cordon);
    struct tf_entry none_fit = driver_class_entry(2, 6, "high", 2, 0);
    struct tf_entry one_fits = driver_class_entry(3, 7, "high", 1, 0);
    none_fit.level = one_fits.level = (tf_level)(tf_level_core(2) - 1);
    driver_change(&d, none_fit);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 1), TF_ALLOCATION_RUNNING);
    driver_change(&d, one_fits);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 3), TF_ALLOCATION_CLAIMING);
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 3)->claims.items[0].node, "n2");
    driver_release(&d);
}

static void test_claims_are_durable_before_the_first_stop(void)
{
    two_low_jobs();
    d.hold_commits = true;
    driver_change(&d, urgent(3, 7, 1));
    CU_ASSERT(driver_saw(&d, "persist allocation:3 floor evictions allocation:2\n"));
    d.hold_commits = false;
    driver_commit(&d);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "stop 2/6/0.1 0+30000\n"));
    driver_release(&d);
}

static void test_what_the_leader_did_not_count_on_stays(void)
{
    two_low_jobs();
    driver_change(&d, job(3, 7, "high", 1));
    CU_ASSERT_EQUAL(driver_end_of(&d, 3)->end, TF_END_REFUSED);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 1), TF_ALLOCATION_RUNNING);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 2), TF_ALLOCATION_RUNNING);
    driver_release(&d);
}

static void test_what_cannot_be_placed_evicts_nobody(void)
{
    two_low_jobs();
    driver_change(&d, urgent(3, 7, 3));
    CU_ASSERT_EQUAL(driver_end_of(&d, 3)->end, TF_END_REFUSED);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 1), TF_ALLOCATION_RUNNING);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 2), TF_ALLOCATION_RUNNING);
    driver_release(&d);
}

static void test_equals_are_not_taken(void)
{
    driver_two_nodes(&d);
    driver_change(&d, job(1, 5, "high", 2));
    driver_change(&d, urgent(3, 7, 1));
    CU_ASSERT_EQUAL(driver_end_of(&d, 3)->end, TF_END_REFUSED);
    driver_release(&d);
}

/* Eight instances of two GPUs, min 2, step 2: three surplus steps. */
static void elastic_job(enum tf_on_resize on_resize)
{
    struct tf_entry entry = driver_class_entry(1, 5, "low", 8, 2);
    tf_spec_own(&entry.spec)->elastic = (struct tf_elastic){2, 8, 2};
    tf_spec_own(&entry.spec)->on_resize = on_resize;
    driver_two_nodes(&d);
    driver_change(&d, entry);
    driver_all_ready(&d);
    driver_clear(&d);
}

static int32_t count_in(uint8_t uid, enum tf_member_state state)
{
    int32_t count = 0;
    tf_vec_each (m, &driver_allocation(&d, uid)->members)
        count += m->state == state;
    return count;
}

static void stop_leavers(uint8_t uid)
{
    for (uint32_t i = 0; i < driver_allocation(&d, uid)->members.count; i++)
        if (driver_allocation(&d, uid)->members.items[i].state == TF_MEMBER_LEAVING)
            driver_stopped(&d, uid, 5, i, 1);
}

static void test_surplus_goes_by_whole_steps(void)
{
    elastic_job(TF_ON_RESIZE_NONE);
    driver_change(&d, urgent(3, 7, 1));
    const struct tf_allocation *a = driver_allocation(&d, 1);
    CU_ASSERT_EQUAL(a->phase, TF_ALLOCATION_RUNNING);
    CU_ASSERT_EQUAL(a->size, 4);
    CU_ASSERT_EQUAL(count_in(1, TF_MEMBER_LEAVING), 4);
    CU_ASSERT_EQUAL(count_in(1, TF_MEMBER_READY), 4);
    CU_ASSERT_EQUAL(a->last_shrink.ms, d.now.wall.ms);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 3), TF_ALLOCATION_CLAIMING);
    CU_ASSERT_EQUAL(a->ending.evictions, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(a->ending.message);
    CU_ASSERT_PTR_NOT_NULL(strstr(a->ending.message, "surplus(low) gave way to t/j3"));
    /* out of the peers file before the first stop */
    const char *log = tf_buf_text(&d.log), *peers = strstr(log, "size 4\n"), *stop = strstr(log, "stop 1/5");
    CU_ASSERT_FATAL(peers && stop && peers < stop);
    stop_leavers(1);
    CU_ASSERT_EQUAL(count_in(1, TF_MEMBER_GONE), 4);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 3), TF_ALLOCATION_STARTING);
    /* marks: two core members, one surplus step */
    int32_t core = 0, surplus = 0;
    tf_vec_each (m, &a->members) {
        core += m->state == TF_MEMBER_READY && m->mark == 0;
        surplus += m->state == TF_MEMBER_READY && m->mark == 1;
    }
    CU_ASSERT_EQUAL(core, 2);
    CU_ASSERT_EQUAL(surplus, 2);
    driver_release(&d);
}

static void test_a_shrink_restarts_the_others_where_the_job_wants_it(void)
{
    elastic_job(TF_ON_RESIZE_RESTART);
    driver_change(&d, urgent(3, 7, 1));
    CU_ASSERT_EQUAL(count_in(1, TF_MEMBER_STOPPING), 4);
    stop_leavers(1);
    for (uint32_t i = 0; i < 8; i++)
        if (driver_allocation(&d, 1)->members.items[i].state == TF_MEMBER_STOPPING)
            driver_stopped(&d, 1, 5, i, 1);
    driver_pass(&d, 1);
    CU_ASSERT_EQUAL(count_in(1, TF_MEMBER_PLANNED), 4);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->retries_used, 0);
    driver_release(&d);
}

/* The rest of a shrunk job ends as any job does. */
static void test_what_is_left_finishes(void)
{
    elastic_job(TF_ON_RESIZE_NONE);
    driver_change(&d, urgent(3, 7, 1));
    stop_leavers(1);
    for (uint32_t i = 0; i < 8; i++)
        if (driver_phase_of(&d, 1) && driver_allocation(&d, 1)->members.items[i].state == TF_MEMBER_READY)
            driver_exits(&d, 1, 5, i, 1, 0);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_FINISHED);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->evictions, 1); /* of single steps, of an epoch that went on */
    driver_release(&d);
}

static void protected_job(void)
{
    struct tf_entry entry = job(1, 5, "low", 2);
    tf_spec_own(&entry.spec)->min_runtime = 2 * TF_HOUR;
    driver_two_nodes(&d);
    driver_change(&d, entry);
    driver_all_ready(&d);
    driver_clear(&d);
}

static void test_protection_holds_against_the_middle_until_its_moment(void)
{
    protected_job();
    struct tf_entry middle = job(2, 6, "mid", 1);
    middle.level = (tf_level)(tf_level_core(1) - 1);
    driver_change(&d, middle);
    CU_ASSERT_EQUAL(driver_end_of(&d, 2)->end, TF_END_REFUSED);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 1), TF_ALLOCATION_RUNNING);
    driver_pass(&d, 2 * TF_HOUR);
    middle = job(2, 7, "mid", 1);
    middle.level = (tf_level)(tf_level_core(1) - 1);
    driver_change(&d, middle);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 1), TF_ALLOCATION_ENDING);
    driver_release(&d);
}

static void test_protection_yields_to_the_ceiling(void)
{
    protected_job();
    driver_change(&d, urgent(3, 7, 1));
    CU_ASSERT_EQUAL(driver_phase_of(&d, 1), TF_ALLOCATION_ENDING);
    driver_release(&d);
}

/* ---- while it waits ---- */

/* Both nodes go to the urgent job. */
static void waits_for_both(void)
{
    two_low_jobs();
    driver_change(&d, urgent(3, 7, 2));
    CU_ASSERT_EQUAL_FATAL(driver_phase_of(&d, 3), TF_ALLOCATION_CLAIMING);
    driver_stopped(&d, 1, 5, 0, 1);
    CU_ASSERT_EQUAL_FATAL(driver_phase_of(&d, 3), TF_ALLOCATION_CLAIMING);
}

static void test_nobody_else_gets_what_is_claimed(void)
{
    waits_for_both();
    driver_change(&d, job(4, 8, "high", 1));
    CU_ASSERT_EQUAL(driver_end_of(&d, 4)->end, TF_END_REFUSED);
    driver_stopped(&d, 2, 6, 0, 1);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 3), TF_ALLOCATION_STARTING);
    driver_release(&d);
}

static void test_a_crash_loses_no_claim(bool lands)
{
    waits_for_both();
    driver_crash(&d, lands);
    driver_list(&d);
    driver_link(&d, true);
    driver_set(&d, NULL, 0);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 3), TF_ALLOCATION_CLAIMING);
    driver_change(&d, job(4, 8, "high", 1));
    CU_ASSERT_EQUAL(driver_end_of(&d, 4)->end, TF_END_REFUSED);
    driver_stopped(&d, 2, 6, 0, 1);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 3), TF_ALLOCATION_STARTING);
    driver_release(&d);
}

static void test_a_crash_while_waiting(void)
{
    test_a_crash_loses_no_claim(false);
    test_a_crash_loses_no_claim(true);
}

/* The transaction with the claims was not durable: nothing of it happened. */
static void test_a_crash_before_the_claims_are_durable(void)
{
    two_low_jobs();
    d.hold_commits = true;
    driver_change(&d, urgent(3, 7, 1));
    d.hold_commits = false;
    driver_crash(&d, false);
    driver_list(&d);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 2), TF_ALLOCATION_RUNNING);
    CU_ASSERT_PTR_NULL(driver_allocation(&d, 3));
    CU_ASSERT_EQUAL(count_in(2, TF_MEMBER_READY), 1);
    driver_release(&d);
}

static void test_the_owner_goes(void)
{
    waits_for_both();
    driver_tell(&d, TF_ENTRY_RELEASE, 3, 7);
    CU_ASSERT_EQUAL(driver_end_of(&d, 3)->end, TF_END_RELEASED);
    driver_change(&d, job(4, 8, "high", 1));
    CU_ASSERT_EQUAL(driver_phase_of(&d, 4), TF_ALLOCATION_STARTING);
    driver_release(&d);
}

static void test_a_claimed_node_dies(void)
{
    waits_for_both();
    driver_node_state(&d, "n1", TF_NODE_LOST);
    CU_ASSERT_EQUAL(driver_end_of(&d, 3)->end, TF_END_REFUSED);
    driver_release(&d);
}

/* Its claims move to what has become free, and it starts at once. */
static void test_free_capacity_that_turned_up_is_used(void)
{
    two_low_jobs();
    driver_change(&d, urgent(3, 7, 1));
    driver_exits(&d, 1, 5, 0, 1, 0);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 3), TF_ALLOCATION_STARTING);
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 3)->members.items[0].node, "n1");
    driver_release(&d);
}

/* ---- a higher priority takes what is claimed ---- */

static struct tf_entry middle(uint8_t uid, uint64_t epoch, int32_t nodes)
{
    struct tf_entry entry = job(uid, epoch, "mid", nodes);
    entry.level = (tf_level)(tf_level_core(1) - 1);
    return entry;
}

/* Job 3 (mid) has claimed both nodes; job 1 has left n1, job 2 is still going. */
static void middle_waits_for_both(void)
{
    two_low_jobs();
    driver_change(&d, middle(3, 7, 2));
    CU_ASSERT_EQUAL_FATAL(driver_phase_of(&d, 3), TF_ALLOCATION_CLAIMING);
    driver_stopped(&d, 1, 5, 0, 1);
    CU_ASSERT_EQUAL_FATAL(driver_phase_of(&d, 3), TF_ALLOCATION_CLAIMING);
    driver_clear(&d);
}

static void test_a_higher_priority_takes_a_claim(void)
{
    middle_waits_for_both();
    driver_change(&d, urgent(4, 8, 1));
    CU_ASSERT_EQUAL(driver_end_of(&d, 3)->end, TF_END_EVICTED);
    CU_ASSERT_EQUAL(driver_end_of(&d, 3)->evictions, 1);
    CU_ASSERT_EQUAL(driver_end_of(&d, 3)->lost_gpu_seconds, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(driver_end_of(&d, 3)->message, "t/j4"));
    CU_ASSERT_EQUAL(driver_phase_of(&d, 4),
                    TF_ALLOCATION_STARTING); /* n1 is free, and does not wait for n2 */
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 4)->members.items[0].node, "n1");
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "persist allocation:3 allocation:4 floor\n"));
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "stop")); /* nobody else goes */
    driver_stopped(&d, 2, 6, 0, 1);
    driver_change(&d, job(5, 9, "low", 1)); /* what the taker does not use is free */
    CU_ASSERT_EQUAL(driver_phase_of(&d, 5), TF_ALLOCATION_STARTING);
    driver_release(&d);
}

static void test_who_takes_a_claim_waits_for_who_goes(void)
{
    middle_waits_for_both();
    driver_change(&d, urgent(4, 8, 2));
    CU_ASSERT_EQUAL(driver_end_of(&d, 3)->end, TF_END_EVICTED);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 4), TF_ALLOCATION_CLAIMING);
    driver_stopped(&d, 2, 6, 0, 1);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 4), TF_ALLOCATION_STARTING);
    driver_release(&d);
}

/* The owner of a claim loses nothing, whoever runs loses something: among equals the claim goes. */
static void test_a_claim_goes_before_who_runs(void)
{
    driver_init(&d);
    for (int i = 0; i < 3; i++)
        driver_node(&d, i == 0 ? "n1" : i == 1 ? "n2" : "n3", "H800", 8);
    driver_ready(&d);
    driver_change(&d, job(1, 5, "mid", 1));
    driver_change(&d, job(2, 6, "mid", 1));
    driver_change(&d, job(3, 7, "low", 1));
    driver_all_ready(&d);
    driver_pass(&d, TF_MINUTE);
    driver_change(&d, middle(4, 8, 1));
    CU_ASSERT_EQUAL_FATAL(driver_phase_of(&d, 4), TF_ALLOCATION_CLAIMING);
    driver_change(&d, urgent(5, 9, 1));
    CU_ASSERT_EQUAL(driver_end_of(&d, 4)->end, TF_END_EVICTED);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 1), TF_ALLOCATION_RUNNING);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 2), TF_ALLOCATION_RUNNING);
    driver_stopped(&d, 3, 7, 0, 1);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 5), TF_ALLOCATION_STARTING);
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 5)->members.items[0].node, "n3");
    driver_release(&d);
}

static void test_equals_do_not_take_a_claim(void)
{
    middle_waits_for_both();
    driver_change(&d, middle(4, 8, 1));
    CU_ASSERT_EQUAL(driver_end_of(&d, 4)->end, TF_END_REFUSED);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 3), TF_ALLOCATION_CLAIMING);
    driver_release(&d);
}

/* Whatever of it is durable at a crash, each GPU has one claimant. */
static void crash_at_the_taking(bool lands)
{
    middle_waits_for_both();
    d.hold_commits = true;
    driver_change(&d, urgent(4, 8, 2));
    CU_ASSERT_EQUAL(driver_phase_of(&d, 4), TF_ALLOCATION_CLAIMING);
    d.hold_commits = false;
    driver_crash(&d, lands);
    driver_list(&d);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 3), lands ? TF_ALLOCATION_IDLE : TF_ALLOCATION_CLAIMING);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 4), lands ? TF_ALLOCATION_CLAIMING : TF_ALLOCATION_IDLE);
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "alarm"));
    driver_stopped(&d, 2, 6, 0, 1);
    CU_ASSERT_EQUAL(driver_phase_of(&d, lands ? 4 : 3), TF_ALLOCATION_STARTING);
    driver_release(&d);
}

static void test_a_crash_at_the_taking(void)
{
    crash_at_the_taking(false);
    crash_at_the_taking(true);
}

/* Nothing is stopped for it. */
static void test_the_brake_does_not_hold_claims(void)
{
    driver_init(&d);
    driver_node(&d, "n1", "H800", 8);
    d.boot.policy.max_evictions_per_minute = 1;
    driver_ready(&d);
    driver_change(&d, job(1, 5, "low", 1));
    driver_all_ready(&d);
    driver_change(&d, middle(2, 6, 1));
    CU_ASSERT_EQUAL_FATAL(driver_phase_of(&d, 2), TF_ALLOCATION_CLAIMING);
    driver_change(&d, urgent(3, 7, 1));
    CU_ASSERT_EQUAL(driver_phase_of(&d, 3), TF_ALLOCATION_CLAIMING);
    CU_ASSERT_EQUAL(driver_end_of(&d, 2)->end, TF_END_EVICTED);
    driver_release(&d);
}

/* A ceiling below the highest class: who is at it is not held off, who is below it is. */
static void test_the_ceiling_is_a_setting(void)
{
    struct tf_entry entry = job(1, 5, "low", 1);
    tf_spec_own(&entry.spec)->min_runtime = 2 * TF_HOUR;
    driver_init(&d);
    driver_node(&d, "n1", "H800", 8);
    tf_str_set(&d.boot.policy.ceiling, "mid");
    driver_ready(&d);
    driver_change(&d, entry);
    driver_all_ready(&d);
    driver_change(&d, middle(2, 6, 1));
    CU_ASSERT_EQUAL(driver_phase_of(&d, 1), TF_ALLOCATION_ENDING);
    driver_release(&d);
}

/* Neither a resize nor a failure renews it, and it does not bind the job's own user. */
static void test_protection_is_of_the_epoch(void)
{
    struct tf_entry entry = job(1, 5, "low", 2);
    tf_spec_own(&entry.spec)->elastic = (struct tf_elastic){1, 2, 1};
    tf_spec_own(&entry.spec)->min_runtime = 2 * TF_HOUR;
    driver_two_nodes(&d);
    driver_change(&d, entry);
    driver_all_ready(&d);
    driver_pass(&d, TF_HOUR);
    entry = job(1, 5, "low", 1);
    tf_spec_own(&entry.spec)->min_runtime = 2 * TF_HOUR;
    driver_change(&d, entry);
    CU_ASSERT_EQUAL(count_in(1, TF_MEMBER_LEAVING), 1);
    driver_stopped(&d, 1, 5, 1, 1);
    driver_exits(&d, 1, 5, 0, 1, 1);
    driver_pass(&d, TF_MINUTE);
    driver_all_ready(&d);
    CU_ASSERT_EQUAL_FATAL(count_in(1, TF_MEMBER_READY), 1);
    driver_change(&d, middle(2, 6, 2));
    CU_ASSERT_EQUAL(driver_end_of(&d, 2)->end, TF_END_REFUSED);
    driver_pass(&d, TF_HOUR - TF_MINUTE);
    driver_change(&d, middle(2, 7, 2));
    CU_ASSERT_EQUAL(driver_phase_of(&d, 1), TF_ALLOCATION_ENDING);
    driver_release(&d);

    protected_job();
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 1), TF_ALLOCATION_ENDING);
    driver_release(&d);
}

/* ---- another priority ---- */

/* What it holds is at its new level from then on, whichever would lose less. */
static void test_raised_while_it_runs(void)
{
    two_low_jobs();
    driver_change(&d, job(2, 6, "mid", 1));
    driver_change(&d, urgent(3, 7, 1));
    CU_ASSERT_EQUAL(driver_phase_of(&d, 1), TF_ALLOCATION_ENDING);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 2), TF_ALLOCATION_RUNNING);
    driver_release(&d);
}

static void test_lowered_while_it_runs(void)
{
    driver_two_nodes(&d);
    driver_change(&d, job(1, 5, "mid", 1));
    driver_change(&d, job(2, 6, "mid", 1));
    driver_all_ready(&d);
    driver_change(&d, middle(3, 7, 1));
    CU_ASSERT_EQUAL(driver_end_of(&d, 3)->end, TF_END_REFUSED);
    driver_change(&d, job(1, 5, "low", 1));
    driver_change(&d, middle(3, 8, 1));
    CU_ASSERT_EQUAL(driver_phase_of(&d, 1), TF_ALLOCATION_ENDING);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 2), TF_ALLOCATION_RUNNING);
    driver_release(&d);
}

/* What it has claimed, too: raised it keeps that, lowered it loses it to who could not take it before. */
static void test_another_priority_while_it_waits(void)
{
    middle_waits_for_both();
    driver_change(&d, job(3, 7, "high", 2));
    driver_change(&d, urgent(4, 8, 1));
    CU_ASSERT_EQUAL(driver_end_of(&d, 4)->end, TF_END_REFUSED);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 3), TF_ALLOCATION_CLAIMING);
    driver_change(&d, job(3, 7, "low", 2));
    driver_change(&d, middle(4, 9, 1));
    CU_ASSERT_EQUAL(driver_end_of(&d, 3)->end, TF_END_EVICTED);
    CU_ASSERT_EQUAL(driver_phase_of(&d, 4), TF_ALLOCATION_STARTING);
    driver_release(&d);
}

static void test_a_stuck_stop_ends_the_wait(void)
{
    two_low_jobs();
    driver_change(&d, urgent(3, 7, 1));
    driver_pass(&d, 30 * TF_SECOND + 10 * TF_SECOND + 1);
    CU_ASSERT_EQUAL(driver_end_of(&d, 3)->end, TF_END_REFUSED);
    driver_release(&d);
}

/* Three low jobs on three nodes, of which one a minute may be evicted, and one was. */
static void one_of_three_was_evicted(void)
{
    driver_init(&d);
    for (int i = 0; i < 3; i++)
        driver_node(&d, i == 0 ? "n1" : i == 1 ? "n2" : "n3", "H800", 8);
    d.boot.policy.max_evictions_per_minute = 1;
    driver_ready(&d);
    for (uint8_t i = 1; i <= 3; i++)
        driver_change(&d, job(i, 4 + i, "low", 1));
    driver_all_ready(&d);
    driver_change(&d, urgent(4, 8, 1));
    CU_ASSERT_EQUAL_FATAL(driver_phase_of(&d, 4), TF_ALLOCATION_CLAIMING);
}

static void test_the_brake(void)
{
    one_of_three_was_evicted();
    driver_change(&d, urgent(5, 9, 1));
    CU_ASSERT_PTR_NOT_NULL_FATAL(driver_end_of(&d, 5));
    CU_ASSERT_EQUAL(driver_end_of(&d, 5)->reason, TF_REASON_BRAKE);
    driver_pass(&d, TF_MINUTE);
    driver_change(&d, urgent(6, 10, 1));
    CU_ASSERT_EQUAL(driver_phase_of(&d, 6), TF_ALLOCATION_CLAIMING);
    driver_release(&d);
}

/* It goes on from what is stored with the claims, and ends when it would have ended. */
static void test_the_brake_holds_over_a_restart(void)
{
    one_of_three_was_evicted();
    CU_ASSERT_PTR_NOT_NULL(
        strstr(tf_buf_text(&d.log), "persist allocation:4 floor evictions allocation:1\n"));
    driver_pass(&d, 20 * TF_SECOND);
    driver_crash(&d, true);
    driver_list(&d);
    driver_link(&d, true);
    driver_set(&d, NULL, 0);
    driver_change(&d, urgent(5, 9, 1));
    CU_ASSERT_PTR_NOT_NULL_FATAL(driver_end_of(&d, 5));
    CU_ASSERT_EQUAL(driver_end_of(&d, 5)->reason, TF_REASON_BRAKE);
    driver_pass(&d, 40 * TF_SECOND);
    driver_change(&d, urgent(6, 10, 1));
    CU_ASSERT_EQUAL(driver_phase_of(&d, 6), TF_ALLOCATION_CLAIMING);
    driver_release(&d);
}

/* A wall clock that went back makes it no longer than a minute. */
static void test_the_brake_and_the_wall_clock(void)
{
    one_of_three_was_evicted();
    d.now.wall.ms -= TF_HOUR;
    driver_crash(&d, true);
    driver_list(&d);
    driver_link(&d, true);
    driver_set(&d, NULL, 0);
    driver_change(&d, urgent(5, 9, 1));
    CU_ASSERT_PTR_NOT_NULL_FATAL(driver_end_of(&d, 5));
    CU_ASSERT_EQUAL(driver_end_of(&d, 5)->reason, TF_REASON_BRAKE);
    driver_pass(&d, TF_MINUTE);
    driver_change(&d, urgent(6, 10, 1));
    CU_ASSERT_EQUAL(driver_phase_of(&d, 6), TF_ALLOCATION_CLAIMING);
    driver_release(&d);
}

/* Nobody goes, until the moment, by this subcluster's own clock. */
static void test_frozen_evictions(void)
{
    driver_two_frozen_nodes(&d, TF_FROZEN_EVICTIONS);
    driver_change(&d, job(1, 5, "low", 1));
    driver_change(&d, job(2, 6, "low", 1));
    driver_all_ready(&d);
    driver_change(&d, urgent(3, 7, 1));
    CU_ASSERT_EQUAL(driver_end_of(&d, 3)->reason, TF_REASON_FROZEN);
    CU_ASSERT_EQUAL(sub_profile(d.sub)->brakes, TF_FROZEN_EVICTIONS);
    driver_pass(&d, TF_HOUR);
    CU_ASSERT_EQUAL(sub_profile(d.sub)->brakes, 0);
    driver_change(&d, urgent(4, 8, 1));
    CU_ASSERT_EQUAL(driver_phase_of(&d, 4), TF_ALLOCATION_CLAIMING);
    driver_release(&d);
}

static void test_frozen_still_after_a_restart(void)
{
    driver_two_frozen_nodes(&d, TF_FROZEN_EVICTIONS);
    driver_crash(&d, true);
    driver_list(&d);
    CU_ASSERT_EQUAL(sub_profile(d.sub)->brakes, TF_FROZEN_EVICTIONS);
    driver_release(&d);
}

/* n1 is held by four GPUs of an hour, n2 by eight of a minute: what n1 loses is more, unless a reloaded file
 * caps what counts of it. */
static enum tf_allocation_phase old_small_one_with_cap(int64_t loss_cap)
{
    driver_two_nodes(&d);
    struct tf_entry small = driver_class_entry(1, 5, "low", 1, 4);
    driver_change(&d, small);
    driver_all_ready(&d);
    driver_pass(&d, TF_HOUR);
    driver_change(&d, job(2, 6, "low", 1));
    driver_all_ready(&d);
    driver_pass(&d, TF_MINUTE);
    driver_step(&d, (struct sub_event){.kind = SUB_EV_SETTINGS,
                                       .settings = {.profile_interval = d.boot.profile_interval,
                                                    .decision_budget = d.boot.decision_budget,
                                                    .loss_cap = loss_cap,
                                                    .resize_loss = 500}});
    driver_change(&d, urgent(3, 7, 1));
    CU_ASSERT_EQUAL(driver_phase_of(&d, 3), TF_ALLOCATION_CLAIMING);
    enum tf_allocation_phase phase = driver_phase_of(&d, 1);
    driver_release(&d);
    return phase;
}

static void test_the_cap_of_losses_is_reloaded(void)
{
    CU_ASSERT_EQUAL(old_small_one_with_cap(2 * TF_HOUR), TF_ALLOCATION_RUNNING);
    CU_ASSERT_EQUAL(old_small_one_with_cap(TF_SECOND), TF_ALLOCATION_ENDING);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"one needed, one evicted", test_one_needed_one_evicted},
        {"what is lost is told once", test_what_is_lost_is_told_once},
        {"who leaves a closed node makes no room", test_who_leaves_a_closed_node_makes_no_room},
        {"claims are durable before the first stop", test_claims_are_durable_before_the_first_stop},
        {"frozen evictions", test_frozen_evictions},
        {"frozen still after a restart", test_frozen_still_after_a_restart},
        {"the cap of losses is reloaded", test_the_cap_of_losses_is_reloaded},
        {"what the leader did not count on stays", test_what_the_leader_did_not_count_on_stays},
        {"what cannot be placed evicts nobody", test_what_cannot_be_placed_evicts_nobody},
        {"equals are not taken", test_equals_are_not_taken},
        {"surplus goes by whole steps", test_surplus_goes_by_whole_steps},
        {"a shrink restarts the others", test_a_shrink_restarts_the_others_where_the_job_wants_it},
        {"what is left finishes", test_what_is_left_finishes},
        {"protection until its moment", test_protection_holds_against_the_middle_until_its_moment},
        {"protection yields to the ceiling", test_protection_yields_to_the_ceiling},
        {"the ceiling is a setting", test_the_ceiling_is_a_setting},
        {"protection is of the epoch", test_protection_is_of_the_epoch},
        {"raised while it runs", test_raised_while_it_runs},
        {"lowered while it runs", test_lowered_while_it_runs},
        {"another priority while it waits", test_another_priority_while_it_waits},
        {"nobody else gets what is claimed", test_nobody_else_gets_what_is_claimed},
        {"a crash while waiting", test_a_crash_while_waiting},
        {"a crash before the claims are durable", test_a_crash_before_the_claims_are_durable},
        {"the owner goes", test_the_owner_goes},
        {"a claimed node dies", test_a_claimed_node_dies},
        {"free capacity that turned up is used", test_free_capacity_that_turned_up_is_used},
        {"a stuck stop ends the wait", test_a_stuck_stop_ends_the_wait},
        {"the brake", test_the_brake},
        {"the brake holds over a restart", test_the_brake_holds_over_a_restart},
        {"the brake and the wall clock", test_the_brake_and_the_wall_clock},
        {"a higher priority takes a claim", test_a_higher_priority_takes_a_claim},
        {"who takes a claim waits for who goes", test_who_takes_a_claim_waits_for_who_goes},
        {"a claim goes before who runs", test_a_claim_goes_before_who_runs},
        {"equals do not take a claim", test_equals_do_not_take_a_claim},
        {"a crash at the taking", test_a_crash_at_the_taking},
        {"the brake does not hold claims", test_the_brake_does_not_hold_claims},
    };
    return suite_run("unit/subcluster/reclaim", tests, TF_ARRAY_LEN(tests));
}
