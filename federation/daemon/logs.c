/* SPDX-License-Identifier: Apache-2.0 */
/* Output of instances. A client's call has a thread of its own; the loop only asks the subcluster, which
 * opens a stream for the answer (subclusters dial, so they cannot be called). Its chunks pass through a
 * relay: a queue of bounded size between that stream and the client's thread. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/wire/attach.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    RELAY_BYTES = 1 << 20,           /* waiting for a client: then the subcluster has to wait, too */
    PUSH_WITHIN_MS = 10 * TF_SECOND, /* the subcluster opens its stream, and says for whom it is */
};

struct chunk {
    struct chunk *next;
    struct tf_buf data;
};

/* Made by the client's thread, which owns it; the loop knows it by number from start to stop. */
struct relay {
    struct fedd *fedd;
    uint64_t number;
    struct tf_logs_request request;
    struct tf_inbox_item start, room, stop;
    struct push *push;    /* loop only; NULL: no stream is tied to it */
    struct tf_timer late; /* loop only */
    UT_hash_handle hh;    /* loop only */
    int wake;             /* eventfd: something happened */
    pthread_mutex_t lock; /* what follows */
    struct chunk *first, *last;
    size_t bytes;
    bool full; /* the stream is paused until there is room again */
    bool ended, stopped;
    struct tf_error error;
    char *leader; /* with error: the endpoint to ask instead */
};

/* A subcluster's stream. Which relay it is for is in its chunks; the first one ties them. */
struct push {
    struct fedd *fedd;
    struct tf_stream *stream;
    struct relay *relay; /* NULL: not tied yet */
    struct tf_timer late;
};

