/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_QUEUE_H
#define TF_FEDERATION_CORE_QUEUE_H

#include "common/base/buf.h"
#include "federation/core/state.h"

/* The waiting jobs in order: priority descending, submitted, uid; grouped by what they ask for. */

/* Files a waiting job under its demand, to be considered. */
void fed_queue_add(struct fed *fed, struct job *job);
void fed_queue_remove(struct fed *fed, struct job *job); /* fine if it is not in */
/* The classes changed. */
void fed_queue_rebuild(struct fed *fed);

/* The demand whose first job is next, of those to be considered; NULL: none. */
struct shape *fed_queue_next(const struct fed *fed);
struct job *fed_queue_first(const struct shape *shape);
/* It was considered and does not fit anywhere for now. */
void fed_queue_considered(struct fed *fed, struct shape *shape);
/* Something changed: every demand is considered again that may have a new answer. */
void fed_queue_reconsider(struct fed *fed);
void fed_queue_release(struct fed *fed);

/* Appends what of the spec says where it may run: models, topology, labels, clusters and regions. */
void fed_queue_key(struct tf_buf *key, const struct tf_job_spec *spec);

int fed_queue_cmp(const struct job *a, const struct job *b); /* the order of the queue: total */
int fed_todo_cmp(const struct tf_tree_node *a, const struct tf_tree_node *b); /* the order of fed.todo */

#endif
