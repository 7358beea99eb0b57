/* SPDX-License-Identifier: Apache-2.0 */
/* Running jobs below their min in the leader's queue: what is free and will be taken for them is not given to
 * who comes after them. Ranks: 1 batch, 2 train, 3 online. */
#include "common/base/cleanup.h"
#include "tests/support/fed_driver/fed_driver.h"
#include "tests/support/suite.h"

#define PHASE(job, text) CU_ASSERT_STRING_EQUAL(drive_phase(&d, job), text)

static struct drive d;

/* Job #7 of class train has three of four instances in bj-a, which has one node free. */
static void begin(const char *rows)
{
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_submit(&d, "rec/short", "n=4 gpus=8 prio=train uid=7");
    drive_report(&d, "bj-a", 7, 1, TF_PHASE_RUNNING, 3);
    drive_profile(&d, "bj-a", rows);
    tf_buf_clear(&d.log);
}

static struct fed_explanation ask(const char *name)
{
    struct fed_explanation e = {0};
    CU_ASSERT_EQUAL_FATAL(fed_explain(d.fed, "rec", name, d.now, &e, NULL), 0);
    return e;
}

static void test_who_comes_after_waits(void)
{
    begin("1x8 short2:7:1:1");
    drive_submit(&d, "rec/lower", "n=1 gpus=8 prio=batch");
    drive_submit(&d, "rec/equal", "n=1 gpus=4 prio=train");
    PHASE("rec/lower", "Pending");
    PHASE("rec/equal", "Pending");
    struct fed_explanation e = ask("lower");
    CU_ASSERT_EQUAL(e.rows.items[0].first.reason, TF_REASON_IN_FLIGHT);
    CU_ASSERT_STRING_EQUAL(e.rows.items[0].first.text, "1 job below min on the way there takes what is free");
    fed_explanation_release(&e);
    drive_profile(&d, "bj-a", "1x8"); /* it has started what it missed, and more came free */
    PHASE("rec/equal", "Pending in bj-a e2 x1");
    drive_release(&d);
}

static void test_who_comes_before_takes_it(void)
{
    begin("1x8 short2:7:1:1");
    drive_submit(&d, "rec/urgent", "n=1 gpus=8 prio=online");
    PHASE("rec/urgent", "Pending in bj-a e2 x1");
    drive_release(&d);
}

/* The turn of a waiting job that comes first is before that of the short one. */
static void test_in_one_round_in_order(void)
{
    begin("");
    drive_submit(&d, "rec/urgent", "n=1 gpus=8 prio=online");
    drive_submit(&d, "rec/lower", "n=1 gpus=8 prio=batch");
    tf_buf_clear(&d.log);
    drive_profile(&d, "bj-a", "2x8 short2:7:1:1");
    PHASE("rec/urgent", "Pending in bj-a e2 x1");
    PHASE("rec/lower", "Pending");
    drive_expect(&d, "bj-a CHANGE 3: place rec/urgent e2 1 H800\n");
    drive_release(&d);
}

static void test_what_does_not_fit_it_is_for_others(void)
{
    begin("1x8 short2:7:1:0");
    drive_submit(&d, "rec/lower", "n=1 gpus=8 prio=batch");
    PHASE("rec/lower", "Pending in bj-a e2 x1");
    drive_release(&d);
}

static void test_a_job_that_ends_is_short_no_more(void)
{
    begin("1x8 short2:7:1:1");
    drive_submit(&d, "rec/lower", "n=1 gpus=8 prio=batch");
    PHASE("rec/lower", "Pending");
    drive_end(&d, "bj-a", 7, 1, TF_END_FINISHED);
    PHASE("rec/lower", "Pending in bj-a e2 x1");
    drive_release(&d);
}

static const struct suite_test tests[] = {
    {"who comes after waits", test_who_comes_after_waits},
    {"who comes before takes it", test_who_comes_before_takes_it},
    {"in one round, in order", test_in_one_round_in_order},
    {"what does not fit it is for others", test_what_does_not_fit_it_is_for_others},
    {"a job that ends is short no more", test_a_job_that_ends_is_short_no_more},
};

int main(void)
{
    return suite_run("unit/federation/shorts", tests, sizeof tests / sizeof tests[0]);
}
