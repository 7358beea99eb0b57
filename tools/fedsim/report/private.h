/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_REPORT_PRIVATE_H
#define TF_FEDSIM_REPORT_PRIVATE_H

/* Shared inside of this folder. */
#include "common/fit/explain.h"
#include "common/fit/rows.h"
#include "tools/fedsim/report/report.h"

/* How a sum is spread over the run: one part for each of at most REPORT_BUCKETS equal times. Parts are merged
 * as the run grows, so that they always sum to the whole. */
enum { REPORT_BUCKETS = 600 };
struct report_line {
    size_t rung;           /* of the widths of buckets */
    TF_VEC(int64_t) parts; /* things that happened; or level x ms */
};

/* A number of GPUs, or of jobs, over time. */
struct report_integral {
    int64_t now;
    int64_t since; /* ms */
    int64_t sum;   /* GPU-ms, until since */
    bool drawn;    /* line is kept, too */
    struct report_line line;
};

/* ms each, in order of coming; sorted when they are asked for. */
struct report_samples {
    TF_VEC(int64_t) ms;
    bool sorted;
};

enum report_cause {
    REPORT_DELIVERABLE,
    REPORT_COUNT,
    REPORT_CPU_MEMORY,
    REPORT_TOPOLOGY,
    REPORT_POLICY,
    REPORT_STEP,
    REPORT_HEALTH,
    REPORT_CAUSES
};

/* Sums of everything, of a class, of a tenant, or of a cluster. */
struct report_group {
    char *name;
    int64_t submitted, completed, failed, deleted;
    int64_t running, pending; /* now */
    int64_t placements, refused, requeued, restarts, resizes;
    int64_t evictions, jobs_evicted, redundant;
    int64_t surplus_evicted; /* of evictions */
    int64_t migrations, rolled_back, vacated;
    int64_t lost; /* GPU-ms */
    struct report_integral there, held, usable, unmet;
    int64_t idle[REPORT_CAUSES]; /* GPU-ms */
    struct report_samples waits, completions, reclaims, scales;
    struct report_integral waiting;      /* jobs; of a class */
    struct report_line evicted, resized; /* of a class */
    TF_VEC(struct report_share) shares;  /* of a cluster */
    UT_hash_handle hh;
};

/* What a class has of a cluster. */
struct report_share {
    const struct report_group *class;
    struct report_integral held;
};

enum report_state { REPORT_NOWHERE, REPORT_PENDING, REPORT_STARTING, REPORT_RUNNING, REPORT_OVER };

/* An instance that lives. */
struct report_live {
    struct tf_instance_id id;
    struct report_site *site;
    size_t node;
    int32_t gpus;
    int64_t ready; /* ms; -1: not yet */
    bool moving;   /* another of its index lives, too */
    bool was_free; /* moving: its node was wholly free before it */
};

struct report_job {
    struct tf_uid uid;
    UT_hash_handle hh;
    struct report_group *class, *tenant, *cluster; /* cluster: where it is or was last */
    const struct report_shape *shape;
    struct tf_elastic wanted, before; /* before: a scale that is not answered */
    bool tide;                        /* its size follows a day */
    int64_t tide_gpus;                /* that it asks for, so */
    int32_t step;                     /* that its work has, if its sizes do not say it; else 0 */
    int32_t gpus;                     /* of an instance */
    bool loses;                       /* work is lost when an instance is */
    int64_t checkpoint_every, begun;  /* ms; begun: its core was ready in this epoch; -1 = not yet */
    int64_t submitted, last_end;      /* ms */
    int64_t short_since;              /* of what a scale asked for; -1: it has it */
    int64_t unmet;                    /* GPUs */
    enum report_state state;
    bool asked, held, deleted, finished, waited, reclaimed;
    enum tf_phase stored;
    uint64_t epoch; /* the latest that ran */
    bool ran;
    int32_t ready, stopping, usable; /* instances; stopping of the live ones; GPUs */
    uint32_t indices;                /* one more than the highest that was ever started */
    TF_VEC(uint64_t) started;        /* set of indices */
    TF_VEC(struct report_live) live;
    uint64_t sized; /* epoch of size */
    int32_t size;
    enum tf_end ending;
    TF_VEC(uint32_t) givers; /* indices of those that leave a job that lives on, for another */
    int64_t evictions;       /* of its instances */
    bool gave;               /* instances of it were stopped as evicted, since its last end */
    bool useful;             /* ending as evicted: somebody has claimed GPUs of one of its instances */
    uint64_t placed;         /* epoch of the placement that is stored, 0 = none */
    uint64_t ended;          /* the highest epoch whose end was counted */
    enum tf_end end;
};

