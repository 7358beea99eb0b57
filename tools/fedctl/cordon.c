/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what cordon and uncordon have in common. */
#include "tools/fedctl/cordon.h"

#include "common/base/cleanup.h"
#include "common/base/name.h"
#include "common/base/text.h"
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
    return cordon->suspect ? "suspect" : cordon->drain.on ? "drains" : "cordoned";
}

/* As its user names it: "bj-a/n3:5". */
static char *name_of(const struct tf_cordon_request *cordon)
{
    char gpus[TF_GPU_SET_TEXT];
    if (!cordon->node && strcmp(cordon->domain, TF_ALL_DOMAINS) == 0)
        return tf_strdup(cordon->cluster);
    if (!cordon->node && tf_domain_labels(cordon->domain))
        return tf_asprintf("of %s with %s", cordon->cluster, tf_domain_labels(cordon->domain));
    return tf_asprintf("%s/%s%s%s", cordon->cluster, cordon->node ? cordon->node : cordon->domain,
                       cordon->gpus ? ":" : "", cordon->gpus ? tf_gpu_set_format(cordon->gpus, gpus) : "");
}

static const char *kind_of(const struct tf_cordon_request *cordon)
{
    if (cordon->node)
        return cordon->gpus ? "gpu" : "node";
    if (tf_domain_labels(cordon->domain))
        return "nodes";
    return strcmp(cordon->domain, TF_ALL_DOMAINS) == 0 ? "cluster" : "domain";
}

static int send_cordon(struct fedctl *ctl, struct tf_request *request)
{
    const struct tf_cordon_request *cordon = &request->cordon;
    const char *what = kind_of(cordon);
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_FREE char *name = name_of(cordon);
    if (fedctl_call(ctl, request, &reply, &err))
        return fedctl_fail_about(ctl, name, &err);
    if (cordon->drain.dry)
        for (size_t i = 0; i < reply.change.warnings.count; i++)
            out_fmt(&ctl->out, "%s %s: %s\n", what, name, reply.change.warnings.items[i]);
    else if (cordon->on && cordon->domain) /* how many nodes that is */
        out_fmt(&ctl->out, "%s %s %s%s%s\n", what, name,
                !cordon->drain.on                  ? "cordoned"
                : tf_domain_labels(cordon->domain) ? "drain"
                                                   : "drains",
                reply.change.warnings.count ? ": " : "",
                reply.change.warnings.count ? reply.change.warnings.items[0] : "");
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
    cordon->suspect = on && ctl->options.suspect;
    cordon->reason = tf_strdup(ctl->options.reason);
    int code = target_node(ctl, word, &cordon->cluster, &cordon->node, gpu ? &cordon->gpus : NULL, &err)
                   ? fedctl_usage(ctl, "%s", err.text)
                   : send_cordon(ctl, &request);
    tf_request_release(&request);
    return code;
}

/* ---- domains ---- */

static void say_drain(const struct fedctl *ctl, struct tf_cordon_request *cordon)
{
    const struct options *o = &ctl->options;
    cordon->on = true;
    cordon->reason = tf_strdup(o->reason);
    cordon->drain = (struct tf_drain_order){
        .on = true, .dry = o->dry_run, .force = o->force, .max_at_once = o->at_once, .within = o->deadline};
}

/* What becomes of a domain. */
enum deed { DEED_UNCORDON, DEED_CORDON, DEED_DRAIN };

/* cluster and path are taken. */
static int send_domain(struct fedctl *ctl, char *cluster, char *path, enum deed deed)
{
    struct tf_request request = {.method = TF_METHOD_CORDON_NODE};
    struct tf_error err = TF_ERROR_INIT;
    if (deed == DEED_DRAIN)
        say_drain(ctl, &request.cordon);
    else if (deed == DEED_CORDON) {
        request.cordon.on = true;
        request.cordon.suspect = ctl->options.suspect; /* which only GPUs can be: it is refused */
        request.cordon.reason = tf_strdup(ctl->options.reason);
    }
    request.cordon.cluster = cluster;
    request.cordon.domain = path;
    int code = tf_name_check(cluster, "cluster", &err) ? fedctl_usage(ctl, "%s", err.text)
                                                       : send_cordon(ctl, &request);
    tf_request_release(&request);
    return code;
}

