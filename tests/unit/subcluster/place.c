/* SPDX-License-Identifier: Apache-2.0 */
/* What a subcluster does with what it is asked to place, to release, and with what it is told is stored. */
#include "common/base/cleanup.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;

static bool refused(uint8_t uid, enum tf_reason reason)
{
    const struct tf_ended *end = driver_end_of(&d, uid);
    bool as_expected = end && end->end == TF_END_REFUSED && end->reason == reason && end->message;
    if (!as_expected && end)
        printf("ended %s %s: %s\n", tf_end_name(end->end), tf_reason_name(end->reason), end->message);
    return as_expected;
}

static struct tf_entry elastic(uint8_t uid, uint64_t epoch, int32_t min, int32_t max, int32_t step,
                               int32_t gpus)
{
    struct tf_entry entry = driver_place_entry(uid, epoch, max, gpus);
    tf_spec_own(&entry.spec)->elastic = (struct tf_elastic){min, max, step};
    return entry;
}

static void require_domain(struct tf_topology_rules *rules, const char *within)
{
    struct tf_topology_rule *rule = tf_vec_add(rules);
    rule->within = tf_strdup(within);
    rule->of = TF_TOPOLOGY_OF_JOB;
    rule->mode = TF_TOPOLOGY_REQUIRE;
}

static void test_a_known_epoch_changes_nothing(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 1);
    driver_all_ready(&d);
    driver_clear(&d);
    driver_place(&d, 1, 5, 1, 1);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT(driver_saw(&d, "send report 1/5 Running 1/1\n"
                             "send profile delta n 3\n"));
    driver_release(&d);
}

static void test_at_or_below_the_floor_it_is_unknown(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 1);
    driver_clear(&d);
    driver_place(&d, 2, 5, 1, 1);
    driver_place(&d, 3, 4, 1, 1);
    CU_ASSERT(driver_saw(&d, "send report 2/5 ended unknown UNKNOWN_EPOCH\n"
                             "send report 3/4 ended unknown UNKNOWN_EPOCH\n"));
    CU_ASSERT_EQUAL(d.starts, 1);
    driver_release(&d);
}

static void test_the_largest_size_that_fits(void)
{
    driver_two_nodes(&d);
    driver_change(&d, elastic(1, 5, 2, 8, 2, 3)); /* 2 x 3 GPUs a node: 4 fit */
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->size, 4);
    const struct tf_allocation *a = driver_allocation(&d, 1);
    int32_t marks[] = {0, 0, 1, 1};
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(a->members.items[i].mark, marks[i]);
    driver_release(&d);
}

static void test_all_or_nothing(void)
{
    driver_two_nodes(&d);
    driver_change(&d, elastic(1, 5, 6, 8, 2, 3));
    CU_ASSERT(refused(1, TF_REASON_NOT_ENOUGH_NODES));
    CU_ASSERT_EQUAL(sub_node_at(d.sub, 0).held_gpus, 0);
    CU_ASSERT_EQUAL(d.starts, 0);
    driver_release(&d);
}

static void test_a_refusal_is_told_until_it_is_stored(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 9);
    CU_ASSERT(driver_saw(&d, "persist allocation:1 floor\n"
                             "send report 1/5 ended refused NODE_TOO_SMALL\n"
                             "send profile delta n 2\n"));
    driver_pass(&d, TF_MINUTE);
    CU_ASSERT(driver_saw(&d, ""));
    driver_place(&d, 1, 5, 1, 9);
    CU_ASSERT(driver_saw(&d, "send report 1/5 ended refused NODE_TOO_SMALL\n"
                             "send profile delta n 3\n"));
    driver_tell(&d, TF_ENTRY_STORED, 1, 5);
    CU_ASSERT(driver_saw(&d, "persist allocation:1-\nforget 1/5\n"));
    driver_place(&d, 1, 5, 1, 9); /* never again */
    driver_pass(&d, TF_SECOND);
    CU_ASSERT(driver_saw(&d, "send report 1/5 ended unknown UNKNOWN_EPOCH\n"
                             "send profile delta n 5\n"));
    driver_release(&d);
}

