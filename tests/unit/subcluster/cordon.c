/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and GPUs that people keep new work from: durable before it is answered, in force after a restart. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/core/check.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;
static uint64_t asks;

static void cordon(const char *node, uint64_t gpus, bool on, const char *reason)
{
    struct sub_event event = {.kind = SUB_EV_DOWN};
    event.down.kind = TF_DOWN_ASK;
    event.down.term = d.term;
    event.down.ask = (struct tf_ask){.id = ++asks,
                                     .kind = TF_ASK_CORDON,
                                     .node = tf_strdup(node),
                                     .gpus = gpus,
                                     .on = on,
                                     .reason = tf_strdup(reason)};
    driver_step(&d, event);
}

static void begin(void)
{
    asks = 0;
    driver_two_nodes(&d);
}

static void end(void)
{
    sub_check(d.sub);
    driver_release(&d);
}

/* GPUs that the leader may place on. */
static int32_t deliverable(void)
{
    int32_t gpus = 0;
    driver_pass(&d, TF_SECOND);
    tf_vec_each (row, &d.profile.rows)
        gpus += row->count * tf_profile_row_at(row, TF_LEVEL_TOP).gpus;
    return gpus;
}

static void test_a_node(void)
{
    begin();
    driver_place(&d, 1, 5, 1, 4);
    driver_all_ready(&d);
    driver_pass(&d, TF_SECOND);
    driver_clear(&d);
    cordon("n1", 0, true, "fan");
    CU_ASSERT(driver_saw(&d, "persist cordon:n1\n"
                             "send answer 1 code 0\n"
                             "send profile delta n 2\n"));
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).node->state, TF_NODE_CORDONED);
    CU_ASSERT_STRING_EQUAL(sub_node_at(d.sub, 0).cordon->reason, "fan");
    CU_ASSERT_EQUAL(deliverable(), 8);
    CU_ASSERT_EQUAL(d.profile.health.cordoned, 1);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_RUNNING);
    driver_place(&d, 2, 6, 1, 4);
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 2)->members.items[0].node, "n2");
    driver_clear(&d);
    cordon("n1", 0, false, NULL);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT(driver_saw(&d, "persist cordon:n1-\nsend answer 2 code 0\nsend profile delta n 3\n"));
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).node->state, TF_NODE_READY);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0xf0);
    end();
}

/* The others of its node stay deliverable. */
static void test_a_gpu(void)
{
    begin();
    cordon("n1", 0x09, true, "XID 79");
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0xf6);
    CU_ASSERT_EQUAL(deliverable(), 14);
    CU_ASSERT_EQUAL(d.profile.health.bad_gpus, 2);
    driver_place(&d, 1, 5, 1, 6);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->members.items[0].gpus, 0xf6);
    cordon("n1", 0x01, false, NULL);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0x01);
    CU_ASSERT_EQUAL(tf_cordon_gpus(sub_node_at(d.sub, 0).cordon), 0x08);
    end();
}

/* What runs on it goes on; when it ends, its GPU is not free. */
static void test_a_held_gpu(void)
{
    begin();
    driver_place(&d, 1, 5, 1, 8);
    driver_all_ready(&d);
    cordon("n1", 0x80, true, "hot");
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_RUNNING);
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    driver_stopped(&d, 1, 5, 0, 1);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0x7f);
    end();
}

/* Again is answered again, and writes nothing. */
static void test_idempotent(void)
{
    begin();
    cordon("n1", 0, true, "fan");
    cordon("n2", 3, true, NULL);
    driver_pass(&d, TF_SECOND);
    driver_clear(&d);
    cordon("n1", 0, true, "fan");
    cordon("n2", 2, true, NULL);
    cordon("n2", 0x10, false, NULL);
    CU_ASSERT(driver_saw(&d, "send answer 3 code 0\nsend answer 4 code 0\nsend answer 5 code 0\n"));
    end();
}

static void test_not_answered_before_it_is_durable(void)
{
    begin();
    d.hold_commits = true;
    cordon("n1", 0, true, "fan");
    CU_ASSERT(driver_saw(&d, "persist cordon:n1\n"));
    driver_commit(&d);
    CU_ASSERT(driver_saw(&d, "send answer 1 code 0\nsend profile delta n 1\n"));
    end();
}

static void test_refusals(void)
{
    begin();
    cordon("n9", 0, true, NULL);
    cordon("n1", 0x100, true, NULL);
    cordon(NULL, 0, true, NULL);
    CU_ASSERT(driver_saw(
        &d, "send answer 1 code 2: bj-a has no node n9; `fedctl get nodes --cluster bj-a` lists them\n"
            "send answer 2 code 1: node n1 has 8 GPUs: they are numbered 0 to 7\n"
            "send answer 3 code 1: no node was named\n"));
    CU_ASSERT_EQUAL(deliverable(), 16);
    end();
}

