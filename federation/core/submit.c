/* SPDX-License-Identifier: Apache-2.0 */
/* Submit: admission of new jobs and changes of known ones. A new job of a finished one's name takes the name
 * in the one put that replaces the record, after the old one is in the archive. */
#include "federation/core/submit.h"

#include "common/base/cleanup.h"
#include "federation/core/cluster.h"
#include "federation/core/desired.h"
#include "federation/core/jobs.h"
#include "federation/core/outbox.h"
#include "federation/core/reservations.h"
#include "federation/core/retention.h"
#include "federation/core/rollback.h"
#include "federation/core/tenants.h"

#include <assert.h>

enum { QUOTA_REFUSES = 90 }; /* percent of the store */

/* ---- checks ---- */

static void complain_class(const struct fed *fed, const char *priority, struct tf_complaints *out)
{
    const struct tf_classes *classes = &fed->settings.policy.classes;
    TF_AUTO_BUF names = TF_BUF_INIT;
    tf_classes_names(classes, &names);
    tf_complaints_add(out, "spec.priority", "the federation has no class %s; its classes are: %s",
                      priority ? priority : "(none said)", tf_buf_text(&names));
}

/* Profiles carry the labels that are scheduled by, and no others: a job that asks for another would wait for
 * ever. */
static void check_labels(const struct fed *fed, const struct tf_job_spec *spec, struct tf_complaints *out)
{
    tf_vec_each (label, &spec->node_labels)
        if (!tf_strs_has(&fed->settings.policy.schedule_labels, label->key))
            tf_complaints_add(
                out, "spec.nodes.labels",
                "jobs cannot ask for the node label \"%s\" here: the federation schedules by those in "
                "settings.scheduleLabels of fedd.yaml only",
                label->key);
}

/* All that can be wrong with the manifest. The code says of which kind it is; TF_OK: nothing. */
static enum tf_error_code check(const struct fed *fed, const struct tf_job_manifest *m, const struct job *old,
                                struct tf_complaints *out)
{
    tf_job_manifest_check(m, out);
    if (m->spec.priority && tf_classes_rank(&fed->settings.policy.classes, m->spec.priority) < 0)
        complain_class(fed, m->spec.priority, out);
    if (out->count)
        return TF_ERR_INVALID;
    if (m->spec.on_cluster_lost == TF_CLUSTER_LOST_RESTART)
        tf_complaints_add(
            out, "spec.placement.onClusterLost",
            "FENCE_UNSUPPORTED: no engine can fence a lost subcluster yet; use `wait`, which is the "
            "default");
    check_labels(fed, &m->spec, out);
    fed_tenant_check(fed, m, old, out);
    return out->count ? TF_ERR_REFUSED : TF_OK;
}

static void refuse(struct fed *fed, uint64_t request, enum tf_error_code code,
                   struct tf_complaints *complaints)
{
    struct fed_action action = {.kind = FED_ACT_REPLY,
                                .reply = {.request = request, .complaints = *complaints}};
    assert(complaints->count);
    tf_error_set(&action.reply.error, code, "the job was not accepted: %s: %s%s", complaints->items[0].path,
                 complaints->items[0].text, complaints->count > 1 ? " (and more)" : "");
    memset(complaints, 0, sizeof *complaints);
    fed_outbox_hold(fed, action);
}

/* What is allowed, but will surprise. */
static void warn(const struct fed *fed, const struct tf_job_spec *spec, struct tf_complaints *out)
{
    tf_vec_each (name, &spec->clusters)
        if (!fed_cluster_by_name(fed, *name))
            tf_complaints_add(out, "spec.placement.clusters",
                              "POLICY: no subcluster %s is registered; the job waits for it", *name);
}

static void answer(struct fed *fed, uint64_t request, enum fed_outcome outcome, const struct job *job)
{
    struct fed_action action = {
        .kind = FED_ACT_REPLY,
        .reply = {
            .request = request, .outcome = outcome, .uid = job->record.uid, .version = job->record.version}};
    warn(fed, job->record.spec, &action.reply.complaints);
    fed_outbox_hold(fed, action);
}

