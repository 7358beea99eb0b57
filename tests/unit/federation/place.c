/* SPDX-License-Identifier: Apache-2.0 */
/* Who goes where, in which order, with how many instances; what is on its way counts. */
#include "common/base/cleanup.h"
#include "tests/support/fed_driver/fed_driver.h"
#include "tests/support/suite.h"

#include <stdio.h>

#define PHASE(job, text) CU_ASSERT_STRING_EQUAL(drive_phase(&d, job), text)

/* ---- order ---- */

static void test_queue_order(void)
{
    struct drive d;
    drive_init(&d);
    drive_submit(&d, "rec/late-high", "n=1 gpus=8 prio=batch uid=9");
    drive_elapse(&d, 1000);
    drive_submit(&d, "rec/b", "n=1 gpus=8 uid=8");
    drive_submit(&d, "rec/a", "n=1 gpus=8 uid=3");
    drive_submit(&d, "rec/high", "n=1 gpus=8 prio=online uid=7");
    tf_buf_clear(&d.log);
    drive_attach(&d, "bj-a", "north");
    drive_profile(&d, "bj-a", "4x8");
    drive_expect(
        &d, "bj-a BEGIN 1, 0 entries\nbj-a END 1\n"
            "bj-a CHANGE 2: place rec/high e1 1 H800; place rec/late-high e2 1 H800; place rec/a e3 1 H800; "
            "place rec/b e4 1 H800\n");
    drive_release(&d);
}

static void test_what_does_not_fit_blocks_nobody(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "2x8");
    drive_submit(&d, "rec/large", "n=3 gpus=8 prio=online");
    drive_submit(&d, "rec/small", "n=1 gpus=8");
    drive_expect(&d, "reply 1: created #1\nreply 2: created #2\nbj-a CHANGE 2: place rec/small e1 1 H800\n");
    PHASE("rec/large", "Pending");
    drive_end(&d, "bj-a", 2, 1, TF_END_FINISHED);
    drive_profile(&d, "bj-a", "3x8");
    PHASE("rec/large", "Pending in bj-a e2 x3");
    drive_release(&d);
}

/* ---- choice ---- */

static void where(const char *a, const char *b, const char *words, const char *expected)
{
    struct drive d;
    drive_init(&d);
    drive_attach(&d, "bj-a", "north");
    drive_profile(&d, "bj-a", a);
    drive_attach(&d, "gz-b", "south");
    drive_profile(&d, "gz-b", b);
    drive_submit(&d, "rec/x", words);
    if (strcmp(drive_phase(&d, "rec/x"), expected) != 0)
        printf("\n%s | %s | %s: %s\n", a, b, words, drive_phase(&d, "rec/x"));
    PHASE("rec/x", expected);
    drive_release(&d);
}

static void test_preference(void)
{
    /* fits at all; the job's own order of models, then of subclusters; room to grow; most room; name */
    where("1x8", "2x8", "n=2 gpus=8", "Pending in gz-b e1 x2");
    where("2x8:A100", "2x8:H800", "n=1 gpus=8 model=H800|A100", "Pending in gz-b e1 x1");
    where("2x8:A100", "1x8:H800", "n=2 gpus=8 model=H800|A100", "Pending in bj-a e1 x2");
    where("4x8", "2x8", "n=1 gpus=8 clusters=gz-b|bj-a", "Pending in gz-b e1 x1");
    where("4x8", "2x8", "n=1 gpus=8 regions=south", "Pending in gz-b e1 x1");
    where("2x8", "6x8", "min=2 max=8 step=2 gpus=8", "Pending in gz-b e1 x6");
    where("2x8", "3x8", "n=1 gpus=8", "Pending in gz-b e1 x1");
    where("2x8", "2x8", "n=1 gpus=8", "Pending in bj-a e1 x1");
    where("2x8:H800@p1 2x8:H800@p2", "2x8:H800@p1 1x8:H800@p2", "n=3 gpus=8 within=pod", "Pending");
    where("2x8:H800@p1 2x8:H800@p2", "3x8:H800@p1", "n=3 gpus=8 within=pod", "Pending in gz-b e1 x3");
    where("2x8:H800@p1 2x8:H800@p2", "3x8:H800@p1", "n=3 gpus=8 prefer=pod", "Pending in gz-b e1 x3");
    where("4x8", "4x8", "n=1 gpus=8 model=B200", "Pending");
    where("4x0", "4x8", "n=2 cpu=20000", "Pending in gz-b e1 x2");
}

