/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the way to the leader: which endpoint is asked next, how often, and what is said when none helps. What
 * is asked and what the answer means is up to the verbs. */
#include "tools/fedctl/client.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "common/base/text.h"
#include "common/rpc/client.h"

#include <poll.h>

enum {
    PAUSE_MS = 200,      /* between two rounds over all endpoints */
    PAUSE_MAX_MS = 2000, /* that a server may ask for */
    TRY_LEAST_MS = 500,  /* for one endpoint, while there is time */
    TRY_FIRST_MS = 2000, /* in the first round, while others are left; doubles with each */
    ROUNDS_MAX = 16,     /* of doubling */
    STREAM_OPEN_MS = 10000,
    HANDSHAKE_MS = 2000,
};

struct endpoint {
    char *address;
    struct tf_channel *channel; /* NULL until it is tried */
    bool tried;                 /* in this round */
    bool failed;                /* in this call; why is in last */
    bool ours;                  /* it was a fedd that said so: the address is right */
    size_t named;               /* the endpoint that leads by its word; SIZE_MAX: it named none */
    struct tf_error last;
};

struct client {
    struct tf_loop *loop;
    struct tf_rpc *rpc;
    TF_VEC(struct endpoint) endpoints; /* those configured, then leaders that were named */
    size_t configured;
    size_t current, answered; /* answered: count if none did */
    const char *source;
    struct tf_tls_files tls;
    bool patient;
    struct tf_timer timer; /* of ticks */
    int64_t every_ms;
    client_tick_f *tick; /* NULL: none */
    void *tick_arg;
};

struct client *client_create(const struct config *config, struct tf_error *err)
{
    struct client *client = tf_calloc(1, sizeof *client);
    client->source = config->source;
    tf_tls_files_copy(&client->tls, &config->tls);
    for (size_t i = 0; i < config->endpoints.count; i++)
        tf_vec_push(&client->endpoints, (struct endpoint){.address = tf_strdup(config->endpoints.items[i])});
    client->configured = client->endpoints.count;
    client->answered = SIZE_MAX;
    client->loop = tf_loop_create(err);
    if (client->loop)
        client->rpc = tf_rpc_create(client->loop, err);
    if (!client->rpc) {
        client_destroy(client);
        return NULL;
    }
    return client;
}

void client_destroy(struct client *client)
{
    if (!client)
        return;
    if (client->loop)
        tf_timer_cancel(client->loop, &client->timer);
    tf_vec_each (endpoint, &client->endpoints) {
        tf_channel_destroy(endpoint->channel);
        free(endpoint->address);
    }
    tf_vec_release(&client->endpoints);
    tf_tls_files_release(&client->tls);
    tf_rpc_destroy(client->rpc);
    tf_loop_destroy(client->loop);
    free(client);
}

void client_set_patience(struct client *client, bool patient)
{
    client->patient = patient;
}

/* ---- ticks ---- */

static void start_tick(struct client *client);

static void on_tick(struct tf_timer *timer)
{
    struct client *client = TF_CONTAINER_OF(timer, struct client, timer);
    client->tick(client->tick_arg);
    start_tick(client);
}

static void start_tick(struct client *client)
{
    if (client->tick)
        tf_timer_start(client->loop, &client->timer,
                       (struct tf_mono){tf_clock_read().mono.ms + client->every_ms}, on_tick);
}

void client_set_tick(struct client *client, int64_t every_ms, client_tick_f *tick, void *arg)
{
    tf_timer_cancel(client->loop, &client->timer);
    client->every_ms = every_ms;
    client->tick = tick;
    client->tick_arg = arg;
    start_tick(client);
}

const char *client_address(const struct client *client)
{
    return client->answered < client->endpoints.count ? client->endpoints.items[client->answered].address
                                                      : NULL;
}

/* ---- one try ---- */

