/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that are lost, return, are cordoned or change; and peers files. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;

/* A gang of two that keeps running below its min: nothing of it can, and there is no place for it. */
static void test_a_lost_node_ends_the_epoch(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 2, 8);
    driver_all_ready(&d);
    driver_pass(&d, TF_SECOND);
    driver_clear(&d);
    driver_node_state(&d, "n2", TF_NODE_LOST);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "peers 1/5 v4 size 0\n"
                             "stop 1/5/0.1 0+30000\n"
                             "send report 1/5 Running 0/0\n"
                             "send profile delta n 2\n"));
    driver_stopped(&d, 1, 5, 0, 1);
    driver_pass(&d, 119 * TF_SECOND);
    CU_ASSERT_PTR_NULL(driver_end_of(&d, 1));
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_LOST);
    CU_ASSERT_STRING_EQUAL(
        driver_end_of(&d, 1)->message,
        "instance 1 was lost: node n2 is lost; in 120 s (repairWait) there was no place for any of it");
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->failures, 0);
    driver_place(&d, 1, 6, 2, 8);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_REFUSED);
    driver_node_state(&d, "n2", TF_NODE_READY);
    driver_place(&d, 1, 7, 2, 8);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->epoch, 7);
    driver_release(&d);
}

static void test_an_instance_lost_by_itself(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 8);
    driver_all_ready(&d);
    driver_told(&d, 1, 5, 0, 1, SUB_INSTANCE_LOST, 0, false);
    CU_ASSERT_PTR_NULL(driver_end_of(&d, 1));
    driver_all_ready(&d);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.items[0].attempt, 2);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->size, 1);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->retries_used, 0);
    driver_release(&d);
}

/* The start may still be on its way, and the node be back when it arrives: the stop follows it, and its
 * answer is waited for. */
static void test_lost_before_the_start_was_answered(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 8);
    driver_clear(&d);
    driver_node_state(&d, "n1", TF_NODE_LOST);
    CU_ASSERT_PTR_NULL(driver_end_of(&d, 1));
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->ending.end, TF_END_LOST);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "stop 1/5/0.1"));
    driver_node_state(&d, "n1", TF_NODE_READY);
    driver_told(&d, 1, 5, 0, 1, SUB_INSTANCE_STARTING, 0, false);
    CU_ASSERT_PTR_NULL(driver_end_of(&d, 1));
    driver_stopped(&d, 1, 5, 0, 1);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_LOST);
    driver_release(&d);
}

/* It was waiting for a retry on that node. */
static void test_lost_in_back_off(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 8);
    driver_exits(&d, 1, 5, 0, 1, 1);
    driver_node_state(&d, "n1", TF_NODE_LOST);
    CU_ASSERT_EQUAL(driver_end_of(&d, 1)->end, TF_END_LOST);
    driver_release(&d);
}

/* PITFALLS.md 5: a node comes back with what was given up; its GPUs are not free before that is gone. */
static void test_what_a_lost_node_brings_back_is_stopped(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 8);
    driver_all_ready(&d);
    driver_node_state(&d, "n1", TF_NODE_LOST);
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 1)->members.items[0].node, "n2");
    driver_all_ready(&d);
    driver_pass(&d, TF_SECOND);
    driver_stray(&d, 1, 5, 0, "n1", 0xff);
    driver_clear(&d);
    driver_told(&d, 1, 5, 0, 1, SUB_INSTANCE_READY, 0, false);
    driver_node_state(&d, "n1", TF_NODE_READY);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "stop 1/5/0.1 0+30000\n"));
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0);
    driver_pass(&d, TF_SECOND);
    driver_clear(&d);
    driver_stopped(&d, 1, 5, 0, 1);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0xff);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.items[0].attempt, 2);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.items[0].state, TF_MEMBER_READY);
    driver_release(&d);
}

static void test_a_cordoned_node_gives_nothing_and_keeps_what_runs(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 4);
    driver_all_ready(&d);
    driver_node_state(&d, "n1", TF_NODE_CORDONED);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_RUNNING);
    int32_t gpus = 0;
    tf_vec_each (row, &d.profile.rows)
        gpus += row->count * tf_profile_row_at(row, TF_LEVEL_TOP).gpus;
    CU_ASSERT_EQUAL(gpus, 8);
    CU_ASSERT_EQUAL(d.profile.health.cordoned, 1);
    driver_exits(&d, 1, 5, 0, 1, 1); /* its retry is its own business */
    driver_pass(&d, 10 * TF_SECOND);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.items[0].attempt, 2);
    driver_release(&d);
}

static void test_unreachable_is_not_lost(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 2, 8);
    driver_all_ready(&d);
    driver_node_state(&d, "n1", TF_NODE_UNREACHABLE);
    driver_pass(&d, 14 * TF_SECOND);
    driver_node_state(&d, "n1", TF_NODE_READY);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_RUNNING);
    driver_release(&d);
}

/* A node has fewer GPUs than are held on it: what is held stays held, nothing is double. */
static void test_a_node_shrinks_under_its_holders(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 6);
    driver_all_ready(&d);
    d.nodes.items[0].capacity.gpus = 4;
    driver_node_state(&d, "n1", TF_NODE_READY);
    driver_place(&d, 2, 6, 1, 1);
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 2)->members.items[0].node, "n2");
    d.nodes.items[0].capacity.gpus = 8;
    driver_node_state(&d, "n1", TF_NODE_READY);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0xc0);
    driver_exits(&d, 1, 5, 0, 1, 0);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0xff);
    driver_release(&d);
}

