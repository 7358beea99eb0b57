/* SPDX-License-Identifier: Apache-2.0 */
/* One request at a time: a look, and what follows from it. Owns when to look and what to do then; what a full
 * store means for the work is the daemons'. */
#include "common/keep/tidy.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/log/log.h"

#include <inttypes.h>

enum {
    LOOK_MS = 10 * TF_SECOND,
    SOON_MS = TF_SECOND, /* between looks at a store that fills up */
    REQUEST_MS = 5 * TF_SECOND,
    DEFRAGMENT_MS = 30 * TF_SECOND,
    /* Nobody reads what is so old: a page that is being read is younger. */
    KEEP_MS = 5 * TF_MINUTE,
    KEEP_PRESSED_MS = 10 * TF_SECOND,
    KEEP_FULL_MS = 2 * TF_SECOND, /* who reads a page then has to begin again */
    PRESSED = 50,                 /* percent */
    TIGHT = 70,
    FULL = 85,
    OPEN = 90, /* below it, a store that was full takes writes again */
    DEFRAGMENT_EVERY_MS = 10 * TF_SECOND,
    /* It stands still meanwhile: that must be much shorter than a lease. */
    DEFRAGMENT_MAX = 256 << 20,
    MARK_MS = 5 * TF_SECOND,
    MARKS = 64,
};

/* The revision at that moment. */
struct mark {
    struct tf_mono at;
    int64_t revision;
};

struct tf_tidy {
    struct tf_loop *loop;
    struct tf_store *store;
    const struct tf_tidy_events *events;
    void *arg;
    struct tf_timer timer;
    uint64_t request;
    struct tf_store_status status;
    size_t wrote; /* since the look before */
    struct mark marks[MARKS];
    size_t first, count;
    int64_t compacted; /* up to that revision */
    struct tf_mono compacted_at, defragmented_at;
    size_t member; /* to be defragmented next */
    bool advised;
};

int32_t tf_store_percent(const struct tf_store_status *status)
{
    if (status->full)
        return 100;
    return status->quota_bytes > 0 ? (int32_t)(status->used_bytes * 100 / status->quota_bytes) : 0;
}

static struct tf_mono now(const struct tf_tidy *tidy)
{
    return tf_loop_now(tidy->loop).mono;
}

static void send(struct tf_tidy *tidy, struct tf_store_request request, tf_store_done_f done)
{
    tidy->request = tf_store_send(tidy->store, &request, done, tidy);
}

/* ---- defragmentation ---- */

static void on_defragmented(void *cookie, const struct tf_store_reply *reply);

static void defragment_next(struct tf_tidy *tidy)
{
    send(tidy,
         (struct tf_store_request){
             .kind = TF_STORE_DEFRAGMENT, .timeout_ms = DEFRAGMENT_MS, .member = tidy->member++},
         on_defragmented);
}

static void on_defragmented(void *cookie, const struct tf_store_reply *reply)
{
    struct tf_tidy *tidy = cookie;
    tidy->request = 0;
    tidy->defragmented_at = now(tidy);
    if (reply->error.code == TF_OK) {
        defragment_next(tidy);
        return;
    }
    if (reply->error.code != TF_ERR_NOT_FOUND) /* else there are no more members */
        tf_log_warn("the store could not be defragmented error=%s", reply->error.text);
    else
        tf_log_info("the store is defragmented");
    tf_tidy_look(tidy);
}

static int64_t used_percent(const struct tf_store_status *status)
{
    return status->quota_bytes > 0 ? status->used_bytes * 100 / status->quota_bytes : 100;
}

/* A third of it is free inside, or a tenth if every bit counts. */
static bool is_worth_it(const struct tf_store_status *status)
{
    int64_t percent = tf_store_percent(status);
    if (percent < TIGHT || status->in_use_bytes == 0)
        return false;
    return status->in_use_bytes < status->used_bytes / 100 * (percent < FULL ? 67 : 90);
}

/* etcd tells what is free only after its next write, and a full one takes none: so after each compaction. */
static bool may_be_worth_it(const struct tf_tidy *tidy)
{
    return is_worth_it(&tidy->status) ||
           (tidy->status.full && tidy->compacted_at.ms > tidy->defragmented_at.ms);
}

/* True if it began. */
static bool defragment(struct tf_tidy *tidy)
{
    const struct tf_store_status *status = &tidy->status;
    if (!may_be_worth_it(tidy)) {
        tidy->advised = false;
        return false;
    }
    if (status->in_use_bytes > DEFRAGMENT_MAX) {
        if (!tidy->advised)
            tf_log_warn("much of what the store uses is free inside: give it back with `etcdctl defrag`, "
                        "one member after the other, at a quiet time used=%" PRId64 " in_use=%" PRId64,
                        status->used_bytes, status->in_use_bytes);
        tidy->advised = true;
        return false;
    }
    if (!status->full && tidy->defragmented_at.ms &&
        now(tidy).ms < tidy->defragmented_at.ms + DEFRAGMENT_EVERY_MS)
        return false;
    tf_log_info("the store is being defragmented used=%" PRId64 " in_use=%" PRId64 " quota=%" PRId64,
                status->used_bytes, status->in_use_bytes, status->quota_bytes);
    tidy->member = 0;
    defragment_next(tidy);
    return true;
}

/* ---- compaction ---- */

