/* SPDX-License-Identifier: Apache-2.0 */
/* Output of instances. The loop only asks the subcluster, which opens a stream for the answer (subclusters
 * dial, so they cannot be called). A client's call and a subcluster's stream each have a thread of their own,
 * and meet in a relay: a queue of bounded size. What flows through it never touches the loop. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/wire/attach.h"
#include "federation/daemon/roles.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    RELAY_BYTES = 1 << 20, /* waiting for a client: then the subcluster has to wait, too */
    /* The subcluster opens its stream and says for whom it is, and goes on if it does not follow. */
    PUSH_WITHIN_MS = 10 * TF_SECOND,
};

struct chunk {
    struct chunk *next;
    struct tf_buf data;
};

/* Made by the client's thread, which owns it; in the table from when the loop asked until the client leaves,
 * which waits for whoever found it there. Locks: that of the table before that of a relay. */
struct relay {
    struct logs *logs;
    uint64_t number; /* given by the loop */
    struct tf_logs_request request;
    struct tf_inbox_item start;
    UT_hash_handle hh;
    int wake; /* eventfd, for the client: something happened */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* for everybody else */
    /* What follows is under the lock. */
    struct chunk *first, *last;
    size_t bytes;
    bool asked;                    /* the loop has done its part */
    char *cluster;                 /* that was asked; NULL before */
    bool begun;                    /* a stream was tied to it */
    struct tf_thread_call *pusher; /* that stream, until its thread lets go */
    bool left;                     /* the client has */
    bool ended;
    struct tf_error error;
    char *leader; /* with error: the endpoint to ask instead */
};

struct logs {
    struct fedd *fedd;
    pthread_mutex_t lock;
    struct relay *relays; /* by number */
};

/* With the lock. */
static void wake(struct relay *relay)
{
    uint64_t one = 1;
    while (write(relay->wake, &one, sizeof one) < 0 && errno == EINTR)
        ;
    pthread_cond_broadcast(&relay->changed);
}

/* With the lock. The first end counts. */
static void end(struct relay *relay, enum tf_error_code code, const char *text)
{
    if (!relay->ended && code != TF_OK)
        tf_error_set(&relay->error, code, "%s", text);
    relay->ended = true;
    wake(relay);
}

/* ---- in the loop: asking ---- */

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
    struct fedd *fedd = relay->logs->fedd;
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
        return tf_error_set(err, TF_ERR_NOT_FOUND, FED_NO_JOB, ref->tenant ? ref->tenant : "?",
                            ref->name ? ref->name : "?");
    if ((int64_t)relay->request.index >= job->spec->elastic.max)
        return tf_error_set(err, TF_ERR_NOT_FOUND, "%s/%s has no instance %u: its highest index is %d",
                            job->tenant, job->name, relay->request.index, job->spec->elastic.max - 1);
    const char *cluster = cluster_of(job);
    if (!cluster)
        return tf_error_set(err, TF_ERR_NOT_FOUND, "%s/%s has not run yet: there is no output", job->tenant,
                            job->name);
    uint64_t link = link_of(fedd, cluster);
    if (!link)
        return tf_error_set(err, TF_ERR_UNAVAILABLE,
                            "the output is in %s, which is not attached at the moment", cluster);
    pthread_mutex_lock(&relay->lock);
    relay->cluster = tf_strdup(cluster);
    pthread_mutex_unlock(&relay->lock);
    const struct tf_down down = {.kind = TF_DOWN_ASK,
                                 .term = fed_term(fedd->fed),
                                 .ask = {.id = relay->number,
                                         .kind = TF_ASK_LOGS,
                                         .uid = job->uid,
                                         .epoch = relay->request.epoch,
                                         .index = relay->request.index,
                                         .follow = relay->request.follow,
                                         .tail_bytes = relay->request.tail_bytes,
                                         .attempt = relay->request.attempt}};
    links_send(fedd, link, &down);
    return 0;
}

