/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_LEVELS_H
#define TF_SUBCLUSTER_CORE_LEVELS_H

#include "subcluster/core/state.h"

/* At which level what a job has is held, by the policy in force (DESIGN.md §5). */

/* Of the job's class among those in force. */
int class_rank(const struct sub *sub, const struct tf_job_spec *spec);
/* Of its core: protected under minRuntime, while its class is below the ceiling. */
tf_level job_core_level(const struct sub *sub, const struct job *job);
/* Of what the member has. */
tf_level member_level(const struct sub *sub, const struct job *job, const struct tf_member *member);
/* The policy, the phase or marks changed: the ledger is told. */
void members_set_levels(struct sub *sub, struct job *job);

#endif
