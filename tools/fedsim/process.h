/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_PROCESS_H
#define TF_FEDSIM_PROCESS_H

#include "common/base/buf.h"
#include "common/base/hash.h"
#include "common/eventlog/recorder.h"
#include "common/model/record.h"
#include "common/store/guard.h"
#include "common/store/memory.h"
#include "tools/fedsim/agenda.h"

/* What fedd and subclusterd have in common: a process that stands by until its guard holds the prefix, then
 * has a core, loaded from the store's bytes, until it is deposed or dies; the same steps as common/keep, in
 * virtual time. */

struct sim_world;

/* A store in memory, and what the auditor has seen of it. */
struct sim_store {
    const char *name; /* "federation", or the subcluster's */
    const char *prefix;
    struct tf_memory_store *server;
    uint64_t transactions; /* when it was looked at last */
    struct sim_seen *seen;
    struct sim_process *writer;       /* who sent the last transaction; it may be gone from there */
    struct tf_memory_snapshot *empty; /* as it began */
    TF_VEC(struct sim_copy) copies;
    uint64_t restores;
};
/* Of all that it held, by the moment for which it was ordered. */
struct sim_copy {
    int64_t moment, revision;
    struct tf_memory_snapshot *snapshot;
};
/* A key as of the last look. */
struct sim_seen {
    char *key;
    int64_t modified_at;
    bool there;
    UT_hash_handle hh;
};

struct sim_process;
struct sim_process_ops {
    void (*held)(struct sim_process *process, struct tf_term term);        /* begin with an empty core */
    void (*record)(struct sim_process *process, struct tf_record *record); /* taken */
    void (*loaded)(struct sim_process *process);
    void (*committed)(struct sim_process *process);
    void (*dropped)(struct sim_process *process); /* deposed, or dead: the core goes */
    void (*timer)(struct sim_process *process);
    void (*continues)(struct sim_process *process);
};

struct sim_encoded {
    struct tf_buf key, value;
    bool gone;
    struct tf_record record; /* what the value says, unless it was given away */
    bool given;
};

struct sim_process {
    struct sim_world *world;
    const struct sim_process_ops *ops;
    char name[24];
    struct sim_store *store;
    const char *owner_name;
    int64_t ttl_ms, skew_ms; /* skew: of its wall clock */
    int64_t drift_ppm;       /* its clocks run so much faster than the world's */
    bool accept_rollback;    /* it is started with that option */
    bool reserve;            /* it is not started with the world */
    bool up;
    bool leaves;     /* its core goes since it hands over */
    uint64_t starts; /* so many times */
    uint64_t life;   /* grows with each start, each end, and each new core */
    struct tf_mono paused_until;
    struct tf_store *client;
    struct tf_guard *guard;
    uint64_t guard_wakes, core_wakes, retries; /* the number of the last wish: earlier ones do not count */
    bool has_core, loaded, committing;
    TF_VEC(struct sim_encoded) out; /* of the transaction that is under way */
    struct tf_recorder *recorder;   /* NULL: it does not record */
    bool crash_armed;
    uint32_t crash_steps; /* then: after so many steps more, between two actions */
    int64_t crash_before; /* which of them; negative = any */
};

void process_init(struct sim_process *process, struct sim_world *world, const struct sim_process_ops *ops);
void process_release(struct sim_process *process);
void process_start(struct sim_process *process);
/* It dies at once: what it has not persisted is lost. Safe anywhere, also inside callbacks. */
void process_crash(struct sim_process *process, const char *why);
/* It gives the prefix up, if it holds it, and stands by again. */
void process_hand_over(struct sim_process *process);
/* It does nothing for so long and hears nothing from its store. */
void process_pause(struct sim_process *process, int64_t ms);
bool process_is_paused(const struct sim_process *process);
struct tf_now process_now(const struct sim_process *process);
/* Its wall clock is set so much further. */
void process_wall_jumps(struct sim_process *process, int64_t ms);
/* Records (taken) become one transaction. */
void process_commit(struct sim_process *process, struct tf_record *records, size_t count);
void process_wake_at(struct sim_process *process, struct tf_mono at);
void process_continue(struct sim_process *process);
/* After how many of the actions of this step the process dies; SIZE_MAX: not in this step. */
size_t process_crash_point(struct sim_process *process, size_t actions);
/* It records its cores, if the world wants that. Once, after it has its name. */
void process_record(struct sim_process *process, const struct tf_core_ops *ops);

/* What the transaction under way writes with exactly these bytes; NULL. Saves who looks at the store from
 * decoding them, in runs that are checked at their end. Given once: it may be changed, and is released here.
 */
struct tf_record *process_written(struct sim_process *process, struct tf_bytes key, struct tf_bytes value);
/* Tells the auditor what the store holds now, if that has changed. */
void store_look(struct sim_world *world, struct sim_store *store);
/* A copy of what it holds now; and a copy comes back: all connections break. */
void store_back_up(struct sim_store *store, int64_t moment);
void store_restore(struct sim_world *world, struct sim_store *store, const struct sim_copy *copy);
const struct sim_copy *store_copy(const struct sim_store *store, int64_t moment); /* NULL: none was made */
/* It is made anew, with nothing in it. */
void store_wipe(struct sim_world *world, struct sim_store *store);
bool store_has(const struct sim_store *store, const char *key); /* as of the last look */
void store_release(struct sim_store *store);

#endif
