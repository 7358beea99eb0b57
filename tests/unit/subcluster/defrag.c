/* SPDX-License-Identifier: Apache-2.0 */
/* What people ask to be freed in a subcluster, and what they are answered. */
#include "common/base/cleanup.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

#include <stdio.h>

static struct sub_driver d;

/* A job of one instance of so many GPUs, which is packed where it fits tightest, and runs. */
static void add_job(uint8_t uid, int32_t gpus, enum tf_migration_rule migration)
{
    struct tf_entry entry = driver_place_entry(uid, uid, 1, gpus);
    tf_spec_own(&entry.spec)->migration = migration;
    driver_change(&d, entry);
    driver_all_ready(&d);
}

static void end_job(uint8_t uid)
{
    driver_exits(&d, uid, uid, 0, 1, 0);
    driver_pass(&d, 1000);
}

/* n1: 6 GPUs held, n2: 3, n3: 2 of a job that does not move. */
static void open_three(void)
{
    driver_init(&d);
    driver_node(&d, "n1", "H800", 8);
    driver_node(&d, "n2", "H800", 8);
    driver_node(&d, "n3", "H800", 8);
    driver_ready(&d);
    add_job(1, 6, TF_MIGRATION_ALLOW);
    add_job(2, 2, TF_MIGRATION_ALLOW); /* fills n1 */
    add_job(3, 6, TF_MIGRATION_ALLOW);
    add_job(4, 2, TF_MIGRATION_ALLOW); /* fills n2 */
    add_job(5, 3, TF_MIGRATION_ALLOW);
    add_job(6, 2, TF_MIGRATION_NEVER); /* both on n3 */
    end_job(2);
    end_job(3);
    end_job(5);
    driver_clear(&d);
}

/* Nothing changes by it. */
static struct tf_defrag_plan ask(const struct tf_defrag_order *order)
{
    struct tf_defrag_plan plan;
    TF_AUTO_BUF before = TF_BUF_INIT;
    TF_AUTO_BUF after = TF_BUF_INIT;
    struct tf_buf *images[] = {&before, &after};
    for (int i = 0; i < 2; i++) {
        struct tf_image image;
        struct sub *sub = d.sub;
        tf_image_write(&image, images[i], true);
        sub_image_state(&image, &sub);
        CU_ASSERT_EQUAL_FATAL(tf_image_finish(&image, NULL), 0);
        if (i == 0)
            sub_plan_defrag(d.sub, d.now, order, &plan);
    }
    CU_ASSERT_EQUAL_FATAL(before.len, after.len);
    CU_ASSERT_EQUAL(memcmp(before.data, after.data, before.len), 0);
    return plan;
}

static void test_plan(void)
{
    open_three();
    struct tf_defrag_plan plan = ask(&(struct tf_defrag_order){0});
    CU_ASSERT_PTR_NULL_FATAL(plan.text);
    CU_ASSERT_STRING_EQUAL(plan.model, "H800");
    CU_ASSERT_EQUAL(plan.nodes, 3);
    CU_ASSERT_EQUAL(plan.before, 0);
    CU_ASSERT_EQUAL(plan.freed, 1);
    CU_ASSERT_EQUAL(plan.best, 1);
    CU_ASSERT_EQUAL_FATAL(plan.moves.count, 1);
    CU_ASSERT_STRING_EQUAL(plan.moves.items[0].from, "n2");
    CU_ASSERT_STRING_EQUAL(plan.moves.items[0].to, "n1");
    CU_ASSERT_EQUAL(plan.moves.items[0].uid.bytes[0], 4);
    CU_ASSERT_STRING_EQUAL(plan.sites.items[0].node, "n2");
    CU_ASSERT_EQUAL(plan.sites_locked, 1);
    CU_ASSERT_EQUAL(plan.locks.count, 1);
    CU_ASSERT_STRING_EQUAL(plan.locks.items[0].why, "migration: never");
    CU_ASSERT_EQUAL(plan.digest, tf_defrag_digest(&plan));
    /* nodes with 2, 6 and 6 free, then 0, 6 and 8 */
    CU_ASSERT_EQUAL_FATAL(plan.buckets.count, 4);
    CU_ASSERT_EQUAL(plan.buckets.items[2].free, 6);
    CU_ASSERT_EQUAL(plan.buckets.items[2].before, 2);
    CU_ASSERT_EQUAL(plan.buckets.items[2].after, 1);
    CU_ASSERT_EQUAL(plan.buckets.items[3].after, 1);
    struct tf_defrag_plan again = ask(&(struct tf_defrag_order){0});
    CU_ASSERT_EQUAL(again.digest, plan.digest);
    tf_defrag_plan_release(&again);
    tf_defrag_plan_release(&plan);
    driver_release(&d);
}

