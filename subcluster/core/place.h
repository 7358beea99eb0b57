/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_PLACE_H
#define TF_SUBCLUSTER_CORE_PLACE_H

#include "subcluster/core/state.h"

/* What the leader wants of one epoch. */

/* Starts it, or records why not; an epoch that is known changes nothing. Moves out of the entry what it
 * keeps. Returns the candidates that were looked at. */
int64_t place(struct sub *sub, struct tf_entry *entry);
/* Ends it and whatever of the job has a lower epoch: a durable promise. */
void release_epoch(struct sub *sub, const struct tf_entry *entry);
/* The leader has stored its end. */
void stored(struct sub *sub, const struct tf_entry *entry);

/* The live epoch of a job that has none, without members yet; what the entry owns of it moves. */
struct job *epoch_open(struct sub *sub, struct tf_entry *entry, int32_t size);
/* Of the catalog; -1: none was asked for. */
void epoch_set_model(struct sub *sub, struct job *job, int32_t model);
/* Nothing up to this epoch is begun here any more. */
void raise_floor(struct sub *sub, uint64_t epoch);

#endif
