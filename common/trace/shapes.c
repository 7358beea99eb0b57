/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the specs that jobs of a trace have in common. What a job's columns become is in jobs.c. */
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/hash.h"
#include "common/base/name.h"
#include "common/base/text.h"
#include "common/trace/trace.h"

struct trace_shape {
    char *key;
    struct tf_job_spec spec;
    UT_hash_handle hh;
};

/* Each column that is in the spec. */
static void write_key(const struct tf_trace_job *job, struct tf_buf *out)
{
    const uint64_t numbers[] = {(uint64_t)job->instances, (uint64_t)job->gpus, (uint64_t)job->cpu,
                                (uint64_t)job->memory, (uint64_t)job->workload};
    for (size_t i = 0; i < TF_ARRAY_LEN(numbers); i++) {
        tf_buf_uint(out, numbers[i]);
        tf_buf_char(out, '|');
    }
    tf_buf_str(out, job->priority ? job->priority : "");
    tf_buf_char(out, '|');
    tf_buf_str(out, job->gpu_models ? job->gpu_models : "");
}

void tf_trace_shapes_release(struct tf_trace_shapes *shapes)
{
    struct trace_shape *shape, *next;
    HASH_ITER (hh, shapes->by_key, shape, next) {
        HASH_DEL(shapes->by_key, shape);
        free(shape->key);
        tf_job_spec_release(&shape->spec);
        free(shape);
    }
}

static void remember(struct tf_trace_shapes *shapes, const char *key, const struct tf_job_spec *spec)
{
    struct trace_shape *shape = tf_calloc(1, sizeof *shape);
    shape->key = tf_strdup(key);
    tf_job_spec_copy(&shape->spec, spec);
    HASH_ADD_KEYPTR(hh, shapes->by_key, shape->key, strlen(shape->key), shape);
}

/* A job's own are its names alone. */
static bool has_names(const struct tf_trace_job *job)
{
    return tf_name_check(job->tenant, "tenant", NULL) == 0 && tf_name_check(job->id, "job_id", NULL) == 0;
}

int tf_trace_shapes_manifest(struct tf_trace_shapes *shapes, const struct tf_trace_job *job,
                             struct tf_job_manifest *out, struct tf_error *err)
{
    TF_AUTO_BUF key = TF_BUF_INIT;
    struct trace_shape *known = NULL;
    write_key(job, &key);
    HASH_FIND(hh, shapes->by_key, tf_buf_text(&key), key.len, known);
    if (!known || !has_names(job)) {
        if (tf_trace_job_manifest(job, out, err))
            return -1;
        remember(shapes, tf_buf_text(&key), &out->spec);
        return 0;
    }
    tf_job_manifest_release(out);
    tf_str_set(&out->tenant, job->tenant);
    tf_str_set(&out->name, job->id);
    tf_job_spec_copy(&out->spec, &known->spec);
    return 0;
}