/* One who takes it away is told why the node still takes no work. */
static void test_remarks(void)
{
    begin();
    cordon("n1", 0, true, "fan");
    cordon("n1", 4, true, "hot");
    driver_pass(&d, TF_SECOND);
    driver_clear(&d);
    cordon("n1", 0, false, NULL);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(tf_buf_text(&d.log), "send answer 3 code 0: GPU 2 of node n1 stays cordoned\n"));
    cordon("n1", 0, true, "fan");
    cordon("n1", 4, false, NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log),
                                  "send answer 5 code 0: node n1 is cordoned as a whole and stays unused\n"));
    driver_node_state(&d, "n1", TF_NODE_UNREACHABLE);
    cordon("n1", 0, false, NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "is unreachable by the engine's own word"));
    end();
}

/* What the engine says of a node and what people say of it do not overwrite each other. */
static void test_engine_and_people(void)
{
    begin();
    cordon("n1", 0, true, "fan");
    driver_node_state(&d, "n1", TF_NODE_LOST);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).node->state, TF_NODE_LOST);
    driver_node_state(&d, "n1", TF_NODE_READY);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).node->state, TF_NODE_CORDONED);
    cordon("n1", 0, false, NULL);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).node->state, TF_NODE_READY);
    end();
}

static void test_over_a_restart(void)
{
    begin();
    cordon("n1", 0, true, "fan");
    cordon("n2", 0x0f, true, "XID 79");
    driver_crash(&d, false);
    sub_check(d.sub);
    driver_list(&d);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).node->state, TF_NODE_CORDONED);
    CU_ASSERT_STRING_EQUAL(sub_node_at(d.sub, 0).cordon->reason, "fan");
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 1).free_gpus, 0xf0);
    driver_link(&d, true);
    driver_set(&d, NULL, 0);
    CU_ASSERT_EQUAL(deliverable(), 4);
    cordon("n1", 0, false, NULL);
    cordon("n2", 0x0f, false, NULL);
    driver_crash(&d, false);
    driver_list(&d);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0xff);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 1).free_gpus, 0xff);
    end();
}

/* Of a node that its engine no longer has: people may take it away. */
static void test_a_node_that_is_gone(void)
{
    begin();
    cordon("n2", 0, true, "to be removed");
    tf_node_release(&d.nodes.items[1]);
    d.nodes.count--;
    driver_crash(&d, false);
    driver_list(&d);
    driver_link(&d, true);
    driver_set(&d, NULL, 0);
    driver_pass(&d, TF_SECOND);
    driver_clear(&d);
    cordon("n2", 0, false, NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "persist cordon:n2-\n"));
    cordon("n2", 0, true, NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "send answer 3 code 2: "));
    end();
}

static void test_a_record_that_is_not_sound(void)
{
    begin();
    struct tf_record record = {.kind = TF_RECORD_CORDON};
    record.cordon.node = tf_strdup("n1");
    record_store_put(&d.store, &record, 1);
    tf_record_release(&record);
    driver_crash(&d, false);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "alarm the stored cordon of node n1 is not sound"));
    driver_list(&d);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0xff);
    end();
}

/* ---- suspect GPUs ---- */

static const struct tf_gpu_cordon *suspect_of(uint64_t gpus)
{
    const struct tf_cordon *cordon = sub_node_at(d.sub, 0).cordon;
    tf_vec_each (g, &cordon->gpus)
        if (g->suspect && g->gpus == gpus)
            return g;
    return NULL;
}

/* They take nothing new, what runs goes on, and each is suspect by somebody's word until that is taken back.
 */
static void test_a_suspect_gpu(void)
{
    begin();
    driver_place(&d, 1, 5, 1, 2);
    driver_all_ready(&d);
    struct sub_event event = {.kind = SUB_EV_DOWN};
    event.down.kind = TF_DOWN_ASK;
    event.down.term = d.term;
    event.down.ask = (struct tf_ask){.id = ++asks,
                                     .kind = TF_ASK_CORDON,
                                     .node = tf_strdup("n1"),
                                     .gpus = 0x06,
                                     .on = true,
                                     .suspect = true,
                                     .reason = tf_strdup("slow")};
    driver_step(&d, event);
    CU_ASSERT_PTR_NOT_NULL_FATAL(suspect_of(0x06));
    CU_ASSERT_EQUAL(suspect_of(0x06)->source, TF_GPU_BY_OPERATOR);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).node->suspect_gpus, 0x06);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0xf8);
    CU_ASSERT_EQUAL(deliverable(), 14);
    CU_ASSERT_EQUAL(d.profile.health.suspect_gpus, 2);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_RUNNING);
    driver_crash(&d, true);
    driver_list(&d);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).node->suspect_gpus, 0x06);
    driver_link(&d, true);
    cordon("n1", 0x04, true, "XID 79"); /* now it is bad */
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).node->bad_gpus, 0x06);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).node->suspect_gpus, 0x02);
    cordon("n1", 0x06, false, NULL);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).node->bad_gpus, 0);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0xfc);
    end();
}

