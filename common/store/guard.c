/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds the prefix: lease, owner's key, standing by, giving up. Commits are in guard_commit.c, reading
 * the records in guard_load.c.
 *
 *     IDLE -> STANDBY <-> GRANT -> CREATE -> HEAD -> HELD -> IDLE (deposed)
 *                ^_________________|                   any -> RELEASE -> IDLE
 */
#include "common/store/guard.h"

#include "common/store/guard_impl.h"

#include <assert.h>

enum { BACK_OFF_MIN_MS = 20, BACK_OFF_MAX_MS = 1000, FIRST_ERA = 1 };

/* ---- shared with guard_commit.c and guard_load.c ---- */

struct tf_bytes tf_guard_buf_bytes(const struct tf_buf *buf)
{
    return (struct tf_bytes){buf->data, buf->len};
}

struct tf_mono tf_guard_now(const struct tf_guard *guard)
{
    return guard->host.now(guard->host.ctx);
}

static struct tf_mono in_ms(const struct tf_guard *guard, int64_t ms)
{
    return (struct tf_mono){tf_guard_now(guard).ms + ms};
}

void tf_guard_send(struct tf_guard *guard, struct tf_guard_task *task, const struct tf_store_request *request,
                   tf_store_done_f done)
{
    assert(task->request == 0);
    task->at = TF_NEVER;
    task->request = tf_store_send(guard->store, request, done, guard);
}

void tf_guard_replied(struct tf_guard *guard, struct tf_guard_task *task, const struct tf_store_reply *reply)
{
    task->request = 0;
    enum tf_error_code code = reply->error.code;
    bool reached = code == TF_OK || code == TF_ERR_CONFLICT || code == TF_ERR_NOT_FOUND;
    if (!reached)
        guard->trouble = reply->error;
    else if (guard->trouble.code != TF_OK)
        guard->trouble = (struct tf_error)TF_ERROR_INIT;
    if (reached)
        task->failures = 0;
}

void tf_guard_back_off(struct tf_guard *guard, struct tf_guard_task *task)
{
    int64_t wait = BACK_OFF_MIN_MS;
    for (unsigned i = 0; i < task->failures && wait < BACK_OFF_MAX_MS; i++)
        wait *= 2;
    task->failures++;
    task->at = in_ms(guard, wait < BACK_OFF_MAX_MS ? wait : BACK_OFF_MAX_MS);
}

