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
/* The same of `kind: Reservation`: the struct is the same, with fewer fields that can be said. */
extern const struct tf_table tf_reservation_manifest_table;
/* Leaves of a manifest what a reservation can say, and fills the rest. */
void tf_reservation_settle(struct tf_job_manifest *manifest);
/* The rows below its `spec`, of struct tf_job_spec. */
extern const struct tf_table tf_reservation_spec_table;
/* Rows of a struct tf_reserve by itself. */
extern const struct tf_table tf_reserve_table;
/* Of the two the one by which a manifest of that spec is read and printed. */
const struct tf_table *tf_manifest_table_of(const struct tf_job_spec *spec);
/* The rows below `spec` of a job, and of both the table of whole structs: of struct tf_job_spec. */
extern const struct tf_table tf_job_spec_table;

#define TF_API_VERSION "tidefed/v1"
#define TF_KIND_JOB "Job"
#define TF_KIND_RESERVATION "Reservation"

enum {
    TF_MANIFEST_WEIGHT_MAX = 200 * 1024, /* so that a job's record stays below 256 KiB */
    TF_PORTS_MAX = 16,                   /* of one instance */
    TF_MIN_RUNTIME_MAX = 8 * 3600 * 1000 /* ms */
};

#endif