struct attempt {
    const struct tf_request *request;
    struct tf_buf body; /* the packed request, sent as a copy each time */
    /* of a stream; each NULL: unary */
    client_each_f *each;
    void *arg;
    bool started;
    struct tf_error broken; /* a reply that could not be read */
    /* the answer */
    struct tf_reply *reply;
    struct tf_error_detail detail;
    struct tf_error error;
    int rounds;       /* over all endpoints, that have ended */
    bool may_be_done; /* a try of a change left, and nobody knows what became of it */
};

static bool changes(enum tf_method method)
{
    switch (method) {
    case TF_METHOD_SUBMIT:
    case TF_METHOD_DELETE:
    case TF_METHOD_SCALE:
    case TF_METHOD_HOLD:
    case TF_METHOD_RESUME:
    case TF_METHOD_CORDON_CLUSTER:
    case TF_METHOD_UNCORDON_CLUSTER:
    case TF_METHOD_CORDON_NODE:
    case TF_METHOD_CONFIRM_LOST:
    case TF_METHOD_DEFRAG:
    case TF_METHOD_FORGET_CLUSTER:
    case TF_METHOD_FREEZE:
    case TF_METHOD_MIGRATE:
        return true;
    default:
        return false;
    }
}

static bool on_reply(void *arg, struct tf_bytes body)
{
    struct attempt *a = arg;
    struct tf_reply reply;
    a->started = true;
    if (tf_wire_reply_unpack(a->request->method, body.data, body.len, &reply, &a->broken))
        return false;
    bool more = a->each(a->arg, &reply);
    tf_reply_release(&reply);
    return more;
}

static int run_stream(struct attempt *a, struct tf_channel *channel, struct tf_buf *body, int64_t timeout_ms,
                      struct tf_buf *details)
{
    int failed = tf_stream_wait(channel, tf_method_path(a->request->method), body,
                                timeout_ms ? timeout_ms : TF_RPC_NO_TIMEOUT, on_reply, a, details, &a->error);
    if (a->broken.code == TF_OK)
        return failed;
    a->error = a->broken;
    return -1;
}

static int run_unary(struct attempt *a, struct tf_channel *channel, struct tf_buf *body, int64_t timeout_ms,
                     struct tf_buf *details)
{
    TF_AUTO_BUF answer = TF_BUF_INIT;
    if (tf_unary_wait(channel, tf_method_path(a->request->method), body, timeout_ms, &answer, details,
                      &a->error))
        return -1;
    if (tf_wire_reply_unpack(a->request->method, tf_buf_text(&answer), answer.len, a->reply, &a->error) == 0)
        return 0;
    tf_error_wrap(&a->error, "%s answered what this fedctl cannot read", tf_channel_address(channel));
    a->error.code = TF_ERR_BUG;
    return -1;
}

static int run_attempt(struct client *client, struct attempt *a, struct endpoint *e, int64_t timeout_ms)
{
    a->error = (struct tf_error)TF_ERROR_INIT;
    tf_error_detail_release(&a->detail);
    struct tf_channel_options options = {
        .address = e->address, .credentials = {&client->tls}, .message_max = TF_WIRE_REPLY_MAX};
    if (!e->channel)
        e->channel = tf_channel_create(client->rpc, &options, &a->error);
    if (!e->channel)
        return -1;
    TF_AUTO_BUF details = TF_BUF_INIT;
    struct tf_buf body = TF_BUF_INIT;
    tf_buf_add(&body, tf_buf_text(&a->body), a->body.len);
    int failed = a->each ? run_stream(a, e->channel, &body, timeout_ms, &details)
                         : run_unary(a, e->channel, &body, timeout_ms, &details);
    if (failed && details.len)
        tf_wire_error_detail_unpack(tf_buf_text(&details), details.len, &a->detail, NULL);
    return failed;
}

/* When nobody of ours has said what is wrong, certificates may be: then nothing was done, and waiting is of
 * no use. */
