/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how nodes are named together, and which they are. What is done to them is cordon_domain.c's and
 * drain_domain.c's. */
#include "subcluster/core/domain.h"

#include "common/base/text.h"
#include "common/model/selector.h"
#include "subcluster/core/cordon.h"
#include "subcluster/core/trace.h"

/* As the arguments of `fedctl uncordon`. */
static void say_arguments(const struct sub *sub, const char *domain, struct tf_buf *text)
{
    const char *labels = tf_domain_labels(domain);
    if (domain_is_all(domain))
        tf_buf_fmt(text, "cluster %s", sub->boot.name);
    else if (labels)
        tf_buf_fmt(text, "node -c %s -l '%s'", sub->boot.name, labels);
    else
        tf_buf_fmt(text, "domain %s/%s", sub->boot.name, domain);
}

void domain_say(const struct sub *sub, const char *domain, struct tf_buf *text)
{
    const char *labels = tf_domain_labels(domain);
    if (labels)
        tf_buf_fmt(text, "every node of %s with %s", sub->boot.name, labels);
    else
        say_arguments(sub, domain, text);
}

void domain_say_end(const struct sub *sub, const char *domain, struct tf_buf *text)
{
    domain_say(sub, domain, text);
    tf_buf_str(text, ": `fedctl uncordon ");
    say_arguments(sub, domain, text);
    tf_buf_str(text, "` ends that for all of its nodes");
}

/* All paths there are: "pod-3/switch-1" is in "pod-3", which can be named, too. */
static void list_paths(const struct sub *sub, struct tf_strs *out)
{
    tf_vec_each (node, &sub->ledger.nodes)
        tf_vec_each (path, &(*node)->node.domains)
            for (const char *c = *path; *c; c++) {
                if (c[1] != '\0' && c[1] != '/')
                    continue;
                char *part = tf_strndup(*path, (size_t)(c + 1 - *path));
                if (!tf_strs_has(out, part))
                    tf_strs_add(out, part);
                free(part);
            }
}

static char *no_such_path(const struct sub *sub, const char *domain)
{
    struct tf_strs paths = {0};
    list_paths(sub, &paths);
    const char *nearest = tf_nearest(domain, (const char *const *)paths.items, paths.count);
    char *text = tf_asprintf(
        "%s has no node in domain %s; %s%s%s`fedctl get nodes --cluster %s -o yaml` shows their domains",
        sub->boot.name, domain, nearest ? "did you mean " : "", nearest ? nearest : "", nearest ? "? " : "",
        sub->boot.name);
    tf_strs_release(&paths);
    return text;
}

static char *none_there(const struct sub *sub, const char *domain)
{
    if (!sub->listed)
        return tf_asprintf("the engine of %s has not told of its nodes yet: try again in a moment",
                           sub->boot.name);
    if (domain_is_all(domain))
        return tf_asprintf("%s has no nodes", sub->boot.name);
    if (tf_domain_labels(domain))
        return tf_asprintf(
            "%s has no node with %s; `fedctl get nodes --cluster %s -o yaml` shows their labels",
            sub->boot.name, tf_domain_labels(domain), sub->boot.name);
    return no_such_path(sub, domain);
}

/* NULL, or what is wrong with the labels that are to say which nodes. */
static char *labels_fault(const char *domain)
{
    const char *labels = tf_domain_labels(domain);
    struct tf_selector selector = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (!labels)
        return NULL;
    bool bad = tf_selector_parse(labels, &selector, &err) != 0;
    bool none = !bad && selector.count == 0;
    tf_selector_release(&selector);
    return bad || none ? tf_asprintf("%.1000s", bad ? err.text : "no label is named") : NULL;
}

char *domain_list(const struct sub *sub, const char *domain, struct domain_nodes *out,
                  enum tf_error_code *code)
{
    char *fault = labels_fault(domain);
    *code = fault ? TF_ERR_INVALID : TF_ERR_NOT_FOUND;
    if (fault)
        return fault;
    tf_vec_each (node, &sub->ledger.nodes)
        if ((*node)->known && tf_node_is_in(&(*node)->node, domain))
            tf_vec_push(out, *node);
    return out->count == 0 || !sub->listed ? none_there(sub, domain) : NULL;
}

void domain_answer(struct sub *sub, const struct tf_ask *ask, const char *done, size_t count,
                   const char *more)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    domain_say(sub, ask->domain, &text);
    trace(sub, "%s is %s, %zu nodes%s%s", tf_buf_text(&text), done, count, ask->reason ? ": " : "",
          ask->reason ? ask->reason : "");
    ask_answer(sub, ask, TF_OK,
               tf_asprintf("%zu node%s %s together, and what comes to them later is, too%s%s", count,
                           count == 1 ? " is" : "s are", done, *more ? "; " : "", more));
}
