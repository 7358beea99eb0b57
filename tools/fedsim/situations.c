/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedsim/situations.h"

#include <inttypes.h>

enum { LEAST = 20, MANY_RUNS = 5000, SOME_RUNS = 100 };

bool sim_situations_print(FILE *out, const struct tf_situations *reached, uint64_t runs)
{
    uint64_t least = runs >= MANY_RUNS ? runs * LEAST / MANY_RUNS : 1;
    uint64_t expected = 0, rare = 0;
    for (int s = 0; s < TF_SITUATION_COUNT; s++) {
        uint64_t count = reached->counts[s];
        bool counts = tf_situation_is_expected((enum tf_situation)s);
        expected += counts;
        rare += counts && count < least;
        fprintf(out, "%10" PRIu64 "  %s%s\n", count, tf_situation_words((enum tf_situation)s),
                !counts         ? "   (not expected)"
                : count < least ? "   <-- too rare"
                                : "");
    }
    fprintf(out,
            "%" PRIu64 " of %" PRIu64 " expected situations were reached at least %" PRIu64
            " times in %" PRIu64 " runs\n",
            expected - rare, expected, least, runs);
    if (runs >= MANY_RUNS)
        return rare == 0;
    return runs < SOME_RUNS || rare <= expected / 10;
}
