/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_RPC_GRPC_H
#define TF_RPC_GRPC_H

/* For the files of this folder only: gRPC C core (1.51) in the shape that server.c, client.c, stream.c
 * and thread_call.c need, so that one file includes its headers. Everything asynchronous ends in a tag. */
#include "common/rpc/rpc.h"

#include <stdatomic.h>

/* ---- tags ---- */

struct tf_tag;
typedef void (*tf_tag_f)(struct tf_tag *tag, bool ok);

/* One operation under way. run is called in the loop thread, or in any thread if loop is NULL: then possibly
 * within the call that started the operation. */
struct tf_tag {
    tf_tag_f run;
    struct tf_loop *loop;
    bool ok;
    struct tf_inbox_item item;
};

void tf_tag_init(struct tf_tag *tag, struct tf_loop *loop, tf_tag_f run);

/* ---- process and event thread ---- */

struct tf_rpc {
    struct tf_loop *loop;
    void *queue;          /* grpc_completion_queue */
    unsigned long thread; /* pthread_t */
    /* Tags that came to their end within a call from the loop, oldest first; run by `run_done`. */
    struct tf_inbox_item *done, **done_last;
    struct tf_inbox_item run_done;
    bool run_posted;
    atomic_size_t calls;                  /* of clients, until their last tag */
    struct tf_certificates *certificates; /* of servers; gRPC may look at them until it is shut down */
};

/* ---- messages ---- */

/* Takes body. */
void *tf_message_from(struct tf_buf *body);
/* Makes *message contiguous where it is not, and borrows its bytes until it is freed. NULL is the empty run.
 */
struct tf_bytes tf_message_bytes(void **message);
size_t tf_message_size(void *message);
void tf_message_free(void *message); /* NULL is fine */

/* ---- a call, of either side; initialised by tf_raw_init before tf_raw_accept, or by tf_raw_open ---- */

struct tf_raw {
    struct tf_rpc *rpc;
    void *call;     /* grpc_call */
    void *incoming; /* message of the last receive, or the request; owned */
    void *outgoing; /* message being sent; owned until its tag */
    int cancelled;  /* of tf_raw_await_close */
    struct tf_mono deadline;
    char *peer;                 /* asked once, owned */
    char *identity;             /* owned; see tf_raw_identity */
    struct tf_raw_extra *extra; /* metadata and status in gRPC's types */
};

/* Status as it goes over the wire. */
struct tf_raw_status {
    int code; /* of gRPC; 0 = OK */
    const char *text;
    const char *error; /* tf_error_code_name, "" if the other end is not ours */
    struct tf_bytes details;
};

void tf_raw_init(struct tf_raw *raw, struct tf_rpc *rpc);
void tf_raw_release(struct tf_raw *raw); /* after the last tag; any thread */
/* Lets go of the call only; the request's bytes, the deadline and the peer stay. */
void tf_raw_hang_up(struct tf_raw *raw);
void tf_raw_cancel(struct tf_raw *raw);
const char *tf_raw_peer(struct tf_raw *raw);
/* Server: the common name in the client's certificate, "" if it has none; NULL without TLS. From
 * tf_raw_accepted on. */
const char *tf_raw_identity(const struct tf_raw *raw);

/* Server. */
void tf_raw_send_headers(struct tf_raw *raw, struct tf_tag *tag);
void tf_raw_send_status(struct tf_raw *raw, const struct tf_raw_status *status, struct tf_tag *tag);
void tf_raw_await_close(struct tf_raw *raw, struct tf_tag *tag); /* sets cancelled */
/* All that a unary call needs in one go: headers, message (outgoing, if not NULL), status, and the wait for
 * the close if that is not under way yet. */
void tf_raw_answer(struct tf_raw *raw, const struct tf_raw_status *status, bool await_close,
                   struct tf_tag *tag);

/* Client. timeout_ms -1 = none. */
void tf_raw_open(struct tf_raw *raw, struct tf_rpc *rpc, void *channel, const char *method,
                 int64_t timeout_ms);
void tf_raw_ask(struct tf_raw *raw, struct tf_tag *tag); /* unary: outgoing; fills incoming and status */
void tf_raw_await_headers(struct tf_raw *raw, struct tf_tag *tag);
void tf_raw_await_status(struct tf_raw *raw, struct tf_tag *tag);
void tf_raw_half_close(struct tf_raw *raw, struct tf_tag *tag);
/* After ask or await_status came back; borrowed until the release. */
struct tf_raw_status tf_raw_status_of(struct tf_raw *raw);

enum {
    /* To gRPC a broken call is one without more messages, then one that ended: only when no end came for so
     * long after the last message has the other side closed its half. */
    TF_RAW_HALF_CLOSE_MS = 50,
};

/* Both. One send and one receive under way at most. */
void tf_raw_send(struct tf_raw *raw, bool more, struct tf_tag *tag); /* outgoing; more: another one follows */
void tf_raw_receive(struct tf_raw *raw, struct tf_tag *tag);         /* fills incoming; NULL at the end */

/* ---- servers and channels ---- */

struct tf_port_options {
    const char *address;
    struct tf_rpc_credentials credentials;
    size_t message_max, streams_max;
};

/* Binds; fails with advice. *port is 0 for a Unix socket. */
void *tf_port_create(struct tf_rpc *rpc, const struct tf_port_options *options, int *port,
                     struct tf_error *err);
/* with_request: the call comes with its first message. Gives the handle for tf_raw_accept. */
void *tf_port_method(void *server, const char *name, bool with_request);
void tf_port_start(void *server);
/* Waits for the next call of the method (NULL: of any unknown one, whose name tf_raw_method tells). */
void tf_raw_accept(struct tf_raw *raw, struct tf_rpc *rpc, void *server, void *method, bool with_request,
                   struct tf_tag *tag);
/* First thing after the tag of tf_raw_accept came back ok. */
void tf_raw_accepted(struct tf_raw *raw);
const char *tf_raw_method(struct tf_raw *raw); /* borrowed until the release */
void tf_port_shutdown(struct tf_rpc *rpc, void *server, struct tf_tag *tag);
void tf_port_cancel_all(void *server);
void tf_port_destroy(void *server); /* after the shutdown's tag */

void *tf_link_create(const char *address, struct tf_rpc_credentials credentials, size_t message_max,
                     struct tf_error *err);
bool tf_link_is_up(void *channel);
void tf_link_destroy(void *channel);

#endif
