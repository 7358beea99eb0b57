/* SPDX-License-Identifier: Apache-2.0 */
/* Terms, the full set, numbered changes, reports and profiles on a link. */
#include "common/base/cleanup.h"
#include "tests/support/sub_driver.h"
#include "tests/support/suite.h"

static struct sub_driver d;

static void down(enum tf_down_kind kind, uint64_t n, uint64_t count)
{
    struct sub_event event = {.kind = SUB_EV_DOWN};
    event.down = (struct tf_down){.kind = kind, .term = d.term, .n = n, .count = count};
    tf_policy_copy(&event.down.policy, &d.boot.policy);
    driver_step(&d, event);
}

static void part(uint64_t n, struct tf_entry entry)
{
    struct sub_event event = {.kind = SUB_EV_DOWN};
    event.down = (struct tf_down){.kind = TF_DOWN_PART, .term = d.term, .n = n};
    tf_vec_push(&event.down.entries, entry);
    driver_step(&d, event);
}

static void listed_but_alone(void)
{
    driver_init(&d);
    driver_node(&d, "n1", "H800", 8);
    driver_load(&d);
    driver_list(&d);
    driver_clear(&d);
}

static void test_hello_then_the_set_then_the_profile(void)
{
    listed_but_alone();
    driver_link(&d, true);
    CU_ASSERT(driver_saw(&d, "send hello 0.0 0\nsend listed\n"));
    down(TF_DOWN_BEGIN, 7, 1);
    part(7, driver_place_entry(1, 5, 1, 1));
    CU_ASSERT_EQUAL(d.starts, 0); /* acted on at its end only */
    driver_clear(&d);
    down(TF_DOWN_END, 7, 0);
    CU_ASSERT(driver_saw(&d, "persist allocation:1 floor\n"
                             "peers 1/5 v1 size 1\n"
                             "start 1/5/0.1 n1 0\n"
                             "send report 1/5 Starting 0/1\n"
                             "send profile full n 7\n"));
    driver_release(&d);
}

static void test_the_term_is_durable_before_what_comes_of_it(void)
{
    listed_but_alone();
    d.hold_commits = true;
    driver_link(&d, true);
    driver_clear(&d);
    struct tf_entry entry = driver_place_entry(1, 5, 1, 1);
    driver_set(&d, &entry, 1);
    CU_ASSERT(driver_saw(&d, "persist term\n"));
    driver_commit(&d);
    driver_commit(&d);
    CU_ASSERT_EQUAL(d.starts, 1);
    driver_release(&d);
}

static void test_a_lower_term_is_not_heard(void)
{
    driver_two_nodes(&d);
    d.term = (struct tf_term){1, 7};
    driver_set(&d, NULL, 0);
    driver_pass(&d, TF_SECOND);
    d.term = (struct tf_term){1, 6};
    driver_clear(&d);
    driver_place(&d, 1, 5, 1, 1);
    driver_set(&d, NULL, 0);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT(driver_saw(&d, ""));
    d.term = (struct tf_term){0, 99}; /* an era before */
    driver_place(&d, 1, 5, 1, 1);
    CU_ASSERT(driver_saw(&d, ""));
    driver_release(&d);
}

static void test_a_repeat_is_passed_over_and_a_gap_closes(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 1);
    d.n--;
    driver_place(&d, 2, 6, 1, 1); /* n again: a repeat */
    CU_ASSERT_PTR_NULL(driver_allocation(&d, 2));
    d.n++;
    driver_clear(&d);
    driver_place(&d, 3, 7, 1, 1); /* one was missed */
    CU_ASSERT(driver_saw(&d, "close change 4 came after 2\n"));
    d.n = 2;
    driver_place(&d, 3, 7, 1, 1);
    CU_ASSERT_PTR_NULL(driver_allocation(&d, 3)); /* nothing before the next full set */
    driver_link(&d, false);
    driver_link(&d, true);
    driver_set(&d, NULL, 0);
    driver_place(&d, 3, 7, 1, 1);
    CU_ASSERT_PTR_NOT_NULL(driver_allocation(&d, 3));
    driver_release(&d);
}

