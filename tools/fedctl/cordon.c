/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what cordon and uncordon have in common. */
#include "tools/fedctl/cordon.h"

#include "common/base/cleanup.h"
#include "common/base/name.h"
#include "tools/fedctl/change.h"
#include "tools/fedctl/resource.h"

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

/* What a node, or GPUs of it, is asked to be; the request's names are filled in. */
static const char *done_word(const struct tf_cordon_request *cordon)
{
    if (!cordon->on)
        return "uncordoned";
    return cordon->drain.on ? "drains" : "cordoned";
}

/* what: "node", "gpu"; tail: ":5" of a GPU. */
static int send_cordon(struct fedctl *ctl, struct tf_request *request, const char *what, const char *tail)
{
    const struct tf_cordon_request *cordon = &request->cordon;
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_FREE char *name = tf_asprintf("%s/%s%s", cordon->cluster, cordon->node, tail);
    if (fedctl_call(ctl, request, &reply, &err))
        return fedctl_fail_about(ctl, name, &err);
    if (cordon->drain.dry)
        for (size_t i = 0; i < reply.change.warnings.count; i++)
            out_fmt(&ctl->out, "%s %s: %s\n", what, name, reply.change.warnings.items[i]);
    else {
        change_warnings(&reply.change);
        out_fmt(&ctl->out, "%s %s %s\n", what, name, done_word(cordon));
    }
    tf_reply_release(&reply);
    return FEDCTL_DONE;
}

/* node and its GPUs (0: the node itself). */
static int cordon_node(struct fedctl *ctl, const char *word, bool gpu, bool on)
{
    struct tf_request request = {.method = TF_METHOD_CORDON_NODE};
    struct tf_cordon_request *cordon = &request.cordon;
    struct tf_error err = TF_ERROR_INIT;
    cordon->on = on;
    cordon->reason = tf_strdup(ctl->options.reason);
    int code = target_node(ctl, word, &cordon->cluster, &cordon->node, gpu ? &cordon->gpus : NULL, &err)
                   ? fedctl_usage(ctl, "%s", err.text)
                   : send_cordon(ctl, &request, gpu ? "gpu" : "node", gpu ? strchr(word, ':') : "");
    tf_request_release(&request);
    return code;
}

/* ---- many nodes ---- */

/* The nodes of a cluster, or of a domain of it: those whose path in some plane is that, or goes on from it.
 */
struct many {
    struct fedctl *ctl;
    const char *path; /* NULL: all */
    bool only_drained;
    bool on;
    size_t count;
    int code; /* the first that is not FEDCTL_DONE */
};

static bool is_in(const struct tf_node *node, const char *path)
{
    size_t len = strlen(path);
    tf_vec_each (domain, &node->domains)
        if (strncmp(*domain, path, len) == 0 && ((*domain)[len] == '\0' || (*domain)[len] == '/'))
            return true;
    return false;
}

static void say_drain(const struct fedctl *ctl, struct tf_cordon_request *cordon)
{
    const struct options *o = &ctl->options;
    cordon->on = true;
    cordon->reason = tf_strdup(o->reason);
    cordon->drain = (struct tf_drain_order){
        .on = true, .dry = o->dry_run, .force = o->force, .max_at_once = o->at_once, .within = o->deadline};
}

static void send_one(void *arg, const struct tf_node_info *info)
{
    struct many *many = arg;
    struct tf_request request = {.method = TF_METHOD_CORDON_NODE};
    if ((many->path && !is_in(&info->node, many->path)) || (many->only_drained && !info->cordon.drain.on) ||
        change_is_hopeless(many->code))
        return;
    if (many->on)
        say_drain(many->ctl, &request.cordon);
    request.cordon.cluster = tf_strdup(info->cluster);
    request.cordon.node = tf_strdup(info->node.name);
    many->count++;
    int code = send_cordon(many->ctl, &request, "node", "");
    many->code = many->code ? many->code : code;
    tf_request_release(&request);
}

