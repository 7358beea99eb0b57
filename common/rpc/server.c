/* SPDX-License-Identifier: Apache-2.0 */
/* The server: registration, limits, slots that wait for calls, start and stop. What the calls do is in call.c
 * (unary), stream.c and thread_call.c.
 *
 * A slot is armed for each call to come; the event thread arms the next one as soon as a call arrives, so
 * that gRPC never queues calls by itself, and refuses what is over the limits on the spot. */
#include "common/rpc/server_impl.h"

#include "common/base/cleanup.h"
#include "common/log/log.h"
#include "common/rpc/status.h"

#include <assert.h>
#include <stdarg.h>

static const struct tf_server_limits default_limits = {
    .message_max = TF_RPC_MESSAGE_MAX,
    .calls_max = 1024,
    .request_bytes_max = 64 << 20,
    .threads_max = 32,
    .stream_queue_max = 2 * TF_RPC_MESSAGE_MAX,
};

/* ---- counting ---- */

static void release_hold(struct tf_server *server)
{
    if (atomic_fetch_sub(&server->held, 1) == 1)
        tf_loop_post(server->rpc->loop, &server->idle);
}

void tf_slot_uncount(struct tf_slot *slot)
{
    struct tf_server *server = slot->method->server;
    atomic_fetch_sub(&server->calls, 1);
    atomic_fetch_sub(&server->request_bytes, slot->request_bytes);
}

void tf_slot_leave(struct tf_slot *slot)
{
    struct tf_server *server = slot->method->server;
    slot->method = NULL;
    release_hold(server);
}

void tf_slot_free(struct tf_slot *slot)
{
    struct tf_server *server = slot->method ? slot->method->server : NULL;
    tf_raw_release(&slot->raw);
    free(slot);
    if (server)
        release_hold(server);
}

/* ---- slots ---- */

static void on_refused(struct tf_tag *tag, bool ok)
{
    (void)ok;
    struct tf_slot *slot = TF_CONTAINER_OF(tag, struct tf_slot, refused);
    tf_slot_uncount(slot);
    tf_slot_free(slot);
}

static void refuse(struct tf_slot *slot, int grpc_code, const struct tf_error *error, struct tf_bytes details)
{
    struct tf_raw_status status = tf_status_from_error(error, details);
    status.code = grpc_code;
    tf_tag_init(&slot->refused, NULL, on_refused);
    tf_raw_answer(&slot->raw, &status, true, &slot->refused);
}

void tf_slot_refuse(struct tf_slot *slot, int grpc_code, enum tf_error_code code, const char *fmt, ...)
{
    struct tf_error error = {.code = code};
    va_list args;
    va_start(args, fmt);
    vsnprintf(error.text, sizeof error.text, fmt, args);
    va_end(args);
    refuse(slot, grpc_code, &error, (struct tf_bytes){NULL, 0});
}

static void on_accept(struct tf_tag *tag, bool ok);

static void arm(struct tf_method *method)
{
    struct tf_server *server = method->server;
    struct tf_slot *slot = tf_calloc(1, method->kind->size);
    atomic_fetch_add(&server->held, 1);
    slot->method = method;
    tf_raw_init(&slot->raw, server->rpc);
    tf_tag_init(&slot->accept, NULL, on_accept);
    tf_raw_accept(&slot->raw, server->rpc, server->port, method->handle, method->kind->with_request,
                  &slot->accept);
}

static bool within_limits(struct tf_slot *slot, size_t calls, size_t bytes)
{
    const struct tf_server *server = slot->method->server;
    if (calls > server->limits.calls_max)
        tf_slot_refuse_busy(slot, "%s has %zu calls in progress already: try again later", server->address,
                            server->limits.calls_max);
    else if (bytes > server->limits.request_bytes_max)
        tf_slot_refuse_busy(slot,
                            "the requests that %s is working on hold %zu bytes already: try again later",
                            server->address, server->limits.request_bytes_max);
    else
        return true;
    return false;
}

static bool is_allowed(struct tf_slot *slot)
{
    const struct tf_method *method = slot->method;
    const struct tf_server *server = method->server;
    const char *identity = tf_raw_identity(&slot->raw);
    struct tf_error error = TF_ERROR_INIT;
    TF_AUTO_BUF details = TF_BUF_INIT;
    if (!identity || !server->allow || !method->name ||
        server->allow(server->allow_arg, identity, method->name, &details, &error) == 0)
        return true;
    refuse(slot, TF_GRPC_PERMISSION_DENIED, &error, (struct tf_bytes){details.data, details.len});
    return false;
}

static void on_accept(struct tf_tag *tag, bool ok)
{
    struct tf_slot *slot = TF_CONTAINER_OF(tag, struct tf_slot, accept);
    struct tf_method *method = slot->method;
    struct tf_server *server = method->server;
    if (!ok) { /* the server shuts down */
        tf_slot_free(slot);
        return;
    }
    arm(method);
    tf_raw_accepted(&slot->raw);
    slot->request_bytes = tf_message_size(slot->raw.incoming);
    size_t calls = atomic_fetch_add(&server->calls, 1) + 1;
    size_t bytes = atomic_fetch_add(&server->request_bytes, slot->request_bytes) + slot->request_bytes;
    if (within_limits(slot, calls, bytes) && is_allowed(slot))
        method->kind->arrived(slot);
}

static void unknown_arrived(struct tf_slot *slot)
{
    tf_slot_refuse(
        slot, TF_GRPC_UNIMPLEMENTED, TF_ERR_REFUSED,
        "%s does not know the method %.200s: is it a tidefed endpoint of the right kind, and of the "
        "same version as the client?",
        slot->method->server->address, tf_raw_method(&slot->raw));
}

