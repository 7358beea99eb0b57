/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_MEMBERS_PRIVATE_H
#define TF_SUBCLUSTER_CORE_MEMBERS_PRIVATE_H

#include "subcluster/core/members.h"

/* What the files that carry out members' lives share. */

static inline struct tf_mono moment_in(const struct sub *sub, int64_t ms)
{
    return (struct tf_mono){sub->now.mono.ms + ms};
}
/* It is looked at at that moment (TF_NEVER: not). */
void member_set_due(struct sub *sub, struct job *job, size_t place, struct tf_mono due);
/* Of an attempt that nothing is known of yet. */
struct member_run member_new_run(struct sub *sub, const struct tf_member *m);
/* It holds nothing any more: DONE, GONE or MISSING. */
void member_let_go(struct sub *sub, struct job *job, struct tf_member *m, enum tf_member_state state);
/* It is stopped, to be started again, or to be replaced. */
void member_stop(struct sub *sub, struct job *job, size_t place);
/* Its node cannot be reached: nothing is begun there, and nothing that takes too long held against it. */
bool member_on_silent_node(const struct sub *sub, const struct job *job, size_t place);
/* No part of the job any more, nor in its peers file: it is stopped. */
void member_leave(struct sub *sub, struct job *job, size_t place);
/* How long a start may take from when the engine has begun it. */
int64_t member_start_bound(const struct sub *sub, const struct job *job);

#endif
