/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_RPC_CLIENT_H
#define TF_RPC_CLIENT_H

#include "common/rpc/rpc.h"
#include "common/rpc/stream.h"

/* A channel: a connection to one address that comes back by itself (first retry after 100 ms, then more
 * slowly to 1 s). Calls fail at once while it is down.
 *
 * Errors of calls: what the server said keeps its code and text. Else
 *   UNAVAILABLE  the request did not leave: no connection
 *   UNKNOWN      the connection broke while it was under way: repeat the same request
 *   TIMEOUT      no answer in time
 *   REFUSED      the address answers, but does not have the method
 *   TOO_LARGE    a message over the limit
 * and the text names the address and what to do. */
struct tf_channel;

struct tf_channel_options {
    const char *address; /* as of the server, also "host:port"; borrowed */
    struct tf_rpc_credentials credentials;
    size_t message_max;      /* 0 = TF_RPC_MESSAGE_MAX */
    size_t stream_queue_max; /* 0 = 2 * message_max */
};

struct tf_channel *tf_channel_create(struct tf_rpc *rpc, const struct tf_channel_options *options,
                                     struct tf_error *err);
/* Calls still open go on, and keep what they need. NULL is fine. */
void tf_channel_destroy(struct tf_channel *channel);
const char *tf_channel_address(const struct tf_channel *channel);

enum { TF_RPC_NO_TIMEOUT = -1 };

/* ---- unary ---- */

struct tf_unary;

/* error->code is TF_OK when body is the answer; else details is the server's typed detail. Borrowed. */
typedef void (*tf_unary_f)(void *arg, const struct tf_error *error, struct tf_bytes body,
                           struct tf_bytes details);

/* request is taken. The call is the caller's to cancel until done was called. */
struct tf_unary *tf_unary_start(struct tf_channel *channel, const char *method, struct tf_buf *request,
                                int64_t timeout_ms, tf_unary_f done, void *arg);
/* done is not called; the server may have done it all the same. The pointer is invalid afterwards. */
void tf_unary_cancel(struct tf_unary *unary);

/* The same for programs that do one thing at a time: turns the loop until the answer is here, so not from a
 * call back. body and details (may be NULL) are replaced; -1 and *err on failure. */
int tf_unary_wait(struct tf_channel *channel, const char *method, struct tf_buf *request, int64_t timeout_ms,
                  struct tf_buf *body, struct tf_buf *details, struct tf_error *err);

/* ---- streams ---- */

/* timeout_ms is for the whole stream, mostly TF_RPC_NO_TIMEOUT: a dead connection is found by keepalive. One
 * request and many answers: write it, then half-close. */
struct tf_stream *tf_stream_open(struct tf_channel *channel, const char *method, int64_t timeout_ms,
                                 const struct tf_stream_events *events, void *arg);

/* One request and many answers for programs that do one thing at a time: calls each for every answer, until
 * it returns false (which cancels the rest) or the end. Turns the loop, so not from a call back. */
int tf_stream_wait(struct tf_channel *channel, const char *method, struct tf_buf *request, int64_t timeout_ms,
                   bool (*each)(void *arg, struct tf_bytes body), void *arg, struct tf_buf *details,
                   struct tf_error *err);

#endif
