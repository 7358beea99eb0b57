/* SPDX-License-Identifier: Apache-2.0 */
/* Owns uncordon. */
#include "tools/fedctl/cordon.h"

static int run(struct fedctl *ctl)
{
    return cordon_words(ctl, false);
}

const struct verb verb_uncordon = {
    .name = "uncordon",
    .usage = "cluster NAME...",
    .help = "Let new work come to clusters again",
    .examples = "fedctl uncordon cluster bj-a\n",
    .run = run,
};
