/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints that jobs tell of, and what a restart of them was measured to take. */
#include "common/base/text.h"
#include "subcluster/core/check.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;

static const struct tf_allocation *job(void)
{
    return driver_allocation(&d, 1);
}

static uint32_t attempt_of(uint32_t index)
{
    return job()->members.items[index].attempt;
}

/* Job 1 of priority low has two instances of two GPUs on n1, and may have six. */
static struct tf_entry training(void)
{
    struct tf_entry entry = driver_place_entry(1, 5, 2, 2);
    tf_spec_own(&entry.spec)->elastic = (struct tf_elastic){2, 6, 2};
    tf_spec_own(&entry.spec)->grow = TF_GROW_ON_RESTART;
    tf_spec_own(&entry.spec)->on_resize = TF_ON_RESIZE_RESTART;
    tf_spec_own(&entry.spec)->retry_limit = 3;
    tf_spec_own(&entry.spec)->retry_backoff = 20 * TF_SECOND;
    return entry;
}

static void all_ready(void)
{
    for (uint32_t i = 0; i < job()->members.count; i++)
        if (job()->members.items[i].state != TF_MEMBER_READY)
            driver_told(&d, 1, 5, i, attempt_of(i), SUB_INSTANCE_READY, 0, false);
}

/* Its start takes `start` ms. */
static void begin_slow(int64_t start)
{
    driver_two_nodes(&d);
    driver_change(&d, training());
    for (uint32_t i = 0; i < 2; i++)
        driver_told(&d, 1, 5, i, 1, SUB_INSTANCE_STARTING, 0, false);
    driver_pass(&d, start);
    all_ready();
    driver_pass(&d, TF_SECOND);
    driver_clear(&d);
}

static void begin(void)
{
    begin_slow(0);
}

static void end(void)
{
    sub_check(d.sub);
    driver_release(&d);
}

/* At most one a minute is remembered; a restart of subclusterd forgets none. */
static void test_remembered(void)
{
    begin_slow(10 * TF_SECOND);
    CU_ASSERT_EQUAL(job()->last_checkpoint.ms, 0);
    driver_checkpoint(&d, 1, 5, 1, 1);
    int64_t first = d.now.wall.ms;
    CU_ASSERT_EQUAL(job()->last_checkpoint.ms, first);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "send report 1/5 Running 2/2\n"));
    driver_pass(&d, 59 * TF_SECOND);
    driver_checkpoint(&d, 1, 5, 0, 1);
    CU_ASSERT_EQUAL(job()->last_checkpoint.ms, first);
    driver_crash(&d, true);
    driver_list(&d);
    CU_ASSERT_EQUAL(job()->last_checkpoint.ms, first);
    driver_pass(&d, TF_SECOND);
    driver_checkpoint(&d, 1, 5, 0, 1);
    CU_ASSERT_EQUAL(job()->last_checkpoint.ms, d.now.wall.ms);
    end();
}

/* Nobody speaks for a job but its members. */
static void test_of_others(void)
{
    begin();
    driver_checkpoint(&d, 1, 5, 0, 2); /* an attempt that is not there */
    driver_checkpoint(&d, 1, 4, 0, 1); /* another epoch */
    driver_checkpoint(&d, 1, 5, 7, 1); /* no such member */
    driver_checkpoint(&d, 9, 5, 0, 1); /* no such job */
    CU_ASSERT_EQUAL(job()->last_checkpoint.ms, 0);
    CU_ASSERT(driver_saw(&d, ""));
    end();
}

/* Of two that could go the one goes that loses less: who has just saved its work, though it is the older. */
static bool first_goes(bool saves)
{
    driver_two_nodes(&d);
    struct tf_entry service = driver_place_entry(3, 7, 1, 8);
    for (uint8_t uid = 1; uid <= 2; uid++) {
        struct tf_entry entry = driver_place_entry(uid, 4 + uid, 1, 8);
        tf_str_set(&tf_spec_own(&entry.spec)->priority, "low");
        driver_change(&d, entry);
        driver_all_ready(&d);
        driver_pass(&d, 20 * TF_MINUTE);
    }
    if (saves)
        driver_checkpoint(&d, 1, 5, 0, 1);
    driver_pass(&d, TF_MINUTE);
    tf_str_set(&tf_spec_own(&service.spec)->priority, "high");
    service.level = tf_level_core(0);
    driver_change(&d, service);
    bool goes = job()->phase == TF_ALLOCATION_ENDING;
    CU_ASSERT_NOT_EQUAL(goes, driver_allocation(&d, 2)->phase == TF_ALLOCATION_ENDING);
    end();
    return goes;
}

