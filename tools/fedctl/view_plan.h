/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_VIEW_PLAN_H
#define TF_FEDCTL_VIEW_PLAN_H

#include "tools/fedctl/planning.h"
#include "tools/fedctl/view.h"

/* Plans as documents: printed with -o, and, with the manifests behind them, what plan files are made of and
 * read from. */

struct plan_victim_doc {
    char *job, *level;
    bool whole;
    int32_t instances, size;
    int64_t lost_gpu_seconds;
};
struct plan_node_doc {
    char *node;
    struct tf_strs gpus;
    int32_t instances;
};
struct plan_row_doc {
    char *cluster, *reason, *level, *until, *text, *unblock;
    bool answered;
    int32_t free, has, asked, jobs;
    int64_t age, lost_gpu_seconds, wait;
};
struct plan_job_doc {
    char *job, *action, *answer, *cluster, *model;
    struct tf_strs changes;
    int32_t size;
    int64_t lost_gpu_seconds, wait;
    TF_VEC(struct plan_node_doc) nodes;
    TF_VEC(struct plan_victim_doc) victims;
    TF_VEC(struct plan_row_doc) rows;
};
struct plan_doc {
    char *made;
    bool restart;
    TF_VEC(struct plan_job_doc) jobs;
};

extern const struct tf_table plan_doc_table;
extern const struct view view_plan; /* struct plan, as struct plan_doc */

#endif
