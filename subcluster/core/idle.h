/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_IDLE_H
#define TF_SUBCLUSTER_CORE_IDLE_H

#include "subcluster/core/state.h"

/* Why idle GPUs are idle, measured against the policy's mix of shapes: what waits, or, while nothing does,
 * what there is otherwise. */
struct idle_mix;

struct idle_mix *idle_mix_create(void);
void idle_mix_destroy(struct idle_mix *mix); /* NULL is fine */

/* The policy's shapes or classes have changed, or the ledger's rows were made anew. */
void idle_mix_changed(struct sub *sub);

#endif
