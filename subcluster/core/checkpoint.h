/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_CHECKPOINT_H
#define TF_SUBCLUSTER_CORE_CHECKPOINT_H

#include "subcluster/core/jobs.h"

/* What jobs tell of their checkpoints, and what a restart of them costs (DESIGN.md §8.2, §8.3): work since
 * the latest checkpoint is what an eviction loses, and a job that restarts to grow does so right after one.
 */

/* One of its instances has told of a finished checkpoint, which is one of the whole job. Of those that follow
 * within CHECKPOINT_LEAST nothing is remembered: each that is costs a durable write and a report. */
void checkpoint_told(struct sub *sub, const struct tf_instance_id *id);
/* Its latest checkpoint is so young that a restart now loses next to nothing. */
bool checkpoint_is_fresh(const struct sub *sub, const struct job *job);
/* Its record was read. */
void checkpoint_load(struct sub *sub, struct job *job);

/* All members are stopped, to start again together. What that takes is measured until they are ready again;
 * not if one of them fails meanwhile, whose back-off is none of it. */
void restart_begins(struct sub *sub, struct job *job);
void restart_fails(struct job *job);
void restart_look(struct sub *sub, struct job *job); /* a member got ready */
/* ms from stop to ready, of the latest restart; before there was one, what its start took; -1: it is
 * starting.
 */
int64_t restart_cost(const struct job *job);

#endif
