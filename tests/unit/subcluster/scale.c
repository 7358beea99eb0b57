/* SPDX-License-Identifier: Apache-2.0 */
/* A running epoch whose words or sizes change: the leader tells the placement again, and what may change is
 * taken. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/core/check.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;

static struct tf_entry entry_of(int32_t min, int32_t max, int32_t step)
{
    struct tf_entry entry = driver_place_entry(1, 5, 8, 2);
    tf_spec_own(&entry.spec)->elastic = (struct tf_elastic){min, max, step};
    return entry;
}

/* Eight instances of two GPUs on two nodes: min 2, step 2. */
static void begin(void)
{
    driver_two_nodes(&d);
    driver_change(&d, entry_of(2, 8, 2));
    driver_all_ready(&d);
    driver_pass(&d, TF_SECOND);
    driver_clear(&d);
}

static void end(void)
{
    sub_check(d.sub);
    driver_release(&d);
}

static int32_t count_in(enum tf_member_state state)
{
    return driver_count_in(&d, 1, state);
}

static void stop_leavers(void)
{
    for (uint32_t i = 0; i < driver_allocation(&d, 1)->members.count; i++)
        if (driver_allocation(&d, 1)->members.items[i].state == TF_MEMBER_LEAVING)
            driver_stopped(&d, 1, 5, i, 1);
    driver_pass(&d, TF_SECOND);
}

static void test_shrinks_by_whole_steps(void)
{
    begin();
    driver_change(&d, entry_of(2, 4, 2));
    const struct tf_allocation *a = driver_allocation(&d, 1);
    CU_ASSERT_EQUAL(a->phase, TF_ALLOCATION_RUNNING);
    CU_ASSERT_EQUAL(a->size, 4);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_LEAVING), 4);
    const char *log = tf_buf_text(&d.log), *peers = strstr(log, "size 4\n"), *stop = strstr(log, "stop 1/5");
    CU_ASSERT_FATAL(peers && stop && peers < stop); /* out of the peers file before the first stop */
    CU_ASSERT_EQUAL(driver_free_gpus(&d), 0);
    stop_leavers();
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_GONE), 4);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_READY), 4);
    CU_ASSERT_EQUAL(driver_free_gpus(&d), 8);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "send report 1/5 Running 4/4"));
    end();
}

/* A core of eight, scaled to two: what was core is surplus first. */
static void test_a_fixed_size(void)
{
    driver_two_nodes(&d);
    driver_change(&d, entry_of(8, 8, 8));
    driver_all_ready(&d);
    driver_change(&d, entry_of(2, 2, 2));
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->size, 2);
    stop_leavers();
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_READY), 2);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.items[0].state, TF_MEMBER_READY);
    end();
}

/* What the new max allows is not stopped: a raised min makes it short. */
static void test_a_raised_min(void)
{
    begin();
    driver_change(&d, entry_of(2, 4, 2));
    stop_leavers();
    driver_clear(&d);
    driver_change(&d, entry_of(8, 8, 2));
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "stop "));
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->size, 4);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->spec->elastic.min, 8);
    end();
}

/* Told again, nothing changes and nothing is written (I11). */
static void test_told_again(void)
{
    begin();
    driver_change(&d, entry_of(2, 8, 2));
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "persist"));
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "stop"));
    end();
}

static void test_what_is_no_size(void)
{
    begin();
    driver_change(&d, entry_of(3, 6, 3)); /* 8 is no multiple of 3 */
    driver_change(&d, entry_of(0, 0, 0));
    driver_change(&d, entry_of(4, 2, 2));
    driver_change(&d, entry_of(2, 5000, 2));
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->size, 8);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->spec->elastic.step, 2);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_READY), 8);
    end();
}

/* The others learn of it by a restart, once. */
static void test_on_resize_restart(void)
{
    driver_two_nodes(&d);
    struct tf_entry entry = entry_of(2, 8, 2);
    tf_spec_own(&entry.spec)->on_resize = TF_ON_RESIZE_RESTART;
    driver_change(&d, entry);
    driver_all_ready(&d);
    entry = entry_of(2, 4, 2);
    tf_spec_own(&entry.spec)->on_resize = TF_ON_RESIZE_RESTART;
    driver_change(&d, entry);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_LEAVING), 4);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_STOPPING), 4);
    for (uint32_t i = 0; i < 8; i++)
        driver_stopped(&d, 1, 5, i, 1);
    driver_pass(&d, TF_SECOND);
    driver_all_ready(&d);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_READY), 4);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->retries_used, 0);
    end();
}

/* A crash in the middle of it: what goes goes on going. */
static void test_over_a_restart(void)
{
    begin();
    d.hold_commits = true;
    driver_change(&d, entry_of(2, 4, 2));
    driver_crash(&d, true);
    d.hold_commits = false;
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_LEAVING), 4);
    driver_list(&d);
    driver_link(&d, true);
    driver_set(&d, NULL, 0);
    stop_leavers();
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_GONE), 4);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->size, 4);
    CU_ASSERT_EQUAL(driver_free_gpus(&d), 8);
    end();
}

/* It ends well when those that stay have. */
static void test_finishes(void)
{
    begin();
    driver_change(&d, entry_of(2, 2, 2));
    stop_leavers();
    for (uint32_t i = 0; i < 8; i++)
        if (driver_allocation(&d, 1)->epoch &&
            driver_allocation(&d, 1)->members.items[i].state == TF_MEMBER_READY)
            driver_exits(&d, 1, 5, i, 1, 0);
    CU_ASSERT_EQUAL_FATAL(driver_allocation(&d, 1)->ended.count, 1);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->ended.items[0].end, TF_END_FINISHED);
    end();
}

static void test_other_words(void)
{
    begin();
    struct tf_entry entry = entry_of(2, 8, 2);
    tf_str_set(&tf_spec_own(&entry.spec)->priority, "high");
    tf_spec_own(&entry.spec)->max_runtime = 60 * TF_SECOND;
    tf_spec_own(&entry.spec)->min_runtime = 5 * TF_SECOND; /* never lengthened */
    driver_change(&d, entry);
    const struct tf_job_spec *spec = driver_allocation(&d, 1)->spec;
    CU_ASSERT_STRING_EQUAL(spec->priority, "high");
    CU_ASSERT_EQUAL(spec->min_runtime, 0);
    sub_check(d.sub); /* levels are those of the new class */
    driver_pass(&d, 61 * TF_SECOND);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->ending.end, TF_END_FAILED);
    CU_ASSERT_PTR_NOT_NULL(strstr(driver_allocation(&d, 1)->ending.message, "maxRuntime"));
    end();
}

/* An epoch that is being ended takes nothing more. */
static void test_while_it_ends(void)
{
    begin();
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    driver_change(&d, entry_of(2, 4, 2));
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_STOPPING), 8);
    end();
}

static const struct suite_test tests[] = {
    {"shrinks by whole steps", test_shrinks_by_whole_steps},
    {"a fixed size", test_a_fixed_size},
    {"a raised min", test_a_raised_min},
    {"told again", test_told_again},
    {"what is no size", test_what_is_no_size},
    {"onResize: restart", test_on_resize_restart},
    {"over a restart", test_over_a_restart},
    {"finishes", test_finishes},
    {"other words", test_other_words},
    {"while it ends", test_while_it_ends},
};

int main(void)
{
    return suite_run("subcluster scale", tests, TF_ARRAY_LEN(tests));
}