static void test_a_set_that_is_not_whole_is_not_acted_on(void)
{
    listed_but_alone();
    driver_link(&d, true);
    down(TF_DOWN_BEGIN, 1, 2);
    part(1, driver_place_entry(1, 5, 1, 1));
    driver_clear(&d);
    down(TF_DOWN_END, 1, 0);
    CU_ASSERT(driver_saw(&d, "close the full set ended 1 entries early\n"));
    CU_ASSERT_EQUAL(d.starts, 0);
    driver_link(&d, false);
    driver_link(&d, true);
    driver_clear(&d);
    down(TF_DOWN_CHANGE, 1, 0);
    CU_ASSERT(driver_saw(&d, "close change 1 came after 0\n"));
    driver_release(&d);
}

static void test_a_set_is_taken_in_order_of_epochs(void)
{
    listed_but_alone();
    driver_link(&d, true);
    struct tf_entry entries[] = {driver_place_entry(2, 9, 1, 1), driver_place_entry(1, 5, 1, 1)};
    driver_set(&d, entries, 2);
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->epoch, 5);
    CU_ASSERT_EQUAL(driver_allocation(&d, 2)->epoch, 9);
    driver_release(&d);
}

/* PITFALLS.md 3 and 26: an empty view, a reconnect, an absence of any length stops nothing. */
static void test_absence_stops_nothing(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 2, 8);
    driver_all_ready(&d);
    driver_link(&d, false);
    driver_clear(&d);
    driver_pass(&d, 30LL * 24 * TF_HOUR);
    CU_ASSERT(driver_saw(&d, ""));
    driver_link(&d, true);
    d.term.revision++;
    driver_set(&d, NULL, 0);
    CU_ASSERT(driver_saw(&d, "send hello 1.1 5\n"
                             "send report 1/5 Running 2/2\n"
                             "send listed\n"
                             "persist term\n"
                             "send profile full n 1\n"));
    CU_ASSERT_EQUAL(driver_allocation(&d, 1)->phase, TF_ALLOCATION_RUNNING);
    driver_release(&d);
}

static void test_everything_is_told_again_on_attach_until_stored(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 1);
    driver_exits(&d, 1, 5, 0, 1, 0);
    driver_place(&d, 2, 6, 1, 1);
    driver_link(&d, false);
    driver_clear(&d);
    driver_link(&d, true);
    CU_ASSERT(driver_saw(&d, "send hello 1.1 6\n"
                             "send report 1/5 ended finished\n"
                             "send report 2/6 Starting 0/1\n"
                             "send listed\n"));
    driver_release(&d);
}

static void test_what_was_meant_for_a_dead_link_is_dropped(void)
{
    driver_two_nodes(&d);
    d.hold_commits = true;
    driver_place(&d, 1, 5, 1, 1);
    driver_link(&d, false);
    driver_link(&d, true);
    driver_clear(&d);
    driver_commit(&d);
    CU_ASSERT(driver_saw(&d, "peers 1/5 v1 size 1\n"
                             "start 1/5/0.1 n1 0\n"
                             "send hello 1.1 5\n"
                             "send report 1/5 Starting 0/1\n"
                             "send listed\n"));
    driver_release(&d);
}

/* One report a job follows each transaction, however many changes it has. */
static void test_reports_are_coalesced(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 4, 1);
    d.hold_commits = true;
    driver_all_ready(&d);
    driver_clear(&d);
    driver_commit(&d);
    CU_ASSERT(driver_saw(&d, "peers 1/5 v2 size 4\n"
                             "send report 1/5 Starting 1/4\n"
                             "persist allocation:1\n"));
    driver_commit(&d);
    CU_ASSERT(driver_saw(&d, "peers 1/5 v3 size 4\n"
                             "send report 1/5 Running 4/4\n"));
    driver_release(&d);
}