static void test_reasons(void)
{
    driver_two_nodes(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 1, 1);
    tf_strs_add(&tf_spec_own(&entry.spec)->group.shape.gpu_models, "B300");
    driver_change(&d, entry);
    CU_ASSERT(refused(1, TF_REASON_NO_SUCH_MODEL));
    entry = driver_place_entry(2, 6, 1, 1);
    tf_spec_own(&entry.spec)->group.shape.gpu_memory = 141 * 1024;
    driver_change(&d, entry);
    CU_ASSERT(refused(2, TF_REASON_GPU_MEMORY));
    entry = driver_place_entry(3, 7, 1, 1);
    tf_spec_own(&entry.spec)->group.shape.cpu = 65000;
    driver_change(&d, entry);
    CU_ASSERT(refused(3, TF_REASON_NODE_TOO_SMALL));
    entry = driver_place_entry(4, 8, 2, 1);
    require_domain(&tf_spec_own(&entry.spec)->topology, "rack");
    driver_change(&d, entry);
    CU_ASSERT(refused(4, TF_REASON_TOPOLOGY));
    driver_place(&d, 5, 9, 2, 7);
    driver_place(&d, 10, 10, 1, 2);
    CU_ASSERT(refused(10, TF_REASON_HIGHER_PRIORITY)); /* or equal */
    driver_tell(&d, TF_ENTRY_RELEASE, 5, 9);           /* going, but not gone */
    driver_place(&d, 6, 11, 1, 2);
    CU_ASSERT(refused(6, TF_REASON_GPUS));
    entry = driver_place_entry(7, 12, 1, 1);
    tf_spec_own(&entry.spec)->group.shape.cpu = 64000;
    driver_change(&d, entry);
    CU_ASSERT(refused(7, TF_REASON_CPU_MEMORY));
    entry = driver_place_entry(8, 13, 1, 1);
    tf_spec_own(&entry.spec)->on_cluster_lost = TF_CLUSTER_LOST_RESTART;
    driver_change(&d, entry);
    CU_ASSERT(refused(8, TF_REASON_FENCE_UNSUPPORTED));
    entry = driver_place_entry(9, 14, 1, 1);
    entry.size = 7; /* of max 1 */
    driver_change(&d, entry);
    CU_ASSERT(refused(9, TF_REASON_REFUSED));
    driver_release(&d);
}

static void test_the_chosen_model_or_the_first_that_fits(void)
{
    driver_init(&d);
    driver_node(&d, "n1", "A100", 8);
    driver_node(&d, "n2", "H800", 8);
    driver_ready(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 1, 4);
    tf_strs_add(&tf_spec_own(&entry.spec)->group.shape.gpu_models, "H800");
    tf_strs_add(&tf_spec_own(&entry.spec)->group.shape.gpu_models, "A100");
    driver_change(&d, entry);
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 1)->model, "H800");
    entry = driver_place_entry(2, 6, 1, 4);
    tf_strs_add(&tf_spec_own(&entry.spec)->group.shape.gpu_models, "H800");
    tf_strs_add(&tf_spec_own(&entry.spec)->group.shape.gpu_models, "A100");
    entry.model = tf_strdup("A100");
    driver_change(&d, entry);
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 2)->model, "A100");
    entry = driver_place_entry(3, 7, 1, 8);
    entry.model = tf_strdup("B300");
    driver_change(&d, entry);
    CU_ASSERT(refused(3, TF_REASON_NO_SUCH_MODEL));
    driver_release(&d);
}

