/* SPDX-License-Identifier: Apache-2.0 */
/* Server calls whose handler has a thread of its own. The handler blocks in reads and writes until the event
 * thread signals their completion; at the end the loop joins the thread. lock guards the flags; the raw call
 * is the handler's. */
#include "common/rpc/server_impl.h"

#include "common/base/cleanup.h"
#include "common/log/log.h"
#include "common/loop/loop.h"
#include "common/rpc/status.h"

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct tf_thread_call {
    struct tf_slot slot;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct tf_tag headers, send, receive, close;
    int pending; /* tags under way */
    bool sending, receiving, gone;
    bool reading, input_ended; /* the handler's: a receive was begun and not waited out; NULL came */
    int gone_fd;
    struct tf_buf detail; /* of the error, the handler's */
};

/* ---- in the event thread ---- */

static void set_gone(struct tf_thread_call *call)
{
    call->gone = true;
    const uint64_t one = 1;
    ssize_t n = write(call->gone_fd, &one, sizeof one);
    (void)n; /* fails only when it is readable already */
}

/* under_way, if not NULL, is the flag of what has come to its end. */
static void complete(struct tf_thread_call *call, bool *under_way, bool gone)
{
    pthread_mutex_lock(&call->lock);
    call->pending--;
    if (under_way)
        *under_way = false;
    if (gone && !call->gone)
        set_gone(call);
    pthread_cond_broadcast(&call->changed);
    pthread_mutex_unlock(&call->lock);
}

static void on_headers(struct tf_tag *tag, bool ok)
{
    complete(TF_CONTAINER_OF(tag, struct tf_thread_call, headers), NULL, !ok);
}

static void on_sent(struct tf_tag *tag, bool ok)
{
    struct tf_thread_call *call = TF_CONTAINER_OF(tag, struct tf_thread_call, send);
    complete(call, &call->sending, !ok);
}

static void on_received(struct tf_tag *tag, bool ok)
{
    struct tf_thread_call *call = TF_CONTAINER_OF(tag, struct tf_thread_call, receive);
    complete(call, &call->receiving, !ok);
}

static void on_close(struct tf_tag *tag, bool ok)
{
    (void)ok;
    struct tf_thread_call *call = TF_CONTAINER_OF(tag, struct tf_thread_call, close);
    complete(call, NULL, call->slot.raw.cancelled != 0);
}

/* ---- in the handler's thread ---- */

static void begin_tag(struct tf_thread_call *call, bool *under_way)
{
    pthread_mutex_lock(&call->lock);
    call->pending++;
    if (under_way)
        *under_way = true;
    pthread_mutex_unlock(&call->lock);
}

/* Waits, with the lock, for a change; false if due has passed. */
static bool wait_until(struct tf_thread_call *call, struct tf_mono due)
{
    if (due.ms == TF_NEVER.ms) {
        pthread_cond_wait(&call->changed, &call->lock);
        return true;
    }
    int64_t left = due.ms - tf_clock_read().mono.ms;
    if (left <= 0)
        return false;
    struct timespec end; /* of a clock that a condition can wait by */
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += left / TF_SECOND;
    end.tv_nsec += left % TF_SECOND * 1000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&call->changed, &call->lock, &end);
    return true;
}

/* Waits for the send under way; true if writes may go on. */
static bool await_send(struct tf_thread_call *call)
{
    pthread_mutex_lock(&call->lock);
    while (call->sending)
        wait_until(call, TF_NEVER);
    bool alive = !call->gone;
    pthread_mutex_unlock(&call->lock);
    return alive;
}

int tf_thread_call_write(struct tf_thread_call *call, struct tf_buf *body)
{
    if (!await_send(call)) {
        tf_buf_release(body);
        return -1;
    }
    call->slot.raw.outgoing = tf_message_from(body);
    begin_tag(call, &call->sending);
    tf_raw_send(&call->slot.raw, false, &call->send);
    bool alive = await_send(call);
    tf_message_free(call->slot.raw.outgoing);
    call->slot.raw.outgoing = NULL;
    return alive ? 0 : -1;
}

/* Waits for the receive under way; true if it came to its end before due. */
static bool await_receive(struct tf_thread_call *call, struct tf_mono due)
{
    pthread_mutex_lock(&call->lock);
    while (call->receiving && wait_until(call, due))
        continue;
    bool received = !call->receiving;
    pthread_mutex_unlock(&call->lock);
    return received;
}

/* Without a further message: is the client gone, or has it closed its half? */
static bool await_gone(struct tf_thread_call *call)
{
    const struct tf_mono due = {tf_clock_read().mono.ms + TF_RAW_HALF_CLOSE_MS};
    pthread_mutex_lock(&call->lock);
    while (!call->gone && wait_until(call, due))
        continue;
    bool gone = call->gone;
    pthread_mutex_unlock(&call->lock);
    return gone;
}