static void test_profiles_keep_their_pace(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 8);
    driver_all_ready(&d);
    driver_clear(&d);
    driver_exits(&d, 1, 5, 0, 1, 0);
    driver_place(&d, 2, 6, 1, 4);
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&d.log), "profile"));
    driver_clear(&d);
    driver_pass(&d, 499);
    CU_ASSERT(driver_saw(&d, ""));
    driver_pass(&d, 1);
    CU_ASSERT(driver_saw(&d, "send profile delta n 3\n"));
    CU_ASSERT_EQUAL(d.profile.health.free_gpus, 12);
    CU_ASSERT_EQUAL(d.profile.reflects_n, 3);
    driver_all_ready(&d);
    driver_clear(&d);
    driver_pass(&d, TF_HOUR);
    CU_ASSERT(driver_saw(&d, ""));
    down(TF_DOWN_WANT_PROFILE, 0, 0);
    CU_ASSERT(driver_saw(&d, "send profile full n 3\n"));
    driver_release(&d);
}

/* A profile tells what is durable, never what may not come to be. */
static void test_a_profile_waits_for_what_it_reflects(void)
{
    driver_two_nodes(&d);
    driver_pass(&d, TF_SECOND);
    d.hold_commits = true;
    driver_place(&d, 1, 5, 1, 8);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT(driver_saw(&d, "persist allocation:1 floor\n"));
    driver_commit(&d);
    CU_ASSERT_EQUAL(d.profile.reflects_n, 2);
    CU_ASSERT_EQUAL(d.profile.health.free_gpus, 8);
    driver_release(&d);
}

/* The profile a leader has, delta by delta, is the one it would get in full. */
static void test_deltas_add_up(void)
{
    driver_two_nodes(&d);
    for (uint8_t i = 1; i <= 12; i++) {
        driver_place(&d, i, 4u + i, 1, i % 3);
        driver_pass(&d, 500);
        if (i % 4 == 0)
            driver_exits(&d, (uint8_t)(i - 1), 3u + i, 0, 1, 0);
    }
    driver_pass(&d, TF_SECOND);
    const struct tf_profile *full = sub_profile(d.sub);
    int32_t gpus = 0, full_gpus = 0;
    tf_vec_each (row, &d.profile.rows)
        gpus += row->count * tf_profile_row_at(row, TF_LEVEL_FREE).gpus;
    tf_vec_each (row, &full->rows)
        full_gpus += row->count * tf_profile_row_at(row, TF_LEVEL_FREE).gpus;
    CU_ASSERT_EQUAL(gpus, full_gpus);
    CU_ASSERT_EQUAL(gpus, full->health.free_gpus);
    driver_release(&d);
}

static void test_the_policy_is_stored_and_gone_by(void)
{
    driver_two_nodes(&d);
    driver_place(&d, 1, 5, 1, 8);
    driver_pass(&d, TF_SECOND);
    struct sub_event event = {.kind = SUB_EV_DOWN};
    event.down = (struct tf_down){.kind = TF_DOWN_POLICY, .term = d.term};
    tf_policy_copy(&event.down.policy, &d.boot.policy);
    event.down.policy.version = 2;
    event.down.policy.kill_bound = TF_SECOND;
    tf_classes_add(&event.down.policy.classes, "lowest", 1); /* ranks move up by one */
    driver_clear(&d);
    driver_step(&d, event);
    driver_pass(&d, TF_SECOND);
    CU_ASSERT(driver_saw(&d, "persist policy\nsend profile delta n 2\n"));
    bool found = false;
    tf_vec_each (row, &d.profile.rows)
        tf_vec_each (at, &row->levels)
            found |= at->level == tf_level_core(2) && at->have.gpus == 8; /* of mid */
    CU_ASSERT(found);
    driver_crash(&d, true);
    driver_list(&d);
    driver_clear(&d);
    driver_link(&d, true);
    driver_set(&d, NULL, 0); /* with version 1 again */
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&d.log), "persist policy\n"));
    driver_release(&d);
}

