/* SPDX-License-Identifier: Apache-2.0 */
/* Random runs of whole federations in virtual time (tools/fedsim/chaos): a bounded number of seeds, and that
 * runs are what they promise to be: the same again, drawn whole, made smaller. With arguments it is `fedsim
 * chaos`:
 *
 *     test_chaos_world --seeds 1..5000         many seeds
 *     test_chaos_world --seed 17 --trace       one run, with all that happens in it */
#include "common/base/cleanup.h"
#include "tests/support/suite.h"
#include "tools/fedsim/chaos/chaos.h"
#include "tools/fedsim/program/fedsim.h"

#include <inttypes.h>

enum { SEEDS = 300, TAIL = 60 };

static bool run(uint64_t seed, uint64_t tail, struct chaos_result *result)
{
    chaos_run(&(struct chaos_options){.seed = seed, .tail = tail}, result);
    if (result->breached)
        printf("seed %" PRIu64 ": %s\n    repeat it: fedsim chaos --seed %" PRIu64 " --trace\n", seed,
               result->breach, seed);
    return !result->breached;
}

static void many_seeds(void)
{
    uint64_t first = suite_seed(1);
    size_t rounds = suite_rounds(SEEDS), breaches = 0;
    for (uint64_t seed = first; seed < first + rounds && breaches < 3; seed++) {
        struct chaos_result result;
        breaches += !run(seed, breaches == 0 ? TAIL : 0, &result);
    }
    CU_ASSERT_EQUAL(breaches, 0);
}

static void medium_ones(void)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct chaos_result result;
        chaos_run(&(struct chaos_options){.seed = seed, .size = CHAOS_MEDIUM, .tail = TAIL}, &result);
        CU_ASSERT_FALSE(result.breached);
    }
}

/* The same seed is the same run, bit for bit; another is another. */
static void same_seed_same_run(void)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct chaos_result first, second, other;
        run(seed, 0, &first);
        run(seed, 0, &second);
        run(seed + 1000, 0, &other);
        CU_ASSERT_EQUAL(first.hash, second.hash);
        CU_ASSERT_EQUAL(first.events, second.events);
        CU_ASSERT_NOT_EQUAL(first.hash, other.hash);
    }
}

/* What is drawn is all there is: written to a file and read again it is the same run. */
static void a_file_is_the_same_run(void)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct scenario drawn, read;
        struct tf_conf_problems problems = {0};
        struct chaos_result first, second;
        TF_AUTO_BUF text = TF_BUF_INIT;
        chaos_draw(seed, CHAOS_SMALL, &drawn);
        scenario_yaml(&drawn, &text);
        CU_ASSERT_EQUAL_FATAL(scenario_read(tf_buf_text(&text), text.len, &read, &problems), 0);
        CU_ASSERT_TRUE(scenario_eq(&drawn, &read));
        chaos_play(&drawn, &(struct chaos_options){0}, &first);
        chaos_play(&read, &(struct chaos_options){0}, &second);
        CU_ASSERT_EQUAL(first.hash, second.hash);
        scenario_release(&drawn);
        scenario_release(&read);
        tf_conf_problems_release(&problems);
    }
}

static void kinds_have_no_names(void)
{
    TF_AUTO_FREE char *one =
        chaos_kind("at 12.345 s: I2: instance 1a2b3c/7/0.1 starts in bj-a while it lives");
    TF_AUTO_FREE char *two =
        chaos_kind("at 1.005 s: I2: instance 99ffee/17/2.3 starts in gz-b while it lives");
    TF_AUTO_FREE char *three =
        chaos_kind("at 1.005 s: I3: instance 99ffee/17/2.3 starts in gz-b while it lives");
    CU_ASSERT_STRING_EQUAL(one, " I2: instance # starts in # while it lives");
    CU_ASSERT_STRING_EQUAL(one, two);
    CU_ASSERT_STRING_NOT_EQUAL(one, three);
}

/* Jobs that go on failing for longer than a world may take to come to rest. What has nothing to do with it
 * goes; what is left still breaks it. */
static void a_failing_run_is_made_smaller(void)
{
    struct scenario scenario;
    struct tf_complaints complaints = {0};
    chaos_draw(7, CHAOS_SMALL, &scenario);
    TF_AUTO_FREE char *none = chaos_attempt(&scenario);
    CU_ASSERT_PTR_NULL(none);
    CU_ASSERT_EQUAL(chaos_shrink(&scenario, "I2: something else", 10), 0);
    tf_vec_each (job, &scenario.jobs)
        job->spec.retry_limit = 100, job->chance.fail = 10000, job->spec.retry_backoff = TF_MINUTE;
    CU_ASSERT_TRUE(scenario_check(&scenario, &complaints));
    size_t jobs = scenario.jobs.count, faults = scenario.faults.count;
    TF_AUTO_FREE char *breach = chaos_attempt(&scenario);
    CU_ASSERT_PTR_NOT_NULL_FATAL(breach);
    TF_AUTO_FREE char *kind = chaos_kind(breach);
    CU_ASSERT(chaos_shrink(&scenario, kind, 200) > 1);
    CU_ASSERT(scenario.jobs.count == 1 && jobs > 1 && scenario.faults.count <= faults);
    TF_AUTO_FREE char *again = chaos_attempt(&scenario);
    CU_ASSERT_PTR_NOT_NULL_FATAL(again);
    TF_AUTO_FREE char *same = chaos_kind(again);
    CU_ASSERT_STRING_EQUAL(same, kind);
    scenario_release(&scenario);
}

static const struct suite_test tests[] = {
    {"same_seed_same_run", same_seed_same_run},
    {"a_file_is_the_same_run", a_file_is_the_same_run},
    {"kinds_have_no_names", kinds_have_no_names},
    {"a_failing_run_is_made_smaller", a_failing_run_is_made_smaller},
    {"medium_ones", medium_ones},
    {"many_seeds", many_seeds},
};

int main(int argc, char **argv)
{
    if (argc > 1) {
        argv[0] = (char[]){"fedsim chaos"};
        return fedsim_chaos.run(argc, argv);
    }
    return suite_run("chaos/world", tests, TF_ARRAY_LEN(tests));
}
