/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the guard of a prefix with the codec of records. What the records mean is the cores'; how a
 * transaction becomes certain is the guard's. */
#include "common/keep/keep.h"

#include "common/base/cleanup.h"
#include "common/base/vec.h"
#include "common/log/log.h"
#include "common/store/guard_loop.h"
#include "common/wire/records.h"

#include <assert.h>

enum { RETRY_MS = 1000 };

/* One record as the store will have it. */
struct encoded {
    struct tf_buf key, value;
    bool gone;
};

struct tf_keep {
    struct tf_loop *loop;
    struct tf_guard_loop guard;
    const struct tf_keep_events *events;
    void *arg;
    char *prefix; /* with its last '/' */
    TF_VEC(struct tf_quarantined) quarantine;
    TF_VEC(struct encoded) out; /* of the transaction that is under way */
    bool committing, releasing;
    struct tf_error refusal; /* of the transaction that is tried again; TF_OK = none is */
    struct tf_timer retry;   /* of a commit or a load that the store refused */
    bool loading;
};

static void quarantine_clear(struct tf_keep *keep)
{
    tf_vec_each (q, &keep->quarantine) {
        free(q->key);
        free(q->why);
    }
    keep->quarantine.count = 0;
}

static void out_clear(struct tf_keep *keep)
{
    keep->refusal = (struct tf_error)TF_ERROR_INIT;
    tf_vec_each (e, &keep->out) {
        tf_buf_release(&e->key);
        tf_buf_release(&e->value);
    }
    keep->out.count = 0;
}

static void quarantine(struct tf_keep *keep, struct tf_bytes key, const struct tf_error *why)
{
    struct tf_quarantined *q = tf_vec_add(&keep->quarantine);
    q->key = tf_strndup(key.data, key.len);
    q->why = tf_strdup(why->text);
    tf_log_error(
        "a stored record cannot be read and is left alone; what it is about does not take part until it is "
        "repaired or removed key=%s error=%s",
        q->key, q->why);
}

static void stand_by_again(struct tf_keep *keep, const struct tf_error *why)
{
    out_clear(keep);
    quarantine_clear(keep);
    keep->committing = keep->loading = false;
    tf_timer_cancel(keep->loop, &keep->retry);
    keep->events->deposed(keep->arg, why);
    if (!keep->releasing)
        tf_guard_acquire(keep->guard.guard);
}

/* ---- loading ---- */

static void on_row(void *cookie, const struct tf_store_row *row)
{
    struct tf_keep *keep = cookie;
    size_t prefix = strlen(keep->prefix);
    assert(row->key.len >= prefix);
    struct tf_bytes key = {(const char *)row->key.data + prefix, row->key.len - prefix};
    struct tf_record record = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (tf_wire_record_unpack(key.data, key.len, row->value.data, row->value.len, &record, &err))
        quarantine(keep, key, &err);
    else
        keep->events->record(keep->arg, &record);
}

static void start_load(struct tf_keep *keep);

static void retry_load(struct tf_timer *timer)
{
    struct tf_keep *keep = TF_CONTAINER_OF(timer, struct tf_keep, retry);
    start_load(keep);
}

static void on_loaded(void *cookie, const struct tf_error *error, int64_t revision)
{
    struct tf_keep *keep = cookie;
    (void)revision;
    keep->loading = false;
    if (error->code == TF_OK) {
        keep->events->loaded(keep->arg);
        return;
    }
    if (error->code == TF_ERR_CONFLICT)
        return; /* TF_GUARD_DEPOSED follows */
    tf_log_warn("reading the records failed, trying again error=%s", error->text);
    struct tf_mono due = {tf_loop_now(keep->loop).mono.ms + RETRY_MS};
    tf_timer_start(keep->loop, &keep->retry, due, retry_load);
}

/* Begins a term: the owner of the events starts from nothing each time. */
static void start_load(struct tf_keep *keep)
{
    struct tf_guard *guard = keep->guard.guard;
    struct tf_term term = {tf_guard_era(guard), (uint64_t)tf_guard_revision(guard)};
    struct tf_error err = TF_ERROR_INIT;
    quarantine_clear(keep);
    keep->events->held(keep->arg, term);
    keep->loading = true;
    if (tf_guard_load(guard, on_row, on_loaded, keep, &err)) {
        keep->loading = false;
        tf_log_error("the records could not be asked for error=%s", err.text);
    }
}

/* ---- the guard's word ---- */

static void on_guard(void *ctx, const struct tf_guard_event *event)
{
    struct tf_keep *keep = ctx;
    switch (event->kind) {
    case TF_GUARD_STANDBY:
        keep->events->standby(keep->arg, event->holder);
        break;
    case TF_GUARD_HELD:
        start_load(keep);
        break;
    case TF_GUARD_DEPOSED:
        stand_by_again(keep, &event->error);
        break;
    case TF_GUARD_RELEASED:
        keep->events->released(keep->arg);
        break;
    }
}

/* ---- committing ---- */

static void send(struct tf_keep *keep);

static void retry_commit(struct tf_timer *timer)
{
    struct tf_keep *keep = TF_CONTAINER_OF(timer, struct tf_keep, retry);
    send(keep);
}

static void on_committed(void *cookie, const struct tf_error *error)
{
    struct tf_keep *keep = cookie;
    if (error->code == TF_ERR_CONFLICT)
        return; /* TF_GUARD_DEPOSED follows */
    if (error->code == TF_ERR_REFUSED || error->code == TF_ERR_UNAVAILABLE) {
        keep->refusal = *error;
        tf_log_error("the store takes no writes, trying again error=%s", error->text);
        struct tf_mono due = {tf_loop_now(keep->loop).mono.ms + RETRY_MS};
        tf_timer_start(keep->loop, &keep->retry, due, retry_commit);
        return;
    }
    if (error->code != TF_OK) {
        tf_log_error("the store will never take this transaction error=%s", error->text);
        abort();
    }
    size_t bytes = 0;
    tf_vec_each (e, &keep->out)
        bytes += e->key.len + e->value.len;
    out_clear(keep);
    keep->committing = false;
    keep->events->committed(keep->arg, bytes);
}

