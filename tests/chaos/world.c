/* SPDX-License-Identifier: Apache-2.0 */
/* Random runs of whole federations in virtual time: the production cores among simulated stores, networks and
 * engines, with faults (tools/fedsim/chaos.h). As a test it runs a bounded number of seeds; by hand:
 *
 *     test_chaos_world --seeds 1..5000         many seeds; the first breach of each kind is shown
 *     test_chaos_world --seed 17 --trace       one run, with all that happens in it */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tests/support/suite.h"
#include "tools/fedsim/chaos.h"
#include "tools/fedsim/situations.h"

#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

enum { SEEDS = 300, TAIL = 60 };

/* ---- an assertion in a core ends the program: it must not take the seed with it ---- */

static char last_words[80];

static void on_abort(int signal_number)
{
    (void)signal_number;
    if (write(STDERR_FILENO, last_words, strlen(last_words)) < 0)
        _exit(1);
}

static void note_seed(uint64_t seed)
{
    snprintf(last_words, sizeof last_words,
             "seed %" PRIu64 ": aborted, repeat it with: --seed %" PRIu64 " --trace\n", seed, seed);
    signal(SIGABRT, on_abort);
}

static bool run(uint64_t seed, bool aloud, uint64_t tail, struct sim_chaos_result *result)
{
    struct sim_chaos_options options = {.seed = seed, .aloud = aloud, .tail = tail};
    note_seed(seed);
    sim_chaos_run(&options, result);
    if (result->breached)
        printf("seed %" PRIu64 ": %s\n    repeat it with: --seed %" PRIu64 " --trace\n", seed, result->breach,
               seed);
    return !result->breached;
}

/* ---- as a test ---- */

static void many_seeds(void)
{
    uint64_t first = suite_seed(1);
    size_t rounds = suite_rounds(SEEDS), breaches = 0;
    struct tf_situations reached = {0};
    for (uint64_t seed = first; seed < first + rounds && breaches < 3; seed++) {
        struct sim_chaos_result result;
        breaches += !run(seed, false, breaches == 0 ? TAIL : 0, &result);
        tf_situations_add(&reached, &result.reached);
    }
    CU_ASSERT_EQUAL(breaches, 0);
    CU_ASSERT(sim_situations_print(stdout, &reached, rounds));
}

/* The same seed is the same run, bit for bit; another is another. */
static void same_seed_same_run(void)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct sim_chaos_result first, second, other;
        run(seed, false, 0, &first);
        run(seed, false, 0, &second);
        run(seed + 1000, false, 0, &other);
        CU_ASSERT_EQUAL(first.hash, second.hash);
        CU_ASSERT_EQUAL(first.events, second.events);
        CU_ASSERT_NOT_EQUAL(first.hash, other.hash);
    }
}

static const struct suite_test tests[] = {
    {"same_seed_same_run", same_seed_same_run},
    {"many_seeds", many_seeds},
};

/* ---- by hand ---- */

struct totals {
    uint64_t runs, breaches, events, stale;
    struct audit_counts counts;
    uint64_t faults[SIM_FAULTS];
    struct tf_situations reached;
};

static void add(struct totals *t, const struct sim_chaos_result *r)
{
    t->runs++;
    t->breaches += r->breached;
    t->events += r->events;
    t->stale += r->stale_messages;
    t->counts.starts += r->counts.starts;
    t->counts.stops += r->counts.stops;
    t->counts.placements += r->counts.placements;
    t->counts.refusals += r->counts.refusals;
    t->counts.submits += r->counts.submits;
    t->counts.deletes += r->counts.deletes;
    t->counts.archived += r->counts.archived;
    t->counts.waiting_at_rest += r->counts.waiting_at_rest;
    t->counts.running_at_rest += r->counts.running_at_rest;
    for (size_t f = 0; f < SIM_FAULTS; f++)
        t->faults[f] += r->faults_made[f];
    tf_situations_add(&t->reached, &r->reached);
}

static void print(const struct totals *t)
{
    const struct audit_counts *c = &t->counts;
    printf("%" PRIu64 " runs, %" PRIu64 " with a breach, %" PRIu64 " events\n", t->runs, t->breaches,
           t->events);
    printf("submits %" PRIu64 ", deletes %" PRIu64 ", placements %" PRIu64 ", refusals %" PRIu64
           ", starts %" PRIu64 ", stops %" PRIu64 ", archived %" PRIu64 "; at rest %" PRIu64
           " running, %" PRIu64 " waiting\n",
           c->submits, c->deletes, c->placements, c->refusals, c->starts, c->stops, c->archived,
           c->running_at_rest, c->waiting_at_rest);
    for (size_t f = 0; f < SIM_FAULTS; f++)
        printf("%s%s %" PRIu64, f ? ", " : "faults: ", sim_fault_name((enum sim_fault)f), t->faults[f]);
    printf("; %" PRIu64 " messages of deposed leaders\n", t->stale);
}

static int run_range(const char *range)
{
    int64_t from, to;
    struct tf_error err = TF_ERROR_INIT;
    const char *dots = strstr(range, "..");
    TF_AUTO_FREE char *first = tf_strndup(range, dots ? (size_t)(dots - range) : strlen(range));
    if (tf_parse_int64(first, 0, INT64_MAX, &from, &err) ||
        tf_parse_int64(dots ? dots + 2 : first, from, INT64_MAX, &to, &err)) {
        fprintf(stderr, "--seeds takes A..B: %s\n", err.text);
        return 2;
    }
    struct totals totals = {0};
    for (int64_t seed = from; seed <= to; seed++) {
        struct sim_chaos_result result;
        run((uint64_t)seed, false, totals.breaches == 0 ? TAIL : 0, &result);
        add(&totals, &result);
        fflush(stdout);
    }
    print(&totals);
    bool enough = sim_situations_print(stdout, &totals.reached, totals.runs);
    return totals.breaches > 0 || !enough;
}

static int run_one(const char *word, bool aloud)
{
    int64_t seed;
    struct tf_error err = TF_ERROR_INIT;
    struct sim_chaos_result result;
    if (tf_parse_int64(word, 0, INT64_MAX, &seed, &err)) {
        fprintf(stderr, "--seed takes a number: %s\n", err.text);
        return 2;
    }
    bool good = run((uint64_t)seed, aloud, aloud ? 0 : TAIL, &result);
    printf("seed %" PRId64 ": %s, %" PRIu64 " events, at rest after %" PRId64 " s, hash %016" PRIx64 "\n",
           seed, good ? "no breach" : "breach", result.events, result.rested_ms / 1000, result.hash);
    return !good;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0)
        return run_range(argv[2]);
    if ((argc == 3 || argc == 4) && strcmp(argv[1], "--seed") == 0)
        return run_one(argv[2], argc == 4 && strcmp(argv[3], "--trace") == 0);
    if (argc > 1) {
        fprintf(stderr, "usage: %s [--seeds A..B | --seed N [--trace]]\n", argv[0]);
        return 2;
    }
    return suite_run("chaos/world", tests, TF_ARRAY_LEN(tests));
}
