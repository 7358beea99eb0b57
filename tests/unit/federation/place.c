/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/cleanup.h"
#include "tests/support/fed_driver/fed_driver.h"
#include "tests/support/suite.h"

static void test_submit_place_run_end(void)
{
    struct drive d;
    drive_init(&d);
    drive_attach(&d, "bj-a", "north");
    drive_expect(&d, "bj-a BEGIN 1, 0 entries\nbj-a END 1\n");
    drive_profile(&d, "bj-a", "4x8:H800");
    drive_submit(&d, "rec/x", "n=2 gpus=8");
    drive_expect(&d, "reply 1: created #1\nbj-a CHANGE 2: place rec/x e1 2 H800\n");
    CU_ASSERT_STRING_EQUAL(drive_phase(&d, "rec/x"), "Pending in bj-a e1 x2");
    drive_release(&d);
}

static const struct suite_test tests[] = {
    {"submit, place, run, end", test_submit_place_run_end},
};

int main(void)
{
    return suite_run("place", tests, TF_ARRAY_LEN(tests));
}
