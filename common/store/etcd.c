/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a store as HTTP transfers to one of several etcd endpoints: which one, time-outs, logins, and
 * whether a failed transfer may have been done. Bodies are made and read in etcd_json.c; the loop drives
 * libcurl. */
#include "common/store/etcd.h"

#include "common/loop/http.h"
#include "common/store/etcd_json.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

enum {
    CONNECT_TIMEOUT_MS = 1000,
    REPLY_BYTES_MAX = 64 << 20,
    UPLOAD_BUFFER_BYTES = 256 << 10,
    IDLE_TRANSFERS_MAX = 16,
    LOGIN_TIMEOUT_MS = 10 * TF_SECOND,
};

struct etcd {
    struct tf_store store; /* first */
    struct tf_loop *loop;
    TF_VEC(char *) endpoints;
    size_t current; /* the endpoint to try first */
    int64_t connect_timeout_ms, quota_bytes;
    struct curl_slist *headers;
    struct tf_tls_files tls;
    char *user, *password_file;
    char *token;            /* of the present login; NULL: none */
    struct transfer *login; /* the transfer that gets one; NULL until it is needed */
    bool logging_in;        /* it is under way: requests wait for it */
    uint64_t last_id;
    TF_VEC(struct transfer *) active, idle;
};

/* One request; kept with its libcurl handle for reuse. */
struct transfer {
    struct tf_http_request http;
    struct tf_timer refuse; /* answers in the next turn what fails before it is sent */
    struct etcd *etcd;
    uint64_t id;
    tf_store_done_f done;
    void *cookie;
    struct tf_etcd_expect expect;
    struct tf_mono deadline;
    size_t endpoint, tries;
    struct tf_buf body;
    struct curl_slist *headers; /* with the token; NULL: those of all */
    char trouble[CURL_ERROR_SIZE];
    bool waits;        /* for the login */
    bool logged_in;    /* anew for this request: not once more */
    size_t body_given; /* to libcurl */
    struct tf_buf reply;
    bool too_large;
    bool metrics; /* the second step of a status */
    struct tf_store_answer answer;
};

static void transfer_start(struct transfer *t);
static struct transfer *transfer_create(struct etcd *etcd);
static void login_failed(struct transfer *t);

/* ---- what libcurl calls ---- */

/* The body goes out through this function, and there is none to rewind it: so libcurl can repeat a request by
 * itself, on a connection that turned out to be dead, only if no byte of the body has left. */
static size_t give_body(char *to, size_t size, size_t count, void *cookie)
{
    struct transfer *t = cookie;
    size_t left = t->body.len - t->body_given, room = size * count;
    size_t n = left < room ? left : room;
    memcpy(to, t->body.data + t->body_given, n);
    t->body_given += n;
    return n;
}

static size_t take_reply(char *bytes, size_t size, size_t count, void *cookie)
{
    struct transfer *t = cookie;
    if (t->reply.len + size * count > REPLY_BYTES_MAX) {
        t->too_large = true;
        return 0;
    }
    tf_buf_add(&t->reply, bytes, size * count);
    return size * count;
}

/* ---- answers ---- */

/* It holds a password. */
static void wipe(struct tf_buf *buf)
{
    if (buf->data)
        explicit_bzero(buf->data, buf->cap);
    tf_buf_release(buf);
}

static void transfer_destroy(struct transfer *t)
{
    if (!t)
        return;
    tf_http_cancel(t->etcd->loop, &t->http);
    tf_timer_cancel(t->etcd->loop, &t->refuse);
    curl_easy_cleanup(t->http.easy);
    curl_slist_free_all(t->headers);
    tf_buf_release(&t->body);
    tf_buf_release(&t->reply);
    tf_store_answer_release(&t->answer);
    free(t);
}

/* Out of the active ones; kept for reuse unless there are many or it holds much memory. */
static void transfer_retire(struct transfer *t)
{
    struct etcd *etcd = t->etcd;
    for (size_t i = 0; i < etcd->active.count; i++)
        if (etcd->active.items[i] == t) {
            etcd->active.items[i] = etcd->active.items[--etcd->active.count];
            break;
        }
    tf_http_cancel(etcd->loop, &t->http);
    tf_timer_cancel(etcd->loop, &t->refuse);
    tf_store_answer_release(&t->answer);
    t->waits = false;
    if (t->reply.cap > UPLOAD_BUFFER_BYTES)
        tf_buf_release(&t->reply);
    if (etcd->idle.count < IDLE_TRANSFERS_MAX)
        tf_vec_push(&etcd->idle, t);
    else
        transfer_destroy(t);
}

