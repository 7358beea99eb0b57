/* SPDX-License-Identifier: Apache-2.0 */
/* Owns apply: all manifests are read before the first is sent, so that a slip in the last file does not leave
 * half of them applied. */
#include "common/base/cleanup.h"
#include "tools/fedctl/change.h"
#include "tools/fedctl/manifests.h"

#include <errno.h>
#include <sys/random.h>

static const struct option options[] = {
    OPTION_FILES("manifests: a file, a folder (*.yaml, *.yml, *.json) or - for stdin; may be repeated"),
    {0,
     NULL,
     {.key = "restart",
      TF_BOOL(struct options, restart),
      .help = "also changes that need a new start; runs a finished job again"}},
    {0, NULL, {.key = "dry-run", TF_BOOL(struct options, dry_run), .help = "only say what would happen"}},
};

/* Made once for each submit, so that repeats of it get the first answer. */
static int make_uid(struct tf_uid *uid, struct tf_error *err)
{
    if (getrandom(uid->bytes, sizeof uid->bytes, 0) == (ssize_t)sizeof uid->bytes)
        return 0;
    return tf_error_errno(err, TF_ERR_IO, errno, "no random bytes for the id of the submit");
}

static const char *outcome_word(enum tf_outcome outcome)
{
    switch (outcome) {
    case TF_OUTCOME_CREATED:
        return "created";
    case TF_OUTCOME_UNCHANGED:
        return "unchanged";
    case TF_OUTCOME_UPDATED:
        return "updated";
    case TF_OUTCOME_RESTARTED:
        return "restarted";
    case TF_OUTCOME_NONE:
    case TF_OUTCOME_DELETED:
    case TF_OUTCOME_DONE:
        break;
    }
    return "done";
}

static int refused(struct fedctl *ctl, const struct manifests *manifests, const struct manifest *manifest,
                   const struct tf_error_detail *detail, const struct tf_error *err)
{
    char name[2 * TF_NAME_MAX + 2];
    TF_AUTO_BUF problems = TF_BUF_INIT;
    manifests_complain(manifests, manifest, &detail->complaints, &problems);
    fputs(tf_buf_text(&problems), stderr);
    snprintf(name, sizeof name, "%s/%s", manifest->job.tenant, manifest->job.name);
    return fedctl_fail_about(ctl, name, err);
}

static int apply_one(struct fedctl *ctl, const struct manifests *manifests, const struct manifest *manifest)
{
    struct tf_request request = {
        .method = TF_METHOD_SUBMIT,
        .submit = {.manifest = manifest->job, /* lent */
                   .mode = TF_SUBMIT_APPLY,
                   .restart = ctl->options.restart,
                   .dry_run = ctl->options.dry_run},
    };
    struct tf_reply reply = {0};
    struct tf_error_detail detail = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (make_uid(&request.submit.uid, &err))
        return fedctl_fail(ctl, &err);
    int code = FEDCTL_DONE;
    if (client_call(ctl->client, &request, ctl->config.timeout, &reply, &detail, &err))
        code = refused(ctl, manifests, manifest, &detail, &err);
    else {
        change_warnings(&reply.change);
        out_fmt(&ctl->out, "job %s/%s %s%s\n", manifest->job.tenant, manifest->job.name,
                outcome_word(reply.change.outcome), ctl->options.dry_run ? " (dry run)" : "");
    }
    tf_reply_release(&reply);
    tf_error_detail_release(&detail);
    return code;
}

static int apply_all(struct fedctl *ctl, const struct manifests *manifests)
{
    int first = FEDCTL_DONE;
    size_t failed = 0;
    for (size_t i = 0; i < manifests->items.count; i++) {
        int code = apply_one(ctl, manifests, &manifests->items.items[i]);
        failed += code != FEDCTL_DONE;
        first = first ? first : code;
        if (change_is_hopeless(code)) {
            size_t left = manifests->items.count - i - 1;
            if (left)
                message("%zu more not sent", left);
            return code;
        }
    }
    if (failed && manifests->items.count > 1)
        message("%zu of %zu jobs were not applied", failed, manifests->items.count);
    return first;
}

static int run(struct fedctl *ctl)
{
    if (ctl->words.count)
        return fedctl_usage(ctl, "apply takes files with -f, not \"%.100s\"", ctl->words.items[0]);
    if (ctl->options.files.count == 0)
        return fedctl_usage(ctl, "which manifests? Say -f FILE, -f FOLDER or -f -");
    struct manifests manifests = {0};
    TF_AUTO_BUF problems = TF_BUF_INIT;
    int code;
    if (manifests_load(&manifests, &ctl->options.files, &problems)) {
        fputs(tf_buf_text(&problems), stderr);
        message("nothing was sent: mend what is said above, then apply again");
        code = FEDCTL_USAGE;
    } else
        code = apply_all(ctl, &manifests);
    manifests_release(&manifests);
    return code;
}

const struct verb verb_apply = {
    .name = "apply",
    .usage = "-f FILE|FOLDER|- [--restart] [--dry-run]",
    .help = "Create or change jobs from manifests",
    .more =
        "Each job is reported as created, unchanged, updated (in place) or restarted. All manifests are "
        "checked\n"
        "first: if one has a problem, nothing is sent. A running job takes changes of priority, elastic,\n"
        "minRuntime, maxRuntime, labels and placement; anything else needs --restart. Safe to repeat.",
    .examples = "fedctl apply -f job.yaml\n"
                "# A folder, and what would happen first\n"
                "fedctl apply -f jobs/ --dry-run && fedctl apply -f jobs/\n"
                "# From another program; several documents are separated by ---\n"
                "make-jobs | fedctl apply -f -\n"
                "# Run it again, or with another command\n"
                "fedctl apply -f job.yaml --restart\n",
    .options = OPTION_LIST(options),
    .run = run,
};