/* word: "CLUSTER/PATH". */
static int send_path(struct fedctl *ctl, const char *word, enum deed deed)
{
    const char *slash = ctl->options.cluster ? NULL : strchr(word, '/');
    const char *path = slash ? slash + 1 : word;
    if ((!slash && !ctl->options.cluster) || !*path || strcmp(path, TF_ALL_DOMAINS) == 0)
        return fedctl_usage(ctl, "\"%.100s\": a domain is named CLUSTER/PATH, like bj-a/pod-3/switch-12",
                            word);
    char *cluster = slash ? tf_strndup(word, (size_t)(slash - word)) : tf_strdup(ctl->options.cluster);
    return send_domain(ctl, cluster, tf_strdup(path), deed);
}

/* ---- nodes by their labels ---- */

struct chosen {
    const char *domain; /* TF_BY_LABELS */
    bool ends;          /* those that are drained or cordoned with that, else those that have the labels */
    struct tf_strs clusters;
};

static void choose(void *arg, const struct tf_node_info *info)
{
    struct chosen *chosen = arg;
    bool is = chosen->ends ? tf_str_eq(info->cordon.drained_with, chosen->domain) ||
                                 tf_cordon_with(&info->cordon, chosen->domain)
                           : tf_node_is_in(&info->node, chosen->domain);
    if (is && !tf_strs_has(&chosen->clusters, info->cluster))
        tf_strs_add(&chosen->clusters, info->cluster);
}

/* One order to each cluster that has such nodes. */
static int send_labels(struct fedctl *ctl, const char *labels, enum deed deed)
{
    TF_AUTO_FREE char *domain = tf_asprintf(TF_BY_LABELS "%s", labels);
    struct chosen chosen = {.domain = domain, .ends = deed == DEED_UNCORDON};
    char *selector =
        TF_STEAL(ctl->options.selector); /* labels may be others by now: all nodes are looked at */
    int first = fetch_each_node(ctl, choose, &chosen);
    ctl->options.selector = selector;
    if (first == FEDCTL_DONE && chosen.clusters.count == 0) {
        message(chosen.ends
                    ? "nodes with %s are neither drained nor cordoned as a whole: `fedctl get drains` "
                      "and `fedctl get nodes -o wide` tell what is"
                    : "no node has %s: `fedctl get nodes -o yaml` shows their labels",
                labels);
        first = FEDCTL_NOT_FOUND;
    }
    tf_vec_each (cluster, &chosen.clusters) {
        int code = send_domain(ctl, tf_strdup(*cluster), tf_strdup(domain), deed);
        first = first ? first : code;
        if (change_is_hopeless(code))
            break;
    }
    tf_strs_release(&chosen.clusters);
    return first;
}

static int by_labels(struct fedctl *ctl, enum resource_kind kind, enum deed deed)
{
    struct tf_selector selector = {0};
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_BUF labels = TF_BUF_INIT;
    if (kind != RESOURCE_NODES || ctl->words.count)
        return fedctl_usage(ctl, "-l says which nodes: name none, and no other kind");
    if (target_selector(ctl->options.selector, &selector, &err)) {
        tf_selector_release(&selector);
        return fedctl_usage(ctl, "%s", err.text);
    }
    tf_selector_format(&selector, &labels);
    int code = selector.count ? send_labels(ctl, tf_buf_text(&labels), deed)
                              : fedctl_usage(ctl, "-l names no label; all of a cluster is `%s cluster NAME`",
                                             ctl->verb->name);
    tf_selector_release(&selector);
    return code;
}

