/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how jobs are listed. */
#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/when.h"

enum cell_style phase_style(enum tf_phase phase)
{
    switch (phase) {
    case TF_PHASE_RUNNING:
    case TF_PHASE_SUCCEEDED:
        return CELL_GOOD;
    case TF_PHASE_FAILED:
        return CELL_BAD;
    case TF_PHASE_PENDING:
    case TF_PHASE_HELD:
    case TF_PHASE_STARTING:
    case TF_PHASE_STOPPING:
        return CELL_WAITING;
    case TF_PHASE_NONE:
    case TF_PHASE_DELETED:
        break;
    }
    return CELL_FAINT;
}

void phase_text(const struct tf_job_view *job, struct tf_buf *buf)
{
    static const char *const names[] = {"Short", "Repairing", "Unreachable", "Moving", "Degraded"};
    tf_buf_str(buf, tf_phase_name(job->phase));
    for (size_t i = 0; i < TF_ARRAY_LEN(names); i++)
        if (job->conditions >> i & 1u)
            tf_buf_fmt(buf, ",%s", names[i]);
}

/* A reason is told as a whole sentence, "T/N waits (GPUS): nearest is ...": here name and code stand beside
 * it. */
static const char *without_lead(const struct tf_job_view *job)
{
    TF_AUTO_BUF lead = TF_BUF_INIT;
    job_name(job, &lead);
    tf_buf_fmt(&lead, " waits (%s): ", tf_reason_name(job->reason));
    bool leads = tf_starts_with(job->reason_text, tf_buf_text(&lead));
    return job->reason_text + (leads ? lead.len : 0);
}

void reason_text(const struct tf_job_view *job, struct tf_buf *buf)
{
    if (tf_phase_is_final(job->phase)) {
        tf_buf_str(buf, job->message ? job->message : "");
        return;
    }
    if (job->reason)
        tf_buf_str(buf, tf_reason_name(job->reason));
    if (job->reason && job->reason_text)
        tf_buf_str(buf, ": ");
    if (job->reason_text)
        tf_buf_str(buf, without_lead(job));
}

void job_name(const struct tf_job_view *job, struct tf_buf *buf)
{
    tf_buf_fmt(buf, "%s/%s", job->manifest.tenant, job->manifest.name);
}

static const struct column columns[] = {
    {"TENANT/NAME", 0},
    {"PRIORITY", 0},
    {"PHASE", 0},
    {"READY", COLUMN_RIGHT},
    {"CLUSTER", 0},
    {"AGE", COLUMN_RIGHT},
    {"UID", COLUMN_WIDE},
    {"EPOCH", COLUMN_WIDE | COLUMN_RIGHT},
    {"RESTARTS", COLUMN_WIDE | COLUMN_RIGHT},
    {"EVICTIONS", COLUMN_WIDE | COLUMN_RIGHT},
    {"GPUS", COLUMN_WIDE | COLUMN_RIGHT},
    {"MODEL", COLUMN_WIDE},
    {"REASON", 0},
};

/* Ready members of those it has; of those it wants, while it has none. Unknown while its subcluster is away.
 */
static void ready_cell(const struct tf_job_view *job, struct columns *out)
{
    int32_t size = job->size ? job->size : job->manifest.spec.elastic.min;
    if (tf_phase_is_final(job->phase))
        columns_add(out, "-");
    else if (job->conditions & TF_CONDITION_UNREACHABLE)
        columns_add_fmt(out, "?/%d", size);
    else
        columns_add_fmt(out, "%d/%d", job->ready, size);
}

static void wide_cells(const struct tf_job_view *job, struct columns *out)
{
    char uid[TF_UID_TEXT];
    tf_uid_format(job->uid, uid);
    columns_add(out, uid);
    if (job->epoch)
        columns_add_fmt(out, "%llu", (unsigned long long)job->epoch);
    else
        columns_add(out, "-");
    columns_add_fmt(out, "%d", job->restarts);
    columns_add_fmt(out, "%d", job->evictions);
    columns_add_fmt(out, "%lld", (long long)job->size * job->manifest.spec.group.shape.gpus);
    columns_add(out, job->model);
}

