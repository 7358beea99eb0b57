/* SPDX-License-Identifier: Apache-2.0 */
/* The promise to end an epoch for its successor in another subcluster: given, declined, kept. */
#include "common/base/cleanup.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;

/* Job 1 runs with epoch 5. */
static void start(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 2, 8);
    driver_all_ready(&d);
    driver_clear(&d);
}

static struct tf_entry entry_for(uint64_t successor, int64_t leave_after)
{
    struct tf_entry entry = driver_place_entry(1, 5, 2, 8);
    entry.successor = successor;
    entry.leave_after = leave_after;
    return entry;
}

static void ask(uint64_t successor, int64_t leave_after)
{
    driver_change(&d, entry_for(successor, leave_after));
}

static const struct tf_allocation *job(void)
{
    return driver_allocation(&d, 1);
}

static void test_kept_without_the_link(void)
{
    start();
    ask(6, TF_MINUTE);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\nsend report 1/5 Running 2/2\n"));
    CU_ASSERT_EQUAL(job()->successor, 6);
    driver_link(&d, false);
    driver_pass(&d, TF_MINUTE - TF_SECOND);
    CU_ASSERT_EQUAL(job()->phase, TF_ALLOCATION_RUNNING);
    driver_pass(&d, 2 * TF_SECOND);
    CU_ASSERT_EQUAL(job()->phase, TF_ALLOCATION_ENDING);
    driver_stopped(&d, 1, 5, 0, 1);
    driver_stopped(&d, 1, 5, 1, 1);
    CU_ASSERT_EQUAL(job()->ended.count, 1);
    CU_ASSERT_EQUAL(job()->ended.items[0].end, TF_END_RELEASED);
    driver_release(&d);
}

/* The leader hears of it only when it is durable. */
static void test_durable_before_it_is_told(void)
{
    start();
    d.hold_commits = true;
    ask(6, TF_MINUTE);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"));
    driver_commit(&d);
    CU_ASSERT(driver_saw(&d, "send report 1/5 Running 2/2\n"));
    driver_release(&d);
}

static void test_outlives_a_restart(void)
{
    start();
    ask(6, TF_MINUTE);
    driver_crash(&d, true);
    driver_list(&d);
    CU_ASSERT_EQUAL(job()->successor, 6);
    driver_pass(&d, 30 * TF_SECOND);
    CU_ASSERT_EQUAL(job()->phase, TF_ALLOCATION_RUNNING);
    driver_pass(&d, TF_MINUTE);
    CU_ASSERT_EQUAL(job()->phase, TF_ALLOCATION_ENDING);
    driver_release(&d);
}

static void test_never_taken_back(void)
{
    start();
    ask(6, TF_MINUTE);
    ask(6, 0);
    ask(0, 0);
    ask(7, TF_MINUTE);
    CU_ASSERT_EQUAL(job()->successor, 6);
    CU_ASSERT_EQUAL(job()->declined, 0);
    driver_pass(&d, TF_MINUTE + TF_SECOND);
    CU_ASSERT_EQUAL(job()->phase, TF_ALLOCATION_ENDING);
    driver_release(&d);
}

/* What it was declined for is not promised by an older order that comes later. */
static void test_declined_for_good(void)
{
    start();
    ask(6, 0);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\nsend report 1/5 Running 2/2\n"));
    CU_ASSERT_EQUAL(job()->declined, 6);
    ask(6, TF_MINUTE);
    CU_ASSERT_EQUAL(job()->successor, 0);
    CU_ASSERT(driver_saw(&d, "send report 1/5 Running 2/2\n"));
    driver_crash(&d, true);
    driver_list(&d);
    CU_ASSERT_EQUAL(job()->declined, 6);
    driver_link(&d, true);
    struct tf_entry entry = entry_for(8, TF_MINUTE); /* another move, later */
    driver_set(&d, &entry, 1);
    CU_ASSERT_EQUAL(job()->successor, 8);
    driver_release(&d);
}

/* The leader orders the end as soon as it has switched. */
static void test_told_to_before(void)
{
    start();
    ask(6, TF_MINUTE);
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    CU_ASSERT_EQUAL(job()->phase, TF_ALLOCATION_ENDING);
    ask(6, TF_MINUTE);
    driver_stopped(&d, 1, 5, 0, 1);
    driver_stopped(&d, 1, 5, 1, 1);
    CU_ASSERT_EQUAL(job()->successor, 0);
    driver_pass(&d, TF_HOUR);
    driver_place(&d, 1, 9, 2, 8); /* it comes back: nothing of the promise is left */
    driver_pass(&d, TF_HOUR);
    CU_ASSERT_EQUAL(job()->epoch, 9);
    driver_release(&d);
}

/* The store was restored, and the epoch is adopted by the very order that asks not to let it go. */
static void test_declined_when_adopted(void)
{
    driver_two_adopted_nodes(&d);
    struct tf_entry entry = entry_for(6, 0);
    driver_set(&d, &entry, 1);
    CU_ASSERT_EQUAL(job()->epoch, 5);
    CU_ASSERT_EQUAL(job()->declined, 6);
    driver_release(&d);
}

static const struct suite_test tests[] = {
    {"kept without the link", test_kept_without_the_link},
    {"durable before it is told", test_durable_before_it_is_told},
    {"outlives a restart", test_outlives_a_restart},
    {"never taken back", test_never_taken_back},
    {"declined for good", test_declined_for_good},
    {"told to before", test_told_to_before},
    {"declined when adopted", test_declined_when_adopted},
};

int main(void)
{
    return suite_run("subcluster yield", tests, TF_ARRAY_LEN(tests));
}
