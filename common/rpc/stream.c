/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of both sides, in the loop thread: the queue of messages to send, one at a time, the read that is
 * always under way, and the end. gRPC allows one send and one receive at a time; headers, half-close and
 * status are sends too and keep their order.
 *
 * The memory lives until the last tag is back and the caller has let go (open is false). */
#include "common/rpc/stream_impl.h"

#include "common/base/cleanup.h"
#include "common/rpc/server_impl.h"
#include "common/rpc/status.h"

#include <assert.h>

enum {
    LINGER_MS = 30 * TF_SECOND, /* a finished stream that takes nothing for so long is cut off */
};

/* ---- sending ---- */

static void drop_queue(struct tf_stream *stream)
{
    for (; stream->next < stream->queue.count; stream->next++) {
        stream->queued -= tf_message_size(stream->queue.items[stream->next]);
        tf_message_free(stream->queue.items[stream->next]);
    }
}

static bool queue_empty(const struct tf_stream *stream)
{
    return stream->next == stream->queue.count;
}

static void *queue_pop(struct tf_stream *stream)
{
    void *message = stream->queue.items[stream->next++];
    if (queue_empty(stream))
        stream->next = stream->queue.count = 0;
    else if (stream->next >= 64 && stream->next * 2 >= stream->queue.count) {
        size_t left = stream->queue.count - stream->next;
        memmove(stream->queue.items, stream->queue.items + stream->next, left * sizeof *stream->queue.items);
        stream->queue.count = left;
        stream->next = 0;
    }
    return message;
}

/* Starts the next send, if there is one to start. */
static void pump(struct tf_stream *stream)
{
    if (stream->sending || stream->dead || stream->finished)
        return;
    if (!queue_empty(stream)) {
        stream->raw->outgoing = queue_pop(stream);
        stream->sending_bytes = tf_message_size(stream->raw->outgoing);
        tf_raw_send(stream->raw, !queue_empty(stream), &stream->send);
    } else if (stream->finish) {
        stream->finished = true;
        struct tf_bytes details = {stream->status_details, stream->status_details_len};
        struct tf_raw_status status = {.code = 0, .text = ""};
        if (stream->status_error.code != TF_OK)
            status = tf_status_from_error(&stream->status_error, details);
        tf_raw_send_status(stream->raw, &status, &stream->send);
    } else if (stream->half_close && !stream->half_closed) {
        stream->half_closed = true;
        tf_raw_half_close(stream->raw, &stream->send);
    } else {
        return;
    }
    stream->sending = true;
    stream->pending++;
}

static void on_linger(struct tf_timer *timer)
{
    tf_raw_cancel(TF_CONTAINER_OF(timer, struct tf_stream, linger)->raw);
}

static void linger(struct tf_stream *stream)
{
    struct tf_mono end = {tf_loop_now(stream->loop).mono.ms + LINGER_MS};
    tf_timer_start(stream->loop, &stream->linger, end, on_linger);
}

static void on_sent(struct tf_tag *tag, bool ok)
{
    struct tf_stream *stream = TF_CONTAINER_OF(tag, struct tf_stream, send);
    bool was_message = stream->raw->outgoing != NULL;
    stream->sending = false;
    stream->queued -= stream->sending_bytes;
    stream->sending_bytes = 0;
    tf_message_free(stream->raw->outgoing);
    stream->raw->outgoing = NULL;
    if (!ok) {
        stream->dead = true;
        drop_queue(stream);
    }
    if (stream->finish)
        linger(stream);
    pump(stream);
    if (ok && was_message && stream->open && stream->queued == 0 && stream->events && stream->events->drained)
        stream->events->drained(stream->arg, stream);
    tf_stream_unpend(stream);
}

size_t tf_stream_write(struct tf_stream *stream, struct tf_buf *body)
{
    assert(stream->open && !stream->half_close);
    if (stream->dead) { /* the end will be reported */
        tf_buf_release(body);
        return stream->queued;
    }
    stream->queued += body->len;
    tf_vec_push(&stream->queue, tf_message_from(body));
    pump(stream);
    return stream->queued;
}

size_t tf_stream_queued(const struct tf_stream *stream)
{
    return stream->queued;
}

size_t tf_stream_queue_max(const struct tf_stream *stream)
{
    return stream->queue_max;
}

void tf_stream_half_close(struct tf_stream *stream)
{
    assert(stream->open && stream->client);
    stream->half_close = true;
    pump(stream);
}

/* ---- the end ---- */

void tf_stream_unpend(struct tf_stream *stream)
{
    if (--stream->pending > 0 || stream->open)
        return;
    tf_timer_cancel(stream->loop, &stream->linger);
    drop_queue(stream);
    tf_vec_release(&stream->queue);
    free(stream->status_details);
    stream->free(stream);
}

/* A client sees the end only when it has read all messages that came before it. */
static void report_end(struct tf_stream *stream)
{
    if (!stream->open || !stream->call_ended || (stream->client && !stream->input_ended))
        return;
    struct tf_error error = TF_ERROR_INIT;
    struct tf_bytes details = {NULL, 0};
    stream->end_error(stream, &error, &details);
    stream->open = false;
    if (stream->events)
        stream->events->ended(stream->arg, stream, &error, details);
}

static void on_end(struct tf_tag *tag, bool ok)
{
    (void)ok;
    struct tf_stream *stream = TF_CONTAINER_OF(tag, struct tf_stream, end);
    stream->call_ended = stream->dead = true;
    drop_queue(stream);
    report_end(stream);
    tf_stream_unpend(stream);
}

