/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_RETRIES_H
#define TF_SUBCLUSTER_CORE_RETRIES_H

#include "subcluster/core/state.h"

/* Failures, back-off and the next attempts of members. */

struct failure {
    bool runs; /* it must be stopped first */
    int32_t exit_code;
    const char *output; /* may be NULL */
    char *message;      /* taken */
};
/* Of the member in that place: a retry, or beyond the limit the epoch's end. */
void member_fail(struct sub *sub, struct job *job, size_t place, struct failure f);
/* Nothing of the attempt is left; the next may follow once its back-off is over. */
void member_back_off(struct sub *sub, struct job *job, size_t place);
/* It failed because of others that were lost: it waits, at no cost, for the restart of all. */
void member_waits(struct sub *sub, struct job *job, size_t place);
/* Starts again those whose back-off is over. */
void members_retry(struct sub *sub, struct job *job);
/* The same; the one in that place is looked at again soon if others have its place. */
void member_retry_here(struct sub *sub, struct job *job, size_t place);
/* Loses those that wait to start again where others run by now: their GPUs are on them, or the node has no
 * CPU, memory or slots left for both. Only a store that was restored has such (DESIGN.md §7, truth order: the
 * engine is right). */
void members_lose_taken(struct sub *sub, struct job *job);
/* An instance without a record is none any more, or gone: others than its job may have waited for that. */
void members_wake(struct sub *sub, const struct ledger_node *node, struct tf_uid but);
/* All that stay are stopped and start again, together. */
void members_restart(struct sub *sub, struct job *job);
/* How long the next attempt after this one waits: retries.backoff, doubled with each, up to five minutes. */
int64_t member_backoff(const struct job *job, const struct tf_member *m);

#endif
