/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedsim/situations.h"

#include <inttypes.h>

enum { LEAST = 20, MANY_RUNS = 5000, SOME_RUNS = 100 };

static uint64_t *sums_of(struct sim_situations *sum, const struct tf_situation *list)
{
    return list == tf_guard_situation_list ? sum->guard.counts
           : list == fed_situation_list    ? sum->fed.counts
                                           : sum->sub.counts;
}

void sim_situations_count(struct sim_situations *sum, struct tf_situations reached)
{
    uint64_t *sums = sums_of(sum, reached.list);
    for (size_t i = 0; i < reached.count; i++)
        sums[i] += reached.counts[i];
}

void sim_situations_add(struct sim_situations *sum, const struct sim_situations *more)
{
    sim_situations_count(sum, TF_SITUATIONS_OF(tf_guard, &more->guard));
    sim_situations_count(sum, TF_SITUATIONS_OF(fed, &more->fed));
    sim_situations_count(sum, TF_SITUATIONS_OF(sub, &more->sub));
}

struct tally {
    uint64_t least; /* so often each expected one should be taken */
    uint64_t expected, rare;
};

static void print_some(FILE *out, struct tf_situations reached, bool expected, struct tally *tally)
{
    for (size_t i = 0; i < reached.count; i++) {
        if (reached.list[i].expected != expected)
            continue;
        bool rare = expected && reached.counts[i] < tally->least;
        tally->expected += expected;
        tally->rare += rare;
        fprintf(out, "%10" PRIu64 "  %s%s\n", reached.counts[i], reached.list[i].words,
                !expected ? "   (not required)"
                : rare    ? "   <-- too rare"
                          : "");
    }
}

bool sim_situations_print(FILE *out, const struct sim_situations *reached, uint64_t runs)
{
    struct tally tally = {.least = runs >= MANY_RUNS ? runs * LEAST / MANY_RUNS : 1};
    struct tf_situations owners[] = {TF_SITUATIONS_OF(tf_guard, &reached->guard),
                                     TF_SITUATIONS_OF(fed, &reached->fed),
                                     TF_SITUATIONS_OF(sub, &reached->sub)};
    for (int expected = 1; expected >= 0; expected--)
        for (size_t i = 0; i < TF_ARRAY_LEN(owners); i++)
            print_some(out, owners[i], expected, &tally);
    fprintf(out,
            "%" PRIu64 " of %" PRIu64 " expected situations were reached at least %" PRIu64
            " times in %" PRIu64 " runs\n",
            tally.expected - tally.rare, tally.expected, tally.least, runs);
    if (runs >= MANY_RUNS)
        return tally.rare == 0;
    return runs < SOME_RUNS || tally.rare <= tally.expected / 10;
}