void tf_stream_finish(struct tf_stream *stream, const struct tf_error *error, struct tf_bytes details)
{
    assert(stream->open && !stream->client);
    stream->open = false;
    stream->finish = true;
    if (error && error->code != TF_OK) {
        drop_queue(stream);
        stream->status_error = *error;
        stream->status_details = tf_memdup(details.data, details.len);
        stream->status_details_len = details.len;
    }
    linger(stream);
    pump(stream);
}

void tf_stream_cancel(struct tf_stream *stream)
{
    assert(stream->open);
    stream->open = false;
    stream->dead = true;
    drop_queue(stream);
    tf_raw_cancel(stream->raw);
}

/* ---- reading ---- */

/* The other end is still there, so it did close its half. */
static void on_half_closed(struct tf_timer *timer)
{
    struct tf_stream *stream = TF_CONTAINER_OF(timer, struct tf_stream, linger);
    if (stream->open)
        stream->events->half_closed(stream->arg, stream);
}

static void on_received(struct tf_tag *tag, bool ok)
{
    struct tf_stream *stream = TF_CONTAINER_OF(tag, struct tf_stream, receive);
    if (ok && stream->raw->incoming) {
        if (stream->open)
            stream->events->message(stream->arg, stream, tf_message_bytes(&stream->raw->incoming));
        stream->reading = false;
        if (!stream->open)
            stream->input_ended = true;
        else if (!stream->paused)
            tf_stream_read(stream);
    } else {
        stream->reading = false;
        stream->input_ended = true;
        if (ok && stream->open && !stream->client && stream->events->half_closed) {
            struct tf_mono due = {tf_loop_now(stream->loop).mono.ms + TF_RAW_HALF_CLOSE_MS};
            tf_timer_start(stream->loop, &stream->linger, due, on_half_closed);
        }
    }
    report_end(stream);
    tf_stream_unpend(stream);
}

void tf_stream_read(struct tf_stream *stream)
{
    stream->reading = true;
    stream->pending++;
    tf_raw_receive(stream->raw, &stream->receive);
}

void tf_stream_pause(struct tf_stream *stream)
{
    assert(stream->open);
    stream->paused = true;
}

void tf_stream_resume(struct tf_stream *stream)
{
    assert(stream->open);
    stream->paused = false;
    if (!stream->reading && !stream->input_ended)
        tf_stream_read(stream);
}

static void on_headers(struct tf_tag *tag, bool ok)
{
    (void)ok; /* the end tells */
    tf_stream_unpend(TF_CONTAINER_OF(tag, struct tf_stream, headers));
}

void tf_stream_begin(struct tf_stream *stream)
{
    stream->open = true;
    tf_tag_init(&stream->headers, stream->loop, on_headers);
    tf_tag_init(&stream->send, stream->loop, on_sent);
    tf_tag_init(&stream->receive, stream->loop, on_received);
    tf_tag_init(&stream->end, stream->loop, on_end);
    stream->sending = true;
    stream->pending += 3;
    tf_raw_send_headers(stream->raw, &stream->send);
    if (stream->client) {
        tf_raw_await_headers(stream->raw, &stream->headers);
        tf_raw_await_status(stream->raw, &stream->end);
    } else {
        stream->pending--;
        tf_raw_await_close(stream->raw, &stream->end);
    }
}

const char *tf_stream_peer(const struct tf_stream *stream)
{
    return tf_raw_peer(stream->raw);
}

const char *tf_stream_identity(const struct tf_stream *stream)
{
    return tf_raw_identity(stream->raw);
}

/* ---- of a server ---- */

struct server_stream {
    struct tf_slot slot;
    struct tf_stream stream;
};

static void server_end_error(struct tf_stream *stream, struct tf_error *error, struct tf_bytes *details)
{
    *details = (struct tf_bytes){NULL, 0};
    tf_error_set(error, TF_ERR_UNAVAILABLE, "the client %s went away", tf_stream_peer(stream));
}

static void server_free(struct tf_stream *stream)
{
    struct server_stream *s = TF_CONTAINER_OF(stream, struct server_stream, stream);
    tf_slot_uncount(&s->slot);
    tf_slot_free(&s->slot);
}

static void run_handler(struct tf_inbox_item *item)
{
    struct tf_slot *slot = TF_CONTAINER_OF(item, struct tf_slot, item);
    struct server_stream *s = TF_CONTAINER_OF(slot, struct server_stream, slot);
    struct tf_server *server = slot->method->server;
    s->stream.raw = &slot->raw;
    s->stream.loop = server->rpc->loop;
    s->stream.queue_max = server->limits.stream_queue_max;
    s->stream.end_error = server_end_error;
    s->stream.free = server_free;
    tf_stream_begin(&s->stream);
    s->stream.pending++; /* the handler may finish it */
    slot->method->handler.stream(slot->method->arg, &s->stream);
    assert(s->stream.events || !s->stream.open);
    tf_stream_unpend(&s->stream);
}

void tf_stream_accept(struct tf_stream *stream, const struct tf_stream_events *events, void *arg)
{
    assert(stream->open && !stream->client && !stream->events);
    stream->events = events;
    stream->arg = arg;
    tf_stream_read(stream);
}

static void stream_arrived(struct tf_slot *slot)
{
    slot->item.run = run_handler;
    tf_loop_post(slot->method->server->rpc->loop, &slot->item);
}

const struct tf_kind tf_kind_stream = {
    .size = sizeof(struct server_stream),
    .armed = 4,
    .arrived = stream_arrived,
};
