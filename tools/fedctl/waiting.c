/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the waiting for one job, over streams that may break and leaders that may change. */
#include "tools/fedctl/waiting.h"

#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "common/loop/loop.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/when.h"

#include <poll.h>

enum waiting waiting_judge(enum wait_for until, enum tf_phase phase)
{
    bool final = tf_phase_is_final(phase);
    bool met = false;
    switch (until) {
    case WAIT_RUNNING: /* one that is done already did run */
        met = phase == TF_PHASE_RUNNING || phase == TF_PHASE_SUCCEEDED;
        break;
    case WAIT_SUCCEEDED:
        met = phase == TF_PHASE_SUCCEEDED;
        break;
    case WAIT_FAILED:
        met = phase == TF_PHASE_FAILED;
        break;
    case WAIT_FINISHED:
        met = final;
        break;
    case WAIT_DELETED: /* its name is free: told by its absence only */
        return WAITING_MORE;
    }
    return met ? WAITING_MET : final ? WAITING_NEVER : WAITING_MORE;
}

struct wait {
    struct fedctl *ctl;
    const struct tf_job_ref *ref;
    struct tf_uid uid; /* of the job waited for, none until it was seen */
    enum wait_for until;
    enum waiting state;
    bool seen; /* in this stream */
    bool told_held;
    char name[2 * TF_NAME_MAX + 2];
    struct tf_buf last; /* what it was at last: "Pending, NO_SUCH_MODEL: ..." */
};

static void judge_gone(struct wait *w)
{
    tf_buf_clear(&w->last);
    tf_buf_str(&w->last, "gone");
    w->state = w->until == WAIT_DELETED ? WAITING_MET : WAITING_NEVER;
}

static void judge_job(struct wait *w, const struct tf_job_view *job)
{
    if (tf_uid_is_none(w->uid))
        w->uid = job->uid;
    if (!tf_uid_eq(w->uid, job->uid)) {
        judge_gone(w);
        return;
    }
    tf_buf_clear(&w->last);
    phase_text(job, &w->last);
    TF_AUTO_BUF why = TF_BUF_INIT;
    reason_text(job, &why);
    if (why.len && job->phase != TF_PHASE_RUNNING)
        tf_buf_fmt(&w->last, " (%s)", tf_buf_text(&why));
    w->state = waiting_judge(w->until, job->phase);
    if (job->phase == TF_PHASE_HELD && w->until != WAIT_DELETED && !w->told_held) {
        message("job %s is held; fedctl resume %s lets it start", w->name, w->name);
        w->told_held = true;
    }
}

static bool on_event(void *arg, struct tf_reply *reply)
{
    struct wait *w = arg;
    const struct tf_watch_event *event = &reply->watch;
    if (event->kind == TF_WATCH_JOB) {
        w->seen = true;
        judge_job(w, &event->job);
    } else if (event->kind == TF_WATCH_GONE || (event->kind == TF_WATCH_SYNCED && !w->seen))
        judge_gone(w);
    return w->state == WAITING_MORE;
}

/* ---- the ends ---- */

static int timed_out(const struct wait *w, int64_t timeout_ms)
{
    char span[TF_QUANTITY_TEXT];
    message("job %s: still %s after %s; fedctl explain %s says more", w->name, tf_buf_text(&w->last),
            tf_duration_format(timeout_ms, span), w->name);
    return FEDCTL_TIMED_OUT;
}

static const char *const words[] = {[WAIT_RUNNING] = "run",
                                    [WAIT_SUCCEEDED] = "succeed",
                                    [WAIT_FAILED] = "fail",
                                    [WAIT_FINISHED] = "finish",
                                    [WAIT_DELETED] = "be deleted"};

/* Else one that waits for ever looks like one that hangs. */
static void tell_wait(const struct wait *w)
{
    message("job %s is %s: waiting for it to %s, as long as it takes; Ctrl-C ends the wait, not the job",
            w->name, tf_buf_text(&w->last), words[w->until]);
}

static int over(struct wait *w)
{
    if (w->state == WAITING_NEVER) {
        message("job %s is %s: it will not %s any more; fedctl describe %s says more", w->name,
                tf_buf_text(&w->last), words[w->until], w->name);
        return FEDCTL_FAILED;
    }
    out_fmt(&w->ctl->out, "job %s is %s\n", w->name,
            w->until == WAIT_DELETED ? "deleted" : tf_buf_text(&w->last));
    return FEDCTL_DONE;
}

/* ---- the wait ---- */

/* First contact: endpoints that cannot be reached are told at once, not after the whole time. */
static int look_first(struct wait *w, int64_t timeout_ms)
{
    struct tf_request request = {.method = TF_METHOD_GET, .job = *w->ref};
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    int64_t most = w->ctl->config.timeout;
    request.job.uid = (struct tf_uid){{0}};
    if (client_call(w->ctl->client, &request, timeout_ms && timeout_ms < most ? timeout_ms : most, &reply,
                    NULL, &err) == 0)
        judge_job(w, &reply.job);
    else if (err.code == TF_ERR_NOT_FOUND && w->until == WAIT_DELETED)
        judge_gone(w);
    else
        return fedctl_fail_about(w->ctl, w->name, &err);
    tf_reply_release(&reply);
    return FEDCTL_DONE;
}

static int watch(struct wait *w, int64_t deadline, int64_t timeout_ms)
{
    struct tf_request request = {.method = TF_METHOD_WATCH};
    request.watch.filter.tenant = w->ref->tenant;
    request.watch.filter.name = w->ref->name;
    while (w->state == WAITING_MORE) {
        struct tf_error err = TF_ERROR_INIT;
        bool started;
        int64_t left = timeout_ms ? deadline - tf_clock_read().mono.ms : CLIENT_NO_LIMIT;
        if (timeout_ms && left <= 0)
            return timed_out(w, timeout_ms);
        w->seen = false;
        int failed = client_stream(w->ctl->client, &request, left, on_event, w, &started, &err);
        if (failed && !started && fedctl_exit_of(err.code) != FEDCTL_UNREACHABLE &&
            err.code != TF_ERR_TIMEOUT)
            return fedctl_fail_about(w->ctl, w->name, &err);
        if (w->state == WAITING_MORE)
            poll(NULL, 0, 100); /* a stream that broke, not a busy loop */
    }
    return FEDCTL_DONE;
}

int waiting_for_job(struct fedctl *ctl, const struct tf_job_ref *ref, enum wait_for until, int64_t timeout_ms)
{
    struct wait w = {.ctl = ctl, .ref = ref, .uid = ref->uid, .until = until};
    int64_t deadline = tf_clock_read().mono.ms + timeout_ms;
    snprintf(w.name, sizeof w.name, "%s/%s", ref->tenant, ref->name);
    int code = look_first(&w, timeout_ms);
    client_set_patience(ctl->client, true);
    if (code == FEDCTL_DONE && w.state == WAITING_MORE && !timeout_ms)
        tell_wait(&w);
    if (code == FEDCTL_DONE)
        code = watch(&w, deadline, timeout_ms);
    client_set_patience(ctl->client, false);
    if (code == FEDCTL_DONE)
        code = over(&w);
    tf_buf_release(&w.last);
    return code;
}
