/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_REPORTS_H
#define TF_SUBCLUSTER_CORE_REPORTS_H

#include "subcluster/core/state.h"

/* What the leader is told of epochs. */

/* The leader asked for an epoch that was never started here and never will. */
void reports_unknown(struct sub *sub, const struct tf_entry *entry);
/* A new link: everything is told. */
void reports_all(struct sub *sub);
/* Renders what is due, for when it is durable. Not while a transaction is out: so each transaction is
 * followed by one report a job. */
void reports_render(struct sub *sub);

#endif
