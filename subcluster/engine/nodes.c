/* SPDX-License-Identifier: Apache-2.0 */
/* The configured nodes and the files that take them out of service. Names in STATE_DIR/down are compared with
 * the configured ones, never used as paths. */
#include "subcluster/engine/worker.h"

#include "common/base/text.h"
#include "subcluster/engine/state/memory.h"
#include "subcluster/engine/state/proc.h"

void nodes_init(struct worker *w)
{
    w->nodes = tf_calloc(w->config.nodes.count + 1, sizeof *w->nodes);
    for (size_t n = 0; n < w->config.nodes.count; n++) {
        tf_node_copy(&w->nodes[n].node, &w->config.nodes.items[n]);
        w->nodes[n].node.state = TF_NODE_NONE;
    }
}

void nodes_release(struct worker *w)
{
    for (size_t n = 0; w->nodes && n < w->config.nodes.count; n++)
        tf_node_release(&w->nodes[n].node);
    free(w->nodes);
}

int node_find(const struct worker *w, const char *name)
{
    for (size_t n = 0; n < w->config.nodes.count; n++)
        if (tf_str_eq(w->nodes[n].node.name, name))
            return (int)n;
    return -1;
}

/* Lost only when nothing on it lives; back only when all that was to die with it is dead. */
static enum tf_node_state present_state(const struct node *n)
{
    if (n->down)
        return n->alive ? TF_NODE_UNREACHABLE : TF_NODE_LOST;
    return n->dying ? TF_NODE_UNREACHABLE : TF_NODE_READY;
}

static void tell(struct worker *w, const struct node *n)
{
    struct tf_engine_event event = {.type = TF_ENGINE_NODE, .node = &n->node, .text = ""};
    w->tell(w->context, &event);
}

void node_judge(struct worker *w, struct node *n)
{
    enum tf_node_state state = present_state(n);
    if (!w->adopted || state == n->node.state)
        return;
    n->node.state = state;
    tell(w, n);
}

void nodes_tell(struct worker *w)
{
    for (size_t n = 0; n < w->config.nodes.count; n++) {
        w->nodes[n].node.state = present_state(&w->nodes[n]);
        tell(w, &w->nodes[n]);
    }
}

static void kill_instances(struct worker *w, int node)
{
    int64_t now = tf_boottime_ms();
    const struct tf_stop_request request = {now, now, TF_STOP_NODE_LOST};
    for (struct instance *i = w->instances; i; i = i->hh.next)
        if (i->node == node && !i->exited)
            instance_stop(w, i, &request);
}

static void say_down(void *context, const char *name)
{
    struct worker *w = context;
    int node = node_find(w, name);
    if (node >= 0)
        w->nodes[node].said_down = true;
}

void nodes_read_down(struct worker *w)
{
    struct tf_error err = TF_ERROR_INIT;
    for (size_t n = 0; n < w->config.nodes.count; n++)
        w->nodes[n].said_down = false;
    if (tf_signs_read(w->root, "down", say_down, w, &err)) {
        worker_trouble(w, "%s", err.text);
        return;
    }
    for (size_t n = 0; n < w->config.nodes.count; n++) {
        bool went = w->nodes[n].said_down && !w->nodes[n].down;
        w->nodes[n].down = w->nodes[n].said_down;
        if (went)
            kill_instances(w, (int)n);
        node_judge(w, &w->nodes[n]);
    }
}
