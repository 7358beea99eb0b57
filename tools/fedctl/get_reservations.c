/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how reservations are listed. To the federation each is a job that is placed and never started. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/model/manifest.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/when.h"

const char *reservation_state(const struct tf_job_view *job)
{
    switch (job->phase) {
    case TF_PHASE_STARTING:
    case TF_PHASE_RUNNING:
        return "Kept";
    case TF_PHASE_SUCCEEDED:
        return "Used";
    case TF_PHASE_DELETED:
        return "Over";
    default:
        return tf_phase_name(job->phase);
    }
}

void reservation_owner(const struct tf_owner *owner, struct tf_buf *buf)
{
    if (owner->job)
        tf_buf_fmt(buf, "%s/%s", owner->tenant, owner->job);
    else if (owner->selector)
        tf_buf_fmt(buf, "%s, %s", owner->tenant, owner->selector);
    else
        tf_buf_str(buf, owner->tenant ? owner->tenant : "");
}

struct tf_wall reservation_end(const struct tf_job_view *job)
{
    return (struct tf_wall){job->submitted.ms + job->manifest.spec.reserve.expires};
}

static const struct column columns[] = {
    {"TENANT/NAME", 0},     {"PRIORITY", 0},        {"STATE", 0},  {"LEFT", COLUMN_RIGHT},
    {"GPUS", COLUMN_RIGHT}, {"CLUSTER", 0},         {"FOR", 0},    {"EXPIRES", 0},
    {"UID", COLUMN_WIDE},   {"MODEL", COLUMN_WIDE}, {"REASON", 0},
};

/* Instances that are kept, of those it was made for. */
static void left_cell(const struct tf_job_view *job, struct columns *out)
{
    if (tf_phase_is_final(job->phase))
        columns_add(out, "-");
    else if (job->conditions & TF_CONDITION_UNREACHABLE)
        columns_add_fmt(out, "?/%d", job->manifest.spec.elastic.min);
    else
        columns_add_fmt(out, "%d/%d", job->ready, job->manifest.spec.elastic.min);
}

static int32_t kept_gpus(const struct tf_job_view *job)
{
    int32_t sum = 0;
    tf_vec_each (member, &job->members)
        sum += tf_gpu_set_count(member->gpus);
    return sum ? sum : job->ready * job->manifest.spec.group.shape.gpus;
}

static void cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct tf_job_view *job = object;
    char uid[TF_UID_TEXT], when[WHEN_TEXT];
    TF_AUTO_BUF text = TF_BUF_INIT;
    (void)now;
    job_name(job, &text);
    columns_add(out, tf_buf_text(&text));
    columns_add(out, job->manifest.spec.priority);
    columns_add_styled(out, phase_style(job->phase), reservation_state(job));
    left_cell(job, out);
    columns_add_fmt(out, "%d", kept_gpus(job));
    columns_add(out, job->cluster);
    tf_buf_clear(&text);
    reservation_owner(&job->manifest.spec.reserve.owner, &text);
    columns_add(out, tf_buf_text(&text));
    columns_add(out, tf_phase_is_final(job->phase) ? "-" : when_local(reservation_end(job), when));
    tf_uid_format(job->uid, uid);
    columns_add(out, uid);
    columns_add(out, job->model);
    tf_buf_clear(&text);
    reason_text(job, &text);
    columns_add(out, tf_buf_text(&text));
}

static void name(const void *object, struct tf_buf *buf)
{
    job_name(object, buf);
}

const struct resource resource_reservations = {"reservations",    columns, TF_ARRAY_LEN(columns),
                                               &view_reservation, cells,   name};

int fetch_reservations(struct fedctl *ctl, struct listing *listing)
{
    return fetch_of_kind(ctl, listing, true);
}