static void send(struct tf_keep *keep)
{
    if (!tf_guard_held(keep->guard.guard))
        return; /* TF_GUARD_DEPOSED is on its way, and drops what was to be written */
    struct tf_store_write *writes = tf_calloc(keep->out.count, sizeof *writes);
    for (size_t i = 0; i < keep->out.count; i++) {
        struct encoded *e = &keep->out.items[i];
        writes[i].key = (struct tf_bytes){e->key.data, e->key.len};
        writes[i].value = (struct tf_bytes){e->value.data, e->value.len};
        writes[i].remove = e->gone;
    }
    struct tf_error err = TF_ERROR_INIT;
    if (tf_guard_commit(keep->guard.guard, writes, keep->out.count, on_committed, keep, &err)) {
        tf_log_error("a transaction breaks the store's limits error=%s", err.text);
        abort();
    }
    free(writes);
}

/* Cores do not know of a summary that could not be read, and make a new one; the old one is not theirs to
 * throw away. Whatever else is in quarantine they leave alone by themselves. */
static bool is_left_alone(const struct tf_keep *keep, const struct tf_record *record,
                          const struct tf_buf *key)
{
    if (record->kind != TF_RECORD_SUMMARY)
        return false;
    for (size_t i = 0; i < keep->quarantine.count; i++)
        if (strcmp(keep->quarantine.items[i].key, tf_buf_text(key) + strlen(keep->prefix)) == 0)
            return true;
    return false;
}

/* What a core made and cannot be written is a bug that no retry mends: stopping here keeps the store as it
 * was, and the restart begins from what is durable. */
static void encode(struct tf_keep *keep, const struct tf_record *record)
{
    struct encoded *e = tf_vec_add(&keep->out);
    struct tf_error err = TF_ERROR_INIT;
    tf_buf_str(&e->key, keep->prefix);
    e->gone = record->gone;
    int failed = tf_wire_record_key(record, &e->key, &err);
    if (!failed && !record->gone)
        failed = tf_wire_record_pack(record, &e->value, &err);
    if (!failed && is_left_alone(keep, record, &e->key)) {
        tf_buf_release(&e->key);
        tf_buf_release(&e->value);
        keep->out.count--;
    }
    if (failed) {
        tf_log_error("a record cannot be written kind=%d error=%s", (int)record->kind, err.text);
        abort();
    }
}

void tf_keep_commit(struct tf_keep *keep, const struct tf_record *records, size_t count)
{
    assert(!keep->committing && !keep->loading);
    keep->committing = true;
    for (size_t i = 0; i < count; i++)
        encode(keep, &records[i]);
    send(keep);
}

/* ---- life ---- */

struct tf_keep *tf_keep_create(struct tf_loop *loop, const struct tf_keep_options *options,
                               const struct tf_keep_events *events, void *arg, struct tf_error *err)
{
    struct tf_keep *keep = tf_calloc(1, sizeof *keep);
    keep->loop = loop;
    keep->events = events;
    keep->arg = arg;
    size_t len = strlen(options->prefix);
    bool slash = len > 0 && options->prefix[len - 1] == '/';
    keep->prefix = tf_asprintf("%s%s", options->prefix, slash ? "" : "/");
    const struct tf_guard_options guard = {
        .store = options->store,
        .prefix = keep->prefix,
        .owner_name = options->owner_name,
        .owner_value = options->owner_value,
        .ttl_ms = options->ttl_ms,
        .timeout_ms = options->timeout_ms,
        .accept_rollback = options->accept_rollback,
        .event = on_guard,
        .event_ctx = keep,
    };
    if (!tf_guard_on_loop(&keep->guard, loop, &guard, err)) {
        tf_keep_destroy(keep);
        return NULL;
    }
    tf_guard_acquire(keep->guard.guard);
    return keep;
}

void tf_keep_destroy(struct tf_keep *keep)
{
    if (!keep)
        return;
    if (keep->guard.guard)
        tf_guard_destroy(keep->guard.guard);
    tf_timer_cancel(keep->loop, &keep->retry);
    tf_timer_cancel(keep->loop, &keep->guard.timer);
    out_clear(keep);
    quarantine_clear(keep);
    tf_vec_release(&keep->out);
    tf_vec_release(&keep->quarantine);
    free(keep->prefix);
    free(keep);
}

void tf_keep_release(struct tf_keep *keep)
{
    keep->releasing = true;
    keep->committing = keep->loading = false;
    tf_timer_cancel(keep->loop, &keep->retry);
    out_clear(keep);
    tf_guard_release(keep->guard.guard);
}

struct tf_mono tf_keep_valid_until(const struct tf_keep *keep)
{
    return tf_guard_valid_until(keep->guard.guard);
}

const struct tf_error *tf_keep_trouble(const struct tf_keep *keep)
{
    const struct tf_error *trouble = tf_guard_trouble(keep->guard.guard);
    return trouble->code == TF_OK ? &keep->refusal : trouble;
}

size_t tf_keep_quarantined(const struct tf_keep *keep)
{
    return keep->quarantine.count;
}

const struct tf_quarantined *tf_keep_quarantined_at(const struct tf_keep *keep, size_t index)
{
    assert(index < keep->quarantine.count);
    return &keep->quarantine.items[index];
}
