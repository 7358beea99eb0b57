/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_OUTBOX_H
#define TF_FEDERATION_CORE_OUTBOX_H

#include "federation/core/state.h"

/* Persist, then act and tell. */

/* Goes out once every change made so far is durable. The action is taken. */
void fed_outbox_hold(struct fed *fed, struct fed_action action);
/* Goes out with this step. */
void fed_outbox_now(struct fed *fed, struct fed_action action);
/* At the end of a step: starts a transaction if one is needed, lets go what may go. */
void fed_outbox_flush(struct fed *fed);
void fed_outbox_release(struct fed *fed);

/* Answers a client. */
void fed_reply_done(struct fed *fed, uint64_t request, enum fed_outcome outcome, struct tf_uid uid,
                    uint64_t version);
void fed_reply_error(struct fed *fed, uint64_t request, enum tf_error_code code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void fed_alarm_now(struct fed *fed, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A record changed or went. */
void fed_touch_job(struct fed *fed, struct job *job);
void fed_touch_epoch(struct fed *fed); /* before the job that uses it */
void fed_touch_rollback(struct fed *fed);
void fed_touch_leaders(struct fed *fed);
void fed_touch_cluster(struct fed *fed, const struct cluster *cluster);
void fed_touch_summary(struct fed *fed, const struct cluster *cluster);
/* What is held from now on waits for a proof that this process still leads. */
void fed_touch_freeze(struct fed *fed, const char *key); /* as fed_freeze_record has it */
void fed_touch_proof(struct fed *fed);

#endif
