/* SPDX-License-Identifier: Apache-2.0 */
/* Owns cluster, whose one thing to do is to forget a dead one. Keeping work away from one is cordon. */
#include "common/base/cleanup.h"
#include "common/base/name.h"
#include "tools/fedctl/change.h"

static const struct option options[] = {
    {0,
     NULL,
     {.key = "i-know-it-is-dead",
      TF_BOOL(struct options, known_dead),
      .help = "nothing of it runs any more, and nothing will: its jobs may be run elsewhere"}},
};

static int forget(struct fedctl *ctl, char *name)
{
    struct tf_request request = {
        .method = TF_METHOD_FORGET_CLUSTER,
        .cluster = {.cluster = name, .confirmed = ctl->options.known_dead}, /* lent */
    };
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (fedctl_call(ctl, &request, &reply, &err))
        return fedctl_fail_about(ctl, name, &err);
    change_warnings(&reply.change);
    out_fmt(&ctl->out, "cluster %s forgotten\n", name);
    tf_reply_release(&reply);
    return FEDCTL_DONE;
}

/* All is checked before the first is forgotten: it cannot be taken back. */
static int check(struct fedctl *ctl)
{
    struct tf_error err = TF_ERROR_INIT;
    if (ctl->words.count == 0 || strcmp(ctl->words.items[0], "forget") != 0)
        return fedctl_usage(ctl, "cluster does one thing: cluster forget NAME. See also get clusters, "
                                 "describe cluster NAME and cordon cluster NAME");
    if (ctl->words.count == 1)
        return fedctl_usage(ctl, "cluster forget which one? Say its name");
    for (size_t i = 1; i < ctl->words.count; i++)
        if (tf_name_check(ctl->words.items[i], "cluster", &err))
            return fedctl_usage(ctl, "%s", err.text);
    if (!ctl->options.known_dead)
        return fedctl_usage(ctl,
                            "forgetting %s ends every job there as lost, and what still runs there may "
                            "then run twice: make sure that it is dead, and add --i-know-it-is-dead",
                            ctl->words.items[1]);
    return FEDCTL_DONE;
}

static int run(struct fedctl *ctl)
{
    int first = check(ctl);
    if (first)
        return first;
    for (size_t i = 1; i < ctl->words.count; i++) {
        int code = forget(ctl, ctl->words.items[i]);
        first = first ? first : code;
        if (change_is_hopeless(code))
            break;
    }
    return first;
}

const struct verb verb_cluster = {
    .name = "cluster",
    .usage = "forget NAME... --i-know-it-is-dead",
    .help = "Forget a cluster that is dead for good",
    .more = "What the federation had placed there ends as lost. A leader that was started with "
            "--accept-rollback waits for\n"
            "every registered subcluster before it places anything: one that is dead is then forgotten, also "
            "if it had been\n"
            "before. A subcluster that is attached is not dead, and not forgotten.",
    .examples = "fedctl cluster forget us-c --i-know-it-is-dead\n",
    .options = OPTION_LIST(options),
    .run = run,
};
