/* SPDX-License-Identifier: Apache-2.0 */
/* The one live stream to the federation's leader: finds the leader among the endpoints, attaches, and when
 * that ends begins again, for as long as it takes. Whatever happens here, the work runs on.
 *
 *     WAITING -> ASKING (who leads?) -> ATTACHED -> WAITING ...
 *
 * Asking first keeps the core from saying all it knows to a port that is closed or does not lead. */
#include "subcluster/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "common/base/text.h"
#include "common/wire/api.h"
#include "common/wire/attach.h"

enum {
    ASK_MS = 3 * TF_SECOND,
    BACKOFF_MIN_MS = 200,
    BACKOFF_MAX_MS = 3 * TF_SECOND,
    FOLLOW_MAX = 3,               /* leaders named one after the other, then the endpoints again */
    QUEUE_MAX = 64 * 1024 * 1024, /* bytes to a leader that takes them slowly: all reports of many jobs */
};

struct uplink {
    struct subd *subd;
    size_t next;  /* endpoint */
    size_t tried; /* endpoints since the last pause */
    char *leader; /* named by somebody: dialled next; NULL = none */
    int followed;
    int64_t backoff;
    struct tf_rng rng;
    struct tf_timer again;

    char *address; /* dialled now */
    struct tf_channel *channel;
    struct tf_unary *asking;
    struct tf_stream *stream;
    bool heard;                      /* the leader has said something on this stream */
    void (*left)(struct subd *subd); /* NULL: stays */
};

static void dial(struct uplink *uplink);

static void on_again(struct tf_timer *timer)
{
    dial(TF_CONTAINER_OF(timer, struct uplink, again));
}

/* ---- giving up and beginning again ---- */

static void hang_up(struct uplink *uplink)
{
    if (uplink->asking)
        tf_unary_cancel(TF_STEAL(uplink->asking));
    if (uplink->stream)
        tf_stream_cancel(TF_STEAL(uplink->stream));
    tf_channel_destroy(TF_STEAL(uplink->channel));
    free(TF_STEAL(uplink->address));
}

/* A pause after each round over the endpoints, longer each time, of a random length: the subclusters of a
 * federation do not all come at once. */
static int64_t pause_ms(struct uplink *uplink)
{
    if (uplink->leader)
        return 0;
    if (++uplink->tried < uplink->subd->config.federation.count)
        return 0;
    uplink->tried = 0;
    uplink->followed = 0;
    int64_t most = uplink->backoff;
    uplink->backoff = 2 * most < BACKOFF_MAX_MS ? 2 * most : BACKOFF_MAX_MS;
    return tf_rng_range(&uplink->rng, most / 2, most);
}

static void dial_later(struct uplink *uplink)
{
    struct tf_mono due = {tf_loop_now(uplink->subd->loop).mono.ms + pause_ms(uplink)};
    tf_timer_start(uplink->subd->loop, &uplink->again, due, on_again);
}

static void follow(struct uplink *uplink, const char *leader)
{
    if (!leader || !*leader || tf_str_eq(leader, uplink->address) || uplink->followed >= FOLLOW_MAX)
        return;
    uplink->followed++;
    tf_str_set(&uplink->leader, leader);
}

/* The stream is over; why has been logged. */
static void detached(struct uplink *uplink)
{
    hang_up(uplink);
    if (uplink->left) {
        uplink->left(uplink->subd);
        return;
    }
    dial_later(uplink);
    subd_feed(uplink->subd, &(struct sub_event){.kind = SUB_EV_LINK_DOWN});
}

/* ---- the stream ---- */

/* Changes are the core's to make, and are answered when they are durable; questions are answered at once. */
static bool is_change(const struct tf_ask *ask)
{
    if (ask->kind == TF_ASK_MIGRATE)
        return ask->migrate.count && ask->migrate.items[0].verb != TF_MIGRATE_PLAN &&
               ask->migrate.items[0].verb != TF_MIGRATE_LIST;
    return ask->kind == TF_ASK_CORDON || ask->kind == TF_ASK_CONFIRM_LOST ||
           (ask->kind == TF_ASK_DEFRAG && ask->defrag.count && ask->defrag.items[0].apply);
}

static void on_message(void *arg, struct tf_stream *stream, struct tf_bytes body)
{
    struct uplink *uplink = arg;
    struct subd *subd = uplink->subd;
    struct sub_event event = {.kind = SUB_EV_DOWN};
    struct tf_error err = TF_ERROR_INIT;
    (void)stream;
    if (tf_wire_down_unpack(body.data, body.len, &event.down, &err)) {
        tf_log_error(
            "a message of the leader cannot be read: the stream is dropped, the work runs on leader=%s "
            "error=%s",
            uplink->address, err.text);
        detached(uplink);
        return;
    }
    if (!uplink->heard) {
        uplink->heard = true;
        uplink->backoff = BACKOFF_MIN_MS;
        uplink->tried = 0;
        uplink->followed = 0;
        tf_log_info("attached leader=%s", uplink->address);
    }
    if (event.down.kind == TF_DOWN_ASK && !is_change(&event.down.ask)) {
        subd_ask(subd, &event.down.ask);
        sub_event_release(&event);
    } else
        subd_feed(subd, &event);
}

static void read_details(struct uplink *uplink, struct tf_bytes details)
{
    struct tf_error_detail detail = {0};
    if (details.len && tf_wire_error_detail_unpack(details.data, details.len, &detail, NULL) == 0)
        follow(uplink, detail.leader);
    tf_error_detail_release(&detail);
}