/* The store may be gone when this returns. */
static void transfer_answer(struct transfer *t)
{
    tf_store_done_f done = t->done;
    void *cookie = t->cookie;
    struct tf_store_answer answer = t->answer;
    t->answer = (struct tf_store_answer){0};
    transfer_retire(t);
    done(cookie, &answer.reply);
    tf_store_answer_release(&answer);
}

static void refuse_due(struct tf_timer *timer)
{
    struct transfer *t = TF_CONTAINER_OF(timer, struct transfer, refuse);
    if (t == t->etcd->login)
        login_failed(t);
    else
        transfer_answer(t);
}

/* Answers, in the next turn, with the error that is in t->answer. */
static void transfer_refuse(struct transfer *t)
{
    tf_timer_start(t->etcd->loop, &t->refuse, tf_loop_now(t->etcd->loop).mono, refuse_due);
}

/* ---- failures ---- */

static const char *endpoint_name(const struct transfer *t)
{
    return t->etcd->endpoints.items[t->endpoint];
}

/* The next request goes elsewhere, unless another transfer has turned away from this endpoint already. */
static void turn_away(struct transfer *t)
{
    if (t->etcd->current == t->endpoint)
        t->etcd->current = (t->endpoint + 1) % t->etcd->endpoints.count;
}

static int64_t time_left(const struct transfer *t)
{
    return t->deadline.ms - tf_loop_now(t->etcd->loop).mono.ms;
}

/* What libcurl says about it, in its own words if it has more than a name for it. */
static const char *trouble_of(const struct transfer *t, CURLcode result)
{
    return t->trouble[0] ? t->trouble : curl_easy_strerror(result);
}

static const char *advice_on(CURLcode result)
{
    switch (result) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
        return "check the `tls` of the store, and the certificate of etcd";
    default:
        return "check that it runs and that the endpoint is right";
    }
}

static void transfer_failed(struct transfer *t, CURLcode result)
{
    struct tf_error *err = &t->answer.reply.error;
    bool sent = t->body_given > 0 && t != t->etcd->login;
    turn_away(t);
    bool elsewhere = t->expect.kind != TF_STORE_DEFRAGMENT; /* that concerns one member only */
    if (elsewhere && !sent && ++t->tries < t->etcd->endpoints.count && time_left(t) > 0) {
        transfer_start(t);
        return;
    }
    if (t->too_large && !tf_store_kind_writes(t->expect.kind))
        tf_error_set(err, TF_ERR_TOO_LARGE, "etcd at %s answers with more than %d MiB", endpoint_name(t),
                     REPLY_BYTES_MAX >> 20);
    else if (!sent)
        tf_error_set(err, TF_ERR_UNAVAILABLE, "cannot reach etcd at %s%s: %s; %s", endpoint_name(t),
                     t->etcd->endpoints.count > 1 ? " nor at the others" : "", trouble_of(t, result),
                     advice_on(result));
    else
        tf_error_set(err, tf_store_kind_writes(t->expect.kind) ? TF_ERR_UNKNOWN : TF_ERR_UNAVAILABLE,
                     "etcd at %s did not answer: %s", endpoint_name(t), trouble_of(t, result));
    if (t == t->etcd->login)
        login_failed(t);
    else
        transfer_answer(t);
}

/* ---- logins ---- */

/* The first line of the file. */
static int read_password(const char *path, char *password, size_t size, struct tf_error *err)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return tf_error_errno(err, TF_ERR_REFUSED, errno, "the password file %s cannot be read", path);
    char *line = fgets(password, (int)size, file);
    fclose(file);
    if (line)
        line[strcspn(line, "\r\n")] = '\0';
    if (line && *line)
        return 0;
    return tf_error_set(err, TF_ERR_REFUSED, "the password file %s is empty", path);
}

/* The requests that wait: they begin, or, with an error, are over. */
static void login_over(struct etcd *etcd, const struct tf_error *error)
{
    etcd->logging_in = false;
    wipe(&etcd->login->body);
    for (size_t i = 0; i < etcd->active.count; i++) {
        struct transfer *t = etcd->active.items[i];
        if (!t->waits)
            continue;
        t->waits = false;
        tf_timer_cancel(etcd->loop, &t->refuse);
        t->answer.reply.error = error ? *error : (struct tf_error)TF_ERROR_INIT;
        if (error)
            transfer_refuse(t);
        else
            transfer_start(t);
    }
}

static void login_failed(struct transfer *t)
{
    struct tf_error error = t->answer.reply.error;
    tf_error_wrap(&error, "the user \"%s\" cannot log in", t->etcd->user);
    t->answer.reply.error = (struct tf_error)TF_ERROR_INIT;
    login_over(t->etcd, &error);
}

