/* SPDX-License-Identifier: Apache-2.0 */
/* What reservations keep, and who gets it. */
#include "common/base/cleanup.h"
#include "subcluster/core/check.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;

static struct tf_entry reserve(uint8_t uid, uint64_t epoch, int32_t count, int32_t gpus)
{
    struct tf_entry entry = driver_place_entry(uid, epoch, count, gpus);
    tf_spec_own(&entry.spec)->reserve.expires = TF_HOUR;
    tf_spec_own(&entry.spec)->reserve.owner.tenant = tf_strdup("t");
    return entry;
}

/* A job of n instances that may use reservation `of`. */
static struct tf_entry owner(uint8_t uid, uint64_t epoch, int32_t n, int32_t gpus, uint8_t of)
{
    struct tf_entry entry = driver_place_entry(uid, epoch, n, gpus);
    tf_vec_push(&entry.reservations, (struct tf_reservation_ref){driver_uid(of)});
    return entry;
}

static struct tf_entry of_class(struct tf_entry entry, const char *class)
{
    tf_str_set(&tf_spec_own(&entry.spec)->priority, class);
    return entry;
}

static enum tf_end last_end(uint8_t uid)
{
    const struct tf_allocation *a = driver_allocation(&d, uid);
    return a && a->ended.count ? a->ended.items[a->ended.count - 1].end : TF_END_NONE;
}

static int32_t kept(uint8_t uid)
{
    const struct tf_allocation *a = driver_allocation(&d, uid);
    int32_t gpus = 0;
    if (!a || a->phase != TF_ALLOCATION_RESERVED)
        return 0;
    tf_vec_each (claim, &a->claims)
        gpus += tf_gpu_set_count(claim->gpus);
    return gpus;
}

static void begin(int32_t count, int32_t gpus)
{
    driver_two_nodes(&d);
    driver_change(&d, reserve(1, 5, count, gpus));
}

static void end(void)
{
    sub_check(d.sub);
    driver_release(&d);
}

static void test_it_keeps_and_starts_nothing(void)
{
    begin(1, 8);
    CU_ASSERT_EQUAL(kept(1), 8);
    CU_ASSERT_EQUAL(d.starts, 0);
    driver_place(&d, 2, 6, 2, 8); /* only one node is left for others */
    CU_ASSERT_EQUAL(last_end(2), TF_END_REFUSED);
    driver_place(&d, 3, 7, 1, 8);
    CU_ASSERT_EQUAL(d.starts, 1);
    driver_pass(&d, TF_SECOND);
    size_t told = 0;
    tf_vec_each (row, &d.profile.rows)
        tf_vec_each (r, &row->reserved)
            told += tf_uid_eq(r->uid, driver_uid(1)) && r->more.gpus == 8 && r->more.cpu == 1000;
    CU_ASSERT_EQUAL(told, 1);
    end();
}

/* A claim on the reservation's node does not keep its owner out: also not when others
 * must go, elsewhere, for the rest of it. */
static void test_a_claim_on_its_node_does_not_keep_its_owner_out(void)
{
    driver_init(&d);
    driver_node(&d, "n1", "H800", 8);
    driver_node(&d, "n2", "H800", 16);
    driver_ready(&d);
    driver_change(&d, of_class(driver_place_entry(2, 5, 1, 8), "low")); /* on n1 */
    struct tf_entry other = of_class(driver_place_entry(4, 6, 1, 8), "mid");
    tf_spec_own(&other.spec)->max_runtime = TF_HOUR;
    driver_change(&d, other);
    driver_all_ready(&d);
    struct tf_entry claim = of_class(driver_place_entry(9, 0, 1, 16), "mid");
    claim.kind = TF_ENTRY_CLAIM;
    driver_change(&d, claim);
    driver_change(&d, of_class(reserve(1, 7, 1, 8), "high"));
    CU_ASSERT_EQUAL(kept(1), 8);
    driver_pass(&d, TF_SECOND);
    int32_t claimed = 0;
    tf_vec_each (row, &d.profile.rows)
        claimed += row->claim_rank == 1 && row->reserved.count == 1;
    CU_ASSERT_EQUAL(claimed, 1);
    struct tf_entry uses = of_class(owner(3, 8, 2, 8, 1), "mid");
    uses.level = tf_level_core(0);
    driver_change(&d, uses);
    CU_ASSERT_PTR_NOT_NULL_FATAL(driver_allocation(&d, 3));
    CU_ASSERT_EQUAL(driver_allocation(&d, 3)->phase, TF_ALLOCATION_CLAIMING);
    CU_ASSERT_EQUAL(driver_allocation(&d, 3)->claims.count, 2);
    end();
}

static void test_its_owner_starts_in_it(void)
{
    begin(1, 8);
    const char *node = driver_allocation(&d, 1)->claims.items[0].node;
    TF_AUTO_FREE char *name = tf_strdup(node);
    driver_clear(&d);
    driver_change(&d, owner(2, 6, 1, 8, 1));
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 2)->members.items[0].node, name);
    CU_ASSERT_EQUAL(last_end(1), TF_END_FINISHED);
    end();
}

