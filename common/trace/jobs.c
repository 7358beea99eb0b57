/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what the columns of a job file mean. */
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/name.h"
#include "common/base/text.h"
#include "common/trace/csv.h"
#include "common/trace/trace.h"

enum column { ID, SUBMIT, DURATION, GPUS, INSTANCES, CPUS, MEMORY, MODELS, PRIORITY, TENANT, KIND, COLUMNS };

enum {
    REQUIRED = INSTANCES,
    INSTANCES_MAX = 4096,
    GPUS_MAX = 64,
    CPUS_MAX = 100000,
    GIB_MAX = 1024 * 1024,
    SECONDS_MAX = 1000 * 1000 * 1000,
};

static const char *const names[COLUMNS] = {
    [ID] = "job_id",
    [SUBMIT] = "submit_s",
    [DURATION] = "duration_s",
    [GPUS] = "gpus_per_instance",
    [INSTANCES] = "instances",
    [CPUS] = "cpus_per_instance",
    [MEMORY] = "mem_gib_per_instance",
    [MODELS] = "gpu_model",
    [PRIORITY] = "priority_class",
    [TENANT] = "tenant",
    [KIND] = "kind",
};

const char tf_trace_columns[] =
    "A CSV file, plain or gzipped: UTF-8, one header line, no quoting, columns by their names in any order;\n"
    "others are passed over. An empty field, or a column that is not there, is what the source does not "
    "say.\n"
    "\n"
    "Jobs (from: {csv: FILE} of a scenario, and fedctl replay):\n"
    "  job_id                unique within its tenant; a name (lower-case letters, digits, '-', '.')\n"
    "  submit_s              seconds since the beginning\n"
    "  duration_s            seconds from its start to its end; empty: it does not end by itself\n"
    "  gpus_per_instance     at most 64; a part of a GPU counts as a whole one\n"
    "  these must be there; the others may be:\n"
    "  instances             1 if it does not say; all start together\n"
    "  cpus_per_instance, mem_gib_per_instance\n"
    "  gpu_model             names joined by |, the best first; empty: any\n"
    "  priority_class        a class of the federation\n"
    "  tenant                \"trace\" if it does not say\n"
    "  kind                  train, infer or debug\n"
    "\n"
    "Nodes (nodesFrom: {csv: FILE} of a cluster):\n"
    "  node_id               must be there; a name\n"
    "  gpu_model, gpus, cpus, mem_gib\n"
    "                        unknown, 8, 128 and 1024 if it does not say; gpus 0 is a node without\n"
    "  topology_domain       place in the cluster's only plane, widest part first: pod-1/rack-3\n";

static void job_release(struct tf_trace_job *job)
{
    free(job->id);
    free(job->tenant);
    free(job->priority);
    free(job->gpu_models);
}

void tf_trace_jobs_release(struct tf_trace_jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++)
        job_release(&jobs->items[i]);
    free(jobs->items);
    *jobs = (struct tf_trace_jobs){0};
}

/* ---- columns ---- */

static int64_t scale(int64_t scale)
{
    return scale > 0 ? scale : 1;
}

static int read_times(const struct tf_csv *csv, const struct tf_trace_options *options,
                      struct tf_trace_job *job, struct tf_error *err)
{
    const int64_t max = INT64_C(1000) * SECONDS_MAX;
    if (!tf_csv_has(csv, SUBMIT))
        return tf_csv_fail(csv, err, "submit_s must be said");
    if (tf_csv_thousandths(csv, SUBMIT, 0, max, &job->submit, err) ||
        tf_csv_thousandths(csv, DURATION, 0, max, &job->duration, err))
        return -1;
    job->submit /= scale(options->time_scale) * scale(options->arrival_scale);
    job->duration /= scale(options->time_scale);
    if (job->duration < 1 && tf_csv_has(csv, DURATION))
        job->duration = 1;
    return 0;
}

