/* SPDX-License-Identifier: Apache-2.0 */
/* Owns unfreeze: a freeze ends before its time. */
#include "common/base/cleanup.h"
#include "tools/fedctl/freeze.h"

static const struct option options[] = {
    {'c',
     "CLUSTER",
     {.key = "cluster",
      TF_NAME(struct options, cluster),
      .help = "the freeze of this cluster; default: the one of all"}},
};

static int run(struct fedctl *ctl)
{
    struct tf_request request = {.method = TF_METHOD_FREEZE, .freeze = {.cluster = ctl->options.cluster}};
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    int code = freeze_what(ctl, &request.freeze.what);
    if (code != FEDCTL_DONE)
        return code;
    if (fedctl_call(ctl, &request, &reply, &err))
        return fedctl_fail_about(ctl, ctl->words.items[0], &err);
    bool was = reply.change.outcome != TF_OUTCOME_UNCHANGED;
    if (was)
        out_fmt(&ctl->out, "%s unfrozen %s%s\n", ctl->words.items[0],
                ctl->options.cluster ? "in " : "everywhere",
                ctl->options.cluster ? ctl->options.cluster : "");
    else
        message("nothing of that was frozen %s; see fedctl freeze --list",
                ctl->options.cluster ? "for this cluster alone" : "for all clusters at once");
    tf_reply_release(&reply);
    return FEDCTL_DONE;
}

const struct verb verb_unfreeze = {
    .name = "unfreeze",
    .usage = "evictions|growth|moves|all [--cluster NAME]",
    .help = "End a freeze before its time",
    .more =
        "A freeze of all clusters and one of a single cluster are two: each ends by itself, or by the same "
        "words that\n"
        "made it. `fedctl freeze --list` shows them.",
    .examples = "fedctl unfreeze evictions\n"
                "fedctl unfreeze all --cluster bj-a\n",
    .options = OPTION_LIST(options),
    .run = run,
};
