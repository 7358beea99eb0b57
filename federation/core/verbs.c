/* SPDX-License-Identifier: Apache-2.0 */
/* Each verb is idempotent: asked again it answers the same and changes nothing. */
#include "federation/core/verbs.h"

#include "federation/core/cluster.h"
#include "federation/core/cross.h"
#include "federation/core/jobs.h"
#include "federation/core/outbox.h"
#include "federation/core/rollback.h"
#include "federation/core/tenants.h"
#include "federation/core/trace.h"

#include <inttypes.h>

struct job *fed_verb_job(struct fed *fed, const struct fed_event *event)
{
    const char *tenant = event->job.tenant ? event->job.tenant : "",
               *name = event->job.name ? event->job.name : "";
    struct job *job = fed_job_by_name(fed, tenant, name);
    if (!job) {
        fed_reply_error(fed, event->request, TF_ERR_NOT_FOUND, FED_NO_JOB, tenant, name);
        return NULL;
    }
    if (!tf_uid_is_none(event->job.uid) && !tf_uid_eq(event->job.uid, job->record.uid)) {
        fed_reply_error(fed, event->request, TF_ERR_CONFLICT,
                        "job %s is another one by now (its uid differs): look at it again before changing it",
                        job->key);
        return NULL;
    }
    if (job->replacement) {
        fed_reply_error(fed, event->request, TF_ERR_UNAVAILABLE,
                        "a submit of job %s is being stored: try again", job->key);
        return NULL;
    }
    return job;
}

static void done(struct fed *fed, const struct fed_event *event, const struct job *job,
                 enum fed_outcome outcome)
{
    fed_reply_done(fed, event->request, outcome, job->record.uid, job->record.version);
}

/* ---- jobs ---- */

void fed_verb_delete(struct fed *fed, const struct fed_event *event)
{
    struct job *job = fed_verb_job(fed, event);
    if (!job)
        return;
    struct tf_job_record *r = &job->record;
    if (!r->deleted)
        fed_job_delete(fed, job, "DeleteAsked",
                       !r->placements.count         ? "nothing runs of it"
                       : tf_is_reservation(r->spec) ? "what it keeps is given up"
                                                    : "what runs of it is stopped");
    done(fed, event, job, FED_OUTCOME_DELETED);
}

/* Held or resumed, once. True if that is a change; false after answering. */
static bool may_change(struct fed *fed, const struct fed_event *event, const struct job *job,
                       const char *verb)
{
    const struct tf_job_record *r = &job->record;
    if (tf_is_reservation(r->spec)) {
        fed_reply_error(
            fed, event->request, TF_ERR_REFUSED,
            "%s is a reservation, of which nothing runs that one could %s: `fedctl apply` changes "
            "it, `fedctl delete` gives it up",
            job->key, verb);
        return false;
    }
    if (r->deleted || tf_phase_is_final(r->phase)) {
        fed_reply_error(fed, event->request, TF_ERR_REFUSED, "job %s is %s: there is nothing to %s", job->key,
                        r->deleted ? "being deleted" : tf_phase_name(r->phase), verb);
        return false;
    }
    return true;
}

static void set_held(struct fed *fed, const struct fed_event *event, bool held)
{
    struct job *job = fed_verb_job(fed, event);
    if (!job || !may_change(fed, event, job, held ? "hold" : "resume"))
        return;
    struct tf_job_record *r = &job->record;
    bool changes = r->held != held;
    if (changes) {
        r->held = held;
        tf_job_record_event(r, fed->now.wall, 0, held ? "Held" : "Resumed", "%s",
                            held ? "keeps its place in the queue" : "waits in its old place");
        if (held)
            fed_job_release(fed, job, TF_RELEASE_HOLD);
        fed_touch_job(fed, job);
        fed_job_settle(fed, job);
    }
    done(fed, event, job, changes ? FED_OUTCOME_DONE : FED_OUTCOME_UNCHANGED);
}

void fed_verb_hold(struct fed *fed, const struct fed_event *event)
{
    set_held(fed, event, true);
}

void fed_verb_resume(struct fed *fed, const struct fed_event *event)
{
    set_held(fed, event, false);
}

/* The elastic sizes in the job's spec, if they are legal; false after answering. */
static bool take_sizes(struct fed *fed, const struct fed_event *event, struct job *job)
{
    struct tf_job_manifest m = {.tenant = job->record.tenant,
                                .name = job->record.name,
                                .labels = job->record.labels,
                                .spec = *job->record.spec}; /* lent */
    struct tf_complaints complaints = {0};
    m.spec.elastic = event->job.elastic;
    if (m.spec.elastic.step == 0)
        m.spec.elastic.step = job->record.spec->elastic.step;
    if (tf_job_manifest_check(&m, &complaints))
        fed_tenant_check(fed, &m, job, &complaints);
    bool good = complaints.count == 0;
    if (good)
        tf_spec_own(&job->record.spec)->elastic = m.spec.elastic;
    else
        fed_reply_error(fed, event->request, TF_ERR_INVALID, "job %s cannot be scaled so: %s: %s", job->key,
                        complaints.items[0].path, complaints.items[0].text);
    tf_complaints_release(&complaints);
    return good;
}

