/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_EXPLAIN_H
#define TF_FEDCTL_EXPLAIN_H

#include "tools/fedctl/fedctl.h"

/* What explain answers, by kind; the words are in ctl without that of the kind. Give the exit code. */
int explain_eviction(struct fedctl *ctl, const char *job);
int explain_node(struct fedctl *ctl, const char *node);

/* The document as -o says: JSON, else YAML. */
void explain_print(struct fedctl *ctl, const struct tf_table *table, const void *document);

#endif
