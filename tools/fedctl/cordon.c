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

/* node and its GPUs (0: the node itself). */
static int cordon_node(struct fedctl *ctl, const char *word, bool gpu, bool on)
{
    struct tf_request request = {.method = TF_METHOD_CORDON_NODE};
    struct tf_cordon_request *cordon = &request.cordon;
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    int code = FEDCTL_DONE;
    cordon->on = on;
    cordon->reason = tf_strdup(ctl->options.reason);
    if (target_node(ctl, word, &cordon->cluster, &cordon->node, gpu ? &cordon->gpus : NULL, &err))
        code = fedctl_usage(ctl, "%s", err.text);
    else if (fedctl_call(ctl, &request, &reply, &err))
        code = fedctl_fail_about(ctl, word, &err);
    else {
        change_warnings(&reply.change);
        out_fmt(&ctl->out, "%s %s/%s%s %s\n", gpu ? "gpu" : "node", cordon->cluster, cordon->node,
                gpu ? strchr(word, ':') : "", on ? "cordoned" : "uncordoned");
    }
    tf_reply_release(&reply);
    tf_request_release(&request);
    return code;
}

int cordon_words(struct fedctl *ctl, bool on)
{
    enum resource_kind kind;
    struct tf_error err = TF_ERROR_INIT;
    int first = FEDCTL_DONE;
    unsigned allowed = 1u << RESOURCE_CLUSTERS | 1u << RESOURCE_NODES | 1u << RESOURCE_GPUS;
    if (target_kind(ctl, allowed, &kind, &err))
        return fedctl_usage(ctl, "%s", err.text);
    if (ctl->words.count == 0)
        return fedctl_usage(ctl, "%s which one? Say %s", ctl->verb->name,
                            kind == RESOURCE_CLUSTERS ? "its name"
                            : kind == RESOURCE_NODES  ? "CLUSTER/NODE"
                                                      : "CLUSTER/NODE:INDEX");
    for (size_t i = 0; i < ctl->words.count; i++) {
        char *word = ctl->words.items[i];
        int code = kind == RESOURCE_CLUSTERS ? cordon_cluster(ctl, word, on)
                                             : cordon_node(ctl, word, kind == RESOURCE_GPUS, on);
        first = first ? first : code;
        if (change_is_hopeless(code))
            break;
    }
    return first;
}
