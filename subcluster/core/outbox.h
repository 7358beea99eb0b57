/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_OUTBOX_H
#define TF_SUBCLUSTER_CORE_OUTBOX_H

#include "subcluster/core/state.h"

/* Persist, then act and tell. */

void out_init(struct outbox *box);
void out_release(struct outbox *box);

/* Goes out once every change made so far is durable. The action is taken. */
void out_hold(struct sub *sub, struct sub_action action);
/* Goes out with this step. */
void out_now(struct sub *sub, struct sub_action action);
/* The link they were meant for is gone. */
void out_drop_sends(struct sub *sub);

/* True while a transaction is out: what is rendered now would have to wait for the next one anyway. */
bool out_busy(const struct sub *sub);
/* Lets go what is durable, then starts a transaction if one is needed. */
void out_flush(struct sub *sub);

/* A record changed or went. */
void out_touch(struct sub *sub, enum tf_record_kind kind); /* of those that there is one of */
void out_touch_node(struct sub *sub, const char *node);    /* its cordon */
void out_touch_job(struct sub *sub, const struct job *job);
void out_touch_migration(struct sub *sub, struct tf_uid id);
/* The first's record is durable no later than the second's, which changes with it. */
void out_touch_job_before_migration(struct sub *sub, const struct job *job, struct tf_uid id);
void out_touch_migration_before(struct sub *sub, struct tf_uid id, const struct job *later);
void out_touch_claim(struct sub *sub, struct tf_uid uid); /* on nodes, of that job */
/* The job's record is durable no later than the other's, which changes with it. */
void out_touch_job_before(struct sub *sub, const struct job *job, const struct job *later);

#endif
