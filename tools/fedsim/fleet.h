/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_FLEET_H
#define TF_FEDSIM_FLEET_H

#include "common/base/hash.h"
#include "common/model/resource.h"
#include "subcluster/core/sub.h"
#include "tools/fedsim/agenda.h"

/* The nodes and instances of one subcluster, with the rules of a real engine: they outlive every daemon, a
 * start is refused a second time and after an exit record, a stop of what never started leaves one, calls of
 * a deposed owner do nothing. What it does is the truth that the auditor hears. */

struct sim_world;
struct sim_site;
struct sim_subd;

/* How the instances of a job behave. Times are drawn anew for each attempt, from a seed that is the job's. */
struct sim_nature {
    uint64_t seed;
    int64_t start_min, start_max; /* ms until ready */
    int64_t stop_min, stop_max;   /* ms from the polite stop to the end; beyond grace it is killed */
    int64_t run_min, run_max;     /* ms from ready to the end; 0 = for ever */
    int64_t checkpoint_every;     /* ms from ready, and from each checkpoint to the next; 0 = never */
    uint32_t fail, fail_early;    /* permille of attempts: end with a code; before they are ready */
    uint32_t never_ready;         /* permille */
    uint32_t deaf;                /* permille: ignores the polite stop */
    uint32_t engine_refuses;      /* permille of starts */
};

enum { SIM_STOP_MS = 500 }; /* of jobs that do not say how long they take to stop, at most */

enum sim_instance_state {
    SIM_STARTING = 1,
    SIM_READY,
    SIM_EXITED,
    SIM_LOST,   /* with its node */
    SIM_ABSENT, /* stopped before it ever ran */
};

struct sim_instance {
    struct tf_instance_id id;
    enum sim_instance_state state;
    char *tenant, *name, *node;
    uint64_t gpus;
    struct tf_vector need;
    int32_t exit_code;
    bool ready;   /* it was, once */
    bool stopped; /* told to: its code says nothing */
    bool deaf;
    struct tf_mono dies; /* by stop; TF_NEVER: not told to */
    uint64_t number;     /* names it in the agenda */
    size_t at;           /* in the fleet's list */
    UT_hash_handle hh;   /* by id */
};

/* The instances of an epoch of a job. */
struct sim_run {
    struct sim_run_key {
        struct tf_uid uid;
        uint64_t epoch;
    } key;
    TF_VEC(struct sim_instance *) instances;
    UT_hash_handle hh;
};

struct sim_node {
    struct tf_node node;
    uint64_t changes; /* counts them, for what was planned before */
    bool absent;      /* it has yet to come: its state is LOST, and no daemon hears of it */
};
struct sim_node_name {
    size_t node;
    UT_hash_handle hh;
    char name[];
};

struct sim_fleet {
    struct sim_site *site;
    TF_VEC(struct sim_node) nodes;
    struct sim_node_name *names;
    TF_VEC(struct sim_instance *) instances; /* exit records included */
    struct sim_instance *by_id;
    struct sim_run *runs;
    TF_VEC(struct sim_instance *) numbered; /* number n at n - 1; NULL once it is forgotten */
    uint64_t owner;                         /* highest revision seen */
};

/* Calls, as they arrive at the engine. who: the daemon that is answered. */
enum sim_call_kind { SIM_CALL_ADOPT = 1, SIM_CALL_START, SIM_CALL_STOP, SIM_CALL_FORGET };
struct sim_call {
    enum sim_call_kind kind;
    uint64_t owner;
    struct sim_subd *who;
    uint64_t life;
    struct sub_start start;
    struct tf_instance_id id;
    int64_t stop_delay, grace;
};

void fleet_call(struct sim_fleet *fleet, struct sim_call *call); /* taken */
void fleet_call_free(struct sim_call *call);
void fleet_release(struct sim_fleet *fleet);
/* node is taken. absent: it comes when it joins. */
void fleet_add_node(struct sim_fleet *fleet, struct tf_node *node, bool absent);
void fleet_node_joins(struct sim_fleet *fleet, size_t node);

/* ---- what happens to nodes ---- */
/* lost_after: the engine gives it up then; negative = never. */
void fleet_node_unreachable(struct sim_fleet *fleet, size_t node, int64_t lost_after);
/* The engine knows at once that it is lost, and what ran there. */
void fleet_node_down(struct sim_fleet *fleet, size_t node);
/* Nothing new is to come there: TF_NODE_CORDONED or TF_NODE_DRAINING. fleet_node_returns ends it. */
void fleet_node_closed(struct sim_fleet *fleet, size_t node, enum tf_node_state state);
/* Nothing is left of it but the nodes, and those are empty. */
void fleet_burns(struct sim_fleet *fleet);
void fleet_node_returns(struct sim_fleet *fleet, size_t node);
void fleet_node_foreign(struct sim_fleet *fleet, size_t node, uint64_t gpus);
/* Others hold so many slots. */
void fleet_node_slots(struct sim_fleet *fleet, size_t node, int32_t slots);
int32_t fleet_instances_on(const struct sim_fleet *fleet, size_t node); /* that run */
void fleet_node_bad(struct sim_fleet *fleet, size_t node, uint64_t gpus, uint64_t suspects);
/* The present state of a random instance is told once more. */
void fleet_repeat(struct sim_fleet *fleet);
uint64_t fleet_held_gpus(const struct sim_fleet *fleet, size_t node);
int fleet_node_find(const struct sim_fleet *fleet, const char *name); /* -1 if there is none */
bool fleet_runs(const struct sim_instance *instance);
/* The work of that epoch is done: its instances end by themselves, well. */
void fleet_finish(struct sim_fleet *fleet, struct tf_uid uid, uint64_t epoch);

#endif
