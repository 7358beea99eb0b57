/* SPDX-License-Identifier: Apache-2.0 */
/* The store's room: says when it gets full, and compacts away old revisions, which nobody reads. Only the
 * owner does it. Several subclusters may share a store: whoever compacts last finds it done. */
#include "subcluster/daemon/private.h"

#include "common/base/cleanup.h"

#include <inttypes.h>

enum {
    EVERY_MS = 10 * TF_SECOND,
    COMPACT_EVERY = 30, /* rounds: five minutes */
    REQUEST_MS = 5 * TF_SECOND,
    WARN_PERCENT = 70,
    ERROR_PERCENT = 90,
    HYSTERESIS = 5,
};

struct upkeep {
    struct subd *subd;
    struct tf_timer timer;
    uint64_t request;
    int rounds;
    int64_t seen; /* revision of the round of the last compaction: what is older goes next time */
    struct tf_store_status status;
    int64_t warned; /* percent, when it was last said; 0 = all is well */
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
    upkeep->request = tf_store_send(upkeep->subd->store, &request, on_compacted, upkeep);
}

static void warn(struct upkeep *upkeep, int64_t percent)
{
    if (percent < WARN_PERCENT - HYSTERESIS) {
        upkeep->warned = 0;
        return;
    }
    if (percent < WARN_PERCENT || percent < upkeep->warned + HYSTERESIS)
        return;
    upkeep->warned = percent;
    tf_log(percent >= ERROR_PERCENT ? TF_LOG_ERROR : TF_LOG_WARN,
           "the subcluster's store fills up: raise its quota, or defragment it, before writes are refused "
           "percent=%" PRId64,
           percent);
}

static void on_status(void *cookie, const struct tf_store_reply *reply)
{
    struct upkeep *upkeep = cookie;
    upkeep->request = 0;
    if (reply->error.code != TF_OK || !upkeep->subd->sub)
        return;
    const struct tf_store_status *status = &reply->status;
    upkeep->status = *status;
    if (status->quota_bytes > 0)
        warn(upkeep, status->full ? 100 : status->used_bytes * 100 / status->quota_bytes);
    if (upkeep->rounds % COMPACT_EVERY == 0)
        compact(upkeep, reply->revision);
}

static void on_timer(struct tf_timer *timer)
{
    struct upkeep *upkeep = TF_CONTAINER_OF(timer, struct upkeep, timer);
    struct subd *subd = upkeep->subd;
    if (subd->sub && !upkeep->request) {
        const struct tf_store_request request = {.kind = TF_STORE_STATUS, .timeout_ms = REQUEST_MS};
        upkeep->rounds++;
        upkeep->request = tf_store_send(subd->store, &request, on_status, upkeep);
    }
    struct tf_mono due = {tf_loop_now(subd->loop).mono.ms + EVERY_MS};
    tf_timer_start(subd->loop, &upkeep->timer, due, on_timer);
    tf_log_flush();
}

void subd_upkeep_start(struct subd *subd)
{
    subd->upkeep = tf_calloc(1, sizeof *subd->upkeep);
    subd->upkeep->subd = subd;
    tf_timer_start(subd->loop, &subd->upkeep->timer, tf_loop_now(subd->loop).mono, on_timer);
}

struct tf_store_status subd_upkeep_status(const struct subd *subd)
{
    return subd->upkeep->status;
}

void subd_upkeep_stop(struct subd *subd)
{
    if (!subd->upkeep)
        return;
    tf_timer_cancel(subd->loop, &subd->upkeep->timer);
    tf_store_cancel(subd->store, subd->upkeep->request);
    free(subd->upkeep);
    subd->upkeep = NULL;
}
