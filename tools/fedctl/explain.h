/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_EXPLAIN_H
#define TF_FEDCTL_EXPLAIN_H

#include "common/wire/api.h"
#include "tools/fedctl/columns.h"
#include "tools/fedctl/fedctl.h"

/* What explain answers, by kind; the words are in ctl without that of the kind. Give the exit code. */
int explain_eviction(struct fedctl *ctl, const char *job);
int explain_node(struct fedctl *ctl, const char *node);
/* Adds to the answer which instances are on drained nodes, and until when. */
void explain_add_drains(struct fedctl *ctl, struct tf_explain_reply *reply);

/* The document as -o says: JSON, else YAML. */
void explain_print(struct fedctl *ctl, const struct tf_table *table, const void *document);
/* What is seen below the answer: nothing of it is cut, the texts are what was asked for. Releases it. */
void explain_table(struct fedctl *ctl, struct columns *table, struct tf_buf *buf);

#endif