static int read_shape(const struct tf_csv *csv, struct tf_trace_job *job, struct tf_error *err)
{
    int64_t gpus = 0, gib = 0, instances = 1;
    if (!tf_csv_has(csv, GPUS))
        return tf_csv_fail(csv, err, "gpus_per_instance must be said");
    if (tf_csv_thousandths(csv, GPUS, 0, GPUS_MAX * 1000, &gpus, err) ||
        tf_csv_whole(csv, INSTANCES, 1, 1, INSTANCES_MAX, &instances, err) ||
        tf_csv_thousandths(csv, CPUS, 0, CPUS_MAX * INT64_C(1000), &job->cpu, err) ||
        tf_csv_thousandths(csv, MEMORY, 0, GIB_MAX * INT64_C(1000), &gib, err))
        return -1;
    job->instances = (int32_t)instances;
    job->gpus = (int32_t)((gpus + 999) / 1000);
    job->fractional = gpus % 1000 != 0;
    job->memory = (gib * 1024 + 999) / 1000;
    return 0;
}

static int read_kind(const struct tf_csv *csv, struct tf_trace_job *job, struct tf_error *err)
{
    static const struct {
        const char *name;
        enum tf_workload workload;
    } kinds[] = {
        {"", TF_WORKLOAD_UNSET},
        {"train", TF_WORKLOAD_TRAINING},
        {"infer", TF_WORKLOAD_INFERENCE},
        {"debug", TF_WORKLOAD_DEBUG},
    };
    const char *kind = tf_csv_text(csv, KIND);
    for (size_t i = 0; i < TF_ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].name, kind) != 0)
            continue;
        job->workload = kinds[i].workload;
        return 0;
    }
    return tf_csv_fail(csv, err, "column kind: \"%.40s\" is none of train, infer, debug, or empty", kind);
}

static int read_words(const struct tf_csv *csv, const struct tf_trace_options *options,
                      struct tf_trace_job *job, struct tf_error *err)
{
    struct tf_error why = TF_ERROR_INIT;
    const char *tenant = tf_csv_has(csv, TENANT) ? tf_csv_text(csv, TENANT) : "trace";
    if (tf_name_check(tf_csv_text(csv, ID), "job_id", &why) || tf_name_check(tenant, "tenant", &why))
        return tf_csv_fail(csv, err, "%s", why.text);
    job->line = tf_csv_line(csv);
    job->id = tf_strdup(tf_csv_text(csv, ID));
    job->tenant = tf_strdup(tenant);
    const char *priority = options->priority ? options->priority : tf_csv_text(csv, PRIORITY);
    job->priority = *priority ? tf_strdup(priority) : NULL;
    job->gpu_models = tf_csv_has(csv, MODELS) ? tf_strdup(tf_csv_text(csv, MODELS)) : NULL;
    return 0;
}

static int check_unique(struct tf_csv *csv, const struct tf_trace_job *job, struct tf_error *err)
{
    TF_AUTO_BUF key = TF_BUF_INIT;
    tf_buf_cat(&key, job->tenant, "/", job->id);
    return tf_csv_unique(csv, "job", tf_buf_text(&key), err);
}

static int read_job(struct tf_csv *csv, const struct tf_trace_options *options, struct tf_trace_job *job,
                    struct tf_error *err)
{
    if (read_words(csv, options, job, err) || check_unique(csv, job, err) ||
        read_times(csv, options, job, err) || read_shape(csv, job, err) || read_kind(csv, job, err))
        return -1;
    return 0;
}

/* ---- the file ---- */

static bool is_wanted(const struct tf_csv *csv, const struct tf_trace_options *options)
{
    const char *tenant = tf_csv_has(csv, TENANT) ? tf_csv_text(csv, TENANT) : "trace";
    return !options->tenants || !options->tenants->count || tf_strs_has(options->tenants, tenant);
}

static bool is_sorted(const struct tf_trace_jobs *jobs)
{
    for (size_t i = 1; i < jobs->count; i++)
        if (jobs->items[i].submit < jobs->items[i - 1].submit)
            return false;
    return true;
}

struct place {
    int64_t submit;
    size_t at;
};

static int by_submit(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->submit != y->submit)
        return x->submit < y->submit ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void sort(struct tf_trace_jobs *jobs)
{
    if (is_sorted(jobs))
        return;
    TF_AUTO_FREE struct place *places = tf_calloc(jobs->count, sizeof *places);
    struct tf_trace_job *sorted = tf_calloc(jobs->count, sizeof *sorted);
    for (size_t i = 0; i < jobs->count; i++)
        places[i] = (struct place){jobs->items[i].submit, i};
    qsort(places, jobs->count, sizeof *places, by_submit);
    for (size_t i = 0; i < jobs->count; i++)
        sorted[i] = jobs->items[places[i].at];
    free(jobs->items);
    jobs->items = sorted;
    jobs->cap = jobs->count;
}

