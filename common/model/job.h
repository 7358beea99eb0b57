/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_JOB_H
#define TF_MODEL_JOB_H

#include "common/base/complaint.h"
#include "common/base/list.h"
#include "common/model/id.h"

/* What a user asks for: the spec of a job as its manifest says it (DESIGN.md §3), with one group of identical
 * instances. All strings are owned by the spec. Value 0 of the enums below means "not said": the workload's
 * default is filled in by tf_job_spec_fill. Durations are milliseconds, memory is MiB (requests rounded up),
 * CPU millicores. */

enum tf_workload {
    TF_WORKLOAD_UNSET,
    TF_WORKLOAD_INFERENCE,
    TF_WORKLOAD_TRAINING,
    TF_WORKLOAD_OFFLINE,
    TF_WORKLOAD_DEBUG
};
enum tf_below_min { TF_BELOW_MIN_UNSET, TF_BELOW_MIN_KEEP, TF_BELOW_MIN_STOP };
enum tf_grow { TF_GROW_UNSET, TF_GROW_CONTINUOUS, TF_GROW_ON_RESTART, TF_GROW_NEVER };
enum tf_on_resize { TF_ON_RESIZE_UNSET, TF_ON_RESIZE_NONE, TF_ON_RESIZE_SIGNAL, TF_ON_RESIZE_RESTART };
enum tf_migration_rule { TF_MIGRATION_UNSET, TF_MIGRATION_ALLOW, TF_MIGRATION_RESTART, TF_MIGRATION_NEVER };
enum tf_completion { TF_COMPLETION_UNSET, TF_COMPLETION_ALL, TF_COMPLETION_RANK0 };
enum tf_topology_of { TF_TOPOLOGY_OF_UNSET, TF_TOPOLOGY_OF_JOB, TF_TOPOLOGY_OF_STEP };
enum tf_topology_mode { TF_TOPOLOGY_MODE_UNSET, TF_TOPOLOGY_REQUIRE, TF_TOPOLOGY_PREFER };
enum tf_on_cluster_lost { TF_CLUSTER_LOST_UNSET, TF_CLUSTER_LOST_WAIT, TF_CLUSTER_LOST_RESTART };

/* Sizes in instances; a plain `instances: n` is min = max = step = n. */
struct tf_elastic {
    int32_t min, max, step;
};

/* What one instance needs of one node. */
struct tf_shape {
    int32_t gpus; /* whole GPUs, 0 is legal */
    struct tf_strs
        gpu_models;     /* in order of preference; empty = any; all instances of an epoch have one model */
    int64_t gpu_memory; /* least MiB of each GPU, 0 = any */
    int64_t cpu;        /* millicores */
    int64_t memory;     /* MiB */
};

struct tf_ready_probe {
    struct tf_strs command; /* empty = ready when running */
    int64_t period, timeout;
};

struct tf_group {
    struct tf_shape shape;
    char *image;
    struct tf_strs command;
    struct tf_pairs env;
    struct tf_strs ports;
    int64_t grace;      /* between the polite stop and the forced one */
    int64_t stop_delay; /* between leaving the peers file and the polite stop */
    struct tf_ready_probe ready;
};

struct tf_topology_rule {
    char *plane; /* NULL = the one plane that has a level of that name */
    char *within;
    enum tf_topology_of of;
    enum tf_topology_mode mode;
};
struct tf_topology_rules {
    struct tf_topology_rule *items;
    size_t count, cap;
};

/* Who may use what a reservation keeps: jobs of one tenant, further narrowed by name or by labels. */
struct tf_owner {
    char *tenant;   /* of the jobs; absent in a manifest = that of the reservation */
    char *job;      /* only the one of that name, with which the reservation ends; NULL = any */
    char *selector; /* only jobs whose labels match (selector.h); NULL = any */
};

/* With expires > 0 the spec is that of a reservation (DESIGN.md §8.6): min = max = step instances are kept,
 * and none is started. */
struct tf_reserve {
    int64_t expires; /* ms after it was accepted; 0 = this is a job */
    struct tf_owner owner;
};

