/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_CORDON_H
#define TF_SUBCLUSTER_CORE_CORDON_H

#include "subcluster/core/state.h"

/* Nodes and GPUs that people keep new work from, and let it come to again. What runs there goes on. Each is a
 * record of its own; the answer leaves when it is durable. */
void cordon_asked(struct sub *sub, const struct tf_ask *ask);
/* A stored one, taken; false with what is wrong with it. */
bool cordon_load(struct sub *sub, struct tf_cordon *cordon, const char **fault);

#endif
