/* SPDX-License-Identifier: Apache-2.0 */
/* What waits for the core's word: clients' calls, and barriers. One table by number; the core gives the
 * number back. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"

#include <stdarg.h>

/* A call is answered before its client stops waiting, so that it learns why. */
enum {
    WAIT_MAX_MS = 60 * TF_SECOND, /* of a client that would wait for ever */
    MARGIN_MS = 300,              /* for the way back, but at most a quarter of the time that is left */
};

struct request {
    uint64_t number;
    struct fedd *fedd;
    enum tf_method method;
    struct tf_call *call; /* NULL: a barrier */
    struct tf_buf body;   /* of a read */
    bool is_read;
    struct tf_error refusal; /* of a read that found nothing; code TF_OK: body is the answer */
    struct tf_timer late;
    barrier_f done;
    void *arg;
    UT_hash_handle hh;
};

_Static_assert((int)FED_OUTCOME_DONE == (int)TF_OUTCOME_DONE &&
                   (int)FED_OUTCOME_CREATED == (int)TF_OUTCOME_CREATED,
               "the core's outcomes are the wire's");

/* ---- calls ---- */

void call_fail(struct tf_call *call, const struct tf_error *error, const struct tf_error_detail *detail)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    tf_wire_error_detail_pack(detail, TF_RPC_DETAILS_MAX, &bytes);
    tf_call_fail(call, error, (struct tf_bytes){bytes.data, bytes.len});
}

void call_fail_code(struct tf_call *call, enum tf_error_code code, const char *fmt, ...)
{
    struct tf_error error = {.code = code};
    va_list args;
    va_start(args, fmt);
    vsnprintf(error.text, sizeof error.text, fmt, args);
    va_end(args);
    const struct tf_error_detail detail = {.code = code, .text = error.text};
    call_fail(call, &error, &detail);
}

void call_reply(struct tf_call *call, struct tf_reply *reply)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    if (tf_wire_reply_pack(reply, &bytes, &err))
        call_fail_code(call, err.code, "the answer cannot be sent: %s", err.text);
    else
        tf_call_reply(call, &bytes);
    tf_reply_release(reply);
}

bool call_request(struct tf_call *call, enum tf_method method, struct tf_bytes bytes,
                  struct tf_request *request)
{
    struct tf_error err = TF_ERROR_INIT;
    if (tf_wire_request_unpack(method, bytes.data, bytes.len, request, &err) == 0)
        return true;
    call_fail_code(call, err.code, "%s", err.text);
    return false;
}

/* ---- the table ---- */

static struct request *find(struct fedd *fedd, uint64_t number)
{
    struct request *request = NULL;
    HASH_FIND(hh, fedd->requests, &number, sizeof number, request);
    return request;
}

static void drop(struct request *request)
{
    tf_timer_cancel(request->fedd->loop, &request->late);
    HASH_DEL(request->fedd->requests, request);
    tf_buf_release(&request->body);
    free(request);
}

/* Nobody waits for the answer any more; what was asked is done all the same. */
static void on_gone(void *arg, struct tf_call *call)
{
    struct request *request = arg;
    drop(request);
    call_fail_code(call, TF_ERR_UNKNOWN, "the client is gone");
}

/* The store has not said its word in time. */
static void on_late(struct tf_timer *timer)
{
    struct request *request = TF_CONTAINER_OF(timer, struct request, late);
    struct tf_call *call = request->call;
    const struct tf_error *trouble = tf_keep_trouble(request->fedd->keep);
    const char *why = trouble->code == TF_OK ? "no answer yet" : trouble->text;
    bool is_read = request->is_read;
    drop(request);
    if (is_read)
        call_fail_code(call, TF_ERR_UNAVAILABLE,
                       "the federation's store does not answer the leader (%s): ask again when it does", why);
    else
        call_fail_code(
            call, TF_ERR_UNKNOWN,
            "the federation's store has not confirmed the change (%s): it may be done later; repeat "
            "the same request to be certain",
            why);
}

struct tf_mono call_answer_by(const struct fedd *fedd, const struct tf_call *call)
{
    int64_t now = tf_loop_now(fedd->loop).mono.ms;
    int64_t left = tf_call_deadline(call).ms - now; /* TF_NEVER is far away, and no overflow */
    if (left > WAIT_MAX_MS)
        return (struct tf_mono){now + WAIT_MAX_MS};
    return (struct tf_mono){now + left - (left / 4 < MARGIN_MS ? left / 4 : MARGIN_MS)};
}