static void on_ended(void *arg, struct tf_stream *stream, const struct tf_error *error,
                     struct tf_bytes details)
{
    struct uplink *uplink = arg;
    (void)stream;
    uplink->stream = NULL;
    read_details(uplink, details);
    if (!uplink->left)
        tf_log_warn("the stream to the leader ended: the work runs on leader=%s error=%s", uplink->address,
                    error->code == TF_OK ? "closed by the leader" : error->text);
    detached(uplink);
}

static const struct tf_stream_events stream_events = {.message = on_message, .ended = on_ended};

static void attach(struct uplink *uplink)
{
    uplink->heard = false;
    uplink->stream =
        tf_stream_open(uplink->channel, TF_WIRE_METHOD_ATTACH, TF_RPC_NO_TIMEOUT, &stream_events, uplink);
    subd_feed(uplink->subd, &(struct sub_event){.kind = SUB_EV_LINK_UP});
}

/* ---- finding the leader ---- */

static void not_here(struct uplink *uplink, const char *why)
{
    tf_log_warn("not attached: no leader found yet, the work runs on tried=%s error=%s", uplink->address,
                why);
    hang_up(uplink);
    dial_later(uplink);
}

static void on_status(void *arg, const struct tf_error *error, struct tf_bytes body, struct tf_bytes details)
{
    struct uplink *uplink = arg;
    struct tf_error err = *error;
    struct tf_reply reply = {0};
    uplink->asking = NULL;
    if (err.code != TF_OK)
        read_details(uplink, details);
    else
        tf_wire_reply_unpack(TF_METHOD_STATUS, body.data, body.len, &reply, &err);
    bool silent = err.code == TF_ERR_UNAVAILABLE || err.code == TF_ERR_UNKNOWN;
    if (silent && !details.len) /* no fedd has said what is wrong */
        subd_diagnose(uplink->subd, uplink->address);
    if (err.code != TF_OK) {
        not_here(uplink, err.text);
        return;
    }
    if (reply.status.leads) /* also one that waits for its subclusters before it opens */
        attach(uplink);
    else {
        follow(uplink, reply.status.leader);
        not_here(uplink, "it does not lead");
    }
    tf_reply_release(&reply);
}

static void dial(struct uplink *uplink)
{
    struct subd *subd = uplink->subd;
    const struct tf_strs *endpoints = &subd->config.federation;
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_BUF body = TF_BUF_INIT;
    const struct tf_request request = {.method = TF_METHOD_STATUS};
    uplink->address = TF_STEAL(uplink->leader);
    if (!uplink->address)
        uplink->address = tf_strdup(endpoints->items[uplink->next++ % endpoints->count]);
    const struct tf_channel_options options = {
        .address = uplink->address, .credentials = {&subd->config.tls}, .stream_queue_max = QUEUE_MAX};
    uplink->channel = tf_channel_create(subd->rpc, &options, &err);
    if (!uplink->channel || tf_wire_request_pack(&request, &body, &err)) {
        not_here(uplink, err.text);
        return;
    }
    uplink->asking =
        tf_unary_start(uplink->channel, tf_method_path(TF_METHOD_STATUS), &body, ASK_MS, on_status, uplink);
}

/* ---- for the others ---- */

void subd_uplink_send(struct subd *subd, const struct tf_up *up)
{
    struct uplink *uplink = subd->uplink;
    if (!uplink || !uplink->stream || uplink->left)
        return; /* it broke after the core spoke; the core hears of it next */
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    if (tf_wire_up_pack(up, &bytes, &err)) {
        tf_log_error("a message to the leader cannot be written and is left out kind=%d error=%s",
                     (int)up->kind, err.text);
        return;
    }
    if (tf_stream_write(uplink->stream, &bytes) > tf_stream_queue_max(uplink->stream))
        subd_uplink_close(subd, "it takes messages too slowly");
}

void subd_uplink_close(struct subd *subd, const char *why)
{
    struct uplink *uplink = subd->uplink;
    if (!uplink || !uplink->stream)
        return;
    tf_log_warn("closing the stream to the leader, to attach again leader=%s reason=%s", uplink->address,
                why);
    detached(uplink);
}

struct tf_channel *subd_uplink_channel(struct subd *subd)
{
    return subd->uplink && subd->uplink->stream ? subd->uplink->channel : NULL;
}

bool subd_uplink_attached(const struct subd *subd)
{
    return subd->uplink && subd->uplink->stream && subd->uplink->heard;
}

bool subd_uplink_leave(struct subd *subd, void (*left)(struct subd *subd))
{
    struct uplink *uplink = subd->uplink;
    if (!uplink || !uplink->stream || !uplink->heard)
        return false;
    uplink->left = left;
    tf_stream_half_close(uplink->stream);
    return true;
}

void subd_uplink_start(struct subd *subd)
{
    if (subd->uplink)
        return;
    struct uplink *uplink = tf_calloc(1, sizeof *uplink);
    subd->uplink = uplink;
    uplink->subd = subd;
    uplink->backoff = BACKOFF_MIN_MS;
    tf_rng_init(&uplink->rng, (uint64_t)tf_clock_read().wall.ms ^ subd->term.revision << 32);
    dial(uplink);
}

void subd_uplink_stop(struct subd *subd)
{
    struct uplink *uplink = subd->uplink;
    if (!uplink)
        return;
    tf_timer_cancel(subd->loop, &uplink->again);
    hang_up(uplink);
    free(uplink->leader);
    free(uplink);
    subd->uplink = NULL;
}