/* ---- new jobs ---- */

static struct tf_job_record new_record(const struct fed *fed, struct fed_submit *submit)
{
    struct tf_job_record r = {.uid = submit->uid, .submitted = fed->now.wall, .changed = fed->now.wall};
    r.tenant = TF_STEAL(submit->manifest.tenant);
    r.name = TF_STEAL(submit->manifest.name);
    r.user = TF_STEAL(submit->user);
    r.labels = submit->manifest.labels;
    memset(&submit->manifest.labels, 0, sizeof submit->manifest.labels);
    r.spec = tf_spec_share(&submit->manifest.spec);
    r.phase = TF_PHASE_PENDING;
    tf_job_record_event(&r, fed->now.wall, 0, "Submitted", "by %s", r.user ? r.user : "a local client");
    struct tf_complaints warnings = {0};
    warn(fed, r.spec, &warnings);
    if (warnings.count)
        r.message = tf_strdup(warnings.items[0].text);
    tf_complaints_release(&warnings);
    return r;
}

static struct job *create(struct fed *fed, struct tf_job_record *record)
{
    struct job *job = fed_job_add(fed, record);
    fed_touch_job(fed, job);
    fed_rollback_loaded(fed, job);
    fed_job_settle(fed, job);
    fed_rollback_submitted(fed, job);
    return job;
}

/* A job that looks finished may run: after a restore only its subcluster knows. */
static void refuse_for_now(struct fed *fed, uint64_t request, const struct job *finished)
{
    fed_reply_error(
        fed, request, TF_ERR_UNAVAILABLE,
        "job %s is finished, and its name can be used again when every subcluster has dialled this "
        "leader: try again, and see `fedctl get clusters` for who has not",
        finished->key);
}

static void replace_later(struct fed *fed, uint64_t request, struct fed_submit *submit, struct job *finished)
{
    finished->replacement = tf_calloc(1, sizeof *finished->replacement);
    finished->replacement->record = new_record(fed, submit);
    tf_vec_push(&finished->replacement->requests, request);
    fed_retention_archive(fed, finished);
}

void fed_submit_replace(struct fed *fed, struct job *finished)
{
    struct replacement *replacement = TF_STEAL(finished->replacement);
    replacement->record.version = finished->record.version;
    tf_reached(fed, FED_NAME_REUSED);
    fed_job_remove(fed, finished);
    struct job *job = create(fed, &replacement->record);
    tf_vec_each (request, &replacement->requests)
        answer(fed, *request, FED_OUTCOME_CREATED, job);
    tf_vec_release(&replacement->requests);
    free(replacement);
}

/* ---- changes ---- */

static void take_spec(struct job *job, struct fed_submit *submit)
{
    struct tf_job_record *r = &job->record;
    tf_spec_drop(r->spec);
    r->spec = tf_spec_share(&submit->manifest.spec);
    tf_pairs_release(&r->labels);
    r->labels = submit->manifest.labels;
    memset(&submit->manifest.labels, 0, sizeof submit->manifest.labels);
}

/* What a change is called: so, too, when it is asked for again. */
static enum fed_outcome change_outcome(const struct fed_submit *submit)
{
    return submit->restart ? FED_OUTCOME_RESTARTED : FED_OUTCOME_UPDATED;
}

static void finish_change(struct fed *fed, uint64_t request, const struct fed_submit *submit, struct job *job)
{
    job->record.change = submit->uid;
    fed_touch_job(fed, job);
    fed_job_settle(fed, job);
    answer(fed, request, change_outcome(submit), job);
}

/* What runs is told the new words and sizes. */
static void update(struct fed *fed, uint64_t request, struct fed_submit *submit, struct job *job)
{
    TF_AUTO_FREE char *owner = tf_strdup(job->record.spec->reserve.owner.tenant);
    take_spec(job, submit);
    if (tf_is_reservation(job->record.spec)) {
        fed_reservation_refile(fed, owner);
        fed_reservation_refile(fed, job->record.spec->reserve.owner.tenant);
    }
    tf_job_record_event(&job->record, fed->now.wall, 0, "Updated", "by %s",
                        submit->user ? submit->user : "a local client");
    fed_job_tell(fed, job);
    finish_change(fed, request, submit, job);
}

