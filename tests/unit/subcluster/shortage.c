/* SPDX-License-Identifier: Apache-2.0 */
/* What a running job lacks of its core: claims in its record, then evictions, then instances that join. */
#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "subcluster/core/check.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

enum { SERVICE = 1, FIRST_LOW = 2, LOWS = 3, LAST_LOW = FIRST_LOW + LOWS - 1, TAKER = 9 };

static struct sub_driver d;

/* The epoch of each is the number of its job. */
static struct tf_entry entry_of(uint8_t uid, const char *priority, int32_t size)
{
    struct tf_entry entry = driver_place_entry(uid, uid, size, 4);
    tf_str_set(&tf_spec_own(&entry.spec)->priority, priority);
    tf_spec_own(&entry.spec)->elastic = (struct tf_elastic){size, size, 1};
    return entry;
}

/* One instance of four GPUs of the service, and three jobs of lower priority: both nodes are full. */
static void begin(void)
{
    driver_two_nodes(&d);
    driver_change(&d, entry_of(SERVICE, "mid", 1));
    for (uint8_t uid = FIRST_LOW; uid <= LAST_LOW; uid++)
        driver_change(&d, entry_of(uid, "low", 1));
    driver_all_ready(&d);
    driver_pass(&d, TF_SECOND);
    driver_clear(&d);
}

static void end(void)
{
    sub_check(d.sub);
    driver_release(&d);
}

static const struct tf_allocation *service(void)
{
    const struct tf_allocation *a = driver_allocation(&d, SERVICE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(a);
    return a;
}

static void scale(int32_t size)
{
    driver_change(&d, entry_of(SERVICE, "mid", size));
}

static int going(void)
{
    int count = 0;
    for (uint8_t uid = FIRST_LOW; uid <= LAST_LOW; uid++) {
        const struct tf_allocation *a = driver_allocation(&d, uid);
        count += a && a->phase == TF_ALLOCATION_ENDING;
    }
    return count;
}

/* All that were told to stop have stopped. */
static void stop_evicted(void)
{
    for (uint8_t uid = FIRST_LOW; uid <= LAST_LOW; uid++) {
        const struct tf_allocation *a = driver_allocation(&d, uid);
        if (a && a->phase == TF_ALLOCATION_ENDING && a->members.items[0].state == TF_MEMBER_STOPPING)
            driver_stopped(&d, uid, uid, 0, 1);
    }
}

static void settle(void)
{
    stop_evicted();
    driver_all_ready(&d);
    driver_pass(&d, 5 * TF_SECOND);
    driver_all_ready(&d);
}

static void test_lower_cores_go(void)
{
    begin();
    d.hold_commits = true;
    scale(3);
    CU_ASSERT_EQUAL(service()->phase, TF_ALLOCATION_RUNNING);
    CU_ASSERT_EQUAL(service()->claims.count, 2);
    CU_ASSERT_EQUAL(service()->size, 1);
    CU_ASSERT_EQUAL(going(), 2); /* and the third goes on: no more than is needed */
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "stop ")); /* nothing before the claims are durable */
    while (d.out_waits)
        driver_commit(&d);
    d.hold_commits = false;
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "stop "));
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "start "));
    settle();
    CU_ASSERT_EQUAL(service()->claims.count, 0);
    CU_ASSERT_EQUAL(service()->size, 3);
    end();
}

/* What is lost of a job is claimed as what it never had. */
static void test_after_a_loss(void)
{
    begin();
    driver_exits(&d, FIRST_LOW, FIRST_LOW, 0, 1, 0);
    scale(2);
    settle();
    CU_ASSERT_EQUAL_FATAL(service()->size, 2);
    driver_node_state(&d, service()->members.items[0].node, TF_NODE_LOST);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL(service()->size + (int32_t)service()->claims.count, 2);
    settle();
    CU_ASSERT_EQUAL(service()->size, 2);
    end();
}