static void test_one_domain_when_it_is_required(void)
{
    driver_init(&d);
    struct tf_plane *plane = tf_vec_add(&d.boot.planes);
    plane->name = tf_strdup("net");
    tf_strs_add(&plane->levels, "rack");
    for (int i = 0; i < 4; i++) {
        char name[] = {'n', (char)('1' + i), '\0'};
        tf_strs_add(&driver_node(&d, name, "H800", 8)->domains, i % 2 ? "r1" : "r0");
    }
    driver_ready(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 2, 8);
    require_domain(&tf_spec_own(&entry.spec)->topology, "rack");
    driver_change(&d, entry);
    const struct tf_allocation *a = driver_allocation(&d, 1);
    CU_ASSERT_STRING_EQUAL(a->members.items[0].node, "n1");
    CU_ASSERT_STRING_EQUAL(a->members.items[1].node, "n3");
    entry = driver_place_entry(2, 6, 3, 8);
    require_domain(&tf_spec_own(&entry.spec)->topology, "rack");
    driver_change(&d, entry);
    CU_ASSERT(refused(2, TF_REASON_TOPOLOGY));
    driver_release(&d);
}

/* One live epoch a job: the next is refused while the last is still being stopped. */
static void test_a_live_lower_epoch(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 1);
    driver_all_ready(&d);
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    driver_place(&d, 1, 6, 1, 1);
    CU_ASSERT(refused(1, TF_REASON_REFUSED));
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->epoch, 5);
    driver_stopped(&d, 1, 5, 0, 1);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->ended.count, 2);
    driver_place(&d, 1, 7, 1, 1);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->epoch, 7);
    driver_release(&d);
}

/* Nothing of the job up to it will ever start here: also of one that comes late. */
static void test_release_of_an_epoch_never_seen(void)
{
    driver_two_nodes(&d);
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 9);
    CU_ASSERT(driver_saw(&d, "persist allocation:1 floor\n"
                             "send report 1/9 ended released\n"
                             "send profile delta n 2\n"));
    driver_place(&d, 1, 9, 1, 1);
    driver_place(&d, 1, 8, 1, 1);
    CU_ASSERT_EQUAL(d.starts, 0);
    driver_release(&d);
}

/* The promise of a release covers all lower epochs: it is given when they are gone. */
static void test_release_of_a_later_epoch_than_the_live_one(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 1);
    driver_all_ready(&d);
    driver_pass(&d, TF_SECOND);
    driver_clear(&d);
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 9);
    CU_ASSERT(driver_saw(&d, "persist allocation:1 floor\n"
                             "peers 1/5 v3 size 0\n"
                             "stop 1/5/0.1 0+30000\n"
                             "send report 1/5 Stopping 0/1\n"
                             "send profile delta n 3\n"));
    driver_stopped(&d, 1, 5, 0, 1);
    CU_ASSERT(driver_saw(&d, "persist allocation:1\n"
                             "send report 1/9 ended released\n"
                             "send report 1/5 ended released\n"));
    driver_release(&d);
}

static void test_release_of_an_ended_epoch_tells_its_end_again(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 1);
    driver_exits(&d, 1, 5, 0, 1, 0);
    driver_pass(&d, TF_SECOND);
    driver_clear(&d);
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    CU_ASSERT(driver_saw(&d, "send report 1/5 ended finished\n"
                             "send profile delta n 3\n"));
    driver_release(&d);
}

static void test_a_release_does_not_touch_a_higher_epoch(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 1);
    driver_all_ready(&d);
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 4);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_RUNNING);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->ended.count, 1);
    driver_release(&d);
}

static void test_stored_of_what_is_not_ended_changes_nothing(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 1);
    driver_all_ready(&d);
    driver_pass(&d, TF_SECOND);
    driver_clear(&d);
    driver_tell(&d, TF_ENTRY_STORED, 1, 5);
    driver_tell(&d, TF_ENTRY_STORED, 2, 3);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT(driver_saw(&d, "send profile delta n 3\nsend profile delta n 4\n"));
    driver_release(&d);
}

