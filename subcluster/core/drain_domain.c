/* SPDX-License-Identifier: Apache-2.0 */
/* Owns which nodes are drained together. Who leaves each of them, and when, is drain.c's. */
#include "subcluster/core/drain_domain.h"

#include "subcluster/core/cordon.h"
#include "subcluster/core/drain.h"
#include "subcluster/core/notes.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/trace.h"

#include "common/base/text.h"
#include "common/model/selector.h"

enum { NAMED = 10 }; /* cordons that are left, named one by one */

struct nodes {
    struct ledger_node **items;
    size_t count, cap;
};

static bool is_all(const char *domain)
{
    return strcmp(domain, TF_ALL_DOMAINS) == 0;
}

/* As the arguments of `fedctl uncordon`. */
static void say_arguments(const struct sub *sub, const char *domain, struct tf_buf *text)
{
    const char *labels = tf_domain_labels(domain);
    if (is_all(domain))
        tf_buf_fmt(text, "cluster %s", sub->boot.name);
    else if (labels)
        tf_buf_fmt(text, "node -c %s -l '%s'", sub->boot.name, labels);
    else
        tf_buf_fmt(text, "domain %s/%s", sub->boot.name, domain);
}

void drain_domain_say(const struct sub *sub, const char *domain, struct tf_buf *text)
{
    const char *labels = tf_domain_labels(domain);
    if (labels)
        tf_buf_fmt(text, "every node of %s with %s", sub->boot.name, labels);
    else
        say_arguments(sub, domain, text);
}

struct tf_drain drain_terms(const struct sub *sub, const struct tf_drain_order *order)
{
    struct tf_drain terms = {.on = true, .force = order->force, .max_at_once = order->max_at_once};
    if (order->within > 0)
        terms.deadline.ms = sub->now.wall.ms + order->within;
    return terms;
}

char *drain_domain_bar(const struct sub *sub, const struct ledger_node *node)
{
    struct tf_buf text = TF_BUF_INIT;
    tf_buf_fmt(&text, "node %s is drained with ", node->node.name);
    drain_domain_say(sub, node->cordon.drained_with, &text);
    tf_buf_str(&text, ": `fedctl uncordon ");
    say_arguments(sub, node->cordon.drained_with, &text);
    tf_buf_str(&text, "` ends that for all of its nodes");
    return tf_buf_take(&text);
}

/* ---- on ---- */

static void drain_one(struct sub *sub, struct ledger_node *node, const struct tf_drain *terms,
                      const char *domain, const char *reason)
{
    bool before = node->cordon.drain.on;
    if (tf_cordon_drain(&node->cordon, terms, domain, reason, sub->now.wall)) {
        ledger_cordoned(&sub->ledger, node);
        out_touch_node(sub, node->node.name);
    }
    drain_changed(sub, node, before); /* it is on: nothing is undone */
}

static void list_known(const struct sub *sub, const char *domain, struct nodes *out)
{
    tf_vec_each (node, &sub->ledger.nodes)
        if ((*node)->known && tf_node_is_in(&(*node)->node, domain))
            tf_vec_push(out, *node);
}

static void begin(struct sub *sub, const struct tf_ask *ask, const struct nodes *nodes)
{
    struct tf_drain terms = drain_terms(sub, &ask->drain);
    struct tf_buf text = TF_BUF_INIT;
    tf_vec_each (node, nodes)
        drain_one(sub, *node, &terms, ask->domain, ask->reason);
    note_drain(sub, nodes->items, nodes->count);
    drain_domain_say(sub, ask->domain, &text);
    trace(sub, "%s is drained, %zu nodes%s%s", tf_buf_text(&text), nodes->count, ask->reason ? ": " : "",
          ask->reason ? ask->reason : "");
    tf_buf_release(&text);
    ask_answer(sub, ask, TF_OK,
               tf_asprintf("%zu node%s drained together, and what comes to them later is, too", nodes->count,
                           nodes->count == 1 ? " is" : "s are"));
}

