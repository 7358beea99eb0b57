/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the replay of a trace: what is submitted when, and how its jobs are followed. They are asked for as a
 * list, not watched: one connection submits and looks in turn, and the next submit is never late for a long
 * stream. */
#include "tools/fedctl/replaying.h"

#include "common/base/cleanup.h"
#include "common/loop/loop.h"
#include "tools/fedctl/change.h"

#include <inttypes.h>
#include <poll.h>
#include <unistd.h>

enum {
    PAGE = 500,
    LOOK_MS = TF_SECOND,
    LOOK_SHARE = 10,          /* looking takes at most this part of the time, however many jobs there are */
    TELL_MS = 10 * TF_SECOND, /* progress, not on a terminal */
    REFUSALS_TOLD = 3,        /* the others are counted */
};

static int64_t now_ms(void)
{
    return tf_clock_read().mono.ms;
}

int replaying_init(struct replaying *r, struct fedctl *ctl, const struct tf_trace_jobs *jobs, size_t count,
                   struct tf_error *err)
{
    *r = (struct replaying){.ctl = ctl, .count = count, .deadline = TF_NEVER};
    if (submission_suffix(r->id, err))
        return -1;
    r->jobs = tf_calloc(count, sizeof *r->jobs);
    for (size_t i = 0; i < count; i++)
        r->jobs[i] = (struct replayed){.job = &jobs->items[i], .wait = TF_UNSET};
    return 0;
}

void replaying_release(struct replaying *r)
{
    HASH_CLEAR(hh, r->by_uid);
    free(r->jobs);
    r->jobs = NULL;
}

/* ---- submits ---- */

static int make_manifest(const struct replaying *r, const struct tf_trace_job *job,
                         struct tf_job_manifest *manifest, struct tf_error *err)
{
    if (tf_trace_job_manifest(job, manifest, err))
        return -1;
    TF_AUTO_FREE char *name = tf_asprintf("%s-%s", job->id, r->id);
    TF_AUTO_FREE char *seconds =
        tf_asprintf("%" PRId64 ".%03" PRId64, job->duration / 1000, job->duration % 1000);
    struct tf_strs *command = &manifest->spec.group.command;
    tf_str_set(&manifest->name, name);
    tf_pairs_set(&manifest->labels, "replay", r->id);
    tf_strs_release(command);
    tf_strs_add(command, "sleep");
    tf_strs_add(command, seconds);
    return 0;
}

static int refused(struct replaying *r, struct replayed *one, const struct tf_error *err)
{
    int code = (int)fedctl_exit_of(err->code);
    if (change_is_hopeless(code))
        return fedctl_fail(r->ctl, err);
    one->refused = true;
    if (r->refused++ < REFUSALS_TOLD)
        fedctl_fail_about(r->ctl, one->job->id, err);
    /* What is wrong with the very first is wrong with all of them: a class, a right, a store that is full. */
    if (r->submitted > 0)
        return FEDCTL_DONE;
    message("the first job was refused: nothing was replayed");
    return code;
}

static int submit(struct replaying *r, struct replayed *one)
{
    struct tf_job_manifest manifest;
    struct tf_change_reply answer = {0};
    struct tf_error_detail detail = {0};
    struct tf_error err = TF_ERROR_INIT;
    int code = FEDCTL_DONE;
    tf_job_manifest_init(&manifest);
    const struct submission submission = {.manifest = &manifest, .mode = TF_SUBMIT_CREATE};
    one->sent = true;
    if (make_manifest(r, one->job, &manifest, &err) ||
        submission_send(r->ctl, &submission, &answer, &detail, &err))
        code = refused(r, one, &err);
    else {
        r->submitted++;
        one->uid = answer.uid;
        one->phase = TF_PHASE_PENDING;
        HASH_ADD(hh, r->by_uid, uid, sizeof one->uid, one);
    }
    submission_release(&answer, &detail);
    tf_job_manifest_release(&manifest);
    return code;
}

/* ---- looks ---- */

static void take_job(struct replaying *r, const struct tf_job_view *job)
{
    struct replayed *one = NULL;
    HASH_FIND(hh, r->by_uid, &job->uid, sizeof job->uid, one);
    if (!one)
        return;
    int64_t began = job->started.ms;
    /* One that was over before it was known to run: counted back from its end. */
    if (!began && job->phase == TF_PHASE_SUCCEEDED)
        began = job->finished.ms - one->job->duration;
    one->seen = true;
    one->phase = job->phase;
    if (began)
        one->wait = began > job->submitted.ms ? began - job->submitted.ms : 0;
}

