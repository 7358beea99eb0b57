/* SPDX-License-Identifier: Apache-2.0 */
/* The store's health: the log says when it is away. Its room: how full it is goes to the core, and old
 * revisions, which nobody reads, are compacted away; only the leader does that. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"

enum {
    TICK_MS = TF_SECOND,
    LOOK_EVERY = 10,    /* ticks */
    COMPACT_EVERY = 30, /* rounds: five minutes */
    REQUEST_MS = 5 * TF_SECOND,
};

struct upkeep {
    struct fedd *fedd;
    struct tf_timer timer;
    uint64_t request;
    bool in_trouble;
    unsigned ticks;
    int rounds;
    int64_t seen; /* revision of the round of the last compaction: what is older goes next time */
    struct tf_store_status status;
};

static void on_compacted(void *cookie, const struct tf_store_reply *reply)
{
    struct upkeep *upkeep = cookie;
    upkeep->request = 0;
    if (reply->error.code != TF_OK && reply->error.code != TF_ERR_NOT_FOUND)
        tf_log_warn("the store could not be compacted error=%s", reply->error.text);
}

static void compact(struct upkeep *upkeep, int64_t revision)
{
    int64_t target = upkeep->seen;
    upkeep->seen = revision;
    if (target == 0)
        return;
    const struct tf_store_request request = {
        .kind = TF_STORE_COMPACT, .timeout_ms = REQUEST_MS, .revision = target};
    upkeep->request = tf_store_send(upkeep->fedd->store, &request, on_compacted, upkeep);
}

static void on_status(void *cookie, const struct tf_store_reply *reply)
{
    struct upkeep *upkeep = cookie;
    struct fedd *fedd = upkeep->fedd;
    upkeep->request = 0;
    if (reply->error.code != TF_OK || !fedd->fed || !fedd->loaded)
        return;
    upkeep->status = reply->status;
    if (reply->status.quota_bytes > 0) {
        int64_t percent =
            reply->status.full ? 100 : reply->status.used_bytes * 100 / reply->status.quota_bytes;
        host_step(fedd, &(struct fed_event){.kind = FED_EV_QUOTA, .quota_percent = (int32_t)percent});
    }
    if (upkeep->rounds % COMPACT_EVERY == 0)
        compact(upkeep, reply->revision);
}

static void look(struct upkeep *upkeep)
{
    struct fedd *fedd = upkeep->fedd;
    if (fedd->fed && !upkeep->request) {
        const struct tf_store_request request = {.kind = TF_STORE_STATUS, .timeout_ms = REQUEST_MS};
        upkeep->rounds++;
        upkeep->request = tf_store_send(fedd->store, &request, on_status, upkeep);
    }
}

/* The log says when the store goes away and when it is back, leader or not. True if it just did. */
static bool tell_trouble(struct upkeep *upkeep)
{
    const struct tf_error *trouble = tf_keep_trouble(upkeep->fedd->keep);
    bool in_trouble = trouble->code != TF_OK;
    if (in_trouble && !upkeep->in_trouble)
        tf_log_error("the store cannot be used error=%s", trouble->text);
    else if (!in_trouble && upkeep->in_trouble)
        tf_log_info("the store can be used again");
    bool changed = in_trouble != upkeep->in_trouble;
    upkeep->in_trouble = in_trouble;
    return changed;
}

static void on_timer(struct tf_timer *timer)
{
    struct upkeep *upkeep = TF_CONTAINER_OF(timer, struct upkeep, timer);
    if (tell_trouble(upkeep) || upkeep->ticks++ % LOOK_EVERY == 0)
        look(upkeep);
    struct tf_mono due = {tf_loop_now(upkeep->fedd->loop).mono.ms + TICK_MS};
    tf_timer_start(upkeep->fedd->loop, &upkeep->timer, due, on_timer);
}

void upkeep_start(struct fedd *fedd)
{
    fedd->upkeep = tf_calloc(1, sizeof *fedd->upkeep);
    fedd->upkeep->fedd = fedd;
    tf_timer_start(fedd->loop, &fedd->upkeep->timer, tf_loop_now(fedd->loop).mono, on_timer);
}

void upkeep_now(struct fedd *fedd)
{
    fedd->upkeep->seen = 0;
    look(fedd->upkeep);
}

struct tf_store_status upkeep_status(const struct fedd *fedd)
{
    return fedd->upkeep->status;
}

void upkeep_stop(struct fedd *fedd)
{
    if (!fedd->upkeep)
        return;
    tf_timer_cancel(fedd->loop, &fedd->upkeep->timer);
    tf_store_cancel(fedd->store, fedd->upkeep->request);
    free(fedd->upkeep);
    fedd->upkeep = NULL;
}