static void restart(struct fed *fed, uint64_t request, struct fed_submit *submit, struct job *job)
{
    take_spec(job, submit);
    tf_job_record_event(&job->record, fed->now.wall, 0, "Restarted", "by %s: a new epoch follows",
                        submit->user ? submit->user : "a local client");
    fed_job_release(fed, job, TF_RELEASE_RESTART);
    finish_change(fed, request, submit, job);
}

static bool is_same(const struct tf_job_record *r, const struct tf_job_manifest *m)
{
    return tf_job_spec_eq(r->spec, &m->spec) && tf_pairs_eq(&r->labels, &m->labels);
}

static void refuse_immutable(struct fed *fed, uint64_t request, const struct job *job,
                             const struct tf_strs *fields)
{
    TF_AUTO_BUF names = TF_BUF_INIT;
    tf_vec_each (field, fields)
        tf_buf_fmt(&names, "%s%s", names.len ? ", " : "", *field);
    fed_reply_error(
        fed, request, TF_ERR_REFUSED,
        "%s %s has an epoch in %s, under which %s cannot change: `fedctl apply --restart` ends it "
        "and starts a "
        "new one",
        tf_is_reservation(job->record.spec) ? "reservation" : "job", job->key,
        fed_job_last_placement(job)->cluster, tf_buf_text(&names));
}

static void refuse_step(struct fed *fed, uint64_t request, const struct job *job, int32_t step)
{
    const struct tf_placement *p = fed_job_last_placement(job);
    fed_reply_error(
        fed, request, TF_ERR_REFUSED,
        "job %s runs with %d instances in %s, which is no multiple of spec.elastic.step %d: say a step "
        "that divides it, or `fedctl apply --restart`",
        job->key, p->size, p->cluster, step);
}

enum change { CHANGE_NONE, CHANGE_UPDATE, CHANGE_RESTART, CHANGE_REFUSED };

static enum change change_of(const struct job *job, const struct fed_submit *submit, struct tf_strs *fields)
{
    const struct tf_job_record *r = &job->record;
    bool placed = r->placements.count != 0;
    if (submit->restart && placed)
        return CHANGE_RESTART;
    if (is_same(r, &submit->manifest))
        return CHANGE_NONE;
    if (placed)
        tf_job_spec_immutable_diff(r->spec, &submit->manifest.spec, fields);
    return fields->count ? CHANGE_REFUSED : CHANGE_UPDATE;
}

static void apply(struct fed *fed, uint64_t request, struct fed_submit *submit, struct job *job)
{
    struct tf_strs fields = {0};
    enum change change = change_of(job, submit, &fields);
    if (change == CHANGE_REFUSED)
        refuse_immutable(fed, request, job, &fields);
    else if (change == CHANGE_UPDATE && !fed_job_can_step(job, submit->manifest.spec.elastic.step))
        refuse_step(fed, request, job, submit->manifest.spec.elastic.step);
    else if (change == CHANGE_NONE)
        answer(fed, request, FED_OUTCOME_UNCHANGED, job);
    else if (submit->dry_run)
        answer(fed, request, change_outcome(submit), job);
    else if (change == CHANGE_UPDATE)
        update(fed, request, submit, job);
    else
        restart(fed, request, submit, job);
    tf_strs_release(&fields);
}

/* ---- a name that is taken ---- */

static void refuse_kind(struct fed *fed, uint64_t request, const struct job *job)
{
    bool reserves = tf_is_reservation(job->record.spec);
    fed_reply_error(fed, request, TF_ERR_CONFLICT,
                    "%s is a %s: jobs and reservations share their names, take another for the %s", job->key,
                    reserves ? "reservation" : "job", reserves ? "job" : "reservation");
}

