/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what people may cordon, and what they are answered. What a cordon takes away is the ledger's. */
#include "subcluster/core/cordon.h"

#include "subcluster/core/cordon_domain.h"
#include "subcluster/core/drain.h"
#include "subcluster/core/drain_domain.h"
#include "subcluster/core/drain_was.h"
#include "subcluster/core/notes.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/trace.h"

#include <stdarg.h>

void ask_answer(struct sub *sub, const struct tf_ask *ask, enum tf_error_code code, char *text)
{
    struct tf_up up = {.kind = TF_UP_ANSWER, .answer = {.id = ask->id, .code = (int32_t)code, .text = text}};
    out_hold(sub, (struct sub_action){.kind = SUB_ACT_SEND, .send = up});
}

char *ask_node_unknown(const struct sub *sub, const struct tf_ask *ask)
{
    if (!sub->listed)
        return tf_asprintf("the engine of %s has not told of its nodes yet: try again in a moment",
                           sub->boot.name);
    return tf_asprintf("%s has no node %s; `fedctl get nodes --cluster %s` lists them", sub->boot.name,
                       ask->node, sub->boot.name);
}

/* NULL if it can be done; else why not, and the code. */
static char *refusal(const struct sub *sub, const struct tf_ask *ask, const struct ledger_node *node,
                     enum tf_error_code *code)
{
    *code = TF_ERR_NOT_FOUND;
    if (!node || (ask->on && !node->known))
        return ask_node_unknown(sub, ask);
    if (!ask->on && !ask->gpus && node->cordon.drained_with) {
        *code = TF_ERR_REFUSED;
        return drain_domain_bar(sub, node);
    }
    if (!ask->on && !ask->gpus && !node->cordon.whole && node->cordon.domains.count) {
        *code = TF_ERR_REFUSED;
        return cordon_domain_bar(sub, node);
    }
    uint64_t all = tf_gpu_set_all(node->node.capacity.gpus);
    if (!ask->on || !(ask->gpus & ~all))
        return NULL;
    *code = TF_ERR_INVALID;
    if (node->node.capacity.gpus == 0)
        return tf_asprintf("node %s has no GPUs", ask->node);
    return tf_asprintf("node %s has %d GPUs: they are numbered 0 to %d", ask->node, node->node.capacity.gpus,
                       node->node.capacity.gpus - 1);
}

static void trace_change(struct sub *sub, const struct tf_ask *ask)
{
    char gpus[TF_GPU_SET_TEXT];
    trace(sub, "node %s%s%s %s%s%s", ask->node, ask->gpus ? " GPUs " : "",
          ask->gpus ? tf_gpu_set_format(ask->gpus, gpus) : "",
          !ask->on                      ? "uncordoned"
          : ask->drain.on && !ask->gpus ? "drained"
          : ask->suspect && ask->gpus   ? "suspect"
                                        : "cordoned",
          ask->on && ask->reason ? ": " : "", ask->on && ask->reason ? ask->reason : "");
}

/* Uncordoned, and yet it takes no work: the engine says so, too. */
static char *remark(const struct sub *sub, const struct tf_ask *ask, const struct ledger_node *node)
{
    char gpus[TF_GPU_SET_TEXT];
    uint64_t bad = ask->gpus & node->told_bad;
    if (ask->on)
        return NULL;
    if (bad)
        return tf_asprintf("GPU %s of node %s is bad or suspect by the engine's own word and stays unused",
                           tf_gpu_set_format(bad, gpus), ask->node);
    if (ask->gpus && tf_cordon_closes(&node->cordon))
        return tf_asprintf("node %s is cordoned as a whole and stays unused", ask->node);
    if (!ask->gpus && node->cordon.domains.count)
        return cordon_domain_bar(sub, node);
    if (!ask->gpus && node->cordon.gpus.count)
        return tf_asprintf("GPU %s of node %s stays cordoned",
                           tf_gpu_set_format(tf_cordon_gpus(&node->cordon), gpus), ask->node);
    if (!ask->gpus && node->known && node->told_state != TF_NODE_READY)
        return tf_asprintf("node %s is %s by the engine's own word and stays unused", ask->node,
                           tf_node_state_name(node->told_state));
    return NULL;
}

