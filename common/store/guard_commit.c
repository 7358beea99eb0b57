/* SPDX-License-Identifier: Apache-2.0 */
/* One commit of the guard, from its request to the moment its outcome is certain. */
#include "common/store/guard_impl.h"

#include <assert.h>
#include <inttypes.h>

static void verify_try(struct tf_guard *guard);

static int check_writes(const struct tf_guard *guard, const struct tf_store_write *writes, size_t count,
                        struct tf_error *err)
{
    size_t bytes = 0;
    if (count > TF_GUARD_WRITES_MAX)
        return tf_error_set(err, TF_ERR_TOO_LARGE,
                            "a commit has %zu records, at most %d are allowed: split it", count,
                            TF_GUARD_WRITES_MAX);
    for (size_t i = 0; i < count; i++) {
        struct tf_bytes key = writes[i].key;
        if (!tf_bytes_start_with(key, tf_guard_buf_bytes(&guard->prefix)) ||
            tf_bytes_eq(key, tf_guard_buf_bytes(&guard->owner_key)) ||
            tf_bytes_eq(key, tf_guard_buf_bytes(&guard->head_key)) || writes[i].lease)
            return tf_error_set(err, TF_ERR_BUG,
                                "a commit writes outside its prefix, a key of the guard, or "
                                "under a lease");
        bytes += key.len + (writes[i].remove ? 0 : writes[i].value.len);
    }
    if (bytes > TF_GUARD_BYTES_MAX)
        return tf_error_set(err, TF_ERR_TOO_LARGE, "a commit has %zu bytes, at most %d are allowed: split it",
                            bytes, TF_GUARD_BYTES_MAX);
    return 0;
}

static int check_free(const struct tf_guard *guard, struct tf_error *err)
{
    if (guard->state != TF_GUARD_STATE_HELD)
        return tf_error_set(err, TF_ERR_CONFLICT, "%s is not held", tf_buf_text(&guard->prefix));
    if (guard->commit.request || guard->load.active)
        return tf_error_set(err, TF_ERR_BUG, "a commit or a load is in flight");
    return 0;
}

/* The guarded transaction around the writes, kept. */
static const struct tf_store_request *make_request(const struct tf_guard *guard, struct tf_bytes new_head,
                                                   const struct tf_store_write *writes, size_t count,
                                                   struct tf_error *err)
{
    struct tf_bytes head_key = tf_guard_buf_bytes(&guard->head_key);
    struct tf_bytes owner_key = tf_guard_buf_bytes(&guard->owner_key);
    struct tf_store_compare compares[] = {
        {.kind = TF_STORE_CREATED_AT, .key = owner_key, .revision = guard->owner_revision},
        {.kind = guard->head_value.len ? TF_STORE_VALUE_IS : TF_STORE_ABSENT,
         .key = head_key,
         .value = tf_guard_buf_bytes(&guard->head_value)},
    };
    struct tf_store_write all[1 + TF_GUARD_WRITES_MAX]; /* most of it unused */
    all[0] = (struct tf_store_write){.key = head_key, .value = new_head};
    for (size_t i = 0; i < count; i++)
        all[1 + i] = writes[i];
    struct tf_bytes reads[] = {head_key, owner_key};
    struct tf_store_request request = {.kind = TF_STORE_TXN,
                                       .timeout_ms = guard->timeout_ms,
                                       .txn = {compares, 2, all, 1 + count, reads, 2}};
    return tf_store_request_check(&request, err) == 0 ? tf_store_request_keep(&request) : NULL;
}

int tf_guard_commit(struct tf_guard *guard, const struct tf_store_write *writes, size_t count,
                    tf_guard_commit_f done, void *cookie, struct tf_error *err)
{
    struct tf_guard_commit *commit = &guard->commit;
    if (check_free(guard, err) != 0 || check_writes(guard, writes, count, err) != 0)
        return -1;
    commit->head = guard->head;
    commit->head.n++;
    uint64_t words[] = {tf_rng_next(&guard->rng), tf_rng_next(&guard->rng)};
    _Static_assert(sizeof words == TF_GUARD_ID_BYTES, "an id is two words");
    memcpy(commit->head.id, words, sizeof words);
    tf_buf_clear(&commit->value);
    tf_guard_head_format(&commit->value, &commit->head);
    commit->request = make_request(guard, tf_guard_buf_bytes(&commit->value), writes, count, err);
    if (!commit->request)
        return -1;
    commit->unknown = false;
    commit->done = done;
    commit->cookie = cookie;
    tf_guard_commit_try(guard);
    tf_guard_rearm(guard);
    return 0;
}

