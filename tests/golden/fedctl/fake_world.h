/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_FAKE_WORLD_H
#define TF_TESTS_FAKE_WORLD_H

#include "common/wire/api.h"

/* A small federation that stands still: what the fake fedd answers with. Moments are some time before `now`,
 * so that ages do not change while a test runs. All is made anew for each answer and owned by the caller. */

enum { WORLD_JOBS = 7 };

/* The i-th job, by tenant and name. full: with what lists leave out. */
void world_job(size_t i, bool full, struct tf_wall now, struct tf_job_view *job);
/* The same as a reservation that is over: one that was used, or has expired. */
void world_reserve(struct tf_job_view *job);
/* Its place, or -1. */
int world_find(const char *tenant, const char *name);

void world_explain(size_t i, struct tf_wall now, struct tf_explain_reply *reply);
void world_clusters(bool events, struct tf_wall now, struct tf_clusters_reply *reply);
/* What a job of that name would get: `short` gives way to nobody, `waits` fits nowhere, `unsaid` is counted
 * only. */
void world_defrag(const struct tf_defrag_request *request, struct tf_defrag_plan *plan);
/* The chain of that plan, so many looks after it began; stops: its second move waits until it is aborted. */
void world_defrag_chain(struct tf_uid id, size_t looks, bool stops, bool aborted, struct tf_chain_info *info);
/* Of the cluster that is drained: a move that was rolled back, and its second try. */
void world_drain_moves(struct tf_wall now, struct tf_migrate_reply *reply);
/* A chain that is over, and jobs that go to other clusters. */
void world_moves(struct tf_wall now, struct tf_migrate_reply *reply);
void world_plan(const char *name, struct tf_wall now, struct tf_plan_reply *reply);
/* cluster NULL: all; us-c does not answer. */
void world_nodes(const char *cluster, struct tf_wall now, struct tf_nodes_reply *reply);
/* The configuration; of a key that is not there, no value. What a file changes: a setting that a reload takes
 * over, and one that needs a restart; nothing if the file is empty. */
void world_config(const char *key, struct tf_get_config_reply *reply);
void world_config_diff(size_t len, struct tf_diff_config_reply *reply);

#endif
