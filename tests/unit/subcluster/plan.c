/* SPDX-License-Identifier: Apache-2.0 */
/* What would be done with a placement: told by the decision that would be taken, with nothing changed. */
#include "common/base/cleanup.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;

/* n nodes for a job of that class, counted up to that level. */
static struct tf_entry entry_of(uint8_t uid, uint64_t epoch, const char *class, int32_t nodes, tf_level level)
{
    struct tf_entry entry = driver_place_entry(uid, epoch, nodes, 8);
    tf_str_set(&tf_spec_own(&entry.spec)->priority, class);
    entry.level = level;
    return entry;
}

static void image_of(struct tf_buf *out)
{
    struct tf_image image;
    struct sub *sub = d.sub;
    tf_buf_clear(out);
    tf_image_write(&image, out, true);
    sub_image_state(&image, &sub);
    CU_ASSERT_EQUAL_FATAL(tf_image_finish(&image, NULL), 0);
}

/* Asks twice; the second answer is the caller's. The state is byte by byte what it was before. */
static struct tf_place_plan ask(struct tf_entry entry)
{
    TF_AUTO_BUF before = TF_BUF_INIT;
    TF_AUTO_BUF after = TF_BUF_INIT;
    struct tf_place_plan plan = {0};
    image_of(&before);
    for (int i = 0; i < 2; i++) {
        tf_place_plan_release(&plan);
        sub_plan_place(d.sub, d.now, &entry, &plan);
        image_of(&after);
        CU_ASSERT_EQUAL_FATAL(before.len, after.len);
        CU_ASSERT_EQUAL(memcmp(before.data, after.data, before.len), 0);
    }
    tf_entry_release(&entry);
    return plan;
}

static const struct tf_plan_node *planned_on(const struct tf_place_plan *plan, const char *node)
{
    tf_vec_each (n, &plan->nodes)
        if (strcmp(n->node, node) == 0)
            return n;
    return NULL;
}

/* What was told is what is done: the same nodes and GPUs, held or claimed. */
static void carried_out(const struct tf_place_plan *plan, uint8_t uid)
{
    const struct tf_allocation *a = driver_allocation(&d, uid);
    int32_t instances = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(a);
    tf_vec_each (m, &a->members) {
        const struct tf_plan_node *node = planned_on(plan, m->node);
        CU_ASSERT_PTR_NOT_NULL_FATAL(node);
        CU_ASSERT_EQUAL(m->gpus & ~node->gpus, 0);
        instances++;
    }
    tf_vec_each (claim, &a->claims) {
        const struct tf_plan_node *node = planned_on(plan, claim->node);
        CU_ASSERT_PTR_NOT_NULL_FATAL(node);
        CU_ASSERT_EQUAL(claim->gpus & ~node->gpus, 0);
        instances++;
    }
    CU_ASSERT_EQUAL(instances, plan->size);
}

static void test_into_free(void)
{
    driver_two_nodes(&d);
    struct tf_entry four = driver_place_entry(1, 5, 4, 3);
    tf_str_set(&tf_spec_own(&four.spec)->priority, "low");
    struct tf_entry same = {0};
    tf_entry_copy(&same, &four);
    struct tf_place_plan plan = ask(four);
    CU_ASSERT_EQUAL(plan.reason, TF_REASON_NONE);
    CU_ASSERT_EQUAL(plan.size, 4);
    CU_ASSERT_EQUAL(plan.wait, 0);
    CU_ASSERT_EQUAL(plan.jobs, 0);
    CU_ASSERT_EQUAL(plan.nodes.count, 2); /* two instances each, told once */
    CU_ASSERT_EQUAL(planned_on(&plan, "n1")->instances, 2);
    CU_ASSERT_EQUAL(planned_on(&plan, "n1")->gpus, 0x3f);
    driver_change(&d, same);
    carried_out(&plan, 1);
    tf_place_plan_release(&plan);
    driver_release(&d);
}

/* n1 is held by a low job that started an hour ago, n2 by one that started just now. */
static void two_low_jobs(void)
{
    driver_two_nodes(&d);
    driver_change(&d, entry_of(1, 5, "low", 1, TF_LEVEL_FREE));
    driver_all_ready(&d);
    driver_pass(&d, TF_HOUR);
    driver_change(&d, entry_of(2, 6, "low", 1, TF_LEVEL_FREE));
    driver_all_ready(&d);
    driver_pass(&d, 10 * TF_SECOND);
}

static void test_who_gives_way(void)
{
    tf_level below_high = (tf_level)(tf_level_core(2) - 1);
    two_low_jobs();
    struct tf_place_plan plan = ask(entry_of(3, 7, "high", 1, below_high));
    CU_ASSERT_EQUAL(plan.reason, TF_REASON_NONE);
    CU_ASSERT_EQUAL(plan.jobs, 1);
    CU_ASSERT_EQUAL_FATAL(plan.victims.count, 1);
    const struct tf_plan_victim *victim = &plan.victims.items[0];
    CU_ASSERT_STRING_EQUAL(victim->name, "j2"); /* it loses least */
    CU_ASSERT_STRING_EQUAL(victim->level, "core(low)");
    CU_ASSERT(victim->whole);
    CU_ASSERT_EQUAL(victim->instances, 1);
    CU_ASSERT_EQUAL(victim->lost_gpu_seconds, 80);
    CU_ASSERT_EQUAL(plan.lost_gpu_seconds, 80);
    CU_ASSERT_EQUAL(plan.wait, 30 * TF_SECOND); /* its grace */
    CU_ASSERT_PTR_NOT_NULL(planned_on(&plan, "n2"));
    driver_change(&d, entry_of(3, 7, "high", 1, below_high));
    carried_out(&plan, 3);
    tf_place_plan_release(&plan);
    driver_release(&d);
}