void tf_guard_task_stop(struct tf_guard *guard, struct tf_guard_task *task)
{
    tf_store_cancel(guard->store, task->request);
    *task = (struct tf_guard_task){.at = TF_NEVER};
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void tf_guard_rearm(struct tf_guard *guard)
{
    int64_t at = earlier(earlier(guard->step.at.ms, guard->keepalive.at.ms),
                         earlier(guard->commit.task.at.ms, guard->load.task.at.ms));
    if (at == guard->armed.ms)
        return;
    guard->armed.ms = at;
    guard->host.wake(guard->host.ctx, guard->armed);
}

static void tell(struct tf_guard *guard, const struct tf_guard_event *event)
{
    guard->inside++;
    guard->event(guard->event_ctx, event);
    guard->inside--;
}

/* Forgets everything about holding; the lease is left to run out. */
static void let_go(struct tf_guard *guard)
{
    tf_guard_task_stop(guard, &guard->step);
    tf_guard_task_stop(guard, &guard->keepalive);
    tf_guard_task_stop(guard, &guard->commit.task);
    tf_guard_task_stop(guard, &guard->load.task);
    guard->lease = 0;
    guard->owner_revision = 0;
    guard->valid_until = (struct tf_mono){INT64_MIN};
    guard->holder_told = false;
    guard->head_trouble = (struct tf_error)TF_ERROR_INIT;
    tf_buf_clear(&guard->holder);
    guard->state = TF_GUARD_STATE_IDLE;
}

void tf_guard_depose(struct tf_guard *guard, const char *why)
{
    struct tf_guard_event event = {.kind = TF_GUARD_DEPOSED};
    tf_error_set(&event.error, TF_ERR_CONFLICT, "%s does not hold %s any more: %s",
                 tf_buf_text(&guard->owner_key), tf_buf_text(&guard->prefix), why);
    let_go(guard);
    tf_guard_commit_end(guard, &event.error);
    tf_guard_load_end(guard, &event.error);
    tell(guard, &event);
}

/* ---- keepalive: from the grant of the lease to the end ---- */

static void start_over(struct tf_guard *guard);

static void lease_lost(struct tf_guard *guard)
{
    if (guard->state == TF_GUARD_STATE_HELD) {
        tf_reached(guard, LEASE_ENDED);
        tf_guard_depose(guard, "the store has ended its lease");
    } else
        start_over(guard);
}

/* The store counts the lease from when it handled the request, so no earlier than from when we sent it. */
static void lease_extended(struct tf_guard *guard, struct tf_mono sent, int64_t ttl_ms)
{
    int64_t until = sent.ms + ttl_ms - guard->margin_ms;
    if (until > guard->valid_until.ms)
        guard->valid_until.ms = until;
    guard->lease_ttl_ms = ttl_ms;
    guard->keepalive.at.ms = sent.ms + ttl_ms / 3;
}

static void keepalive_done(void *cookie, const struct tf_store_reply *reply)
{
    struct tf_guard *guard = cookie;
    tf_guard_replied(guard, &guard->keepalive, reply);
    if (reply->error.code == TF_OK)
        lease_extended(guard, guard->keepalive_sent, reply->ttl_ms);
    else if (reply->error.code == TF_ERR_NOT_FOUND)
        lease_lost(guard);
    else
        tf_guard_back_off(guard, &guard->keepalive);
    tf_guard_rearm(guard);
}

static void keepalive_try(struct tf_guard *guard)
{
    guard->keepalive_sent = tf_guard_now(guard);
    struct tf_store_request request = {.kind = TF_STORE_LEASE_KEEPALIVE,
                                       .timeout_ms = earlier(guard->timeout_ms, guard->lease_ttl_ms / 3),
                                       .lease = guard->lease};
    tf_guard_send(guard, &guard->keepalive, &request, keepalive_done);
}

static void ignore_reply(void *cookie, const struct tf_store_reply *reply)
{
    (void)cookie;
    (void)reply; /* the lease runs out by itself if this failed */
}

static void drop_lease(struct tf_guard *guard)
{
    tf_guard_task_stop(guard, &guard->keepalive);
    if (!guard->lease)
        return;
    struct tf_store_request request = {
        .kind = TF_STORE_LEASE_REVOKE, .timeout_ms = guard->timeout_ms, .lease = guard->lease};
    tf_store_send(guard->store, &request, ignore_reply, NULL);
    guard->lease = 0;
}

/* ---- becoming the holder ---- */

static void go(struct tf_guard *guard, enum tf_guard_state state)
{
    guard->state = state;
    guard->step.at = tf_guard_now(guard);
}

static void start_over(struct tf_guard *guard)
{
    let_go(guard);
    go(guard, TF_GUARD_STATE_STANDBY);
}

/* Someone else holds the prefix. */
static void stand_by(struct tf_guard *guard, struct tf_bytes value)
{
    guard->state = TF_GUARD_STATE_STANDBY;
    guard->step.at = in_ms(guard, guard->poll_ms);
    if (guard->holder_told && tf_bytes_eq(tf_guard_buf_bytes(&guard->holder), value))
        return;
    tf_buf_clear(&guard->holder);
    tf_buf_add(&guard->holder, value.data, value.len);
    guard->holder_told = true;
    struct tf_guard_event event = {.kind = TF_GUARD_STANDBY, .holder = tf_guard_owner_value(value)};
    tell(guard, &event);
}

static void poll_done(void *cookie, const struct tf_store_reply *reply)
{
    struct tf_guard *guard = cookie;
    tf_guard_replied(guard, &guard->step, reply);
    if (reply->error.code != TF_OK)
        tf_guard_back_off(guard, &guard->step);
    else if (reply->count)
        stand_by(guard, reply->rows[0].value);
    else
        go(guard, TF_GUARD_STATE_GRANT);
    tf_guard_rearm(guard);
}

static void poll_try(struct tf_guard *guard)
{
    struct tf_store_request request = {
        .kind = TF_STORE_GET, .timeout_ms = guard->timeout_ms, .key = tf_guard_buf_bytes(&guard->owner_key)};
    tf_guard_send(guard, &guard->step, &request, poll_done);
}

static void make_id(struct tf_guard *guard, uint8_t id[TF_GUARD_ID_BYTES])
{
    for (size_t i = 0; i < TF_GUARD_ID_BYTES; i += sizeof(uint64_t)) {
        uint64_t word = tf_rng_next(&guard->rng);
        memcpy(id + i, &word, sizeof word);
    }
}

static void grant_done(void *cookie, const struct tf_store_reply *reply)
{
    struct tf_guard *guard = cookie;
    uint8_t id[TF_GUARD_ID_BYTES];
    tf_guard_replied(guard, &guard->step, reply);
    if (reply->error.code != TF_OK) {
        tf_guard_back_off(guard, &guard->step);
    } else {
        guard->lease = reply->lease;
        lease_extended(guard, guard->keepalive_sent, reply->ttl_ms);
        make_id(guard, id);
        tf_buf_clear(&guard->owner_value);
        tf_guard_owner_format(&guard->owner_value, id, tf_guard_buf_bytes(&guard->owner_bytes));
        go(guard, TF_GUARD_STATE_CREATE);
    }
    tf_guard_rearm(guard);
}

static void grant_try(struct tf_guard *guard)
{
    guard->keepalive_sent = tf_guard_now(guard);
    struct tf_store_request request = {
        .kind = TF_STORE_LEASE_GRANT, .timeout_ms = guard->timeout_ms, .ttl_ms = guard->ttl_ms};
    tf_guard_send(guard, &guard->step, &request, grant_done);
}

static void created(struct tf_guard *guard, int64_t revision)
{
    guard->owner_revision = revision;
    go(guard, TF_GUARD_STATE_HEAD);
}

/* Another key than ours is in the way, or ours: then an earlier try, whose answer was lost, had been applied.
 */
static void create_refused(struct tf_guard *guard, const struct tf_store_row *owner)
{
    if (tf_bytes_eq(owner->value, tf_guard_buf_bytes(&guard->owner_value))) {
        tf_reached(guard, OWNER_FOUND_MADE);
        created(guard, owner->created_at);
        return;
    }
    tf_reached(guard, OWNER_LOST_RACE);
    drop_lease(guard);
    stand_by(guard, owner->value);
}

static void create_done(void *cookie, const struct tf_store_reply *reply)
{
    struct tf_guard *guard = cookie;
    tf_guard_replied(guard, &guard->step, reply);
    if (reply->error.code == TF_OK)
        created(guard, reply->revision);
    else if (reply->error.code == TF_ERR_CONFLICT)
        create_refused(guard, &reply->rows[0]);
    else if (reply->error.code == TF_ERR_NOT_FOUND)
        lease_lost(guard);
    else
        tf_guard_back_off(guard, &guard->step);
    tf_guard_rearm(guard);
}

static void create_try(struct tf_guard *guard)
{
    struct tf_bytes key = tf_guard_buf_bytes(&guard->owner_key);
    struct tf_store_compare absent = {.kind = TF_STORE_ABSENT, .key = key};
    struct tf_store_write put = {
        .key = key, .value = tf_guard_buf_bytes(&guard->owner_value), .lease = guard->lease};
    struct tf_store_request request = {
        .kind = TF_STORE_TXN, .timeout_ms = guard->timeout_ms, .txn = {&absent, 1, &put, 1, &key, 1}};
    tf_guard_send(guard, &guard->step, &request, create_done);
}

static int take_head(struct tf_guard *guard, const struct tf_store_reply *reply, struct tf_error *err)
{
    struct tf_guard_head head = {.era = FIRST_ERA};
    struct tf_bytes value = {NULL, 0};
    if (reply->count) {
        value = reply->rows[0].value;
        if (tf_guard_head_parse(value, &head, err) != 0)
            return tf_error_wrap(err, "cannot lead: key %s of the store", tf_buf_text(&guard->head_key));
    }
    guard->head = head;
    tf_buf_clear(&guard->head_value);
    tf_buf_add(&guard->head_value, value.data, value.len);
    return 0;
}

static void head_done(void *cookie, const struct tf_store_reply *reply)
{
    struct tf_guard *guard = cookie;
    struct tf_guard_event event = {.kind = TF_GUARD_HELD};
    tf_guard_replied(guard, &guard->step, reply);
    guard->head_trouble = (struct tf_error)TF_ERROR_INIT;
    if (reply->error.code != TF_OK || take_head(guard, reply, &guard->head_trouble) != 0) {
        tf_guard_back_off(guard, &guard->step);
    } else {
        guard->state = TF_GUARD_STATE_HELD;
        if (guard->accept_rollback)
            tf_guard_raise_era(guard, 0);
        tell(guard, &event);
    }
    tf_guard_rearm(guard);
}

static void head_try(struct tf_guard *guard)
{
    struct tf_store_request request = {
        .kind = TF_STORE_GET, .timeout_ms = guard->timeout_ms, .key = tf_guard_buf_bytes(&guard->head_key)};
    tf_guard_send(guard, &guard->step, &request, head_done);
}

/* ---- giving up ---- */

static void released(struct tf_guard *guard, const struct tf_error *error)
{
    struct tf_guard_event event = {.kind = TF_GUARD_RELEASED, .error = *error};
    let_go(guard);
    tell(guard, &event);
}

static void revoke_done(void *cookie, const struct tf_store_reply *reply)
{
    struct tf_guard *guard = cookie;
    struct tf_error none = TF_ERROR_INIT;
    tf_guard_replied(guard, &guard->step, reply);
    released(guard, reply->error.code == TF_ERR_NOT_FOUND ? &none : &reply->error);
    tf_guard_rearm(guard);
}

static void revoke_try(struct tf_guard *guard)
{
    struct tf_store_request request = {
        .kind = TF_STORE_LEASE_REVOKE, .timeout_ms = guard->timeout_ms, .lease = guard->lease};
    tf_guard_send(guard, &guard->step, &request, revoke_done);
}

void tf_guard_release(struct tf_guard *guard)
{
    struct tf_error none = TF_ERROR_INIT;
    int64_t lease = guard->lease;
    let_go(guard);
    tf_store_request_drop(TF_STEAL(guard->commit.request));
    guard->load.active = false;
    guard->lease = lease;
    if (lease)
        go(guard, TF_GUARD_STATE_RELEASE);
    else
        released(guard, &none);
    tf_guard_rearm(guard);
}

/* ---- the outside ---- */

void tf_guard_acquire(struct tf_guard *guard)
{
    assert(guard->state == TF_GUARD_STATE_IDLE);
    start_over(guard);
    tf_guard_rearm(guard);
}

static void step_try(struct tf_guard *guard)
{
    switch (guard->state) {
    case TF_GUARD_STATE_IDLE:
    case TF_GUARD_STATE_HELD:
        break;
    case TF_GUARD_STATE_STANDBY:
        poll_try(guard);
        break;
    case TF_GUARD_STATE_GRANT:
        grant_try(guard);
        break;
    case TF_GUARD_STATE_CREATE:
        create_try(guard);
        break;
    case TF_GUARD_STATE_HEAD:
        head_try(guard);
        break;
    case TF_GUARD_STATE_RELEASE:
        revoke_try(guard);
        break;
    }
}

void tf_guard_wake(struct tf_guard *guard)
{
    int64_t now = tf_guard_now(guard).ms;
    guard->armed = TF_NEVER; /* whatever was asked for is asked for again below */
    if (guard->step.at.ms <= now)
        step_try(guard);
    if (guard->keepalive.at.ms <= now)
        keepalive_try(guard);
    if (guard->commit.task.at.ms <= now)
        tf_guard_commit_try(guard);
    if (guard->load.task.at.ms <= now)
        tf_guard_load_try(guard);
    tf_guard_rearm(guard);
}

struct tf_guard *tf_guard_create(const struct tf_guard_options *options)
{
    struct tf_guard *guard = tf_calloc(1, sizeof *guard);
    assert(options->ttl_ms > 0);
    guard->store = options->store;
    tf_buf_str(&guard->prefix, options->prefix);
    tf_buf_fmt(&guard->owner_key, "%s%s", options->prefix, options->owner_name);
    tf_buf_fmt(&guard->head_key, "%shead", options->prefix);
    tf_buf_add(&guard->owner_bytes, options->owner_value.data, options->owner_value.len);
    guard->ttl_ms = options->ttl_ms;
    guard->margin_ms = options->margin_ms ? options->margin_ms : options->ttl_ms / 10;
    guard->poll_ms = options->poll_ms ? options->poll_ms : options->ttl_ms / 5;
    guard->timeout_ms = options->timeout_ms ? options->timeout_ms : options->ttl_ms / 2;
    guard->accept_rollback = options->accept_rollback;
    guard->host = options->host;
    guard->event = options->event;
    guard->event_ctx = options->event_ctx;
    guard->armed = TF_NEVER;
    tf_rng_init(&guard->rng, options->seed);
    let_go(guard);
    return guard;
}

void tf_guard_destroy(struct tf_guard *guard)
{
    if (!guard)
        return;
    assert(guard->inside == 0);
    let_go(guard);
    guard->host.wake(guard->host.ctx, TF_NEVER);
    struct tf_buf *const bufs[] = {&guard->prefix,      &guard->owner_key,    &guard->head_key,
                                   &guard->owner_bytes, &guard->owner_value,  &guard->holder,
                                   &guard->head_value,  &guard->commit.value, &guard->load.after};
    for (size_t i = 0; i < TF_ARRAY_LEN(bufs); i++)
        tf_buf_release(bufs[i]);
    tf_store_request_drop(guard->commit.request);
    free(guard);
}

bool tf_guard_held(const struct tf_guard *guard)
{
    return guard->state == TF_GUARD_STATE_HELD;
}

uint64_t tf_guard_era(const struct tf_guard *guard)
{
    return guard->head.era;
}

int64_t tf_guard_revision(const struct tf_guard *guard)
{
    return guard->owner_revision;
}

uint64_t tf_guard_head(const struct tf_guard *guard)
{
    return guard->head.n;
}

struct tf_mono tf_guard_valid_until(const struct tf_guard *guard)
{
    return guard->valid_until;
}

TF_SITUATIONS_DEFINE(tf_guard, TF_GUARD_SITUATIONS_EXPECTED, TF_GUARD_SITUATIONS_OTHER);

const struct tf_guard_situations *tf_guard_reached(const struct tf_guard *guard)
{
    return &guard->reached;
}

const struct tf_error *tf_guard_trouble(const struct tf_guard *guard)
{
    return guard->trouble.code == TF_OK ? &guard->head_trouble : &guard->trouble;
}
