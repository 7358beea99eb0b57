/* SPDX-License-Identifier: Apache-2.0 */
/* Unary calls of a server: from arrival to the answer, which may come late or never be wanted any more.
 *
 * The common case, a handler that answers at once, is one batch and no further visit to the loop. Otherwise
 * the wait for the call's close is started on its own, to learn at once when the client goes away. */
#include "common/rpc/server_impl.h"

#include "common/base/cleanup.h"
#include "common/rpc/status.h"

#include <assert.h>

struct tf_call {
    struct tf_slot slot;
    struct tf_tag answer, close;
    bool answered;    /* the handler has done its part */
    bool closing;     /* the wait for the close is under way or over */
    bool closed;      /* and over */
    bool answer_left; /* the answer's tag is still to come */
    size_t message_max;
    struct tf_server *server; /* until the call is closed */
    void (*gone)(void *arg, struct tf_call *call);
    void *gone_arg;
};

/* ---- in the event thread ---- */

static void run_handler(struct tf_inbox_item *item);

static void unary_arrived(struct tf_slot *slot)
{
    slot->item.run = run_handler;
    tf_loop_post(slot->method->server->rpc->loop, &slot->item);
}

const struct tf_kind tf_kind_unary = {
    .size = sizeof(struct tf_call),
    .with_request = true,
    .armed = 16,
    .arrived = unary_arrived,
};

static void on_answered_at_once(struct tf_tag *tag, bool ok)
{
    (void)ok;
    struct tf_call *call = TF_CONTAINER_OF(tag, struct tf_call, answer);
    tf_slot_uncount(&call->slot);
    tf_slot_free(&call->slot);
}

/* ---- in the loop ---- */

/* Both tags are back: nothing of gRPC is left. Without an answer the memory stays the handler's. */
static void end(struct tf_call *call)
{
    tf_slot_uncount(&call->slot);
    if (call->answered) {
        tf_slot_free(&call->slot);
        return;
    }
    tf_raw_hang_up(&call->slot.raw);
    tf_slot_leave(&call->slot);
    call->server = NULL;
    if (call->gone)
        call->gone(call->gone_arg, call);
}

static void on_close(struct tf_tag *tag, bool ok)
{
    (void)ok;
    struct tf_call *call = TF_CONTAINER_OF(tag, struct tf_call, close);
    call->closed = true;
    if (!call->answer_left)
        end(call);
}

static void on_answered(struct tf_tag *tag, bool ok)
{
    (void)ok;
    struct tf_call *call = TF_CONTAINER_OF(tag, struct tf_call, answer);
    call->answer_left = false;
    if (call->closed)
        end(call);
}

static void run_handler(struct tf_inbox_item *item)
{
    struct tf_slot *slot = TF_CONTAINER_OF(item, struct tf_slot, item);
    struct tf_call *call = TF_CONTAINER_OF(slot, struct tf_call, slot);
    const struct tf_method *method = slot->method;
    struct tf_server *server = method->server;
    call->server = server;
    call->message_max = server->limits.message_max;
    server->current = call;
    method->handler.unary(method->arg, call, tf_message_bytes(&slot->raw.incoming));
    if (server->current != call)
        return; /* answered, and perhaps freed by now */
    server->current = NULL;
    call->closing = true;
    tf_tag_init(&call->close, server->rpc->loop, on_close);
    tf_raw_await_close(&slot->raw, &call->close);
}

static void answer(struct tf_call *call, const struct tf_raw_status *status)
{
    assert(!call->answered);
    call->answered = true;
    if (!call->server) { /* nobody is waiting any more */
        tf_slot_free(&call->slot);
        return;
    }
    bool at_once = !call->closing;
    if (at_once)
        call->server->current = NULL;
    call->answer_left = true;
    tf_tag_init(&call->answer, at_once ? NULL : call->server->rpc->loop,
                at_once ? on_answered_at_once : on_answered);
    tf_raw_answer(&call->slot.raw, status, at_once, &call->answer);
}

void tf_call_reply(struct tf_call *call, struct tf_buf *body)
{
    if (body->len > call->message_max) {
        struct tf_error error = TF_ERROR_INIT;
        tf_error_set(
            &error, TF_ERR_TOO_LARGE,
            "the answer has %zu bytes, more than the limit of %zu for one message: ask for less at a time",
            body->len, call->message_max);
        tf_buf_release(body);
        tf_call_fail(call, &error, (struct tf_bytes){NULL, 0});
        return;
    }
    static const struct tf_raw_status fine = {.code = 0, .text = ""};
    if (call->server)
        call->slot.raw.outgoing = tf_message_from(body);
    else
        tf_buf_release(body);
    answer(call, &fine);
}

void tf_call_fail(struct tf_call *call, const struct tf_error *error, struct tf_bytes details)
{
    assert(error->code != TF_OK);
    struct tf_raw_status status = tf_status_from_error(error, details);
    answer(call, &status);
}

void tf_call_on_gone(struct tf_call *call, void (*gone)(void *arg, struct tf_call *call), void *arg)
{
    call->gone = gone;
    call->gone_arg = arg;
}

bool tf_call_is_gone(const struct tf_call *call)
{
    return !call->server;
}

struct tf_mono tf_call_deadline(const struct tf_call *call)
{
    return call->slot.raw.deadline;
}

const char *tf_call_peer(const struct tf_call *call)
{
    return tf_raw_peer(&((struct tf_call *)(uintptr_t)call)->slot.raw);
}

const char *tf_call_identity(const struct tf_call *call)
{
    return tf_raw_identity(&call->slot.raw);
}
