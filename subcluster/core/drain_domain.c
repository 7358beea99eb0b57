/* SPDX-License-Identifier: Apache-2.0 */
/* Owns which nodes are drained together. Who leaves each of them, and when, is drain.c's. */
#include "subcluster/core/drain_domain.h"

#include "subcluster/core/cordon.h"
#include "subcluster/core/cordon_domain.h"
#include "subcluster/core/domain.h"
#include "subcluster/core/drain.h"
#include "subcluster/core/drain_was.h"
#include "subcluster/core/notes.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/trace.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

enum { NAMED = 10 }; /* cordons that are left, named one by one */

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
    domain_say_end(sub, node->cordon.drained_with, &text);
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

static void begin(struct sub *sub, const struct tf_ask *ask, const struct domain_nodes *nodes)
{
    struct tf_drain terms = drain_terms(sub, &ask->drain);
    struct drains_were were = {0};
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_vec_each (node, nodes) {
        drains_were_add(&were, *node);
        drain_one(sub, *node, &terms, ask->domain, ask->reason);
    }
    note_drain(sub, nodes->items, nodes->count);
    drains_were_say(sub, &were, &text);
    domain_answer(sub, ask, "drained", nodes->count, tf_buf_text(&text));
    drains_were_release(&were);
}

static void order(struct sub *sub, const struct tf_ask *ask)
{
    struct domain_nodes nodes = {0};
    enum tf_error_code code;
    char *fault = domain_list(sub, ask->domain, &nodes, &code);
    if (fault)
        ask_answer(sub, ask, code, fault);
    else if (ask->gpus)
        ask_answer(sub, ask, TF_ERR_INVALID, tf_strdup("GPUs are cordoned, not drained"));
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
        else if (c->domains.count) {
            tf_buf_fmt(text, "%s with ", node->node.name);
            cordon_domain_say(sub, node, text);
        } else
            tf_buf_fmt(text, "%s:%s", node->node.name, tf_gpu_set_format(tf_cordon_gpus(c), gpus));
    }
    if (count > NAMED)
        tf_buf_fmt(text, " and %zu more", count - NAMED);
}

static size_t end_all(struct sub *sub, const char *domain, struct drain_undone *sum)
{
    struct domain_nodes nodes = {0};
    tf_vec_each (node, &sub->ledger.nodes)
        if (tf_str_eq((*node)->cordon.drained_with, domain)) {
            end_one(sub, *node, sum);
            tf_vec_push(&nodes, *node);
        }
    size_t count = nodes.count;
    note_drain_over(sub, nodes.items, count, domain);
    tf_vec_release(&nodes);
    return count;
}

/* "domain bj-a/pod-3 is cordoned no longer, 2 nodes" */
static void say_ended(struct sub *sub, const char *domain, const char *what, size_t count,
                      struct tf_buf *text)
{
    size_t from = text->len;
    tf_buf_str(text, from ? "; " : "");
    domain_say(sub, domain, text);
    trace(sub, "%s is %s no longer", tf_buf_text(text) + from + (from ? 2 : 0), what);
    tf_buf_fmt(text, " is %s no longer, %zu node%s", what, count, count == 1 ? "" : "s");
}

/* Its drain, and its cordon. Of a cluster that is uncordoned it need not be known whether there is either. */
static void end(struct sub *sub, const struct tf_ask *ask)
{
    struct drain_undone sum = {0};
    struct tf_buf text = TF_BUF_INIT;
    size_t drained = end_all(sub, ask->domain, &sum), cordoned = cordon_domain_end(sub, ask->domain);
    bool known = drained || cordoned || domain_is_all(ask->domain);
    if (drained) {
        say_ended(sub, ask->domain, "drained", drained, &text);
        tf_buf_str(&text, ": ");
        drain_undone_say(&sum, &text);
    }
    if (cordoned)
        say_ended(sub, ask->domain, "cordoned", cordoned, &text);
    if (known)
        say_left(sub, ask->domain, &text);
    else {
        domain_say(sub, ask->domain, &text);
        tf_buf_fmt(&text,
                   " is neither drained nor cordoned as a whole; `fedctl get drains` and `fedctl get nodes "
                   "--cluster %s -o wide` tell what is",
                   sub->boot.name);
    }
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
              domain_is_all(c->drained_with) ? "its subcluster" : c->drained_with);
    }
}
