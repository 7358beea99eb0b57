/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an epoch: start, run, end, failure, release, time-outs. */
#include "common/base/cleanup.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;

static void two_nodes(void)
{
    driver_init(&d);
    driver_node(&d, "n1", "H800", 8);
    driver_node(&d, "n2", "H800", 8);
    driver_ready(&d);
}

static void exits(uint8_t uid, uint64_t epoch, uint32_t index, uint32_t attempt, int32_t code)
{
    driver_told(&d, uid, epoch, index, attempt, SUB_INSTANCE_EXITED, code, false);
}

static void stops(uint8_t uid, uint64_t epoch, uint32_t index, uint32_t attempt)
{
    driver_told(&d, uid, epoch, index, attempt, SUB_INSTANCE_EXITED, 143, true);
}

static void test_place_run_finish(void)
{
    two_nodes();
    driver_place(&d, 1, 5, 2, 8);
    CU_ASSERT(driver_saw(&d, "persist allocation:1 floor\n"
                             "peers 1/5 v1 size 2\n"
                             "start 1/5/0.1 n1 0-7\n"
                             "start 1/5/1.1 n2 0-7\n"
                             "send report 1/5 Starting 0/2\n"
                             "send profile delta n 2\n"));
    driver_told(&d, 1, 5, 0, 1, SUB_INSTANCE_READY, 0, false);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "peers 1/5 v2 size 2\n"
                             "send report 1/5 Starting 1/2\n"));
    driver_told(&d, 1, 5, 1, 1, SUB_INSTANCE_READY, 0, false);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "peers 1/5 v3 size 2\n"
                             "send report 1/5 Running 2/2\n"));
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->started.ms, d.now.wall.ms);
    exits(1, 5, 0, 1, 0);
    driver_clear(&d);
    exits(1, 5, 1, 1, 0);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "send report 1/5 ended finished\n"));
    driver_tell(&d, TF_ENTRY_STORED, 1, 5);
    CU_ASSERT(driver_saw(&d, "persist allocation:1-\n"
                             "forget 1/5\n"));
    CU_ASSERT_PTR_NULL(driver_allocation(&d, 1));
    driver_release(&d);
}

static void test_release_stops_then_ends(void)
{
    two_nodes();
    driver_place(&d, 1, 5, 2, 8);
    driver_all_ready(&d);
    driver_clear(&d);
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "peers 1/5 v4 size 0\n"
                             "stop 1/5/0.1 0+30000\n"
                             "stop 1/5/1.1 0+30000\n"
                             "send report 1/5 Stopping 0/2\n"));
    stops(1, 5, 0, 1);
    driver_clear(&d);
    stops(1, 5, 1, 1);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "send report 1/5 ended released\n"));
    driver_release(&d);
}

static const struct suite_test tests[] = {
    {"place, run, finish", test_place_run_finish},
    {"release stops, then ends", test_release_stops_then_ends},
};

int main(void)
{
    return suite_run("life", tests, TF_ARRAY_LEN(tests));
}
