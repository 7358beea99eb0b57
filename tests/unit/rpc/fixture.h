/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_RPC_FIXTURE_H
#define TF_TESTS_RPC_FIXTURE_H

/* A server and a channel to it, in one loop that the test turns until what it waits for has come. */
#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/rpc/client.h"
#include "common/rpc/server.h"
#include "tests/support/suite.h"

enum { PATIENCE_MS = 30000 };

struct fixture {
    struct tf_loop *loop;
    struct tf_rpc *rpc;
    struct tf_server *server;
    struct tf_channel *channel;
    char address[128];
};

static inline void fixture_begin(struct fixture *f)
{
    struct tf_error err = TF_ERROR_INIT;
    *f = (struct fixture){0};
    f->loop = tf_loop_create(&err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->loop);
    f->rpc = tf_rpc_create(f->loop, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->rpc);
}

/* On the address of f, or on a free port if that is empty. */
static inline void fixture_bind(struct fixture *f, struct tf_server_limits limits)
{
    struct tf_error err = TF_ERROR_INIT;
    struct tf_server_options options = {.address = f->address[0] ? f->address : "127.0.0.1:0",
                                        .limits = limits};
    f->server = tf_server_create(f->rpc, &options, &err);
    if (!f->server)
        printf("\n    %s\n", err.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->server);
    if (tf_server_port(f->server))
        snprintf(f->address, sizeof f->address, "127.0.0.1:%d", tf_server_port(f->server));
}

static inline void fixture_connect(struct fixture *f, size_t message_max)
{
    struct tf_error err = TF_ERROR_INIT;
    struct tf_channel_options options = {.address = f->address, .message_max = message_max};
    f->channel = tf_channel_create(f->rpc, &options, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->channel);
}

static inline void fixture_end(struct fixture *f)
{
    tf_channel_destroy(f->channel);
    tf_server_destroy(f->server);
    tf_rpc_destroy(f->rpc);
    tf_loop_destroy(f->loop);
}

/* Turns the loop until the condition holds; fails the test when it does not come. */
#define TURN_UNTIL(f, condition)                               \
    do {                                                       \
        int64_t end_ = tf_clock_read().mono.ms + PATIENCE_MS;  \
        while (!(condition) && tf_clock_read().mono.ms < end_) \
            tf_loop_turn((f)->loop, 100);                      \
        CU_ASSERT_TRUE_FATAL(condition);                       \
    } while (0)

static inline struct tf_buf body_of(const void *bytes, size_t len)
{
    struct tf_buf buf = TF_BUF_INIT;
    tf_buf_add(&buf, bytes, len);
    return buf;
}

static inline struct tf_buf text_body(const char *text)
{
    return body_of(text, strlen(text));
}

/* What came of one unary call. */
struct outcome {
    int calls;
    struct tf_error error;
    struct tf_buf body, details;
};

static inline void on_outcome(void *arg, const struct tf_error *error, struct tf_bytes body,
                              struct tf_bytes details)
{
    struct outcome *o = arg;
    o->calls++;
    o->error = *error;
    tf_buf_clear(&o->body);
    tf_buf_add(&o->body, body.data, body.len);
    tf_buf_clear(&o->details);
    tf_buf_add(&o->details, details.data, details.len);
}

static inline void outcome_release(struct outcome *o)
{
    tf_buf_release(&o->body);
    tf_buf_release(&o->details);
    *o = (struct outcome){0};
}

/* Calls and waits. */
static inline void ask(struct fixture *f, struct outcome *o, const char *method, const char *text,
                       int64_t timeout_ms)
{
    struct tf_buf request = text_body(text);
    int before = o->calls;
    tf_unary_start(f->channel, method, &request, timeout_ms, on_outcome, o);
    TURN_UNTIL(f, o->calls > before);
}

static inline void echo(void *arg, struct tf_call *call, struct tf_bytes request)
{
    (void)arg;
    struct tf_buf body = body_of(request.data, request.len);
    tf_call_reply(call, &body);
}

#endif