/* What one record gives up another gets only when that is durable: a crash never leaves two holders. */
static void test_freed_gpus_are_free_when_that_is_durable(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 2, 8);
    driver_all_ready(&d);
    d.hold_commits = true;
    driver_exits(&d, 1, 5, 0, 1, 0);
    driver_place(&d, 2, 6, 1, 8);
    CU_ASSERT(refused(2, TF_REASON_GPUS));
    driver_commit(&d);
    driver_place(&d, 2, 7, 1, 8);
    CU_ASSERT_EQUAL(driver_allocation(&d, 2)->epoch, 7);
    driver_release(&d);
}

static void test_transactions_hold_120_records(void)
{
    driver_init(&d);
    for (int i = 0; i < 10; i++) {
        char name[] = {'n', (char)('0' + i), '\0'};
        driver_node(&d, name, NULL, 0);
    }
    driver_ready(&d);
    d.hold_commits = true;
    for (int i = 1; i <= 200; i++)
        driver_place(&d, (uint8_t)i, (uint64_t)(10 + i), 1, 0);
    CU_ASSERT_EQUAL(d.out_count, 2); /* the first, and the floor */
    driver_commit(&d);
    CU_ASSERT_EQUAL(d.out_count, 120);
    driver_commit(&d);
    CU_ASSERT_EQUAL(d.out_count, 80);
    driver_commit(&d);
    CU_ASSERT_EQUAL(d.starts, 200);
    driver_release(&d);
}

/* Each decision leaves one line of why. */
static void test_traces(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 2, 8);
    driver_place(&d, 2, 6, 1, 9);
    driver_all_ready(&d);
    driver_exits(&d, 1, 5, 1, 1, 3);
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    driver_stopped(&d, 1, 5, 0, 1);
    CU_ASSERT(driver_traced(
        &d,
        "[     1.500] job t/j1 epoch 5 needs 2x8 GPUs of H800: starts on n1 n2\n"
        "[     1.500] job t/j2 epoch 6 needs 1x9 GPUs: refused, NODE_TOO_SMALL: one instance needs 9 GPUs, 1 "
        "cores and 1Gi; the most that its empty nodes of that kind have is 8 GPUs, 64 cores and 256Gi\n"
        "[     1.500] job t/j1 epoch 5 runs: its core was ready after 0 ms\n"
        "[     1.500] job t/j1 epoch 5 instance 1 on n2 exited with code 3: retry 1 of 2 in 10000 ms\n"
        "[     1.500] job t/j1 epoch 5 is ended released\n"
        "[     1.500] job t/j1 epoch 5 ended released\n"));
    driver_release(&d);
}

static const struct suite_test tests[] = {
    {"a known epoch changes nothing", test_a_known_epoch_changes_nothing},
    {"at or below the floor it is unknown", test_at_or_below_the_floor_it_is_unknown},
    {"the largest size that fits", test_the_largest_size_that_fits},
    {"all or nothing", test_all_or_nothing},
    {"a refusal is told until it is stored", test_a_refusal_is_told_until_it_is_stored},
    {"reasons", test_reasons},
    {"the chosen model, or the first that fits", test_the_chosen_model_or_the_first_that_fits},
    {"one domain when it is required", test_one_domain_when_it_is_required},
    {"a live lower epoch", test_a_live_lower_epoch},
    {"release of an epoch never seen", test_release_of_an_epoch_never_seen},
    {"release of a later epoch than the live one", test_release_of_a_later_epoch_than_the_live_one},
    {"release of an ended epoch", test_release_of_an_ended_epoch_tells_its_end_again},
    {"a release does not touch a higher epoch", test_a_release_does_not_touch_a_higher_epoch},
    {"stored of what is not ended", test_stored_of_what_is_not_ended_changes_nothing},
    {"freed GPUs are free when that is durable", test_freed_gpus_are_free_when_that_is_durable},
    {"transactions hold 120 records", test_transactions_hold_120_records},
    {"traces", test_traces},
};

int main(void)
{
    return suite_run("place", tests, TF_ARRAY_LEN(tests));
}