static int look(struct replaying *r)
{
    struct tf_request request = {.method = TF_METHOD_LIST, .list.page_size = PAGE};
    struct tf_error err = TF_ERROR_INIT;
    int code = FEDCTL_DONE;
    tf_selector_add(&request.list.filter.selector, "replay", r->id);
    for (struct replayed *one = r->by_uid; one; one = one->hh.next)
        one->seen = false;
    do {
        struct tf_reply reply = {0};
        if (fedctl_call(r->ctl, &request, &reply, &err)) {
            code = fedctl_fail(r->ctl, &err);
            break;
        }
        tf_vec_each (job, &reply.list.jobs)
            take_job(r, job);
        free(request.list.page_token);
        request.list.page_token = TF_STEAL(reply.list.next_token);
        tf_reply_release(&reply);
    } while (request.list.page_token && *request.list.page_token);
    tf_request_release(&request);
    if (code)
        return code;
    r->ended = 0;
    for (struct replayed *one = r->by_uid; one; one = one->hh.next) {
        if (!one->seen && !tf_phase_is_final(one->phase)) /* deleted by somebody */
            one->phase = TF_PHASE_DELETED;
        r->ended += tf_phase_is_final(one->phase) ? 1 : 0;
    }
    return FEDCTL_DONE;
}

/* ---- progress ---- */

static void tell(struct replaying *r)
{
    bool terminal = isatty(STDERR_FILENO) == 1, done = r->ended + r->refused == r->count;
    size_t running = 0;
    if (!terminal && now_ms() < r->next_tell.ms && !done)
        return;
    r->next_tell.ms = now_ms() + TELL_MS;
    for (const struct replayed *one = r->by_uid; one; one = one->hh.next)
        running += one->phase == TF_PHASE_RUNNING || one->phase == TF_PHASE_STOPPING ? 1 : 0;
    fprintf(stderr, "%s%zu of %zu submitted, %zu wait, %zu run, %zu have ended%s", terminal ? "\r" : "",
            r->submitted, r->count - r->refused, r->submitted - running - r->ended, running, r->ended,
            terminal && !done ? "\033[K" : "\n");
}

/* ---- the run ---- */

static int submit_due(struct replaying *r, int64_t begin, size_t *next)
{
    for (; *next < r->count && begin + r->jobs[*next].job->submit <= now_ms(); (*next)++) {
        int64_t late = now_ms() - begin - r->jobs[*next].job->submit;
        int code = submit(r, &r->jobs[*next]);
        if (code)
            return code;
        r->lag = late > r->lag ? late : r->lag;
    }
    return FEDCTL_DONE;
}

static void rest(const struct replaying *r, int64_t begin, size_t next, int64_t next_look)
{
    int64_t until = next_look;
    if (next < r->count && begin + r->jobs[next].job->submit < until)
        until = begin + r->jobs[next].job->submit;
    int64_t left = until - now_ms();
    if (left > 0)
        poll(NULL, 0, (int)left);
}

int replaying_run(struct replaying *r)
{
    int64_t begin = now_ms(), next_look = begin + LOOK_MS;
    size_t next = 0;
    int code = FEDCTL_DONE;
    client_set_patience(r->ctl->client, true); /* a new leader is waited for, as long as --timeout says */
    while (code == FEDCTL_DONE && r->ended + r->refused < r->count) {
        if (r->deadline.ms != TF_NEVER.ms && now_ms() >= r->deadline.ms)
            code = FEDCTL_TIMED_OUT;
        else
            code = submit_due(r, begin, &next);
        if (code || now_ms() < next_look) {
            rest(r, begin, next, code ? 0 : next_look);
            continue;
        }
        int64_t start = now_ms();
        code = look(r);
        tell(r);
        int64_t took = now_ms() - start;
        next_look = now_ms() + (took * LOOK_SHARE > LOOK_MS ? took * LOOK_SHARE : LOOK_MS);
    }
    client_set_patience(r->ctl->client, false);
    r->elapsed = now_ms() - begin;
    return code;
}
