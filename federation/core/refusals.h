/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_REFUSALS_H
#define TF_FEDERATION_CORE_REFUSALS_H

#include "federation/core/state.h"

/* Refusal back-off: 1 s, doubling to 60 s, ended early by any change of that subcluster's capacity. */

/* The caller files the job again (fed_job_settle) and touches it. */
void fed_refusals_add(struct fed *fed, struct job *job, struct cluster *cluster, enum tf_reason reason,
                      const char *text);
/* The job has run: its refusals are forgotten. True if there were any. */
bool fed_refusals_accepted(struct fed *fed, struct job *job);
/* From a stored record: what is left of each wait, never more than the longest. */
void fed_refusals_load(struct fed *fed, struct job *job);
void fed_refusals_clear(struct fed *fed, struct job *job);

bool fed_refusals_hold(const struct fed *fed, const struct job *job, const struct cluster *cluster);
/* Of one in force: only time ends it. */
bool fed_refusals_last(const struct job *job, const struct cluster *cluster);
bool fed_refusals_any(const struct job *job); /* in force */
/* Ends what is over; jobs that wait are filed and considered anew. */
void fed_refusals_expire(struct fed *fed);
struct tf_mono fed_refusals_next(const struct fed *fed); /* TF_NEVER: none */

int fed_refused_cmp(const struct tf_tree_node *a,
                    const struct tf_tree_node *b); /* the order of fed.refused */

#endif
