/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_RPC_SERVER_IMPL_H
#define TF_RPC_SERVER_IMPL_H

/* What the parts of the server share; for the files of this folder. */
#include "common/base/vec.h"
#include "common/rpc/grpc.h"
#include "common/rpc/server.h"
#include "common/rpc/status.h"

struct tf_slot;

/* Unary, stream, the two with threads, and the one for unknown methods. */
struct tf_kind {
    size_t size; /* of the object that begins with a tf_slot */
    bool with_request;
    size_t armed; /* how many wait for calls */
    /* A call is here, counted and within the limits. In the event thread. */
    void (*arrived)(struct tf_slot *slot);
};

extern const struct tf_kind tf_kind_unary, tf_kind_stream, tf_kind_thread, tf_kind_thread_stream;

struct tf_method {
    struct tf_server *server;
    const struct tf_kind *kind;
    void *handle; /* of tf_port_method; NULL = unknown methods */
    char *name;
    union {
        tf_unary_handler_f unary;
        tf_stream_handler_f stream;
        tf_thread_handler_f thread;
    } handler;
    void *arg;
    atomic_size_t threads; /* that run its handler */
};

/* A call from the moment it is waited for until its last tag. */
struct tf_slot {
    struct tf_raw raw;
    struct tf_method *method;
    struct tf_tag accept;
    struct tf_tag refused;
    struct tf_inbox_item item; /* for the kind */
    size_t request_bytes;      /* counted */
};

struct tf_server {
    struct tf_rpc *rpc;
    struct tf_server_limits limits;
    void *port;
    int bound;
    char *address;
    tf_allow_f allow;
    void *allow_arg;
    TF_VEC(struct tf_method *) methods;
    struct tf_method unknown;
    const struct tf_call *current; /* whose handler runs and has not answered */
    bool started, stopping, stopped;

    /* held = slots armed or in use, plus one for the server until the shutdown's tag. Whoever brings it to
     * zero posts idle and touches the server no more. */
    atomic_size_t held;
    atomic_size_t calls, request_bytes;
    struct tf_inbox_item idle;
    struct tf_tag shutdown;
    struct tf_timer grace;
    void (*done)(void *arg);
    void *done_arg;
};

/* The call is over for the limits; before tf_slot_free, and once. */
void tf_slot_uncount(struct tf_slot *slot);
/* Releases what is in the slot, and frees it. Any thread; the server may be gone afterwards. */
void tf_slot_free(struct tf_slot *slot);
/* Answers a call with an error without asking anyone, then uncounts and frees it. Any thread. */
void tf_slot_refuse(struct tf_slot *slot, int grpc_code, enum tf_error_code code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The same for a limit: nothing was done, so the client may try again. */
#define tf_slot_refuse_busy(slot, ...) \
    tf_slot_refuse(slot, TF_GRPC_RESOURCE_EXHAUSTED, TF_ERR_UNAVAILABLE, __VA_ARGS__)
/* Drops the slot's hold of the server without freeing it, when its owner keeps it longer. */
void tf_slot_leave(struct tf_slot *slot);

#endif
