/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what cordon and uncordon have in common. */
#include "tools/fedctl/cordon.h"

#include "common/base/cleanup.h"
#include "common/base/name.h"
#include "tools/fedctl/change.h"

static int cordon_cluster(struct fedctl *ctl, char *name, bool on)
{
    struct tf_request request = {
        .method = on ? TF_METHOD_CORDON_CLUSTER : TF_METHOD_UNCORDON_CLUSTER,
        .cluster = {.cluster = name, .reason = ctl->options.reason}, /* lent */
    };
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (tf_name_check(name, "cluster", &err))
        return fedctl_usage(ctl, "%s", err.text);
    if (fedctl_call(ctl, &request, &reply, &err))
        return fedctl_fail_about(ctl, name, &err);
    change_warnings(&reply.change);
    out_fmt(&ctl->out, "cluster %s %s\n", name,
            reply.change.outcome == TF_OUTCOME_UNCHANGED ? "unchanged"
            : on                                         ? "cordoned"
                                                         : "uncordoned");
    tf_reply_release(&reply);
    return FEDCTL_DONE;
}

int cordon_words(struct fedctl *ctl, bool on)
{
    enum resource_kind kind;
    struct tf_error err = TF_ERROR_INIT;
    int first = FEDCTL_DONE;
    if (target_kind(ctl, 1u << RESOURCE_CLUSTERS, &kind, &err))
        return fedctl_usage(ctl, "%s", err.text);
    if (ctl->words.count == 0)
        return fedctl_usage(ctl, "%s which cluster? Say its name", ctl->verb->name);
    for (size_t i = 0; i < ctl->words.count; i++) {
        int code = cordon_cluster(ctl, ctl->words.items[i], on);
        first = first ? first : code;
        if (change_is_hopeless(code))
            break;
    }
    return first;
}
