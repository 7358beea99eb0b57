/* SPDX-License-Identifier: Apache-2.0 */
/* Owns drain. What a drain is its subcluster knows; a domain or a cluster is one order to it. */
#include "common/base/cleanup.h"
#include "tools/fedctl/cordon.h"

static const struct option options[] = {
    {'c',
     "CLUSTER",
     {.key = "cluster", TF_NAME(struct options, cluster), .help = "of nodes and domains named without one"}},
    {0,
     "TIME",
     {.key = "deadline",
      TF_DURATION(struct options, deadline),
      .min = 1000,
      .max = (int64_t)365 * 24 * 3600 * 1000,
      .flags = TF_ROW_ZERO,
      .help = "what is still there after so long is stopped; absent = nothing is ever stopped"}},
    {0,
     "N",
     {.key = "max-at-once",
      TF_INT32(struct options, at_once),
      .min = 1,
      .max = 100000,
      .flags = TF_ROW_ZERO,
      .help = "moves of drains at a time in a cluster; absent = what its limits on moves allow"}},
    OPTION_NODE_LABELS,
    OPTION_REASON("why, for everybody who meets it"),
    {0,
     NULL,
     {.key = "force",
      TF_BOOL(struct options, force),
      .help = "at the deadline also stops cores that are protected by minRuntime"}},
    {0,
     NULL,
     {.key = "dry-run",
      TF_BOOL(struct options, dry_run),
      .help = "only say what would go where, and what cannot, and why"}},
};

static int run(struct fedctl *ctl)
{
    if (ctl->options.force && !ctl->options.deadline)
        return fedctl_usage(ctl, "--force says what happens at the deadline: say --deadline, too");
    return drain_words(ctl);
}

const struct verb verb_drain = {
    .name = "drain",
    .usage = "node CLUSTER/NODE...\nnode -l SELECTOR [-c CLUSTER]\ndomain CLUSTER/PATH...\ncluster "
             "NAME...\n... [--deadline TIME] [--force] "
             "[--max-at-once N] [--reason TEXT] [--dry-run]",
    .help = "Move what runs on nodes elsewhere, and keep new work away",
    .more =
        "The new instance is ready before the old one goes; a job with `migration: restart` is restarted\n"
        "as a whole, one with `never` stays. What finds no place is tried again. At the deadline what is\n"
        "left is stopped, but for protected cores, which are waited for unless --force is said. A "
        "subcluster\n"
        "remembers its drains; `get drains` shows how far they are, `uncordon` ends them. A domain or "
        "cluster\n"
        "is drained as one: nodes that come to it later are drained, too, and it ends as one. So are the\n"
        "nodes with certain labels, cluster by cluster.",
    .examples = "# What cannot leave, and why\n"
                "fedctl drain node bj-a/n3 --dry-run\n"
                "fedctl drain node bj-a/n3 --deadline 2h --reason \"fan, INC-4711\"\n"
                "fedctl get drains\n"
                "# A rack, two instances at a time\n"
                "fedctl drain domain bj-a/rdma-pod-3/switch-12 --max-at-once 2\n"
                "# What is to be replaced, in all clusters\n"
                "fedctl drain node -l generation=2 --deadline 8h --dry-run\n"
                "# And back\n"
                "fedctl uncordon node bj-a/n3\n",
    .options = OPTION_LIST(options),
    .run = run,
};
