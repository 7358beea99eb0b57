/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_MANIFEST_H
#define TF_MODEL_MANIFEST_H

#include "common/base/row.h"
#include "common/model/job.h"

/* The rows of a job's manifest (DESIGN.md §3): `apiVersion: tidefed/v1`, `kind: Job`, metadata, spec; the
 * struct is struct tf_job_manifest. settle is tf_job_spec_fill, check is tf_job_manifest_check. Rows with
 * TF_ROW_RELOADABLE may change under a running job. Printing a filled manifest with tf_table_yaml and reading
 * that gives an equal one. */
extern const struct tf_table tf_job_manifest_table;
/* The rows below `spec`, of struct tf_job_spec. */
extern const struct tf_table tf_job_spec_table;

#define TF_API_VERSION "tidefed/v1"
#define TF_KIND_JOB "Job"

enum {
    TF_MANIFEST_WEIGHT_MAX = 200 * 1024, /* so that a job's record stays below 256 KiB */
    TF_PORTS_MAX = 16,                   /* of one instance */
    TF_MIN_RUNTIME_MAX = 8 * 3600 * 1000 /* ms */
};

#endif
