/* SPDX-License-Identifier: Apache-2.0 */
/* Whole nodes that are kept for a job which has waited for very long. */
#include "common/base/cleanup.h"
#include "common/fit/demand.h"
#include "subcluster/core/check.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;

/* A job of that class that needs n whole nodes, for at most so long (0: for ever). */
static struct tf_entry job(uint8_t uid, uint64_t epoch, const char *class, int32_t nodes, int64_t runs)
{
    struct tf_entry entry = driver_class_entry(uid, epoch, class, nodes, 8);
    tf_spec_own(&entry.spec)->max_runtime = runs;
    return entry;
}

static struct tf_entry claim(uint8_t uid, const char *class, int32_t nodes)
{
    struct tf_entry entry = job(uid, 0, class, nodes, 0);
    entry.kind = TF_ENTRY_CLAIM;
    return entry;
}

/* n1, n2, n3; n1 is held for ever, n2 for an hour at most, n3 for two. */
static void three_held_nodes(void)
{
    driver_init(&d);
    for (int i = 0; i < 3; i++)
        driver_node(&d, i == 0 ? "n1" : i == 1 ? "n2" : "n3", "H800", 8);
    driver_ready(&d);
    driver_change(&d, job(1, 5, "mid", 1, 0));
    driver_change(&d, job(2, 6, "mid", 1, TF_HOUR));
    driver_change(&d, job(3, 7, "mid", 1, 2 * TF_HOUR));
    driver_all_ready(&d);
    driver_pass(&d, TF_MINUTE);
    driver_clear(&d);
}

/* "n2 n3 for 9 of rank 1": what the leader has been told is kept, and for how long from now on. */
static int64_t kept(int rank, int32_t nodes)
{
    int32_t count = 0;
    int64_t until = -1;
    driver_pass(&d, TF_SECOND);
    tf_vec_each (row, &d.profile.rows) {
        if (row->claim_rank < 0)
            continue;
        CU_ASSERT_EQUAL(row->claim_rank, rank);
        count += row->count;
        until = row->claim_until.ms - d.now.wall.ms;
    }
    CU_ASSERT_EQUAL(count, nodes);
    return until;
}

static void ends(uint8_t uid, uint64_t epoch)
{
    driver_exits(&d, uid, epoch, 0, 1, 0);
    CU_ASSERT_EQUAL(driver_end_of(&d, uid)->end, TF_END_FINISHED);
}

static bool starts(uint8_t uid, uint64_t epoch, const char *class, int64_t runs)
{
    driver_change(&d, job(uid, epoch, class, 1, runs));
    return driver_phase_of(&d, uid) == TF_ALLOCATION_STARTING;
}

static void test_the_nodes_that_are_soonest_empty(void)
{
    three_held_nodes();
    driver_change(&d, claim(9, "mid", 1));
    CU_ASSERT(driver_saw(&d, "persist claim:9\nsend profile delta n 5\n"));
    CU_ASSERT_EQUAL(kept(1, 1), TF_HOUR - TF_MINUTE - TF_SECOND);
    driver_change(&d, claim(9, "mid", 1)); /* told again: as it is */
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "persist"));
    driver_change(&d, claim(9, "mid", 2)); /* it asks for more */
    CU_ASSERT_EQUAL(kept(1, 2), 2 * TF_HOUR - TF_MINUTE - 2 * TF_SECOND);
    driver_change(&d, claim(9, "mid", 3)); /* nobody knows when n1 will be empty: the rest is known */
    CU_ASSERT_EQUAL(kept(1, 3), 2 * TF_HOUR - TF_MINUTE - 3 * TF_SECOND);
    driver_change(&d, claim(9, "mid", 4));
    kept(1, 0);
    driver_release(&d);
}

static void test_who_may_start_there(void)
{
    three_held_nodes();
    driver_change(&d, claim(9, "mid", 1));
    ends(2, 6);
    CU_ASSERT_FALSE(starts(10, 8, "mid", 0));
    CU_ASSERT_EQUAL(driver_end_of(&d, 10)->reason, TF_REASON_CLAIMED);
    CU_ASSERT_FALSE(starts(11, 9, "low", TF_HOUR));
    CU_ASSERT_TRUE(starts(12, 10, "mid", 10 * TF_MINUTE)); /* it ends in time */
    driver_tell(&d, TF_ENTRY_RELEASE, 12, 10);
    driver_stopped(&d, 12, 10, 0, 1);
    CU_ASSERT_TRUE(starts(13, 11, "high", 0)); /* a higher priority is not bound */
    driver_release(&d);
}

static int32_t size_of_short(void)
{
    driver_pass(&d, 10 * TF_SECOND);
    driver_all_ready(&d);
    return driver_allocation(&d, 10)->size;
}

/* A job on two other nodes, that runs so long, loses one of them while the kept one is free. */
static int32_t lose_one(int64_t runs)
{
    three_held_nodes();
    driver_change(&d, claim(9, "mid", 1));
    ends(1, 5);
    ends(3, 7);
    struct tf_entry entry = job(10, 8, "mid", 2, runs);
    tf_spec_own(&entry.spec)->below_min = TF_BELOW_MIN_KEEP;
    tf_spec_own(&entry.spec)->elastic.step = 1;
    driver_change(&d, entry);
    driver_all_ready(&d);
    ends(2, 6);
    driver_node_state(&d, "n3", TF_NODE_LOST);
    return size_of_short();
}