static void refuse_taken(struct fed *fed, uint64_t request, const struct job *job)
{
    if (job->record.deleted)
        fed_reply_error(
            fed, request, TF_ERR_CONFLICT,
            "job %s is being deleted; its name is free when what runs of it has ended: `fedctl wait "
            "--for=deleted %s`, then submit again",
            job->key, job->key);
    else
        fed_reply_error(
            fed, request, TF_ERR_CONFLICT,
            "job %s exists and is %s: take another name, change it with `fedctl apply`, or `fedctl "
            "delete` it "
            "first",
            job->key, tf_phase_name(job->record.phase));
}

static void meet(struct fed *fed, uint64_t request, struct fed_submit *submit, struct job *job)
{
    bool over = tf_phase_is_final(job->record.phase);
    if (!over && tf_is_reservation(job->record.spec) != tf_is_reservation(&submit->manifest.spec))
        refuse_kind(fed, request, job);
    else if (!submit->apply || job->record.deleted)
        refuse_taken(fed, request, job);
    else if (!over)
        apply(fed, request, submit, job);
    else if (is_same(&job->record, &submit->manifest) && !submit->restart)
        answer(fed, request, FED_OUTCOME_UNCHANGED, job);
    else if (submit->dry_run)
        answer(fed, request, FED_OUTCOME_CREATED, job);
    else if (!fed_retention_has_listened(fed))
        refuse_for_now(fed, request, job);
    else
        replace_later(fed, request, submit, job);
}

/* ---- repeats ---- */

/* The same uid again gets the first answer; true if it was that. */
static bool is_repeat(struct fed *fed, uint64_t request, const struct fed_submit *submit,
                      struct job *same_name)
{
    struct job *job = fed_job_by_uid(fed, submit->uid);
    if (job && job == same_name) {
        tf_reached(fed, FED_SUBMIT_REPEATED);
        answer(fed, request, FED_OUTCOME_CREATED, job);
        return true;
    }
    if (job) {
        fed_reply_error(fed, request, TF_ERR_CONFLICT,
                        "this submit's id belongs to job %s: make a new id for each submit", job->key);
        return true;
    }
    if (same_name && tf_uid_eq(same_name->record.change, submit->uid)) {
        tf_reached(fed, FED_CHANGE_REPEATED);
        answer(fed, request, change_outcome(submit), same_name);
        return true;
    }
    if (!same_name || !same_name->replacement)
        return false;
    tf_reached(fed, FED_NAME_BUSY);
    if (tf_uid_eq(same_name->replacement->record.uid, submit->uid))
        tf_vec_push(&same_name->replacement->requests, request);
    else
        fed_reply_error(fed, request, TF_ERR_UNAVAILABLE,
                        "another submit of job %s is being stored: try again", same_name->key);
    return true;
}

void fed_submit_take(struct fed *fed, uint64_t request, struct fed_submit *submit)
{
    struct tf_job_manifest *m = &submit->manifest;
    tf_job_spec_fill(&m->spec);
    bool named = m->tenant && m->name;
    struct job *known = named ? fed_job_by_name(fed, m->tenant, m->name) : NULL;
    if (tf_uid_is_none(submit->uid)) {
        fed_reply_error(fed, request, TF_ERR_INVALID, "a submit needs an id, made by the client");
        return;
    }
    if (is_repeat(fed, request, submit, known))
        return;
    struct tf_complaints complaints = {0};
    enum tf_error_code code = check(fed, m, known, &complaints);
    if (code != TF_OK) {
        refuse(fed, request, code, &complaints);
        return;
    }
    if (fed->quota >= QUOTA_REFUSES && !submit->dry_run) {
        fed_reply_error(
            fed, request, TF_ERR_REFUSED,
            "the federation's store is %d %% full and takes no new work; what runs goes on. Delete finished "
            "jobs, shorten keepFinished, or raise etcd's --quota-backend-bytes",
            fed->quota);
        return;
    }
    if (known) {
        meet(fed, request, submit, known);
    } else if (submit->dry_run) {
        fed_reply_done(fed, request, FED_OUTCOME_CREATED, submit->uid, 0);
    } else {
        struct tf_job_record record = new_record(fed, submit);
        answer(fed, request, FED_OUTCOME_CREATED, create(fed, &record));
    }
}