static const struct tf_kind kind_unknown = {
    .size = sizeof(struct tf_slot),
    .armed = 2,
    .arrived = unknown_arrived,
};

/* ---- creation ---- */

static size_t or_default(size_t value, size_t fallback)
{
    return value ? value : fallback;
}

static void on_idle(struct tf_inbox_item *item)
{
    struct tf_server *server = TF_CONTAINER_OF(item, struct tf_server, idle);
    tf_timer_cancel(server->rpc->loop, &server->grace);
    server->stopped = true;
    if (server->done)
        server->done(server->done_arg);
}

struct tf_server *tf_server_create(struct tf_rpc *rpc, const struct tf_server_options *options,
                                   struct tf_error *err)
{
    struct tf_server *server = tf_calloc(1, sizeof *server);
    const struct tf_server_limits *wanted = &options->limits;
    server->rpc = rpc;
    server->limits.message_max = or_default(wanted->message_max, default_limits.message_max);
    server->limits.calls_max = or_default(wanted->calls_max, default_limits.calls_max);
    server->limits.request_bytes_max =
        or_default(wanted->request_bytes_max, default_limits.request_bytes_max);
    server->limits.threads_max = or_default(wanted->threads_max, default_limits.threads_max);
    server->limits.stream_queue_max = or_default(wanted->stream_queue_max, 2 * server->limits.message_max);
    struct tf_port_options port = {
        .address = options->address,
        .credentials = options->credentials,
        .message_max = server->limits.message_max,
        /* Some more than calls_max, so that it is us who refuse, with a text. */
        .streams_max = server->limits.calls_max + 64,
    };
    server->port = tf_port_create(rpc, &port, &server->bound, err);
    if (!server->port) {
        free(server);
        return NULL;
    }
    server->address = tf_strdup(options->address);
    server->allow = options->allow;
    server->allow_arg = options->allow_arg;
    server->idle.run = on_idle;
    server->unknown = (struct tf_method){.server = server, .kind = &kind_unknown};
    atomic_init(&server->held, 1);
    return server;
}

static struct tf_method *method_add(struct tf_server *server, const char *name, const struct tf_kind *kind,
                                    void *arg)
{
    assert(!server->started);
    struct tf_method *method = tf_calloc(1, sizeof *method);
    *method = (struct tf_method){.server = server, .kind = kind, .arg = arg};
    method->name = tf_strdup(name);
    method->handle = tf_port_method(server->port, name, kind->with_request);
    assert(method->handle); /* else the name was registered before */
    tf_vec_push(&server->methods, method);
    return method;
}

void tf_server_unary(struct tf_server *server, const char *name, tf_unary_handler_f handler, void *arg)
{
    method_add(server, name, &tf_kind_unary, arg)->handler.unary = handler;
}

void tf_server_stream(struct tf_server *server, const char *name, tf_stream_handler_f handler, void *arg)
{
    method_add(server, name, &tf_kind_stream, arg)->handler.stream = handler;
}

void tf_server_thread(struct tf_server *server, const char *name, tf_thread_handler_f handler, void *arg)
{
    method_add(server, name, &tf_kind_thread, arg)->handler.thread = handler;
}

void tf_server_thread_stream(struct tf_server *server, const char *name, tf_thread_handler_f handler,
                             void *arg)
{
    method_add(server, name, &tf_kind_thread_stream, arg)->handler.thread = handler;
}

void tf_server_start(struct tf_server *server)
{
    assert(!server->started);
    server->started = true;
    tf_port_start(server->port);
    tf_vec_each (method, &server->methods)
        for (size_t i = 0; i < (*method)->kind->armed; i++)
            arm(*method);
    for (size_t i = 0; i < kind_unknown.armed; i++)
        arm(&server->unknown);
}

int tf_server_port(const struct tf_server *server)
{
    return server->bound;
}

size_t tf_server_calls(const struct tf_server *server)
{
    return atomic_load(&((struct tf_server *)(uintptr_t)server)->calls);
}

/* ---- end ---- */

static void on_grace_over(struct tf_timer *timer)
{
    struct tf_server *server = TF_CONTAINER_OF(timer, struct tf_server, grace);
    tf_port_cancel_all(server->port);
}

static void on_shutdown(struct tf_tag *tag, bool ok)
{
    (void)ok;
    release_hold(TF_CONTAINER_OF(tag, struct tf_server, shutdown));
}

void tf_server_stop(struct tf_server *server, int64_t grace_ms, void (*done)(void *arg), void *arg)
{
    assert(!server->stopping);
    server->stopping = true;
    server->done = done;
    server->done_arg = arg;
    if (!server->started)
        tf_port_start(server->port); /* gRPC can end only what was started */
    tf_tag_init(&server->shutdown, server->rpc->loop, on_shutdown);
    tf_port_shutdown(server->rpc, server->port, &server->shutdown);
    struct tf_mono end = {tf_clock_read().mono.ms + (grace_ms > 0 ? grace_ms : 0)};
    tf_timer_start(server->rpc->loop, &server->grace, end, on_grace_over);
}

void tf_server_destroy(struct tf_server *server)
{
    if (!server)
        return;
    if (!server->stopping)
        tf_server_stop(server, 0, NULL, NULL);
    else if (!server->stopped)
        tf_port_cancel_all(server->port);
    while (!server->stopped)
        tf_loop_turn(server->rpc->loop, TF_SECOND);
    tf_port_destroy(server->port);
    tf_vec_each (method, &server->methods) {
        free((*method)->name);
        free(*method);
    }
    tf_vec_release(&server->methods);
    free(server->address);
    free(server);
}