static int drain_one(struct fedctl *ctl, const char *word)
{
    struct tf_request request = {.method = TF_METHOD_CORDON_NODE};
    struct tf_error err = TF_ERROR_INIT;
    say_drain(ctl, &request.cordon);
    int code = target_node(ctl, word, &request.cordon.cluster, &request.cordon.node, NULL, &err)
                   ? fedctl_usage(ctl, "%s", err.text)
                   : send_cordon(ctl, &request);
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
    if (ctl->options.selector)
        return by_labels(ctl, kind, DEED_DRAIN);
    if (ctl->words.count == 0)
        return fedctl_usage(ctl, "drain which one? Say %s",
                            kind == RESOURCE_CLUSTERS  ? "its name"
                            : kind == RESOURCE_DOMAINS ? "CLUSTER/PATH"
                                                       : "CLUSTER/NODE");
    for (size_t i = 0; i < ctl->words.count; i++) {
        const char *word = ctl->words.items[i];
        int code = kind == RESOURCE_NODES ? drain_one(ctl, word)
                   : kind == RESOURCE_DOMAINS
                       ? send_path(ctl, word, DEED_DRAIN)
                       : send_domain(ctl, tf_strdup(word), tf_strdup(TF_ALL_DOMAINS), DEED_DRAIN);
        first = first ? first : code;
        if (change_is_hopeless(code))
            break;
    }
    return first;
}

/* Its drain ends, too, if there is one; what its subcluster cannot be asked about stays. */
static int uncordon_cluster(struct fedctl *ctl, char *name)
{
    struct tf_request request = {.method = TF_METHOD_CORDON_NODE};
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    int code = cordon_cluster(ctl, name, false);
    if (code)
        return code;
    request.cordon.cluster = tf_strdup(name);
    request.cordon.domain = tf_strdup(TF_ALL_DOMAINS);
    if (fedctl_call(ctl, &request, &reply, &err) == 0)
        change_warnings(&reply.change);
    else if (err.code == TF_ERR_REFUSED)
        message("warning: its drain, if there is one, goes on: %s", err.text);
    else
        code = fedctl_fail_about(ctl, name, &err);
    tf_reply_release(&reply);
    tf_request_release(&request);
    return code;
}

int cordon_words(struct fedctl *ctl, bool on)
{
    enum resource_kind kind;
    struct tf_error err = TF_ERROR_INIT;
    int first = FEDCTL_DONE;
    enum deed deed = on ? DEED_CORDON : DEED_UNCORDON;
    unsigned allowed =
        1u << RESOURCE_CLUSTERS | 1u << RESOURCE_NODES | 1u << RESOURCE_GPUS | 1u << RESOURCE_DOMAINS;
    if (target_kind(ctl, allowed, &kind, &err))
        return fedctl_usage(ctl, "%s", err.text);
    if (ctl->options.selector)
        return by_labels(ctl, kind, deed);
    if (ctl->words.count == 0)
        return fedctl_usage(ctl, "%s which one? Say %s", ctl->verb->name,
                            kind == RESOURCE_CLUSTERS  ? "its name"
                            : kind == RESOURCE_DOMAINS ? "CLUSTER/PATH"
                            : kind == RESOURCE_NODES   ? "CLUSTER/NODE"
                                                       : "CLUSTER/NODE:INDEX");
    for (size_t i = 0; i < ctl->words.count; i++) {
        char *word = ctl->words.items[i];
        int code = kind == RESOURCE_DOMAINS          ? send_path(ctl, word, deed)
                   : kind == RESOURCE_CLUSTERS && on ? cordon_cluster(ctl, word, true)
                   : kind == RESOURCE_CLUSTERS       ? uncordon_cluster(ctl, word)
                                                     : cordon_node(ctl, word, kind == RESOURCE_GPUS, on);
        first = first ? first : code;
        if (change_is_hopeless(code))
            break;
    }
    return first;
}
