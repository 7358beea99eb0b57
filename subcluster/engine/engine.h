/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_ENGINE_ENGINE_H
#define TF_ENGINE_ENGINE_H

#include "common/base/clock.h"
#include "common/model/id.h"
#include "common/model/job.h"
#include "common/model/node.h"

/* What really runs instances in a subcluster. A struct of functions; all of them return at once, and what
 * comes of a call is told by events, one callback at a time, in the thread that the maker of the engine chose
 * (the loop thread). Calls and events have one order each: an event tells of the world after the calls before
 * it only if it answers one of them.
 *
 * Every call carries the owner's revision. The engine stores the highest it has seen and answers a lower one
 * with TF_ENGINE_STALE, doing nothing: the caller has been deposed.
 *
 * All calls are idempotent: after a crash the new daemon adopts, then repeats what its store says. */
struct tf_engine;

struct tf_engine_caps {
    bool names_gpus;   /* starts on the very GPUs that it was told; else indices are learned from RUNNING */
    bool freezes;      /* can freeze and thaw */
    bool fences;       /* holds a fence deadline itself, whatever becomes of the daemon */
    bool placeholders; /* reservations exist in the engine too */
    bool migrates;     /* moves a running instance by itself */
};

/* What to start. */
struct tf_engine_spec {
    struct tf_instance_id id;
    char *tenant, *name; /* of the job */
    char *node;
    uint64_t gpus; /* set of indices on the node */
    uint32_t rank, size;
    struct tf_shape shape;
    char *image; /* may be NULL */
    struct tf_strs command;
    struct tf_pairs env;
    struct tf_strs ports; /* names */
    struct tf_ready_probe ready;
    int64_t grace;       /* ms between the polite and the forced stop, when nobody says otherwise */
    char *resize_signal; /* "SIGUSR1": sent to the command when its peers file changes; NULL = none */
};
void tf_engine_spec_release(struct tf_engine_spec *spec); /* frees what it owns and zeroes it; NULL is fine */
void tf_engine_spec_copy(struct tf_engine_spec *to, const struct tf_engine_spec *from);

struct tf_engine_port {
    char name[TF_NAME_MAX + 1];
    uint16_t port; /* on the node's address */
};
enum { TF_ENGINE_PORTS_MAX = 16 };

/* Why an instance ended. */
enum tf_engine_cause {
    TF_CAUSE_NONE,
    TF_CAUSE_ENDED,         /* by itself: code or signal */
    TF_CAUSE_STOPPED,       /* asked to */
    TF_CAUSE_FENCED,        /* its fence deadline passed */
    TF_CAUSE_NOT_READY,     /* its probe never succeeded within the time-out: a failure */
    TF_CAUSE_CANNOT_START,  /* no such command, or not executable: a failure; code 127 or 126 */
    TF_CAUSE_NEVER_STARTED, /* stopped before it ever ran; a start that comes late is refused */
    TF_CAUSE_NODE_LOST,     /* with its node: a loss */
    TF_CAUSE_SHIM_DIED,     /* what watched over it was killed; what was left was killed too: a loss */
    TF_CAUSE_REBOOTED,      /* the machine was restarted: a loss */
};
const char *tf_engine_cause_name(enum tf_engine_cause cause); /* "ended", "never-started" */
int tf_engine_cause_parse(const char *word);                  /* -1 = unknown */

enum tf_instance_state {
    TF_INSTANCE_STARTING = 1, /* its start is under way */
    TF_INSTANCE_RUNNING,      /* ports are known */
    TF_INSTANCE_READY,        /* its probe succeeded, or it has none; told once */
    TF_INSTANCE_STUCK,   /* it should be dead by now and is not: its GPUs cannot be used; told once a stop */
    TF_INSTANCE_EXITED,  /* final: nothing of it runs; stays until forget */
    TF_INSTANCE_REFUSED, /* this start was refused and changed nothing: see refusal and text */
    TF_INSTANCE_GONE,    /* forgotten, or there never was one */
};

enum tf_engine_refusal {
    TF_REFUSED_NONE,
    TF_REFUSED_NODE,      /* start: no such node, no such GPUs there, or the node is lost */
    TF_REFUSED_POLICY,    /* start: root, or a bound: asking again is of no use */
    TF_REFUSED_RESOURCES, /* start: out of disk, descriptors, ports, processes: asking again may help */
    TF_REFUSED_RUNNING,   /* forget: it has not ended */
};