static void diagnose(const struct client *client, struct attempt *a, const char *address, int64_t left)
{
    struct tf_error why = TF_ERROR_INIT;
    bool silent = a->error.code == TF_ERR_UNAVAILABLE || a->error.code == TF_ERR_UNKNOWN;
    if (!silent || a->detail.code != TF_OK || left <= 0)
        return;
    if (tf_tls_diagnose(address, &client->tls, left < HANDSHAKE_MS ? left : HANDSHAKE_MS, &why) == 0)
        return;
    a->error = why;
    if (why.code != TF_ERR_UNKNOWN)
        a->error.code = TF_ERR_UNAVAILABLE;
}

/* ---- what a failure means ---- */

enum verdict {
    FINAL,  /* the federation's word: no other endpoint would say something else */
    FOLLOW, /* another one leads */
    LATER,  /* may work in a moment, here or elsewhere */
    WRONG,  /* nothing of the federation is there */
};

static enum verdict judge(const struct attempt *a)
{
    bool ours = a->detail.code != TF_OK;
    switch (a->error.code) {
    case TF_ERR_UNAVAILABLE:
        if (!ours)
            return WRONG;
        return a->detail.leader ? FOLLOW : LATER;
    case TF_ERR_REFUSED: /* without a detail: a gRPC service that is no federation */
        if (!ours)
            return WRONG;
        return a->detail.leader ? FOLLOW : FINAL;
    case TF_ERR_UNKNOWN:
    case TF_ERR_TIMEOUT:
        return LATER;
    default:
        return FINAL;
    }
}

/* ---- who is next ---- */

static size_t find_endpoint(struct client *client, const char *address)
{
    for (size_t i = 0; i < client->endpoints.count; i++)
        if (strcmp(client->endpoints.items[i].address, address) == 0)
            return i;
    tf_vec_push(&client->endpoints, (struct endpoint){.address = tf_strdup(address)});
    return client->endpoints.count - 1;
}

static size_t untried(const struct client *client)
{
    size_t count = 0;
    tf_vec_each (endpoint, &client->endpoints)
        count += !endpoint->tried;
    return count;
}

/* False: the round is over. */
static bool next_endpoint(struct client *client)
{
    size_t count = client->endpoints.count;
    for (size_t i = 1; i <= count; i++) {
        size_t at = (client->current + i) % count;
        if (!client->endpoints.items[at].tried) {
            client->current = at;
            return true;
        }
    }
    return false;
}

static void begin_round(struct client *client)
{
    tf_vec_each (endpoint, &client->endpoints)
        endpoint->tried = false;
}

/* ---- the end without an answer ---- */

/* Whether what it said is worth a line. A standby only passed the question on, if the leader that it named
 * has answered for itself. */
static bool has_say(const struct client *client, const struct endpoint *endpoint)
{
    if (!endpoint->failed || endpoint->named == SIZE_MAX)
        return endpoint->failed;
    const struct endpoint *leader = &client->endpoints.items[endpoint->named];
    return leader == endpoint || !leader->failed || !leader->ours || leader->named != SIZE_MAX;
}

/* What each endpoint said: its own text if there is one, else a line each. Gives how many there are. */
static size_t failures(const struct client *client, struct tf_buf *text, bool *timed_out)
{
    size_t failed = 0;
    tf_vec_each (endpoint, &client->endpoints)
        failed += has_say(client, endpoint);
    if (failed > 1)
        tf_buf_str(text, "no endpoint of the federation could do it:");
    tf_vec_each (endpoint, &client->endpoints) {
        if (!has_say(client, endpoint))
            continue;
        *timed_out |= endpoint->last.code == TF_ERR_TIMEOUT;
        if (failed > 1) /* of two, what to do next is not cut off */
            tf_buf_fmt(text, "\n  %s: %.*s", endpoint->address, failed > 2 ? 150 : 250, endpoint->last.text);
        else
            tf_buf_fmt(text, "%.600s", endpoint->last.text);
    }
    return failed;
}

