/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_RANDOM_JOB_H
#define TF_TESTS_RANDOM_JOB_H

#include "common/base/rng.h"
#include "common/model/job.h"

/* A random, filled manifest that passes tf_job_manifest_check; every field varies. manifest is raw memory,
 * owned by the caller afterwards. */
void random_job(struct tf_rng *rng, struct tf_job_manifest *manifest);

#endif