static void on_compacted(void *cookie, const struct tf_store_reply *reply)
{
    struct tf_tidy *tidy = cookie;
    tidy->request = 0;
    if (reply->error.code != TF_OK && reply->error.code != TF_ERR_NOT_FOUND)
        tf_log_warn("the store could not be compacted error=%s", reply->error.text);
}

static void mark(struct tf_tidy *tidy, int64_t revision)
{
    if (tidy->count && tidy->marks[(tidy->first + tidy->count - 1) % MARKS].at.ms + MARK_MS > now(tidy).ms)
        return;
    if (tidy->count == MARKS) {
        tidy->first = (tidy->first + 1) % MARKS;
        tidy->count--;
    }
    tidy->marks[(tidy->first + tidy->count++) % MARKS] = (struct mark){now(tidy), revision};
}

/* The newest revision that is old enough, or 0; what is before it is forgotten. */
static int64_t take_old(struct tf_tidy *tidy, int64_t keep_ms)
{
    int64_t revision = 0;
    while (tidy->count && tidy->marks[tidy->first].at.ms + keep_ms <= now(tidy).ms) {
        revision = tidy->marks[tidy->first].revision;
        tidy->first = (tidy->first + 1) % MARKS;
        tidy->count--;
    }
    return revision;
}

/* True if it began. present is the revision of the store. */
static bool compact(struct tf_tidy *tidy, int64_t present)
{
    int32_t percent = tf_store_percent(&tidy->status);
    int64_t keep = percent >= FULL ? KEEP_FULL_MS : percent >= PRESSED ? KEEP_PRESSED_MS : KEEP_MS;
    if (tidy->compacted_at.ms + keep > now(tidy).ms)
        return false;
    int64_t revision = percent >= FULL ? present : take_old(tidy, keep);
    if (revision <= tidy->compacted)
        return false;
    tidy->compacted = revision;
    tidy->compacted_at = now(tidy);
    send(tidy,
         (struct tf_store_request){.kind = TF_STORE_COMPACT, .timeout_ms = REQUEST_MS, .revision = revision},
         on_compacted);
    return true;
}

/* ---- the alarm of a full store ---- */

static void on_disarmed(void *cookie, const struct tf_store_reply *reply)
{
    struct tf_tidy *tidy = cookie;
    tidy->request = 0;
    if (reply->error.code != TF_OK)
        tf_log_warn("the alarm of the full store could not be cleared error=%s", reply->error.text);
    else
        tf_log_info("the store was full and takes writes again: give it a larger quota");
    tf_tidy_look(tidy);
}

/* True if it began. */
static bool disarm(struct tf_tidy *tidy)
{
    if (!tidy->status.full || used_percent(&tidy->status) >= OPEN)
        return false;
    send(tidy,
         (struct tf_store_request){
             .kind = TF_STORE_DISARM, .timeout_ms = REQUEST_MS, .alarm = tidy->status.alarm},
         on_disarmed);
    return true;
}

/* ---- looking ---- */

static void on_timer(struct tf_timer *timer)
{
    tf_tidy_look(TF_CONTAINER_OF(timer, struct tf_tidy, timer));
}

static void look_in(struct tf_tidy *tidy, int64_t ms)
{
    tf_timer_start(tidy->loop, &tidy->timer, (struct tf_mono){now(tidy).ms + ms}, on_timer);
}

static void on_status(void *cookie, const struct tf_store_reply *reply)
{
    struct tf_tidy *tidy = cookie;
    tidy->request = 0;
    if (reply->error.code != TF_OK || !tidy->events->holds(tidy->arg))
        return;
    tidy->status = reply->status;
    mark(tidy, reply->revision);
    if (tf_store_percent(&tidy->status) >= PRESSED)
        look_in(tidy, SOON_MS);
    if (!disarm(tidy) && !compact(tidy, reply->revision))
        defragment(tidy);
    tidy->events->seen(tidy->arg, &reply->status);
}

void tf_tidy_look(struct tf_tidy *tidy)
{
    look_in(tidy, LOOK_MS);
    if (tidy->request || !tidy->events->holds(tidy->arg))
        return;
    tidy->wrote = 0;
    send(tidy, (struct tf_store_request){.kind = TF_STORE_STATUS, .timeout_ms = REQUEST_MS}, on_status);
}

/* The store takes more room than what is written: up to twice as much. */
void tf_tidy_wrote(struct tf_tidy *tidy, size_t bytes)
{
    tidy->wrote += bytes;
    int64_t hundredth = tidy->status.quota_bytes / 100;
    int64_t much = tf_store_percent(&tidy->status) >= PRESSED ? hundredth / 2 : 5 * hundredth;
    if (hundredth > 0 && (int64_t)tidy->wrote >= much)
        tf_tidy_look(tidy);
}

struct tf_store_status tf_tidy_status(const struct tf_tidy *tidy)
{
    return tidy->status;
}

struct tf_tidy *tf_tidy_create(struct tf_loop *loop, struct tf_store *store,
                               const struct tf_tidy_events *events, void *arg)
{
    struct tf_tidy *tidy = tf_calloc(1, sizeof *tidy);
    tidy->loop = loop;
    tidy->store = store;
    tidy->events = events;
    tidy->arg = arg;
    look_in(tidy, 0);
    return tidy;
}

void tf_tidy_destroy(struct tf_tidy *tidy)
{
    if (!tidy)
        return;
    tf_timer_cancel(tidy->loop, &tidy->timer);
    tf_store_cancel(tidy->store, tidy->request);
    free(tidy);
}
