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
    .help = "Keep jobs from being placed until they are resumed",
    .more = "A held job keeps its place in the queue.",
    .examples = "# Not now\nfedctl hold data/refresh\n# Go on\nfedctl resume data/refresh\n",
    .options = OPTION_LIST(options),
    .run = run,
};