void fed_verb_scale(struct fed *fed, const struct fed_event *event)
{
    struct job *job = fed_verb_job(fed, event);
    if (!job || !may_change(fed, event, job, "scale"))
        return;
    struct tf_job_record *r = &job->record;
    struct tf_elastic before = r->spec->elastic;
    if (!take_sizes(fed, event, job))
        return;
    if (!fed_job_can_step(job, r->spec->elastic.step)) {
        fed_reply_error(
            fed, event->request, TF_ERR_REFUSED,
            "job %s runs with %d instances in %s, which is no multiple of step %d: say a step that "
            "divides it, or `fedctl apply --restart`",
            job->key, fed_job_last_placement(job)->size, fed_job_last_placement(job)->cluster,
            r->spec->elastic.step);
        tf_spec_own(&r->spec)->elastic = before;
        return;
    }
    if (memcmp(&before, &r->spec->elastic, sizeof before) != 0) {
        tf_job_record_event(r, fed->now.wall, 0, "Scaled", "min %d, max %d, step %d", r->spec->elastic.min,
                            r->spec->elastic.max, r->spec->elastic.step);
        fed_cross_give_up(fed, job, TF_CROSS_BY_CHANGE, "the job was scaled");
        fed_job_tell(fed, job);
        fed_touch_job(fed, job);
        fed_job_settle(fed, job);
    }
    done(fed, event, job, FED_OUTCOME_DONE);
}

/* ---- subclusters ---- */

static struct cluster *find_cluster(struct fed *fed, const struct fed_event *event)
{
    const char *name = event->cluster.name ? event->cluster.name : "";
    struct cluster *cluster = fed_cluster_by_name(fed, name);
    if (!cluster)
        fed_reply_error(
            fed, event->request, TF_ERR_NOT_FOUND,
            "there is no subcluster %s: `fedctl get clusters` lists those that have ever attached", name);
    return cluster;
}

void fed_verb_cordon(struct fed *fed, const struct fed_event *event)
{
    struct cluster *cluster = find_cluster(fed, event);
    if (!cluster)
        return;
    struct tf_cluster_record *r = &cluster->record;
    if (r->cordoned != event->cluster.on || event->cluster.on) {
        r->cordoned = event->cluster.on;
        tf_str_set(&r->cordon_reason, event->cluster.on ? event->cluster.reason : NULL);
        fed_cluster_event(fed, cluster, r->cordoned ? "Cordoned" : "Uncordoned", "%s",
                          r->cordon_reason ? r->cordon_reason : "");
        if (!r->cordoned)
            fed_cluster_grew(fed, cluster);
        fed_trace_line(fed, "subcluster %s %s%s%s", r->name, r->cordoned ? "cordoned" : "uncordoned",
                       r->cordon_reason ? ": " : "", r->cordon_reason ? r->cordon_reason : "");
    }
    fed_reply_done(fed, event->request, FED_OUTCOME_DONE, (struct tf_uid){{0}}, 0);
}

static void end_all(struct fed *fed, struct cluster *cluster)
{
    struct tf_ended lost = {
        .end = TF_END_LOST, .at = fed->now.wall, .message = "the subcluster was declared dead"};
    while (cluster->placed.count) {
        struct placed placed = cluster->placed.items[0];
        fed_trace_job(fed, placed.job,
                      "epoch %" PRIu64 " in %s is over: lost: the subcluster was declared dead", placed.epoch,
                      cluster->record.name);
        fed_job_epoch_ended(fed, placed.job, placed.epoch, &lost);
    }
}

void fed_verb_forget(struct fed *fed, const struct fed_event *event)
{
    struct cluster *cluster = find_cluster(fed, event);
    if (!cluster)
        return;
    if (cluster->link) {
        fed_reply_error(
            fed, event->request, TF_ERR_CONFLICT,
            "subcluster %s is attached, so it is not dead: `fedctl cordon cluster %s` keeps new work away",
            cluster->record.name, cluster->record.name);
        return;
    }
    cluster->told = true; /* nothing is to be heard of it */
    if (!cluster->record.forgotten) {
        cluster->record.forgotten = true;
        fed_cluster_event(fed, cluster, "Forgotten", "declared dead, with %zu unfinished placements",
                          cluster->placed.count);
        end_all(fed, cluster);
        fed_rollback_forget(cluster);
        fed_rollback_told(fed, cluster);
    }
    fed_rollback_look(fed);
    fed_reply_done(fed, event->request, FED_OUTCOME_DONE, (struct tf_uid){{0}}, 0);
}