static void login_done(struct transfer *t, long status)
{
    struct etcd *etcd = t->etcd;
    struct tf_error *err = &t->answer.reply.error;
    free(etcd->token);
    etcd->token = tf_etcd_decode_login(status, (struct tf_bytes){t->reply.data, t->reply.len}, err);
    if (etcd->token)
        login_over(etcd, NULL);
    else {
        tf_error_wrap(err, "%s", endpoint_name(t));
        login_failed(t);
    }
}

/* It has a time of its own, and goes on when the request that wanted it has run out of time: etcd takes a
 * tenth of a second of CPU for it, and more under load, so that it would else never come about. */
static void start_login(struct etcd *etcd)
{
    char password[1024];
    if (!etcd->login)
        etcd->login = transfer_create(etcd);
    struct transfer *t = etcd->login;
    etcd->logging_in = true;
    t->tries = 0;
    t->expect = (struct tf_etcd_expect){.kind = TF_STORE_GET};
    t->deadline = (struct tf_mono){tf_loop_now(etcd->loop).mono.ms + LOGIN_TIMEOUT_MS};
    wipe(&t->body);
    if (read_password(etcd->password_file, password, sizeof password, &t->answer.reply.error)) {
        transfer_refuse(t);
        return;
    }
    tf_etcd_encode_login(&t->body, etcd->user, password);
    explicit_bzero(password, sizeof password);
    transfer_start(t);
}

/* Waits for a login, within the request's time. */
static void log_in(struct transfer *t)
{
    t->waits = true;
    tf_error_set(&t->answer.reply.error, TF_ERR_UNAVAILABLE,
                 "the user \"%s\" is not logged in to etcd yet: it takes long", t->etcd->user);
    tf_timer_start(t->etcd->loop, &t->refuse, t->deadline, refuse_due);
    if (!t->etcd->logging_in)
        start_login(t->etcd);
}

/* True if the request begins again, with a new login: etcd has forgotten the token, and done nothing. */
static bool logs_in_again(struct transfer *t)
{
    struct etcd *etcd = t->etcd;
    if (!etcd->user || t->logged_in || !tf_etcd_wants_login(&t->answer.reply.error))
        return false;
    tf_store_answer_release(&t->answer);
    t->answer = (struct tf_store_answer){0};
    t->logged_in = true;
    free(TF_STEAL(etcd->token));
    log_in(t);
    return true;
}

/* ---- transfers ---- */

/* The second step of a status, after which t->answer is complete whatever happens. */
static void metrics_done(struct transfer *t, CURLcode result)
{
    if (result == CURLE_OK)
        t->answer.reply.status.quota_bytes =
            tf_etcd_metrics_quota((struct tf_bytes){t->reply.data, t->reply.len});
    transfer_answer(t);
}

static void transfer_done(struct tf_http_request *http, CURLcode result)
{
    struct transfer *t = TF_CONTAINER_OF(http, struct transfer, http);
    long status = 0;
    if (t->metrics) {
        metrics_done(t, result);
        return;
    }
    if (result != CURLE_OK) {
        transfer_failed(t, result);
        return;
    }
    curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &status);
    if (t == t->etcd->login) {
        login_done(t, status);
        return;
    }
    tf_etcd_decode(&t->answer, &t->expect, status, (struct tf_bytes){t->reply.data, t->reply.len});
    if (logs_in_again(t))
        return;
    enum tf_error_code code = t->answer.reply.error.code;
    if (code == TF_ERR_UNKNOWN || code == TF_ERR_UNAVAILABLE) {
        tf_error_wrap(&t->answer.reply.error, "%s", endpoint_name(t));
        turn_away(t);
    } else if (t->expect.kind != TF_STORE_DEFRAGMENT) {
        t->etcd->current = t->endpoint;
    }
    if (t->expect.kind == TF_STORE_STATUS && code == TF_OK) {
        t->answer.reply.status.quota_bytes = t->etcd->quota_bytes;
        t->metrics = t->etcd->quota_bytes == 0;
    }
    if (t->metrics)
        transfer_start(t);
    else
        transfer_answer(t);
}

static void set_request(struct transfer *t)
{
    CURL *easy = t->http.easy;
    if (t->metrics) {
        curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    } else {
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->body.len);
    }
}

