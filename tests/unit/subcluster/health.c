/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that go silent: when what runs there is given up, when it is not, and what a return owes. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/core/check.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;
static uint64_t asks;

static const char *nth(int i)
{
    static const char *const names[] = {"n1", "n2", "n3", "n4", "n5", "n6"};
    return names[i];
}

static void begin(int nodes)
{
    asks = 0;
    driver_init(&d);
    for (int i = 0; i < nodes; i++)
        driver_node(&d, nth(i), "H800", 8);
    driver_ready(&d);
}

static void end(void)
{
    sub_check(d.sub);
    driver_release(&d);
}

static enum tf_node_state state(size_t node)
{
    return sub_node_at(d.sub, node).node->state;
}

static enum tf_verdict verdict(size_t node)
{
    return sub_node_at(d.sub, node).cordon->verdict;
}

static const char *node_of(uint8_t uid)
{
    return driver_allocation(&d, uid)->members.items[0].node;
}

static bool logged(const char *line)
{
    return strstr(tf_buf_text(&d.log), line) != NULL;
}

static void silence(int first, int count)
{
    for (int i = first; i < first + count; i++)
        driver_node_state(&d, nth(i), TF_NODE_UNREACHABLE);
}

static void confirm(const char *node)
{
    struct sub_event event = {.kind = SUB_EV_DOWN};
    event.down.kind = TF_DOWN_ASK;
    event.down.term = d.term;
    event.down.ask = (struct tf_ask){.id = ++asks, .kind = TF_ASK_CONFIRM_LOST, .node = tf_strdup(node)};
    driver_step(&d, event);
}

/* A job of one instance of 8 GPUs, ready on n1. */
static void one_on_n1(void)
{
    driver_place(&d, 1, 5, 1, 8);
    driver_all_ready(&d);
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 1)->members.items[0].node, "n1");
}

static void test_lost_after_its_time(void)
{
    begin(4);
    one_on_n1();
    silence(0, 1);
    driver_pass(&d, 14 * TF_SECOND);
    CU_ASSERT_EQUAL(state(0), TF_NODE_UNREACHABLE);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_RUNNING);
    driver_clear(&d);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL(state(0), TF_NODE_LOST);
    CU_ASSERT_STRING_EQUAL(node_of(1), "n2");
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 1)->ending.message,
                           "instance 0 was lost: node n1 was unreachable for too long");
    /* one transaction with both; then what may live on there is stopped, and nothing waits for that */
    CU_ASSERT(logged("persist cordon:n1 allocation:1\n"
                     "stop 1/5/0.1 0+30000\n"));
    CU_ASSERT(logged("start 1/5/0.2 n2 0-7\n"));
    end();
}

static void test_a_return_in_time_changes_nothing(void)
{
    begin(4);
    one_on_n1();
    driver_clear(&d);
    silence(0, 1);
    driver_pass(&d, 14 * TF_SECOND);
    CU_ASSERT(logged(" unreachable 1\n"));
    driver_clear(&d);
    driver_node_state(&d, "n1", TF_NODE_READY);
    driver_pass(&d, TF_HOUR);
    CU_ASSERT(logged("send report 1/5 Running"));
    CU_ASSERT_FALSE(logged("unreachable"));
    CU_ASSERT_EQUAL(state(0), TF_NODE_READY);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_RUNNING);
    end();
}

static void test_not_ready_before_the_old_is_stopped(void)
{
    begin(2);
    one_on_n1();
    silence(0, 1);
    driver_pass(&d, TF_MINUTE);
    CU_ASSERT_STRING_EQUAL(node_of(1), "n2");
    driver_told(&d, 1, 5, 0, 2, SUB_INSTANCE_READY, 0, false);
    driver_clear(&d);
    driver_node_state(&d, "n1", TF_NODE_READY);
    CU_ASSERT_EQUAL(state(0), TF_NODE_UNREACHABLE);
    CU_ASSERT(logged("stop 1/5/0.1")); /* once more: the first may have gone nowhere */
    driver_place(&d, 2, 7, 1, 0);
    CU_ASSERT_STRING_EQUAL(node_of(2), "n2");
    driver_told(&d, 1, 5, 0, 1, SUB_INSTANCE_READY, 0, false);
    CU_ASSERT_EQUAL(state(0), TF_NODE_UNREACHABLE);
    driver_stopped(&d, 1, 5, 0, 1);
    CU_ASSERT_EQUAL(state(0), TF_NODE_READY);
    CU_ASSERT_EQUAL(verdict(0), TF_VERDICT_NONE);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.items[0].state, TF_MEMBER_READY);
    end();
}

