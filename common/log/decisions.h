/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_LOG_DECISIONS_H
#define TF_LOG_DECISIONS_H

#include "common/base/error.h"

/* The log of decisions: lines of why, in two files of at most 16 MiB, the older one with ".1". It is for
 * people: what cannot be written is dropped, with a word in the process's log, and stops nothing. One thread.
 */
struct tf_decisions;

/* Appends to path (copied). Never NULL: a file that cannot be opened is tried again by tf_decisions_reopen.
 */
struct tf_decisions *tf_decisions_open(const char *path);
/* -1 and why, if lines are being dropped because the file is not open. */
int tf_decisions_check(const struct tf_decisions *decisions, struct tf_error *err);
/* NULL is fine for all of these. Lines also go to the process's log, at debug. */
void tf_decisions_line(struct tf_decisions *decisions, const char *line);
void tf_decisions_reopen(struct tf_decisions *decisions); /* after somebody moved the file away */
void tf_decisions_close(struct tf_decisions *decisions);

#endif
