/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_NOTES_H
#define TF_SUBCLUSTER_CORE_NOTES_H

#include "subcluster/core/members.h"
#include "subcluster/core/state.h"

/* What people find in a job's events of moves, drains and losses (common/model/note.h): in the job's record,
 * so told with its reports until the leader has it. The job lives. */

void note_job(struct sub *sub, struct job *job, enum tf_note_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* That move of the chain is over: DONE, or ROLLED_BACK. Nothing is noted of an epoch that ends, or has
 * ended: its end says more. */
void note_move_over(struct sub *sub, const struct tf_migration *chain, const struct tf_move *move);
/* These are gone, and the epoch goes on. Before they are let go. */
void note_lost(struct sub *sub, struct job *job, const struct places *lost, const char *why);
/* A drain of all these nodes was ordered: each job that has instances there. */
void note_drain(struct sub *sub, struct ledger_node *const *nodes, size_t count);
/* It has ended: each job that has instances there still. domain: what was drained, NULL: the one node. */
void note_drain_over(struct sub *sub, struct ledger_node *const *nodes, size_t count, const char *domain);

#endif
