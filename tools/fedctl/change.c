/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what hold, resume and delete have in common. */
#include "tools/fedctl/change.h"

void change_warnings(const struct tf_change_reply *reply)
{
    for (size_t i = 0; i < reply->warnings.count; i++)
        message("warning: %s", reply->warnings.items[i]);
}

bool change_is_hopeless(int code)
{
    return code == FEDCTL_UNREACHABLE || code == FEDCTL_TIMED_OUT;
}

static int change_job(struct fedctl *ctl, enum tf_method method, const struct tf_job_ref *ref,
                      const char *done)
{
    struct tf_request request = {.method = method, .job = *ref}; /* its strings are lent, not released */
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    char name[2 * TF_NAME_MAX + 2];
    snprintf(name, sizeof name, "%s/%s", ref->tenant, ref->name);
    if (fedctl_call(ctl, &request, &reply, &err))
        return fedctl_fail_about(ctl, name, &err);
    change_warnings(&reply.change);
    out_fmt(&ctl->out, "job %s %s\n", name,
            reply.change.outcome == TF_OUTCOME_UNCHANGED ? "unchanged" : done);
    tf_reply_release(&reply);
    return FEDCTL_DONE;
}

int change_words(struct fedctl *ctl, enum tf_method method, const char *done)
{
    enum resource_kind kind;
    struct tf_error err = TF_ERROR_INIT;
    int first = FEDCTL_DONE;
    if (target_kind(ctl, 1u << RESOURCE_JOBS, &kind, &err))
        return fedctl_usage(ctl, "%s", err.text);
    if (ctl->words.count == 0)
        return fedctl_usage(ctl, "which job? Say TENANT/NAME");
    for (size_t i = 0; i < ctl->words.count; i++) {
        struct tf_job_ref ref = {0};
        if (target_job(ctl, ctl->words.items[i], &ref, &err))
            return fedctl_usage(ctl, "%s", err.text);
        int code = change_job(ctl, method, &ref, done);
        target_release(&ref);
        first = first ? first : code;
        if (change_is_hopeless(code))
            break;
    }
    return first;
}