static int32_t size_after_a_loss(int64_t runs)
{
    int32_t size = lose_one(runs);
    CU_ASSERT_EQUAL(kept(1, 1) > 0, true);
    driver_release(&d);
    return size;
}

/* Nothing gets free there by that, and nobody else would tell. */
static void test_a_short_job_has_them_when_they_are_let_go(void)
{
    CU_ASSERT_EQUAL(lose_one(0), 1);
    driver_tell(&d, TF_ENTRY_UNCLAIM, 9, 0);
    driver_pass(&d, TF_SECOND); /* on offer: the leader's queue comes first */
    CU_ASSERT_EQUAL(driver_allocation(&d, 10)->size, 1);
    CU_ASSERT_EQUAL(size_of_short(), 2);
    driver_release(&d);
}

static void test_a_short_job_that_ends_in_time_may_use_them(void)
{
    CU_ASSERT_EQUAL(size_after_a_loss(0), 1);
    CU_ASSERT_EQUAL(size_after_a_loss(10 * TF_HOUR), 1);
    CU_ASSERT_EQUAL(size_after_a_loss(10 * TF_MINUTE), 2);
}

static void test_surplus_may_use_them_meanwhile(void)
{
    three_held_nodes();
    driver_change(&d, claim(9, "mid", 1));
    ends(2, 6);
    struct tf_demand demand = {.is_core = false, .rank = 0, .ends = TF_DEMAND_ENDLESS};
    kept(1, 1);
    tf_vec_each (row, &d.profile.rows)
        CU_ASSERT_FALSE(tf_demand_barred(&demand, row));
    driver_release(&d);
}

static void test_the_owner_starts_and_its_claim_is_over(void)
{
    three_held_nodes();
    driver_change(&d, claim(9, "mid", 1));
    ends(2, 6);
    CU_ASSERT_TRUE(starts(9, 8, "mid", 0));
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 9)->members.items[0].node, "n2");
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "claim:9-"));
    kept(1, 0);
    driver_change(&d, claim(9, "mid", 1)); /* told late: it has what it had claimed for */
    kept(1, 0);
    driver_release(&d);
}

static void test_it_ends_when_the_leader_says_so(void)
{
    three_held_nodes();
    driver_change(&d, claim(9, "mid", 1));
    driver_tell(&d, TF_ENTRY_UNCLAIM, 9, 0);
    kept(1, 0);
    driver_change(&d, claim(9, "mid", 1));
    driver_link(&d, false);
    driver_link(&d, true);
    struct tf_entry again = claim(9, "mid", 1);
    driver_set(&d, &again, 1);
    kept(1, 1);
    driver_link(&d, false);
    driver_link(&d, true);
    driver_set(&d, NULL, 0); /* a full set that does not mention it */
    kept(1, 0);
    driver_release(&d);
}

static void test_a_crash_keeps_it(void)
{
    three_held_nodes();
    driver_change(&d, claim(9, "mid", 1));
    int64_t until = kept(1, 1);
    driver_crash(&d, true);
    driver_list(&d);
    ends(2, 6);
    driver_link(&d, true);
    struct tf_entry again = claim(9, "mid", 1);
    driver_set(&d, &again, 1);
    CU_ASSERT_EQUAL(kept(1, 1), until - TF_SECOND); /* the moment was fixed when it was made */
    CU_ASSERT_FALSE(starts(10, 8, "mid", 0));
    driver_release(&d);
}

static void test_a_lost_node_is_replaced(void)
{
    three_held_nodes();
    driver_change(&d, claim(9, "mid", 1));
    driver_node_state(&d, "n2", TF_NODE_LOST);
    driver_step(&d, (struct sub_event){.kind = SUB_EV_TIMER});
    CU_ASSERT_EQUAL(kept(1, 1), 2 * TF_HOUR - TF_MINUTE - TF_SECOND); /* n3 */
    driver_release(&d);
}

/* One claim a node: the higher one's. The lower one looks for another node, and has its own back at the end.
 */
static void test_a_higher_claim_takes_the_node(void)
{
    three_held_nodes();
    driver_change(&d, claim(9, "mid", 3));
    driver_change(&d, claim(10, "high", 1));
    int32_t mid = 0, high = 0;
    driver_pass(&d, TF_SECOND);
    tf_vec_each (row, &d.profile.rows) {
        mid += row->claim_rank == 1 ? row->count : 0;
        high += row->claim_rank == 2 ? row->count : 0;
    }
    CU_ASSERT_EQUAL(high, 1);
    CU_ASSERT_EQUAL(mid, 2);
    driver_tell(&d, TF_ENTRY_UNCLAIM, 10, 0);
    kept(1, 3);
    driver_release(&d);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"the nodes that are soonest empty", test_the_nodes_that_are_soonest_empty},
        {"who may start there", test_who_may_start_there},
        {"a short job that ends in time may use them", test_a_short_job_that_ends_in_time_may_use_them},
        {"a short job has them when they are let go", test_a_short_job_has_them_when_they_are_let_go},
        {"surplus may use them meanwhile", test_surplus_may_use_them_meanwhile},
        {"the owner starts and its claim is over", test_the_owner_starts_and_its_claim_is_over},
        {"it ends when the leader says so", test_it_ends_when_the_leader_says_so},
        {"a crash keeps it", test_a_crash_keeps_it},
        {"a lost node is replaced", test_a_lost_node_is_replaced},
        {"a higher claim takes the node", test_a_higher_claim_takes_the_node},
    };
    return suite_run("unit/subcluster/node_claims", tests, TF_ARRAY_LEN(tests));
}
