/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/federation/load.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <inttypes.h>
#include <unistd.h>

#define TRACE "../shared/traces/jobs_itp2021.csv.gz"

void test_job_make(struct tf_job_manifest *manifest, const char *name, int32_t instances, int32_t gpus,
                   const char *script)
{
    struct tf_job_spec *spec = &manifest->spec;
    tf_job_manifest_init(manifest);
    tf_str_set(&manifest->tenant, "test");
    tf_str_set(&manifest->name, name);
    tf_str_set(&spec->priority, "batch");
    spec->elastic = (struct tf_elastic){instances, instances, instances};
    spec->group.shape.gpus = gpus;
    spec->group.shape.cpu = 100;
    spec->group.shape.memory = 16;
    tf_strs_add(&spec->group.command, "/bin/sh");
    tf_strs_add(&spec->group.command, "-c");
    tf_strs_add(&spec->group.command, script);
}

/* The n-th column of a line of comma-separated values as a number; -1 if it is none. */
static double column(const char *line, int n)
{
    for (; n > 0 && line; n--) {
        line = strchr(line, ',');
        line = line ? line + 1 : NULL;
    }
    char *end = NULL;
    double value = line ? strtod(line, &end) : -1;
    return line && end != line ? value : -1;
}

/* job_id,submit_s,duration_s,gpus_total,instances,gpus_per_instance,... */
static void take_row(struct test_rows *rows, const char *line, int64_t divisor)
{
    enum { SUBMIT = 1, DURATION = 2, INSTANCES = 4, GPUS = 5 };
    struct test_row *row = tf_vec_add(rows);
    snprintf(row->name, sizeof row->name, "%.*s", (int)strcspn(line, ","), line);
    row->at_ms = (int64_t)(column(line, SUBMIT) * TF_SECOND) / divisor;
    row->run_ms = (int64_t)(column(line, DURATION) * TF_SECOND) / divisor;
    row->instances = (int32_t)column(line, INSTANCES);
    row->gpus = (int32_t)column(line, GPUS);
    row->end = TF_PHASE_SUCCEEDED;
    if (row->at_ms < 0 || row->run_ms < 0 || row->instances < 1 || row->gpus < 0) {
        fprintf(stderr, "%s: cannot read the row %s", TRACE, line);
        abort();
    }
}

bool test_trace_read(struct test_rows *rows, size_t count, int64_t divisor)
{
    const char *given = getenv("TF_TRACES"); /* another folder than ../shared/traces */
    TF_AUTO_FREE char *path = given ? tf_asprintf("%s/jobs_itp2021.csv.gz", given) : tf_strdup(TRACE);
    TF_AUTO_FREE char *command = tf_asprintf("gzip -dc '%s'", path);
    TF_AUTO_FREE char *line = NULL;
    size_t size = 0;
    FILE *pipe = access(path, R_OK) == 0 ? popen(command, "r") : NULL;
    if (!pipe) {
        printf("the trace %s is not there (TF_TRACES=FOLDER names another place)\n", path);
        return false;
    }
    bool header = getline(&line, &size, pipe) > 0;
    while (header && rows->count < count && getline(&line, &size, pipe) > 0)
        take_row(rows, line, divisor);
    pclose(pipe); /* gzip is cut off in the middle: its status says nothing */
    return rows->count == count;
}

static void choose_end(struct test_row *row, struct tf_rng *rng)
{
    uint64_t dice = tf_rng_below(rng, 10);
    row->end = TF_PHASE_SUCCEEDED;
    if (dice == 0 && row->instances == 1)
        row->end = TF_PHASE_FAILED;
    if (dice == 1) {
        row->end = TF_PHASE_DELETED;
        row->delete_ms = tf_rng_range(rng, 0, 2 * row->run_ms);
    }
}

void test_rows_random(struct test_rows *rows, struct tf_rng *rng, size_t count, int64_t span_ms,
                      int64_t run_ms_max)
{
    static const struct {
        int32_t instances, gpus;
    } shapes[] = {{1, 1}, {1, 1}, {1, 1}, {1, 2}, {1, 8}, {2, 1}, {2, 8}, {3, 4}, {1, 0}};
    for (size_t i = 0; i < count; i++) {
        struct test_row *row = tf_vec_add(rows);
        size_t shape = (size_t)tf_rng_below(rng, TF_ARRAY_LEN(shapes));
        snprintf(row->name, sizeof row->name, "job-%zu", i);
        row->at_ms = span_ms * (int64_t)i / (int64_t)count;
        row->run_ms = tf_rng_range(rng, 100, run_ms_max);
        row->instances = shapes[shape].instances;
        row->gpus = shapes[shape].gpus;
        choose_end(row, rng);
    }
}

void test_rows_release(struct test_rows *rows)
{
    tf_vec_release(rows);
}

struct test_job *test_row_submit(struct test_client *client, const struct test_row *row)
{
    struct tf_job_manifest manifest;
    const char *then = row->end == TF_PHASE_FAILED ? "exit 3" : "exit 0";
    TF_AUTO_FREE char *script = tf_asprintf("sleep %" PRId64 ".%03" PRId64 "; %s", row->run_ms / TF_SECOND,
                                            row->run_ms % TF_SECOND, then);
    test_job_make(&manifest, row->name, row->instances, row->gpus, script);
    manifest.spec.retry_limit = 1;
    manifest.spec.retry_backoff = 100;
    struct test_job *job = test_client_submit(client, &manifest, row->end);
    if (row->end == TF_PHASE_DELETED)
        test_client_delete_after(client, job, row->delete_ms);
    return job;
}
