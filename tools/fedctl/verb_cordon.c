/* SPDX-License-Identifier: Apache-2.0 */
/* Owns cordon. */
#include "common/base/cleanup.h"
#include "tools/fedctl/cordon.h"

static const struct option options[] = {
    {'c',
     "CLUSTER",
     {.key = "cluster", TF_NAME(struct options, cluster), .help = "of nodes named without one"}},
    OPTION_REASON("why, for everybody who meets it"),
};

static int run(struct fedctl *ctl)
{
    return cordon_words(ctl, true);
}

const struct verb verb_cordon = {
    .name = "cordon",
    .usage = "node CLUSTER/NODE... [--reason TEXT]\ngpu CLUSTER/NODE:INDEX... [--reason TEXT]\ncluster "
             "NAME... [--reason TEXT]",
    .help = "Keep new work away from nodes, GPUs or clusters",
    .more =
        "What runs there goes on. Its subcluster remembers the cordon of a node or a GPU, and counts it as "
        "free no more:\n"
        "of a node with one bad GPU the others stay usable. Waiting jobs see the cordon in `fedctl explain`.",
    .examples = "fedctl cordon node bj-a/n3 --reason \"fan, INC-4711\"\n"
                "# One GPU; the other seven go on\n"
                "fedctl cordon gpu bj-a/n3:5 --reason \"XID 79\"\n"
                "fedctl cordon gpu bj-a/n3:0-3,6\n"
                "fedctl cordon cluster bj-a --reason \"switch firmware\"\n"
                "# And back\n"
                "fedctl uncordon node bj-a/n3\n",
    .options = OPTION_LIST(options),
    .run = run,
};
