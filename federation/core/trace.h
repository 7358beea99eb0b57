/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_TRACE_H
#define TF_FEDERATION_CORE_TRACE_H

#include "federation/core/state.h"

/* Lines of why, for operators, explain and golden tests; one format:
 *   [   120.000] job search/rank needs 4x8 H800 core(online): bj-a free 2 < 4; gz-b free 6 >= 4 -> gz-b,
 * epoch 17, size 4 */

/* The line up to the arrow: what the first job of the shape needs, and what each subcluster has. Of many
 * subclusters the chosen one and the first few are named. chosen may be NULL. Owned by the caller. */
char *fed_trace_candidates(const struct fed *fed, const struct shape *shape, const struct cluster *chosen);
void fed_trace_placed(struct fed *fed, struct job *job, const struct tf_placement *placement,
                      const char *line);
void fed_trace_waits(struct fed *fed, struct job *job);
/* Any other decision about a job. */
void fed_trace_job(struct fed *fed, struct job *job, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* About a subcluster or the federation. */
void fed_trace_line(struct fed *fed, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
