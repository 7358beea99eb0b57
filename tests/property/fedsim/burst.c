/* SPDX-License-Identifier: Apache-2.0 */
/* The same urgent burst a hundred times: the same few jobs must not pay for it each time (DESIGN.md §8.2:
 * what earlier evictions have cost counts), nor the same one of equal subclusters. Random fleets, bursts and
 * times between them: farther apart than lossCap, so that all lose the same, and much closer together, when
 * whoever has just begun again loses least. */
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "tests/support/suite.h"
#include "tools/fedsim/play/play.h"

#include <inttypes.h>
#include <stdio.h>

enum { BURSTS = 100, ROUNDS = 6, MILLION = 1000000 };

struct burst {
    int64_t clusters, nodes;     /* of each */
    int64_t jobs, size, minutes; /* of one node each; nodes it takes; between two */
};

static char *clusters_text(const struct burst *b)
{
    struct tf_buf text = TF_BUF_INIT;
    for (int64_t i = 0; i < b->clusters; i++)
        tf_buf_fmt(&text,
                   "  - {name: c%" PRId64 ", nodes: [{count: %" PRId64
                   ", prefix: n, model: H800, gpus: 8}]}\n",
                   i, b->nodes);
    return tf_buf_take(&text);
}

static char *scenario_text(const struct burst *b)
{
    TF_AUTO_FREE char *clusters = clusters_text(b);
    return tf_asprintf(
        "name: burst\n"
        "clusters:\n"
        "%s"
        "classes: {online: 900, offline: 100}\n"
        "jobs:\n"
        "  - {at: {from: 0s, every: 1s, count: %" PRId64 "}, tenant: \"d{k}\", name: b,\n"
        "     spec: {priority: offline, instance: {gpus: 8}}}\n"
        "  - {at: {from: 3h, every: %" PRId64 "m, count: %d}, tenant: feed, name: \"u-{k}\", run: 5m,\n"
        "     spec: {priority: online, elastic: {min: %" PRId64 ", max: %" PRId64 ", step: 1},\n"
        "            instance: {gpus: 8}}}\n"
        "until: %" PRId64 "m\n",
        clusters, b->jobs, b->minutes, BURSTS, b->size, b->size, 240 + b->minutes * BURSTS);
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
            printf("%" PRId64 " jobs in %" PRId64 " subclusters, bursts of %" PRId64 " nodes every %" PRId64
                   " min: job %" PRId64 " was evicted %" PRId64 " times, and its share is %" PRId64 "\n",
                   b->jobs, b->clusters, b->size, b->minutes, k, evictions, most - 1);
    }
}

/* Each is hit as often as the others, to a few: a burst goes to one of them as a whole. */
static void check_turns(const struct play_result *result, const struct burst *b)
{
    int64_t share = BURSTS * b->size / b->clusters;
    for (int64_t i = 0; i < b->clusters; i++) {
        TF_AUTO_FREE char *name = tf_asprintf("clusters.c%" PRId64 ".evictions", i);
        int64_t off = figure(result, name) - share;
        CU_ASSERT_TRUE(off <= 2 * b->size && off >= -2 * b->size);
        if (off > 2 * b->size || off < -2 * b->size)
            printf("%" PRId64 " subclusters, bursts of %" PRId64 " nodes every %" PRId64 " min: %" PRId64
                   " evictions more than its share of %" PRId64 " in %" PRId64 "\n",
                   b->clusters, b->size, b->minutes, off, share, i);
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
    check_turns(&result, b);
    play_result_release(&result);
    scenario_release(&scenario);
}

static struct burst random_burst(struct tf_rng *rng, int64_t clusters)
{
    struct burst b = {.clusters = clusters, .nodes = tf_rng_range(rng, 3, 12)};
    b.jobs = clusters * b.nodes;
    b.minutes = tf_rng_below(rng, 2) ? tf_rng_range(rng, 7, 120) : tf_rng_range(rng, 121, 300);
    b.size = tf_rng_range(rng, 1, b.nodes - 1);
    return b;
}

static void everybody_pays_a_share(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(7));
    for (size_t i = 0; i < suite_rounds(ROUNDS) / suite_stride(3); i++) {
        struct burst b = random_burst(&rng, 1);
        play(&b);
    }
}

static void equal_subclusters_take_turns(void)
{
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(8));
    for (size_t i = 0; i < suite_rounds(ROUNDS) / suite_stride(3); i++) {
        struct burst b = random_burst(&rng, tf_rng_range(&rng, 2, 3));
        play(&b);
    }
}

static const struct suite_test tests[] = {
    {"everybody_pays_a_share", everybody_pays_a_share},
    {"equal_subclusters_take_turns", equal_subclusters_take_turns},
};

int main(void)
{
    return suite_run("burst", tests, TF_ARRAY_LEN(tests));
}
