/* SPDX-License-Identifier: Apache-2.0 */
/* A running epoch that gets more instances: here because its min was raised, so that it is short. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/core/check.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;

static struct tf_entry entry_of(int32_t min, int32_t max, enum tf_on_resize on_resize)
{
    struct tf_entry entry = driver_place_entry(1, 5, 2, 2);
    tf_spec_own(&entry.spec)->elastic = (struct tf_elastic){min, max, 2};
    tf_spec_own(&entry.spec)->on_resize = on_resize;
    tf_spec_own(&entry.spec)->grow = TF_GROW_NEVER; /* by itself: a short job gets its min all the same */
    return entry;
}

/* Two instances of two GPUs run on n1, in steps of two; n2 is idle. */
static void begin(enum tf_on_resize on_resize)
{
    driver_two_nodes(&d);
    driver_change(&d, entry_of(2, 8, on_resize));
    driver_all_ready(&d);
    driver_pass(&d, TF_SECOND);
    driver_clear(&d);
}

static void end(void)
{
    sub_check(d.sub);
    driver_release(&d);
}

static const struct tf_allocation *job(void)
{
    return driver_allocation(&d, 1);
}

static int32_t count_in(enum tf_member_state state)
{
    return driver_count_in(&d, 1, state);
}

static int32_t joining(void)
{
    int32_t count = 0;
    tf_vec_each (m, &job()->members)
        count += m->role == TF_MEMBER_JOINS;
    return count;
}

static void ready(uint32_t index, uint32_t attempt)
{
    driver_told(&d, 1, 5, index, attempt, SUB_INSTANCE_READY, 0, false);
}

static bool logged(const char *text)
{
    return strstr(tf_buf_text(&d.log), text) != NULL;
}

static void test_joins_when_its_step_is_ready(void)
{
    begin(TF_ON_RESIZE_NONE);
    driver_change(&d, entry_of(6, 8, TF_ON_RESIZE_NONE));
    CU_ASSERT_EQUAL(job()->size, 2);
    CU_ASSERT_EQUAL(joining(), 4);
    CU_ASSERT(logged("start 1/5/2.1") && logged("start 1/5/5.1"));
    CU_ASSERT(!logged("peers") && !logged("stop"));
    ready(2, 1);
    ready(4, 1);
    CU_ASSERT_EQUAL(job()->size, 2);
    CU_ASSERT(!logged("peers"));
    ready(3, 1);
    CU_ASSERT_EQUAL(job()->size, 4);
    CU_ASSERT(logged("size 4\n"));
    ready(5, 1);
    CU_ASSERT_EQUAL(job()->size, 6);
    CU_ASSERT(logged("size 6\n"));
    CU_ASSERT_EQUAL(joining(), 0);
    tf_vec_each (m, &job()->members)
        CU_ASSERT_EQUAL(m->mark, 0);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT(logged("send report 1/5 Running 6/6"));
    CU_ASSERT_NOT_EQUAL(job()->last_grow.ms, 0);
    CU_ASSERT_EQUAL(job()->short_since.ms, 0);
    end();
}

/* One that fails takes its step with it, not the others; it is tried again, later. */
static void test_one_fails(void)
{
    begin(TF_ON_RESIZE_NONE);
    driver_change(&d, entry_of(6, 8, TF_ON_RESIZE_NONE));
    ready(2, 1);
    driver_exits(&d, 1, 5, 3, 1, 7);
    CU_ASSERT_EQUAL(job()->retries_used, 0);
    CU_ASSERT_EQUAL(job()->members.items[2].state, TF_MEMBER_LEAVING);
    CU_ASSERT_EQUAL(joining(), 2);
    ready(4, 1);
    ready(5, 1);
    CU_ASSERT_EQUAL(job()->size, 4);
    driver_stopped(&d, 1, 5, 2, 1);
    driver_clear(&d);
    driver_pass(&d, 5 * TF_SECOND);
    CU_ASSERT_EQUAL(joining(), 0);
    driver_pass(&d, 10 * TF_SECOND);
    CU_ASSERT(logged("start 1/5/2.2") && logged("start 1/5/3.2")); /* in the places that were left */
    driver_all_ready(&d);
    CU_ASSERT_EQUAL(job()->size, 6);
    CU_ASSERT_EQUAL(job()->members.count, 6);
    CU_ASSERT_EQUAL(job()->grow_failures, 0);
    end();
}