static void test_a_suspect_gpu_of_the_engine(void)
{
    begin();
    struct tf_node *node = &d.nodes.items[0];
    node->bad_gpus = 0x03;
    node->suspect_gpus = 0x02;
    driver_node_state(&d, "n1", TF_NODE_READY);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).node->suspect_gpus, 0x02);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0xfc);
    cordon("n1", 0x02, true, "XID 79"); /* somebody knows better */
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).node->suspect_gpus, 0);
    cordon("n1", 0x02, false, NULL);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).node->suspect_gpus, 0x02);
    node = &d.nodes.items[0];
    node->bad_gpus = node->suspect_gpus = 0;
    driver_node_state(&d, "n1", TF_NODE_READY);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).free_gpus, 0xff);
    end();
}

/* One of two instances, by its index, does not get ready; the other one is. Both have four GPUs of n1. */
static void fail_start(uint8_t uid, uint64_t epoch, uint32_t attempt)
{
    const struct tf_allocation *a = driver_allocation(&d, uid);
    uint32_t index = a->members.items[0].gpus == 0x0f ? 0 : 1;
    CU_ASSERT_EQUAL(a->members.items[index].gpus, 0x0f);
    if (a->members.items[1 - index].state != TF_MEMBER_READY)
        driver_told(&d, uid, epoch, 1 - index, 1, SUB_INSTANCE_READY, 0, false);
    driver_told(&d, uid, epoch, index, attempt, SUB_INSTANCE_STARTING, 0, false);
    driver_exits(&d, uid, epoch, index, attempt, 3);
}

static void end_job(uint8_t uid, uint64_t epoch)
{
    driver_tell(&d, TF_ENTRY_RELEASE, uid, epoch);
    for (uint32_t i = 0; i < 2; i++)
        driver_stopped(&d, uid, epoch, i, 1);
    driver_tell(&d, TF_ENTRY_STORED, uid, epoch);
}

/* Starts that fail there, of two jobs that run elsewhere, make GPUs suspect, also over a restart. */
static void test_failed_starts_make_suspect(void)
{
    begin();
    cordon("n2", 0, true, NULL);
    driver_place(&d, 1, 5, 2, 4);
    fail_start(1, 5, 1);
    driver_pass(&d, 30 * TF_SECOND);
    fail_start(1, 5, 2);
    CU_ASSERT_PTR_NULL(suspect_of(0x0f)); /* one job says nothing about them */
    end_job(1, 5);
    driver_crash(&d, true);
    driver_list(&d);
    driver_link(&d, true);
    driver_set(&d, NULL, 0);
    driver_place(&d, 2, 6, 2, 4);
    fail_start(2, 6, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(suspect_of(0x0f));
    CU_ASSERT_EQUAL(suspect_of(0x0f)->source, TF_GPU_BY_STARTS);
    CU_ASSERT_PTR_NOT_NULL(strstr(suspect_of(0x0f)->reason, "3 starts in a row"));
    CU_ASSERT_PTR_NOT_NULL(strstr(suspect_of(0x0f)->reason, "t/j2: instance"));
    CU_ASSERT_EQUAL(driver_allocation(&d, 2)->phase, TF_ALLOCATION_STARTING);
    cordon("n1", 0x0f, false, NULL);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).node->suspect_gpus, 0);
    end();
}

/* A start that works there wipes out what spoke against them; of a job of which nothing runs elsewhere none
 * speaks against them at all. */
static void test_starts_that_say_nothing(void)
{
    begin();
    cordon("n2", 0, true, NULL);
    driver_place(&d, 1, 5, 2, 4);
    fail_start(1, 5, 1);
    driver_pass(&d, 30 * TF_SECOND);
    fail_start(1, 5, 2);
    driver_pass(&d, 60 * TF_SECOND);
    driver_all_ready(&d);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_RUNNING);
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).cordon->trouble.count, 0);
    end_job(1, 5);
    for (uint8_t uid = 2; uid < 8; uid++) {
        driver_place(&d, uid, 4u + uid, 1, 8);
        driver_told(&d, uid, 4u + uid, 0, 1, SUB_INSTANCE_STARTING, 0, false);
        driver_exits(&d, uid, 4u + uid, 0, 1, 3);
        driver_tell(&d, TF_ENTRY_RELEASE, uid, 4u + uid);
        CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).cordon->trouble.count, 0);
    }
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).node->suspect_gpus, 0);
    end();
}

static const struct suite_test tests[] = {
    {"a suspect GPU", test_a_suspect_gpu},
    {"a suspect GPU of the engine", test_a_suspect_gpu_of_the_engine},
    {"failed starts make suspect", test_failed_starts_make_suspect},
    {"starts that say nothing", test_starts_that_say_nothing},
    {"a node", test_a_node},
    {"a GPU", test_a_gpu},
    {"a held GPU", test_a_held_gpu},
    {"idempotent", test_idempotent},
    {"durable before it is answered", test_not_answered_before_it_is_durable},
    {"refusals", test_refusals},
    {"remarks", test_remarks},
    {"engine and people", test_engine_and_people},
    {"over a restart", test_over_a_restart},
    {"a node that is gone", test_a_node_that_is_gone},
    {"a record that is not sound", test_a_record_that_is_not_sound},
};

int main(void)
{
    return suite_run("subcluster cordon", tests, TF_ARRAY_LEN(tests));
}
