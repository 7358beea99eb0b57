/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_ENGINE_VIRTUAL_PRIVATE_H
#define TF_ENGINE_VIRTUAL_PRIVATE_H

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/hash.h"
#include "common/base/rng.h"
#include "subcluster/engine/outlet.h"
#include "subcluster/engine/virtual/virtual.h"

#include <sys/types.h>

/* Shared by the files of this folder only. virtual.c is the face and the calls, lives.c what becomes of
 * instances, places.c the nodes, log.c the memory. Moments are ms of CLOCK_BOOTTIME, INT64_MAX = never. */

struct virtual;
struct life;

struct epoch_key {
    struct tf_uid uid;
    uint64_t epoch;
};

struct epoch {
    struct epoch_key key;
    int64_t fence;
    uint64_t peers; /* hash of its peers file; 0: none was given */
    struct life *lives;
    UT_hash_handle hh;
};

struct place {
    struct virtual *v;
    struct tf_node node; /* state: as it was told last */
    bool down, away;
    bool said_down, said_away; /* seen now, not yet taken into account */
    struct life *lives;        /* that have not ended */
    uint64_t held;             /* GPUs of those */
    struct tf_rng rng;
    struct tf_timer foreign; /* when others come or go */
    UT_hash_handle hh;
};

/* An invented instance. */
struct life {
    struct tf_instance_id id;
    struct virtual *v;
    struct epoch *epoch;
    struct life *next, *prev;                 /* of the epoch */
    struct place *place;                      /* NULL: never started, or the node is configured no more */
    struct life *place_next, *place_previous; /* while it has not ended */
    char *tenant, *name, *node_name;          /* NULL: never started */
    char *resize_signal;                      /* NULL: wants none */
    int64_t resize_signals;                   /* so many times it was sent */
    uint64_t gpus;
    enum tf_instance_state state;       /* STARTING, READY, EXITED */
    int64_t ready_at, ends_at, dies_at; /* dies: by a stop */
    int32_t code;                       /* when it ends by itself */
    int32_t signal;                     /* when it dies by a stop */
    enum tf_engine_cause cause;         /* of the exit, as these: */
    int32_t exit_code, exit_signal;
    struct tf_wall at; /* of its start, or of its exit */
    struct tf_engine_port *ports;
    size_t port_count;
    struct tf_timer timer;
    UT_hash_handle hh;
};

struct virtual
{
    struct tf_engine engine; /* first */
    struct tf_virtual_config config;
    struct tf_loop *loop;
    struct outlet *outlet;
    uint64_t owner;
    struct tf_uid memory;
    bool adopted;

    struct place *places, *by_name;
    struct epoch *epochs;
    struct life *lives;
    int inotify;
    struct tf_io signs;

    /* log.c */
    int root, lock, log;
    ino_t inode;         /* of the log that we write; another one there is of a later owner */
    struct tf_buf lines; /* to be written */
    size_t line_count;   /* in the log */
    bool troubled;       /* the last write failed */
    struct tf_timer again;
};

/* ---- virtual.c ---- */
void virtual_trouble(struct virtual *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void virtual_tell(struct virtual *v, const struct tf_engine_event *event);

/* ---- lives.c ---- */
struct life *life_find(const struct virtual *v, const struct tf_instance_id *id);
struct life *life_add(struct virtual *v, const struct tf_instance_id *id);
void life_remove(struct life *life); /* its epoch stays */
void lives_clear(struct virtual *v); /* epochs, too */
struct epoch *life_epoch_find(const struct virtual *v, struct tf_uid uid, uint64_t epoch);
struct epoch *life_epoch_get(struct virtual *v, struct tf_uid uid, uint64_t epoch);
/* Once it has no lives. */
void life_epoch_remove(struct virtual *v, struct epoch *epoch);
/* It is on the node from now on; unknown nodes are fine. */
void life_settle(struct life *life, const char *node, uint64_t gpus);
void life_leave(struct life *life);
/* The peers file of the epoch has become this: those that are ready and want it are signalled. */
void life_peers(struct virtual *v, struct tf_uid uid, uint64_t epoch, const void *bytes, size_t len);
/* Settles what will become of it. */
void life_begin(struct life *life, const struct tf_engine_spec *spec);
/* What is due happens, is logged and told, and the timer is set; within log_begin. */
void life_look(struct life *life);
void life_exit(struct life *life, enum tf_engine_cause cause, int32_t code, int32_t signal);
void life_tell(const struct life *life);

/* ---- places.c ---- */
int places_init(struct virtual *v, struct tf_error *err);
void places_release(struct virtual *v);
struct place *place_find(const struct virtual *v, const char *name);
/* All of them; signs are read and watched from now on, and others come and go. */
void places_tell(struct virtual *v);

/* ---- log.c ---- */
/* Opens the folder; make: makes it, and the memory. *memory as of the marker. */
int log_open(struct virtual *v, bool make, struct tf_error *err);
void log_close(struct virtual *v);
/* Takes the memory over for `owner`, reading it unless it is ours already. TF_ERR_REFUSED: v->owner is a
 * later one; TF_ERR_INVALID: what stands there cannot be read (fresh: then it is put aside and an empty one
 * made). */
int log_take(struct virtual *v, uint64_t owner, bool fresh, struct tf_error *err);
/* Nobody else writes between both. False: a later owner has taken over, which is in v->owner, or the memory
 * is gone, which was told as trouble. */
bool log_begin(struct virtual *v);
void log_end(struct virtual *v);
/* Lines to be written by log_end. */
void log_owner(struct virtual *v);
void log_start(struct virtual *v, const struct life *life);
void log_stop(struct virtual *v, const struct life *life);
void log_exit(struct virtual *v, const struct life *life);
void log_fence(struct virtual *v, const struct epoch *epoch);
void log_peers(struct virtual *v, const struct epoch *epoch);
void log_signals(struct virtual *v, const struct life *life);
void log_forget(struct virtual *v, const struct epoch *epoch);

#endif
