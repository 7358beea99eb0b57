/* SPDX-License-Identifier: Apache-2.0 */
/* Owns freeze: what is not to be begun for a while. Ending one early is unfreeze. */
#include "common/base/cleanup.h"
#include "tools/fedctl/freeze.h"
#include "tools/fedctl/when.h"

static const struct option options[] = {
    {'c',
     "CLUSTER",
     {.key = "cluster", TF_NAME(struct options, cluster), .help = "only there; default: everywhere"}},
    {0,
     "TIME",
     {.key = "for",
      TF_DURATION(struct options, duration),
      .min = TF_SECOND,
      .max = TF_FREEZE_LONGEST,
      .help = "for how long, at most 30d; it ends by itself"}},
    OPTION_REASON("why, for everybody who meets it"),
    {0, NULL, {.key = "list", TF_BOOL(struct options, list), .help = "what is frozen now"}},
    OPTION_OUTPUT_ALL,
    {0,
     NULL,
     {.key = "no-headers", TF_BOOL(struct options, no_headers), .help = "tables without their titles"}},
};

static int freeze(struct fedctl *ctl, int32_t what)
{
    char span[WHEN_TEXT];
    struct tf_reply reply = {0};
    struct tf_request request = {
        .method = TF_METHOD_FREEZE,
        .freeze = {.what = what,
                   .cluster = ctl->options.cluster,
                   .on = true,
                   .lasts = ctl->options.duration,
                   .reason = ctl->options.reason}, /* lent */
    };
    struct tf_error err = TF_ERROR_INIT;
    if (fedctl_call(ctl, &request, &reply, &err))
        return fedctl_fail_about(ctl, ctl->words.items[0], &err);
    out_fmt(&ctl->out, "%s frozen %s%s for %s\n", ctl->words.items[0],
            ctl->options.cluster ? "in " : "everywhere", ctl->options.cluster ? ctl->options.cluster : "",
            when_span(ctl->options.duration, span));
    tf_reply_release(&reply);
    return FEDCTL_DONE;
}

static int run(struct fedctl *ctl)
{
    int32_t what = 0;
    if (ctl->options.list)
        return ctl->words.count ? fedctl_usage(ctl, "--list shows all that is frozen, and takes no word")
                                : freeze_list(ctl);
    int code = freeze_what(ctl, &what);
    if (code != FEDCTL_DONE)
        return code;
    if (ctl->options.duration == 0)
        return fedctl_usage(ctl, "freeze %s for how long? Say --for 2h, and it ends by itself",
                            ctl->words.items[0]);
    if (!ctl->options.reason)
        return fedctl_usage(ctl, "freeze %s why? Say --reason TEXT: whoever waits for it will read that",
                            ctl->words.items[0]);
    return freeze(ctl, what);
}

const struct verb verb_freeze = {
    .name = "freeze",
    .usage = "evictions|growth|moves|all [--cluster NAME] --for TIME --reason TEXT\n--list",
    .help = "Stop evictions, growth or moves for a while",
    .more =
        "evictions: no job gives way for another. growth: no running job is given more; one below its min "
        "is still\n"
        "repaired. moves: no running instance is moved. What has begun goes on. A freeze ends by itself "
        "at its time; a\n"
        "second one of the same replaces the first. Each subcluster goes by it alone, too, while the "
        "federation is away.\n"
        "Jobs that wait for it see FROZEN in `fedctl explain`.",
    .examples = "fedctl freeze evictions --for 2h --reason \"release of search\"\n"
                "fedctl freeze all --cluster bj-a --for 30m --reason \"switch firmware\"\n"
                "fedctl freeze --list\n"
                "fedctl unfreeze all --cluster bj-a\n",
    .options = OPTION_LIST(options),
    .run = run,
};