/* Where others would go: the lowest level, then the least loss, to a quarter; what is alike in that goes by
 * the job's order, else to the cheaper. */
static void test_preference_by_cost(void)
{
    where("core0:2x8 price0:6000", "core0:2x8 price0:600", "n=1 gpus=8 prio=online", "Pending in gz-b e1 x1");
    where("core0:2x8 price0:600", "core0:2x8 price0:6000", "n=1 gpus=8 prio=online", "Pending in bj-a e1 x1");
    where("core1:2x8", "core0:2x8 price0:6000", "n=1 gpus=8 prio=online", "Pending in gz-b e1 x1");
    where("core0:2x8 price0:600", "core0:2x8 price0:590", "n=1 gpus=8 prio=online", "Pending in gz-b e1 x1");
    where("core0:2x8 price0:600", "core0:2x8 price0:590", "n=1 gpus=8 prio=online clusters=bj-a|gz-b",
          "Pending in bj-a e1 x1");
    where("core0:2x8 price0:6000", "core0:2x8 price0:600", "n=1 gpus=8 prio=online clusters=bj-a|gz-b",
          "Pending in gz-b e1 x1");
    where("core0:2x8 1x8 price0:900", "core0:3x8 price0:600", "n=2 gpus=8 prio=online",
          "Pending in bj-a e1 x2");
    where("core0:2x8 price0:90000", "core0:2x8 price0:7200", "n=1 gpus=8 prio=online",
          "Pending in bj-a e1 x1");
}

static void test_cordoned_and_unknown_places(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_cluster(&d, FED_EV_CORDON, "bj-a", true);
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    PHASE("rec/x", "Pending");
    drive_crash(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    PHASE("rec/x", "Pending");
    drive_cluster(&d, FED_EV_CORDON, "bj-a", false);
    PHASE("rec/x", "Pending in bj-a e1 x1");
    drive_release(&d);
}

/* ---- size ---- */

static void test_cores_first_then_steps(void)
{
    struct drive d;
    drive_init(&d);
    drive_submit(&d, "rec/a", "min=2 max=8 step=2 gpus=8");
    drive_submit(&d, "rec/b", "min=1 max=4 step=1 gpus=8");
    drive_submit(&d, "rec/c", "n=2 gpus=8");
    drive_attach(&d, "bj-a", "north");
    drive_profile(&d, "bj-a", "9x8");
    PHASE("rec/a", "Pending in bj-a e1 x4");
    PHASE("rec/b", "Pending in bj-a e2 x3");
    PHASE("rec/c", "Pending in bj-a e3 x2");
    drive_release(&d);
}

static void test_one_grower_takes_what_it_can_use(void)
{
    where("9x8", "1x8", "min=4 max=100 step=4 gpus=8", "Pending in bj-a e1 x8");
    where("9x8", "1x8", "min=2 max=4 step=2 gpus=8", "Pending in bj-a e1 x4");
    where("9x8", "1x8", "min=2 max=8 step=2 gpus=8 grow=never", "Pending in bj-a e1 x2");
    where("3x8:H800 9x8:A100", "1x8", "min=2 max=8 step=1 gpus=8 model=H800|A100", "Pending in bj-a e1 x3");
}

/* ---- what is on its way ---- */

static void test_two_submits_race_for_one_slot(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "1x8");
    d.hold_commits = true;
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    drive_submit(&d, "rec/y", "n=1 gpus=8");
    drive_expect(&d, "");
    drive_commit(&d);
    drive_commit(&d);
    PHASE("rec/x", "Pending in bj-a e1 x1");
    PHASE("rec/y", "Pending");
    drive_release(&d);
}

