/* SPDX-License-Identifier: Apache-2.0 */
/* The way of events from an engine, in whatever thread it works, to the callback in the thread of the loop.
 */
#include "subcluster/engine/outlet.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <pthread.h>

/* An event on its way, with all that it points at. */
struct parcel {
    struct tf_engine_event event;
    struct tf_node node;
    char *tenant, *name, *node_name, *text;
    struct tf_engine_port ports[TF_ENGINE_PORTS_MAX];
    struct parcel *next;
};

struct outlet {
    struct tf_inbox_item item; /* first */
    struct tf_loop *loop;
    tf_engine_event_f event;
    void *context;
    bool closed; /* loop thread only */
    pthread_mutex_t mutex;
    struct parcel *first, **last; /* under mutex, as is: */
    bool posted;
};

static void parcel_free(struct parcel *p)
{
    tf_node_release(&p->node);
    free(p->tenant);
    free(p->name);
    free(p->node_name);
    free(p->text);
    free(p);
}

static void outlet_free(struct outlet *outlet)
{
    while (outlet->first) {
        struct parcel *p = outlet->first;
        outlet->first = p->next;
        parcel_free(p);
    }
    pthread_mutex_destroy(&outlet->mutex);
    free(outlet);
}

/* In the loop thread. A callback may destroy the engine: then the rest is not delivered. */
static void deliver(struct tf_inbox_item *item)
{
    struct outlet *outlet = TF_CONTAINER_OF(item, struct outlet, item);
    pthread_mutex_lock(&outlet->mutex);
    struct parcel *p = outlet->first;
    outlet->first = NULL;
    outlet->last = &outlet->first;
    /* Still posted while we deliver, so that a destroy within a callback leaves the outlet to us. */
    pthread_mutex_unlock(&outlet->mutex);
    while (p) {
        struct parcel *next = p->next;
        if (!outlet->closed)
            outlet->event(outlet->context, &p->event);
        parcel_free(p);
        p = next;
    }
    if (outlet->closed) {
        outlet_free(outlet);
        return;
    }
    pthread_mutex_lock(&outlet->mutex);
    bool more = outlet->first != NULL;
    outlet->posted = more;
    pthread_mutex_unlock(&outlet->mutex);
    if (more)
        tf_loop_post(outlet->loop, item);
}

static struct parcel *pack(const struct tf_engine_event *event)
{
    struct parcel *p = tf_calloc(1, sizeof *p);
    p->event = *event;
    if (event->node) {
        tf_node_copy(&p->node, event->node);
        p->event.node = &p->node;
    }
    p->event.tenant = p->tenant = tf_strdup(event->tenant);
    p->event.name = p->name = tf_strdup(event->name);
    p->event.node_name = p->node_name = tf_strdup(event->node_name);
    p->event.text = p->text = tf_strdup(event->text ? event->text : "");
    if (event->port_count > 0)
        memcpy(p->ports, event->ports, event->port_count * sizeof *event->ports);
    p->event.ports = p->ports;
    return p;
}

void outlet_tell(struct outlet *outlet, const struct tf_engine_event *event)
{
    struct parcel *p = pack(event);
    pthread_mutex_lock(&outlet->mutex);
    *outlet->last = p;
    outlet->last = &p->next;
    bool post = !outlet->posted;
    outlet->posted = true;
    pthread_mutex_unlock(&outlet->mutex);
    if (post)
        tf_loop_post(outlet->loop, &outlet->item);
}

struct outlet *outlet_create(struct tf_loop *loop, tf_engine_event_f event, void *context)
{
    struct outlet *outlet = tf_calloc(1, sizeof *outlet);
    outlet->item.run = deliver;
    outlet->loop = loop;
    outlet->event = event;
    outlet->context = context;
    outlet->last = &outlet->first;
    pthread_mutex_init(&outlet->mutex, NULL);
    return outlet;
}

void outlet_close(struct outlet *outlet)
{
    outlet->closed = true;
    pthread_mutex_lock(&outlet->mutex);
    bool posted = outlet->posted;
    pthread_mutex_unlock(&outlet->mutex);
    if (!posted)
        outlet_free(outlet);
}
