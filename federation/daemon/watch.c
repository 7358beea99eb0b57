/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of changes. First the jobs that are there, a page at a time, as fast as the client takes them; then
 * each committed change. A page is held until what it shows is durable; changes that are committed meanwhile
 * wait behind it, so that a client never sees an older state after a newer one. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

enum {
    PAGE_JOBS = 200,
    LOOKED_AT_MAX = 50000, /* for one page, if few match */
    BOOKMARK_MS = 30 * TF_SECOND,
};

/* A message that waits for a barrier, and which state of which job it shows. */
struct held {
    struct tf_buf bytes;
    struct tf_uid uid;
    uint64_t version;
};

struct watcher {
    uint64_t number;
    struct fedd *fedd;
    struct tf_stream *stream;
    struct tf_watch_request request;
    bool asked;          /* the request has come */
    bool synced;         /* the snapshot is complete */
    char *tenant, *name; /* cursor of the snapshot */
    uint64_t barrier;    /* request that holds `held` back; 0 = none */
    TF_VEC(struct held) held;
    UT_hash_handle hh;
};

static void drop(struct watcher *watcher)
{
    struct fedd *fedd = watcher->fedd;
    if (watcher->barrier)
        requests_cancel(fedd, watcher->barrier);
    HASH_DEL(fedd->watchers, watcher);
    tf_vec_each (h, &watcher->held)
        tf_buf_release(&h->bytes);
    tf_vec_release(&watcher->held);
    struct tf_request request = {.method = TF_METHOD_WATCH, .watch = watcher->request};
    tf_request_release(&request);
    free(watcher->tenant);
    free(watcher->name);
    free(watcher);
}

static void finish(struct watcher *watcher, enum tf_error_code code, const char *text)
{
    struct tf_error error = TF_ERROR_INIT;
    tf_error_set(&error, code, "%s", text);
    const struct tf_error_detail detail = {.code = code, .text = error.text};
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    tf_wire_error_detail_pack(&detail, TF_RPC_DETAILS_MAX, &bytes);
    tf_stream_finish(watcher->stream, &error, (struct tf_bytes){bytes.data, bytes.len});
    drop(watcher);
}

static struct tf_buf encode(const struct watcher *watcher, enum tf_watch_kind kind,
                            const struct tf_job_record *job)
{
    struct fedd *fedd = watcher->fedd;
    struct tf_reply reply = {.method = TF_METHOD_WATCH};
    struct tf_buf bytes = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    reply.watch.kind = kind;
    reply.watch.sequence = ++fedd->watch_sequence;
    if (kind == TF_WATCH_JOB) {
        view_job(fedd, job, false, &reply.watch.job);
        if (watcher->request.events)
            view_events(job, watcher->request.events_since, &reply.watch.job);
    } else if (job) {
        reply.watch.job.uid = job->uid;
        reply.watch.job.manifest.tenant = tf_strdup(job->tenant);
        reply.watch.job.manifest.name = tf_strdup(job->name);
    }
    if (tf_wire_reply_pack(&reply, &bytes, &err))
        tf_log_error("a change cannot be told to watchers error=%s", err.text);
    tf_reply_release(&reply);
    return bytes;
}

/* False if the client was too slow and is gone. */
static bool write_now(struct watcher *watcher, struct tf_buf *bytes)
{
    if (tf_stream_write(watcher->stream, bytes) <= tf_stream_queue_max(watcher->stream))
        return true;
    finish(watcher, TF_ERR_UNAVAILABLE, "changes come faster than they are read: watch again");
    return false;
}

static void hold(struct watcher *watcher, enum tf_watch_kind kind, const struct tf_job_record *job)
{
    struct held *h = tf_vec_add(&watcher->held);
    h->bytes = encode(watcher, kind, job);
    h->uid = job ? job->uid : (struct tf_uid){{0}};
    h->version = job ? job->version : 0;
}

/* A page shows jobs as they are, also with changes that become durable in several transactions; the earlier
 * ones are then older than the page. */
static bool is_older(const struct watcher *watcher, const struct tf_job_record *job)
{
    tf_vec_each (h, &watcher->held)
        if (tf_uid_eq(h->uid, job->uid) && h->version > job->version)
            return true;
    return false;
}

static void tell(struct watcher *watcher, enum tf_watch_kind kind, const struct tf_job_record *job)
{
    if (watcher->barrier) {
        if (kind != TF_WATCH_JOB || !is_older(watcher, job))
            hold(watcher, kind, job);
        return;
    }
    TF_AUTO_BUF bytes = encode(watcher, kind, job);
    write_now(watcher, &bytes);
}

/* ---- the snapshot ---- */

static void on_durable(void *arg, const struct tf_error *error)
{
    struct watcher *watcher = arg;
    watcher->barrier = 0;
    if (error->code != TF_OK) {
        finish(watcher, error->code, error->text);
        return;
    }
    for (size_t i = 0; i < watcher->held.count; i++)
        if (!write_now(watcher, &watcher->held.items[i].bytes))
            return;
    watcher->held.count = 0;
}

/* Sends what is held as soon as it is durable, at once if it is. */
static void send_held(struct watcher *watcher)
{
    /* The number that the barrier will have: its done may come from within the call. */
    watcher->barrier = watcher->fedd->next_number + 1;
    requests_barrier(watcher->fedd, on_durable, watcher);
}