/* The same when the daemon was started anew meanwhile, and the leader has long forgotten the epoch. */
static void test_a_restart_knows_what_was_given_up(void)
{
    begin(2);
    one_on_n1();
    silence(0, 1);
    driver_pass(&d, TF_MINUTE);
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    driver_stopped(&d, 1, 5, 0, 2);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_RELEASED);
    CU_ASSERT(logged("send report 1/5 ended released")); /* what was given up keeps nobody waiting, */
    driver_tell(&d, TF_ENTRY_STORED, 1, 5);
    CU_ASSERT_PTR_NULL(driver_allocation(&d, 1));
    CU_ASSERT_FALSE(logged("forget 1/5\n")); /* but the engine remembers it as long as it may run */
    driver_crash(&d, false);
    driver_list(&d);
    CU_ASSERT_EQUAL(state(0), TF_NODE_LOST);
    driver_clear(&d);
    driver_node_state(&d, "n1", TF_NODE_READY);
    CU_ASSERT_EQUAL(state(0), TF_NODE_UNREACHABLE);
    CU_ASSERT(logged("stop 1/5/0.1"));
    driver_stopped(&d, 1, 5, 0, 1);
    CU_ASSERT_EQUAL(state(0), TF_NODE_READY);
    CU_ASSERT(logged("forget 1/5\n"));
    end();
}

/* A start that was on its way when the node was given up. */
static void test_what_starts_there_late_is_stopped(void)
{
    begin(2);
    driver_place(&d, 1, 5, 1, 8);
    silence(0, 1);
    driver_pass(&d, TF_MINUTE);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_ENDING);
    driver_told(&d, 1, 5, 0, 1, SUB_INSTANCE_STARTING, 0, false);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_LOST);
    driver_node_state(&d, "n1", TF_NODE_READY);
    CU_ASSERT_EQUAL(state(0), TF_NODE_UNREACHABLE);
    driver_stopped(&d, 1, 5, 0, 1);
    CU_ASSERT_EQUAL(state(0), TF_NODE_READY);
    end();
}

static void test_the_engine_confirms_at_once(void)
{
    begin(2);
    one_on_n1();
    silence(0, 1);
    driver_node_state(&d, "n1", TF_NODE_LOST);
    driver_pass(&d, TF_MINUTE);
    CU_ASSERT_STRING_EQUAL(node_of(1), "n2");
    CU_ASSERT_EQUAL(verdict(0), TF_VERDICT_NONE);
    driver_node_state(&d, "n1", TF_NODE_READY);
    CU_ASSERT_EQUAL(state(0), TF_NODE_READY);
    end();
}

static void test_the_brake(void)
{
    begin(6);
    one_on_n1();
    driver_clear(&d);
    silence(0, 2);
    CU_ASSERT_FALSE(logged("alarm"));
    silence(2, 1);
    CU_ASSERT(logged("alarm 3 nodes of bj-a went silent at once"));
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL(d.profile.brakes, TF_BRAKE_MASS_DOWN);
    CU_ASSERT_EQUAL(d.profile.health.unreachable, 3);
    driver_pass(&d, TF_HOUR);
    silence(3, 1); /* while the brake is on, long after */
    driver_pass(&d, TF_HOUR);
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(state(i), TF_NODE_UNREACHABLE);
        CU_ASSERT_EQUAL(verdict(i), TF_VERDICT_SUSPECT);
    }
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_RUNNING);
    for (int i = 0; i < 4; i++)
        driver_node_state(&d, nth(i), TF_NODE_READY);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL(d.profile.brakes, 0);
    CU_ASSERT_EQUAL(verdict(0), TF_VERDICT_NONE);
    silence(0, 1); /* and off again, it judges as before */
    driver_pass(&d, 2 * TF_MINUTE);
    CU_ASSERT_EQUAL(state(0), TF_NODE_LOST);
    end();
}