static void test_refused_by_the_engine(void)
{
    begin(TF_ON_RESIZE_NONE);
    driver_change(&d, entry_of(4, 8, TF_ON_RESIZE_NONE));
    driver_told(&d, 1, 5, 2, 1, SUB_INSTANCE_REFUSED, 0, false);
    CU_ASSERT_EQUAL(job()->phase, TF_ALLOCATION_RUNNING);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_READY), 2);
    CU_ASSERT_EQUAL(job()->members.items[3].state, TF_MEMBER_LEAVING);
    end();
}

/* Started when the daemon died: it goes on where it was. */
static void test_over_a_restart(void)
{
    begin(TF_ON_RESIZE_NONE);
    driver_change(&d, entry_of(4, 8, TF_ON_RESIZE_NONE));
    ready(2, 1);
    driver_crash(&d, true);
    driver_list(&d);
    driver_link(&d, true);
    driver_set(&d, NULL, 0);
    CU_ASSERT_EQUAL(job()->size, 2);
    CU_ASSERT_EQUAL(joining(), 2);
    ready(3, 1);
    CU_ASSERT_EQUAL(job()->size, 4);
    CU_ASSERT_EQUAL(job()->members.count, 4);
    end();
}

/* Fewer are wanted before they have joined: the higher transition rolls the lower back. */
static void test_scaled_down_meanwhile(void)
{
    begin(TF_ON_RESIZE_NONE);
    driver_change(&d, entry_of(6, 8, TF_ON_RESIZE_NONE));
    driver_change(&d, entry_of(2, 2, TF_ON_RESIZE_NONE));
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_LEAVING), 4);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_READY), 2);
    CU_ASSERT_EQUAL(job()->size, 2);
    for (uint32_t i = 2; i < 6; i++)
        driver_stopped(&d, 1, 5, i, 1);
    driver_pass(&d, TF_MINUTE);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_GONE), 4);
    CU_ASSERT(!logged("start 1/5/2.2"));
    end();
}

static void test_released_meanwhile(void)
{
    begin(TF_ON_RESIZE_NONE);
    driver_change(&d, entry_of(4, 8, TF_ON_RESIZE_NONE));
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    for (uint32_t i = 0; i < 4; i++)
        driver_stopped(&d, 1, 5, i, 1);
    CU_ASSERT_EQUAL(job()->phase, TF_ALLOCATION_IDLE);
    end();
}

/* The members stop first, and all start together. */
static void test_on_resize_restart(void)
{
    begin(TF_ON_RESIZE_RESTART);
    driver_change(&d, entry_of(4, 8, TF_ON_RESIZE_RESTART));
    CU_ASSERT_EQUAL(job()->size, 4);
    CU_ASSERT(!logged("start"));
    CU_ASSERT(logged("stop 1/5/0.1") && logged("stop 1/5/1.1"));
    driver_stopped(&d, 1, 5, 0, 1);
    CU_ASSERT(!logged("start"));
    driver_stopped(&d, 1, 5, 1, 1);
    CU_ASSERT(logged("start 1/5/0.2") && logged("start 1/5/1.2") && logged("start 1/5/2.") &&
              logged("start 1/5/3."));
    driver_all_ready(&d);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_READY), 4);
    CU_ASSERT_EQUAL(job()->retries_used, 0);
    end();
}

/* Joiners are members from the start of the restart on: one that the engine refuses is a loss. It must not be
 * replaced at once, since each time all would restart for nothing; nor is a start in the smaller size a
 * success. */