static void on_start(struct tf_inbox_item *item)
{
    struct relay *relay = TF_CONTAINER_OF(item, struct relay, start);
    struct logs *logs = relay->logs;
    struct tf_error err = TF_ERROR_INIT;
    relay->number = ++logs->fedd->next_number;
    pthread_mutex_lock(&logs->lock);
    HASH_ADD(hh, logs->relays, number, sizeof relay->number, relay);
    pthread_mutex_unlock(&logs->lock);
    int failed = ask(relay, &err);
    pthread_mutex_lock(&relay->lock);
    relay->asked = true;
    if (failed)
        end(relay, err.code, err.text);
    else
        wake(relay);
    pthread_mutex_unlock(&relay->lock);
}

void logs_end_all(struct fedd *fedd, const char *why)
{
    struct logs *logs = fedd->logs;
    pthread_mutex_lock(&logs->lock);
    for (struct relay *relay = logs->relays; relay; relay = relay->hh.next) {
        pthread_mutex_lock(&relay->lock);
        end(relay, TF_ERR_UNAVAILABLE, why);
        pthread_mutex_unlock(&relay->lock);
    }
    pthread_mutex_unlock(&logs->lock);
}

/* ---- in the thread of a subcluster's stream ---- */

/* The relay is there until untie. NULL: the client has left, or is served, or asked another subcluster. */
static struct relay *tie(struct logs *logs, uint64_t number, struct tf_thread_call *call)
{
    struct relay *relay = NULL;
    pthread_mutex_lock(&logs->lock);
    HASH_FIND(hh, logs->relays, &number, sizeof number, relay);
    if (relay) {
        pthread_mutex_lock(&relay->lock);
        bool free = !relay->begun && !relay->ended && relay->cluster &&
                    role_is_subcluster(tf_thread_call_identity(call), relay->cluster);
        if (free) {
            relay->begun = true;
            relay->pusher = call;
            wake(relay);
        }
        pthread_mutex_unlock(&relay->lock);
        relay = free ? relay : NULL;
    }
    pthread_mutex_unlock(&logs->lock);
    return relay;
}

static void untie(struct relay *relay, enum tf_error_code code, const char *text)
{
    pthread_mutex_lock(&relay->lock);
    relay->pusher = NULL;
    end(relay, code, text);
    pthread_mutex_unlock(&relay->lock);
}

/* Waits for room; false if the client has left. */
static bool queue(struct relay *relay, const struct tf_log_chunk *data)
{
    struct chunk *chunk = tf_calloc(1, sizeof *chunk);
    tf_buf_add(&chunk->data, data->data, data->len);
    pthread_mutex_lock(&relay->lock);
    while (relay->bytes >= RELAY_BYTES && !relay->left)
        pthread_cond_wait(&relay->changed, &relay->lock);
    bool left = relay->left;
    relay->bytes += data->len;
    if (relay->last)
        relay->last->next = chunk;
    else
        relay->first = chunk;
    relay->last = chunk;
    wake(relay);
    pthread_mutex_unlock(&relay->lock);
    return !left;
}

static struct tf_mono soon(void)
{
    return (struct tf_mono){tf_clock_read().mono.ms + PUSH_WITHIN_MS};
}

/* As of tf_thread_call_read; TF_ERR_INVALID: it cannot be read. */
static int next_chunk(struct tf_thread_call *call, struct tf_mono due, struct tf_log_chunk *chunk,
                      struct tf_error *err)
{
    struct tf_bytes body;
    int got = tf_thread_call_read(call, due, &body, err);
    if (got <= 0 || tf_wire_log_chunk_unpack(body.data, body.len, chunk, err) == 0)
        return got;
    tf_log_warn("a chunk of output cannot be read peer=%s error=%s", tf_thread_call_peer(call), err->text);
    return -1;
}

static const char *why_no_chunk(enum tf_error_code code)
{
    switch (code) {
    case TF_ERR_TIMEOUT:
        return "the subcluster stopped in the middle of the output: ask again, or see the log of its "
               "subclusterd";
    case TF_ERR_UNAVAILABLE:
        return "the subcluster went away while it sent the output: ask again";
    default:
        return "the subcluster sent output that cannot be read";
    }
}