static void test_a_policy_that_is_not_sound_is_refused(void)
{
    driver_two_nodes(&d);
    struct sub_event event = {.kind = SUB_EV_DOWN};
    event.down = (struct tf_down){.kind = TF_DOWN_POLICY, .term = d.term};
    driver_step(&d, event);
    CU_ASSERT(driver_saw(&d, "alarm the leader's policy is not sound and the one in force stays: 0 priority "
                             "classes: there must be 1 to 16\n"));
    driver_release(&d);
}

/* Decisions are bounded: the rest is done when others have had their turn. */
static void test_the_budget_interrupts_between_entries(void)
{
    driver_init(&d);
    driver_node(&d, "n1", "H800", 8);
    d.boot.decision_budget = 1;
    driver_load(&d);
    driver_list(&d);
    driver_link(&d, true);
    struct tf_entry entries[3];
    for (uint8_t i = 0; i < 3; i++)
        entries[i] = driver_place_entry((uint8_t)(i + 1), 5u + i, 1, 1);
    driver_set(&d, entries, 3);
    for (uint8_t i = 1; i <= 3; i++)
        CU_ASSERT_PTR_NOT_NULL(driver_allocation(&d, i));
    CU_ASSERT_EQUAL(d.profile.reflects_n, 1);
    driver_release(&d);
}

/* The leader would debit that half twice, and have no room left to debit the other one from. */
static void test_no_profile_tells_of_half_a_message(void)
{
    driver_init(&d);
    driver_node(&d, "n1", "H800", 8);
    d.boot.decision_budget = 1;
    driver_load(&d);
    driver_list(&d);
    driver_link(&d, true);
    driver_set(&d, NULL, 0);
    driver_pass(&d, TF_MINUTE); /* the pace of profiles holds nothing back */
    driver_clear(&d);
    struct sub_event event = {.kind = SUB_EV_DOWN};
    event.down = (struct tf_down){.kind = TF_DOWN_CHANGE, .term = d.term, .n = ++d.n};
    for (uint8_t i = 0; i < 2; i++)
        tf_vec_push(&event.down.entries, driver_place_entry((uint8_t)(i + 1), 5u + i, 1, 1));
    driver_step(&d, event);
    CU_ASSERT(driver_saw(&d, "persist allocation:1 floor\n"
                             "peers 1/5 v1 size 1\n"
                             "start 1/5/0.1 n1 0\n"
                             "send report 1/5 Starting 0/1\n"
                             "persist allocation:2 floor\n"
                             "peers 2/6 v1 size 1\n"
                             "start 2/6/0.1 n1 1\n"
                             "send report 2/6 Starting 0/1\n"
                             "send profile delta n 2\n"));
    driver_release(&d);
}

static const struct suite_test tests[] = {
    {"hello, then the set, then the profile", test_hello_then_the_set_then_the_profile},
    {"the term is durable before what comes of it", test_the_term_is_durable_before_what_comes_of_it},
    {"a lower term is not heard", test_a_lower_term_is_not_heard},
    {"a repeat is passed over, a gap closes", test_a_repeat_is_passed_over_and_a_gap_closes},
    {"a set that is not whole", test_a_set_that_is_not_whole_is_not_acted_on},
    {"a set is taken in order of epochs", test_a_set_is_taken_in_order_of_epochs},
    {"absence stops nothing", test_absence_stops_nothing},
    {"everything is told again until stored", test_everything_is_told_again_on_attach_until_stored},
    {"what was meant for a dead link is dropped", test_what_was_meant_for_a_dead_link_is_dropped},
    {"reports are coalesced", test_reports_are_coalesced},
    {"profiles keep their pace", test_profiles_keep_their_pace},
    {"a profile waits for what it reflects", test_a_profile_waits_for_what_it_reflects},
    {"deltas add up", test_deltas_add_up},
    {"the policy is stored and gone by", test_the_policy_is_stored_and_gone_by},
    {"a policy that is not sound", test_a_policy_that_is_not_sound_is_refused},
    {"the budget interrupts between entries", test_the_budget_interrupts_between_entries},
    {"no profile tells of half a message", test_no_profile_tells_of_half_a_message},
};

int main(void)
{
    return suite_run("link", tests, TF_ARRAY_LEN(tests));
}
