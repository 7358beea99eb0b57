/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_YIELD_H
#define TF_SUBCLUSTER_CORE_YIELD_H

#include "subcluster/core/state.h"

/* A job that moves to another subcluster (DESIGN.md §7): the promise that its epoch here ends. */

/* The leader's entry names the job's live epoch: it may ask for the promise, or that none is given. */
void yield_take(struct sub *sub, struct job *job, const struct tf_entry *entry);
void yield_load(struct sub *sub, struct job *job);
/* The moment has come that was promised. */
void yield_due(struct sub *sub, struct job *job);

#endif
