/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_LOAD_H
#define TF_TESTS_LOAD_H

#include "common/base/rng.h"
#include "tests/support/federation/client.h"

/* Jobs for tests of a whole federation. */

/* A batch job of so many instances with so many GPUs each that runs the shell script. */
void test_job_make(struct tf_job_manifest *manifest, const char *name, int32_t instances, int32_t gpus,
                   const char *script);

/* A row of a trace (../shared/traces). */
struct test_row {
    char name[TF_NAME_MAX + 1];
    int64_t at_ms, run_ms;   /* since the first submit; how long it runs */
    int32_t instances, gpus; /* gpus of one instance */
    enum tf_phase end;       /* SUCCEEDED; FAILED: with exit code 3, also when it is tried again; DELETED */
    int64_t delete_ms;       /* DELETED: when it should be asked for, after the submit */
};
struct test_rows {
    struct test_row *items;
    size_t count, cap;
};

/* The first `count` rows of the trace of ten clusters, all times divided by `divisor`. False if the file is
 * not there; then it has said so. */
bool test_trace_read(struct test_rows *rows, size_t count, int64_t divisor);
/* Like ones without a file: arrivals over span_ms, runs from 100 ms to run_ms_max, sizes up to 2 x 8 GPUs.
 * One in ten fails, one in ten is to be deleted, some of them after their end. */
void test_rows_random(struct test_rows *rows, struct tf_rng *rng, size_t count, int64_t span_ms,
                      int64_t run_ms_max);
void test_rows_release(struct test_rows *rows);

/* Submits the row: a real sleep. A delete is asked for as soon as it is due and the submit acknowledged. */
struct test_job *test_row_submit(struct test_client *client, const struct test_row *row);

#endif
