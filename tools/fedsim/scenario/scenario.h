/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_SCENARIO_H
#define TF_FEDSIM_SCENARIO_H

#include "common/base/name.h"
#include "common/base/row.h"
#include "common/conf/conf.h"
#include "common/model/job.h"
#include "common/model/node.h"
#include "common/model/settings.h"

/* A scenario: the fleet, the work, what happens to them, and what must be true. Plain data described by a
 * table of rows, so that reading, writing, copying and comparing are those of common/base/row.h and
 * common/conf:
 *
 *     struct scenario s, small;
 *     if (scenario_load("x.yaml", &s, &problems) == 0)
 *         scenario_copy(&small, &s);       remove parts of it, then scenario_yaml(&small, &text)
 *
 * All durations and moments are virtual ms from the beginning of the run. TF_UNSET (-1) = not said, where a
 * field says "optional". Texts are owned, NULL = not said. */

#define SCENARIO_END INT64_MAX        /* the moment `end` of an expectation */
#define SCENARIO_ONE INT64_C(1000000) /* 1 in millionths */
enum { SCENARIO_REPEATS_MAX = 1000000, SCENARIO_NODES_MAX = 1000000 };

#define SCENARIO_LIST(type) \
    struct {                \
        type *items;        \
        size_t count, cap;  \
    }

/* ---- fleet ---- */

struct scenario_domains {
    char *plane, *path; /* path with {i} and {i/k}: "rdma-{i/64}/sw-{i/32}" */
};
/* `count` equal nodes, named prefix0 .. */
struct scenario_nodes {
    int32_t count;
    char *prefix;
    char *model; /* NULL if gpus is 0 */
    int32_t gpus;
    int64_t gpu_memory, cpu, memory; /* MiB, millicores, MiB */
    int32_t slots;
    struct tf_pairs labels;
    char *domain; /* in the cluster's only plane, else: */
    SCENARIO_LIST(struct scenario_domains) domains;
    char *foreign; /* GPUs that others hold from the beginning: "0-3,6" */
    int64_t joins; /* they come then: the engine knows nothing of them before; 0 = they are there */
};
struct scenario_cluster {
    char *name, *region;
    struct tf_planes levels;
    SCENARIO_LIST(struct scenario_nodes) nodes;
    char *nodes_csv;      /* of nodesFrom */
    int32_t subclusterds; /* of that name; the first to come is active */
    int64_t clock_skew;   /* of their wall clocks, may be negative */
    int64_t clock_drift;  /* ppm that their clocks run too fast; may be negative */
};

/* ---- work ---- */

/* from, from + every, ...: count moments. */
struct scenario_times {
    int64_t from, every;
    int32_t count; /* 0 or 1 = one moment */
};
/* Jobs out of a CSV file (common/trace). */
struct scenario_source {
    char *csv;
    struct tf_strs tenants;
    char *priority;
    int32_t time_scale, arrival_scale; /* 0 = 1 */
    bool resumes;                      /* durations are work: what was saved of it is not done again */
};
/* What happens to the instances of a job by chance, drawn anew for each attempt from the seed. Fractions are
 * basis points of attempts. */
struct scenario_chance {
    int64_t seed;
    int64_t start_max;        /* ms until ready, at most */
    int64_t run_min, run_max; /* from ready to its end; 0 = for ever */
    int32_t fail, fail_early, never_ready, deaf, engine_refuses;
};
struct scenario_job {
    struct scenario_times at;
    struct scenario_source
        from;            /* with csv: all else but startTime, stopTime, checkpointEvery is the file's */
    char *tenant, *name; /* with {k} = running number, from 0 */
    struct tf_pairs labels;
    struct tf_job_spec spec; /* filled; of a tide elastic.step alone counts */
    int64_t work;            /* optional: instance-ms */
    int64_t run;             /* optional: ms from when its core is ready */
    int64_t start_time, stop_time;
    int64_t checkpoint_every; /* 0 = never */
    struct tf_strs on;        /* nodes of the first start */
    struct scenario_chance chance;
};
/* An online service and its autoscaler. */
struct scenario_tide {
    struct scenario_job job;
    int32_t low, high;
    int64_t period, peak_at, every;
};

/* ---- what happens ---- */

enum scenario_state {
    SCENARIO_DOWN = 1,
    SCENARIO_UP,
    SCENARIO_UNREACHABLE,
    SCENARIO_CORDONED,
    SCENARIO_DRAINING,
    SCENARIO_BAD,
    SCENARIO_OK,
    SCENARIO_SUSPECT,
};
enum scenario_link { SCENARIO_CUT = 1, SCENARIO_CUT_UP, SCENARIO_CUT_DOWN, SCENARIO_BREAK };
enum scenario_freeze { SCENARIO_EVICTIONS = 1, SCENARIO_GROWTH, SCENARIO_MOVES, SCENARIO_ALL };
enum scenario_store { SCENARIO_UNAVAILABLE = 1, SCENARIO_LOST_REPLY };