static void expect_text(const struct tf_defrag_order *order, const char *text)
{
    struct tf_defrag_plan plan = ask(order);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan.text);
    CU_ASSERT_PTR_NOT_NULL(strstr(plan.text, text));
    if (!strstr(plan.text, text))
        printf("\n    %s\n", plan.text);
    tf_defrag_plan_release(&plan);
}

static void test_refusals(void)
{
    open_three();
    expect_text(&(struct tf_defrag_order){.model = (char[]){"A100"}}, "has no GPUs of model A100");
    expect_text(&(struct tf_defrag_order){.within = (char[]){"rack"}}, "rack");
    expect_text(&(struct tf_defrag_order){.want = -1}, "below 0");
    struct tf_defrag_order named = {0};
    tf_strs_add(&named.nodes, "n9");
    expect_text(&named, "has no node n9");
    expect_text(
        &(struct tf_defrag_order){.gpus = 9},
        "it is asked for 9 GPUs on one node, and the largest node of bj-a with H800 has 8: --unit 8 is the "
        "most that can be free on it");
    expect_text(&(struct tf_defrag_order){.gpus = 9, .for_job = (char[]){"web/big"}},
                "the job asks for 9 GPUs on one node");
    tf_defrag_order_release(&named);
    driver_node(&d, "m1", "H20", 8);
    driver_release(&d);
    driver_init(&d);
    driver_node(&d, "n1", "H800", 8);
    driver_node(&d, "m1", "H20", 8);
    driver_load(&d);
    expect_text(&(struct tf_defrag_order){0}, "has not told yet");
    driver_list(&d);
    expect_text(&(struct tf_defrag_order){0}, "several models");
    driver_release(&d);
}

/* A cordoned node neither gives nor takes; one with a bad GPU takes, and is never whole. */
static void test_nodes_out(void)
{
    open_three();
    driver_node_state(&d, "n1", TF_NODE_UNREACHABLE);
    struct tf_defrag_plan plan = ask(&(struct tf_defrag_order){0});
    CU_ASSERT_PTR_NULL_FATAL(plan.text);
    CU_ASSERT_EQUAL(plan.nodes, 2);
    CU_ASSERT_EQUAL_FATAL(plan.moves.count, 1);
    CU_ASSERT_STRING_EQUAL(plan.moves.items[0].to, "n3");
    tf_defrag_plan_release(&plan);
    struct tf_defrag_order named = {0};
    tf_strs_add(&named.nodes, "n1");
    expect_text(&named, "n1 is not ready");
    tf_defrag_order_release(&named);
    driver_release(&d);
}

static void test_targets(void)
{
    open_three();
    struct tf_defrag_order named = {0};
    tf_strs_add(&named.nodes, "n1");
    struct tf_defrag_plan plan = ask(&named);
    CU_ASSERT_EQUAL(plan.freed, 1);
    CU_ASSERT_EQUAL_FATAL(plan.moves.count, 1);
    CU_ASSERT_STRING_EQUAL(plan.moves.items[0].from, "n1");
    tf_defrag_plan_release(&plan);
    tf_defrag_order_release(&named);

    plan = ask(&(struct tf_defrag_order){.worst = 1}); /* n2 has the most idle of those that can be freed */
    CU_ASSERT_EQUAL_FATAL(plan.moves.count, 1);
    CU_ASSERT_STRING_EQUAL(plan.moves.items[0].from, "n2");
    tf_defrag_plan_release(&plan);

    plan = ask(&(struct tf_defrag_order){.gpus = 4, .want = 2, .total = true}); /* n2 and n3 have one each */
    CU_ASSERT_EQUAL(plan.before, 2);
    CU_ASSERT_EQUAL(plan.freed, 0);
    CU_ASSERT_EQUAL(plan.moves.count, 0);
    tf_defrag_plan_release(&plan);

    plan = ask(&(struct tf_defrag_order){.gpus = 8, .want = 3, .total = true});
    CU_ASSERT_EQUAL(plan.freed, 1);
    tf_defrag_plan_release(&plan);
    driver_release(&d);
}