/* One chunk for the client; false if it is the last word, which *code and *text then tell. */
static bool pass_on(struct relay *relay, const struct tf_log_chunk *chunk, enum tf_error_code *code,
                    struct tf_buf *text)
{
    *code = TF_OK;
    if (chunk->ask != relay->number) {
        *code = TF_ERR_UNAVAILABLE;
        tf_buf_str(text, "the subcluster mixed up the output of several instances");
        return false;
    }
    if (chunk->len && !queue(relay, chunk))
        return false;
    if (!chunk->error)
        return true;
    *code = TF_ERR_REFUSED;
    tf_buf_str(text, chunk->error);
    return false;
}

/* From its first chunk to the end. chunk is released. */
static void push_all(struct relay *relay, struct tf_thread_call *call, struct tf_log_chunk *chunk)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    enum tf_error_code code = TF_OK;
    int got = 1;
    while (got > 0 && pass_on(relay, chunk, &code, &text)) {
        struct tf_error err = TF_ERROR_INIT;
        tf_log_chunk_release(chunk);
        got = next_chunk(call, relay->request.follow ? TF_NEVER : soon(), chunk, &err);
        if (got < 0) {
            code = err.code == TF_ERR_TIMEOUT ? TF_ERR_TIMEOUT : TF_ERR_UNAVAILABLE;
            tf_buf_str(&text, why_no_chunk(err.code));
        }
    }
    tf_log_chunk_release(chunk);
    untie(relay, code, tf_buf_text(&text));
}

static int on_push(void *arg, struct tf_thread_call *call, struct tf_bytes request, struct tf_error *err)
{
    struct tf_log_chunk chunk = {0};
    (void)request;
    int got = next_chunk(call, soon(), &chunk, err);
    if (got <= 0)
        return got;
    struct relay *relay = tie(arg, chunk.ask, call);
    if (relay) {
        push_all(relay, call, &chunk);
        return 0;
    }
    tf_log_chunk_release(&chunk);
    return tf_error_set(err, TF_ERR_NOT_FOUND, "nobody waits for this output any more");
}

/* ---- in the client's thread ---- */

static struct chunk *take(struct relay *relay, bool *ended)
{
    pthread_mutex_lock(&relay->lock);
    struct chunk *chunks = relay->first;
    relay->first = relay->last = NULL;
    relay->bytes = 0;
    *ended = relay->ended;
    pthread_cond_broadcast(&relay->changed);
    pthread_mutex_unlock(&relay->lock);
    return chunks;
}

static void drop_chunks(struct chunk *chunks)
{
    while (chunks) {
        struct chunk *next = chunks->next;
        tf_buf_release(&chunks->data);
        free(chunks);
        chunks = next;
    }
}

static int write_chunks(struct tf_thread_call *call, const struct chunk *chunks)
{
    for (; chunks; chunks = chunks->next) {
        const struct tf_reply reply = {.method = TF_METHOD_LOGS,
                                       .logs = {.data = chunks->data.data, .len = chunks->data.len}};
        TF_AUTO_BUF bytes = TF_BUF_INIT;
        struct tf_error err = TF_ERROR_INIT;
        if (tf_wire_reply_pack(&reply, &bytes, &err) || tf_thread_call_write(call, &bytes))
            return -1;
    }
    return 0;
}

/* It has begun, or ended, or it ends here because it is late. Returns how long to wait for that, -1 = for as
 * long as it takes. */
static int begin_by(struct relay *relay, struct tf_mono due)
{
    int64_t left = due.ms - tf_clock_read().mono.ms;
    pthread_mutex_lock(&relay->lock);
    bool waits = !relay->begun && !relay->ended;
    if (waits && left <= 0)
        end(relay, TF_ERR_TIMEOUT,
            "the subcluster did not begin to send the output in time: ask again, or see the log of its "
            "subclusterd");
    pthread_mutex_unlock(&relay->lock);
    return !waits ? -1 : left <= 0 ? 0 : (int)left;
}

