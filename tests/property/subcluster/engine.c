/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/subcluster/engine.h"

#include "common/base/text.h"

#include <stdio.h>

uint64_t engine_history;

static void breach(const char *what, const struct tf_instance_id *id)
{
    fprintf(stderr, "breach in history %llu: %s: job %d epoch %llu index %u attempt %u\n",
            (unsigned long long)engine_history, what, id->uid.bytes[0], (unsigned long long)id->epoch,
            id->index, id->attempt);
    abort();
}

void engine_init(struct engine *e, struct tf_rng *rng, size_t nodes)
{
    *e = (struct engine){.rng = rng};
    for (size_t i = 0; i < nodes; i++) {
        struct tf_node *node = tf_vec_add(&e->nodes);
        node->name = tf_asprintf("n%zu", i);
        node->model = tf_strdup(i % 3 == 2 ? "A100" : "H800");
        node->gpu_memory = 80 * 1024;
        node->capacity = (struct tf_vector){(int32_t)(1 << tf_rng_below(rng, 4)), 6, 64000, 256 * 1024};
        node->state = TF_NODE_READY;
    }
}

void engine_release(struct engine *e)
{
    tf_vec_each (i, &e->instances)
        free(i->node);
    tf_vec_each (node, &e->nodes)
        tf_node_release(node);
    tf_vec_each (event, &e->events)
        sub_event_release(event);
    tf_vec_each (event, &e->repeats)
        sub_event_release(event);
    tf_vec_release(&e->instances);
    tf_vec_release(&e->nodes);
    tf_vec_release(&e->events);
    tf_vec_release(&e->repeats);
}

static bool is_live(const struct engine_instance *i)
{
    return i->state == SUB_INSTANCE_STARTING || i->state == SUB_INSTANCE_READY;
}

static struct engine_instance *find(struct engine *e, const struct tf_instance_id *id)
{
    tf_vec_each (i, &e->instances)
        if (tf_instance_id_eq(&i->id, id))
            return i;
    return NULL;
}

static struct tf_node *node_of(struct engine *e, const char *name)
{
    tf_vec_each (node, &e->nodes)
        if (tf_str_eq(node->name, name))
            return node;
    return NULL;
}

static struct sub_event event_of(const struct engine_instance *i)
{
    struct sub_event event = {.kind = SUB_EV_INSTANCE};
    event.instance = (struct sub_instance_event){.id = i->id,
                                                 .state = i->state,
                                                 .exit_code = i->exit_code,
                                                 .stopped = i->stopped,
                                                 .tenant = tf_strdup("t"),
                                                 .name = tf_strdup("j"),
                                                 .node = tf_strdup(i->node),
                                                 .gpus = i->gpus};
    if (i->state == SUB_INSTANCE_READY)
        tf_strs_add(&event.instance.ports, "http=31000");
    return event;
}

static void tell(struct engine *e, const struct engine_instance *i)
{
    tf_vec_push(&e->events, event_of(i));
}

static void tell_node(struct engine *e, const struct tf_node *node)
{
    struct sub_event event = {.kind = SUB_EV_NODE};
    tf_node_copy(&event.node, node);
    tf_vec_push(&e->events, event);
}

/* I2, with GPUs: what lives has one epoch a job, one instance an index, and GPUs of its own. */
static void check_start(struct engine *e, const struct engine_instance *i)
{
    tf_vec_each (other, &e->instances) {
        if (other == i || !is_live(other) || other->excused)
            continue;
        if (tf_str_eq(other->node, i->node) && (other->gpus & i->gpus))
            breach("two live instances on one GPU", &i->id);
        if (!tf_uid_eq(other->id.uid, i->id.uid))
            continue;
        if (other->id.epoch != i->id.epoch)
            breach("two live epochs of one job", &i->id);
        if (other->id.index == i->id.index)
            breach("two live instances of one index", &i->id);
    }
}

