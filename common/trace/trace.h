/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TRACE_TRACE_H
#define TF_TRACE_TRACE_H

#include "common/model/job.h"
#include "common/model/node.h"

/* Jobs and nodes out of CSV files, plain or gzipped: for `fedctl replay`, and `from: {csv: ...}` and
 * `nodesFrom: {csv: ...}` of a scenario. Columns are found by the names in the header line, and what a file
 * does not say may be left out:
 *
 * jobs:  job_id, submit_s, duration_s, gpus_per_instance must be there; instances, cpus_per_instance,
 *        mem_gib_per_instance, gpu_model ('' any, else names joined by |), priority_class, tenant, kind
 *        (train, infer, debug or '') may be.
 * nodes: node_id must be there; gpu_model, gpus, cpus, mem_gib, topology_domain (a path, widest part first)
 *        may be.
 *
 * Every error says FILE:LINE and what is wrong there. Files are bounded: lines of 4,096 bytes,
 * TF_TRACE_JOBS_MAX jobs, TF_TRACE_NODES_MAX nodes. */

enum { TF_TRACE_JOBS_MAX = 10 * 1000 * 1000, TF_TRACE_NODES_MAX = 1000 * 1000, TF_TRACE_SCALE_MAX = 1000000 };

/* The columns, for people: lines of plain text. */
extern const char tf_trace_columns[];

/* ---- jobs ---- */

/* All durations are ms after scaling; of one instance: whole GPUs, millicores, MiB (0 = not said). */
struct tf_trace_job {
    int64_t line; /* of the file */
    char *id;
    char *tenant;      /* "trace" if the file does not say */
    char *priority;    /* of the options, else of the file; NULL if neither says */
    char *gpu_models;  /* joined by |; NULL = any */
    int64_t submit;    /* since the beginning of the file */
    int64_t duration;  /* from start to end; 0 = the file does not say: it does not end by itself */
    int32_t instances; /* at least 1 */
    int32_t gpus;      /* a fraction of a GPU counts as a whole one: */
    bool fractional;   /* the file asked for less */
    int64_t cpu, memory;
    enum tf_workload workload; /* TF_WORKLOAD_UNSET if the file does not say */
};

/* In order of submit, then as in the file. */
struct tf_trace_jobs {
    struct tf_trace_job *items;
    size_t count, cap;
    size_t fractional; /* of them ask for a part of a GPU */
    size_t left_out;   /* of other tenants */
};

struct tf_trace_options {
    const struct tf_strs *tenants; /* only theirs; NULL or empty: everybody's. Borrowed */
    const char *priority;          /* of every job; NULL: as in the file. Borrowed */
    int64_t time_scale;            /* all times are divided by it: 60 = a minute becomes a second; 0 = 1 */
    int64_t arrival_scale;         /* submits are divided by it, too: the work comes so much faster; 0 = 1 */
};

/* out is zeroed or released. Returns -1 and *err, leaving it empty, if the file is wrong in any way. */
int tf_trace_jobs_read(const char *path, const struct tf_trace_options *options, struct tf_trace_jobs *out,
                       struct tf_error *err);
void tf_trace_jobs_release(struct tf_trace_jobs *jobs);
/* What its user would write, filled and checked: min = max = step = instances. out is zeroed or initialised.
 * -1 and *err if it is not a valid job. */
int tf_trace_job_manifest(const struct tf_trace_job *job, struct tf_job_manifest *out, struct tf_error *err);

/* For the manifests of a whole file: most jobs ask for what another one asked for, and get its spec, which is
 * filled and checked already. Zeroed = empty. */
struct tf_trace_shapes {
    struct trace_shape *by_key;
};

void tf_trace_shapes_release(struct tf_trace_shapes *shapes);
/* As tf_trace_job_manifest. */
int tf_trace_shapes_manifest(struct tf_trace_shapes *shapes, const struct tf_trace_job *job,
                             struct tf_job_manifest *out, struct tf_error *err);

/* ---- nodes ---- */

/* What a node is where the file does not say. */
struct tf_trace_node_defaults {
    const char *model; /* borrowed */
    int32_t gpus;
    int64_t cpu, memory;
};
#define TF_TRACE_NODE_DEFAULTS                                                           \
    {                                                                                    \
        .model = "unknown", .gpus = 8, .cpu = 128 * 1000, .memory = INT64_C(1024) * 1024 \
    }

/* As in the file. All have one domain ("" = none), or none has any. */
struct tf_trace_nodes {
    struct tf_node *items;
    size_t count, cap;
    size_t depth; /* parts of the longest topology_domain, 0 = no node has one */
};

int tf_trace_nodes_read(const char *path, const struct tf_trace_node_defaults *defaults,
                        struct tf_trace_nodes *out, struct tf_error *err);
void tf_trace_nodes_release(struct tf_trace_nodes *nodes);

#endif