/* ---- doing it ---- */

static void order(uint64_t id, const struct tf_defrag_order *what)
{
    struct sub_event event = {.kind = SUB_EV_DOWN};
    event.down =
        (struct tf_down){.kind = TF_DOWN_ASK, .term = d.term, .ask = {.id = id, .kind = TF_ASK_DEFRAG}};
    tf_defrag_order_copy(tf_vec_add(&event.down.ask.defrag), what);
    driver_step(&d, event);
    driver_pass(&d, 10);
}

/* A waiting start becomes ready, and the old instance goes, as often as there is something. */
static void let_moves_happen(void)
{
    for (int i = 0; i < 6; i++) {
        driver_all_ready(&d);
        driver_pass(&d, 1000);
        for (uint8_t uid = 1; uid <= 6; uid++)
            if (driver_allocation(&d, uid))
                driver_stopped(&d, uid, uid, 0, 1);
        driver_pass(&d, 1000);
    }
}

static int32_t free_on(const char *name)
{
    for (size_t i = 0; i < sub_node_count(d.sub); i++) {
        struct sub_node_view view = sub_node_at(d.sub, i);
        if (strcmp(view.node->name, name) == 0)
            return tf_gpu_set_count(view.free_gpus);
    }
    return -1;
}

static void test_apply(void)
{
    open_three();
    struct tf_defrag_plan plan = ask(&(struct tf_defrag_order){0});
    const struct tf_defrag_order apply = {.apply = true, .id = driver_uid(9), .digest = plan.digest};
    order(7, &apply);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "send answer 7 code 0"));
    const struct tf_migration *m = sub_migration_at(d.sub, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->cause, TF_MOVE_BY_DEFRAG);
    CU_ASSERT_EQUAL(m->moves.count, 1);
    CU_ASSERT_EQUAL_FATAL(m->empties.count, 1);
    CU_ASSERT_STRING_EQUAL(m->empties.items[0], "n2");
    CU_ASSERT_EQUAL(free_on("n2"), 0); /* nothing of it is given to anybody */
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL_FATAL(d.profile.emptying.count, 1); /* and the leader hears what keeps it */
    CU_ASSERT_EQUAL(d.profile.emptying.items[0].nodes, 1);
    CU_ASSERT_EQUAL(d.profile.emptying.items[0].room.gpus, 8);
    CU_ASSERT_TRUE(tf_uid_eq(d.profile.emptying.items[0].chain, apply.id));
    CU_ASSERT_PTR_NULL(d.profile.emptying.items[0].owner);
    add_job(7, 3, TF_MIGRATION_ALLOW);
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 7)->members.items[0].node, "n3");
    order(8, &apply); /* a repeat */
    CU_ASSERT_PTR_NULL(sub_migration_at(d.sub, 1));
    let_moves_happen();
    CU_ASSERT_NOT_EQUAL(m->ended.ms, 0);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL(d.profile.emptying.count, 0);
    CU_ASSERT_EQUAL(free_on("n2"), 8);
    add_job(8, 8, TF_MIGRATION_ALLOW);
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 8)->members.items[0].node, "n2");
    tf_defrag_plan_release(&plan);
    driver_release(&d);
}

