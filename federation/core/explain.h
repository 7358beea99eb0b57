/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_EXPLAIN_H
#define TF_FEDERATION_CORE_EXPLAIN_H

#include "federation/core/state.h"

/* What explain and plan have in common. */

/* Why the job is not in that subcluster, or that it fits there. Of the job its record, rank and refusals are
 * read. */
struct fed_explain_row fed_explain_cluster(const struct fed *fed, const struct job *job,
                                           const struct cluster *cluster, struct tf_now now);
/* Each subcluster that the job names and nobody knows. */
void fed_explain_unknown(const struct fed *fed, const struct job *job, struct fed_explain_rows *out);
/* What is said of a job that "waits", or "would wait". */
char *fed_explain_waiting(const struct fed *fed, const struct job *job, const char *waits,
                          const struct fed_explain_rows *rows);
void fed_blocker_release(struct fed_blocker *blocker);
void fed_explain_row_release(struct fed_explain_row *row);

#endif