struct tf_job_spec {
    char *priority; /* name of a class */
    enum tf_workload workload;
    struct tf_elastic elastic;
    enum tf_below_min below_min;
    enum tf_grow grow;
    struct tf_group group;
    struct tf_topology_rules topology;
    struct tf_pairs node_labels;
    int32_t max_nodes; /* 0 = no limit */
    enum tf_on_resize on_resize;
    char *resize_signal; /* with TF_ON_RESIZE_SIGNAL, e.g. "SIGUSR1" */
    enum tf_migration_rule migration;
    int32_t ready_min; /* a move or drain never goes below so many ready */
    int64_t min_runtime;
    int64_t max_runtime; /* 0 = none */
    int32_t retry_limit;
    int64_t retry_backoff;
    enum tf_completion completion;
    int64_t keep_finished;
    struct tf_strs clusters; /* the job's own order; empty = any */
    struct tf_strs regions;
    enum tf_on_cluster_lost on_cluster_lost;
    struct tf_reserve reserve;
};

/* A manifest: who, and what. */
struct tf_job_manifest {
    char *tenant, *name;
    struct tf_pairs labels;
    struct tf_job_spec spec;
};

/* All functions on whole specs and manifests follow the rows of common/model/manifest.h.
 * init: the defaults that do not depend on the workload (grace 30s, 3 retries, ...), and max_runtime "not
 * said"
 * (-1, decided by tf_job_spec_fill). A spec that is merely zeroed has 0 for all of these. */
void tf_job_spec_init(struct tf_job_spec *spec);
void tf_job_spec_release(struct tf_job_spec *spec); /* frees what it owns and zeroes it; NULL is fine */
void tf_job_spec_copy(struct tf_job_spec *to,
                      const struct tf_job_spec *from); /* to is zeroed or initialised */
bool tf_job_spec_eq(const struct tf_job_spec *a, const struct tf_job_spec *b);
void tf_job_manifest_init(struct tf_job_manifest *manifest);
void tf_job_manifest_release(struct tf_job_manifest *manifest);
void tf_job_manifest_copy(struct tf_job_manifest *to, const struct tf_job_manifest *from);
bool tf_job_manifest_eq(const struct tf_job_manifest *a, const struct tf_job_manifest *b);

/* Fills every enum that was not said, a max_runtime of -1, and sizes of 0 (step 1, min = step, max = min),
 * from the table of workload defaults (DESIGN.md §3); an unsaid workload is offline. Idempotent. */
void tf_job_spec_fill(struct tf_job_spec *spec);
static inline bool tf_is_reservation(const struct tf_job_spec *spec)
{
    return spec->reserve.expires > 0;
}
/* Whether a job of that tenant, name and labels may use what the owner's reservations keep. */
bool tf_owner_admits(const struct tf_owner *owner, const char *tenant, const char *name,
                     const struct tf_pairs *labels);

/* All rules that need no configuration: names, bounds, min/max/step, combinations. Adds a complaint a breach;
 * true if there was none. The federation runs it again on what a client sent. Expects a filled spec. */
bool tf_job_manifest_check(const struct tf_job_manifest *manifest, struct tf_complaints *out);
/* The part of it that looks at several fields at once; used after the rows' own rules have held. */
void tf_job_manifest_check_rules(const struct tf_job_manifest *manifest, struct tf_complaints *out);
/* The fields (paths, in out) in which b differs from a and which cannot change under a running job (DESIGN.md
 * §3). */
void tf_job_spec_immutable_diff(const struct tf_job_spec *a, const struct tf_job_spec *b,
                                struct tf_strs *out);

/* Sizes (DESIGN.md §4). legal: n = 0 or n >= min unless short_job, n <= max, a multiple of step. */
int32_t tf_size_align(const struct tf_elastic *e,
                      int32_t available); /* floor(min(available, max) / step) * step */
bool tf_elastic_eq(const struct tf_elastic *a, const struct tf_elastic *b);
bool tf_size_legal(const struct tf_elastic *e, int32_t n, bool short_job);

#endif
