/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_RPC_STREAM_H
#define TF_RPC_STREAM_H

#include "common/rpc/rpc.h"

/* One end of a call with any number of messages each way: for a server it comes from tf_server_stream, for a
 * client from tf_stream_open (client.h).
 *
 * The stream is the caller's until it is finished (tf_stream_finish, tf_stream_cancel) or its end is
 * reported, whichever comes first; after that no call back comes and the pointer is invalid. */
struct tf_stream;

struct tf_stream_events {
    /* One message; the next is read when it returns. Required. */
    void (*message)(void *arg, struct tf_stream *stream, struct tf_bytes body);
    /* The other end will send no more, and has not gone away: shortly after its last message. For a server;
     * may be NULL. */
    void (*half_closed)(void *arg, struct tf_stream *stream);
    /* All that was written has left. May be NULL. */
    void (*drained)(void *arg, struct tf_stream *stream);
    /* The end: error->code is TF_OK if the server finished it without error. For a server: the client went
     * away. details is the server's typed detail. Required. */
    void (*ended)(void *arg, struct tf_stream *stream, const struct tf_error *error, struct tf_bytes details);
};

/* Server: begins to read. events is borrowed as long as the stream. */
void tf_stream_accept(struct tf_stream *stream, const struct tf_stream_events *events, void *arg);

/* Reads no further message until resumed, so that the other end has to wait; its end is still told. Both may
 * be called at any time while the stream is the caller's. */
void tf_stream_pause(struct tf_stream *stream);
void tf_stream_resume(struct tf_stream *stream);

/* Queues a message (taken) and returns how many bytes now wait for the other end to take them: more than
 * tf_stream_queue_max means that it is too slow, and the caller should finish or cancel the stream. */
size_t tf_stream_write(struct tf_stream *stream, struct tf_buf *body);
size_t tf_stream_queued(const struct tf_stream *stream);
size_t tf_stream_queue_max(const struct tf_stream *stream);

/* Client: sends no more, after what is queued. */
void tf_stream_half_close(struct tf_stream *stream);

/* Server: ends the call. error NULL (or TF_OK) lets the queue drain first; with an error what is still queued
 * is dropped. A client that takes nothing for 30 s is cut off. details may be empty. */
void tf_stream_finish(struct tf_stream *stream, const struct tf_error *error, struct tf_bytes details);

/* Either end: cuts the call off; the other sees it as cancelled. */
void tf_stream_cancel(struct tf_stream *stream);

const char *tf_stream_peer(const struct tf_stream *stream); /* for logs; as long as the stream */
/* Server: the common name in the client's certificate, "" if it has none; NULL without TLS. */
const char *tf_stream_identity(const struct tf_stream *stream);

#endif