static void test_a_flight_lands_with_the_profile_that_reflects_it(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "2x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    drive_profile_at(&d, "bj-a", "2x8", 1); /* sent before it knew: still debited */
    drive_submit(&d, "rec/y", "n=2 gpus=8");
    PHASE("rec/y", "Pending");
    drive_profile_at(&d, "bj-a", "1x8", 2);
    PHASE("rec/y", "Pending");
    drive_profile_at(&d, "bj-a", "2x8", 2);
    PHASE("rec/y", "Pending in bj-a e2 x2");
    drive_release(&d);
}

/* As deltas: of which one may change nothing but what it reflects. */
static void test_deltas_land_flights_too(void)
{
    struct drive d;
    drive_init(&d);
    d.deltas = true;
    drive_attach(&d, "bj-a", "north");
    drive_profile_at(&d, "bj-a", "2x8", 0);
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    PHASE("rec/x", "Pending");
    drive_profile_at(&d, "bj-a", "2x8", 1);
    PHASE("rec/x", "Pending in bj-a e1 x1");
    drive_profile_at(&d, "bj-a", "1x8",
                     1); /* it is placed there already, which the number does not say yet */
    drive_submit(&d, "rec/y", "n=1 gpus=8");
    PHASE("rec/y", "Pending");
    drive_profile_at(&d, "bj-a", "1x8", 2);
    PHASE("rec/y", "Pending in bj-a e2 x1");
    drive_release(&d);
}

static void test_another_terms_profile_reflects_nothing(void)
{
    struct drive d;
    drive_init(&d);
    drive_attach(&d, "bj-a", "north");
    d.term.revision = 9;
    drive_profile_at(&d, "bj-a", "4x8", 1);
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    PHASE("rec/x", "Pending");
    d.term.revision = 10;
    drive_profile_at(&d, "bj-a", "4x8", 0);
    PHASE("rec/x", "Pending");
    drive_profile_at(&d, "bj-a", "4x8", 1);
    PHASE("rec/x", "Pending in bj-a e1 x1");
    drive_release(&d);
}

static void test_an_end_gives_the_flight_back(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "1x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    drive_submit(&d, "rec/y", "n=1 gpus=8");
    drive_end(&d, "bj-a", 1, 1, TF_END_FINISHED);
    PHASE("rec/y", "Pending in bj-a e2 x1");
    drive_release(&d);
}

/* ---- refusals ---- */

static void refuse(struct drive *d, uint64_t epoch)
{
    drive_ended(
        d, "bj-a", 1, epoch,
        (struct tf_ended){.end = TF_END_REFUSED, .reason = TF_REASON_CPU_MEMORY, .message = "no room"});
}

static void test_a_refusal_is_not_repeated_at_once(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    refuse(&d, 1);
    PHASE("rec/x", "Pending");
    drive_elapse(&d, 999);
    PHASE("rec/x", "Pending");
    drive_elapse(&d, 1);
    PHASE("rec/x", "Pending in bj-a e2 x1");
    refuse(&d, 2);
    drive_elapse(&d, 1999);
    PHASE("rec/x", "Pending");
    drive_elapse(&d, 1);
    PHASE("rec/x", "Pending in bj-a e3 x1");
    CU_ASSERT_EQUAL(drive_record(&d, "rec/x")->refusals.items[0].times, 2);
    drive_report(&d, "bj-a", 1, 3, TF_PHASE_STARTING, 0);
    CU_ASSERT_EQUAL(drive_record(&d, "rec/x")->refusals.count, 1);
    drive_report(&d, "bj-a", 1, 3, TF_PHASE_RUNNING, 1);
    CU_ASSERT_EQUAL(drive_record(&d, "rec/x")->refusals.count, 0);
    drive_release(&d);
}

/* What no engine will start goes round ever more slowly: neither that a ledger accepted it nor the profiles
 * that the attempt itself changes end the wait. */