static void cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct tf_job_view *job = object;
    char age[WHEN_TEXT];
    TF_AUTO_BUF text = TF_BUF_INIT;
    job_name(job, &text);
    columns_add(out, tf_buf_text(&text));
    columns_add(out, job->manifest.spec.priority);
    tf_buf_clear(&text);
    phase_text(job, &text);
    columns_add_styled(out, phase_style(job->phase), tf_buf_text(&text));
    ready_cell(job, out);
    columns_add(out, job->cluster);
    columns_add(out, when_age(job->submitted, now, age));
    wide_cells(job, out);
    tf_buf_clear(&text);
    reason_text(job, &text);
    columns_add(out, tf_buf_text(&text));
}

static void name(const void *object, struct tf_buf *buf)
{
    job_name(object, buf);
}

const struct resource resource_jobs = {"jobs", columns, TF_ARRAY_LEN(columns), &view_job, cells, name};

/* ---- fetching ---- */

static int fetch_named(struct fedctl *ctl, struct listing *listing, bool reservations)
{
    int code = FEDCTL_DONE;
    for (size_t i = 0; i < ctl->words.count; i++) {
        struct tf_request request = {.method = TF_METHOD_GET};
        struct tf_reply reply = {0};
        struct tf_error err = TF_ERROR_INIT;
        if (target_job(ctl, ctl->words.items[i], &request.job, &err))
            return fedctl_usage(ctl, "%s", err.text);
        int failed = fedctl_call(ctl, &request, &reply, &err);
        if (!failed && reservations && !tf_is_reservation(&reply.job.manifest.spec))
            failed = tf_error_set(&err, TF_ERR_NOT_FOUND, "it is a job");
        if (!failed)
            listing_add(listing, &reply.job);
        else {
            if (reservations)
                target_about_reservation(&err, ctl->words.items[i]);
            code = fedctl_fail_about(ctl, ctl->words.items[i], &err);
        }
        tf_reply_release(&reply);
        tf_request_release(&request);
        if (code == FEDCTL_UNREACHABLE || code == FEDCTL_TIMED_OUT)
            break;
    }
    return code;
}

int fetch_filter(const struct fedctl *ctl, struct tf_job_filter *filter, struct tf_error *err)
{
    const struct options *o = &ctl->options;
    if (o->tenant && !o->all_tenants)
        filter->tenant = tf_strdup(o->tenant);
    filter->cluster = tf_strdup(o->cluster);
    if (o->selector && target_selector(o->selector, &filter->selector, err))
        return -1;
    return o->phase ? target_phases(o->phase, &filter->phases, err) : 0;
}

int32_t fetch_page_size(const struct fedctl *ctl)
{
    const struct options *o = &ctl->options;
    int32_t chunk = o->chunk ? o->chunk : TF_PAGE_MAX; /* verbs without the option */
    return o->limit && o->limit < chunk ? (int32_t)o->limit : chunk;
}

int fetch_pages(struct fedctl *ctl, struct tf_request *request, struct listing *listing,
                char *(*add)(struct tf_reply *reply, struct listing *listing))
{
    do {
        struct tf_reply reply = {0};
        struct tf_error err = TF_ERROR_INIT;
        if (fedctl_call(ctl, request, &reply, &err))
            return fedctl_fail(ctl, &err);
        free(request->list.page_token);
        request->list.page_token = add(&reply, listing);
        tf_reply_release(&reply);
    } while (request->list.page_token && *request->list.page_token && !listing_is_over(listing));
    if (request->list.page_token && *request->list.page_token)
        listing->more = listing->limit != 0;
    return FEDCTL_DONE;
}

static char *add_jobs(struct tf_reply *reply, struct listing *listing)
{
    tf_vec_each (job, &reply->list.jobs)
        listing_add(listing, job);
    return TF_STEAL(reply->list.next_token);
}

int fetch_of_kind(struct fedctl *ctl, struct listing *listing, bool reservations)
{
    if (ctl->words.count)
        return fetch_named(ctl, listing, reservations);
    struct tf_request request = {.method = TF_METHOD_LIST};
    struct tf_error err = TF_ERROR_INIT;
    request.list.page_size = fetch_page_size(ctl);
    request.list.filter.reservations = reservations;
    int code = fetch_filter(ctl, &request.list.filter, &err) ? fedctl_usage(ctl, "%s", err.text)
                                                             : fetch_pages(ctl, &request, listing, add_jobs);
    tf_request_release(&request);
    return code;
}

int fetch_jobs(struct fedctl *ctl, struct listing *listing)
{
    return fetch_of_kind(ctl, listing, false);
}
