/* SPDX-License-Identifier: Apache-2.0 */
/* Owns help; its texts are made in help.c. */
#include "tools/fedctl/fedctl.h"
#include "tools/fedctl/help.h"

static int run(struct fedctl *ctl)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    const struct verb *verb = ctl->words.count ? verb_find(ctl->words.items[0]) : NULL;
    if (ctl->words.count && !verb) {
        const char *nearest = verb_nearest(ctl->words.items[0]);
        return fedctl_usage(ctl, "there is no verb %.100s%s%s%s", ctl->words.items[0],
                            nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    }
    if (verb)
        help_verb(verb, &text);
    else
        help_overview(&text);
    out_buf(&ctl->out, &text);
    return FEDCTL_DONE;
}

const struct verb verb_help = {
    .name = "help",
    .usage = "[VERB]",
    .help = "Explain fedctl, or one of its verbs",
    .examples = "fedctl help apply\n",
    .run = run,
};
