/* SPDX-License-Identifier: Apache-2.0 */
/* Why idle GPUs are idle, against the mix that the leader tells. Two nodes of 8. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;

static void add_shape(struct tf_policy *policy, int32_t gpus, int32_t instances, bool waits)
{
    struct tf_shape_asked *shape = tf_vec_add(&policy->shapes);
    shape->instances = instances;
    shape->waits = waits;
    struct tf_job_spec *spec = tf_spec_own(&shape->spec);
    spec->priority = tf_strdup("mid");
    spec->group.shape.gpus = gpus;
    spec->elastic.min = spec->elastic.step = instances;
}

/* One shape that waits, and (0 GPUs: none) one that runs somewhere. */
static void tell_mix(int32_t gpus, int32_t instances, int32_t running_gpus)
{
    struct sub_event event = {.kind = SUB_EV_DOWN};
    event.down = (struct tf_down){.kind = TF_DOWN_POLICY, .term = d.term};
    tf_policy_copy(&event.down.policy, &d.boot.policy);
    add_shape(&event.down.policy, gpus, instances, true);
    if (running_gpus)
        add_shape(&event.down.policy, running_gpus, 1, false);
    driver_step(&d, event);
    driver_pass(&d, TF_SECOND);
}

static bool are(const struct tf_idle_causes *idle, struct tf_idle_causes expected)
{
    return memcmp(idle, &expected, sizeof expected) == 0;
}

static void test_without_a_mix_all_are_deliverable(void)
{
    driver_two_nodes(&d);
    CU_ASSERT(are(&d.profile.idle, (struct tf_idle_causes){.deliverable = 16}));
    driver_release(&d);
}

static void test_a_mix_is_stored_and_measures(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 4);
    driver_pass(&d, TF_SECOND);
    driver_clear(&d);
    tell_mix(8, 1, 0);
    CU_ASSERT(driver_saw(&d, "persist policy\nsend profile delta n 2\n"));
    CU_ASSERT(are(&d.profile.idle, (struct tf_idle_causes){.deliverable = 8, .count = 4}));
    tell_mix(8, 1, 0); /* the same */
    CU_ASSERT(driver_saw(&d, ""));
    tell_mix(3, 3, 0); /* two a whole node, one on the other: six of 8 and three of 4 */
    CU_ASSERT(are(&d.profile.idle, (struct tf_idle_causes){.deliverable = 9, .count = 3}));
    tell_mix(3, 4, 0);
    CU_ASSERT(are(&d.profile.idle, (struct tf_idle_causes){.step = 9, .count = 3}));
    driver_crash(&d, true); /* what measures while the federation is away is what was stored */
    driver_list(&d);
    struct tf_idle_causes idle;
    sub_idle(d.sub, &idle);
    CU_ASSERT(are(&idle, (struct tf_idle_causes){.step = 9, .count = 3}));
    driver_release(&d);
}

static void test_what_waits_counts_before_what_runs(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 4);
    driver_pass(&d, TF_SECOND);
    tell_mix(8, 1, 1);
    CU_ASSERT(are(&d.profile.idle, (struct tf_idle_causes){.deliverable = 8, .count = 4}));
    driver_release(&d);
}

/* A slip of the pen in one job must not make the whole cluster look useless. */
static void test_what_could_never_run_here_does_not_count(void)
{
    struct sub_event event = {.kind = SUB_EV_DOWN};
    driver_two_nodes(&d);
    event.down = (struct tf_down){.kind = TF_DOWN_POLICY, .term = d.term};
    tf_policy_copy(&event.down.policy, &d.boot.policy);
    add_shape(&event.down.policy, 8, 2, true);
    tf_strs_add(&tf_spec_own(&event.down.policy.shapes.items[0].spec)->group.shape.gpu_models, "B300");
    add_shape(&event.down.policy, 1, 1, false);
    driver_step(&d, event);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT(are(&d.profile.idle, (struct tf_idle_causes){.deliverable = 16}));
    driver_release(&d);
}

static void test_node_by_node(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 4);
    driver_pass(&d, TF_SECOND);
    tell_mix(8, 1, 0);
    struct tf_idle_causes of_nodes[2];
    sub_idle_of_nodes(d.sub, of_nodes);
    size_t part = sub_node_at(d.sub, 0).held_gpus ? 0 : 1;
    CU_ASSERT(are(&of_nodes[part], (struct tf_idle_causes){.count = 4}));
    CU_ASSERT(are(&of_nodes[1 - part], (struct tf_idle_causes){.deliverable = 8}));
    driver_node_state(&d, sub_node_at(d.sub, part).node->name, TF_NODE_UNREACHABLE);
    driver_pass(&d, TF_SECOND);
    sub_idle_of_nodes(d.sub, of_nodes);
    CU_ASSERT(are(&of_nodes[part], (struct tf_idle_causes){.health = 4}));
    CU_ASSERT(are(&d.profile.idle, (struct tf_idle_causes){.deliverable = 8, .health = 4}));
    driver_release(&d);
}

static void test_a_class_that_is_gone_asks_for_nothing(void)
{
    driver_two_nodes(&d);
    tf_str_set(&d.boot.policy.ceiling, NULL);
    struct sub_event event = {.kind = SUB_EV_DOWN};
    event.down = (struct tf_down){.kind = TF_DOWN_POLICY, .term = d.term};
    tf_policy_copy(&event.down.policy, &d.boot.policy);
    add_shape(&event.down.policy, 8, 3, true);
    tf_str_set(&tf_spec_own(&event.down.policy.shapes.items[0].spec)->priority, "gone");
    driver_step(&d, event);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT(are(&d.profile.idle, (struct tf_idle_causes){.deliverable = 16}));
    driver_release(&d);
}

/* Two GPUs of the 5 would break what four could have there; of the 6 four stay. */
static void test_what_is_asked_for_is_kept_whole(void)
{
    driver_init(&d);
    driver_node(&d, "n5", "H800", 5);
    driver_node(&d, "n6", "H800", 6);
    driver_ready(&d);
    tell_mix(4, 4, 0);
    driver_place(&d, 1, 5, 1, 2);
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 1)->members.items[0].node, "n6");
    driver_place(&d, 2, 6, 2, 4);
    CU_ASSERT_EQUAL(driver_allocation(&d, 2)->phase, TF_ALLOCATION_STARTING);
    driver_release(&d);
}

static const struct suite_test tests[] = {
    {"without a mix all are deliverable", test_without_a_mix_all_are_deliverable},
    {"a mix is stored, and measures", test_a_mix_is_stored_and_measures},
    {"what waits counts before what runs", test_what_waits_counts_before_what_runs},
    {"what could never run here does not count", test_what_could_never_run_here_does_not_count},
    {"node by node", test_node_by_node},
    {"what is asked for is kept whole", test_what_is_asked_for_is_kept_whole},
    {"a class that is gone asks for nothing", test_a_class_that_is_gone_asks_for_nothing},
};

int main(void)
{
    return suite_run("unit/subcluster/idle", tests, sizeof tests / sizeof tests[0]);
}
