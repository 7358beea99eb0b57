/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_CALLS_H
#define TF_SUBCLUSTER_CORE_CALLS_H

#include "subcluster/core/state.h"

/* Calls to the engine for members, which leave when what they follow from is durable. */

/* Once an attempt; again after a restart of ours. */
void call_start(struct sub *sub, struct job *job, const struct tf_member *m);
void call_stop(struct sub *sub, struct job *job, const struct tf_member *m, int64_t stop_delay,
               int64_t grace);
/* Starts all that are PLANNED. */
void members_start(struct sub *sub, struct job *job);
/* An action is about to leave: what it bounds begins. False if it is a start that is not wanted any more. */
bool members_leave(struct sub *sub, const struct sub_action *action);

#endif
