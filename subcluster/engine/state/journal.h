/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_ENGINE_JOURNAL_H
#define TF_ENGINE_JOURNAL_H

#include "subcluster/engine/state/folder.h"

/* The journal of a state folder: what ran when, by the word of the shims alone, for checkers that trust
 * nobody else. One JSON object a line, in journal/YYYY-MM-DD.log (UTC), appended by a single write and on
 * disk when the call returns:
 *
 *   {"event":"start","uid":"<hex>","epoch":7,"index":0,"attempt":1,"wall":<ms>,"boottime":<ms>,"tenant":"search",
 *    "name":"rank","node":"n1","gpus":[0,1],"pid":<of the writer>}
 *   {"event":"stop", ... the same ..., "cause":"ended","code":0,"signal":0}
 *
 * start is written before the command can run, stop when nothing of the instance lives any more. A start is
 * written at most once an attempt. A stop is written at least once if anything may have run; when the writer
 * was killed between the line and the exit record, once more, with a later time: the first one counts. A stop
 * without a start: the shim was killed before it started the command. */
enum tf_journal_event { TF_JOURNAL_START, TF_JOURNAL_STOP };

/* end: cause, code, signal of a stop; else NULL. */
int tf_journal_add(int root, enum tf_journal_event event, const struct tf_engine_spec *spec,
                   const struct tf_exit_record *end, struct tf_error *err);

#endif
