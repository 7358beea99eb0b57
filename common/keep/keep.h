/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_KEEP_KEEP_H
#define TF_KEEP_KEEP_H

#include "common/loop/loop.h"
#include "common/model/record.h"
#include "common/store/store.h"

/* The records of one prefix, as a daemon keeps them: the guard (common/store) that makes it their only
 * writer, and the codec (common/wire) between records and bytes, joined. Both daemons use it: fedd with the
 * key "leader", subclusterd with "owner".
 *
 * It stands by until it holds the prefix, hands over every record, then commits what the core says, one
 * transaction at a time, until it is deposed; then it stands by again. A record that cannot be decoded is
 * quarantined: left in the store as it is, named loudly, and never overwritten; the rest goes on. */
struct tf_keep;

struct tf_keep_events {
    /* Someone else holds the prefix; holder is its owner_value. Again when that changes. */
    void (*standby)(void *arg, struct tf_bytes holder);
    /* We hold it, as of this term; the records follow. */
    void (*held)(void *arg, struct tf_term term);
    /* One record, taken by the callee. */
    void (*record)(void *arg, struct tf_record *record);
    void (*loaded)(void *arg);
    /* The transaction of the last tf_keep_commit is durable: so many bytes of keys and values. */
    void (*committed)(void *arg, size_t bytes);
    /* We no longer hold it: drop all state. Standing by has begun again. */
    void (*deposed)(void *arg, const struct tf_error *why);
    /* After tf_keep_release. */
    void (*released)(void *arg);
};

struct tf_keep_options {
    struct tf_store *store; /* borrowed until the keep is destroyed */
    const char *prefix;     /* "/tidefed/v1": all else is copied */
    const char *owner_name; /* "leader", "owner" */
    struct tf_bytes owner_value;
    int64_t ttl_ms;
    int64_t timeout_ms;   /* of one request to the store; 0 = half the ttl */
    bool accept_rollback; /* raise the era, once */
};

struct tf_keep *tf_keep_create(struct tf_loop *loop, const struct tf_keep_options *options,
                               const struct tf_keep_events *events, void *arg, struct tf_error *err);
void tf_keep_destroy(struct tf_keep *keep); /* the lease runs out by itself; NULL is fine */

/* Gives the prefix up at once, so that a standby takes over without waiting for the lease. */
void tf_keep_release(struct tf_keep *keep);

/* records (borrowed until it returns, may be NULL when count is 0) become one transaction; none proves that
 * we still hold the prefix. One at a time, after loaded. A store that is full or away is retried for as long
 * as it takes. */
void tf_keep_commit(struct tf_keep *keep, const struct tf_record *records, size_t count);

/* Until when, by our own clock, nobody else can hold the prefix. */
struct tf_mono tf_keep_valid_until(const struct tf_keep *keep);
/* The last failure to reach the store, or why it refuses a transaction that is tried again; code TF_OK if
 * there is neither. Borrowed. */
const struct tf_error *tf_keep_trouble(const struct tf_keep *keep);

struct tf_quarantined {
    char *key, *why;
};
size_t tf_keep_quarantined(const struct tf_keep *keep);
const struct tf_quarantined *tf_keep_quarantined_at(const struct tf_keep *keep, size_t index);

#endif
