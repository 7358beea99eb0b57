/* SPDX-License-Identifier: Apache-2.0 */
/* What subclusters report of epochs. A report about a present placement changes its job; one about any other
 * epoch changes nothing: its end is acknowledged, and if it still runs it is told to stop, but only after a
 * transaction has proved that this leader's view is the latest one (PITFALLS.md 3, 5). */
#include "federation/core/reports.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "federation/core/cross.h"
#include "federation/core/desired.h"
#include "federation/core/jobs.h"
#include "federation/core/outbox.h"
#include "federation/core/refusals.h"
#include "federation/core/rollback.h"
#include "federation/core/trace.h"

#include <inttypes.h>

/* ---- a placement that goes on ---- */

static const char *const phase_events[] = {
    [TF_PHASE_STARTING] = "Accepted",
    [TF_PHASE_RUNNING] = "Running",
    [TF_PHASE_STOPPING] = "Stopping",
};

/* With the reason, if it gave way since the last report. */
static void note_resize(struct fed *fed, struct job *job, const struct tf_placement *p,
                        const struct tf_report *report)
{
    int32_t known = job->report ? job->report->ended.evictions : 0;
    bool gave_way = report->ended.evictions > known && report->ended.message;
    tf_job_record_event(&job->record, fed->now.wall, p->epoch, "Resized",
                        "in %s, from %d to %d instances%s%s", p->cluster, p->size, report->size,
                        gave_way ? ": " : "", gave_way ? report->ended.message : "");
}

/* True if something changed that must outlive this leader: not every ready count. */
static bool update_placement(struct fed *fed, struct job *job, struct tf_placement *p,
                             const struct tf_report *report)
{
    bool changed = false;
    if (p->phase != report->phase && p->release == TF_RELEASE_NONE) {
        p->phase = report->phase;
        tf_job_record_event(&job->record, fed->now.wall, p->epoch, phase_events[report->phase], "in %s",
                            p->cluster);
        changed = true;
    }
    if (p->accepted.ms != report->accepted.ms || p->started.ms != report->started.ms) {
        p->accepted = report->accepted;
        p->started = report->started;
        changed = true;
    }
    if (report->size > 0 && p->size != report->size) {
        if (p->phase == TF_PHASE_RUNNING)
            note_resize(fed, job, p, report);
        p->size = report->size;
        changed = true;
    }
    /* An engine refuses after the ledger accepted: only what has run shows that the refusals are history. */
    return (report->phase == TF_PHASE_RUNNING && fed_refusals_accepted(fed, job)) || changed;
}

static void keep_report(struct tf_report **kept, struct tf_report *report)
{
    if (!*kept)
        *kept = tf_calloc(1, sizeof **kept);
    tf_report_release(*kept);
    **kept = *report;
    memset(report, 0, sizeof *report);
}

static void note_restarts(struct job *job, const struct tf_report *report)
{
    if (report->restarts > job->epoch_restarts)
        job->epoch_restarts = report->restarts;
}

/* An attempt failed and the next one is on its way: people look for it in the job's events. One more that
 * comes of a move or of a loss is no retry. What the first report to a new leader says was told to the one
 * before. */
static bool tell_restarts(struct fed *fed, struct job *job, const struct tf_placement *p,
                          const struct tf_report *report)
{
    if (!job->report || report->retries_used <= job->report->retries_used)
        return false;
    tf_job_record_event(&job->record, fed->now.wall, p->epoch, "Retried", "%d of %d retries used",
                        report->retries_used, job->record.spec->retry_limit);
    return true;
}

/* What became of instances since it was last told. */
static bool tell_notes(struct fed *fed, struct job *job, struct tf_placement *p,
                       const struct tf_report *report)
{
    uint32_t fresh = report->noted - p->noted, kept = (uint32_t)report->notes.count;
    if (report->noted == p->noted)
        return false;
    bool restored = report->noted < p->noted; /* its store: it counts anew from there */
    p->noted = report->noted;
    if (restored)
        return true;
    if (fresh > kept)
        tf_job_record_event(&job->record, fed->now.wall, p->epoch, "Untold",
                            "in %s, %u moves, drains and losses of instances before the next ones: it "
                            "keeps the latest %d of an epoch",
                            p->cluster, fresh - kept, TF_NOTES_MAX);
    for (uint32_t i = fresh < kept ? kept - fresh : 0; i < kept; i++) {
        const struct tf_note *note = &report->notes.items[i];
        TF_AUTO_FREE char *text = tf_asprintf("in %s, %s", p->cluster, note->text ? note->text : "");
        tf_job_record_note(&job->record, fed->now.wall, p->epoch, note->kind, text);
    }
    return true;
}

/* The latest failure of an epoch that goes on. */
static bool take_trouble(struct job *job, const struct tf_report *report)
{
    const struct tf_ended *latest = &report->ended;
    const char *known = job->report ? job->report->ended.message : job->record.message;
    if (!latest->message || tf_str_eq(known, latest->message))
        return false;
    fed_job_set_trouble(job, latest);
    return true;
}

static bool is_live_phase(enum tf_phase phase)
{
    return phase == TF_PHASE_STARTING || phase == TF_PHASE_RUNNING || phase == TF_PHASE_STOPPING;
}