static void test_on_resize_restart_refused(void)
{
    begin(TF_ON_RESIZE_RESTART);
    driver_change(&d, entry_of(4, 8, TF_ON_RESIZE_RESTART));
    for (int round = 1; round <= 3; round++) {
        driver_pass(&d, TF_MINUTE);
        for (uint32_t i = 0; i < 2; i++)
            driver_stopped(&d, 1, 5, i, job()->members.items[i].attempt);
        CU_ASSERT_EQUAL(job()->size, 4);
        driver_told(&d, 1, 5, 2, job()->members.items[2].attempt, SUB_INSTANCE_REFUSED, 0, false);
        driver_told(&d, 1, 5, 3, job()->members.items[3].attempt, SUB_INSTANCE_ABSENT, 0, false);
        CU_ASSERT_EQUAL(job()->size, 2);
        CU_ASSERT_EQUAL(job()->grow_failures, round);
        driver_pass(&d, 6 * TF_SECOND); /* failureSettle: they restart */
        for (uint32_t i = 0; i < 2; i++)
            driver_stopped(&d, 1, 5, i, job()->members.items[i].attempt);
        driver_all_ready(&d);
        driver_pass(&d, 3 * TF_SECOND);
        CU_ASSERT_EQUAL(job()->size, 2);
        CU_ASSERT_EQUAL(job()->grow_failures, round);
    }
    driver_pass(&d, 2 * TF_MINUTE);
    for (uint32_t i = 0; i < 2; i++)
        driver_stopped(&d, 1, 5, i, job()->members.items[i].attempt);
    driver_all_ready(&d);
    CU_ASSERT_EQUAL(job()->size, 4);
    CU_ASSERT_EQUAL(count_in(TF_MEMBER_READY), 4);
    CU_ASSERT_EQUAL(job()->grow_failures, 0);
    end();
}

/* No room yet: nothing happens, and what comes free is used after it has been offered to others. */
static void test_waits_for_room(void)
{
    begin(TF_ON_RESIZE_NONE);
    driver_place(&d, 2, 6, 6, 2);
    driver_all_ready(&d);
    driver_change(&d, entry_of(4, 8, TF_ON_RESIZE_NONE));
    CU_ASSERT_EQUAL(joining(), 0);
    driver_tell(&d, TF_ENTRY_RELEASE, 2, 6);
    for (uint32_t i = 0; i < 6; i++)
        driver_stopped(&d, 2, 6, i, 1);
    driver_pass(&d, 2 * TF_SECOND);
    CU_ASSERT_EQUAL(joining(), 0);
    driver_pass(&d, 2 * TF_SECOND);
    CU_ASSERT_EQUAL(joining(), 2);
    driver_all_ready(&d);
    CU_ASSERT_EQUAL(job()->size, 4);
    end();
}

/* From the first member that has ended well on a job does not grow. */
static void test_its_work_ends(void)
{
    begin(TF_ON_RESIZE_NONE);
    driver_exits(&d, 1, 5, 0, 1, 0);
    driver_change(&d, entry_of(4, 8, TF_ON_RESIZE_NONE));
    driver_pass(&d, TF_MINUTE);
    CU_ASSERT_EQUAL(joining(), 0);
    driver_exits(&d, 1, 5, 1, 1, 0);
    CU_ASSERT_EQUAL(job()->ended.items[0].end, TF_END_FINISHED);
    end();
}

static const struct suite_test tests[] = {
    {"a step joins when all of it is ready", test_joins_when_its_step_is_ready},
    {"one that fails takes its step with it", test_one_fails},
    {"one that the engine refuses", test_refused_by_the_engine},
    {"growth goes on after a restart", test_over_a_restart},
    {"a smaller size rolls it back", test_scaled_down_meanwhile},
    {"a release rolls it back", test_released_meanwhile},
    {"onResize: restart stops all first", test_on_resize_restart},
    {"onResize: restart, and the engine refuses", test_on_resize_restart_refused},
    {"what comes free is offered first", test_waits_for_room},
    {"no growth once a member is done", test_its_work_ends},
};

int main(void)
{
    return suite_run("subcluster growth", tests, TF_ARRAY_LEN(tests));
}