static void test_foreign_and_bad_gpus_are_never_given(void)
{
    driver_init(&d);
    struct tf_node *node = driver_node(&d, "n1", "H800", 8);
    node->foreign = (struct tf_foreign){.gpus = 0x03, .slots = 1, .cpu = 60000, .memory = 1024};
    node->bad_gpus = 0x84;
    driver_ready(&d);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0x78);
    driver_place(&d, 1, 5, 2, 2);
    const struct tf_allocation *a = driver_allocation(&d, 1);
    CU_ASSERT_EQUAL(a->members.items[0].gpus, 0x18);
    CU_ASSERT_EQUAL(a->members.items[1].gpus, 0x60);
    struct tf_entry entry = driver_place_entry(2, 6, 1, 0);
    tf_spec_own(&entry.spec)->group.shape.cpu = 2001; /* 64 cores less 60 foreign and 2 x 1 ours */
    driver_change(&d, entry);
    CU_ASSERT_EQUAL(driver_end_of(&d, 2)->end, TF_END_REFUSED);
    CU_ASSERT_EQUAL(d.profile.health.bad_gpus, 2);
    CU_ASSERT_EQUAL(d.profile.health.foreign_gpus, 2);
    driver_release(&d);
}

static void test_a_node_that_cannot_be(void)
{
    driver_two_nodes(&d);
    struct tf_node *node = driver_node(&d, "n3", NULL, 4);
    CU_ASSERT_PTR_NOT_NULL(node);
    driver_clear(&d);
    driver_node_state(&d, "n3", TF_NODE_READY);
    CU_ASSERT(driver_saw(&d, "alarm the engine's node n3 cannot be used: has GPUs but no model\n"));
    CU_ASSERT_EQUAL(sub_node_count(d.sub), 2);
    driver_release(&d);
}

/* ---- peers ---- */

static void test_the_peers_file(void)
{
    driver_init(&d);
    driver_node(&d, "n1", "H800", 8);
    tf_str_set(&driver_node(&d, "n2", "H800", 8)->address, NULL);
    driver_ready(&d);
    driver_place(&d, 1, 5, 2, 6);
    CU_ASSERT_STRING_EQUAL(
        tf_buf_text(&d.peers),
        "{\"epoch\":5,\"size\":2,\"version\":1}\n"
        "{\"rank\":0,\"index\":0,\"host\":\"n1\",\"addr\":\"10.0.0.1\",\"ports\":{},\"gpus\":[0,1,2,3,4,5],"
        "\"state\":\"starting\"}\n"
        "{\"rank\":1,\"index\":1,\"host\":\"n2\",\"addr\":\"n2\",\"ports\":{},\"gpus\":[0,1,2,3,4,5],"
        "\"state\":\"starting\"}\n");
    driver_told(&d, 1, 5, 0, 1, SUB_INSTANCE_READY, 0, false);
    driver_exits(&d, 1, 5, 1, 1, 1);
    CU_ASSERT_STRING_EQUAL(
        tf_buf_text(&d.peers),
        "{\"epoch\":5,\"size\":2,\"version\":3}\n"
        "{\"rank\":0,\"index\":0,\"host\":\"n1\",\"addr\":\"10.0.0.1\",\"ports\":{\"http\":31000},"
        "\"gpus\":[0,1,2,3,4,5],\"state\":\"ready\"}\n"
        "{\"rank\":1,\"index\":1,\"host\":\"n2\",\"addr\":\"n2\",\"ports\":{},\"gpus\":[0,1,2,3,4,5],"
        "\"state\":\"restarting\"}\n");
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&d.peers), "{\"epoch\":5,\"size\":0,\"version\":4}\n");
    driver_release(&d);
}

/* ---- levels ---- */

static int32_t gpus_at(tf_level level)
{
    int32_t gpus = 0;
    const struct tf_profile *profile = sub_profile(d.sub);
    tf_vec_each (row, &profile->rows)
        gpus += row->count * tf_profile_row_at(row, level).gpus;
    return gpus;
}

static void test_levels_follow_marks_and_phases(void)
{
    driver_two_nodes(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 6, 2);
    tf_spec_own(&entry.spec)->elastic = (struct tf_elastic){2, 6, 2};
    driver_change(&d, entry);
    CU_ASSERT_EQUAL(gpus_at(TF_LEVEL_FREE), 4);
    CU_ASSERT_EQUAL(gpus_at(TF_LEVEL_GOING), 4);
    CU_ASSERT_EQUAL(gpus_at(tf_level_surplus(1)), 12); /* mid is rank 1 */
    CU_ASSERT_EQUAL(gpus_at(tf_level_core(1)), 16);
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    CU_ASSERT_EQUAL(gpus_at(TF_LEVEL_FREE), 4);
    CU_ASSERT_EQUAL(gpus_at(TF_LEVEL_GOING), 16);
    driver_release(&d);
}

static const struct suite_test tests[] = {
    {"a lost node ends the epoch", test_a_lost_node_ends_the_epoch},
    {"an instance lost by itself", test_an_instance_lost_by_itself},
    {"lost before the start was answered", test_lost_before_the_start_was_answered},
    {"lost in back-off", test_lost_in_back_off},
    {"what a lost node brings back", test_what_a_lost_node_brings_back_is_stopped},
    {"a cordoned node", test_a_cordoned_node_gives_nothing_and_keeps_what_runs},
    {"unreachable is not lost", test_unreachable_is_not_lost},
    {"a node shrinks under its holders", test_a_node_shrinks_under_its_holders},
    {"foreign and bad GPUs", test_foreign_and_bad_gpus_are_never_given},
    {"a node that cannot be", test_a_node_that_cannot_be},
    {"the peers file", test_the_peers_file},
    {"levels follow marks and phases", test_levels_follow_marks_and_phases},
};

int main(void)
{
    return suite_run("nodes", tests, TF_ARRAY_LEN(tests));
}
