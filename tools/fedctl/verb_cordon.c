/* SPDX-License-Identifier: Apache-2.0 */
/* Owns cordon. */
#include "common/base/cleanup.h"
#include "tools/fedctl/cordon.h"

static const struct option options[] = {
    {'r',
     "TEXT",
     {.key = "reason",
      TF_STRING(struct options, reason),
      .min = 1,
      .max = 500,
      .help = "why, for everybody who meets it"}},
};

static int run(struct fedctl *ctl)
{
    return cordon_words(ctl, true);
}

const struct verb verb_cordon = {
    .name = "cordon",
    .usage = "cluster NAME... [--reason TEXT]",
    .help = "Keep new work away from clusters",
    .more = "What runs there goes on. Waiting jobs see CLUSTER_CORDONED and the reason in `fedctl explain`.",
    .examples = "fedctl cordon cluster bj-a --reason \"switch firmware, INC-4711\"\n"
                "# And back\n"
                "fedctl uncordon cluster bj-a\n",
    .options = OPTION_LIST(options),
    .run = run,
};
