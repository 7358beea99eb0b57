/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest daemon: each request ("KEY=VALUE") is in the store before it is answered with the same bytes.
 * While one transaction is under way the next requests gather for the following one. For
 * tests/integration/echo.c. usage: echo_daemon STORE_ENDPOINT LISTEN_ADDRESS; prints the port when it serves.
 */
#include "common/base/cleanup.h"
#include "common/base/vec.h"
#include "common/log/log.h"
#include "common/loop/signals.h"
#include "common/rpc/server.h"
#include "common/store/etcd.h"

enum { STORE_TIMEOUT_MS = 5000, GRACE_MS = 5000 };

struct pending {
    struct tf_call *call;
    struct tf_bytes request, key, value; /* borrowed from the call */
};

struct daemon {
    struct tf_loop *loop;
    struct tf_rpc *rpc;
    struct tf_store *store;
    struct tf_server *server;
    struct tf_signals signals;
    TF_VEC(struct pending) waiting;
    struct pending batch[TF_STORE_OPS_MAX];
    size_t batch_count; /* > 0: a transaction is under way */
    bool stopping;
};

static void commit_next(struct daemon *d);

static void on_committed(void *cookie, const struct tf_store_reply *reply)
{
    struct daemon *d = cookie;
    for (size_t i = 0; i < d->batch_count; i++) {
        struct tf_buf body = TF_BUF_INIT;
        tf_buf_add(&body, d->batch[i].request.data, d->batch[i].request.len);
        if (reply->error.code == TF_OK)
            tf_call_reply(d->batch[i].call, &body);
        else
            tf_call_fail(d->batch[i].call, &reply->error, (struct tf_bytes){NULL, 0});
        tf_buf_release(&body);
    }
    d->batch_count = 0;
    commit_next(d);
}

static bool in_batch(const struct daemon *d, struct tf_bytes key)
{
    for (size_t i = 0; i < d->batch_count; i++)
        if (tf_bytes_eq(d->batch[i].key, key))
            return true;
    return false;
}

static void commit_next(struct daemon *d)
{
    struct tf_store_write writes[TF_STORE_OPS_MAX] = {{.remove = false}};
    if (d->batch_count > 0 || d->waiting.count == 0)
        return;
    size_t taken = 0;
    while (taken < d->waiting.count && taken < TF_STORE_OPS_MAX &&
           !in_batch(d, d->waiting.items[taken].key)) {
        struct pending *p = &d->waiting.items[taken];
        writes[taken] = (struct tf_store_write){.key = p->key, .value = p->value};
        d->batch[taken++] = *p;
        d->batch_count = taken;
    }
    memmove(d->waiting.items, d->waiting.items + taken,
            (d->waiting.count - taken) * sizeof *d->waiting.items);
    d->waiting.count -= taken;
    struct tf_store_request request = {
        .kind = TF_STORE_TXN,
        .timeout_ms = STORE_TIMEOUT_MS,
        .txn = {.writes = writes, .write_count = taken},
    };
    tf_store_send(d->store, &request, on_committed, d);
}

static void on_write(void *arg, struct tf_call *call, struct tf_bytes request)
{
    struct daemon *d = arg;
    const char *text = request.data;
    const char *equals = request.len ? memchr(text, '=', request.len) : NULL;
    if (!equals || equals == text) {
        struct tf_error error = TF_ERROR_INIT;
        tf_error_set(&error, TF_ERR_INVALID, "\"%.*s\" is not KEY=VALUE", (int)request.len, text);
        tf_call_fail(call, &error, (struct tf_bytes){NULL, 0});
        return;
    }
    size_t key_len = (size_t)(equals - text);
    tf_vec_push(&d->waiting, (struct pending){
                                 .call = call,
                                 .request = request,
                                 .key = {text, key_len},
                                 .value = {equals + 1, request.len - key_len - 1},
                             });
    commit_next(d);
}

static void on_stopped(void *arg)
{
    tf_loop_stop(((struct daemon *)arg)->loop);
}

static void on_signal(struct tf_signals *signals, int signo)
{
    struct daemon *d = TF_CONTAINER_OF(signals, struct daemon, signals);
    if (signo != SIGTERM || d->stopping)
        return;
    d->stopping = true;
    tf_server_stop(d->server, GRACE_MS, on_stopped, d);
}

static int start(struct daemon *d, const char *endpoint, const char *address, struct tf_error *err)
{
    struct tf_etcd_options etcd = {.endpoints = &endpoint, .endpoint_count = 1};
    struct tf_server_options options = {.address = address};
    d->loop = tf_loop_create(err);
    if (!d->loop || tf_signals_start(d->loop, &d->signals, on_signal, err))
        return -1;
    d->rpc = tf_rpc_create(d->loop, err);
    if (!d->rpc || !(d->store = tf_etcd_store_create(d->loop, &etcd, err)) ||
        !(d->server = tf_server_create(d->rpc, &options, err)))
        return -1;
    tf_server_unary(d->server, "/echo.Echo/Write", on_write, d);
    tf_server_start(d->server);
    return 0;
}

/* What the store has not answered by now is cancelled, and told so. */
static void stop(struct daemon *d)
{
    struct tf_store_reply lost = {.error = {.code = TF_ERR_UNKNOWN, .text = "the daemon stops"}};
    tf_store_destroy(d->store);
    for (size_t i = 0; i < d->batch_count; i++)
        tf_call_fail(d->batch[i].call, &lost.error, (struct tf_bytes){NULL, 0});
    tf_vec_each (p, &d->waiting)
        tf_call_fail(p->call, &lost.error, (struct tf_bytes){NULL, 0});
    tf_vec_release(&d->waiting);
    tf_server_destroy(d->server);
    tf_rpc_destroy(d->rpc);
    tf_signals_stop(&d->signals);
    tf_loop_destroy(d->loop);
}

int main(int argc, char **argv)
{
    struct tf_error err = TF_ERROR_INIT;
    struct daemon d = {.stopping = false};
    if (argc != 3) {
        fprintf(stderr, "usage: %s STORE_ENDPOINT LISTEN_ADDRESS\n", argv[0]);
        return 2;
    }
    tf_signals_block();
    int rc = start(&d, argv[1], argv[2], &err);
    if (rc) {
        tf_log_error("cannot start error=%s", err.text);
    } else {
        printf("%d\n", tf_server_port(d.server));
        fflush(stdout);
        tf_loop_run(d.loop);
    }
    stop(&d);
    return rc ? 1 : 0;
}
