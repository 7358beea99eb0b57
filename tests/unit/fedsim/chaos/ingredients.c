/* SPDX-License-Identifier: Apache-2.0 */
/* What random runs are made of is counted right, and all of it is drawn. */
#include "tests/support/suite.h"
#include "tools/fedsim/chaos/chaos.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "name: counted\n"
    "world: {fedds: 2}\n"
    "clusters:\n"
    "  - {name: a, subclusterds: 2, clockDriftPpm: 50, nodes: [{count: 2, model: H800, gpus: 8}]}\n"
    "  - {name: b, subclusterds: 2, nodes: [{count: 2, model: H800, gpus: 8}]}\n"
    "jobs: [{at: 0s, tenant: t, name: x, chance: {deaf: 50%}, spec: {priority: train, instance: {}}}]\n"
    "events: [{at: 1m, delete: t/x}]\n"
    "faults:\n"
    "  - {at: 1m, cluster: a, link: cut, for: 1m}\n"
    "  - {at: 1m, cluster: a, link: cutUp, for: 1m}\n"
    "  - {at: 1m, crash: fedd}\n"
    "  - {at: 1m, crash: fedd, before: action 0}\n"
    "  - {at: 1m, crash: subclusterd/b, before: action 2}\n"
    "  - {at: 1m, store: {slow: 1s, late: 10%}, for: 1m}\n"
    "  - {at: 2m, store: {restored: {to: 1m}}}\n"
    "  - {at: 2m, store/b: {restored: {to: 1m}}}\n"
    "  - {at: 1m, node: a/n0, state: unreachable, for: 1s}\n"
    "  - {at: 1m, node: a/n0, state: unreachable, for: 1m}\n";

static void test_they_are_counted(void)
{
    static const struct {
        enum chaos_ingredient what;
        uint64_t count;
    } some[] = {{CHAOS_TWO_FEDDS, 1}, {CHAOS_TWO_SUBS, 2},      {CHAOS_DRIFT, 1},    {CHAOS_DEAF, 1},
                {CHAOS_DELETE, 1},    {CHAOS_CUT, 1},           {CHAOS_CUT_UP, 1},   {CHAOS_CRASH, 1},
                {CHAOS_SLOW, 1},      {CHAOS_CRASH_BETWEEN, 2}, {CHAOS_TOO_LATE, 1}, {CHAOS_OLD, 1},
                {CHAOS_OLD_LOCAL, 1}, {CHAOS_UNSEEN, 2},        {CHAOS_FLAPS, 1}};
    struct scenario scenario;
    struct tf_conf_problems problems = {0};
    uint64_t counts[CHAOS_INGREDIENTS] = {0};
    CU_ASSERT_EQUAL_FATAL(scenario_read(text, strlen(text), &scenario, &problems), 0);
    chaos_ingredients_count(&scenario, counts);
    for (size_t i = 0; i < TF_ARRAY_LEN(some); i++) {
        CU_ASSERT_EQUAL(counts[some[i].what], some[i].count);
        counts[some[i].what] = 0;
    }
    for (size_t i = 0; i < CHAOS_INGREDIENTS; i++)
        CU_ASSERT_EQUAL(counts[i], 0);
    scenario_release(&scenario);
}

static void test_all_are_drawn(void)
{
    enum { SEEDS = 300 };
    uint64_t counts[CHAOS_INGREDIENTS] = {0}, first = suite_seed(1);
    for (uint64_t seed = first; seed < first + SEEDS; seed++) {
        struct scenario scenario;
        chaos_draw(seed, CHAOS_SMALL, &scenario);
        chaos_ingredients_count(&scenario, counts);
        scenario_release(&scenario);
    }
    CU_ASSERT_EQUAL(chaos_ingredients_print(stdout, counts, 1), 0);
}

static void test_what_is_rare_is_marked(void)
{
    char *printed = NULL;
    size_t len = 0;
    uint64_t counts[CHAOS_INGREDIENTS];
    for (size_t i = 0; i < CHAOS_INGREDIENTS; i++)
        counts[i] = 7;
    counts[CHAOS_DEAF] = 6;
    FILE *out = open_memstream(&printed, &len);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(chaos_ingredients_print(out, counts, 7), 1);
    fclose(out);
    CU_ASSERT_PTR_NOT_NULL(strstr(printed, "         6  jobs: do not hear the polite stop   <-- too rare\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(printed, "         7  daemon: killed\n"));
    free(printed);
}

static const struct suite_test tests[] = {
    {"they are counted", test_they_are_counted},
    {"all are drawn", test_all_are_drawn},
    {"what is rare is marked", test_what_is_rare_is_marked},
};

int main(void)
{
    return suite_run("chaos ingredients", tests, TF_ARRAY_LEN(tests));
}