/* word: the cluster's name, or "CLUSTER/PATH" of a domain. */
static int send_many(struct fedctl *ctl, const char *word, bool domain, bool on)
{
    const char *slash = domain ? strchr(word, '/') : NULL;
    if (domain && !slash && !ctl->options.cluster)
        return fedctl_usage(ctl, "\"%.100s\": a domain is named CLUSTER/PATH, like bj-a/pod-3/switch-12",
                            word);
    TF_AUTO_FREE char *cluster = slash    ? tf_strndup(word, (size_t)(slash - word))
                                 : domain ? tf_strdup(ctl->options.cluster)
                                          : tf_strdup(word);
    struct many many = {.ctl = ctl,
                        .path = !domain ? NULL
                                : slash ? slash + 1
                                        : word,
                        .only_drained = !on,
                        .on = on};
    char *asked = ctl->options.cluster;
    struct tf_strs words = ctl->words;
    ctl->options.cluster = cluster; /* lent */
    ctl->words = (struct tf_strs){0};
    int code = fetch_each_node(ctl, send_one, &many);
    ctl->options.cluster = asked;
    ctl->words = words;
    code = code ? code : many.code;
    if (code == FEDCTL_DONE && many.count == 0 && (on || domain)) {
        message("no node of %s is %s", word, on ? "known" : "drained");
        code = FEDCTL_NOT_FOUND;
    }
    return code;
}

static int drain_one(struct fedctl *ctl, const char *word)
{
    struct tf_request request = {.method = TF_METHOD_CORDON_NODE};
    struct tf_error err = TF_ERROR_INIT;
    say_drain(ctl, &request.cordon);
    int code = target_node(ctl, word, &request.cordon.cluster, &request.cordon.node, NULL, &err)
                   ? fedctl_usage(ctl, "%s", err.text)
                   : send_cordon(ctl, &request, "node", "");
    tf_request_release(&request);
    return code;
}

int drain_words(struct fedctl *ctl)
{
    enum resource_kind kind;
    struct tf_error err = TF_ERROR_INIT;
    int first = FEDCTL_DONE;
    if (target_kind(ctl, 1u << RESOURCE_NODES | 1u << RESOURCE_DOMAINS | 1u << RESOURCE_CLUSTERS, &kind,
                    &err))
        return fedctl_usage(ctl, "%s", err.text);
    if (ctl->words.count == 0)
        return fedctl_usage(ctl, "drain which one? Say %s",
                            kind == RESOURCE_CLUSTERS  ? "its name"
                            : kind == RESOURCE_DOMAINS ? "CLUSTER/PATH"
                                                       : "CLUSTER/NODE");
    for (size_t i = 0; i < ctl->words.count; i++) {
        const char *word = ctl->words.items[i];
        int code = kind == RESOURCE_NODES ? drain_one(ctl, word)
                                          : send_many(ctl, word, kind == RESOURCE_DOMAINS, true);
        first = first ? first : code;
        if (change_is_hopeless(code))
            break;
    }
    return first;
}

/* Its nodes that are drained are so no longer, either. */
static int uncordon_cluster(struct fedctl *ctl, char *name)
{
    int code = cordon_cluster(ctl, name, false);
    return code ? code : send_many(ctl, name, false, false);
}

int cordon_words(struct fedctl *ctl, bool on)
{
    enum resource_kind kind;
    struct tf_error err = TF_ERROR_INIT;
    int first = FEDCTL_DONE;
    unsigned allowed = 1u << RESOURCE_CLUSTERS | 1u << RESOURCE_NODES | 1u << RESOURCE_GPUS |
                       (on ? 0 : 1u << RESOURCE_DOMAINS);
    if (target_kind(ctl, allowed, &kind, &err))
        return fedctl_usage(ctl, "%s", err.text);
    if (ctl->words.count == 0)
        return fedctl_usage(ctl, "%s which one? Say %s", ctl->verb->name,
                            kind == RESOURCE_CLUSTERS  ? "its name"
                            : kind == RESOURCE_DOMAINS ? "CLUSTER/PATH"
                            : kind == RESOURCE_NODES   ? "CLUSTER/NODE"
                                                       : "CLUSTER/NODE:INDEX");
    for (size_t i = 0; i < ctl->words.count; i++) {
        char *word = ctl->words.items[i];
        int code = kind == RESOURCE_DOMAINS          ? send_many(ctl, word, true, false)
                   : kind == RESOURCE_CLUSTERS && on ? cordon_cluster(ctl, word, true)
                   : kind == RESOURCE_CLUSTERS       ? uncordon_cluster(ctl, word)
                                                     : cordon_node(ctl, word, kind == RESOURCE_GPUS, on);
        first = first ? first : code;
        if (change_is_hopeless(code))
            break;
    }
    return first;
}
