/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_RETENTION_H
#define TF_FEDERATION_CORE_RETENTION_H

#include "federation/core/state.h"

/* How long things are kept: finished jobs leave for the archive, summaries are written now and then. */

/* The job has ended (Succeeded, Failed, Deleted): kept for a while, or, if deleted, archived at once. */
void fed_retention_file(struct fed *fed, struct job *job);
void fed_retention_forget(struct fed *fed, struct job *job);
/* Finished jobs may leave: every subcluster that is not lost has dialled this leader, and has seen nothing
 * that its store does not know. */
bool fed_retention_has_listened(const struct fed *fed);
/* Archives the job now, out of turn. */
void fed_retention_archive(struct fed *fed, struct job *job);
/* It is in the archive: replaced or removed. */
void fed_retention_archived(struct fed *fed, struct tf_uid uid);

/* A profile came: its digest will be stored. */
void fed_retention_profile(struct cluster *cluster);
/* What is due by now. */
void fed_retention_run(struct fed *fed);
struct tf_mono fed_retention_next(const struct fed *fed); /* TF_NEVER: nothing will be due */

int fed_finished_cmp(const struct tf_tree_node *a, const struct tf_tree_node *b);
int fed_expiry_cmp(const struct tf_tree_node *a, const struct tf_tree_node *b);

#endif
