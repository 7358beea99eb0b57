/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by tenant, kept as jobs come, change and end. */
#include "federation/core/tenants.h"

#include "federation/core/image.h"

#include <assert.h>
#include <inttypes.h>

struct tenant {
    char *name;
    int64_t jobs, gpus;
    UT_hash_handle hh;
};

static struct tenant *find(const struct fed *fed, const char *name)
{
    struct tenant *tenant = NULL;
    HASH_FIND_STR(fed->tenants, name, tenant);
    return tenant;
}

static struct tenant *find_or_add(struct fed *fed, const char *name)
{
    struct tenant *tenant = find(fed, name);
    if (tenant)
        return tenant;
    tenant = tf_calloc(1, sizeof *tenant);
    tenant->name = tf_strdup(name);
    HASH_ADD_KEYPTR(hh, fed->tenants, tenant->name, strlen(tenant->name), tenant);
    return tenant;
}

static void forget_if_empty(struct fed *fed, struct tenant *tenant)
{
    if (tenant->jobs)
        return;
    assert(tenant->gpus == 0);
    HASH_DELETE(hh, fed->tenants, tenant);
    free(tenant->name);
    free(tenant);
}

/* The most that a job may hold. */
static int64_t spec_gpus(const struct tf_job_spec *spec)
{
    return (int64_t)spec->elastic.max * spec->group.shape.gpus;
}

void fed_tenant_discharge(struct fed *fed, struct job *job)
{
    if (!job->charged)
        return;
    struct tenant *tenant = find(fed, job->record.tenant);
    tenant->jobs--;
    tenant->gpus -= job->charged_gpus;
    job->charged = false;
    forget_if_empty(fed, tenant);
}

void fed_tenant_charge(struct fed *fed, struct job *job)
{
    bool counts = !tf_phase_is_final(job->record.phase);
    int64_t gpus = spec_gpus(job->record.spec);
    if (job->charged == counts && (!counts || job->charged_gpus == gpus))
        return;
    fed_tenant_discharge(fed, job);
    if (!counts)
        return;
    struct tenant *tenant = find_or_add(fed, job->record.tenant);
    tenant->jobs++;
    tenant->gpus += gpus;
    job->charged = true;
    job->charged_gpus = gpus;
}

/* What the tenant has without the job that is to be changed. */
static void others(const struct fed *fed, const char *name, const struct job *old, int64_t *jobs,
                   int64_t *gpus)
{
    const struct tenant *tenant = find(fed, name);
    *jobs = tenant ? tenant->jobs : 0;
    *gpus = tenant ? tenant->gpus : 0;
    if (old && old->charged) {
        --*jobs;
        *gpus -= old->charged_gpus;
    }
}

static void check_amounts(const struct fed *fed, const struct tf_job_manifest *m,
                          const struct tf_tenant_limits *limits, const struct job *old,
                          struct tf_complaints *out)
{
    int64_t jobs, gpus, more = spec_gpus(&m->spec);
    others(fed, m->tenant, old, &jobs, &gpus);
    if (limits->max_jobs && jobs + 1 > limits->max_jobs)
        tf_complaints_add(out, "metadata.tenant",
                          "tenant %s has %" PRId64
                          " unfinished jobs and may have %d (maxJobs): delete one or wait "
                          "for one to end",
                          m->tenant, jobs, limits->max_jobs);
    if (limits->max_gpus && gpus + more > limits->max_gpus)
        tf_complaints_add(out, "spec.instances",
                          "%" PRId64 " GPUs at most, and tenant %s has asked for %" PRId64
                          " in other jobs: it may have %d in all (maxGpus)",
                          more, m->tenant, gpus, limits->max_gpus);
}

static void check_priority(const struct fed *fed, const struct tf_job_manifest *m,
                           const struct tf_tenant_limits *limits, struct tf_complaints *out)
{
    const struct tf_classes *classes = &fed->settings.policy.classes;
    if (limits->max_priority &&
        tf_classes_rank(classes, m->spec.priority) > tf_classes_rank(classes, limits->max_priority))
        tf_complaints_add(out, "spec.priority", "tenant %s may use classes up to %s (maxPriority)", m->tenant,
                          limits->max_priority);
}

void fed_tenant_check(const struct fed *fed, const struct tf_job_manifest *m, const struct job *old,
                      struct tf_complaints *out)
{
    const struct tf_tenant_limits *limits = tf_settings_tenant(&fed->settings, m->tenant);
    int64_t longest = tf_settings_max_min_runtime(&fed->settings, m->tenant, m->spec.priority);
    if (m->spec.min_runtime > longest)
        tf_complaints_add(out, "spec.minRuntime",
                          "%" PRId64 " s, and tenant %s with class %s may ask for %" PRId64
                          " s (maxMinRuntime)",
                          m->spec.min_runtime / TF_SECOND, m->tenant, m->spec.priority, longest / TF_SECOND);
    if (!limits)
        return;
    check_priority(fed, m, limits, out);
    check_amounts(fed, m, limits, old, out);
}

void fed_tenants_release(struct fed *fed)
{
    struct tenant *tenant, *next;
    HASH_ITER (hh, fed->tenants, tenant, next) {
        tenant->jobs = tenant->gpus = 0;
        forget_if_empty(fed, tenant);
    }
}

/* ---- images ---- */

static void image_tenant(struct tf_image *image, struct tenant *tenant)
{
    tf_image_open(image, tenant);
    tf_image_skip(image, &tenant->name, "written before");
    tf_image_skip(image, &tenant->hh, "filed by its name");
    tf_image_number(image, &tenant->jobs);
    tf_image_number(image, &tenant->gpus);
    tf_image_close(image);
}

void fed_tenants_image(struct tf_image *image, struct fed *fed)
{
    uint64_t count = tf_image_count(image, HASH_COUNT(fed->tenants));
    struct tenant *tenant = tf_image_is_reading(image) ? NULL : fed->tenants;
    tf_image_skip(image, &fed->tenants, "one by one");
    for (; count > 0 && !tf_image_failed(image); count--) {
        char *name = NULL;
        tf_image_string(image, tenant ? &tenant->name : &name);
        if (tf_image_failed(image) || (!tenant && !name))
            return;
        image_tenant(image, tenant ? tenant : find_or_add(fed, name));
        free(name);
        tenant = tenant ? tenant->hh.next : NULL;
    }
}