static void crash_with_claims(bool lands)
{
    begin();
    d.hold_commits = true;
    scale(3);
    d.hold_commits = false; /* but the one that is out */
    driver_crash(&d, lands);
    driver_list(&d);
    CU_ASSERT_EQUAL(service()->claims.count, lands ? 2 : 0);
    driver_link(&d, true);
    driver_set(&d,
               (struct tf_entry[]){entry_of(SERVICE, "mid", 3), entry_of(2, "low", 1), entry_of(3, "low", 1),
                                   entry_of(4, "low", 1)},
               4);
    CU_ASSERT_EQUAL(service()->claims.count, 2);
    settle();
    CU_ASSERT_EQUAL(service()->size, 3);
    end();
}

static void test_crash_before_the_claims_are_durable(void)
{
    crash_with_claims(false);
}

static void test_crash_with_claims(void)
{
    crash_with_claims(true);
}

/* Who goes for a job that does not want it any more has begun to, and what it frees is free. */
static void test_scaled_down_in_between(void)
{
    begin();
    scale(3);
    scale(1);
    CU_ASSERT_EQUAL(service()->claims.count, 0);
    CU_ASSERT_EQUAL(service()->size, 1);
    settle();
    CU_ASSERT_EQUAL(service()->size, 1);
    CU_ASSERT_EQUAL(driver_free_gpus(&d), 8);
    end();
}

static void test_released_in_between(void)
{
    begin();
    scale(3);
    driver_tell(&d, TF_ENTRY_RELEASE, SERVICE, SERVICE);
    driver_stopped(&d, SERVICE, SERVICE, 0, 1);
    settle();
    CU_ASSERT_EQUAL(driver_free_gpus(&d), 12);
    end();
}

/* It is planned anew: from what is there. */
static void test_a_node_goes_in_between(void)
{
    begin();
    scale(2);
    CU_ASSERT_EQUAL_FATAL(service()->claims.count, 1);
    char *node = tf_strdup(service()->claims.items[0].node);
    bool own = strcmp(node, service()->members.items[0].node) == 0;
    driver_node_state(&d, node, TF_NODE_LOST);
    driver_pass(&d, 30 * TF_SECOND);
    settle();
    settle();
    if (driver_allocation(&d, SERVICE)) {
        CU_ASSERT_EQUAL(service()->size, 2);
        tf_vec_each (m, &service()->members)
            CU_ASSERT(m->state != TF_MEMBER_READY || strcmp(m->node, node) != 0);
    }
    CU_ASSERT(!own || service()->size == 2);
    free(node);
    end();
}

/* What turns up meanwhile is used at once, wherever it is. */
static void test_free_in_between(void)
{
    begin();
    scale(2);
    CU_ASSERT_EQUAL_FATAL(going(), 1);
    for (uint8_t uid = FIRST_LOW; uid <= LAST_LOW; uid++)
        if (driver_allocation(&d, uid)->phase == TF_ALLOCATION_RUNNING) {
            driver_exits(&d, uid, uid, 0, 1, 0); /* one that nobody had asked */
            break;
        }
    CU_ASSERT_EQUAL(service()->claims.count, 0);
    driver_all_ready(&d);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL(service()->size, 2);
    end();
}

/* The claims go, and nothing that runs. */
static void test_a_higher_priority_takes_the_claims(void)
{
    begin();
    scale(2);
    CU_ASSERT_EQUAL_FATAL(service()->claims.count, 1);
    struct tf_entry taker = entry_of(TAKER, "high", 3);
    taker.level = tf_level_core(2) - 1;
    driver_change(&d, taker);
    const struct tf_allocation *t = driver_allocation(&d, TAKER);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL(t->phase, TF_ALLOCATION_CLAIMING);
    CU_ASSERT_EQUAL(t->claims.count, 3);
    CU_ASSERT_EQUAL(service()->phase, TF_ALLOCATION_RUNNING);
    CU_ASSERT_EQUAL(service()->claims.count, 0);
    settle();
    CU_ASSERT_EQUAL(driver_allocation(&d, TAKER)->phase, TF_ALLOCATION_RUNNING);
    CU_ASSERT_EQUAL(service()->size, 1);
    end();
}

