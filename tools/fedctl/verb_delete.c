/* SPDX-License-Identifier: Apache-2.0 */
/* Owns delete, with the wait for its end. */
#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "tools/fedctl/change.h"
#include "tools/fedctl/manifests.h"
#include "tools/fedctl/waiting.h"

static const struct option options[] = {
    OPTION_FILES("delete the jobs that these manifests name: a file, a folder or -"),
    {0, NULL, {.key = "wait", TF_BOOL(struct options, wait), .help = "until they have stopped and are gone"}},
    {0,
     NULL,
     {.key = "ignore-not-found",
      TF_BOOL(struct options, ignore_not_found),
      .help = "a job that is not there is no error"}},
    {0,
     "TIME",
     {.key = "timeout",
      TF_DURATION(struct options, timeout),
      .min = 1,
      .max = (int64_t)365 * 24 * 3600 * 1000,
      .help = "longest wait for an answer, and of --wait for each job; default 10s, for --wait none"}},
    OPTION_TENANT,
};

struct deletion {
    struct tf_job_ref job;
    bool reserves; /* it is a reservation, as far as was said */
    bool accepted;
};
struct deletions {
    TF_VEC(struct deletion) list;
};

static void deletions_release(struct deletions *deletions)
{
    tf_vec_each (deletion, &deletions->list)
        target_release(&deletion->job);
    tf_vec_release(&deletions->list);
}

static int from_files(struct fedctl *ctl, struct deletions *deletions)
{
    struct manifests manifests = {0};
    TF_AUTO_BUF problems = TF_BUF_INIT;
    int code = FEDCTL_DONE;
    if (manifests_load(&manifests, &ctl->options.files, &problems)) {
        fputs(tf_buf_text(&problems), stderr);
        message("nothing was deleted: mend what is said above, or name the jobs as TENANT/NAME");
        code = FEDCTL_USAGE;
    } else
        tf_vec_each (manifest, &manifests.items)
            tf_vec_push(&deletions->list,
                        (struct deletion){.job = {.tenant = TF_STEAL(manifest->job.tenant),
                                                  .name = TF_STEAL(manifest->job.name)},
                                          .reserves = tf_is_reservation(&manifest->job.spec)});
    manifests_release(&manifests);
    return code;
}

/* All names are checked before the first job is deleted. */
static int from_words(struct fedctl *ctl, struct deletions *deletions)
{
    enum resource_kind kind;
    struct tf_error err = TF_ERROR_INIT;
    if (target_kind(ctl, 1u << RESOURCE_JOBS | 1u << RESOURCE_RESERVATIONS, &kind, &err))
        return fedctl_usage(ctl, "%s", err.text);
    for (size_t i = 0; i < ctl->words.count; i++) {
        struct tf_job_ref ref = {0};
        if (target_job(ctl, ctl->words.items[i], &ref, &err))
            return fedctl_usage(ctl, "%s", err.text);
        tf_vec_push(&deletions->list,
                    (struct deletion){.job = ref, .reserves = kind == RESOURCE_RESERVATIONS});
    }
    return FEDCTL_DONE;
}

static int delete_one(struct fedctl *ctl, struct deletion *deletion)
{
    struct tf_request request = {.method = TF_METHOD_DELETE, .job = deletion->job}; /* lent */
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    char name[2 * TF_NAME_MAX + 2];
    snprintf(name, sizeof name, "%s/%s", deletion->job.tenant, deletion->job.name);
    if (fedctl_call(ctl, &request, &reply, &err)) {
        if (err.code == TF_ERR_NOT_FOUND && ctl->options.ignore_not_found)
            return FEDCTL_DONE;
        if (deletion->reserves)
            target_about_reservation(&err, name);
        return fedctl_fail_about(ctl, name, &err);
    }
    change_warnings(&reply.change);
    out_fmt(&ctl->out, "%s %s deleted\n", deletion->reserves ? "reservation" : "job", name);
    deletion->job.uid = reply.change.uid; /* not another one that takes its name */
    deletion->accepted = true;
    tf_reply_release(&reply);
    return FEDCTL_DONE;
}

static int delete_all(struct fedctl *ctl, struct deletions *deletions)
{
    int first = FEDCTL_DONE;
    tf_vec_each (deletion, &deletions->list) {
        int code = delete_one(ctl, deletion);
        first = first ? first : code;
        if (change_is_hopeless(code))
            return first;
    }
    tf_vec_each (deletion, &deletions->list) {
        if (!ctl->options.wait || !deletion->accepted)
            continue;
        int code = waiting_for_job(ctl, &deletion->job, WAIT_DELETED, ctl->options.timeout);
        first = first ? first : code;
    }
    return first;
}

static int run(struct fedctl *ctl)
{
    struct deletions deletions = {0};
    bool files = ctl->options.files.count > 0;
    if (files && ctl->words.count)
        return fedctl_usage(ctl, "name the jobs either as TENANT/NAME or with -f");
    int code = files ? from_files(ctl, &deletions) : from_words(ctl, &deletions);
    if (code == FEDCTL_DONE && deletions.list.count == 0)
        code = fedctl_usage(ctl, "which job? Say TENANT/NAME, or -f FILE");
    if (code == FEDCTL_DONE)
        code = delete_all(ctl, &deletions);
    deletions_release(&deletions);
    return code;
}

const struct verb verb_delete = {
    .name = "delete",
    .usage = "[job] TENANT/NAME... [--wait]\nreservation TENANT/NAME... [--wait]\n-f FILE|FOLDER|- [--wait]",
    .help = "Stop jobs, give reservations up, and free their names",
    .more = "Returns when the federation has promised it; instances then get their grace to stop. --wait "
            "returns when\n"
            "they are gone and the name is free.",
    .examples = "fedctl delete web/hello\n"
                "fedctl delete job web/hello data/refresh --wait\n"
                "# What was applied\n"
                "fedctl delete -f jobs/ --ignore-not-found\n",
    .options = OPTION_LIST(options),
    .run = run,
};
