/* SPDX-License-Identifier: Apache-2.0 */
/* Owns apply: all manifests are read before the first is sent, so that a slip in the last file that was named
 * does not leave half of them applied. In a folder files stand for themselves: one that is wrong does not
 * hold up the others. */
#include "common/base/cleanup.h"
#include "tools/fedctl/change.h"
#include "tools/fedctl/manifests.h"
#include "tools/fedctl/planning.h"
#include "tools/fedctl/submission.h"

static const struct option options[] = {
    OPTION_MANIFESTS,
    OPTION_RESTART("also changes that need a new start; runs a finished job again"),
    {0,
     "FILE",
     {.key = "plan",
      TF_STRING(struct options, plan),
      .help = "of `fedctl plan --out`: applies its jobs, if the plan would still be the same"}},
    {0, NULL, {.key = "dry-run", TF_BOOL(struct options, dry_run), .help = "only say what would happen"}},
};

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
    const struct submission submission = {.manifest = &manifest->job,
                                          .mode = TF_SUBMIT_APPLY,
                                          .restart = ctl->options.restart,
                                          .dry_run = ctl->options.dry_run};
    struct tf_change_reply answer;
    struct tf_error_detail detail;
    struct tf_error err = TF_ERROR_INIT;
    int code = FEDCTL_DONE;
    if (submission_send(ctl, &submission, &answer, &detail, &err))
        code = refused(ctl, manifests, manifest, &detail, &err);
    else {
        change_warnings(&answer);
        out_fmt(&ctl->out, "%s %s/%s %s%s\n", tf_is_reservation(&manifest->job.spec) ? "reservation" : "job",
                manifest->job.tenant, manifest->job.name, submission_word(answer.outcome),
                ctl->options.dry_run ? " (dry run)" : "");
    }
    submission_release(&answer, &detail);
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

static int apply_files(struct fedctl *ctl)
{
    struct manifests manifests = {0};
    TF_AUTO_BUF problems = TF_BUF_INIT;
    bool bad = manifests_load(&manifests, &ctl->options.files, &problems) != 0;
    bool send = !manifests.bad_named && manifests.items.count;
    int code = FEDCTL_USAGE;
    fputs(tf_buf_text(&problems), stderr);
    if (send)
        code = apply_all(ctl, &manifests);
    else
        message("nothing was sent: mend what is said above, then apply again");
    if (send && bad) {
        message("what is wrong in %zu file%s was left out: mend it, then apply again", manifests.bad,
                manifests.bad > 1 ? "s" : "");
        code = code ? code : FEDCTL_FAILED;
    }
    manifests_release(&manifests);
    return code;
}

/* ---- a plan ---- */

/* What is true now may not be true a moment later: the decision is taken again when the jobs come. */
static int check_plan(struct fedctl *ctl, const struct manifests *manifests, const struct plan_file *file)
{
    struct plan plan;
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_BUF differences = TF_BUF_INIT;
    if (plan_make(ctl, manifests, plan_file_restart(file), &plan, &err))
        return fedctl_fail(ctl, &err);
    bool same = plan_agrees(file, &plan, &differences);
    plan_release(&plan);
    if (same)
        return FEDCTL_DONE;
    fputs(tf_buf_text(&differences), stderr);
    message("nothing was applied: %s was made of another state; look at what differs, then plan again",
            ctl->options.plan);
    return FEDCTL_CONFLICT;
}

static int apply_plan(struct fedctl *ctl)
{
    struct manifests manifests = {0};
    struct plan_file *file = NULL;
    TF_AUTO_BUF problems = TF_BUF_INIT;
    int code;
    if (plan_load(ctl->options.plan, &manifests, &file, &problems)) {
        fputs(tf_buf_text(&problems), stderr);
        message("nothing was sent: make the plan anew with `fedctl plan -f FILE --out %s`",
                ctl->options.plan);
        code = FEDCTL_USAGE;
    } else {
        ctl->options.restart = plan_file_restart(file);
        code = check_plan(ctl, &manifests, file);
        if (code == FEDCTL_DONE)
            code = apply_all(ctl, &manifests);
    }
    plan_file_free(file);
    manifests_release(&manifests);
    return code;
}

static int run(struct fedctl *ctl)
{
    if (ctl->words.count)
        return fedctl_usage(ctl, "apply takes files with -f, not \"%.100s\"", ctl->words.items[0]);
    if (ctl->options.plan && (ctl->options.files.count || ctl->options.restart))
        return fedctl_usage(ctl, "--plan goes without -f and --restart: what was planned is in the file");
    if (ctl->options.plan)
        return apply_plan(ctl);
    if (ctl->options.files.count == 0)
        return fedctl_usage(ctl, "which manifests? Say -f FILE, -f FOLDER or -f -");
    return apply_files(ctl);
}

const struct verb verb_apply = {
    .name = "apply",
    .usage = "-f FILE|FOLDER|- [--restart] [--dry-run]\n--plan FILE [--dry-run]",
    .help = "Create or change jobs from manifests",
    .more =
        "Each job is reported as created, unchanged, updated (in place) or restarted. All manifests are "
        "checked\n"
        "first: if a file that was named has a problem, nothing is sent (exit code 2); of a folder, what is "
        "wrong is\n"
        "told and left out, and the rest is applied (exit code 1). A running job takes changes of priority, "
        "elastic,\n"
        "minRuntime, maxRuntime, labels and placement; anything else is refused (exit code 1) and needs "
        "--restart.\n"
        "Exit code 6 means a conflict: the name is taken, or another change came in between. Safe to repeat.",
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