static void append(struct tf_error *err, const char *text)
{
    size_t used = err ? strlen(err->text) : 0;
    if (err && used + strlen(text) < sizeof err->text)
        memcpy(err->text + used, text, strlen(text) + 1);
}

/* Advice for whom some address gave no answer of a fedd. */
static void advise_on_endpoints(const struct client *client, size_t failed, struct tf_error *err)
{
    size_t strangers = 0;
    tf_vec_each (endpoint, &client->endpoints)
        strangers += endpoint->failed && !endpoint->ours;
    if (strangers == 0)
        return;
    TF_AUTO_FREE char *text =
        tf_asprintf("\n%s from %s; say others with --endpoints HOST:PORT, TIDEFED_ENDPOINTS or "
                    "~/.config/tidefed/fedctl.yaml.",
                    failed == 1 ? "This endpoint came" : "These endpoints came", client->source);
    append(err, text);
}

static int give_up(const struct client *client, const struct attempt *a, int64_t timeout_ms,
                   struct tf_error *err)
{
    bool timed_out = false;
    char span[TF_QUANTITY_TEXT];
    TF_AUTO_BUF text = TF_BUF_INIT;
    size_t failed = failures(client, &text, &timed_out);
    tf_error_set(err, timed_out ? TF_ERR_TIMEOUT : TF_ERR_UNAVAILABLE, "%.600s", tf_buf_text(&text));
    advise_on_endpoints(client, failed, err);
    if (timed_out) {
        const char *end = err && err->text[0] && err->text[strlen(err->text) - 1] == '.' ? "" : ".";
        TF_AUTO_FREE char *more = tf_asprintf("%s It took longer than %s; --timeout gives more.", end,
                                              tf_duration_format(timeout_ms, span));
        append(err, more);
    }
    if (a->may_be_done)
        append(
            err,
            "\nThe change may have been made, or be made yet: look with `fedctl get` before you repeat it.");
    return -1;
}

/* ---- the pursuit ---- */

/* Time for one try: all of it if this is the only endpoint left in the round; else so little that one which
 * is stopped costs the others not much, and more in each round, for a federation that is slow. */
static int64_t share(const struct client *client, const struct attempt *a, int64_t left, bool unlimited)
{
    if (a->each) /* the whole stream; endpoints were sorted out by a call before it */
        return unlimited ? CLIENT_NO_LIMIT : left;
    size_t others = untried(client);
    int64_t most = (int64_t)TRY_FIRST_MS << (a->rounds < ROUNDS_MAX ? a->rounds : ROUNDS_MAX);
    int64_t part = others > 1 ? left / (2 * (int64_t)others) : left;
    if (others > 1 && part > most)
        part = most;
    return part < TRY_LEAST_MS && left > TRY_LEAST_MS ? TRY_LEAST_MS : part;
}

static void pause_for(int64_t wanted, int64_t left)
{
    int64_t ms = wanted > PAUSE_MAX_MS ? PAUSE_MAX_MS : wanted > 0 ? wanted : PAUSE_MS;
    poll(NULL, 0, (int)(ms < left ? ms : left));
}

/* One round over the endpoints, in which a leader that was named comes next. 0 done, -1 final, 1 not yet;
 * *later: something in it may change. */
