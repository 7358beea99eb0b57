/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_REPLAYING_H
#define TF_FEDCTL_REPLAYING_H

#include "common/base/hash.h"
#include "common/trace/trace.h"
#include "tools/fedctl/submission.h"

/* The jobs of a trace, submitted at their moments as processes that sleep, and followed to their ends. */

struct replayed {
    const struct tf_trace_job *job; /* borrowed */
    struct tf_uid uid;
    enum tf_phase phase; /* as last seen; DELETED also when it is no longer there */
    bool sent, refused, seen;
    int64_t wait; /* ms from its submit until all its instances were ready; TF_UNSET: never */
    UT_hash_handle hh;
};

struct replaying {
    struct fedctl *ctl;
    char id[SUBMISSION_SUFFIX + 1]; /* ends the names, and is the label `replay`, of all of them */
    struct replayed *jobs;          /* in order of submit */
    struct replayed *by_uid;
    size_t count, submitted, refused, ended;
    int64_t elapsed;          /* ms since the first submit */
    int64_t lag;              /* ms that the latest submit came after its moment */
    struct tf_mono deadline;  /* TF_NEVER: none */
    struct tf_mono next_tell; /* of the progress */
};

/* jobs is borrowed until the release. */
int replaying_init(struct replaying *r, struct fedctl *ctl, const struct tf_trace_jobs *jobs, size_t count,
                   struct tf_error *err);
void replaying_release(struct replaying *r);
/* Until all have ended. Progress and refusals go to stderr. Gives the exit code: FEDCTL_DONE also when some
 * were refused or failed; FEDCTL_TIMED_OUT at the deadline. */
int replaying_run(struct replaying *r);

#endif