static void set_token(struct transfer *t)
{
    struct etcd *etcd = t->etcd;
    curl_slist_free_all(TF_STEAL(t->headers));
    if (etcd->token && t != etcd->login) {
        TF_AUTO_FREE char *line = tf_asprintf("Authorization: %s", etcd->token);
        for (const struct curl_slist *header = etcd->headers; header; header = header->next)
            t->headers = curl_slist_append(t->headers, header->data);
        t->headers = curl_slist_append(t->headers, line);
    }
    curl_easy_setopt(t->http.easy, CURLOPT_HTTPHEADER, t->headers ? t->headers : etcd->headers);
}

static const char *path_of(const struct transfer *t)
{
    if (t->metrics)
        return "/metrics";
    return t == t->etcd->login ? "/v3/auth/authenticate" : tf_etcd_path(t->expect.kind);
}

/* Sends to the present endpoint; answers with an error if that cannot even begin. */
static void transfer_start(struct transfer *t)
{
    struct etcd *etcd = t->etcd;
    struct tf_error *err = &t->answer.reply.error;
    if (!t->metrics && t->expect.kind != TF_STORE_DEFRAGMENT)
        t->endpoint = t->tries ? (t->endpoint + 1) % etcd->endpoints.count : etcd->current;
    t->body_given = 0;
    t->too_large = false;
    tf_buf_clear(&t->reply);
    int64_t left = time_left(t) > 1 ? time_left(t) : 1;
    int64_t connect = etcd->connect_timeout_ms < left ? etcd->connect_timeout_ms : left;
    TF_AUTO_FREE char *url = tf_asprintf("%s%s", endpoint_name(t), path_of(t));
    curl_easy_setopt(t->http.easy, CURLOPT_URL, url); /* copied */
    curl_easy_setopt(t->http.easy, CURLOPT_TIMEOUT_MS, (long)left);
    curl_easy_setopt(t->http.easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect);
    t->trouble[0] = '\0';
    set_request(t);
    set_token(t);
    if (tf_http_start(etcd->loop, &t->http, err) == 0)
        return;
    err->code = TF_ERR_UNAVAILABLE; /* whatever was wrong, nothing was sent */
    transfer_refuse(t);
}

static void set_tls(struct transfer *t)
{
    const struct tf_tls_files *tls = &t->etcd->tls;
    if (!tf_tls_is_set(tls))
        return;
    curl_easy_setopt(t->http.easy, CURLOPT_CAINFO, tls->ca);
    curl_easy_setopt(t->http.easy, CURLOPT_CAPATH, NULL);
    curl_easy_setopt(t->http.easy, CURLOPT_CA_CACHE_TIMEOUT, 0L); /* a CA that is replaced counts at once */
    if (!tls->certificate)
        return;
    curl_easy_setopt(t->http.easy, CURLOPT_SSLCERT, tls->certificate);
    curl_easy_setopt(t->http.easy, CURLOPT_SSLKEY, tls->key);
}

static struct transfer *transfer_create(struct etcd *etcd)
{
    struct transfer *t = tf_calloc(1, sizeof *t);
    CURL *easy = curl_easy_init();
    if (!easy) {
        fputs("libcurl: out of memory\n", stderr);
        abort();
    }
    t->etcd = etcd;
    t->http = (struct tf_http_request){.easy = easy, .done = transfer_done};
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, give_body);
    curl_easy_setopt(easy, CURLOPT_READDATA, t);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_reply);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_BUFFER_BYTES);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* whatever the environment says */
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->trouble);
    set_tls(t);
    return t;
}

static struct transfer *transfer_take(struct etcd *etcd)
{
    struct transfer *t = etcd->idle.count ? etcd->idle.items[--etcd->idle.count] : transfer_create(etcd);
    t->tries = 0;
    t->metrics = t->waits = t->logged_in = false;
    t->answer = (struct tf_store_answer){0};
    tf_buf_clear(&t->body);
    tf_vec_push(&etcd->active, t);
    return t;
}

/* ---- the store ---- */

static uint64_t etcd_send(struct tf_store *store, const struct tf_store_request *request,
                          tf_store_done_f done, void *cookie)
{
    struct etcd *etcd = (struct etcd *)(void *)store;
    struct transfer *t = transfer_take(etcd);
    t->id = ++etcd->last_id;
    t->done = done;
    t->cookie = cookie;
    t->expect = (struct tf_etcd_expect){request->kind, 0, 0};
    if (request->kind == TF_STORE_PAGE)
        t->expect.page_revision = request->revision;
    if (request->kind == TF_STORE_TXN)
        t->expect.read_count = request->txn.read_count;
    t->deadline = (struct tf_mono){tf_loop_now(etcd->loop).mono.ms + request->timeout_ms};
    uint64_t id = t->id;
    if (tf_store_request_check(request, &t->answer.reply.error) != 0) {
        transfer_refuse(t);
        return id;
    }
    if (request->kind == TF_STORE_DEFRAGMENT && request->member >= etcd->endpoints.count) {
        tf_error_set(&t->answer.reply.error, TF_ERR_NOT_FOUND, "etcd has no member %zu", request->member);
        transfer_refuse(t);
        return id;
    }
    t->endpoint = request->member;
    tf_etcd_encode(&t->body, request);
    if (etcd->user && !etcd->token)
        log_in(t);
    else
        transfer_start(t);
    return id;
}

