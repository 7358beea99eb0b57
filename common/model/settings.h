/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_SETTINGS_H
#define TF_MODEL_SETTINGS_H

#include "common/base/row.h"
#include "common/model/policy.h"

/* The settings of DESIGN.md §3.2, as rows with their reasons: what is said in fedd.yaml and subclusterd.yaml
 * under `settings`. (grace and keepFinished are said by jobs: common/model/manifest.c.) Durations are ms,
 * fractions basis points. */

/* What one tenant may do; 0 = no limit, but max_min_runtime 0 = no protection beyond the general one. */
struct tf_tenant_limits {
    char *tenant;
    char *max_priority; /* a class; NULL = any */
    int32_t max_gpus, max_jobs;
    int64_t max_min_runtime;
};
struct tf_tenants {
    struct tf_tenant_limits *items;
    size_t count, cap;
};

/* The longest minRuntime of a class's jobs. */
struct tf_class_limit {
    char *class_name;
    int64_t max_min_runtime;
};
struct tf_class_limits {
    struct tf_class_limit *items;
    size_t count, cap;
};

/* The federation's. */
struct tf_settings {
    struct tf_policy policy; /* goes to every subcluster; its version is no setting */
    int64_t claim_after, fence_margin;
    int64_t cluster_lost_after;
    int32_t lost_fraction, lost_least;
    int64_t refusal_backoff, refusal_backoff_max;
    int64_t lease_ttl;
    int64_t decision_budget; /* candidate evaluations a step */
    int64_t max_min_runtime; /* of every tenant and class */
    struct tf_class_limits class_limits;
    struct tf_tenants tenants;
    int64_t history_keep;
    int64_t history_max; /* jobs */
};
extern const struct tf_table tf_settings_table;

void tf_settings_init(struct tf_settings *settings); /* the defaults */
void tf_settings_release(struct tf_settings *settings);
void tf_settings_copy(struct tf_settings *to, const struct tf_settings *from);
/* The limits of a tenant, NULL if none are set. Borrowed. */
const struct tf_tenant_limits *tf_settings_tenant(const struct tf_settings *settings, const char *tenant);
/* The longest minRuntime a job of that tenant and class may ask for: the largest of the general limit, the
 * tenant's and the class's. */
int64_t tf_settings_max_min_runtime(const struct tf_settings *settings, const char *tenant,
                                    const char *class_name);

/* A subcluster's own. */
struct tf_local_settings {
    int64_t loss_cap;
    int32_t resize_loss;
    int64_t node_lost_after;
    int32_t mass_down_fraction, mass_down_least;
    int32_t gpu_suspect_after;
    int64_t mass_down_window;
    int64_t lease_ttl, profile_interval;
    int64_t decision_budget;
};
extern const struct tf_table tf_local_settings_table;

/* What a subcluster goes by until a leader has sent a policy: the defaults of the federation's settings. */
void tf_policy_init(struct tf_policy *policy);

#endif
