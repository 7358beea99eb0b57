/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_RPC_SERVER_H
#define TF_RPC_SERVER_H

#include "common/rpc/rpc.h"
#include "common/rpc/stream.h"

/* A gRPC server. Methods that nobody registered are answered UNIMPLEMENTED with advice; calls over the limits
 * at once with RESOURCE_EXHAUSTED: nothing waits in a queue that has no bound. */
struct tf_server;

struct tf_server_limits {     /* 0 = the default */
    size_t message_max;       /* bytes of one message, both ways; TF_RPC_MESSAGE_MAX */
    size_t calls_max;         /* at the same time, streams too; 1024 */
    size_t request_bytes_max; /* sum over the calls being handled; 64 MiB */
    size_t threads_max;       /* calls of each method with threads at the same time; 32 */
    size_t stream_queue_max;  /* bytes waiting in one stream, see stream.h; 2 * message_max */
};

/* Whether the client with that identity may call the method, by its full name. Asked with TLS only, in any
 * thread, before anything else is done. -1 and *err refuses it; details, a typed body, goes with the error,
 * and may stay empty. */
typedef int (*tf_allow_f)(void *arg, const char *identity, const char *method, struct tf_buf *details,
                          struct tf_error *err);

struct tf_server_options {
    const char *address; /* "127.0.0.1:7700", "127.0.0.1:0", "[::1]:7700", "unix:/run/x.sock"; borrowed */
    struct tf_rpc_credentials credentials;
    struct tf_server_limits limits;
    tf_allow_f allow; /* NULL: every client whose certificate is believed may call everything */
    void *allow_arg;  /* borrowed until the server is destroyed */
};

/* ---- unary methods ---- */

/* One request that waits for its answer: valid until tf_call_reply or tf_call_fail, one of which must come,
 * at once or later, also when the client went away or the server was destroyed meanwhile, but before
 * tf_rpc_destroy. */
struct tf_call;

/* request is borrowed until the call is answered. */
typedef void (*tf_unary_handler_f)(void *arg, struct tf_call *call, struct tf_bytes request);

/* body is taken. One that is larger than the limit becomes an error. */
void tf_call_reply(struct tf_call *call, struct tf_buf *body);
/* The client sees the same code and text; details, a typed body, may be empty. All borrowed. */
void tf_call_fail(struct tf_call *call, const struct tf_error *error, struct tf_bytes details);

/* At most one call of gone, if the client cancels, vanishes or runs out of time before the answer. */
void tf_call_on_gone(struct tf_call *call, void (*gone)(void *arg, struct tf_call *call), void *arg);
bool tf_call_is_gone(const struct tf_call *call);
/* When the client stops waiting; TF_NEVER if it does not. */
struct tf_mono tf_call_deadline(const struct tf_call *call);
/* Where it comes from, "ipv4:127.0.0.1:41234", for logs; valid as long as the call. */
const char *tf_call_peer(const struct tf_call *call);
/* The common name in its certificate, "" if that has none; NULL without TLS. Valid as long as the call. */
const char *tf_call_identity(const struct tf_call *call);

/* ---- streaming methods: one or many messages each way ---- */

/* A client opened a stream: before it returns, the handler calls tf_stream_accept, or ends the stream. */
typedef void (*tf_stream_handler_f)(void *arg, struct tf_stream *stream);

/* ---- methods with a thread of their own, which must not hold up the loop: logs ---- */

struct tf_thread_call;

/* Runs in a new thread, blocking as it likes; what it returns ends the call: 0, or -1 with *err set. When the
 * client goes away or the server stops, writes fail, and it has to return soon. request is borrowed. */
typedef int (*tf_thread_handler_f)(void *arg, struct tf_thread_call *call, struct tf_bytes request,
                                   struct tf_error *err);

/* Sends one message (taken) and waits until the client's flow control let it go. -1: nobody reads any more.
 */
int tf_thread_call_write(struct tf_thread_call *call, struct tf_buf *body);
/* Waits for the client's next message, until due. 1: *body is borrowed until the next read or the handler's
 * return; 0: it will send no more; -1 with *err: TF_ERR_TIMEOUT, and a later read waits on, or
 * TF_ERR_UNAVAILABLE, the client is gone. The handler's request is invalid after the first read. */
int tf_thread_call_read(struct tf_thread_call *call, struct tf_mono due, struct tf_bytes *body,
                        struct tf_error *err);
/* As if the client had gone away. From any thread, while the handler has not returned. */
void tf_thread_call_cancel(struct tf_thread_call *call);
/* Where it comes from, as of tf_call_peer; for the handler. */
const char *tf_thread_call_peer(struct tf_thread_call *call);
const char *tf_thread_call_identity(const struct tf_thread_call *call); /* as of tf_call_identity */
/* The typed detail of the error that the handler is about to return; copied. */
void tf_thread_call_detail(struct tf_thread_call *call, struct tf_bytes detail);
/* A descriptor that is readable from the moment when writes fail, to wait for it together with others. Not to
 * be read or closed. */
int tf_thread_call_gone_fd(const struct tf_thread_call *call);

/* ---- the server ---- */

/* Binds, without sharing the port; serves from tf_server_start. Errors name the address and what to do. */
struct tf_server *tf_server_create(struct tf_rpc *rpc, const struct tf_server_options *options,
                                   struct tf_error *err);
/* name is "/tidefed.v1.Federation/Submit", copied. arg is borrowed until the server is destroyed. Before
 * tf_server_start. */
void tf_server_unary(struct tf_server *server, const char *name, tf_unary_handler_f handler, void *arg);
void tf_server_stream(struct tf_server *server, const char *name, tf_stream_handler_f handler, void *arg);
void tf_server_thread(struct tf_server *server, const char *name, tf_thread_handler_f handler, void *arg);
/* The client sends any number of messages, or none: the handler gets an empty request, and reads them. */
void tf_server_thread_stream(struct tf_server *server, const char *name, tf_thread_handler_f handler,
                             void *arg);
void tf_server_start(struct tf_server *server);

/* The port bound; 0 for a Unix socket. */
int tf_server_port(const struct tf_server *server);
/* Calls in progress, streams too. */
size_t tf_server_calls(const struct tf_server *server);

/* Takes no new calls, lets those in progress end for grace_ms, then cancels them. done comes when none is
 * left. Once. */
void tf_server_stop(struct tf_server *server, int64_t grace_ms, void (*done)(void *arg), void *arg);
/* Stops without grace, if that is not done yet, turning the loop until it is. Not from a call back. NULL is
 * fine. */
void tf_server_destroy(struct tf_server *server);

#endif
