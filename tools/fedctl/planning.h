/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_PLANNING_H
#define TF_FEDCTL_PLANNING_H

#include "tools/fedctl/fedctl.h"
#include "tools/fedctl/manifests.h"

/* What apply would do with each of some manifests, and where what is new would go. Asks only: a dry run of
 * the submit, then the plan of the placement. Each job is counted as if it came alone. */

enum plan_action { PLAN_UNCHANGED, PLAN_CREATE, PLAN_UPDATE, PLAN_RESTART, PLAN_REFUSE };
const char *plan_word(enum plan_action action); /* "create" */

struct planned {
    const struct manifest *manifest; /* borrowed */
    enum plan_action action;
    struct tf_strs changes; /* UPDATE, RESTART: the fields that would change */
    char *refusal;          /* REFUSE: why */
    enum tf_error_code code;
    bool placed; /* it was asked where the job would go: */
    struct tf_plan_reply reply;
};

struct plan {
    bool restart; /* apply would be called with --restart */
    struct tf_wall made;
    TF_VEC(struct planned) jobs;
};

/* -1 and *err when the federation could not be asked; what it refuses is part of the plan, and its complaints
 * go to stderr. */
int plan_make(struct fedctl *ctl, const struct manifests *manifests, bool restart, struct plan *plan,
              struct tf_error *err);
void plan_release(struct plan *plan);

/* Where the job would go; NULL: it would wait, or is not placed by this. */
const char *plan_cluster(const struct planned *job);

/* ---- plan files: the answer and the manifests that it is about ---- */

int plan_save(const struct plan *plan, const char *path, struct tf_error *err);
/* One that was read. */
struct plan_file;
/* The manifests are those of the file. -1: what is wrong is appended to problems. */
int plan_load(const char *path, struct manifests *manifests, struct plan_file **file,
              struct tf_buf *problems);
bool plan_file_restart(const struct plan_file *file);
/* Appends a line for each job of which the plan says something else than the file; false if there is one. */
bool plan_agrees(const struct plan_file *file, const struct plan *plan, struct tf_buf *differences);
void plan_file_free(struct plan_file *file); /* NULL is fine */

#endif
