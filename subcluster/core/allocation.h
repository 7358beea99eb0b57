/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_ALLOCATION_H
#define TF_SUBCLUSTER_CORE_ALLOCATION_H

#include "subcluster/core/jobs.h"

/* The life of an epoch: [CLAIMING ->] STARTING -> RUNNING -> ENDING -> its end, recorded until the leader has
 * stored it. */

/* The end, once decided, is what stands: a later cause changes nothing. message says why, in words. */
struct ending {
    enum tf_end end;
    enum tf_reason reason;
    int32_t exit_code;
    const char *output;       /* may be NULL */
    char *message;            /* taken; may be NULL */
    int64_t lost_gpu_seconds; /* of an eviction */
};
/* Decides it: out of the peers file, members stopped; when all are gone it is recorded and reported. */
void epoch_end(struct sub *sub, struct job *job, struct ending ending);

/* Some of it had to leave for others: why, in words (taken), and what was lost. It goes on. */
void epoch_gave_way(struct sub *sub, struct job *job, char *message, int64_t lost_gpu_seconds);

/* A member became ready, ended or went: is the core ready, the work done, the end reached? */
void epoch_look(struct sub *sub, struct job *job);

/* Records the end of an epoch that has no members here; what ended owns is taken. The job is added if need
 * be; tenant and name may be NULL: a release does not say them. */
void epoch_record_end(struct sub *sub, struct tf_uid uid, const char *tenant, const char *name,
                      struct tf_ended ended);

/* When maxRuntime ends, of an epoch that has started. */
void epoch_set_runtime(struct sub *sub, struct job *job);
void epoch_runtime_over(struct sub *sub, struct job *job);
/* minRuntime protects the core from when it first ran fully (§5); a resize neither renews nor shortens it. */
void epoch_set_protection(struct sub *sub, struct job *job);
void epoch_protection_over(struct sub *sub, struct job *job);

#endif
