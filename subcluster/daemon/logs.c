/* SPDX-License-Identifier: Apache-2.0 */
/* Output of instances, for whoever asked the federation for it. Each request has a stream of its own to the
 * leader and a thread that reads the files, one chunk at a time: the next one is read when the stream has
 * taken enough of the one before. The core has no part in it. */
#include "subcluster/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/wire/attach.h"
#include "subcluster/engine/logs.h"

#include <inttypes.h>
#include <pthread.h>

enum {
    PUSHES_MAX = 32,
    QUEUE_MAX = 4 * TF_WIRE_LOG_CHUNK_MAX, /* bytes on their way before the reading pauses */
    POLL_MS = 200,                         /* while following */
    STREAMS = 2,
};

static const char lost[] = "\n[some output was lost here: it came faster than it was read]\n";

/* A request. It goes when both its stream and its thread have ended. */
struct push {
    struct subd *subd; /* NULL: the daemon is being destroyed */
    struct tf_loop *loop;
    struct push *next;
    uint64_t ask;
    struct tf_stream *stream; /* NULL: over */
    bool threaded;            /* the thread has not said its last word */
    bool owed;                /* a chunk was taken, and the thread not yet told to go on */

    pthread_t thread;
    struct tf_instance_log *streams[STREAMS];
    bool follow;

    /* From the thread to the loop: a chunk, or with len 0 the last word. Then `more` goes back. */
    struct tf_inbox_item item;
    char *bytes;
    size_t from, len; /* in bytes */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool more, cancelled;
};

/* ---- the thread ---- */

/* The item is the loop's until then, whatever happens. */
static bool wait_for_more(struct push *push)
{
    pthread_mutex_lock(&push->lock);
    while (!push->more)
        pthread_cond_wait(&push->changed, &push->lock);
    push->more = false;
    bool go_on = !push->cancelled;
    pthread_mutex_unlock(&push->lock);
    return go_on;
}

static bool pause_unless_cancelled(struct push *push)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += POLL_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&push->lock);
    while (!push->cancelled && pthread_cond_timedwait(&push->changed, &push->lock, &until) == 0)
        continue;
    bool go_on = !push->cancelled;
    pthread_mutex_unlock(&push->lock);
    return go_on;
}

/* What there is now, of the first stream that has something; 0 = nothing. */
static size_t read_streams(struct push *push)
{
    const size_t before = sizeof lost - 1;
    for (int i = 0; i < STREAMS; i++) {
        struct tf_error err = TF_ERROR_INIT;
        bool gap = false;
        ssize_t n = tf_instance_log_read(push->streams[i], push->bytes + before,
                                         TF_WIRE_LOG_CHUNK_MAX - before, &gap, &err);
        if (n < 0)
            tf_log_warn("output cannot be read error=%s", err.text);
        if (n <= 0)
            continue;
        memcpy(push->bytes, lost, before);
        push->from = gap ? 0 : before;
        return (size_t)n + before - push->from;
    }
    return 0;
}

/* Reads the next chunk, waiting for it if it follows; 0 = no more. */
static size_t next_chunk(struct push *push)
{
    for (;;) {
        bool ended = !push->follow || tf_instance_log_ended(push->streams[0]);
        size_t n = read_streams(push);
        if (n || ended || !pause_unless_cancelled(push))
            return n;
    }
}

static void *run(void *arg)
{
    struct push *push = arg;
    do {
        push->len = next_chunk(push);
        if (push->len == 0)
            break;
        tf_loop_post(push->loop, &push->item);
    } while (wait_for_more(push));
    push->len = 0;
    tf_loop_post(push->loop, &push->item);
    return NULL;
}

static void tell(struct push *push, bool *what)
{
    pthread_mutex_lock(&push->lock);
    *what = true;
    pthread_cond_signal(&push->changed);
    pthread_mutex_unlock(&push->lock);
}

/* ---- the loop ---- */

static void push_free(struct push *push)
{
    if (push->subd) {
        struct push **at = &push->subd->pushes;
        while (*at != push)
            at = &(*at)->next;
        *at = push->next;
    }
    for (int i = 0; i < STREAMS; i++)
        tf_instance_log_close(push->streams[i]);
    pthread_cond_destroy(&push->changed);
    pthread_mutex_destroy(&push->lock);
    free(push->bytes);
    free(push);
}

static void free_if_over(struct push *push)
{
    if (!push->stream && !push->threaded)
        push_free(push);
}

static void go_on(struct push *push)
{
    if (!push->owed)
        return;
    push->owed = false;
    tell(push, &push->more);
}

/* Nobody wants it any more. */
static void cancel(struct push *push)
{
    if (push->threaded) {
        tell(push, &push->cancelled);
        go_on(push);
    }
}

static void write_chunk(struct push *push, const struct tf_log_chunk *chunk)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    if (tf_wire_log_chunk_pack(chunk, &bytes, &err))
        tf_log_error("a chunk of output cannot be written error=%s", err.text);
    else
        tf_stream_write(push->stream, &bytes);
}

