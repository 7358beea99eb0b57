/* SPDX-License-Identifier: Apache-2.0 */
/* Owns uncordon. */
#include "common/base/cleanup.h"
#include "tools/fedctl/cordon.h"

static const struct option options[] = {
    {'c',
     "CLUSTER",
     {.key = "cluster", TF_NAME(struct options, cluster), .help = "of nodes named without one"}},
    {'l',
     "SELECTOR",
     {.key = "selector",
      TF_STRING(struct options, selector),
      .help = "ends the drain and the cordon of these labels"}},
};

static int run(struct fedctl *ctl)
{
    return cordon_words(ctl, false);
}

const struct verb verb_uncordon = {
    .name = "uncordon",
    .usage = "node CLUSTER/NODE...\nnode -l SELECTOR [-c CLUSTER]\ngpu CLUSTER/NODE:INDEX...\ndomain "
             "CLUSTER/PATH...\ncluster NAME...",
    .help = "Let new work come to nodes, GPUs, domains or clusters again",
    .more =
        "Ends the drain of a node, too, and says what that undoes: moves that have begun go on, others are\n"
        "taken back. Of a domain or a cluster, the drain and the cordon of all of its nodes, but none that\n"
        "was ordered for a node alone, or for another domain: those are named.",
    .examples = "fedctl uncordon node bj-a/n3\nfedctl uncordon gpu bj-a/n3:5\nfedctl uncordon cluster bj-a\n",
    .options = OPTION_LIST(options),
    .run = run,
};
