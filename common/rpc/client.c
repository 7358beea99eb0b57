/* SPDX-License-Identifier: Apache-2.0 */
/* Channels, and the calls and streams of clients. Streams share their machinery with those of servers
 * (stream.c); the blocking forms turn the loop until the call back has come. */
#include "common/rpc/client.h"

#include "common/base/cleanup.h"
#include "common/rpc/status.h"
#include "common/rpc/stream_impl.h"

/* Freed with the last of its owner and its calls. */
struct tf_channel {
    struct tf_rpc *rpc;
    void *link;
    char *address;
    size_t message_max, stream_queue_max;
    size_t refs;
};

struct tf_channel *tf_channel_create(struct tf_rpc *rpc, const struct tf_channel_options *options,
                                     struct tf_error *err)
{
    size_t message_max = options->message_max ? options->message_max : TF_RPC_MESSAGE_MAX;
    void *link = tf_link_create(options->address, options->credentials, message_max, err);
    if (!link)
        return NULL;
    struct tf_channel *channel = tf_calloc(1, sizeof *channel);
    *channel = (struct tf_channel){
        .rpc = rpc,
        .link = link,
        .address = tf_strdup(options->address),
        .message_max = message_max,
        .stream_queue_max = options->stream_queue_max ? options->stream_queue_max : 2 * message_max,
        .refs = 1,
    };
    return channel;
}

static struct tf_channel *channel_ref(struct tf_channel *channel)
{
    channel->refs++;
    atomic_fetch_add(&channel->rpc->calls, 1);
    return channel;
}

static void channel_unref(struct tf_channel *channel)
{
    if (--channel->refs > 0)
        return;
    tf_link_destroy(channel->link);
    free(channel->address);
    free(channel);
}

static void call_done(struct tf_channel *channel)
{
    atomic_fetch_sub(&channel->rpc->calls, 1);
    channel_unref(channel);
}

void tf_channel_destroy(struct tf_channel *channel)
{
    if (channel)
        channel_unref(channel);
}

const char *tf_channel_address(const struct tf_channel *channel)
{
    return channel->address;
}

static void error_of(struct tf_raw *raw, const struct tf_channel *channel, const char *method,
                     struct tf_error *error, struct tf_bytes *details)
{
    struct tf_raw_status status = tf_raw_status_of(raw);
    struct tf_status_context context = {
        .address = channel->address,
        .method = method,
        .connected = tf_link_is_up(channel->link),
    };
    tf_status_to_error(&status, &context, error);
    *details = status.details;
}

/* ---- unary ---- */

struct tf_unary {
    struct tf_raw raw;
    struct tf_tag tag;
    struct tf_inbox_item too_large; /* instead of the tag */
    size_t request_len;
    struct tf_channel *channel;
    char *method;
    tf_unary_f done; /* NULL once cancelled */
    void *arg;
};

static void unary_free(struct tf_unary *unary)
{
    call_done(unary->channel);
    free(unary->method);
    free(unary);
}

static void on_unary(struct tf_tag *tag, bool ok)
{
    (void)ok; /* the status tells */
    struct tf_unary *unary = TF_CONTAINER_OF(tag, struct tf_unary, tag);
    if (unary->done) {
        struct tf_error error;
        struct tf_bytes details, body = {NULL, 0};
        error_of(&unary->raw, unary->channel, unary->method, &error, &details);
        if (error.code == TF_OK)
            body = tf_message_bytes(&unary->raw.incoming);
        unary->done(unary->arg, &error, body, details);
    }
    tf_raw_release(&unary->raw);
    unary_free(unary);
}

static void on_too_large(struct tf_inbox_item *item)
{
    struct tf_unary *unary = TF_CONTAINER_OF(item, struct tf_unary, too_large);
    struct tf_error error = TF_ERROR_INIT;
    tf_error_set(&error, TF_ERR_TOO_LARGE,
                 "the request %s has %zu bytes, more than the limit of %zu for one message; nothing was sent",
                 unary->method, unary->request_len, unary->channel->message_max);
    if (unary->done)
        unary->done(unary->arg, &error, (struct tf_bytes){NULL, 0}, (struct tf_bytes){NULL, 0});
    unary_free(unary);
}

