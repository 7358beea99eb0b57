/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_STORE_GUARD_IMPL_H
#define TF_STORE_GUARD_IMPL_H

/* The inside of a guard, shared by guard.c (who holds the prefix), guard_commit.c and guard_load.c. */
#include "common/base/rng.h"
#include "common/store/guard.h"
#include "common/store/guard_value.h"
#include "common/store/impl.h"

enum tf_guard_state {
    TF_GUARD_STATE_IDLE,
    TF_GUARD_STATE_STANDBY, /* polls the owner's key */
    TF_GUARD_STATE_GRANT,   /* asks for a lease */
    TF_GUARD_STATE_CREATE,  /* puts the owner's key if it is absent */
    TF_GUARD_STATE_HEAD,    /* reads head */
    TF_GUARD_STATE_HELD,
    TF_GUARD_STATE_RELEASE, /* revokes the lease */
};

/* A thing the guard does over and over until it is done: at most one request at a time, the next try at `at`.
 */
struct tf_guard_task {
    uint64_t request; /* in flight; 0 = none */
    struct tf_mono at;
    unsigned failures; /* in a row */
};

struct tf_guard_commit {
    struct tf_guard_task task;
    const struct tf_store_request *request; /* kept: the same for every try; NULL = no commit */
    struct tf_guard_head head;              /* that it writes */
    struct tf_buf value;                    /* of it */
    bool unknown;                           /* a try is without an answer: it may be done any time */
    tf_guard_commit_f done;
    void *cookie;
};

struct tf_guard_load {
    struct tf_guard_task task;
    bool active, owner_seen, head_seen;
    int64_t revision;
    size_t limit;
    struct tf_buf after;
    tf_guard_row_f row;
    tf_guard_loaded_f done;
    void *cookie;
};

struct tf_guard {
    struct tf_store *store;
    struct tf_buf prefix, owner_key, head_key, owner_bytes;
    int64_t ttl_ms, margin_ms, poll_ms, timeout_ms;
    struct tf_rng rng;
    bool accept_rollback;
    struct tf_guard_host host;
    tf_guard_event_f event;
    void *event_ctx;

    enum tf_guard_state state;
    struct tf_guard_task step, keepalive;
    struct tf_mono keepalive_sent;
    int64_t lease; /* 0 = none */
    int64_t lease_ttl_ms;
    struct tf_mono valid_until;
    struct tf_buf owner_value; /* ours, of this acquisition */
    int64_t owner_revision;
    struct tf_buf holder; /* the other's value while standing by */
    bool holder_told;
    struct tf_guard_head head;
    struct tf_buf head_value; /* as stored; empty = head does not exist */
    struct tf_guard_commit commit;
    struct tf_guard_load load;
    struct tf_error trouble;
    struct tf_error head_trouble; /* why the head that is there does not allow to lead */
    struct tf_mono armed;
    struct tf_guard_situations reached;
    unsigned inside; /* depth of callbacks */
};

struct tf_bytes tf_guard_buf_bytes(const struct tf_buf *buf);
struct tf_mono tf_guard_now(const struct tf_guard *guard);
void tf_guard_send(struct tf_guard *guard, struct tf_guard_task *task, const struct tf_store_request *request,
                   tf_store_done_f done);
/* To be called first with every reply: no request is in flight, trouble is noted or forgotten. */
void tf_guard_replied(struct tf_guard *guard, struct tf_guard_task *task, const struct tf_store_reply *reply);
/* The next try of the task comes after a growing wait. */
void tf_guard_back_off(struct tf_guard *guard, struct tf_guard_task *task);
void tf_guard_task_stop(struct tf_guard *guard, struct tf_guard_task *task);
/* Asks the host for the next wake-up; the last thing of every entry. */
void tf_guard_rearm(struct tf_guard *guard);
/* Not the holder any more: ends what is in flight with TF_ERR_CONFLICT, then tells. */
void tf_guard_depose(struct tf_guard *guard, const char *why);

void tf_guard_commit_try(struct tf_guard *guard);
void tf_guard_commit_end(struct tf_guard *guard, const struct tf_error *error); /* tells, if there is one */
void tf_guard_load_try(struct tf_guard *guard);
void tf_guard_load_end(struct tf_guard *guard, const struct tf_error *error); /* tells, if there is one */

#endif