/* One step of an elastic job goes, the rest of it stays. */
static void test_a_step_gives_way(void)
{
    driver_two_nodes(&d);
    struct tf_entry elastic = entry_of(1, 5, "low", 2, TF_LEVEL_FREE);
    tf_spec_own(&elastic.spec)->elastic = (struct tf_elastic){1, 2, 1};
    driver_change(&d, elastic);
    driver_all_ready(&d);
    struct tf_place_plan plan = ask(entry_of(3, 7, "high", 1, (tf_level)(tf_level_core(2) - 1)));
    CU_ASSERT_EQUAL_FATAL(plan.victims.count, 1);
    CU_ASSERT_FALSE(plan.victims.items[0].whole);
    CU_ASSERT_EQUAL(plan.victims.items[0].instances, 1);
    CU_ASSERT_EQUAL(plan.victims.items[0].size, 2);
    CU_ASSERT_STRING_EQUAL(plan.victims.items[0].level, "surplus(low)");
    tf_place_plan_release(&plan);
    driver_release(&d);
}

/* Who waits for his claims is taken for an even higher one: he has nothing that would have to stop. */
static void test_a_claimant_gives_way(void)
{
    tf_level below_high = (tf_level)(tf_level_core(2) - 1);
    two_low_jobs();
    driver_change(&d, entry_of(3, 7, "mid", 2, (tf_level)(tf_level_core(1) - 1)));
    CU_ASSERT_EQUAL_FATAL(driver_allocation(&d, 3)->phase, TF_ALLOCATION_CLAIMING);
    struct tf_place_plan plan = ask(entry_of(4, 8, "high", 2, below_high));
    CU_ASSERT_EQUAL(plan.reason, TF_REASON_NONE);
    CU_ASSERT_EQUAL_FATAL(plan.victims.count, 1);
    CU_ASSERT_STRING_EQUAL(plan.victims.items[0].name, "j3");
    CU_ASSERT_EQUAL(plan.victims.items[0].instances, 2);
    CU_ASSERT_EQUAL(plan.lost_gpu_seconds, 0);
    CU_ASSERT_EQUAL(plan.wait, 30 * TF_SECOND); /* of those who are going for it */
    tf_place_plan_release(&plan);
    driver_release(&d);
}

static void test_refusals(void)
{
    two_low_jobs();
    struct tf_place_plan plan = ask(entry_of(3, 7, "high", 1, TF_LEVEL_FREE)); /* nobody may go */
    CU_ASSERT_EQUAL(plan.reason, TF_REASON_GPUS);
    CU_ASSERT_PTR_NOT_NULL(plan.text);
    CU_ASSERT_EQUAL(plan.nodes.count, 0);
    tf_place_plan_release(&plan);
    plan = ask(entry_of(3, 7, "high", 3, (tf_level)(tf_level_core(2) - 1)));
    CU_ASSERT_EQUAL(plan.reason, TF_REASON_NOT_ENOUGH_NODES);
    tf_place_plan_release(&plan);
    plan =
        ask((struct tf_entry){.kind = TF_ENTRY_PLACE, .spec = tf_spec_none()}); /* a question without a job */
    CU_ASSERT_EQUAL(plan.reason, TF_REASON_REFUSED);
    tf_place_plan_release(&plan);
    driver_release(&d);
}

/* The clock that counts is that of the question: the one of the last step may be hours old. */
static void test_costs_are_of_now(void)
{
    two_low_jobs();
    struct tf_entry entry = entry_of(3, 7, "high", 1, (tf_level)(tf_level_core(2) - 1));
    struct tf_now later = {{d.now.mono.ms + TF_MINUTE}, {d.now.wall.ms + TF_MINUTE}};
    struct tf_place_plan plan;
    sub_plan_place(d.sub, later, &entry, &plan);
    CU_ASSERT_EQUAL(plan.lost_gpu_seconds, 70 * 8);
    tf_place_plan_release(&plan);
    tf_entry_release(&entry);
    driver_release(&d);
}

static void test_before_the_listing(void)
{
    driver_init(&d);
    driver_node(&d, "n1", "H800", 8);
    driver_load(&d);
    struct tf_place_plan plan = ask(entry_of(1, 5, "low", 1, TF_LEVEL_FREE));
    CU_ASSERT_EQUAL(plan.reason, TF_REASON_NOT_CONSIDERED_YET);
    tf_place_plan_release(&plan);
    driver_release(&d);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"into what is free", test_into_free},
        {"who gives way, and what he loses", test_who_gives_way},
        {"a step gives way", test_a_step_gives_way},
        {"a claimant gives way", test_a_claimant_gives_way},
        {"refusals", test_refusals},
        {"costs are of now", test_costs_are_of_now},
        {"before the listing", test_before_the_listing},
    };
    return suite_run("unit/subcluster/plan", tests, TF_ARRAY_LEN(tests));
}