struct tf_unary *tf_unary_start(struct tf_channel *channel, const char *method, struct tf_buf *request,
                                int64_t timeout_ms, tf_unary_f done, void *arg)
{
    struct tf_unary *unary = tf_calloc(1, sizeof *unary);
    unary->channel = channel_ref(channel);
    unary->method = tf_strdup(method);
    unary->done = done;
    unary->arg = arg;
    unary->request_len = request->len;
    if (request->len > channel->message_max) {
        tf_buf_release(request);
        unary->too_large.run = on_too_large;
        tf_loop_post(channel->rpc->loop, &unary->too_large);
        return unary;
    }
    tf_raw_open(&unary->raw, channel->rpc, channel->link, method, timeout_ms);
    unary->raw.outgoing = tf_message_from(request);
    tf_tag_init(&unary->tag, channel->rpc->loop, on_unary);
    tf_raw_ask(&unary->raw, &unary->tag);
    return unary;
}

void tf_unary_cancel(struct tf_unary *unary)
{
    unary->done = NULL;
    if (unary->raw.call)
        tf_raw_cancel(&unary->raw);
}

struct waiting {
    bool over;
    struct tf_error error;
    struct tf_buf *body, *details;
    bool (*each)(void *arg, struct tf_bytes body);
    void *arg;
};

static void buf_set(struct tf_buf *buf, struct tf_bytes bytes)
{
    if (!buf)
        return;
    tf_buf_clear(buf);
    tf_buf_add(buf, bytes.data, bytes.len);
}

static void on_waited(void *arg, const struct tf_error *error, struct tf_bytes body, struct tf_bytes details)
{
    struct waiting *w = arg;
    w->over = true;
    w->error = *error;
    if (error->code == TF_OK)
        buf_set(w->body, body);
    buf_set(w->details, details);
}

static int wait_for(struct tf_channel *channel, struct waiting *w, struct tf_error *err)
{
    while (!w->over)
        tf_loop_turn(channel->rpc->loop, -1);
    if (w->error.code == TF_OK)
        return 0;
    if (err)
        *err = w->error;
    return -1;
}

int tf_unary_wait(struct tf_channel *channel, const char *method, struct tf_buf *request, int64_t timeout_ms,
                  struct tf_buf *body, struct tf_buf *details, struct tf_error *err)
{
    struct waiting w = {.body = body, .details = details};
    tf_unary_start(channel, method, request, timeout_ms, on_waited, &w);
    return wait_for(channel, &w, err);
}

/* ---- streams ---- */

struct client_stream {
    struct tf_stream stream;
    struct tf_raw raw;
    struct tf_channel *channel;
    char *method;
};

static void client_end_error(struct tf_stream *stream, struct tf_error *error, struct tf_bytes *details)
{
    struct client_stream *c = TF_CONTAINER_OF(stream, struct client_stream, stream);
    error_of(&c->raw, c->channel, c->method, error, details);
}

static void client_free(struct tf_stream *stream)
{
    struct client_stream *c = TF_CONTAINER_OF(stream, struct client_stream, stream);
    tf_raw_release(&c->raw);
    call_done(c->channel);
    free(c->method);
    free(c);
}

struct tf_stream *tf_stream_open(struct tf_channel *channel, const char *method, int64_t timeout_ms,
                                 const struct tf_stream_events *events, void *arg)
{
    struct client_stream *c = tf_calloc(1, sizeof *c);
    c->channel = channel_ref(channel);
    c->method = tf_strdup(method);
    c->stream = (struct tf_stream){
        .raw = &c->raw,
        .loop = channel->rpc->loop,
        .client = true,
        .queue_max = channel->stream_queue_max,
        .events = events,
        .arg = arg,
        .end_error = client_end_error,
        .free = client_free,
    };
    tf_raw_open(&c->raw, channel->rpc, channel->link, method, timeout_ms);
    tf_stream_begin(&c->stream);
    tf_stream_read(&c->stream);
    return &c->stream;
}

static void on_answer(void *arg, struct tf_stream *stream, struct tf_bytes body)
{
    struct waiting *w = arg;
    if (w->each(w->arg, body))
        return;
    w->over = true;
    tf_stream_cancel(stream);
}

static void on_answers_ended(void *arg, struct tf_stream *stream, const struct tf_error *error,
                             struct tf_bytes details)
{
    (void)stream;
    on_waited(arg, error, (struct tf_bytes){NULL, 0}, details);
}

int tf_stream_wait(struct tf_channel *channel, const char *method, struct tf_buf *request, int64_t timeout_ms,
                   bool (*each)(void *arg, struct tf_bytes body), void *arg, struct tf_buf *details,
                   struct tf_error *err)
{
    static const struct tf_stream_events events = {.message = on_answer, .ended = on_answers_ended};
    struct waiting w = {.details = details, .each = each, .arg = arg};
    struct tf_stream *stream = tf_stream_open(channel, method, timeout_ms, &events, &w);
    tf_stream_write(stream, request);
    tf_stream_half_close(stream);
    return wait_for(channel, &w, err);
}