static int run_round(struct client *client, struct attempt *a, int64_t deadline, bool unlimited, bool *later)
{
    begin_round(client);
    do {
        int64_t left = deadline - tf_clock_read().mono.ms;
        if (left <= 0)
            return 1;
        size_t at = client->current; /* the leader that is named may move the list */
        struct endpoint *e = &client->endpoints.items[at];
        int64_t part = share(client, a, left, unlimited);
        e->tried = true;
        int failed = run_attempt(client, a, e, part);
        if (!failed || (a->each && a->started)) {
            client->answered = client->current;
            return failed;
        }
        diagnose(client, a, e->address, deadline - tf_clock_read().mono.ms);
        enum verdict verdict = judge(a);
        bool unknown = a->error.code == TF_ERR_UNKNOWN || a->error.code == TF_ERR_TIMEOUT;
        a->may_be_done |= unknown && changes(a->request->method);
        if (verdict == FINAL) {
            client->answered = client->current;
            return -1;
        }
        if (!e->failed || !e->ours || a->error.code != TF_ERR_TIMEOUT || part >= TRY_LEAST_MS) {
            e->ours = a->detail.code != TF_OK; /* else its word from before stands: the time was short */
            e->named = SIZE_MAX;
            e->last = a->error;
        }
        e->failed = true;
        *later |= verdict == LATER || verdict == FOLLOW;
        if (verdict == FOLLOW) {
            size_t leader = find_endpoint(client, a->detail.leader);
            client->endpoints.items[at].named = leader;
            if (!client->endpoints.items[leader].tried) {
                client->current = leader;
                continue;
            }
        }
        if (!next_endpoint(client))
            return 1;
    } while (true);
}

static int pursue(struct client *client, struct attempt *a, int64_t timeout_ms, struct tf_error *err)
{
    bool unlimited = timeout_ms == CLIENT_NO_LIMIT;
    int64_t limit = unlimited ? STREAM_OPEN_MS : timeout_ms;
    int64_t deadline = tf_clock_read().mono.ms + limit;
    tf_vec_each (endpoint, &client->endpoints)
        endpoint->failed = false;
    if (tf_wire_request_pack(a->request, &a->body, err))
        return -1;
    for (;;) {
        bool later = client->patient;
        int result = run_round(client, a, deadline, unlimited, &later);
        a->rounds++;
        if (result < 0 && err)
            *err = a->error;
        if (result <= 0)
            return result;
        int64_t left = deadline - tf_clock_read().mono.ms;
        if (left <= 0 || !later)
            return give_up(client, a, limit, err);
        pause_for(a->detail.retry_after_ms, left);
    }
}

int client_call(struct client *client, const struct tf_request *request, int64_t timeout_ms,
                struct tf_reply *reply, struct tf_error_detail *detail, struct tf_error *err)
{
    struct attempt a = {.request = request, .reply = reply};
    memset(reply, 0, sizeof *reply);
    if (detail)
        memset(detail, 0, sizeof *detail);
    int result = pursue(client, &a, timeout_ms, err);
    tf_buf_release(&a.body);
    if (result && detail)
        *detail = a.detail;
    else
        tf_error_detail_release(&a.detail);
    return result;
}

int client_stream(struct client *client, const struct tf_request *request, int64_t timeout_ms,
                  client_each_f *each, void *arg, bool *started, struct tf_error *err)
{
    struct attempt a = {.request = request, .each = each, .arg = arg};
    int result = pursue(client, &a, timeout_ms, err);
    tf_buf_release(&a.body);
    tf_error_detail_release(&a.detail);
    *started = a.started;
    return result;
}

size_t client_endpoints(const struct client *client)
{
    return client->configured;
}

const char *client_endpoint(const struct client *client, size_t at)
{
    return client->endpoints.items[at].address;
}

int client_call_at(struct client *client, size_t at, const struct tf_request *request, int64_t timeout_ms,
                   struct tf_reply *reply, struct tf_error *err)
{
    struct attempt a = {.request = request, .reply = reply};
    memset(reply, 0, sizeof *reply);
    int failed = tf_wire_request_pack(request, &a.body, &a.error) ||
                 run_attempt(client, &a, &client->endpoints.items[at], timeout_ms);
    if (failed && err)
        *err = a.error;
    tf_buf_release(&a.body);
    tf_error_detail_release(&a.detail);
    return failed ? -1 : 0;
}