static char *none_there(const struct sub *sub, const char *domain)
{
    if (!sub->listed)
        return tf_asprintf("the engine of %s has not told of its nodes yet: try again in a moment",
                           sub->boot.name);
    if (is_all(domain))
        return tf_asprintf("%s has no nodes", sub->boot.name);
    if (tf_domain_labels(domain))
        return tf_asprintf(
            "%s has no node with %s; `fedctl get nodes --cluster %s -o yaml` shows their labels",
            sub->boot.name, tf_domain_labels(domain), sub->boot.name);
    return tf_asprintf(
        "%s has no node in domain %s; `fedctl get nodes --cluster %s -o yaml` shows their domains",
        sub->boot.name, domain, sub->boot.name);
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

static void order(struct sub *sub, const struct tf_ask *ask)
{
    struct nodes nodes = {0};
    char *fault = labels_fault(ask->domain);
    if (fault) {
        ask_answer(sub, ask, TF_ERR_INVALID, fault);
        return;
    }
    list_known(sub, ask->domain, &nodes);
    if (!ask->drain.on || ask->gpus)
        ask_answer(sub, ask, TF_ERR_INVALID, tf_strdup("a domain is drained, not cordoned"));
    else if (nodes.count == 0 || !sub->listed)
        ask_answer(sub, ask, TF_ERR_NOT_FOUND, none_there(sub, ask->domain));
    else if (ask->drain.dry)
        ask_answer(sub, ask, TF_OK, drain_plan(sub, nodes.items, nodes.count));
    else
        begin(sub, ask, &nodes);
    tf_vec_release(&nodes);
}

/* ---- off ---- */

static void end_one(struct sub *sub, struct ledger_node *node, struct drain_undone *sum)
{
    tf_cordon_drain_ends(&node->cordon);
    ledger_cordoned(&sub->ledger, node);
    out_touch_node(sub, node->node.name);
    drain_ended(sub, node, sum);
}

/* Cordons of its nodes that stay as they are. */
static void say_left(const struct sub *sub, const char *domain, struct tf_buf *text)
{
    char gpus[TF_GPU_SET_TEXT];
    const char *first = text->len ? "; still cordoned: " : "still cordoned: ";
    size_t count = 0;
    tf_vec_each (at, &sub->ledger.nodes) {
        const struct ledger_node *node = *at;
        const struct tf_cordon *c = &node->cordon;
        if (!tf_cordon_of_people(c) || !tf_node_is_in(&node->node, domain) || ++count > NAMED)
            continue;
        tf_buf_str(text, count == 1 ? first : ", ");
        if (c->whole)
            tf_buf_fmt(text, "%s%s%s%s%s", node->node.name, c->drain.on ? ", drained" : "",
                       c->reason ? " (" : "", c->reason ? c->reason : "", c->reason ? ")" : "");
        else
            tf_buf_fmt(text, "%s:%s", node->node.name, tf_gpu_set_format(tf_cordon_gpus(c), gpus));
    }
    if (count > NAMED)
        tf_buf_fmt(text, " and %zu more", count - NAMED);
}

/* Of a cluster that is uncordoned it need not be known whether it is drained, too. */
static void end(struct sub *sub, const struct tf_ask *ask)
{
    struct drain_undone sum = {0};
    struct tf_buf text = TF_BUF_INIT;
    struct nodes nodes = {0};
    tf_vec_each (node, &sub->ledger.nodes)
        if (tf_str_eq((*node)->cordon.drained_with, ask->domain)) {
            end_one(sub, *node, &sum);
            tf_vec_push(&nodes, *node);
        }
    size_t count = nodes.count;
    note_drain_over(sub, nodes.items, count, ask->domain);
    tf_vec_release(&nodes);
    bool known = count || is_all(ask->domain);
    if (count || !known)
        drain_domain_say(sub, ask->domain, &text);
    if (count) {
        trace(sub, "%s is drained no longer", tf_buf_text(&text));
        tf_buf_fmt(&text, " is drained no longer, %zu node%s: ", count, count == 1 ? "" : "s");
        drain_undone_say(&sum, &text);
    } else if (!known)
        tf_buf_str(&text, " is not drained as a whole; `fedctl get drains` lists what is");
    if (known)
        say_left(sub, ask->domain, &text);
    char *words = text.len ? tf_buf_take(&text) : NULL;
    tf_buf_release(&text);
    ask_answer(sub, ask, known ? TF_OK : TF_ERR_NOT_FOUND, words);
}

void drain_domain_asked(struct sub *sub, const struct tf_ask *ask)
{
    if (ask->on)
        order(sub, ask);
    else
        end(sub, ask);
}

/* ---- nodes that come ---- */

/* One that is drained with a domain in which the node is, too; NULL. */
static const struct ledger_node *fellow(const struct sub *sub, const struct ledger_node *node)
{
    const char *before = NULL; /* nodes of one order mostly follow one another: it is looked at once */
    tf_vec_each (number, &sub->drains) {
        const struct ledger_node *other = sub->ledger.nodes.items[*number];
        const char *with = other->cordon.drained_with;
        if (!with || tf_str_eq(with, before))
            continue;
        if (tf_node_is_in(&node->node, with))
            return other;
        before = with;
    }
    return NULL;
}

void drain_domain_note(struct sub *sub)
{
    for (size_t i = 0; i < sub->ledger.dirty.count; i++) {
        struct ledger_node *node = sub->ledger.dirty.items[i];
        const struct ledger_node *other = node->known && !node->cordon.drain.on ? fellow(sub, node) : NULL;
        if (!other)
            continue;
        const struct tf_cordon *c = &other->cordon;
        drain_one(sub, node, &c->drain, c->drained_with, c->stays ? NULL : c->reason);
        note_drain(sub, &node, 1);
        tf_reached(sub, SUB_DRAIN_JOINED);
        trace(sub, "node %s is drained with the rest of %s", node->node.name,
              is_all(c->drained_with) ? "its subcluster" : c->drained_with);
    }
}
