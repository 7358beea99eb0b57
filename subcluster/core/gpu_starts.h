/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_CORE_GPU_STARTS_H
#define TF_SUBCLUSTER_CORE_GPU_STARTS_H

#include "subcluster/core/jobs.h"

/* GPUs on which starts fail (DESIGN.md §8.7). A start that fails speaks against its GPUs only while others of
 * its job are ready elsewhere: else the job itself is the likelier fault. After `gpuSuspectAfter` of them in
 * a row, of at least two jobs, they are suspect until somebody uncordons them. The counts are in the node's
 * record. */

/* An attempt has ended, or is given up, before it was ready. */
void gpu_start_failed(struct sub *sub, const struct job *job, size_t place, const char *why);
/* It is ready. */
void gpu_start_worked(struct sub *sub, const struct tf_member *m);

#endif