static struct request *add(struct fedd *fedd, struct tf_call *call)
{
    struct request *request = tf_calloc(1, sizeof *request);
    request->fedd = fedd;
    request->call = call;
    request->number = ++fedd->next_number;
    HASH_ADD(hh, fedd->requests, number, sizeof request->number, request);
    if (call) {
        tf_call_on_gone(call, on_gone, request);
        tf_timer_start(fedd->loop, &request->late, call_answer_by(fedd, call), on_late);
    }
    return request;
}

uint64_t requests_add_change(struct fedd *fedd, struct tf_call *call, enum tf_method method)
{
    struct request *request = add(fedd, call);
    request->method = method;
    return request->number;
}

void requests_answer_read(struct fedd *fedd, struct tf_call *call, struct tf_reply *reply)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    int failed = tf_wire_reply_pack(reply, &bytes, &err);
    tf_reply_release(reply);
    if (failed) {
        call_fail_code(call, err.code, "the answer cannot be sent: %s", err.text);
        return;
    }
    struct request *request = add(fedd, call);
    request->is_read = true;
    request->body = bytes;
    bytes = (struct tf_buf)TF_BUF_INIT;
    host_step(fedd, &(struct fed_event){.kind = FED_EV_BARRIER, .request = request->number});
}

void requests_fail_read(struct fedd *fedd, struct tf_call *call, enum tf_error_code code, const char *fmt,
                        ...)
{
    struct request *request = add(fedd, call);
    va_list args;
    request->is_read = true;
    request->refusal.code = code;
    va_start(args, fmt);
    vsnprintf(request->refusal.text, sizeof request->refusal.text, fmt, args);
    va_end(args);
    host_step(fedd, &(struct fed_event){.kind = FED_EV_BARRIER, .request = request->number});
}

uint64_t requests_barrier(struct fedd *fedd, barrier_f done, void *arg)
{
    struct request *request = add(fedd, NULL);
    request->done = done;
    request->arg = arg;
    uint64_t number = request->number;
    host_step(fedd, &(struct fed_event){.kind = FED_EV_BARRIER, .request = number});
    return number;
}

void requests_cancel(struct fedd *fedd, uint64_t number)
{
    struct request *request = find(fedd, number);
    if (request)
        drop(request);
}

/* ---- answers ---- */

static void fail(struct tf_call *call, const struct fed_reply *reply)
{
    struct tf_error_detail detail = {
        .code = reply->error.code, .text = (char *)reply->error.text, .complaints = reply->complaints};
    call_fail(call, &reply->error, &detail); /* borrows all of the detail */
}

static void answer_change(const struct request *request, const struct fed_reply *reply)
{
    struct tf_reply answer = {.method = request->method};
    if (request->method == TF_METHOD_MIGRATE) { /* the one change with an answer of its own */
        answer.migrate.text = tf_strdup(reply->text);
        call_reply(request->call, &answer);
        return;
    }
    answer.change.outcome = (enum tf_outcome)reply->outcome;
    answer.change.uid = reply->uid;
    answer.change.version = reply->version;
    tf_vec_each (c, &reply->complaints)
        tf_strs_add(&answer.change.warnings, c->text);
    call_reply(request->call, &answer);
}

void requests_answer(struct fedd *fedd, const struct fed_reply *reply)
{
    struct request *request = find(fedd, reply->request);
    if (!request)
        return; /* its client is gone */
    if (!request->call) {
        barrier_f done = request->done;
        void *arg = request->arg;
        drop(request);
        done(arg, &reply->error);
        return;
    }
    if (reply->error.code != TF_OK)
        fail(request->call, reply);
    else if (request->refusal.code != TF_OK)
        call_fail_code(request->call, request->refusal.code, "%s", request->refusal.text);
    else if (request->is_read)
        tf_call_reply(request->call, &request->body);
    else
        answer_change(request, reply);
    drop(request);
}

void requests_fail_all(struct fedd *fedd)
{
    static const struct tf_error lost = {TF_ERR_UNAVAILABLE, 0, "the leader changed meanwhile: ask again"};
    struct request *request = NULL, *next = NULL;
    HASH_ITER (hh, fedd->requests, request, next) {
        struct tf_call *call = request->call;
        barrier_f done = request->done;
        void *arg = request->arg;
        bool is_read = request->is_read;
        drop(request);
        if (!call)
            done(arg, &lost);
        else if (is_read)
            call_fail_code(call, lost.code, "%s", lost.text);
        else
            call_fail_code(call, TF_ERR_UNKNOWN,
                           "the leader changed before the change was certain: repeat the same request");
    }
}
