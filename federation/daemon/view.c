/* SPDX-License-Identifier: Apache-2.0 */
/* What clients see of a job: its record, and what its subcluster said last. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

/* Two of an index: one of them comes or goes by a move. The second is behind those that have a place of their
 * own. */
static bool is_moving(const struct tf_report *report)
{
    for (size_t i = report->members.count; i-- > 0;) {
        uint32_t index = report->members.items[i].index;
        if (index < i && report->members.items[index].index == index)
            return true;
    }
    return false;
}

static void copy_members(const struct tf_report *report, struct tf_job_view *out)
{
    tf_vec_each (m, &report->members) {
        struct tf_member *member = tf_vec_add(&out->members);
        *member = *m;
        member->node = tf_strdup(m->node);
        member->ports = (struct tf_strs){0};
        tf_strs_copy(&member->ports, &m->ports);
    }
}

bool view_events(const struct tf_job_record *job, struct tf_wall since, struct tf_job_view *out)
{
    tf_vec_each (e, &job->events) {
        if (e->at.ms < since.ms) {
            out->events_dropped++;
            continue;
        }
        struct tf_job_event *event = tf_vec_add(&out->events);
        *event = *e;
        event->type = tf_strdup(e->type);
        event->text = tf_strdup(e->text);
    }
    return out->events.count > 0;
}

static bool is_attached(const struct fedd *fedd, const char *cluster)
{
    for (size_t i = 0; i < fed_cluster_count(fedd->fed); i++) {
        const struct fed_cluster_view view = fed_cluster_at(fedd->fed, i);
        if (strcmp(view.record->name, cluster) == 0)
            return view.attached;
    }
    return false;
}

const char *view_away(const struct fedd *fedd, const struct tf_job_record *job)
{
    if (job->placements.count == 0)
        return NULL;
    const struct tf_placement *placement = &job->placements.items[job->placements.count - 1];
    bool known = fed_job_report(fedd->fed, job) && is_attached(fedd, placement->cluster);
    return known || placement->phase == TF_PHASE_PENDING ? NULL : placement->cluster;
}

char *view_away_text(const struct fedd *fedd, const struct tf_job_record *job)
{
    const char *cluster = view_away(fedd, job);
    if (!cluster)
        return NULL;
    return tf_asprintf("%s %s", cluster,
                       is_attached(fedd, cluster) ? "has not reported yet: what runs there goes on"
                                                  : "is not attached: what runs there goes on unseen");
}

/* What else is to be said of the job now goes before. */
static void view_move(const struct tf_cross *cross, struct tf_job_view *out)
{
    if (!tf_cross_goes_on(cross))
        return;
    out->conditions |= TF_CONDITION_MOVING;
    if (!out->reason_text)
        out->reason_text = tf_asprintf("goes from %s to %s: %s%s%s", cross->from, cross->to,
                                       tf_cross_state_name(cross->state), cross->why ? ": " : "",
                                       cross->why ? cross->why : "");
}

enum { COUNTER_MAX = 1 << 30 }; /* what a peer adds to stays within what can be sent */

static void count_up(int32_t *counter, int32_t more)
{
    *counter = more > COUNTER_MAX - *counter ? COUNTER_MAX : *counter + more;
}

/* The record counts those of epochs that have ended. One that gave surplus away goes on, and has lost work,
 * too. */
static void add_counts(const struct tf_report *report, struct tf_job_view *out)
{
    int64_t lost = report->ended.lost_gpu_seconds;
    count_up(&out->restarts, report->restarts);
    count_up(&out->evictions, report->ended.evictions);
    out->lost_gpu_seconds =
        lost > INT64_MAX - out->lost_gpu_seconds ? INT64_MAX : out->lost_gpu_seconds + lost;
}

