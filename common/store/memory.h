/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_STORE_MEMORY_H
#define TF_STORE_MEMORY_H

#include "common/base/clock.h"
#include "common/store/store.h"

/* A store in memory, for simulations and tests: what etcd does, in a time that its owner advances, with
 * faults. Same seed, same calls: same answers. Reads no clock.
 *
 * Several clients share one server; each stands for a process and its network. A request reaches the server
 * after half of its latency and is applied then; its answer arrives after the other half. A client that is
 * destroyed does not take back what it sent. */
struct tf_memory_store;

#define TF_MEMORY_ASK ((struct tf_mono){INT64_MIN})

struct tf_memory_options {
    uint64_t seed;
    struct tf_mono start;
    /* Whoever has many stores keeps the time for all: borrowed. NULL: the time is what
     * tf_memory_store_advance said last. */
    const struct tf_mono *clock;
    /* Shared by many stores, so that their owner need not ask each when it has something to do: each lowers
     * it when it gets something to do earlier, and sets it to TF_MEMORY_ASK when that may have come later.
     * Who advances a store asks it anew. Borrowed; NULL: nobody wants to know. */
    struct tf_mono *first;
    int64_t quota_bytes;    /* 0 = 2 GiB, as etcd */
    int64_t keep_revisions; /* compacts by itself what is older; 0 = keeps all until it is asked to */
};

struct tf_memory_store *tf_memory_store_create(const struct tf_memory_options *options);
/* After its clients. NULL is fine. */
void tf_memory_store_destroy(struct tf_memory_store *server);
TF_DEFINE_AUTO(tf_memory_store, tf_memory_store_destroy);
/* Owned by the caller; tf_store_destroy. */
struct tf_store *tf_memory_store_client(struct tf_memory_store *server);

/* When something will happen by itself: an answer, a late commit, the end of a lease. TF_NEVER if nothing. */
struct tf_mono tf_memory_store_next(struct tf_memory_store *server);
/* Advances the time to now, doing in order all that is due, callbacks included. Time never goes back. False
 * if nothing was due. */
bool tf_memory_store_advance(struct tf_memory_store *server, struct tf_mono now);

/* ---- faults ---- */

enum tf_memory_fault {
    TF_MEMORY_NO_FAULT,
    TF_MEMORY_UNAVAILABLE,  /* refused before it was sent: not done, and the client knows */
    TF_MEMORY_LOST_REQUEST, /* not done; the client waits for its time-out */
    TF_MEMORY_LOST_REPLY,   /* done in time; the client waits for its time-out */
    TF_MEMORY_LATE,         /* done after the client's time-out */
    TF_MEMORY_FAULTS,
};

/* What happens to requests sent from now on. permille[f] of them meet fault f, drawn from the seed; latency
 * is uniform between its bounds; a late commit comes up to late_max_ms after the time-out. */
struct tf_memory_faults {
    uint32_t permille[TF_MEMORY_FAULTS]; /* of TF_MEMORY_NO_FAULT: ignored */
    int64_t latency_min_ms, latency_max_ms;
    int64_t late_max_ms;
};

void tf_memory_store_faults(struct tf_memory_store *server, const struct tf_memory_faults *faults);
/* The next transaction of this client, after skip others, meets this fault. One at a time. */
void tf_memory_client_fault(struct tf_store *client, enum tf_memory_fault fault, unsigned skip);
/* Cut off: every request sent while it lasts is lost on its way, and so is every answer. */
void tf_memory_client_cut(struct tf_store *client, bool cut);
/* The server is down: connections are refused; what it holds is kept; leases get their full time when it is
 * up again, as in etcd. */
void tf_memory_store_down(struct tf_memory_store *server, bool down);
void tf_memory_store_quota(struct tf_memory_store *server, int64_t quota_bytes);

/* ---- backups ---- */

/* All keys, revisions and leases. */
struct tf_memory_snapshot;
struct tf_memory_snapshot *tf_memory_store_snapshot(const struct tf_memory_store *server);
/* Puts back what the snapshot holds, breaking all connections; leases get their full time, as in a restored
 * etcd. snapshot stays the caller's and may be used again. */
void tf_memory_store_restore(struct tf_memory_store *server, const struct tf_memory_snapshot *snapshot);
void tf_memory_snapshot_destroy(struct tf_memory_snapshot *snapshot); /* NULL is fine */
TF_DEFINE_AUTO(tf_memory_snapshot, tf_memory_snapshot_destroy);

/* ---- looking in from outside ---- */

/* row is borrowed until the call returns. */
typedef void (*tf_memory_look_f)(void *cookie, const struct tf_store_row *row);
/* Gives every key of the prefix as it is now, in order: the truth, without a request, its latency or its
 * faults. */
void tf_memory_store_look(struct tf_memory_store *server, struct tf_bytes prefix, tf_memory_look_f row,
                          void *cookie);

/* Gives only the keys of the prefix that were changed since the last call, in order of their changes, each as
 * it is now: one that is gone with created_at 0 and only its key. False, giving nothing, if all must be
 * looked at instead: the first time, and after a restore. For one who looks. */
bool tf_memory_store_changes(struct tf_memory_store *server, struct tf_bytes prefix, tf_memory_look_f row,
                             void *cookie);

/* What it did so far. */
struct tf_memory_counts {
    uint64_t transactions; /* that wrote something: durable writes */
    uint64_t records;      /* keys written or removed by them */
    uint64_t faults;
};
struct tf_memory_counts tf_memory_store_counts(const struct tf_memory_store *server);

#endif
