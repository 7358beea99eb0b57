/* SPDX-License-Identifier: Apache-2.0 */
/* Owns resume. */
#include "common/base/cleanup.h"
#include "tools/fedctl/change.h"

static const struct option options[] = {OPTION_TENANT};

static int run(struct fedctl *ctl)
{
    return change_words(ctl, TF_METHOD_RESUME, "resumed");
}

const struct verb verb_resume = {
    .name = "resume",
    .usage = "[job] TENANT/NAME...",
    .help = "Let held jobs be placed again",
    .examples = "fedctl resume data/refresh\n"
                "# All that are held\n"
                "fedctl get jobs -A --phase held -o name | xargs -r fedctl resume\n",
    .options = OPTION_LIST(options),
    .run = run,
};