static void refuse(struct engine *e, const struct tf_instance_id *id)
{
    struct engine_instance none = {.id = *id, .state = SUB_INSTANCE_REFUSED};
    struct sub_event event = event_of(&none);
    event.instance.text = tf_strdup("no room in the inn");
    tf_vec_push(&e->events, event);
}

static void start(struct engine *e, const struct sub_start *start)
{
    struct engine_instance *known = find(e, &start->id);
    const struct tf_node *node = node_of(e, start->node);
    e->starts++;
    if (known) {
        tell(e, known);
        return;
    }
    if (!node || node->state == TF_NODE_LOST || (!e->calm && tf_rng_below(e->rng, 40) == 0)) {
        refuse(e, &start->id);
        return;
    }
    struct engine_instance *i = tf_vec_add(&e->instances);
    *i = (struct engine_instance){
        .id = start->id, .state = SUB_INSTANCE_STARTING, .node = tf_strdup(start->node), .gpus = start->gpus};
    check_start(e, i);
    tell(e, i);
}

static void stop(struct engine *e, const struct tf_instance_id *id)
{
    struct engine_instance *i = find(e, id);
    if (!i) {
        i = tf_vec_add(&e->instances);
        *i = (struct engine_instance){.id = *id, .state = SUB_INSTANCE_ABSENT};
    }
    if (is_live(i))
        i->stopping = true;
    else
        tell(e, i);
}

static void forget(struct engine *e, struct tf_uid uid, uint64_t epoch)
{
    for (size_t at = e->instances.count; at-- > 0;) {
        struct engine_instance *i = &e->instances.items[at];
        if (!tf_uid_eq(i->id.uid, uid) || i->id.epoch != epoch || is_live(i))
            continue;
        free(i->node);
        tf_vec_remove(&e->instances, at);
    }
    for (size_t at = e->repeats.count; at-- > 0;) {
        if (!tf_uid_eq(e->repeats.items[at].instance.id.uid, uid) ||
            e->repeats.items[at].instance.id.epoch != epoch)
            continue;
        sub_event_release(&e->repeats.items[at]);
        tf_vec_remove(&e->repeats, at);
    }
}

void engine_do(struct engine *e, const struct sub_action *action)
{
    if (action->kind == SUB_ACT_START)
        start(e, &action->start);
    else if (action->kind == SUB_ACT_STOP)
        stop(e, &action->stop.id);
    else if (action->kind == SUB_ACT_FORGET)
        forget(e, action->forget.uid, action->forget.epoch);
}

/* ---- by itself ---- */

static void exits(struct engine *e, struct engine_instance *i, int32_t code, bool stopped)
{
    i->state = SUB_INSTANCE_EXITED;
    i->exit_code = code;
    i->stopped = stopped;
    i->stopping = false;
    if (!i->zombie)
        tell(e, i);
}

static void move_instance(struct engine *e, struct engine_instance *i)
{
    uint64_t draw = tf_rng_below(e->rng, 100);
    if (i->zombie)
        return;
    if (i->stopping && draw < 60)
        exits(e, i, draw < 5 ? 0 : 143, draw >= 8);
    else if (i->state == SUB_INSTANCE_STARTING && draw < 70) {
        i->state = SUB_INSTANCE_READY;
        tell(e, i);
    } else if (draw < 80)
        exits(e, i, 0, false);
    else if (draw < 84 && !e->calm)
        exits(e, i, 1, false);
}

static void lose_node(struct engine *e, struct tf_node *node)
{
    node->state = TF_NODE_LOST;
    tell_node(e, node);
    tf_vec_each (i, &e->instances) {
        if (!is_live(i) || !tf_str_eq(i->node, node->name))
            continue;
        if (tf_rng_below(e->rng, 2)) {
            i->zombie = i->excused = true;
            continue;
        }
        i->state = SUB_INSTANCE_LOST;
        if (tf_rng_below(e->rng, 2))
            tell(e, i);
    }
}

static void return_node(struct engine *e, struct tf_node *node)
{
    node->state = TF_NODE_READY;
    tf_vec_each (i, &e->instances) {
        if (!i->zombie || !tf_str_eq(i->node, node->name))
            continue;
        i->zombie = false;
        tell(e, i); /* before its node is ready again */
    }
    tell_node(e, node);
}

