/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_ENGINE_WORKER_H
#define TF_ENGINE_WORKER_H

#include "common/base/hash.h"
#include "subcluster/engine/process.h"
#include "subcluster/engine/state/folder.h"
#include "subcluster/engine/state/status.h"

/* The thread of the process engine. It owns everything below; calls reach it as commands, events leave it
 * through tell. process.c is the face, worker.c the loop, calls.c the calls, instances.c what the folders
 * say, helpers.c the shim processes, nodes.c the nodes. */

enum command_kind {
    COMMAND_INITIALISE,
    COMMAND_ADOPT,
    COMMAND_START,
    COMMAND_STOP,
    COMMAND_FORGET,
    COMMAND_PEERS,
    COMMAND_FENCE
};

/* A call on its way; owns what it points at. */
struct command {
    enum command_kind kind;
    uint64_t owner;
    struct tf_engine_spec spec; /* START */
    struct tf_instance_id id;   /* STOP; FORGET, PEERS, FENCE: uid and epoch */
    int64_t stop_delay, grace;  /* STOP */
    int64_t deadline;           /* FENCE */
    char *bytes;                /* PEERS */
    size_t len;
    struct command *next;
};
void command_free(struct command *command);

/* What the next helper of an instance is for; a higher one replaces a lower. */
enum errand { ERRAND_NONE, ERRAND_RUN, ERRAND_END, ERRAND_KILL };

struct epoch_key {
    struct tf_uid uid;
    uint64_t epoch;
};

struct instance;

/* The instances of a job's epoch here. */
struct epoch {
    struct epoch_key key;
    struct instance *first;
    UT_hash_handle hh;
};

struct instance {
    struct tf_instance_id id;
    struct epoch *epoch;
    struct instance *next, *previous; /* of the epoch */
    int watch;                        /* inotify; -1 = none could be had: looked at again and again */
    UT_hash_handle hh, by_watch;

    bool has_spec;
    char *tenant, *name;
    int node; /* index, -1 = unknown */
    char *node_name;
    uint64_t gpus;
    bool probes;       /* has a readiness probe */
    bool wants_signal; /* its command is told of a new peers file */

    enum tf_instance_state told; /* 0 = nothing yet */
    bool exited;
    bool began; /* the shim's record was seen; these are its: */
    pid_t pid;
    uint64_t ticks;
    struct tf_wall began_at;
    struct tf_engine_port ports[TF_ENGINE_PORTS_MAX];
    size_t port_count;

    bool stopping, node_lost, forgetting;
    bool adopting;             /* found by adopt and not yet understood */
    int64_t settle_by;         /* then a start of an earlier owner that does not get on is killed */
    bool counted;              /* among the node's */
    bool shim_closed;          /* its shim has been seen to end */
    int tries;                 /* of the launcher */
    enum errand errand, again; /* the next one; the one for when it is due */
    bool queued, busy;         /* waits for a helper; has one */
    struct instance *queue_next, *queue_previous; /* of the errands */
    int64_t due;      /* ms of CLOCK_BOOTTIME when it is to be looked at; INT64_MAX */
    int64_t stuck_at; /* likewise: then it is killed by other means */
    bool timed;
    struct instance *timed_next, *timed_previous;
};

/* A shim process that was asked for something and will exit soon. */
struct helper {
    pid_t pid; /* 0 = free */
    int pidfd, text;
    enum errand errand;
    struct instance *instance;
};
enum { HELPERS = 16 };

struct node {
    struct tf_node node;  /* state: as it was told last */
    bool down, said_down; /* by a file in the folder down: taken into account; seen now */
    int alive, dying;     /* instances on it that have not ended; of those, killed with the node */
};

struct worker {
    struct tf_process_config config;
    void (*tell)(void *context, const struct tf_engine_event *event); /* copies */
    void *context;

    int root; /* -1 = not open */
    uint64_t owner;
    struct tf_uid memory;
    bool adopted, listing;
    struct epoch *epochs;
    struct instance *instances, *watches; /* by id; by watch */
    struct instance *queue, *timed;
    struct helper helpers[HELPERS];
    struct node *nodes;
    int epoll, inotify, timer, wake;
    int down_watch;
};

/* ---- worker.c ---- */
int worker_open(struct worker *w, struct tf_error *err); /* worker_close comes after it in any case */
void worker_close(struct worker *w);
/* Until take gives NULL and quit is set. take hands out the next command (owned), or NULL. */
void worker_run(struct worker *w, struct command *(*take)(void *context, bool *quit));
void worker_trouble(struct worker *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int worker_watch_fd(struct worker *w, int fd);

/* ---- calls.c ---- */
void worker_call(struct worker *w, struct command *command);
/* LISTED, once nothing that was found is still being judged. */
void worker_listing_check(struct worker *w);

/* ---- instances.c ---- */
struct instance *instance_find(struct worker *w, const struct tf_instance_id *id);
struct epoch *epoch_find(struct worker *w, struct tf_uid uid, uint64_t epoch);
/* Into the table, watched; the folder is made if `create`. NULL with *err. */
struct instance *instance_add(struct worker *w, const struct tf_instance_id *id, bool create,
                              struct tf_error *err);
void instance_remove(struct worker *w, struct instance *i);
/* Reads what the folder says, tells what is new, and sees to what must be done. */
void instance_look(struct worker *w, struct instance *i);
/* As instance_tell, for one found by adopt: a start of an earlier owner is waited for. */
void instance_settle(struct worker *w, struct instance *i);
void instance_learn(struct worker *w, struct instance *i, const struct tf_engine_spec *spec);
/* Tells its present state (again). */
void instance_tell(struct worker *w, struct instance *i);
void instance_refuse(struct worker *w, const struct tf_instance_id *id, enum tf_engine_refusal why,
                     const char *text);
void instance_stop(struct worker *w, struct instance *i, const struct tf_stop_request *request);
void instance_poke(struct instance *i);
/* Removes its folder; false = it has not ended. */
bool instance_erase(struct worker *w, struct instance *i);
/* Removes and tells it, now or as soon as its shim is gone. May free it. */
void instance_forget(struct worker *w, struct instance *i);
void epoch_clean(struct worker *w, struct tf_uid uid, uint64_t epoch);
void instance_due(struct worker *w, struct instance *i, int64_t due);
void instances_tick(struct worker *w, int64_t now);
int64_t instances_next(const struct worker *w);

/* ---- helpers.c ---- */
void errand_add(struct worker *w, struct instance *i, enum errand errand);
void errands_pump(struct worker *w);
/* A descriptor of epoll is a helper's: it has ended. */
bool helper_ended(struct worker *w, int pidfd);
void helpers_close(struct worker *w);
/* instances.c: what came of it; text is what it said. */
void instance_returned(struct worker *w, struct instance *i, enum errand errand, int status,
                       const char *text);

/* ---- nodes.c ---- */
void nodes_init(struct worker *w);
void nodes_release(struct worker *w);
int node_find(const struct worker *w, const char *name);
void nodes_read_down(struct worker *w);
void node_judge(struct worker *w, struct node *n); /* tells its state if it has changed */
void nodes_tell(struct worker *w);

#endif
