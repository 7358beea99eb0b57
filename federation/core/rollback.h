/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_ROLLBACK_H
#define TF_FEDERATION_CORE_ROLLBACK_H

#include "federation/core/state.h"

/* A store that was restored to an older state, and what the operator's --accept-rollback means then. */

/* The leader was started with it. */
void fed_rollback_accept(struct fed *fed);
/* The stored record of an earlier leader's. */
void fed_rollback_load(struct fed *fed, uint64_t number);
/* A subcluster that nobody waited for has seen this epoch, which the store does not know. */
void fed_rollback_reaches(struct fed *fed, uint64_t epoch);
/* Ends the wait once every registered subcluster has told what runs there, or was forgotten since (that one
 * was forgotten before is what the copy says; it may have come back). */
void fed_rollback_look(struct fed *fed);
/* True if the epoch, which is no placement, is not released as an orphan: it is adopted, or left alone. The
 * report is taken then. */
bool fed_rollback_adopt(struct fed *fed, struct cluster *cluster, struct job *job, struct tf_report *report);
/* A job is there again, which has no placement: what was left alone of it is adopted. */
void fed_rollback_submitted(struct fed *fed, struct job *job);
/* The job was read, or submitted: if it was left alone where nobody has told yet, it waits for that. */
void fed_rollback_loaded(struct fed *fed, struct job *job);
/* The epoch has ended there. */
void fed_rollback_ended(struct fed *fed, struct cluster *cluster, struct tf_uid uid, uint64_t epoch);
/* It has told of all that runs there, or nobody will: what it did not tell of is not waited for. */
void fed_rollback_told(struct fed *fed, struct cluster *cluster);
void fed_rollback_forget(struct cluster *cluster);

#endif