enum tf_engine_event_type {
    TF_ENGINE_NODE = 1,   /* node: new, or changed */
    TF_ENGINE_INSTANCE,   /* id and instance */
    TF_ENGINE_CHECKPOINT, /* id: it tells of a finished checkpoint; at */
    TF_ENGINE_LISTED,     /* all that is known has been told; answers adopt */
    TF_ENGINE_UNKNOWN, /* the engine's memory is gone or was never made: nothing may be concluded from it */
    TF_ENGINE_STALE,   /* a call's owner revision was lower than `owner` */
    TF_ENGINE_TROUBLE, /* something that an operator should know; text */
};

/* Borrowed by the callback. */
struct tf_engine_event {
    enum tf_engine_event_type type;
    const struct tf_node *node; /* NODE */
    struct tf_instance_id id;   /* INSTANCE, CHECKPOINT */
    enum tf_instance_state state;
    enum tf_engine_refusal refusal;
    enum tf_engine_cause cause; /* EXITED */
    int exit_code;              /* EXITED: -1 if it ended by a signal or never ran */
    int exit_signal;            /* EXITED: 0 if none */
    struct tf_wall at;          /* INSTANCE: of the state; CHECKPOINT */
    const struct tf_engine_port *ports;
    size_t port_count;         /* RUNNING, READY */
    const char *tenant, *name; /* INSTANCE, where known, else NULL: of its job */
    const char *node_name;     /* INSTANCE, where known: where it runs or ran */
    uint64_t gpus;             /* likewise */
    const char *text;          /* EXITED: last output lines; REFUSED, TROUBLE: why and what to do; else "" */
    struct tf_uid memory;      /* LISTED: identity of the engine's memory, made by initialise */
    uint64_t owner;            /* STALE: the highest seen */
};
typedef void (*tf_engine_event_f)(void *context, const struct tf_engine_event *event);

enum tf_engine_stop_why { TF_STOP_ASKED, TF_STOP_NODE_LOST };

struct tf_engine {
    const char *name; /* "process" */
    struct tf_engine_caps caps;

    /* Ends the engine, never an instance. No event comes after it returns. */
    void (*destroy)(struct tf_engine *engine);
    /* Makes the engine's memory where there is none. Called by the daemon only when its own store says that
     * nothing was ever promised here; else the loss of the memory would look like an empty engine. Answer:
     * LISTED, as adopt. */
    void (*initialise)(struct tf_engine *engine, uint64_t owner);
    /* Tell all nodes and all instances, then LISTED; or UNKNOWN. Before it, no event comes by itself. */
    void (*adopt)(struct tf_engine *engine, uint64_t owner);
    /* spec is borrowed for the call. Answer: STARTING, RUNNING, READY, EXITED as they come. One that runs, or
     * has ended, is not started again: its present state is told. REFUSED: it did not and will not run. */
    void (*start)(struct tf_engine *engine, uint64_t owner, const struct tf_engine_spec *spec);
    /* Wait stop_delay, ask politely, wait grace, kill (ms). A second stop can only hasten. One that never
     * ran: its exit is recorded, so that a start that arrives late is refused. Answer: EXITED, also if it had
     * ended. */
    void (*stop)(struct tf_engine *engine, uint64_t owner, const struct tf_instance_id *id,
                 int64_t stop_delay, int64_t grace);
    /* Drop what is kept of the epoch here, its exit records and output too; only after the leader has stored
     * its end: from then on nothing here refuses its attempts. Answer: GONE for each instance, or REFUSED
     * (RUNNING) for one that has not ended, which is then kept. */
    void (*forget)(struct tf_engine *engine, uint64_t owner, struct tf_uid uid, uint64_t epoch);
    /* The peers file of the epoch on this engine becomes these bytes, for all its instances at once. */
    void (*peers)(struct tf_engine *engine, uint64_t owner, struct tf_uid uid, uint64_t epoch,
                  const void *bytes, size_t len);
    /* The fence of the epoch here becomes `deadline`, ms of CLOCK_BOOTTIME: then its instances stop by
     * themselves. 0 = no deadline, as without this call. To be set before the first start. */
    void (*fence)(struct tf_engine *engine, uint64_t owner, struct tf_uid uid, uint64_t epoch,
                  int64_t deadline);
};

#endif