/* Jobs of one shape that wait. */
struct report_shape {
    char *key;
    struct tf_job_spec spec;
    int32_t waiting;
    UT_hash_handle hh;
};

/* What an instance has of its node. */
struct report_hold {
    struct tf_instance_id id;
    uint64_t gpus;
    struct tf_vector need;
};

struct report_node {
    TF_VEC(struct report_hold) holds;
    bool dirty; /* its row is to be made again */
    bool has_row;
    uint32_t row;  /* of the site's rows */
    int32_t there; /* GPUs */
    int32_t sick;  /* idle ones that are bad, or whose node is not ready */
    struct report_integral held_time, there_time;
};

/* GPUs that a job which does not have them yet will have: others were evicted for it. */
struct report_claim {
    struct tf_uid uid;
    size_t node;
    uint64_t gpus;
};

struct report_site {
    const struct sim_site *site;
    struct tf_strs names; /* of its nodes */
    TF_VEC(struct report_claim) claims;
    struct report_group *group;
    TF_VEC(struct report_node) nodes;
    TF_VEC(size_t) dirty;
    int64_t sick;
    struct tf_fit_rows *rows;
    struct tf_mix mix;
    uint64_t mix_version; /* of the shapes it was made of */
    size_t mix_classes;
    struct tf_idle_causes idle; /* as of the last sample */
    bool stale;
};

struct report {
    const struct sim_world *world;
    int64_t now;     /* ms */
    bool over;       /* the world is gone; then: */
    uint64_t events; /* that it had */
    bool breached;
    struct report_group all;
    struct report_group *classes, *tenants, *clusters;
    struct tf_classes ranks;     /* by importance */
    struct report_integral tide; /* GPUs that services with a day of their own ask for */
    struct report_line idle[REPORT_CAUSES];
    struct report_job *jobs;
    struct report_shape *shapes;
    uint64_t shapes_version;
    TF_VEC(struct report_site *) sites;
    struct tf_fit_scratch *scratch;
    int64_t sampled, period; /* ms: the last look at idle causes, and how often */
    uint64_t samples;
};

/* ---- group.c ---- */
void report_integral_add(struct report_integral *integral, int64_t now, int64_t gpus);
int64_t report_integral_at(const struct report_integral *integral, int64_t now); /* GPU-ms */
void report_sample(struct report_samples *samples, int64_t ms);
/* Nearest rank; 0 if there are none. */
int64_t report_percentile(struct report_samples *samples, int percent);
int64_t report_mean(const struct report_samples *samples);
/* Made if new; drawn: what it has is kept over time, too. */
struct report_group *report_group_named(struct report_group **groups, const char *name, bool drawn);
void report_group_release(struct report_group *group);

/* ---- line.c: sums, spread over the time ---- */
/* So much a ms, from then to then. */
void report_line_spread(struct report_line *line, int64_t from, int64_t to, int64_t level);
void report_line_count(struct report_line *line, int64_t now);
/* It has all buckets of a run that ended then: as wide as those of every other line. */
void report_line_close(struct report_line *line, int64_t end);
int64_t report_line_width(const struct report_line *line); /* ms */
void report_line_release(struct report_line *line);

/* ---- idle.c: GPUs that nobody holds ---- */
void report_fleet_begin(struct report *report);
void report_fleet_release(struct report *report);
size_t report_node_of(const struct sim_fleet *fleet, const char *name);
struct report_site *report_site_of(const struct report *report, const struct sim_site *site);
void report_node_changed(struct report *report, struct report_site *site, size_t node);
void report_node_taken(struct report *report, struct report_site *site, size_t node,
                       const struct sim_instance *instance);
void report_node_left(struct report *report, struct report_site *site, size_t node,
                      const struct tf_instance_id *id);
/* What was so since the last look goes into the sums, and causes are found anew. */
void report_look_at_idle(struct report *report);
/* The shape of a job, counted among those that wait. */
const struct report_shape *report_shape_of(struct report *report, const struct tf_job_spec *spec);
void report_shape_waits(struct report *report, const struct report_shape *shape, int32_t more);

/* ---- figures.c ---- */
enum report_where { REPORT_OF_ALL = 1, REPORT_OF_CLASS = 2, REPORT_OF_TENANT = 4, REPORT_OF_CLUSTER = 8 };
/* Calls row for each figure of a group, in the order of the report. A name with a dot belongs to the object
 * that is named before the dot. */
typedef void report_row_f(void *arg, const char *name, int64_t millionths);
void report_each_figure(struct report *report, struct report_group *group, enum report_where where,
                        report_row_f *row, void *arg);
/* "0.25" */
void report_number(struct tf_buf *out, int64_t millionths);
extern const char *const report_cause_names[REPORT_CAUSES];

#endif
