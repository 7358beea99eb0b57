/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_TRACE_H
#define TF_SUBCLUSTER_CORE_TRACE_H

#include "subcluster/core/state.h"

/* One line of why: "[   120.000] job search/rank ..."; the time is the monotonic one, in seconds. */
void trace(struct sub *sub, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same, beginning with "job TENANT/NAME epoch N ". */
void trace_epoch(struct sub *sub, const struct job *job, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Something an operator must know. Says what, where, and what to do. */
void alarm_raise(struct sub *sub, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