static void test_an_engines_refusal_lasts(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    for (uint64_t epoch = 1; epoch <= 4; epoch++) {
        int64_t wait = 1000 << (epoch - 1);
        drive_report(&d, "bj-a", 1, epoch, TF_PHASE_STARTING, 0);
        drive_ended(&d, "bj-a", 1, epoch,
                    (struct tf_ended){
                        .end = TF_END_REFUSED, .reason = TF_REASON_ENGINE, .message = "a command is needed"});
        drive_profile(&d, "bj-a", "3x8");
        drive_profile(&d, "bj-a", "4x8");
        drive_elapse(&d, wait - 1);
        PHASE("rec/x", "Pending");
        drive_elapse(&d, 1);
        CU_ASSERT_EQUAL(drive_record(&d, "rec/x")->placements.count, 1);
    }
    drive_release(&d);
}

static void test_a_refusal_leads_to_another_subcluster(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_cluster_up(&d, "gz-b", "1x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    tf_buf_clear(&d.log);
    refuse(&d, 1);
    drive_expect(&d, "bj-a CHANGE 3: stored #1 e1\ngz-b CHANGE 2: place rec/x e2 1 H800\n");
    drive_release(&d);
}

static void test_a_changed_profile_ends_the_wait(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    refuse(&d, 1);
    PHASE("rec/x", "Pending");
    drive_profile(&d, "bj-a", "5x8");
    PHASE("rec/x", "Pending in bj-a e2 x1");
    drive_release(&d);
}

/* The wall clock jumps; a new leader goes by what is left of the stored moment, but never longer than the
 * wait. */
static void test_a_refusal_outlives_the_leader(void)
{
    static const struct {
        int64_t jump, waits;
    } cases[] = {{0, 600}, {-3600000, 1000}, {3600000, 0}};
    for (size_t i = 0; i < TF_ARRAY_LEN(cases); i++) {
        struct drive d;
        drive_init(&d);
        drive_cluster_up(&d, "bj-a", "4x8");
        drive_submit(&d, "rec/x", "n=1 gpus=8");
        refuse(&d, 1);
        drive_elapse(&d, 400);
        d.now.wall.ms += cases[i].jump;
        drive_crash(&d);
        drive_attach(&d, "bj-a", "north");
        drive_profile(&d, "bj-a", "4x8");
        PHASE("rec/x", cases[i].waits ? "Pending" : "Pending in bj-a e2 x1");
        drive_release(&d);
    }
}

static void test_a_wall_jump_does_not_shorten_the_wait(void)
{
    struct drive d;
    drive_init(&d);
    drive_cluster_up(&d, "bj-a", "4x8");
    drive_submit(&d, "rec/x", "n=1 gpus=8");
    refuse(&d, 1);
    d.now.wall.ms += 3600 * TF_SECOND;
    drive_elapse(&d, 999);
    drive_barrier(&d);
    PHASE("rec/x", "Pending");
    drive_elapse(&d, 1);
    PHASE("rec/x", "Pending in bj-a e2 x1");
    drive_release(&d);
}

/* ---- budget ---- */

static void test_a_small_budget_reaches_the_same(void)
{
    struct drive d;
    drive_init(&d);
    d.settings.decision_budget = 2;
    drive_crash(&d);
    for (int i = 0; i < 6; i++) {
        char name[16], words[32];
        snprintf(name, sizeof name, "rec/j%d", i);
        snprintf(words, sizeof words, "n=1 gpus=%d", 3 + i);
        drive_submit(&d, name, words);
    }
    d.hold_continue = true;
    drive_cluster_up(&d, "bj-a", "3x8");
    drive_cluster_up(&d, "gz-b", "3x8");
    int rounds = 0;
    for (; d.wants_continue; rounds++)
        drive_continue(&d);
    CU_ASSERT(rounds >= 1 && rounds < 20);
    PHASE("rec/j0", "Pending in bj-a e1 x1");
    PHASE("rec/j5", "Pending in gz-b e6 x1");
    drive_release(&d);
}

/* Many waiting jobs of few shapes: what failed for one is not tried for the next. */
static void test_a_shape_fails_once(void)
{
    struct drive d;
    drive_init(&d);
    d.settings.decision_budget = 5;
    drive_crash(&d);
    drive_cluster_up(&d, "bj-a", "1x4");
    d.hold_continue = true;
    for (int i = 0; i < 50; i++) {
        char name[16];
        snprintf(name, sizeof name, "rec/j%02d", i);
        drive_submit(&d, name, "n=1 gpus=8");
        CU_ASSERT_FALSE(d.wants_continue);
    }
    drive_profile(&d, "bj-a", "2x4");
    CU_ASSERT_FALSE(d.wants_continue);
    drive_profile(&d, "bj-a", "2x4 1x8");
    PHASE("rec/j00", "Pending in bj-a e1 x1");
    PHASE("rec/j01", "Pending");
    drive_release(&d);
}

/* What may still grow is tried behind what was placed after it. Where it then finds less than it has, it
 * keeps what it has: nothing of it becomes free for others. */
static void test_raising_gives_nothing_away(void)
{
    struct drive d;
    drive_init(&d);
    drive_submit(&d, "rec/a", "min=2 max=4 step=2 gpus=8 cpu=100000");
    drive_submit(&d, "rec/b", "n=2 gpus=0 cpu=28000");
    drive_cluster_up(&d, "bj-a", "2x8");
    PHASE("rec/a", "Pending in bj-a e1 x2");
    PHASE("rec/b", "Pending in bj-a e2 x2");
    drive_submit(&d, "rec/c", "n=1 gpus=8");
    PHASE("rec/c", "Pending");
    drive_release(&d);
}

/* ---- what is left is told to be free for running jobs ---- */

static void test_considered_is_told_after_the_placements(void)
{
    struct drive d;
    drive_init(&d);
    d.counts_free = true;
    drive_submit(&d, "rec/x", "n=2 gpus=8");
    drive_attach(&d, "bj-a", "north");
    tf_buf_clear(&d.log);
    drive_profile(&d, "bj-a", "4x8");
    uint64_t owner = drive_find(&d, "bj-a")->owner;
    char line[120];
    snprintf(line, sizeof line, "bj-a CHANGE 2: place rec/x e1 2 H800\nbj-a CONSIDERED %llu.1\n",
             (unsigned long long)owner);
    drive_expect(&d, line);
    drive_submit(&d, "rec/y", "n=1 gpus=8"); /* a generation is considered once */
    drive_expect(&d, "reply 2: created #2\nbj-a CHANGE 3: place rec/y e2 1 H800\n");
    drive_profile(&d, "bj-a", "2x0"); /* nothing is free: nothing to tell */
    drive_expect(&d, "");
    drive_release(&d);
}

static const struct suite_test tests[] = {
    {"queue order", test_queue_order},
    {"what does not fit blocks nobody", test_what_does_not_fit_blocks_nobody},
    {"preference", test_preference},
    {"preference by cost", test_preference_by_cost},
    {"cordoned and unknown places", test_cordoned_and_unknown_places},
    {"cores first, then steps", test_cores_first_then_steps},
    {"what was considered is told after the placements", test_considered_is_told_after_the_placements},
    {"one grower takes what it can use", test_one_grower_takes_what_it_can_use},
    {"two submits race for one slot", test_two_submits_race_for_one_slot},
    {"a flight lands with the profile that reflects it",
     test_a_flight_lands_with_the_profile_that_reflects_it},
    {"deltas land flights, too", test_deltas_land_flights_too},
    {"another term's profile reflects nothing", test_another_terms_profile_reflects_nothing},
    {"an end gives the flight back", test_an_end_gives_the_flight_back},
    {"a refusal is not repeated at once", test_a_refusal_is_not_repeated_at_once},
    {"an engine's refusal lasts", test_an_engines_refusal_lasts},
    {"a refusal leads to another subcluster", test_a_refusal_leads_to_another_subcluster},
    {"a changed profile ends the wait", test_a_changed_profile_ends_the_wait},
    {"a refusal outlives the leader", test_a_refusal_outlives_the_leader},
    {"a wall jump does not shorten the wait", test_a_wall_jump_does_not_shorten_the_wait},
    {"a small budget reaches the same", test_a_small_budget_reaches_the_same},
    {"a shape fails once", test_a_shape_fails_once},
    {"raising gives nothing away", test_raising_gives_nothing_away},
};

int main(void)
{
    return suite_run("place", tests, TF_ARRAY_LEN(tests));
}
