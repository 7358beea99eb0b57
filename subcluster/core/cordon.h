/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_CORDON_H
#define TF_SUBCLUSTER_CORE_CORDON_H

#include "subcluster/core/state.h"

/* Nodes and GPUs that people keep new work from, and let it come to again. What runs there goes on. Each is a
 * record of its own; the answer leaves when it is durable. */
void cordon_asked(struct sub *sub, const struct tf_ask *ask);
/* A stored one, taken; false with what is wrong with it. */
bool cordon_load(struct sub *sub, struct tf_cordon *cordon, const char **fault);

/* To what was asked; text is taken, NULL: nothing more is to be said. Leaves when all before it is durable.
 */
void ask_answer(struct sub *sub, const struct tf_ask *ask, enum tf_error_code code, char *text);
/* Why the node that it names is not known. */
char *ask_node_unknown(const struct sub *sub, const struct tf_ask *ask);

#endif