static void on_item(struct tf_inbox_item *item)
{
    struct push *push = TF_CONTAINER_OF(item, struct push, item);
    if (push->len == 0) {
        if (push->subd)
            pthread_join(push->thread, NULL);
        push->threaded = false;
        if (push->stream)
            tf_stream_half_close(push->stream);
        free_if_over(push);
        return;
    }
    push->owed = true;
    if (push->stream)
        write_chunk(push, &(struct tf_log_chunk){
                              .ask = push->ask, .data = push->bytes + push->from, .len = push->len});
    if (!push->stream || tf_stream_queued(push->stream) <= QUEUE_MAX)
        go_on(push);
}

static void on_drained(void *arg, struct tf_stream *stream)
{
    (void)stream;
    go_on(arg);
}

static void on_message(void *arg, struct tf_stream *stream, struct tf_bytes body)
{
    (void)arg, (void)stream, (void)body; /* LogsDone */
}

static void on_ended(void *arg, struct tf_stream *stream, const struct tf_error *error,
                     struct tf_bytes details)
{
    struct push *push = arg;
    (void)stream, (void)details;
    if (error->code != TF_OK)
        tf_log_debug("output is no longer wanted ask=%" PRIu64 " error=%s", push->ask, error->text);
    push->stream = NULL;
    cancel(push);
    free_if_over(push);
}

static const struct tf_stream_events events = {
    .message = on_message, .drained = on_drained, .ended = on_ended};

/* ---- beginning ---- */

static int no_output(const struct subd *subd, const struct tf_ask *ask, struct tf_error *err)
{
    char attempt[32] = "";
    if (ask->attempt)
        snprintf(attempt, sizeof attempt, ", attempt %u", ask->attempt);
    return tf_error_set(err, TF_ERR_NOT_FOUND,
                        "subcluster %s has no output of instance %u%s: it never started here, or it ended a "
                        "while ago",
                        subd->config.name, ask->index, attempt);
}

static int start_thread(struct push *push, const struct tf_ask *ask, struct tf_error *err)
{
    struct tf_instance_id id;
    if (push->subd->config.engine == SUBD_ENGINE_VIRTUAL)
        return tf_error_set(err, TF_ERR_NOT_FOUND,
                            "subcluster %s only invents its instances: there is no output",
                            push->subd->config.name);
    if (!subd_running_find(push->subd, ask->uid, ask->epoch, ask->index, ask->attempt, &id))
        return no_output(push->subd, ask, err);
    for (int i = 0; i < STREAMS; i++) {
        push->streams[i] = tf_instance_log_open(push->subd->config.state_dir, &id,
                                                i == 0 ? TF_STREAM_OUT : TF_STREAM_ERR, ask->tail_bytes, err);
        if (!push->streams[i])
            return -1;
    }
    push->follow = ask->follow;
    push->bytes = tf_malloc(TF_WIRE_LOG_CHUNK_MAX);
    push->item.run = on_item;
    int failed = pthread_create(&push->thread, NULL, run, push);
    if (failed)
        return tf_error_errno(err, TF_ERR_REFUSED, failed, "no thread could be started to read output");
    push->threaded = true;
    return 0;
}

static size_t count_pushes(const struct subd *subd)
{
    size_t count = 0;
    for (const struct push *push = subd->pushes; push; push = push->next)
        count++;
    return count;
}

static struct push *push_create(struct subd *subd, struct tf_channel *channel, uint64_t ask)
{
    struct push *push = tf_calloc(1, sizeof *push);
    pthread_condattr_t attributes;
    push->subd = subd;
    push->loop = subd->loop;
    push->ask = ask;
    push->next = subd->pushes;
    subd->pushes = push;
    pthread_mutex_init(&push->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&push->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    push->stream = tf_stream_open(channel, TF_WIRE_METHOD_PUSH_LOGS, TF_RPC_NO_TIMEOUT, &events, push);
    write_chunk(push, &(struct tf_log_chunk){.ask = ask}); /* says whose stream it is, also without output */
    return push;
}

void subd_logs_push(struct subd *subd, const struct tf_ask *ask)
{
    struct tf_channel *channel = subd_uplink_channel(subd);
    struct tf_error err = TF_ERROR_INIT;
    if (!channel)
        return; /* who asked is away: it asks again */
    size_t busy = count_pushes(subd);
    struct push *push = push_create(subd, channel, ask->id);
    if (busy >= PUSHES_MAX)
        tf_error_set(
            &err, TF_ERR_REFUSED,
            "subcluster %s already sends the output of %d instances: end one of those, or try again later",
            subd->config.name, PUSHES_MAX);
    else
        start_thread(push, ask, &err);
    if (err.code == TF_OK)
        return;
    write_chunk(push, &(struct tf_log_chunk){.ask = push->ask, .error = err.text});
    tf_stream_half_close(push->stream);
}

void subd_logs_stop(struct subd *subd)
{
    struct push *next = NULL;
    for (struct push *push = subd->pushes; push; push = next) {
        next = push->next;
        if (push->stream)
            tf_stream_cancel(TF_STEAL(push->stream));
        cancel(push);
        free_if_over(push);
    }
}

void subd_logs_destroy(struct subd *subd)
{
    subd_logs_stop(subd);
    while (subd->pushes) {
        struct push *push = subd->pushes;
        /* Its last word is, or comes, into the inbox, and frees it. */
        subd->pushes = push->next;
        push->subd = NULL;
        pthread_join(push->thread, NULL);
    }
}
