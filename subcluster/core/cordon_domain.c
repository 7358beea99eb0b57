/* SPDX-License-Identifier: Apache-2.0 */
/* Owns which nodes are cordoned together. */
#include "subcluster/core/cordon_domain.h"

#include "subcluster/core/cordon.h"
#include "subcluster/core/domain.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/trace.h"

#include "common/base/text.h"

/* NULL: no node names it. */
static struct tf_domain_cordon *find(const struct sub *sub, const char *domain)
{
    tf_vec_each (order, &sub->cordons)
        if (strcmp(order->domain, domain) == 0)
            return order;
    return NULL;
}

/* The order as it stands now; the same order again is the old one. */
static const struct tf_domain_cordon *remember(struct sub *sub, const struct tf_domain_cordon *as)
{
    struct tf_domain_cordon *order = find(sub, as->domain);
    if (order && tf_str_eq(order->reason, as->reason))
        return order;
    if (order)
        tf_domain_cordon_release(order);
    else
        order = tf_vec_add(&sub->cordons);
    *order = tf_domain_cordon_copy(as);
    return order;
}

static void join(struct sub *sub, struct ledger_node *node, const struct tf_domain_cordon *order)
{
    if (!tf_cordon_join(&node->cordon, order))
        return;
    ledger_cordoned(&sub->ledger, node);
    out_touch_node(sub, node->node.name);
}

static void begin(struct sub *sub, const struct tf_ask *ask, const struct domain_nodes *nodes)
{
    const struct tf_domain_cordon *order =
        remember(sub, &(struct tf_domain_cordon){ask->domain, ask->reason, sub->now.wall});
    tf_vec_each (node, nodes)
        join(sub, *node, order);
    tf_vec_each (node, &sub->ledger.nodes) /* those that have left the domain since get the reason, too */
        if (tf_cordon_with(&(*node)->cordon, ask->domain))
            join(sub, *node, order);
    domain_answer(sub, ask, "cordoned", nodes->count, "");
}

void cordon_domain_asked(struct sub *sub, const struct tf_ask *ask)
{
    struct domain_nodes nodes = {0};
    enum tf_error_code code;
    char *fault = domain_list(sub, ask->domain, &nodes, &code);
    if (fault)
        ask_answer(sub, ask, code, fault);
    else if (ask->gpus || ask->suspect)
        ask_answer(sub, ask, TF_ERR_INVALID,
                   tf_strdup("a domain is cordoned as a whole: GPUs are cordoned, or suspect, node by node"));
    else if (sub->cordons.count >= TF_DOMAIN_CORDONS_MAX && !find(sub, ask->domain))
        ask_answer(sub, ask, TF_ERR_REFUSED,
                   tf_asprintf("%s has %d cordoned domains already, which is the most: `fedctl uncordon "
                               "domain` ends one",
                               sub->boot.name, TF_DOMAIN_CORDONS_MAX));
    else
        begin(sub, ask, &nodes);
    tf_vec_release(&nodes);
}

size_t cordon_domain_end(struct sub *sub, const char *domain)
{
    size_t count = 0;
    tf_vec_each (node, &sub->ledger.nodes) {
        if (!tf_cordon_part(&(*node)->cordon, domain))
            continue;
        ledger_cordoned(&sub->ledger, *node);
        out_touch_node(sub, (*node)->node.name);
        count++;
    }
    for (size_t i = sub->cordons.count; i-- > 0;)
        if (strcmp(sub->cordons.items[i].domain, domain) == 0) {
            tf_domain_cordon_release(&sub->cordons.items[i]);
            tf_vec_remove(&sub->cordons, i);
        }
    return count;
}

void cordon_domain_note(struct sub *sub)
{
    if (sub->cordons.count == 0)
        return;
    for (size_t i = 0; i < sub->ledger.dirty.count; i++) {
        struct ledger_node *node = sub->ledger.dirty.items[i];
        tf_vec_each (order, &sub->cordons) {
            if (!node->known || tf_cordon_with(&node->cordon, order->domain) ||
                !tf_node_is_in(&node->node, order->domain))
                continue;
            join(sub, node, order);
            trace(sub, "node %s is cordoned with the rest of %s", node->node.name,
                  domain_is_all(order->domain) ? "its subcluster" : order->domain);
        }
    }
}

void cordon_domain_load(struct sub *sub, const struct ledger_node *node)
{
    tf_vec_each (with, &node->cordon.domains)
        if (!find(sub, with->domain))
            remember(sub, with);
}

void cordon_domain_say(const struct sub *sub, const struct ledger_node *node, struct tf_buf *text)
{
    bool more = false;
    tf_vec_each (with, &node->cordon.domains) {
        tf_buf_str(text, more ? " and " : "");
        domain_say(sub, with->domain, text);
        more = true;
    }
}

char *cordon_domain_bar(const struct sub *sub, const struct ledger_node *node)
{
    struct tf_buf text = TF_BUF_INIT;
    bool more = false;
    tf_buf_fmt(&text, "node %s is cordoned with ", node->node.name);
    tf_vec_each (with, &node->cordon.domains) {
        tf_buf_str(&text, more ? ", and with " : "");
        domain_say_end(sub, with->domain, &text);
        more = true;
    }
    return tf_buf_take(&text);
}
