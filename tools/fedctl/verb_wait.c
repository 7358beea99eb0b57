/* SPDX-License-Identifier: Apache-2.0 */
/* Owns wait; how one job is waited for is in waiting.c. */
#include "common/base/cleanup.h"
#include "common/loop/loop.h"
#include "tools/fedctl/target.h"
#include "tools/fedctl/waiting.h"

static const struct option options[] = {
    {0,
     "STATE",
     {.key = "for",
      TF_ENUM(struct options, until, "running", "succeeded", "failed", "finished", "deleted"),
      .help = "running, succeeded, failed, finished (either) or deleted"}},
    {0,
     "TIME",
     {.key = "timeout",
      TF_DURATION(struct options, timeout),
      .min = 1,
      .max = (int64_t)365 * 24 * 3600 * 1000,
      .help = "longest wait, for all jobs together; absent = as long as it takes"}},
    OPTION_TENANT,
};

static int wait_for_words(struct fedctl *ctl)
{
    int64_t timeout = ctl->options.timeout, deadline = tf_clock_read().mono.ms + timeout;
    int first = FEDCTL_DONE;
    for (size_t i = 0; i < ctl->words.count; i++) {
        struct tf_job_ref ref = {0};
        struct tf_error err = TF_ERROR_INIT;
        int64_t left = deadline - tf_clock_read().mono.ms;
        if (target_job(ctl, ctl->words.items[i], &ref, &err))
            return fedctl_usage(ctl, "%s", err.text);
        int code = waiting_for_job(ctl, &ref, ctl->options.until,
                                   !timeout   ? CLIENT_NO_LIMIT
                                   : left > 1 ? left
                                              : 1);
        target_release(&ref);
        first = first ? first : code;
        if (code == FEDCTL_UNREACHABLE)
            break;
    }
    return first;
}

static int run(struct fedctl *ctl)
{
    enum resource_kind kind;
    struct tf_error err = TF_ERROR_INIT;
    if (target_kind(ctl, 1u << RESOURCE_JOBS, &kind, &err))
        return fedctl_usage(ctl, "%s", err.text);
    if (ctl->words.count == 0)
        return fedctl_usage(ctl, "which job? Say TENANT/NAME");
    if (!ctl->options.until)
        return fedctl_usage(ctl, "wait for what? Say --for=running, succeeded, failed, finished or deleted");
    return wait_for_words(ctl);
}

const struct verb verb_wait = {
    .name = "wait",
    .usage = "[job] TENANT/NAME... --for=STATE [--timeout TIME]",
    .help = "Wait until jobs are running, finished or deleted",
    .more = "Exit code 0: they are; 1: they never will be, because the job ended otherwise; 3: there is no "
            "such job;\n"
            "4: not in time. A federation that goes away and comes back meanwhile is waited for.",
    .examples = "fedctl wait web/hello --for=running --timeout 30s\n"
                "# A step of a script\n"
                "fedctl apply -f job.yaml && fedctl wait llm/pretrain --for=succeeded\n",
    .options = OPTION_LIST(options),
    .run = run,
};
