/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of subclusters: bytes to messages and back. What they mean is the core's. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/wire/attach.h"
#include "federation/daemon/roles.h"

#include <inttypes.h>
#include <stdarg.h>

enum {
    HELLO_WITHIN_MS = 10 * TF_SECOND,
    QUEUE_MAX = 256 << 20, /* waiting for one subcluster: more than the full set of 100,000 placements */
};

struct link {
    uint64_t number;
    struct fedd *fedd;
    struct tf_stream *stream;
    char *name; /* of the subcluster, once it said hello */
    struct tf_timer hello;
    struct tf_mono profile_at;
    char *store_trouble; /* as it tells; NULL = none */
    struct tf_wall store_trouble_since;
    UT_hash_handle hh;
};

static struct link *find(const struct fedd *fedd, uint64_t number)
{
    struct link *link = NULL;
    HASH_FIND(hh, fedd->links, &number, sizeof number, link);
    return link;
}

/* Forgets the link; the core hears of it if it knew it. The stream is over, or is ended by the caller. left:
 * its subclusterd took its leave. */
static void drop(struct link *link, bool left)
{
    struct fedd *fedd = link->fedd;
    bool known = link->name != NULL;
    uint64_t number = link->number;
    tf_timer_cancel(fedd->loop, &link->hello);
    HASH_DEL(fedd->links, link);
    free(link->name);
    free(link->store_trouble);
    free(link);
    asks_link_down(fedd, number);
    if (known && fedd->fed)
        host_step(fedd, &(struct fed_event){.kind = FED_EV_LINK_DOWN, .link = number, .left = left});
}