/* True if that is news. */
static bool set(struct sub *sub, const struct tf_ask *ask, struct ledger_node *node)
{
    if (!ask->on)
        return tf_cordon_clear(&node->cordon, ask->gpus);
    if (ask->gpus && ask->suspect)
        return tf_cordon_suspect(&node->cordon, ask->gpus, TF_GPU_BY_OPERATOR, ask->reason, sub->now.wall);
    if (ask->gpus || !ask->drain.on)
        return tf_cordon_set(&node->cordon, ask->gpus, ask->reason, sub->now.wall);
    struct tf_drain terms = drain_terms(sub, &ask->drain);
    return tf_cordon_drain(&node->cordon, &terms, NULL, ask->reason, sub->now.wall);
}

static void add_part(struct tf_buf *text, char *part)
{
    if (part)
        tf_buf_fmt(text, "%s%s", text->len ? "; " : "", part);
    free(part);
}

static bool is_drain(const struct tf_ask *ask)
{
    return ask->on && ask->drain.on && !ask->gpus;
}

/* It may be done. */
static void carry_out(struct sub *sub, const struct tf_ask *ask, struct ledger_node *node)
{
    struct tf_buf text = TF_BUF_INIT;
    struct drains_were were = {0};
    bool drained = node->cordon.drain.on;
    if (is_drain(ask))
        drains_were_add(&were, node);
    bool changed = set(sub, ask, node);
    if (changed) {
        ledger_cordoned(&sub->ledger, node);
        trace_change(sub, ask);
        out_touch_node(sub, node->node.name);
    }
    if (changed && is_drain(ask)) /* by other terms, too: jobs are told of the deadline that holds now */
        note_drain(sub, &node, 1);
    add_part(&text, drain_changed(sub, node, drained));
    add_part(&text, remark(sub, ask, node));
    drains_were_say(sub, &were, &text);
    if (drained && !node->cordon.drain.on)
        note_drain_over(sub, &node, 1, NULL);
    drains_were_release(&were);
    char *words = text.len ? tf_buf_take(&text) : NULL;
    tf_buf_release(&text);
    ask_answer(sub, ask, TF_OK, words);
}

void cordon_asked(struct sub *sub, const struct tf_ask *ask)
{
    if (ask->domain) {
        if (ask->on && !ask->drain.on)
            cordon_domain_asked(sub, ask);
        else
            drain_domain_asked(sub, ask);
        return;
    }
    struct ledger_node *node = ask->node ? ledger_find(&sub->ledger, ask->node) : NULL;
    enum tf_error_code code = TF_OK;
    char *why = ask->node ? refusal(sub, ask, node, &code) : tf_strdup("no node was named");
    if (why)
        ask_answer(sub, ask, code == TF_OK ? TF_ERR_INVALID : code, why);
    else if (ask->on && ask->drain.dry)
        ask_answer(sub, ask, TF_OK, drain_plan(sub, &node, 1));
    else
        carry_out(sub, ask, node);
}

bool cordon_load(struct sub *sub, struct tf_cordon *cordon, const char **fault)
{
    *fault = cordon->node ? tf_cordon_fault(cordon) : "it names no node";
    if (*fault)
        return false;
    struct ledger_node *node = ledger_need(&sub->ledger, cordon->node);
    tf_cordon_release(&node->cordon);
    node->cordon = *cordon;
    sub->health.suspects += cordon->verdict == TF_VERDICT_SUSPECT;
    *cordon = (struct tf_cordon){0};
    ledger_cordoned(&sub->ledger, node);
    cordon_domain_load(sub, node);
    drain_load(sub, node);
    return true;
}