/* For one job: the node is its own from the first moment on which it is free. */
static void test_apply_for(void)
{
    open_three();
    const struct tf_defrag_order wanted = {.gpus = 8, .want = 1, .total = true};
    struct tf_defrag_plan plan = ask(&wanted);
    struct tf_defrag_order apply = wanted;
    apply.apply = true;
    apply.id = driver_uid(9);
    apply.digest = plan.digest;
    apply.for_job = (char *)"web/big";
    order(7, &apply);
    CU_ASSERT_STRING_EQUAL(sub_migration_at(d.sub, 0)->owner, "web/big");
    struct tf_entry claim = driver_place_entry(10, 0, 1, 8);
    claim.kind = TF_ENTRY_CLAIM;
    tf_str_set(&claim.tenant, "web");
    tf_str_set(&claim.name, "big");
    driver_change(&d, claim);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.traces), "web/big claims 1 node, n2"));
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL_FATAL(d.profile.emptying.count, 1);
    CU_ASSERT_STRING_EQUAL(d.profile.emptying.items[0].owner, "web/big");
    let_moves_happen();
    CU_ASSERT_EQUAL(free_on("n2"), 8);
    add_job(7, 8, TF_MIGRATION_ALLOW); /* one of its priority */
    CU_ASSERT_PTR_NULL(driver_allocation(&d, 7)->members.items);
    add_job(10, 8, TF_MIGRATION_ALLOW);
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 10)->members.items[0].node, "n2");
    tf_defrag_plan_release(&plan);
    driver_release(&d);
}

/* Never another plan than the one that was read. */
static void test_stale(void)
{
    open_three();
    struct tf_defrag_plan plan = ask(&(struct tf_defrag_order){0});
    add_job(7, 2, TF_MIGRATION_ALLOW); /* it takes the place on n1 */
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 7)->members.items[0].node, "n1");
    driver_clear(&d);
    order(7, &(struct tf_defrag_order){.apply = true, .id = driver_uid(9), .digest = plan.digest});
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "has changed since the plan was made"));
    CU_ASSERT_PTR_NULL(sub_migration_at(d.sub, 0));
    order(8, &(struct tf_defrag_order){.apply = true, .digest = plan.digest});
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "the order has no id"));
    tf_defrag_plan_release(&plan);
    driver_release(&d);
}

/* What is being emptied stays so over a restart, and is given back when the chain is given up. */
static void test_restart(void)
{
    open_three();
    struct tf_defrag_plan plan = ask(&(struct tf_defrag_order){0});
    order(7, &(struct tf_defrag_order){.apply = true, .id = driver_uid(9), .digest = plan.digest});
    driver_crash(&d, false);
    driver_list(&d);
    driver_link(&d, true);
    driver_set(&d, NULL, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(sub_migration_at(d.sub, 0));
    CU_ASSERT_EQUAL(sub_migration_at(d.sub, 0)->empties.count, 1);
    CU_ASSERT_EQUAL(free_on("n2"), 0);
    driver_exits(&d, 4, 4, 0, 1, 0); /* what was to move ends by itself */
    driver_pass(&d, 5000);
    CU_ASSERT_NOT_EQUAL(sub_migration_at(d.sub, 0)->ended.ms, 0);
    CU_ASSERT_EQUAL(free_on("n2"), 8);
    tf_defrag_plan_release(&plan);
    driver_release(&d);
}

/* ---- unasked ---- */

/* Jobs of one instance of so many GPUs wait. */
static void tell_waiting(enum tf_consolidate mode, int32_t gpus)
{
    struct sub_event event = {.kind = SUB_EV_DOWN};
    event.down = (struct tf_down){.kind = TF_DOWN_POLICY, .term = d.term};
    tf_policy_copy(&event.down.policy, &d.boot.policy);
    event.down.policy.consolidate = mode;
    event.down.policy.consolidate_cooldown = 10 * TF_MINUTE;
    event.down.policy.consolidate_moves = 16;
    struct tf_shape_asked *shape = tf_vec_add(&event.down.policy.shapes);
    struct tf_job_spec *spec = tf_spec_own(&shape->spec);
    spec->priority = tf_strdup("low");
    spec->elastic.min = spec->elastic.step = 1;
    spec->group.shape.gpus = gpus;
    shape->instances = 1;
    shape->waits = true;
    driver_step(&d, event);
    driver_pass(&d, 100);
}

static void test_unasked(void)
{
    open_three();
    tell_waiting(TF_CONSOLIDATE_OFF, 8);
    tell_waiting(TF_CONSOLIDATE_OBSERVE, 8);
    CU_ASSERT_PTR_NULL(sub_migration_at(d.sub, 0));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(tf_buf_text(&d.traces), "1 x 8 GPUs wait: 1 moves of 2 GPUs would make (observe)"));
    tell_waiting(TF_CONSOLIDATE_ON, 8); /* the cool-down is not over */
    CU_ASSERT_PTR_NULL(sub_migration_at(d.sub, 0));
    driver_pass(&d, 10 * TF_MINUTE);
    const struct tf_migration *m = sub_migration_at(d.sub, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->cause, TF_MOVE_BY_DEFRAG);
    CU_ASSERT_EQUAL(m->moves.count, 1);
    CU_ASSERT_EQUAL(m->empties.count, 1); /* 8 GPUs are the whole node */
    let_moves_happen();
    CU_ASSERT_EQUAL(free_on("n2"), 8);
    driver_pass(&d, 20 * TF_MINUTE); /* there is room now: nothing more is moved */
    CU_ASSERT_PTR_NULL(sub_migration_at(d.sub, 1));
    driver_release(&d);
}