void tf_guard_commit_end(struct tf_guard *guard, const struct tf_error *error)
{
    struct tf_guard_commit *commit = &guard->commit;
    if (!commit->request)
        return;
    tf_store_request_drop(TF_STEAL(commit->request));
    commit->task = (struct tf_guard_task){.at = TF_NEVER};
    guard->inside++;
    commit->done(commit->cookie, error);
    guard->inside--;
}

static void committed(struct tf_guard *guard)
{
    struct tf_error none = TF_ERROR_INIT;
    guard->head = guard->commit.head;
    guard->accept_rollback = false;
    tf_buf_clear(&guard->head_value);
    tf_buf_add(&guard->head_value, guard->commit.value.data, guard->commit.value.len);
    tf_guard_commit_end(guard, &none);
}

/* Head and owner at the moment of the refusal: ours is in head (an earlier try was applied), or we are
 * deposed. The third case, both as we compared them, cannot be; whatever caused it, the state is not to be
 * trusted. */
static void commit_refused(struct tf_guard *guard, const struct tf_store_row *head,
                           const struct tf_store_row *owner)
{
    bool ours = owner->created_at == guard->owner_revision;
    if (tf_bytes_eq(head->value, tf_guard_buf_bytes(&guard->commit.value))) {
        tf_reached(guard, COMMIT_FOUND_DONE);
        committed(guard);
        if (!ours && guard->state == TF_GUARD_STATE_HELD)
            tf_guard_depose(guard, "its key is gone or another's");
    } else if (!ours) {
        tf_reached(guard, COMMIT_DEPOSED);
        tf_guard_depose(guard, "its key is gone or another's");
    } else {
        tf_reached(guard, COMMIT_FOREIGN_HEAD);
        tf_guard_depose(guard, "head was changed by someone who does not hold the prefix: does anything else "
                               "write there, or was the store restored?");
    }
}

static void commit_done(void *cookie, const struct tf_store_reply *reply)
{
    struct tf_guard *guard = cookie;
    struct tf_guard_commit *commit = &guard->commit;
    tf_guard_replied(guard, &commit->task, reply);
    switch (reply->error.code) {
    case TF_OK:
        committed(guard);
        break;
    case TF_ERR_CONFLICT:
        commit_refused(guard, &reply->rows[0], &reply->rows[1]);
        break;
    case TF_ERR_UNKNOWN:
        commit->unknown = true;
        tf_reached(guard, COMMIT_UNKNOWN);
        tf_guard_back_off(guard, &commit->task);
        break;
    case TF_ERR_UNAVAILABLE:
        tf_guard_back_off(guard, &commit->task);
        break;
    default: /* this try was not done, but one before it may be */
        if (commit->unknown)
            verify_try(guard);
        else
            tf_guard_commit_end(guard, &reply->error);
    }
    tf_guard_rearm(guard);
}

void tf_guard_commit_try(struct tf_guard *guard)
{
    tf_guard_send(guard, &guard->commit.task, guard->commit.request, commit_done);
}

/* A full store refuses the copy of a commit that may have been applied before. A head that shows its id ends
 * the doubt; one that does not proves nothing, and the copy is sent again. */
static void verify_done(void *cookie, const struct tf_store_reply *reply)
{
    struct tf_guard *guard = cookie;
    unsigned failures = guard->commit.task.failures;
    tf_guard_replied(guard, &guard->commit.task, reply);
    if (reply->error.code == TF_OK && reply->count &&
        tf_bytes_eq(reply->rows[0].value, tf_guard_buf_bytes(&guard->commit.value))) {
        committed(guard);
    } else {
        guard->commit.task.failures = failures; /* the commit itself still fails */
        tf_guard_back_off(guard, &guard->commit.task);
    }
    tf_guard_rearm(guard);
}

static void verify_try(struct tf_guard *guard)
{
    struct tf_store_request request = {
        .kind = TF_STORE_GET, .timeout_ms = guard->timeout_ms, .key = tf_guard_buf_bytes(&guard->head_key)};
    tf_guard_send(guard, &guard->commit.task, &request, verify_done);
}

void tf_guard_raise_era(struct tf_guard *guard, uint64_t at_least)
{
    assert(guard->state == TF_GUARD_STATE_HELD && !guard->commit.request);
    guard->head.era = guard->head.era + 1 > at_least ? guard->head.era + 1 : at_least;
}