void engine_move(struct engine *e)
{
    uint64_t draw = tf_rng_below(e->rng, 40);
    if (draw == 0 && !e->calm) {
        struct tf_node *node = &e->nodes.items[tf_rng_below(e->rng, e->nodes.count)];
        if (node->state == TF_NODE_READY)
            lose_node(e, node);
        else
            return_node(e, node);
        return;
    }
    if (draw == 1 && !e->calm) {
        struct tf_node *node = &e->nodes.items[tf_rng_below(e->rng, e->nodes.count)];
        if (node->state == TF_NODE_LOST)
            return;
        node->state = node->state == TF_NODE_READY ? TF_NODE_CORDONED : TF_NODE_READY;
        node->bad_gpus = tf_rng_below(e->rng, 3);
        tell_node(e, node);
        return;
    }
    if (e->instances.count == 0)
        return;
    struct engine_instance *i = &e->instances.items[tf_rng_below(e->rng, e->instances.count)];
    if (is_live(i))
        move_instance(e, i);
}

static bool same_source(const struct sub_event *a, const struct sub_event *b)
{
    if (a->kind != b->kind)
        return false;
    return a->kind == SUB_EV_NODE ? tf_str_eq(a->node.name, b->node.name)
                                  : tf_instance_id_eq(&a->instance.id, &b->instance.id);
}

static struct sub_event copy_of(const struct sub_event *event)
{
    struct engine_instance i = {.id = event->instance.id,
                                .state = event->instance.state,
                                .exit_code = event->instance.exit_code,
                                .stopped = event->instance.stopped,
                                .node = event->instance.node,
                                .gpus = event->instance.gpus};
    return event_of(&i);
}

/* What may not be overtaken: older events of the same source; and by or of a node's, nothing. */
static size_t first_before(const struct engine *e, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (e->events.items[at].kind == SUB_EV_NODE || e->events.items[i].kind == SUB_EV_NODE ||
            same_source(&e->events.items[i], &e->events.items[at]))
            return first_before(e, i);
    return at;
}

bool engine_next(struct engine *e, struct sub_event *event)
{
    if (!e->calm && e->repeats.count && tf_rng_below(e->rng, 12) == 0) {
        *event = copy_of(&e->repeats.items[tf_rng_below(e->rng, e->repeats.count)]);
        return true;
    }
    if (e->events.count == 0)
        return false;
    size_t at = first_before(e, tf_rng_below(e->rng, e->events.count));
    *event = e->events.items[at];
    tf_vec_remove(&e->events, at);
    if (event->kind == SUB_EV_INSTANCE && event->instance.state != SUB_INSTANCE_REFUSED &&
        tf_rng_below(e->rng, 4) == 0)
        tf_vec_push(&e->repeats, copy_of(event));
    return true;
}

void engine_list(struct engine *e)
{
    tf_vec_each (event, &e->events)
        sub_event_release(event);
    e->events.count = 0;
    tf_vec_each (event, &e->repeats)
        sub_event_release(event);
    e->repeats.count = 0;
    tf_vec_each (node, &e->nodes)
        tell_node(e, node);
    tf_vec_each (i, &e->instances)
        if (!i->zombie)
            tell(e, i);
}

void engine_heal(struct engine *e)
{
    e->calm = true;
    tf_vec_each (node, &e->nodes) {
        node->bad_gpus = 0;
        return_node(e, node);
    }
}

bool engine_job_lives(const struct engine *e, struct tf_uid uid, uint64_t up_to_epoch)
{
    tf_vec_each (i, &e->instances)
        if (is_live(i) && !i->excused && tf_uid_eq(i->id.uid, uid) && i->id.epoch <= up_to_epoch)
            return true;
    return false;
}

size_t engine_live(const struct engine *e)
{
    size_t live = 0;
    tf_vec_each (i, &e->instances)
        live += is_live(i);
    return live;
}