/* The present epoch, and how much of it is there. */
static void view_placement(const struct fedd *fedd, const struct tf_job_record *job, bool whole,
                           struct tf_job_view *out)
{
    if (job->placements.count == 0)
        return;
    free(TF_STEAL(out->cluster));
    const struct tf_placement *placement = &job->placements.items[job->placements.count - 1];
    out->cluster = tf_strdup(placement->cluster);
    out->epoch = placement->epoch;
    out->model = tf_strdup(placement->model);
    out->size = placement->size;
    out->placed = placement->placed;
    out->started = placement->started;
    const struct tf_report *report = fed_job_report(fedd->fed, job);
    if (view_away(fedd, job)) {
        out->conditions |= TF_CONDITION_UNREACHABLE;
        out->reason_text = view_away_text(fedd, job);
        return;
    }
    if (!report)
        return;
    out->size = report->size;
    out->ready = report->ready;
    if (report->phase == TF_PHASE_RUNNING && report->size < job->spec->elastic.min)
        out->conditions |= TF_CONDITION_SHORT;
    if (is_moving(report))
        out->conditions |= TF_CONDITION_MOVING;
    add_counts(report, out);
    out->retries_used = report->retries_used;
    out->checkpoint = report->checkpoint;
    out->restart_took = report->restart_took;
    if (report->ready < report->size && job->message)
        out->reason_text = tf_strdup(job->message);
    if (report->unreachable) {
        out->conditions |= TF_CONDITION_UNREACHABLE;
        if (!out->reason_text)
            out->reason_text =
                tf_asprintf("%d of its instances %s on nodes that do not answer: see `fedctl get "
                            "nodes -o wide`",
                            report->unreachable, report->unreachable == 1 ? "is" : "are");
    }
    if (whole)
        copy_members(report, out);
}

void view_record(const struct tf_job_record *job, bool whole, struct tf_job_view *out)
{
    *out = (struct tf_job_view){
        .uid = job->uid,
        .phase = job->phase,
        .held = job->held,
        .deleted = job->deleted,
        .version = job->version,
        .submitted = job->submitted,
        .changed = job->changed,
        .finished = job->finished,
        .restarts = job->restarts,
        .evictions = job->evictions,
        .losses = job->losses,
        .retries_used = job->retries_used,
        .lost_gpu_seconds = job->lost_gpu_seconds,
        .exit_code = job->exit_code,
        .events_dropped = job->events_dropped,
        .last_size = job->last_size,
    };
    out->manifest.tenant = tf_strdup(job->tenant);
    out->manifest.name = tf_strdup(job->name);
    tf_pairs_copy(&out->manifest.labels, &job->labels);
    tf_job_spec_copy(&out->manifest.spec, job->spec);
    out->user = tf_strdup(job->user);
    out->message = tf_strdup(job->message);
    if (whole) {
        out->output = tf_strdup(job->output);
        view_events(job, (struct tf_wall){0}, out);
    }
    out->cluster = tf_strdup(job->last_cluster);
    out->epoch = job->last_epoch;
}

void view_job(const struct fedd *fedd, const struct tf_job_record *job, bool whole, struct tf_job_view *out)
{
    view_record(job, whole, out);
    view_placement(fedd, job, whole, out);
    view_move(&job->cross, out);
}

/* Where it is, or was last. */
static bool in_cluster(const struct tf_job_record *job, const char *cluster)
{
    if (job->placements.count == 0)
        return tf_str_eq(job->last_cluster, cluster);
    tf_vec_each (p, &job->placements)
        if (tf_str_eq(p->cluster, cluster))
            return true;
    return false;
}

bool view_matches(const struct tf_job_record *job, const struct tf_job_filter *filter)
{
    if (filter->tenant && !tf_str_eq(filter->tenant, job->tenant))
        return false;
    if (filter->name ? !tf_str_eq(filter->name, job->name)
                     : filter->reservations != tf_is_reservation(job->spec))
        return false;
    if (filter->phases && !(filter->phases >> job->phase & 1))
        return false;
    if (filter->cluster && !in_cluster(job, filter->cluster))
        return false;
    return tf_selector_match(&filter->selector, &job->labels);
}