static int read_all(struct tf_csv *csv, const struct tf_trace_options *options, struct tf_trace_jobs *out,
                    struct tf_error *err)
{
    for (int got = tf_csv_next(csv, err); got != 0; got = tf_csv_next(csv, err)) {
        if (got < 0)
            return -1;
        if (!is_wanted(csv, options)) {
            out->left_out++;
            continue;
        }
        if (out->count == TF_TRACE_JOBS_MAX)
            return tf_csv_fail(csv, err, "more than %d jobs: take some tenants only", TF_TRACE_JOBS_MAX);
        if (read_job(csv, options, tf_vec_add(out), err))
            return -1;
        out->fractional += out->items[out->count - 1].fractional;
    }
    return 0;
}

static int check_options(const struct tf_trace_options *options, struct tf_error *err)
{
    if (options->time_scale < 0 || options->time_scale > TF_TRACE_SCALE_MAX || options->arrival_scale < 0 ||
        options->arrival_scale > TF_TRACE_SCALE_MAX)
        return tf_error_set(err, TF_ERR_INVALID, "the scale of times must be from 1 to %d",
                            TF_TRACE_SCALE_MAX);
    return 0;
}

int tf_trace_jobs_read(const char *path, const struct tf_trace_options *options, struct tf_trace_jobs *out,
                       struct tf_error *err)
{
    *out = (struct tf_trace_jobs){0};
    if (check_options(options, err))
        return -1;
    struct tf_csv *csv = tf_csv_open(path, names, COLUMNS, REQUIRED, err);
    if (!csv)
        return -1;
    int failed = read_all(csv, options, out, err);
    tf_csv_close(csv);
    if (failed)
        tf_trace_jobs_release(out);
    else
        sort(out);
    return failed;
}

/* ---- manifests ---- */

static void add_models(struct tf_shape *shape, const char *joined)
{
    TF_AUTO_FREE char *copy = tf_strdup(joined);
    char *rest = NULL;
    for (char *model = copy ? strtok_r(copy, "|", &rest) : NULL; model; model = strtok_r(NULL, "|", &rest))
        if (!tf_strs_has(&shape->gpu_models, model))
            tf_strs_add(&shape->gpu_models, model);
}

static int check(const struct tf_trace_job *job, const struct tf_job_manifest *manifest, struct tf_error *err)
{
    struct tf_complaints complaints = {0};
    bool ok = tf_job_manifest_check(manifest, &complaints);
    const struct tf_complaint *first = complaints.items;
    if (!ok)
        tf_error_set(err, TF_ERR_INVALID, "job %s of the trace: %s: %s%s", job->id, first->path, first->text,
                     strcmp(first->path, "spec.priority") == 0
                         ? " (`priority:` beside `csv:` gives all jobs of a trace one class)"
                         : "");
    tf_complaints_release(&complaints);
    return ok ? 0 : -1;
}

int tf_trace_job_manifest(const struct tf_trace_job *job, struct tf_job_manifest *out, struct tf_error *err)
{
    tf_job_manifest_release(out);
    tf_job_manifest_init(out);
    struct tf_job_spec *spec = &out->spec;
    tf_str_set(&out->tenant, job->tenant);
    tf_str_set(&out->name, job->id);
    tf_str_set(&spec->priority, job->priority);
    spec->workload = job->workload;
    spec->elastic = (struct tf_elastic){job->instances, job->instances, job->instances};
    spec->group.shape.gpus = job->gpus;
    spec->group.shape.cpu = job->cpu;
    spec->group.shape.memory = job->memory;
    if (job->gpus > 0)
        add_models(&spec->group.shape, job->gpu_models);
    tf_strs_add(&spec->group.command, "work");
    tf_job_spec_fill(spec);
    if (check(job, out, err)) {
        tf_job_manifest_release(out);
        return -1;
    }
    return 0;
}