/* With events, a job without a new one is none of the snapshot. */
static bool is_wanted(const struct watcher *watcher, const struct tf_job_record *job)
{
    size_t count = job->events.count;
    return !watcher->request.events ||
           (count && job->events.items[count - 1].at.ms >= watcher->request.events_since.ms);
}

static void next_page(struct watcher *watcher)
{
    struct fedd *fedd = watcher->fedd;
    const struct tf_job_record *job = fed_job_next(fedd->fed, watcher->tenant, watcher->name), *last = NULL;
    size_t looked_at = 0;
    for (; job && watcher->held.count < PAGE_JOBS && looked_at < LOOKED_AT_MAX; looked_at++) {
        last = job;
        if (view_matches(job, &watcher->request.filter) && is_wanted(watcher, job))
            hold(watcher, TF_WATCH_JOB, job);
        job = fed_job_next(fedd->fed, job->tenant, job->name);
    }
    if (last) {
        tf_str_set(&watcher->tenant, last->tenant);
        tf_str_set(&watcher->name, last->name);
    }
    if (!job) {
        watcher->synced = true;
        hold(watcher, TF_WATCH_SYNCED, NULL);
    } else if (watcher->held.count == 0) {
        hold(watcher, TF_WATCH_BOOKMARK, NULL); /* the next page follows when something was taken */
    }
    send_held(watcher);
}

static void on_message(void *arg, struct tf_stream *stream, struct tf_bytes body)
{
    struct watcher *watcher = arg;
    struct tf_request request = {0};
    struct tf_error err = TF_ERROR_INIT;
    (void)stream;
    if (watcher->asked || tf_wire_request_unpack(TF_METHOD_WATCH, body.data, body.len, &request, &err)) {
        finish(watcher, TF_ERR_INVALID, watcher->asked ? "a watch has one request" : err.text);
        return;
    }
    watcher->asked = true;
    watcher->request = request.watch;
    if (request.watch.changes_only) {
        /* Also behind a barrier: a change that was under way before is not told, so it must be over. */
        watcher->synced = true;
        hold(watcher, TF_WATCH_SYNCED, NULL);
        send_held(watcher);
    } else {
        next_page(watcher);
    }
}

static void on_drained(void *arg, struct tf_stream *stream)
{
    struct watcher *watcher = arg;
    (void)stream;
    if (watcher->asked && !watcher->synced && !watcher->barrier)
        next_page(watcher);
}

static void on_ended(void *arg, struct tf_stream *stream, const struct tf_error *error,
                     struct tf_bytes details)
{
    (void)stream;
    (void)error;
    (void)details;
    drop(arg);
}

static const struct tf_stream_events events = {
    .message = on_message,
    .drained = on_drained,
    .ended = on_ended,
};

static void on_open(void *arg, struct tf_stream *stream)
{
    struct fedd *fedd = arg;
    if (!lead_or_refuse_stream(fedd, stream))
        return;
    struct watcher *watcher = tf_calloc(1, sizeof *watcher);
    watcher->fedd = fedd;
    watcher->stream = stream;
    watcher->number = ++fedd->next_number;
    HASH_ADD(hh, fedd->watchers, number, sizeof watcher->number, watcher);
    tf_stream_accept(stream, &events, watcher);
}

/* ---- changes ---- */

static void on_bookmark(struct tf_timer *timer)
{
    struct fedd *fedd = TF_CONTAINER_OF(timer, struct fedd, bookmark);
    struct watcher *watcher = NULL, *next = NULL;
    HASH_ITER (hh, fedd->watchers, watcher, next)
        if (watcher->synced)
            tell(watcher, TF_WATCH_BOOKMARK, NULL);
    struct tf_mono due = {tf_loop_now(fedd->loop).mono.ms + BOOKMARK_MS};
    tf_timer_start(fedd->loop, &fedd->bookmark, due, on_bookmark);
}

void watch_register(struct fedd *fedd)
{
    tf_server_stream(fedd->server, tf_method_path(TF_METHOD_WATCH), on_open, fedd);
    struct tf_mono due = {tf_loop_now(fedd->loop).mono.ms + BOOKMARK_MS};
    tf_timer_start(fedd->loop, &fedd->bookmark, due, on_bookmark);
}

/* A job that a filter by name leaves out was never shown, so its end need not be told. */
static bool names_match(const struct tf_job_record *job, const struct tf_job_filter *filter)
{
    return (!filter->tenant || tf_str_eq(filter->tenant, job->tenant)) &&
           (!filter->name || tf_str_eq(filter->name, job->name));
}

void watch_publish(struct fedd *fedd, const struct tf_job_record *job, bool gone)
{
    struct watcher *watcher = NULL, *next = NULL;
    HASH_ITER (hh, fedd->watchers, watcher, next) {
        if (!watcher->asked || !names_match(job, &watcher->request.filter))
            continue;
        if (gone || !view_matches(job, &watcher->request.filter))
            tell(watcher, TF_WATCH_GONE, job);
        else
            tell(watcher, TF_WATCH_JOB, job);
    }
}

void watch_close_all(struct fedd *fedd, const char *why)
{
    while (fedd->watchers)
        finish(fedd->watchers, TF_ERR_UNAVAILABLE, why);
}

void watch_stop(struct fedd *fedd)
{
    tf_timer_cancel(fedd->loop, &fedd->bookmark);
}
