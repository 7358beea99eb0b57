/* SPDX-License-Identifier: Apache-2.0 */
/* Owns hold. */
#include "common/base/cleanup.h"
#include "tools/fedctl/change.h"

static const struct option options[] = {OPTION_TENANT};

static int run(struct fedctl *ctl)
{
    return change_words(ctl, TF_METHOD_HOLD, "held");
}

const struct verb verb_hold = {
    .name = "hold",
    .usage = "[job] TENANT/NAME...",
    .help = "Stop jobs, or keep them waiting, until they are resumed",
    .more = "What runs of a job is stopped, with its grace, and its GPUs are given back. It keeps its place "
            "in the queue:\n"
            "the moment of its submit.",
    .examples = "# Not now\nfedctl hold data/refresh\n# Go on\nfedctl resume data/refresh\n",
    .options = OPTION_LIST(options),
    .run = run,
};