/* Where it is only to be said what would be done, the leader hears what moves could free all the time: also
 * after the subcluster has looked for itself, when it would begin nothing for a while. */
static void test_observed_is_told(void)
{
    open_three();
    tell_waiting(TF_CONSOLIDATE_OBSERVE, 8);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.traces), "would make (observe)"));
    driver_pass(&d, TF_MINUTE);
    CU_ASSERT_EQUAL(d.profile.vacatable.count, 1);
    tell_waiting(TF_CONSOLIDATE_ON, 8); /* it is not begun before the cool-down is over, and not told */
    driver_pass(&d, TF_MINUTE);
    CU_ASSERT_EQUAL(d.profile.vacatable.count, 0);
    CU_ASSERT_PTR_NULL(sub_migration_at(d.sub, 0));
    driver_release(&d);
}

/* Who reads a plan hears whether it could be carried out, not only who applies it. */
static void test_a_plan_that_must_wait(void)
{
    open_three();
    struct tf_defrag_plan plan = ask(&(struct tf_defrag_order){0});
    CU_ASSERT_PTR_NULL(plan.note);
    const struct tf_defrag_order apply = {.apply = true, .id = driver_uid(9), .digest = plan.digest};
    order(7, &apply);
    tf_defrag_plan_release(&plan);
    plan = ask(&(struct tf_defrag_order){0});
    CU_ASSERT_PTR_NULL(plan.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan.note);
    CU_ASSERT_PTR_NOT_NULL(strstr(plan.note, "is being defragmented already"));
    tf_defrag_plan_release(&plan);
    driver_release(&d);
    driver_two_frozen_nodes(&d, TF_FROZEN_MOVES);
    plan = ask(&(struct tf_defrag_order){0});
    CU_ASSERT_PTR_NULL(plan.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan.note);
    CU_ASSERT_PTR_NOT_NULL(strstr(plan.note, "moves are frozen in bj-a"));
    tf_defrag_plan_release(&plan);
    driver_release(&d);
}

/* What fits, and what no move could help, moves nothing. */
static void test_unasked_in_vain(void)
{
    open_three();
    tell_waiting(TF_CONSOLIDATE_ON, 5);
    driver_pass(&d, 20 * TF_MINUTE);
    CU_ASSERT_PTR_NULL(sub_migration_at(d.sub, 0));
    driver_node_state(&d, "n1", TF_NODE_UNREACHABLE);
    add_job(7, 3, TF_MIGRATION_NEVER);
    tell_waiting(TF_CONSOLIDATE_ON, 8);
    driver_pass(&d, 20 * TF_MINUTE);
    CU_ASSERT_PTR_NULL(sub_migration_at(d.sub, 0));
    driver_release(&d);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"a plan, and nothing changes by asking", test_plan},
        {"what cannot be planned is said", test_refusals},
        {"nodes that are not ready are left out", test_nodes_out},
        {"named, worst, parts of nodes", test_targets},
        {"a plan that must wait says so", test_a_plan_that_must_wait},
        {"a plan is carried out, and a node that is emptied takes nothing", test_apply},
        {"what is freed for a job is kept for it", test_apply_for},
        {"no other plan than the one that was read", test_stale},
        {"unasked, for work that waits: observed, then done, at most once a cool-down", test_unasked},
        {"unasked, and in vain", test_unasked_in_vain},
        {"what would be done is told all the time", test_observed_is_told},
        {"it goes on after a restart, and ends with what it moves", test_restart},
    };
    return suite_run("unit/subcluster/defrag", tests, TF_ARRAY_LEN(tests));
}