/* One event or fault: exactly one subject is said (scenario_event_kind). Daemons are named `fedd` (all of
 * them), `fedd/2` (the second), `subclusterd/NAME`, `subclusterd/NAME/2`; nodes `n7` (of the first cluster)
 * or `CLUSTER/n7`, GPUs `CLUSTER/n7:3`, jobs `tenant/name`. */
struct scenario_event {
    int64_t at, at_event;       /* optional: when. at_event counts what the world has done so far */
    int64_t before;             /* optional, with crash: dies before that action of the next list, from 0 */
    int64_t lasts;              /* `for`: healed after so long, 0 = not by itself */
    struct tf_strs node, nodes; /* with state; nodes also of defrag: a number or max */
    enum scenario_state state;
    int64_t lost_after; /* optional, with unreachable: the engine gives the node up after so long */
    int64_t within;     /* with draining: its deadline; 0 = none */
    int32_t at_once;    /* with draining: as fedctl's --max-at-once; 0 = no more bound than moves have */
    bool force;         /* with draining, and within: then protected cores, too */
    char *gpu;
    char *foreign; /* with node: GPUs that others hold from now on: "0-3,6" or none */
    char *cluster;
    struct {
        enum scenario_link cut;
        int64_t delay;
    } link;
    char *fedd; /* with link: only the way to that one, `fedd/2` */
    char *crash, *pause, *hand_over, *reload, *store_away, *duplicate;
    char *store_of; /* NULL: the federation's */
    struct {
        enum scenario_store fault;
        int64_t slow;
        int64_t restored;                                   /* optional: to its state of that moment */
        bool unaware;                                       /* with restored: nobody tells the daemons */
        int32_t refused, lost_requests, lost_replies, late; /* of its requests, in basis points */
        int64_t late_max; /* of late ones: after the client's time-out, at most so long */
    } store;
    char *clock_jump; /* a daemon, with by_ms */
    int64_t by_ms;
    char *freeze; /* a subcluster, with what */
    enum scenario_freeze what;
    char *cordon, *burn;             /* a subcluster; burn: all of it is lost, then it is built anew */
    char *pause_moves, *abort_moves; /* a subcluster: all that is under way there */
    char *drain;                     /* a subcluster: all of it, or */
    char *domain, *labels;           /* what is in that domain, or has these labels, as one order */
    char *submit, *delete_job, *hold, *resume, *restart, *look, *scale, *apply;
    struct tf_elastic elastic; /* with scale */
    char *priority;            /* with apply */
    char *repeat, *late;       /* CLUSTER: an engine's event, a message of an old leader, once more */
    char *defrag, *model, *room_for;
    char *migrate, *to;
    bool refused;     /* with to, a subcluster: the answer must be no */
    int64_t instance; /* optional */
};

enum scenario_kind {
    SCENARIO_NOTHING,
    SCENARIO_NODE,
    SCENARIO_GPU,
    SCENARIO_FOREIGN,
    SCENARIO_LINK,
    SCENARIO_CRASH,
    SCENARIO_PAUSE,
    SCENARIO_HAND_OVER,
    SCENARIO_RELOAD,
    SCENARIO_STORE_AWAY,
    SCENARIO_DUPLICATE,
    SCENARIO_STORE,
    SCENARIO_CLOCK_JUMP,
    SCENARIO_CORDON,
    SCENARIO_FREEZE,
    SCENARIO_BURN,
    SCENARIO_SUBMIT,
    SCENARIO_DELETE,
    SCENARIO_HOLD,
    SCENARIO_RESUME,
    SCENARIO_RESTART,
    SCENARIO_LOOK,
    SCENARIO_SCALE,
    SCENARIO_APPLY,
    SCENARIO_REPEAT,
    SCENARIO_LATE,
    SCENARIO_DEFRAG,
    SCENARIO_MIGRATE,
    SCENARIO_PAUSE_MOVES,
    SCENARIO_ABORT_MOVES,
    SCENARIO_DRAIN,
    SCENARIO_KINDS
};

/* ---- what must be true ---- */

/* About one subject: job, cluster, node or metric. All numbers are optional. */
struct scenario_assertion {
    char *job, *cluster, *node, *metric;
    enum tf_phase phase;
    int64_t instances, instances_min, instances_max, ready_instances_min, evictions, restarts, is_short;
    int64_t free_gpus, whole_free_nodes;
    struct {
        char *cluster;
        enum tf_reason code;
    } reason;
    int64_t min, max; /* of the metric, in millionths */
    int64_t waiting;  /* ms: less than that */
};
struct scenario_expect {
    struct scenario_assertion assertion; /* first */
    struct scenario_assertion always;    /* said instead of assertion: at all times */
    int64_t at;                          /* optional; SCENARIO_END */
    int64_t within, after;               /* optional: at some moment of [after, after + within] */
    struct tf_strs between;              /* two moments: at all moments from the one to the other */
};