static void goes_on(struct fed *fed, struct job *job, struct tf_placement *p, struct tf_report *report)
{
    if (!is_live_phase(report->phase))
        return;
    bool changed = update_placement(fed, job, p, report);
    changed |= tell_notes(fed, job, p, report);
    if (fed_job_last_placement(job) == p) {
        changed |= tell_restarts(fed, job, p, report);
        changed |= take_trouble(job, report);
        note_restarts(job, report);
        fed_job_set_phase(fed, job, p->phase);
    }
    if (changed)
        fed_touch_job(fed, job);
    fed_cross_reported(fed, job, p, report);
    fed_cross_answered(fed, job, p, report);
    p = fed_job_placement(job, report->epoch); /* they may have changed places */
    if (fed_job_last_placement(job) == p)
        keep_report(&job->report, report);
    else if (fed_cross_is_candidate(job, p->epoch))
        keep_report(&job->coming, report);
}

/* ---- a placement that is over ---- */

/* By the wall clock of now. */
static int64_t elected_ms(const struct fed *fed)
{
    return fed->now.wall.ms - (fed->now.mono.ms - fed->boot.ms);
}

static void is_over(struct fed *fed, struct cluster *cluster, struct job *job, const struct tf_report *report)
{
    const struct tf_ended *ended = &report->ended;
    struct tf_uid uid = job->record.uid;
    fed_trace_job(fed, job, "epoch %" PRIu64 " in %s is over: %s%s%s", report->epoch, cluster->record.name,
                  tf_end_name(ended->end), ended->message ? ": " : "", ended->message ? ended->message : "");
    tf_reached_if(job->record.deleted && job->record.changed.ms < elected_ms(fed), fed, FED_TOMBSTONE_LATE);
    if (fed_job_last_placement(job)->epoch == report->epoch)
        note_restarts(job, report);
    fed_job_epoch_ended(fed, job, report->epoch, ended);
    fed_desired_stored(cluster, uid, report->epoch);
}

static void wait_for_listing(struct fed *fed, struct cluster *cluster, struct tf_uid uid, uint64_t epoch)
{
    tf_vec_each (unknown, &cluster->unknown)
        if (unknown->epoch == epoch)
            return;
    tf_reached(fed, FED_UNKNOWN_WAITS);
    tf_vec_push(&cluster->unknown, (struct unknown_end){uid, epoch});
}

/* ---- no placement of ours ---- */

static void is_orphan(struct fed *fed, struct cluster *cluster, const struct tf_report *report)
{
    fed_trace_line(
        fed, "subcluster %s reports %s/%s epoch %" PRIu64 ", which is no placement: released as an orphan",
        cluster->record.name, report->tenant ? report->tenant : "?", report->name ? report->name : "?",
        report->epoch);
    tf_reached(fed, FED_ORPHAN);
    fed_touch_proof(fed);
    fed_desired_release(cluster, report->uid, report->epoch, TF_RELEASE_ORPHAN);
}

static void is_not_ours(struct fed *fed, struct cluster *cluster, struct job *job, struct tf_report *report)
{
    tf_reached_if(report->ended.end != TF_END_NONE, fed, FED_END_REPEATED);
    if (report->ended.end != TF_END_NONE) {
        fed_rollback_ended(fed, cluster, report->uid, report->epoch);
        fed_desired_stored(cluster, report->uid, report->epoch);
    } else if (!fed_rollback_adopt(fed, cluster, job, report) && report->phase != TF_PHASE_STOPPING)
        is_orphan(fed, cluster, report); /* one that is being ended is not told so again and again */
}

/* Bounds of what a peer said; the numbers index tables here. */
static bool is_sane(const struct tf_report *r)
{
    return r->phase <= TF_PHASE_DELETED && r->ended.end <= TF_END_UNKNOWN && r->ended.failures >= 0 &&
           r->restarts >= 0 && r->size >= 0 && r->size <= TF_INSTANCES_MAX && r->ready >= 0 &&
           r->unreachable >= 0 && r->restart_took >= 0;
}

void fed_report_take(struct fed *fed, struct cluster *cluster, struct tf_report *report)
{
    if (!is_sane(report)) {
        fed_alarm_now(fed, "subcluster %s sent a report that makes no sense (epoch %" PRIu64 "): ignored",
                      cluster->record.name, report->epoch);
        return;
    }
    struct job *job = fed_job_by_uid(fed, report->uid);
    struct tf_placement *p = job ? fed_job_placement(job, report->epoch) : NULL;
    bool present = p && strcmp(p->cluster, cluster->record.name) == 0;
    if (!present)
        is_not_ours(fed, cluster, job, report);
    else if (report->ended.end == TF_END_NONE)
        goes_on(fed, job, p, report);
    else if (report->ended.end == TF_END_UNKNOWN && !cluster->listed)
        wait_for_listing(fed, cluster, report->uid, report->epoch);
    else
        is_over(fed, cluster, job, report);
}

void fed_report_listed(struct fed *fed, struct cluster *cluster)
{
    cluster->listed = true;
    tf_vec_each (unknown, &cluster->unknown) {
        struct job *job = fed_job_by_uid(fed, unknown->uid);
        struct tf_report lost = {.uid = unknown->uid, .epoch = unknown->epoch};
        lost.ended = (struct tf_ended){.end = TF_END_LOST,
                                       .at = fed->now.wall,
                                       .message = "the subcluster has no record of it and never started it"};
        if (!job || !fed_job_placement(job, unknown->epoch))
            continue;
        tf_reached(fed, FED_UNKNOWN_LOST);
        is_over(fed, cluster, job, &lost);
    }
    cluster->unknown.count = 0;
    cluster->told = true;
    fed_rollback_told(fed, cluster);
    fed_rollback_look(fed);
}
