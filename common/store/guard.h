/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_STORE_GUARD_H
#define TF_STORE_GUARD_H

#include "common/base/clock.h"
#include "common/store/situations.h"
#include "common/store/store.h"

/* The one writer of a prefix.
 *
 * <prefix><owner name> is put-if-absent under a lease: who made it holds the prefix, and the revision that
 * made it, with the era, is the term. <prefix>head counts the transactions. Each commit compares the revision
 * that made the owner's key and the whole value of head last written or read, and puts head + 1 with a fresh
 * random id. So:
 *  - once we made the owner's key no commit of a predecessor can be applied any more, however late it
 * arrives: its key is gone, ours was made by another revision. What is read after that (head, the records)
 * stays as it is until our own first commit;
 *  - a commit whose answer was lost is sent again, the same bytes, until it is done or head shows its id. A
 * read that does not show it proves nothing (the first copy may still come) and is never used so.
 *
 * The guard reads no clock and has no thread: it runs in a daemon (guard_loop.h) and in virtual time alike.
 * Callbacks may call any function of the guard but tf_guard_destroy. */
struct tf_guard;

enum {
    TF_GUARD_WRITES_MAX = 120,
    TF_GUARD_BYTES_MAX = (1 << 20) + (32 << 10), /* keys and values of a commit together: a mebibyte of
                                                  * records, and their prefixes */
};

/* What the guard asks of its surroundings. */
struct tf_guard_host {
    struct tf_mono (*now)(void *ctx);
    /* Call tf_guard_wake at or after `at`; replaces what was asked before. TF_NEVER: no more. */
    void (*wake)(void *ctx, struct tf_mono at);
    void *ctx;
};

enum tf_guard_event_kind {
    TF_GUARD_STANDBY, /* someone else holds the prefix; also when that changes */
    TF_GUARD_HELD,    /* we do: load, then commit */
    TF_GUARD_DEPOSED, /* not any more: drop the state; tf_guard_acquire starts over */
    TF_GUARD_RELEASED /* answer to tf_guard_release; error is set if the lease has to run out by itself */
};

struct tf_guard_event {
    enum tf_guard_event_kind kind;
    struct tf_error error;  /* why */
    struct tf_bytes holder; /* STANDBY: the holder's owner_value, borrowed until the call returns */
};

typedef void (*tf_guard_event_f)(void *ctx, const struct tf_guard_event *event);

struct tf_guard_options {
    struct tf_store *store;      /* borrowed until the guard is destroyed */
    const char *prefix;          /* "/tidefed/v1/" */
    const char *owner_name;      /* "leader" or "owner" */
    struct tf_bytes owner_value; /* what others learn of the holder, for example its address; up to 4 KiB */
    int64_t ttl_ms;              /* of the lease */
    int64_t margin_ms;           /* the lease counts as held so much shorter; 0 = ttl / 10 */
    int64_t poll_ms;             /* of a standby; 0 = ttl / 5 */
    int64_t timeout_ms;          /* of a request; 0 = ttl / 2 */
    uint64_t seed;               /* of the random ids: from the kernel in a daemon, never the same twice */
    bool accept_rollback;        /* raise the era, once */
    struct tf_guard_host host;
    tf_guard_event_f event;
    void *event_ctx;
};

/* Strings and bytes are copied. */
struct tf_guard *tf_guard_create(const struct tf_guard_options *options);
/* Tells nobody: the lease runs out by itself, what is in flight may still be done. NULL is fine. */
void tf_guard_destroy(struct tf_guard *guard);
TF_DEFINE_AUTO(tf_guard, tf_guard_destroy);

/* Tries to become the holder, standing by as long as it takes. When idle, deposed or released. */
void tf_guard_acquire(struct tf_guard *guard);
/* Gives the prefix up at once, so that another can take it. A commit or load in flight is dropped untold. */
void tf_guard_release(struct tf_guard *guard);
/* Does what is due. Too early or too often is harmless. */
void tf_guard_wake(struct tf_guard *guard);

bool tf_guard_held(const struct tf_guard *guard);
/* While held: era and revision of the term, number of the last transaction (0: nothing was ever committed). A
 * raised era is durable, and may be told to others, after the next commit. */
uint64_t tf_guard_era(const struct tf_guard *guard);
int64_t tf_guard_revision(const struct tf_guard *guard);
uint64_t tf_guard_head(const struct tf_guard *guard);
/* Until when, by our own clock, nobody else can hold the prefix: what must not be done by two (starting,
 * echoing a fence) is done before it only. A commit proves the same for the moment it was applied. */
struct tf_mono tf_guard_valid_until(const struct tf_guard *guard);
/* What was reached since it was made. Borrowed. */
const struct tf_guard_situations *tf_guard_reached(const struct tf_guard *guard);
/* The last failure to reach the store, code TF_OK if the last request went through. Borrowed. */
const struct tf_error *tf_guard_trouble(const struct tf_guard *guard);

/* error: TF_OK committed; TF_ERR_CONFLICT deposed (TF_GUARD_DEPOSED follows): the outcome is what the next
 * holder reads; TF_ERR_REFUSED, TF_ERR_TOO_LARGE, TF_ERR_INVALID certainly not done, and still held.
 * Borrowed. */
typedef void (*tf_guard_commit_f)(void *cookie, const struct tf_error *error);

/* One transaction at a time; none while loading. writes, without leases and not of the guard's own keys, are
 * borrowed until it returns; none at all is fine and proves that we still hold the prefix. -1, with nothing
 * done, if not held, busy, or too large (TF_ERR_TOO_LARGE: split it). */
int tf_guard_commit(struct tf_guard *guard, const struct tf_store_write *writes, size_t count,
                    tf_guard_commit_f done, void *cookie, struct tf_error *err);
/* The next commit makes the era at least this one and greater than before. While held and nothing is in
 * flight. */
void tf_guard_raise_era(struct tf_guard *guard, uint64_t at_least);

/* row is borrowed until the call returns. */
typedef void (*tf_guard_row_f)(void *cookie, const struct tf_store_row *row);
/* error: TF_OK: all rows were given, as of the revision; TF_ERR_CONFLICT: deposed; TF_ERR_NOT_FOUND: someone
 * compacted the store meanwhile: drop what was given and load again; others: the store refuses. */
typedef void (*tf_guard_loaded_f)(void *cookie, const struct tf_error *error, int64_t revision);

/* Gives every record under the prefix but the guard's own, in order of keys, as of one revision, which has
 * been checked to show our owner's key and the head we know. While held; one at a time, none while
 * committing. */
int tf_guard_load(struct tf_guard *guard, tf_guard_row_f row, tf_guard_loaded_f done, void *cookie,
                  struct tf_error *err);

#endif