/* Waits until something happened; false if the client is gone. */
static bool wait_for_news(struct relay *relay, const struct tf_thread_call *call, struct tf_mono due)
{
    struct pollfd fds[] = {{.fd = relay->wake, .events = POLLIN},
                           {.fd = tf_thread_call_gone_fd(call), .events = POLLIN}};
    while (poll(fds, 2, begin_by(relay, due)) < 0 && errno == EINTR)
        ;
    uint64_t count;
    if (fds[0].revents && read(relay->wake, &count, sizeof count) < 0 && errno != EAGAIN)
        return false;
    return fds[1].revents == 0;
}

static void pump(struct relay *relay, struct tf_thread_call *call)
{
    const struct tf_mono due = soon();
    bool ended = false, failed = false;
    while (!ended && !failed && wait_for_news(relay, call, due)) {
        struct chunk *chunks = take(relay, &ended);
        failed = write_chunks(call, chunks) != 0;
        drop_chunks(chunks);
    }
}

/* Nobody knows the relay any more when it returns. */
static void leave(struct relay *relay)
{
    struct logs *logs = relay->logs;
    pthread_mutex_lock(&relay->lock);
    while (!relay->asked)
        pthread_cond_wait(&relay->changed, &relay->lock);
    pthread_mutex_unlock(&relay->lock);
    pthread_mutex_lock(&logs->lock);
    HASH_DEL(logs->relays, relay);
    pthread_mutex_unlock(&logs->lock);
    pthread_mutex_lock(&relay->lock);
    relay->left = true;
    wake(relay);
    if (relay->pusher)
        tf_thread_call_cancel(relay->pusher);
    while (relay->pusher)
        pthread_cond_wait(&relay->changed, &relay->lock);
    pthread_mutex_unlock(&relay->lock);
}

void thread_call_detail(struct tf_thread_call *call, const struct tf_error *error, char *leader)
{
    const struct tf_error_detail detail = {
        .code = error->code, .text = (char *)(uintptr_t)error->text, .leader = leader};
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    tf_wire_error_detail_pack(&detail, TF_RPC_DETAILS_MAX, &bytes);
    tf_thread_call_detail(call, (struct tf_bytes){bytes.data, bytes.len});
}

static void relay_release(struct relay *relay)
{
    drop_chunks(relay->first);
    pthread_cond_destroy(&relay->changed);
    pthread_mutex_destroy(&relay->lock);
    close(relay->wake);
    free(relay->leader);
    free(relay->cluster);
}

static int serve(struct logs *logs, const struct tf_logs_request *request, struct tf_thread_call *call,
                 struct tf_error *err)
{
    struct relay relay = {.logs = logs, .request = *request, .start.run = on_start};
    relay.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (relay.wake < 0)
        return tf_error_errno(err, TF_ERR_IO, errno, "no descriptor is left to follow output");
    pthread_mutex_init(&relay.lock, NULL);
    pthread_cond_init(&relay.changed, NULL);
    tf_loop_post(logs->fedd->loop, &relay.start);
    pump(&relay, call);
    leave(&relay);
    thread_call_detail(call, &relay.error, relay.leader);
    *err = relay.error;
    relay_release(&relay);
    return err->code == TF_OK ? 0 : -1;
}

static int on_logs(void *arg, struct tf_thread_call *call, struct tf_bytes bytes, struct tf_error *err)
{
    struct tf_request request = {0};
    if (tf_wire_request_unpack(TF_METHOD_LOGS, bytes.data, bytes.len, &request, err))
        return -1;
    int failed = serve(arg, &request.logs, call, err);
    tf_request_release(&request);
    return failed;
}

void logs_register(struct fedd *fedd)
{
    fedd->logs = tf_calloc(1, sizeof *fedd->logs);
    fedd->logs->fedd = fedd;
    pthread_mutex_init(&fedd->logs->lock, NULL);
    tf_server_thread(fedd->server, tf_method_path(TF_METHOD_LOGS), on_logs, fedd->logs);
    tf_server_thread_stream(fedd->server, TF_WIRE_METHOD_PUSH_LOGS, on_push, fedd->logs);
}

void logs_release(struct fedd *fedd)
{
    if (!fedd->logs)
        return;
    pthread_mutex_destroy(&fedd->logs->lock);
    free(fedd->logs);
}