/* Which nodes it is on matters, and kinds of nodes do not tell. */
static void test_on_its_own_node(void)
{
    driver_two_nodes(&d);
    struct tf_entry entry = entry_of(SERVICE, "mid", 1), more = entry_of(SERVICE, "mid", 2);
    tf_spec_own(&entry.spec)->max_nodes = tf_spec_own(&more.spec)->max_nodes = 1;
    driver_change(&d, entry);
    for (uint8_t uid = FIRST_LOW; uid <= LAST_LOW; uid++)
        driver_change(&d, entry_of(uid, "low", 1));
    driver_all_ready(&d);
    driver_change(&d, more);
    CU_ASSERT_EQUAL_FATAL(service()->claims.count, 1);
    CU_ASSERT_STRING_EQUAL(service()->claims.items[0].node, service()->members.items[0].node);
    settle();
    CU_ASSERT_EQUAL(service()->size, 2);
    end();
}

/* Nobody of its own priority gives a core. */
static void test_equals_stay(void)
{
    driver_two_nodes(&d);
    driver_change(&d, entry_of(SERVICE, "mid", 1));
    for (uint8_t uid = FIRST_LOW; uid <= LAST_LOW; uid++)
        driver_change(&d, entry_of(uid, "mid", 1));
    driver_all_ready(&d);
    scale(2);
    driver_pass(&d, TF_MINUTE);
    CU_ASSERT_EQUAL(going(), 0);
    CU_ASSERT_EQUAL(service()->claims.count, 0);
    end();
}

/* Three are wanted and two can be had: these. */
static void test_a_step_at_least(void)
{
    begin();
    scale(5);
    CU_ASSERT_EQUAL(service()->claims.count, 1);
    for (int i = 0; i < 4; i++)
        settle();
    CU_ASSERT_EQUAL(service()->size, 4);
    CU_ASSERT_EQUAL(service()->claims.count, 0);
    end();
}

/* One after the other is served what it lacks: what the first takes may be all of the second, of which
 * nothing lives and so nothing has to be stopped first. */
static void test_what_is_short_itself_goes(void)
{
    enum { GANG = 2, OTHER = 3 };
    driver_two_nodes(&d);
    driver_change(&d, entry_of(SERVICE, "mid", 1));
    struct tf_entry gang = entry_of(GANG, "low", 2);
    tf_spec_own(&gang.spec)->elastic.step = 2;
    tf_spec_own(&gang.spec)->below_min = TF_BELOW_MIN_STOP;
    driver_change(&d, gang);
    driver_change(&d, entry_of(OTHER, "mid", 1));
    driver_all_ready(&d);
    driver_pass(&d, TF_SECOND);
    TF_AUTO_FREE char *node = tf_strdup(service()->members.items[0].node); /* the core frees its own */
    const struct tf_member *members = driver_allocation(&d, GANG)->members.items;
    uint32_t elsewhere = strcmp(members[0].node, node) == 0;
    CU_ASSERT_STRING_EQUAL_FATAL(members[!elsewhere].node, node);
    driver_exits(&d, GANG, GANG, elsewhere, 1, 9);
    CU_ASSERT_EQUAL_FATAL(driver_count_in(&d, GANG, TF_MEMBER_BACKOFF), 1);
    driver_node_state(&d, node, TF_NODE_LOST);
    CU_ASSERT_EQUAL(driver_allocation(&d, GANG)->phase, TF_ALLOCATION_IDLE);
    settle();
    CU_ASSERT_EQUAL(service()->size, 1);
    CU_ASSERT_STRING_NOT_EQUAL(service()->members.items[0].node, node);
    end();
}

static const struct suite_test tests[] = {
    {"cores of lower priority go, after the claims are durable", test_lower_cores_go},
    {"after a loss", test_after_a_loss},
    {"a crash before the claims are durable", test_crash_before_the_claims_are_durable},
    {"a crash with claims", test_crash_with_claims},
    {"scaled down in between", test_scaled_down_in_between},
    {"released in between", test_released_in_between},
    {"a node goes in between", test_a_node_goes_in_between},
    {"something is free in between", test_free_in_between},
    {"a higher priority takes the claims", test_a_higher_priority_takes_the_claims},
    {"on its own node", test_on_its_own_node},
    {"equals stay", test_equals_stay},
    {"a step at least", test_a_step_at_least},
    {"what is short itself goes", test_what_is_short_itself_goes},
};

int main(void)
{
    return suite_run("subcluster shortage", tests, TF_ARRAY_LEN(tests));
}