static void wake(struct relay *relay)
{
    uint64_t one = 1;
    while (write(relay->wake, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

static void end(struct relay *relay, enum tf_error_code code, const char *text)
{
    pthread_mutex_lock(&relay->lock);
    if (!relay->ended && code != TF_OK)
        tf_error_set(&relay->error, code, "%s", text);
    relay->ended = true;
    pthread_mutex_unlock(&relay->lock);
    wake(relay);
}

/* ---- in the loop: asking ---- */

static void on_late(struct tf_timer *timer)
{
    end(TF_CONTAINER_OF(timer, struct relay, late), TF_ERR_TIMEOUT,
        "the subcluster did not begin to send the output in time: ask again, or see the log of its "
        "subclusterd");
}

/* Where the job runs or ran last; NULL if it never did. */
static const char *cluster_of(const struct tf_job_record *job)
{
    return job->placements.count ? job->placements.items[job->placements.count - 1].cluster
                                 : job->last_cluster;
}

static uint64_t link_of(const struct fedd *fedd, const char *name)
{
    for (size_t i = 0; i < fed_cluster_count(fedd->fed); i++) {
        const struct fed_cluster_view cluster = fed_cluster_at(fedd->fed, i);
        if (strcmp(cluster.record->name, name) == 0 && cluster.attached)
            return cluster.link;
    }
    return 0;
}

static int ask(struct relay *relay, struct tf_error *err)
{
    struct fedd *fedd = relay->fedd;
    const struct tf_job_ref *ref = &relay->request.job;
    if (!lead_is_certain(fedd) || fedd->stopping) {
        struct tf_error_detail detail = {0};
        lead_refusal(fedd, err, &detail);
        relay->leader = TF_STEAL(detail.leader);
        tf_error_detail_release(&detail);
        return -1;
    }
    const struct tf_job_record *job =
        ref->tenant ? fed_job_find(fedd->fed, ref->tenant, ref->name) : fed_job_find_uid(fedd->fed, ref->uid);
    if (!job)
        return tf_error_set(err, TF_ERR_NOT_FOUND, "there is no job %s/%s", ref->tenant ? ref->tenant : "?",
                            ref->name ? ref->name : "?");
    if ((int64_t)relay->request.index >= job->spec.elastic.max)
        return tf_error_set(err, TF_ERR_NOT_FOUND, "%s/%s has no instance %u: its highest index is %d",
                            job->tenant, job->name, relay->request.index, job->spec.elastic.max - 1);
    const char *cluster = cluster_of(job);
    if (!cluster)
        return tf_error_set(err, TF_ERR_NOT_FOUND, "%s/%s has not run yet: there is no output", job->tenant,
                            job->name);
    uint64_t link = link_of(fedd, cluster);
    if (!link)
        return tf_error_set(err, TF_ERR_UNAVAILABLE,
                            "the output is in %s, which is not attached at the moment", cluster);
    const struct tf_down down = {.kind = TF_DOWN_ASK,
                                 .term = fed_term(fedd->fed),
                                 .ask = {.id = relay->number,
                                         .kind = TF_ASK_LOGS,
                                         .uid = job->uid,
                                         .epoch = relay->request.epoch,
                                         .index = relay->request.index,
                                         .follow = relay->request.follow,
                                         .tail_bytes = relay->request.tail_bytes}};
    links_send(fedd, link, &down);
    return 0;
}

static void on_start(struct tf_inbox_item *item)
{
    struct relay *relay = TF_CONTAINER_OF(item, struct relay, start);
    struct fedd *fedd = relay->fedd;
    struct tf_error err = TF_ERROR_INIT;
    relay->number = ++fedd->next_number;
    HASH_ADD(hh, fedd->relays, number, sizeof relay->number, relay);
    struct tf_mono due = {tf_loop_now(fedd->loop).mono.ms + PUSH_WITHIN_MS};
    tf_timer_start(fedd->loop, &relay->late, due, on_late);
    if (ask(relay, &err))
        end(relay, err.code, err.text);
}

static void push_cancel(struct push *push);

static void on_stop(struct tf_inbox_item *item)
{
    struct relay *relay = TF_CONTAINER_OF(item, struct relay, stop);
    struct fedd *fedd = relay->fedd;
    HASH_DEL(fedd->relays, relay);
    tf_timer_cancel(fedd->loop, &relay->late);
    if (relay->push)
        push_cancel(relay->push);
    pthread_mutex_lock(&relay->lock);
    relay->stopped = true;
    pthread_mutex_unlock(&relay->lock);
    wake(relay);
}

/* ---- in the loop: the subcluster's stream ---- */

/* True if the stream should wait until there is room again. */
static bool queue(struct relay *relay, const struct tf_log_chunk *data)
{
    struct chunk *chunk = tf_calloc(1, sizeof *chunk);
    tf_buf_add(&chunk->data, data->data, data->len);
    pthread_mutex_lock(&relay->lock);
    relay->bytes += data->len;
    relay->full = relay->bytes >= RELAY_BYTES;
    bool full = relay->full;
    if (relay->last)
        relay->last->next = chunk;
    else
        relay->first = chunk;
    relay->last = chunk;
    pthread_mutex_unlock(&relay->lock);
    wake(relay);
    return full;
}

/* The stream goes on without its client, or the client without it. */
static void untie(struct push *push)
{
    tf_timer_cancel(push->fedd->loop, &push->late);
    if (push->relay)
        push->relay->push = NULL;
    push->relay = NULL;
}

/* The client has left. */
static void push_cancel(struct push *push)
{
    untie(push);
    tf_stream_cancel(push->stream);
    free(push);
}

/* Ends the stream, and with it the client's call. */
static void push_over(struct push *push, enum tf_error_code code, const char *text)
{
    struct relay *relay = push->relay;
    untie(push);
    if (relay)
        end(relay, code, text);
    tf_stream_finish(push->stream, NULL, (struct tf_bytes){0});
    free(push);
}

static void tie(struct push *push, uint64_t number)
{
    struct relay *relay = NULL;
    HASH_FIND(hh, push->fedd->relays, &number, sizeof number, relay);
    if (!relay || relay->push)
        return; /* the client has left, or is served */
    push->relay = relay;
    relay->push = push;
    tf_timer_cancel(push->fedd->loop, &push->late);
    tf_timer_cancel(push->fedd->loop, &relay->late);
}

static void pass_on(struct push *push, const struct tf_log_chunk *chunk)
{
    bool full = push->relay && chunk->len && queue(push->relay, chunk);
    if (!push->relay || chunk->error)
        push_over(push, TF_ERR_REFUSED, chunk->error ? chunk->error : "");
    else if (full)
        tf_stream_pause(push->stream);
}

static void take_chunk(struct push *push, const struct tf_log_chunk *chunk)
{
    if (!push->relay)
        tie(push, chunk->ask);
    if (push->relay && push->relay->number != chunk->ask)
        push_over(push, TF_ERR_UNAVAILABLE, "the subcluster mixed up the output of several instances");
    else
        pass_on(push, chunk);
}

static void on_push(void *arg, struct tf_stream *stream, struct tf_bytes body)
{
    struct push *push = arg;
    struct tf_log_chunk chunk = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (tf_wire_log_chunk_unpack(body.data, body.len, &chunk, &err)) {
        tf_log_warn("a chunk of output cannot be read peer=%s error=%s", tf_stream_peer(stream), err.text);
        push_over(push, TF_ERR_UNAVAILABLE, "the subcluster sent output that cannot be read");
        return;
    }
    take_chunk(push, &chunk);
    tf_log_chunk_release(&chunk);
}

static void on_push_closed(void *arg, struct tf_stream *stream)
{
    (void)stream;
    push_over(arg, TF_OK, "");
}

static void on_push_ended(void *arg, struct tf_stream *stream, const struct tf_error *error,
                          struct tf_bytes details)
{
    struct push *push = arg;
    struct relay *relay = push->relay;
    (void)stream;
    (void)error;
    (void)details;
    untie(push);
    if (relay)
        end(relay, TF_ERR_UNAVAILABLE, "the subcluster went away while it sent the output: ask again");
    free(push);
}

static const struct tf_stream_events push_events = {
    .message = on_push,
    .half_closed = on_push_closed,
    .ended = on_push_ended,
};

static void on_push_late(struct tf_timer *timer)
{
    push_over(TF_CONTAINER_OF(timer, struct push, late), TF_OK, "");
}

static void on_push_open(void *arg, struct tf_stream *stream)
{
    struct push *push = tf_calloc(1, sizeof *push);
    push->fedd = arg;
    push->stream = stream;
    struct tf_mono due = {tf_loop_now(push->fedd->loop).mono.ms + PUSH_WITHIN_MS};
    tf_timer_start(push->fedd->loop, &push->late, due, on_push_late);
    tf_stream_accept(stream, &push_events, push);
}

static void on_room(struct tf_inbox_item *item)
{
    struct relay *relay = TF_CONTAINER_OF(item, struct relay, room);
    if (relay->push)
        tf_stream_resume(relay->push->stream);
}

/* ---- in the client's thread ---- */

static struct chunk *take(struct relay *relay, bool *ended)
{
    pthread_mutex_lock(&relay->lock);
    struct chunk *chunks = relay->first;
    relay->first = relay->last = NULL;
    relay->bytes = 0;
    *ended = relay->ended;
    bool was_full = relay->full;
    relay->full = false;
    pthread_mutex_unlock(&relay->lock);
    if (was_full)
        tf_loop_post(relay->fedd->loop, &relay->room);
    return chunks;
}

static int write_chunks(struct tf_thread_call *call, struct chunk *chunks)
{
    int failed = 0;
    while (chunks) {
        struct chunk *next = chunks->next;
        struct tf_reply reply = {.method = TF_METHOD_LOGS,
                                 .logs = {.data = chunks->data.data, .len = chunks->data.len}};
        TF_AUTO_BUF bytes = TF_BUF_INIT;
        struct tf_error err = TF_ERROR_INIT;
        if (!failed)
            failed = tf_wire_reply_pack(&reply, &bytes, &err) || tf_thread_call_write(call, &bytes);
        tf_buf_release(&chunks->data);
        free(chunks);
        chunks = next;
    }
    return failed;
}

/* Waits until something happened; false if the client is gone. */
static bool wait_for_news(struct relay *relay, const struct tf_thread_call *call)
{
    struct pollfd fds[] = {{.fd = relay->wake, .events = POLLIN},
                           {.fd = tf_thread_call_gone_fd(call), .events = POLLIN}};
    while (poll(fds, 2, -1) < 0 && errno == EINTR)
        ;
    uint64_t count;
    if (fds[0].revents && read(relay->wake, &count, sizeof count) < 0 && errno != EAGAIN)
        return false;
    return fds[1].revents == 0;
}

static void pump(struct relay *relay, struct tf_thread_call *call)
{
    bool ended = false;
    while (!ended && wait_for_news(relay, call))
        if (write_chunks(call, take(relay, &ended)))
            return;
}

static void wait_stopped(struct relay *relay)
{
    tf_loop_post(relay->fedd->loop, &relay->stop);
    for (bool stopped = false; !stopped;) {
        struct pollfd fd = {.fd = relay->wake, .events = POLLIN};
        uint64_t count;
        if (poll(&fd, 1, -1) > 0 && read(relay->wake, &count, sizeof count) < 0)
            continue;
        pthread_mutex_lock(&relay->lock);
        stopped = relay->stopped;
        pthread_mutex_unlock(&relay->lock);
    }
}

static void tell_detail(const struct relay *relay, struct tf_thread_call *call)
{
    const struct tf_error_detail detail = {
        .code = relay->error.code, .text = (char *)relay->error.text, .leader = relay->leader};
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    tf_wire_error_detail_pack(&detail, TF_RPC_DETAILS_MAX, &bytes);
    tf_thread_call_detail(call, (struct tf_bytes){bytes.data, bytes.len});
}

static int on_logs(void *arg, struct tf_thread_call *call, struct tf_bytes bytes, struct tf_error *err)
{
    struct tf_request request = {0};
    if (tf_wire_request_unpack(TF_METHOD_LOGS, bytes.data, bytes.len, &request, err))
        return -1;
    struct relay relay = {.fedd = arg,
                          .request = request.logs,
                          .start.run = on_start,
                          .room.run = on_room,
                          .stop.run = on_stop};
    relay.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (relay.wake < 0) {
        tf_request_release(&request);
        return tf_error_errno(err, TF_ERR_IO, errno, "no descriptor is left to follow output");
    }
    pthread_mutex_init(&relay.lock, NULL);
    tf_loop_post(relay.fedd->loop, &relay.start);
    pump(&relay, call);
    wait_stopped(&relay);
    write_chunks(call, relay.first);
    pthread_mutex_destroy(&relay.lock);
    close(relay.wake);
    tf_request_release(&request);
    tell_detail(&relay, call);
    free(relay.leader);
    if (relay.error.code == TF_OK)
        return 0;
    *err = relay.error;
    return -1;
}

void logs_register(struct fedd *fedd)
{
    tf_server_thread(fedd->server, tf_method_path(TF_METHOD_LOGS), on_logs, fedd);
    tf_server_stream(fedd->server, TF_WIRE_METHOD_PUSH_LOGS, on_push_open, fedd);
}

void logs_end_all(struct fedd *fedd, const char *why)
{
    for (struct relay *relay = fedd->relays; relay; relay = relay->hh.next)
        end(relay, TF_ERR_UNAVAILABLE, why);
}
