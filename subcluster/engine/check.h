/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_ENGINE_CHECK_H
#define TF_ENGINE_CHECK_H

#include "subcluster/engine/engine.h"

/* What every engine whose nodes are configured checks alike. */

int engine_check_node(const struct tf_node *node, struct tf_error *err);
/* The node that was asked for, NULL if there is none. NONE, or why not in text. */
enum tf_engine_refusal engine_check_start(const struct tf_node *node, const struct tf_engine_spec *spec,
                                          char *text, size_t size);

#endif