static void test_who_has_saved_goes_first(void)
{
    CU_ASSERT(!first_goes(false));
    CU_ASSERT(first_goes(true));
}

/* All of it stops, and is ready again so much later. */
static void restart(int64_t stop, int64_t start)
{
    driver_pass(&d, stop);
    for (uint32_t i = 0; i < 2; i++)
        driver_stopped(&d, 1, 5, i, attempt_of(i));
    driver_pass(&d, start);
    all_ready();
}

/* What its start took is what a restart is taken for, until it has been restarted once: from then on it is
 * what that took, with the stop. */
static void test_measured(void)
{
    begin_slow(2 * TF_SECOND); /* at 5 % that is dwelt over in 38 s */
    CU_ASSERT_EQUAL(job()->restart_took, 0);
    driver_pass(&d, 30 * TF_SECOND);
    driver_checkpoint(&d, 1, 5, 0, 1);
    CU_ASSERT_EQUAL(job()->size, 2);
    driver_pass(&d, 7 * TF_SECOND);
    CU_ASSERT_EQUAL(job()->size, 6); /* all that is free */
    restart(4 * TF_SECOND, 36 * TF_SECOND);
    CU_ASSERT_EQUAL(job()->restart_took, 40 * TF_SECOND);
    end();
}

/* 40 s were measured, so that it dwells 760 s; and then it waits for a checkpoint. */
static void test_dwells_over_what_was_measured(void)
{
    begin_slow(2 * TF_SECOND);
    struct tf_entry scaled = training();
    tf_spec_own(&scaled.spec)->elastic.max = 4;
    driver_change(&d, scaled);
    driver_pass(&d, 40 * TF_SECOND);
    driver_checkpoint(&d, 1, 5, 0, 1);
    CU_ASSERT_EQUAL(job()->size, 4);
    restart(4 * TF_SECOND, 36 * TF_SECOND);
    CU_ASSERT_EQUAL(job()->restart_took, 40 * TF_SECOND);
    driver_change(&d, training()); /* may have six */
    driver_pass(&d, 640 * TF_SECOND);
    driver_checkpoint(&d, 1, 5, 0, attempt_of(0));
    CU_ASSERT_EQUAL(job()->size, 4);
    driver_pass(&d, 200 * TF_SECOND); /* the dwell is over, but the checkpoint is not fresh any more */
    CU_ASSERT_EQUAL(job()->size, 4);
    driver_checkpoint(&d, 1, 5, 1, attempt_of(1));
    CU_ASSERT_EQUAL(job()->size, 6);
    end();
}

/* The back-off of a failure is no part of what a restart takes. */
static void test_failure_spoils_it(void)
{
    begin_slow(2 * TF_SECOND);
    driver_pass(&d, 40 * TF_SECOND);
    driver_checkpoint(&d, 1, 5, 0, 1);
    CU_ASSERT_EQUAL(job()->size, 6);
    for (uint32_t i = 0; i < 2; i++)
        driver_stopped(&d, 1, 5, i, 1);
    driver_exits(&d, 1, 5, 0, attempt_of(0), 1);
    for (uint32_t i = 1; i < 6; i++)
        driver_stopped(&d, 1, 5, i, attempt_of(i));
    driver_pass(&d, TF_MINUTE);
    all_ready();
    CU_ASSERT_EQUAL(job()->retries_used, 1);
    CU_ASSERT_EQUAL(job()->restart_took, 0);
    end();
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"remembered, once a minute", test_remembered},
        {"of nobody else", test_of_others},
        {"who has saved its work goes first", test_who_has_saved_goes_first},
        {"a restart is measured", test_measured},
        {"the dwell follows from it", test_dwells_over_what_was_measured},
        {"not with a failure in it", test_failure_spoils_it},
    };
    return suite_run("unit/subcluster/checkpoint", tests, TF_ARRAY_LEN(tests));
}
