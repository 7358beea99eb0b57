/* SPDX-License-Identifier: Apache-2.0 */
/* Owns node, whose one thing to do is to confirm that a silent one is lost. Keeping work away is cordon. */
#include "common/base/cleanup.h"
#include "tools/fedctl/change.h"

static const struct option options[] = {
    {'c',
     "CLUSTER",
     {.key = "cluster", TF_NAME(struct options, cluster), .help = "of nodes named without one"}},
    OPTION_REASON("how that is known, for the log"),
};

static int confirm(struct fedctl *ctl, const char *word)
{
    struct tf_request request = {.method = TF_METHOD_CONFIRM_LOST};
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    int code = FEDCTL_DONE;
    request.cordon.reason = tf_strdup(ctl->options.reason);
    if (target_node(ctl, word, &request.cordon.cluster, &request.cordon.node, NULL, &err))
        code = fedctl_usage(ctl, "%s", err.text);
    else if (fedctl_call(ctl, &request, &reply, &err))
        code = fedctl_fail_about(ctl, word, &err);
    else {
        change_warnings(&reply.change);
        out_fmt(&ctl->out, "node %s/%s lost\n", request.cordon.cluster, request.cordon.node);
    }
    tf_reply_release(&reply);
    tf_request_release(&request);
    return code;
}

static int run(struct fedctl *ctl)
{
    int first = FEDCTL_DONE;
    if (ctl->words.count == 0 || strcmp(ctl->words.items[0], "confirm-lost") != 0)
        return fedctl_usage(ctl, "node does one thing: node confirm-lost CLUSTER/NODE. See also get nodes, "
                                 "describe node CLUSTER/NODE and cordon node CLUSTER/NODE");
    if (ctl->words.count == 1)
        return fedctl_usage(ctl, "node confirm-lost which one? Say CLUSTER/NODE");
    for (size_t i = 1; i < ctl->words.count; i++) {
        int code = confirm(ctl, ctl->words.items[i]);
        first = first ? first : code;
        if (change_is_hopeless(code))
            break;
    }
    return first;
}

const struct verb verb_node = {
    .name = "node",
    .usage = "confirm-lost CLUSTER/NODE... [--reason TEXT]",
    .help = "Confirm that a node which went silent is lost",
    .more = "A node that its engine cannot reach is lost after nodeLostAfter. When many go at once "
            "(massDownFraction), that is more\n"
            "likely the network: nothing that runs on them is given up before they return, or this says that "
            "one is lost. What\n"
            "ran there then counts as lost, and is stopped first if the node ever comes back.",
    .examples = "fedctl node confirm-lost bj-a/n3 --reason \"rack 7 burnt\"\n",
    .options = OPTION_LIST(options),
    .run = run,
};