int tf_thread_call_read(struct tf_thread_call *call, struct tf_mono due, struct tf_bytes *body,
                        struct tf_error *err)
{
    if (!call->reading && !call->input_ended) {
        call->reading = true;
        begin_tag(call, &call->receiving);
        tf_raw_receive(&call->slot.raw, &call->receive);
    }
    if (!await_receive(call, due))
        return tf_error_set(err, TF_ERR_TIMEOUT, "the client %s sent nothing in time",
                            tf_thread_call_peer(call));
    call->reading = false;
    call->input_ended = !call->slot.raw.incoming;
    if (call->input_ended && await_gone(call))
        return tf_error_set(err, TF_ERR_UNAVAILABLE, "the client %s went away", tf_thread_call_peer(call));
    *body = tf_message_bytes(&call->slot.raw.incoming);
    return call->input_ended ? 0 : 1;
}

void tf_thread_call_cancel(struct tf_thread_call *call)
{
    tf_raw_cancel(&call->slot.raw);
}

const char *tf_thread_call_peer(struct tf_thread_call *call)
{
    return tf_raw_peer(&call->slot.raw);
}

const char *tf_thread_call_identity(const struct tf_thread_call *call)
{
    return tf_raw_identity(&call->slot.raw);
}

void tf_thread_call_detail(struct tf_thread_call *call, struct tf_bytes detail)
{
    tf_buf_clear(&call->detail);
    tf_buf_add(&call->detail, detail.data, detail.len);
}

int tf_thread_call_gone_fd(const struct tf_thread_call *call)
{
    return call->gone_fd;
}

/* ---- end, in the loop ---- */

static void call_free(struct tf_thread_call *call)
{
    atomic_fetch_sub(&call->slot.method->threads, 1);
    tf_slot_uncount(&call->slot);
    pthread_cond_destroy(&call->changed);
    pthread_mutex_destroy(&call->lock);
    if (call->gone_fd >= 0)
        close(call->gone_fd);
    tf_buf_release(&call->detail);
    tf_slot_free(&call->slot);
}

static void join(struct tf_inbox_item *item)
{
    struct tf_slot *slot = TF_CONTAINER_OF(item, struct tf_slot, item);
    struct tf_thread_call *call = TF_CONTAINER_OF(slot, struct tf_thread_call, slot);
    pthread_join(call->thread, NULL);
    call_free(call);
}

/* ---- the handler's thread, and its start in the event thread ---- */

static void *handler_thread(void *arg)
{
    struct tf_thread_call *call = arg;
    const struct tf_method *method = call->slot.method;
    pthread_setname_np(pthread_self(), "rpc-call");
    begin_tag(call, NULL);
    tf_raw_send_headers(&call->slot.raw, &call->headers);
    begin_tag(call, NULL);
    tf_raw_await_close(&call->slot.raw, &call->close);
    struct tf_error error = TF_ERROR_INIT;
    struct tf_raw_status status = {.code = 0, .text = ""};
    if (method->handler.thread(method->arg, call, tf_message_bytes(&call->slot.raw.incoming), &error)) {
        if (error.code == TF_OK)
            tf_error_set(&error, TF_ERR_BUG, "the handler failed without saying why");
        status = tf_status_from_error(&error, (struct tf_bytes){call->detail.data, call->detail.len});
    }
    begin_tag(call, &call->sending);
    tf_raw_send_status(&call->slot.raw, &status, &call->send);
    pthread_mutex_lock(&call->lock);
    while (call->pending > 0)
        pthread_cond_wait(&call->changed, &call->lock);
    pthread_mutex_unlock(&call->lock);
    call->slot.item.run = join;
    tf_loop_post(method->server->rpc->loop, &call->slot.item);
    return NULL;
}

static void thread_arrived(struct tf_slot *slot)
{
    struct tf_thread_call *call = TF_CONTAINER_OF(slot, struct tf_thread_call, slot);
    struct tf_method *method = slot->method;
    struct tf_server *server = method->server;
    if (atomic_fetch_add(&method->threads, 1) + 1 > server->limits.threads_max) {
        atomic_fetch_sub(&method->threads, 1);
        tf_slot_refuse_busy(slot, "%s has %zu such calls in progress already: try again later",
                            server->address, server->limits.threads_max);
        return;
    }
    pthread_mutex_init(&call->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&call->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    tf_tag_init(&call->headers, NULL, on_headers);
    tf_tag_init(&call->send, NULL, on_sent);
    tf_tag_init(&call->receive, NULL, on_received);
    tf_tag_init(&call->close, NULL, on_close);
    call->gone_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int sys_errno = call->gone_fd < 0 ? errno : pthread_create(&call->thread, NULL, handler_thread, call);
    if (sys_errno == 0)
        return;
    tf_log_error("cannot start a thread for a call error=%s", strerrordesc_np(sys_errno));
    atomic_fetch_sub(&method->threads, 1);
    pthread_cond_destroy(&call->changed);
    pthread_mutex_destroy(&call->lock);
    if (call->gone_fd >= 0)
        close(call->gone_fd);
    tf_slot_refuse_busy(slot, "%s has no threads or files left: try again later", server->address);
}

const struct tf_kind tf_kind_thread = {
    .size = sizeof(struct tf_thread_call),
    .with_request = true,
    .armed = 2,
    .arrived = thread_arrived,
};

const struct tf_kind tf_kind_thread_stream = {
    .size = sizeof(struct tf_thread_call),
    .armed = 2,
    .arrived = thread_arrived,
};