/* Both nodes hold it: what is kept comes first, though the other fits as well. */
static void test_what_is_kept_is_used_first_and_in_part(void)
{
    begin(2, 4);
    TF_AUTO_FREE char *name = tf_strdup(driver_allocation(&d, 1)->claims.items[0].node);
    driver_change(&d, owner(2, 6, 1, 2, 1));
    CU_ASSERT_STRING_EQUAL(driver_allocation(&d, 2)->members.items[0].node, name);
    CU_ASSERT_EQUAL(kept(1), 6);
    driver_change(&d, owner(3, 7, 1, 4, 1));
    CU_ASSERT_EQUAL(kept(1), 2);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_RESERVED);
    driver_change(&d, owner(4, 8, 1, 8, 1)); /* what is left there is not enough */
    CU_ASSERT_STRING_NOT_EQUAL(driver_allocation(&d, 4)->members.items[0].node, name);
    end();
}

static void test_it_evicts_nobody(void)
{
    driver_two_nodes(&d);
    driver_change(&d, of_class(driver_place_entry(2, 5, 2, 8), "low"));
    driver_all_ready(&d);
    struct tf_entry entry = of_class(reserve(1, 6, 1, 8), "high");
    entry.level = TF_LEVEL_FREE;
    driver_change(&d, entry);
    CU_ASSERT_EQUAL(last_end(1), TF_END_REFUSED);
    CU_ASSERT_EQUAL(driver_allocation(&d, 2)->phase, TF_ALLOCATION_RUNNING);
    end();
}

static void test_a_higher_priority_takes_it(void)
{
    begin(2, 8);
    struct tf_entry urgent = of_class(driver_place_entry(3, 7, 1, 8), "high");
    urgent.level = tf_level_core(1);
    driver_change(&d, urgent);
    CU_ASSERT_EQUAL(last_end(1), TF_END_EVICTED); /* all or none: it waits again */
    driver_pass(&d, TF_SECOND);
    CU_ASSERT_EQUAL(d.starts, 1);
    end();
}

/* Where one that was begun to be used is taken, asking for all of it again would be too much. */
static void test_what_is_left_of_it_does_not_come_back(void)
{
    begin(2, 8);
    driver_change(&d, owner(2, 6, 1, 8, 1));
    driver_all_ready(&d);
    driver_pass(&d, TF_MINUTE);
    CU_ASSERT_EQUAL(kept(1), 8);
    struct tf_entry urgent = of_class(driver_place_entry(3, 7, 1, 8), "high");
    urgent.level = tf_level_core(1);
    driver_change(&d, urgent);
    CU_ASSERT_EQUAL(last_end(1), TF_END_FINISHED);
    CU_ASSERT_EQUAL(driver_allocation(&d, 2)->phase, TF_ALLOCATION_RUNNING); /* its job is not the victim */
    end();
}

/* One node is kept for it, the other is held by a lower class: it gets both, and one goes. */
static void test_its_owner_takes_the_rest_from_others(void)
{
    begin(1, 8);
    driver_change(&d, of_class(driver_place_entry(2, 6, 1, 8), "low"));
    driver_all_ready(&d);
    struct tf_entry job = owner(3, 7, 2, 8, 1);
    job.level = tf_level_core(0);
    driver_change(&d, job);
    CU_ASSERT_EQUAL(driver_allocation(&d, 3)->phase, TF_ALLOCATION_CLAIMING);
    CU_ASSERT_EQUAL(driver_allocation(&d, 2)->phase, TF_ALLOCATION_ENDING);
    CU_ASSERT_EQUAL(last_end(1), TF_END_FINISHED); /* a GPU has one claimant */
    driver_stopped(&d, 2, 6, 0, 1);
    CU_ASSERT_EQUAL(driver_allocation(&d, 3)->phase, TF_ALLOCATION_STARTING);
    end();
}

/* The same where the reservation ranks below its owner: it is no victim of it. */
static void test_its_owner_is_above_it(void)
{
    driver_two_nodes(&d);
    driver_change(&d, of_class(reserve(1, 5, 1, 8), "low"));
    driver_change(&d, of_class(driver_place_entry(2, 6, 1, 8), "low"));
    driver_all_ready(&d);
    struct tf_entry job = of_class(owner(3, 7, 2, 8, 1), "high");
    job.level = tf_level_core(1);
    driver_change(&d, job);
    CU_ASSERT_EQUAL(driver_allocation(&d, 3)->phase, TF_ALLOCATION_CLAIMING);
    CU_ASSERT_EQUAL(last_end(1), TF_END_FINISHED);
    end();
}

