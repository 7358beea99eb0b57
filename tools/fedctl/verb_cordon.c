/* SPDX-License-Identifier: Apache-2.0 */
/* Owns cordon. */
#include "common/base/cleanup.h"
#include "tools/fedctl/cordon.h"

static const struct option options[] = {
    {'c',
     "CLUSTER",
     {.key = "cluster", TF_NAME(struct options, cluster), .help = "of nodes named without one"}},
    OPTION_NODE_LABELS,
    OPTION_REASON("why, for everybody who meets it"),
    {0,
     NULL,
     {.key = "suspect",
      TF_BOOL(struct options, suspect),
      .help = "of GPUs: not known to be bad, but to be looked at"}},
};

static int run(struct fedctl *ctl)
{
    return cordon_words(ctl, true);
}

const struct verb verb_cordon = {
    .name = "cordon",
    .usage = "node CLUSTER/NODE... [--reason TEXT]\nnode -l SELECTOR [-c CLUSTER] [--reason TEXT]\ngpu "
             "CLUSTER/NODE:INDEX... [--suspect] [--reason TEXT]\ndomain CLUSTER/PATH... [--reason "
             "TEXT]\ncluster NAME... [--reason TEXT]",
    .help = "Keep new work away from nodes, GPUs, domains or clusters",
    .more =
        "What runs there goes on. Its subcluster remembers the cordon of a node or a GPU, and counts it as "
        "free no more:\n"
        "of a node with one bad GPU the others stay usable. GPUs are bad, or (--suspect) only suspect: both "
        "take no "
        "new\nwork until `fedctl uncordon gpu`. Starts that fail on a GPU again and again, of jobs that run "
        "elsewhere, make\nit suspect, too (gpuSuspectAfter); `fedctl get gpus` says by whose word. Waiting "
        "jobs see the cordon in `fedctl explain`.\n"
        "A domain, or the nodes with certain labels, is cordoned as one: nodes that come to it later are, "
        "too, "
        "and it\nends as one.",
    .examples = "fedctl cordon node bj-a/n3 --reason \"fan, INC-4711\"\n"
                "# One GPU; the other seven go on\n"
                "fedctl cordon gpu bj-a/n3:5 --reason \"XID 79\"\n"
                "fedctl cordon gpu bj-a/n3:0-3,6\n"
                "fedctl cordon gpu bj-a/n3:2 --suspect --reason \"slow in the last nightly\"\n"
                "fedctl cordon domain bj-a/rdma-pod-3/switch-12 --reason \"optics\"\n"
                "fedctl cordon cluster bj-a --reason \"switch firmware\"\n"
                "# And back\n"
                "fedctl uncordon node bj-a/n3\n",
    .options = OPTION_LIST(options),
    .run = run,
};