/* ---- the world ---- */

/* Settings of both daemons, by their names; leaseTtl and decisionBudget are the same for both. */
struct scenario_settings {
    struct tf_settings federation;
    struct tf_local_settings subcluster;
};
/* How the simulated machines behave. Fractions are basis points. */
struct scenario_world {
    int32_t fedds;
    int64_t message_delay_min, message_delay_max, engine_delay_max, store_latency_max;
    int64_t fedd_skew;    /* of the first's wall clock; the others' are right */
    int64_t fedd_drift;   /* of its clocks, ppm */
    int32_t answers_lost; /* of those to clients */
    bool unordered;       /* what happens at one moment has no order but the seed's; latencies from 0 */
    bool rests;           /* at the end all is healed, and the world must come to rest */
};

struct scenario {
    char *name;
    int64_t seed;
    struct scenario_settings settings; /* priority classes are in it */
    struct scenario_world world;
    SCENARIO_LIST(struct scenario_cluster) clusters;
    SCENARIO_LIST(struct scenario_job) jobs;
    SCENARIO_LIST(struct scenario_tide) tides;
    SCENARIO_LIST(struct scenario_event) events, faults;
    SCENARIO_LIST(struct scenario_expect) expect;
    int64_t until; /* optional: scenario_end */
};

const struct tf_table *scenario_table(void);

void scenario_init(struct scenario *scenario); /* the defaults; no cluster */
void scenario_release(struct scenario *scenario);
void scenario_copy(struct scenario *to, const struct scenario *from); /* to is zeroed or initialised */
bool scenario_eq(const struct scenario *a, const struct scenario *b);
/* Fills what depends on other fields, then every rule; paths as in the file. True if all is well. */
bool scenario_check(struct scenario *scenario, struct tf_complaints *out);
/* As a file that reads back equal. */
void scenario_yaml(const struct scenario *scenario, struct tf_buf *out);
/* scenario is raw memory. -1, with problems (line and column) and scenario zeroed, if the text is wrong. */
int scenario_read(const char *text, size_t len, struct scenario *scenario, struct tf_conf_problems *problems);
/* The same of a file; "-" is standard input. */
int scenario_load(const char *path, struct scenario *scenario, struct tf_conf_problems *problems);

/* ---- finding one's way ---- */

enum scenario_kind scenario_event_kind(
    const struct scenario_event *event);                 /* the first subject that is said */
const char *scenario_kind_name(enum scenario_kind kind); /* its key: "crash" */
const struct scenario_assertion *scenario_assertion_of(const struct scenario_expect *expect);
bool scenario_expect_is_always(const struct scenario_expect *expect);
/* `between`, of an expectation in order. */
void scenario_expect_between(const struct scenario_expect *expect, int64_t *from, int64_t *to);
int32_t scenario_times_count(const struct scenario_times *times);
int64_t scenario_times_at(const struct scenario_times *times, int32_t k);
/* The text with each {LETTER} replaced by n and each {LETTER/d} by n div d. Owned by the caller. NULL and
 * *err if there is anything else in braces. */
char *scenario_expand(const char *text, char letter, int64_t n, struct tf_error *err);
/* The node of that number (raw memory, owned by the caller), or -1 and *err: what its name, domain or foreign
 * say is wrong. */
int scenario_node_make(const struct scenario_cluster *cluster, const struct scenario_nodes *group,
                       int32_t number, struct tf_node *node, struct tf_error *err);
/* "0-3,6" or none. */
int scenario_gpus_parse(const char *text, uint64_t *gpus, struct tf_error *err);

/* A daemon by its name; number 0 = all of that name. */
struct scenario_daemon {
    bool is_fedd;
    char cluster[TF_NAME_MAX + 1];
    int32_t number;
};
int scenario_daemon_parse(const char *text, struct scenario_daemon *daemon, struct tf_error *err);
/* "CLUSTER/NODE" or "NODE" (cluster is ""), with `gpu` also ":INDEX". */
struct scenario_place {
    char cluster[TF_NAME_MAX + 1], node[TF_NAME_MAX + 1];
    int32_t gpu;
};
int scenario_place_parse(const char *text, bool gpu, struct scenario_place *place, struct tf_error *err);
/* Index of the cluster, "" = the first; -1 if there is none. */
int scenario_cluster_find(const struct scenario *scenario, const char *name);

/* How many more daemons the events bring: of the cluster, or (NULL) of the federation. */
int32_t scenario_duplicates(const struct scenario *scenario, const char *cluster);

/* `until`, or one hour after the last moment that the scenario names. */
int64_t scenario_end(const struct scenario *scenario);

#endif
