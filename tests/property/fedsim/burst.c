/* SPDX-License-Identifier: Apache-2.0 */
/* The same urgent burst a hundred times: the same few jobs must not pay for it each time (DESIGN.md §8.2:
 * what earlier evictions have cost counts). Random fleets, bursts and times between them.
 *
 * The bursts are farther apart than lossCap, so that all have run for long enough to lose the same; within
 * it, whoever has just begun again loses least, and goes again. */
#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "tests/support/suite.h"
#include "tools/fedsim/play/play.h"

#include <inttypes.h>
#include <stdio.h>

enum { BURSTS = 100, ROUNDS = 4, MILLION = 1000000 };

struct burst {
    int64_t jobs, size, minutes; /* of one node each; nodes it takes; between two */
};

static char *scenario_text(const struct burst *b)
{
    return tf_asprintf(
        "name: burst\n"
        "clusters:\n"
        "  - {name: a, nodes: [{count: %" PRId64 ", prefix: n, model: H800, gpus: 8}]}\n"
        "classes: {online: 900, offline: 100}\n"
        "jobs:\n"
        "  - {at: {from: 0s, every: 1s, count: %" PRId64 "}, tenant: \"d{k}\", name: b,\n"
        "     spec: {priority: offline, instance: {gpus: 8}}}\n"
        "  - {at: {from: 3h, every: %" PRId64 "m, count: %d}, tenant: feed, name: \"u-{k}\", run: 5m,\n"
        "     spec: {priority: online, elastic: {min: %" PRId64 ", max: %" PRId64 ", step: 1},\n"
        "            instance: {gpus: 8}}}\n"
        "until: %" PRId64 "m\n",
        b->jobs, b->jobs, b->minutes, BURSTS, b->size, b->size, 240 + b->minutes * BURSTS);
}

static int64_t figure(const struct play_result *result, const char *name)
{
    int64_t millionths = -1;
    CU_ASSERT_EQUAL(report_figure(result->report, name, &millionths), 0);
    return millionths / MILLION;
}

static void check(const struct play_result *result, const struct burst *b)
{
    int64_t most = (BURSTS * b->size + b->jobs - 1) / b->jobs + 1;
    CU_ASSERT_EQUAL(figure(result, "evictions"), BURSTS * b->size);
    CU_ASSERT_EQUAL(figure(result, "victimsRedundant"), 0);
    for (int64_t k = 0; k < b->jobs; k++) {
        TF_AUTO_FREE char *name = tf_asprintf("tenants.d%" PRId64 ".evictions", k);
        int64_t evictions = figure(result, name);
        CU_ASSERT_TRUE(evictions <= most);
        if (evictions > most)
            printf("%" PRId64 " jobs, bursts of %" PRId64 " nodes every %" PRId64 " min: job %" PRId64
                   " was evicted %" PRId64 " times, and its share is %" PRId64 "\n",
                   b->jobs, b->size, b->minutes, k, evictions, most - 1);
    }
}

static void play(const struct burst *b)
{
    const struct play_options options = {.until = -1, .check = SIM_CHECK_END};
    TF_AUTO_FREE char *text = scenario_text(b);
    struct tf_conf_problems problems = {0};
    struct scenario scenario = {0};
    struct play_result result = {0};
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL_FATAL(scenario_read(text, strlen(text), &scenario, &problems), 0);
    CU_ASSERT_EQUAL_FATAL(scenario_play(&scenario, &options, &result, &err), 0);
    CU_ASSERT_TRUE(play_is_good(&result));
    check(&result, b);
    play_result_release(&result);
    scenario_release(&scenario);
}

static void everybody_pays_a_share(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(7));
    for (size_t i = 0; i < suite_rounds(ROUNDS); i++) {
        struct burst b = {.jobs = tf_rng_range(&rng, 3, 12), .minutes = tf_rng_range(&rng, 135, 300)};
        b.size = tf_rng_range(&rng, 1, b.jobs - 1);
        play(&b);
    }
}

static const struct suite_test tests[] = {{"everybody_pays_a_share", everybody_pays_a_share}};

int main(void)
{
    return suite_run("burst", tests, TF_ARRAY_LEN(tests));
}