static void refuse(struct link *link, enum tf_error_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void refuse(struct link *link, enum tf_error_code code, const char *fmt, ...)
{
    struct tf_error error = TF_ERROR_INIT;
    va_list args;
    va_start(args, fmt);
    vsnprintf(error.text, sizeof error.text, fmt, args);
    va_end(args);
    error.code = code;
    tf_log_warn("closing the stream of a subcluster name=%s peer=%s error=%s", link->name ? link->name : "?",
                tf_stream_peer(link->stream), error.text);
    tf_stream_finish(link->stream, &error, (struct tf_bytes){0});
    drop(link, false);
}

static void on_no_hello(struct tf_timer *timer)
{
    refuse(TF_CONTAINER_OF(timer, struct link, hello), TF_ERR_TIMEOUT, "no hello within %d s",
           HELLO_WITHIN_MS / 1000);
}

/* A registration that cannot be read is not overwritten by a new one. */
static bool in_quarantine(struct link *link, const struct tf_hello *hello)
{
    const char *why = lead_quarantined(link->fedd, "subclusters", hello->name, NULL);
    if (!why)
        return false;
    refuse(
        link, TF_ERR_CONFLICT,
        "subcluster %s: its stored registration cannot be read and is in quarantine (%s); repair or remove "
        "the key subclusters/%s, then restart the leader",
        hello->name, why, hello->name);
    return true;
}

/* Whoever holds a certificate is that subcluster, and no other. */
static bool is_impostor(struct link *link, const struct tf_hello *hello)
{
    const char *identity = tf_stream_identity(link->stream);
    if (role_is_subcluster(identity, hello->name))
        return false;
    refuse(link, TF_ERR_REFUSED,
           "the certificate is of \"%.100s\", which may not attach as %s: give that subclusterd a "
           "certificate of "
           "subcluster/%s (deploy/tls.sh subcluster %s), or set its `name` right",
           identity, hello->name, hello->name, hello->name);
    return true;
}

static void say_hello(struct link *link, struct tf_up *up)
{
    if (is_impostor(link, &up->hello) || in_quarantine(link, &up->hello)) {
        tf_up_release(up);
        return;
    }
    tf_timer_cancel(link->fedd->loop, &link->hello);
    link->name = tf_strdup(up->hello.name);
    tf_log_info("subcluster attached name=%s engine=%s version=%s peer=%s", up->hello.name, up->hello.engine,
                up->hello.version, tf_stream_peer(link->stream));
    struct fed_event event = {.kind = FED_EV_LINK_UP, .link = link->number, .hello = up->hello};
    *up = (struct tf_up){0};
    host_step(link->fedd, &event);
}

/* What runs of a job whose record cannot be read is no orphan: nobody is told of it, so it goes on. */
static bool is_of_quarantined_job(const struct fedd *fedd, const struct tf_up *up)
{
    return up->kind == TF_UP_REPORT && up->report.tenant && up->report.name &&
           lead_quarantined(fedd, "jobs", up->report.tenant, up->report.name);
}

/* For the metrics. */
static void note(struct link *link, const struct tf_up *up)
{
    if (up->kind == TF_UP_PROFILE)
        link->profile_at = tf_loop_now(link->fedd->loop).mono;
    else if (up->kind == TF_UP_REPORT)
        metrics_report(link->fedd, &up->report);
}

/* For people only: nothing is decided by it. */
static void take_store_trouble(struct link *link, const char *text)
{
    if (text && !link->store_trouble) {
        link->store_trouble_since = tf_loop_now(link->fedd->loop).wall;
        tf_log_warn(
            "a subcluster's own store does not answer it: it accepts nothing until it does name=%s error=%s",
            link->name, text);
    } else if (!text && link->store_trouble)
        tf_log_info("a subcluster's own store answers again name=%s", link->name);
    tf_str_set(&link->store_trouble, text);
}

static void on_message(void *arg, struct tf_stream *stream, struct tf_bytes body)
{
    struct link *link = arg;
    (void)stream;
    struct tf_up up = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (tf_wire_up_unpack(body.data, body.len, &up, &err)) {
        refuse(link, TF_ERR_INVALID, "a message that cannot be read: %s", err.text);
        return;
    }
    if ((up.kind == TF_UP_HELLO) != (link->name == NULL)) {
        tf_up_release(&up);
        refuse(link, TF_ERR_INVALID, "%s",
               link->name ? "a second hello" : "the first message is not a hello");
        return;
    }
    if (up.kind == TF_UP_HELLO) {
        say_hello(link, &up);
    } else if (up.kind == TF_UP_ANSWER) {
        asks_answer(link->fedd, link->number, &up.answer);
        tf_up_release(&up);
    } else if (up.kind == TF_UP_STORE) {
        take_store_trouble(link, up.store.text);
        tf_up_release(&up);
    } else if (is_of_quarantined_job(link->fedd, &up)) {
        tf_up_release(&up);
    } else {
        note(link, &up);
        host_step(link->fedd, &(struct fed_event){.kind = FED_EV_UP, .link = link->number, .up = up});
    }
}

/* Only a subclusterd that is being stopped closes its half. */
static void on_half_closed(void *arg, struct tf_stream *stream)
{
    struct link *link = arg;
    tf_stream_finish(stream, NULL, (struct tf_bytes){0});
    tf_log_info("subcluster left name=%s", link->name ? link->name : "?");
    drop(link, true);
}

static void on_ended(void *arg, struct tf_stream *stream, const struct tf_error *error,
                     struct tf_bytes details)
{
    struct link *link = arg;
    (void)stream;
    (void)details;
    tf_log_warn("the stream of a subcluster broke name=%s error=%s", link->name ? link->name : "?",
                error->text);
    drop(link, false);
}

static const struct tf_stream_events events = {
    .message = on_message,
    .half_closed = on_half_closed,
    .ended = on_ended,
};

static void on_open(void *arg, struct tf_stream *stream)
{
    struct fedd *fedd = arg;
    if (!lead_or_refuse_stream(fedd, stream))
        return;
    struct link *link = tf_calloc(1, sizeof *link);
    link->fedd = fedd;
    link->stream = stream;
    link->number = ++fedd->next_number;
    link->profile_at = TF_NEVER;
    HASH_ADD(hh, fedd->links, number, sizeof link->number, link);
    struct tf_mono due = {tf_loop_now(fedd->loop).mono.ms + HELLO_WITHIN_MS};
    tf_timer_start(fedd->loop, &link->hello, due, on_no_hello);
    tf_stream_accept(stream, &events, link);
}

void links_register(struct fedd *fedd)
{
    tf_server_stream(fedd->server, TF_WIRE_METHOD_ATTACH, on_open, fedd);
}

void links_send(struct fedd *fedd, uint64_t number, const struct tf_down *down)
{
    struct link *link = find(fedd, number);
    if (!link)
        return; /* it broke after the core spoke; the core hears of it next */
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    if (tf_wire_down_pack(down, &bytes, &err)) {
        tf_log_error("a message to a subcluster cannot be written name=%s error=%s", link->name, err.text);
        refuse(link, TF_ERR_BUG, "the leader made a message that cannot be written: %s", err.text);
        return;
    }
    if (tf_stream_write(link->stream, &bytes) > QUEUE_MAX)
        refuse(link, TF_ERR_UNAVAILABLE, "takes messages too slowly: attach again");
}

void links_close(struct fedd *fedd, uint64_t number, const char *why)
{
    struct link *link = find(fedd, number);
    if (link)
        refuse(link, TF_ERR_REFUSED, "%s", why);
}

/* Each time the first one: what the core says to the end of a link may end others. */
void links_close_all(struct fedd *fedd, const char *why)
{
    while (fedd->links)
        refuse(fedd->links, TF_ERR_UNAVAILABLE, "%s", why);
}

const char *links_store_trouble(const struct fedd *fedd, uint64_t number, struct tf_wall *since)
{
    const struct link *link = find(fedd, number);
    if (!link || !link->store_trouble)
        return NULL;
    *since = link->store_trouble_since;
    return link->store_trouble;
}

struct tf_mono links_profile_at(const struct fedd *fedd, uint64_t number)
{
    const struct link *link = find(fedd, number);
    return link ? link->profile_at : TF_NEVER;
}