static void etcd_cancel(struct tf_store *store, uint64_t id)
{
    struct etcd *etcd = (struct etcd *)(void *)store;
    tf_vec_each (t, &etcd->active)
        if ((*t)->id == id) {
            transfer_retire(*t);
            return;
        }
}

static void etcd_destroy(struct tf_store *store)
{
    struct etcd *etcd = (struct etcd *)(void *)store;
    tf_vec_each (t, &etcd->active)
        transfer_destroy(*t);
    tf_vec_each (t, &etcd->idle)
        transfer_destroy(*t);
    if (etcd->login)
        wipe(&etcd->login->body);
    transfer_destroy(etcd->login);
    tf_vec_each (endpoint, &etcd->endpoints)
        free(*endpoint);
    tf_vec_release(&etcd->active);
    tf_vec_release(&etcd->idle);
    tf_vec_release(&etcd->endpoints);
    curl_slist_free_all(etcd->headers);
    tf_tls_files_release(&etcd->tls);
    free(etcd->user);
    free(etcd->password_file);
    free(etcd->token);
    free(etcd);
}

static const struct tf_store_class etcd_class = {etcd_send, etcd_cancel, etcd_destroy};

static int check_endpoint(const char *endpoint, struct tf_error *err)
{
    CURLU *url = curl_url();
    char *host = NULL, *path = NULL, *query = NULL;
    bool scheme = strncmp(endpoint, "http://", 7) == 0 || strncmp(endpoint, "https://", 8) == 0;
    bool parsed = url && curl_url_set(url, CURLUPART_URL, endpoint, 0) == CURLUE_OK &&
                  curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
                  curl_url_get(url, CURLUPART_PATH, &path, 0) == CURLUE_OK;
    bool bare =
        parsed && strcmp(path, "/") == 0 && curl_url_get(url, CURLUPART_QUERY, &query, 0) == CURLUE_NO_QUERY;
    curl_free(host);
    curl_free(path);
    curl_free(query);
    curl_url_cleanup(url);
    if (scheme && bare)
        return 0;
    return tf_error_set(err, TF_ERR_INVALID,
                        "etcd endpoint \"%.200s\" is not of the form http://HOST:PORT or https://HOST:PORT",
                        endpoint);
}

static int add_endpoint(struct etcd *etcd, const char *endpoint, struct tf_error *err)
{
    if (check_endpoint(endpoint, err) != 0)
        return -1;
    size_t len = strlen(endpoint);
    while (endpoint[len - 1] == '/')
        len--;
    tf_vec_push(&etcd->endpoints, tf_strndup(endpoint, len));
    return 0;
}

struct tf_store *tf_etcd_store_create(struct tf_loop *loop, const struct tf_etcd_options *options,
                                      struct tf_error *err)
{
    struct etcd *etcd = tf_calloc(1, sizeof *etcd);
    etcd->store.class = &etcd_class;
    TF_AUTO(tf_store) store = &etcd->store;
    etcd->loop = loop;
    etcd->connect_timeout_ms = options->connect_timeout_ms ? options->connect_timeout_ms : CONNECT_TIMEOUT_MS;
    etcd->quota_bytes = options->quota_bytes;
    if (tf_tls_is_set(options->tls))
        tf_tls_files_copy(&etcd->tls, options->tls);
    etcd->user = tf_strdup(options->user);
    etcd->password_file = tf_strdup(options->password_file);
    static const char *const headers[] = {"Content-Type: application/json", "Expect:"};
    for (size_t i = 0; i < TF_ARRAY_LEN(headers); i++)
        etcd->headers = curl_slist_append(etcd->headers, headers[i]);
    if (options->endpoint_count == 0) {
        tf_error_set(err, TF_ERR_INVALID, "no etcd endpoint is given");
        return NULL;
    }
    for (size_t i = 0; i < options->endpoint_count; i++)
        if (add_endpoint(etcd, options->endpoints[i], err) != 0)
            return NULL;
    return TF_STEAL(store);
}
