/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_CHANGE_H
#define TF_SUBCLUSTER_CORE_CHANGE_H

#include "subcluster/core/jobs.h"

/* A live epoch is told again: what may change under it is taken from the spec (DESIGN.md §3), the rest stays.
 */
void change_take(struct sub *sub, struct job *job, const struct tf_job_spec *spec);

#endif