/* One after the other is bad luck. */
static void test_slow_losses_are_losses(void)
{
    begin(6);
    for (int i = 0; i < 4; i++) {
        silence(i, 1);
        driver_pass(&d, 31 * TF_SECOND);
        CU_ASSERT_EQUAL(state((size_t)i), TF_NODE_LOST);
    }
    end();
}

/* Two of the three that made it a mass are back when the daemon is: the third is still suspect. */
static void test_the_brake_outlives_a_restart(void)
{
    begin(6);
    one_on_n1();
    silence(0, 3);
    driver_crash(&d, false);
    d.nodes.items[1].state = d.nodes.items[2].state = TF_NODE_READY;
    driver_list(&d);
    driver_pass(&d, TF_HOUR);
    CU_ASSERT_EQUAL(state(0), TF_NODE_UNREACHABLE);
    CU_ASSERT_EQUAL(verdict(1), TF_VERDICT_NONE);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_RUNNING);
    end();
}

static void test_people_confirm(void)
{
    begin(6);
    one_on_n1();
    silence(0, 3);
    driver_pass(&d, TF_MINUTE);
    driver_clear(&d);
    confirm("n1");
    CU_ASSERT(logged("persist cordon:n1 allocation:1\n"));
    CU_ASSERT(logged("send answer 1 code 0\n"));
    CU_ASSERT_STRING_EQUAL(node_of(1), "n4");
    CU_ASSERT_EQUAL(state(0), TF_NODE_LOST);
    CU_ASSERT_EQUAL(state(1), TF_NODE_UNREACHABLE);
    confirm("n1");
    CU_ASSERT(logged("send answer 2 code 0: node n1 is lost already\n"));
    confirm("n6");
    CU_ASSERT(logged("send answer 3 code 4: node n6 is ready: its engine reaches it, so it is not lost\n"));
    confirm("n7");
    CU_ASSERT(logged("send answer 4 code 2: bj-a has no node n7;"));
    confirm("n2");
    confirm("n3");
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL(d.profile.brakes, 0);
    driver_crash(&d, false);
    driver_list(&d);
    CU_ASSERT_EQUAL(state(0), TF_NODE_LOST);
    driver_pass(&d, TF_MINUTE);
    CU_ASSERT_EQUAL(verdict(1), TF_VERDICT_LOST);
    end();
}

/* On a node that cannot be reached a start is not late, and a retry waits. */
static void test_clocks_of_members_wait(void)
{
    begin(6);
    driver_place(&d, 1, 5, 1, 8);
    driver_told(&d, 1, 5, 0, 1, SUB_INSTANCE_STARTING, 0, false);
    driver_place(&d, 2, 6, 1, 8);
    driver_all_ready(&d);
    driver_told(&d, 1, 5, 0, 1, SUB_INSTANCE_STARTING, 0, false);
    driver_exits(&d, 2, 6, 0, 1, 1);
    uint64_t starts = d.starts;
    silence(0, 3);
    driver_pass(&d, TF_HOUR);
    CU_ASSERT_EQUAL(d.starts, starts);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.items[0].attempt, 1);
    CU_ASSERT_EQUAL(driver_allocation(&d, 2)->members.items[0].state, TF_MEMBER_BACKOFF);
    for (int i = 0; i < 3; i++)
        driver_node_state(&d, nth(i), TF_NODE_READY);
    CU_ASSERT_EQUAL(d.starts, starts + 1);
    CU_ASSERT_EQUAL(driver_allocation(&d, 2)->members.items[0].attempt, 2);
    end();
}

static const struct suite_test tests[] = {
    {"lost after its time", test_lost_after_its_time},
    {"a return in time", test_a_return_in_time_changes_nothing},
    {"not ready before the old is stopped", test_not_ready_before_the_old_is_stopped},
    {"a restart knows what was given up", test_a_restart_knows_what_was_given_up},
    {"what starts there late", test_what_starts_there_late_is_stopped},
    {"the engine confirms", test_the_engine_confirms_at_once},
    {"the brake", test_the_brake},
    {"slow losses", test_slow_losses_are_losses},
    {"the brake outlives a restart", test_the_brake_outlives_a_restart},
    {"people confirm", test_people_confirm},
    {"clocks of members wait", test_clocks_of_members_wait},
};

int main(void)
{
    return suite_run("health", tests, TF_ARRAY_LEN(tests));
}
