/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_STORE_STORE_H
#define TF_STORE_STORE_H

#include "common/base/bytes.h"
#include "common/base/cleanup.h"
#include "common/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An ordered map from bytes to bytes with revisions, compared transactions and leases. Two implementations
 * with one contract (tests/integration/store_contract.c): etcd (etcd.h) and memory with faults (memory.h).
 *
 * Every request is answered exactly once, unless it is cancelled or its store is destroyed, and never from
 * inside the call that made it. A store, its requests and its answers belong to one thread. */
struct tf_store;

enum {
    TF_STORE_OPS_MAX = 128,                          /* writes, compares, reads of a transaction, each */
    TF_STORE_TXN_BYTES_MAX = (1 << 20) + (64 << 10), /* keys and values of a transaction together */
    TF_STORE_KEY_BYTES_MAX = 4096,
    TF_STORE_PAGE_MAX = 5000, /* rows */
};

enum tf_store_kind {
    TF_STORE_GET,         /* key -> one row, or none */
    TF_STORE_PAGE,        /* prefix (key), after, limit, revision -> rows in order of keys, more, revision */
    TF_STORE_TXN,         /* txn */
    TF_STORE_LEASE_GRANT, /* ttl_ms -> lease, ttl_ms */
    TF_STORE_LEASE_KEEPALIVE, /* lease -> ttl_ms */
    TF_STORE_LEASE_REVOKE,    /* lease: its keys go with it */
    TF_STORE_COMPACT,         /* revision: older ones can no longer be read */
    TF_STORE_STATUS,          /* -> status */
    TF_STORE_DISARM,          /* alarm: of a full store that has room again */
    TF_STORE_DEFRAGMENT, /* member: gives back the room of what was compacted; it answers nobody meanwhile */
};

enum tf_store_compare_kind {
    TF_STORE_ABSENT,     /* the key does not exist */
    TF_STORE_CREATED_AT, /* the key exists and was created by revision */
    TF_STORE_VALUE_IS,   /* the key exists and its value is value */
};

struct tf_store_compare {
    enum tf_store_compare_kind kind;
    struct tf_bytes key;
    int64_t revision;
    struct tf_bytes value;
};

struct tf_store_write {
    struct tf_bytes key;
    bool remove; /* value and lease do not matter then; removing what is absent is fine */
    struct tf_bytes value;
    int64_t lease; /* the key goes when this lease ends; 0 = none */
};

/* All writes if all compares hold, else nothing, and the reads come back. A key is written at most once. */
struct tf_store_txn {
    const struct tf_store_compare *compares;
    size_t compare_count;
    const struct tf_store_write *writes;
    size_t write_count;
    const struct tf_bytes *reads;
    size_t read_count;
};

/* Only the fields of its kind count. All bytes are borrowed until tf_store_send returns. */
struct tf_store_request {
    struct tf_store_kept *kept; /* the stores' own: NULL */
    enum tf_store_kind kind;
    int64_t timeout_ms; /* > 0 */
    struct tf_bytes key;
    struct tf_bytes after; /* the last key of the page before; empty = from the start of the prefix */
    size_t limit;          /* 1..TF_STORE_PAGE_MAX */
    int64_t revision;      /* 0 = the present one; the following pages use the one that was answered */
    struct tf_store_txn txn;
    int64_t lease;
    int64_t ttl_ms; /* rounded up to a second; the store may grant more, never less */
    size_t member;  /* from 0; one that there is not is TF_ERR_NOT_FOUND */
    uint64_t alarm; /* of the status */
};

struct tf_store_row {
    struct tf_bytes key, value;
    int64_t created_at; /* revision; 0 = the key does not exist (in the reads of a refused transaction):
                         * then the key is empty, too */
    int64_t modified_at;
    int64_t lease;
};

struct tf_store_status {
    int64_t used_bytes;   /* with what is free inside, which only a defragmentation gives back */
    int64_t in_use_bytes; /* without */
    int64_t quota_bytes;  /* 0 = not known */
    bool full;            /* writes are refused until someone makes room and clears the alarm */
    uint64_t alarm;       /* which then has to be cleared, see TF_STORE_DISARM */
};

/* error.code says what happened:
 *   TF_OK               done
 *   TF_ERR_CONFLICT     a compare did not hold when this request was applied; rows = one for each read, in
 * order TF_ERR_UNAVAILABLE  nothing was done (for a read: there is no answer); try again TF_ERR_UNKNOWN sent,
 * but the answer was lost: it was done, or not, or will be done later TF_ERR_REFUSED      nothing was done:
 * the store is full, or does not allow it TF_ERR_TOO_LARGE    nothing was done: beyond a limit (a page: ask
 * for fewer rows) TF_ERR_NOT_FOUND    nothing was done: no such lease or member; or the revision has been
 * compacted TF_ERR_INVALID      nothing was done: the request breaks a rule of this header A request is
 * applied at most once: TF_ERR_CONFLICT never means "by the first of two copies of it". */
struct tf_store_reply {
    int64_t revision; /* of the store; of a transaction that was done: the one it made */
    const struct tf_store_row *rows;
    size_t count;
    bool more; /* a page: there are rows after the last one */
    int64_t lease;
    int64_t ttl_ms;
    struct tf_store_status status;
    struct tf_error error; /* last: most of it is text that is rarely there */
};

/* reply is borrowed until the call returns. It may send requests, cancel others and destroy the store. */
typedef void (*tf_store_done_f)(void *cookie, const struct tf_store_reply *reply);

/* Returns the id of the request, never 0. */
uint64_t tf_store_send(struct tf_store *store, const struct tf_store_request *request, tf_store_done_f done,
                       void *cookie);
/* Drops the answer; what was asked may be done nevertheless. An id that is answered or 0 is ignored. */
void tf_store_cancel(struct tf_store *store, uint64_t id);
/* Cancels all requests. NULL is fine. */
void tf_store_destroy(struct tf_store *store);
TF_DEFINE_AUTO(tf_store, tf_store_destroy);

#endif