static void test_a_node_goes(void)
{
    driver_init(&d);
    for (int i = 1; i <= 3; i++) {
        char name[] = "n1";
        name[1] = (char)('0' + i);
        driver_node(&d, name, "H800", 8);
    }
    driver_ready(&d);
    driver_change(&d, reserve(1, 5, 2, 8));
    TF_AUTO_FREE char *first = tf_strdup(driver_allocation(&d, 1)->claims.items[0].node);
    driver_node_state(&d, first, TF_NODE_LOST);
    CU_ASSERT_EQUAL(kept(1), 16); /* on the two that are left */
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->epoch, 5);
    tf_vec_each (claim, &driver_allocation(&d, 1)->claims)
        CU_ASSERT_STRING_NOT_EQUAL(claim->node, first);
    TF_AUTO_FREE char *second = tf_strdup(driver_allocation(&d, 1)->claims.items[0].node);
    driver_node_state(&d, second, TF_NODE_LOST);
    CU_ASSERT_EQUAL(last_end(1), TF_END_LOST);
    end();
}

static void test_a_node_of_one_in_use_goes(void)
{
    begin(2, 8);
    driver_change(&d, owner(2, 6, 1, 8, 1));
    TF_AUTO_FREE char *node = tf_strdup(driver_allocation(&d, 1)->claims.items[0].node);
    driver_node_state(&d, node, TF_NODE_LOST);
    CU_ASSERT_EQUAL(last_end(1), TF_END_FINISHED);
    end();
}

static void test_it_outlives_the_daemon(void)
{
    begin(2, 4);
    driver_change(&d, owner(2, 6, 1, 2, 1));
    driver_crash(&d, true);
    driver_list(&d);
    CU_ASSERT_EQUAL(kept(1), 6);
    driver_link(&d, true);
    struct tf_entry set[] = {reserve(1, 5, 2, 4), owner(2, 6, 1, 2, 1)};
    driver_set(&d, set, 2);
    CU_ASSERT_EQUAL(kept(1), 6); /* as its record says, whatever it was placed with */
    end();
}

/* At whatever crash each GPU has one claimant or holder. */
static void test_a_crash_while_it_is_used(void)
{
    for (int lands = 0; lands < 2; lands++) {
        begin(1, 8);
        d.hold_commits = true;
        driver_change(&d, owner(2, 6, 1, 8, 1));
        driver_crash(&d, lands);
        driver_list(&d);
        CU_ASSERT_EQUAL(kept(1), lands ? 0 : 8);
        CU_ASSERT_EQUAL(driver_allocation(&d, 2) != NULL, lands);
        end();
    }
}

static void test_release(void)
{
    begin(1, 8);
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    CU_ASSERT_EQUAL(last_end(1), TF_END_RELEASED);
    driver_place(&d, 2, 6, 2, 8);
    CU_ASSERT_EQUAL(d.starts, 2);
    end();
}

/* What a reservation kept is free when its end is durable, and not before: not for the owner of another that
 * is on the same node either, by whose uid it comes first. */
static void test_one_that_leaves_is_not_room_for_the_owner_of_another(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 9, 4, 1, 8);
    driver_change(&d, reserve(1, 5, 1, 4));
    driver_change(&d, reserve(2, 6, 1, 4));
    d.hold_commits = true;
    driver_tell(&d, TF_ENTRY_RELEASE, 1, 5);
    driver_change(&d, owner(3, 7, 1, 8, 2));
    d.hold_commits = false;
    driver_commit(&d);
    CU_ASSERT_EQUAL(last_end(3), TF_END_REFUSED);
    CU_ASSERT_EQUAL(kept(2), 4);
    driver_change(&d, owner(4, 8, 1, 8, 2));
    CU_ASSERT_EQUAL(driver_phase_of(&d, 4), TF_ALLOCATION_STARTING);
    end();
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"it keeps GPUs and starts nothing", test_it_keeps_and_starts_nothing},
        {"its owner starts in it", test_its_owner_starts_in_it},
        {"what is kept is used first, and in part", test_what_is_kept_is_used_first_and_in_part},
        {"it evicts nobody", test_it_evicts_nobody},
        {"a higher priority takes it", test_a_higher_priority_takes_it},
        {"what is left of one in use does not come back", test_what_is_left_of_it_does_not_come_back},
        {"its owner takes the rest from others", test_its_owner_takes_the_rest_from_others},
        {"a claim on its node does not keep its owner out",
         test_a_claim_on_its_node_does_not_keep_its_owner_out},
        {"its owner is above it", test_its_owner_is_above_it},
        {"a node goes", test_a_node_goes},
        {"a node of one in use goes", test_a_node_of_one_in_use_goes},
        {"it outlives the daemon", test_it_outlives_the_daemon},
        {"a crash while it is used", test_a_crash_while_it_is_used},
        {"release", test_release},
        {"one that leaves is not room for the owner of another",
         test_one_that_leaves_is_not_room_for_the_owner_of_another},
    };
    return suite_run("unit/subcluster/reservation", tests, TF_ARRAY_LEN(tests));
}
