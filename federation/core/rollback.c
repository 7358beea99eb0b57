/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what follows from a restored store. Which epochs run the store no longer knows; the subclusters do. So
 * the leader hears all of them before it places anything, takes their epochs for its own, and never orders
 * the end of one that the store may merely have forgotten (DESIGN.md §7). That outlives the leader: it is in
 * the record of the rollback, whose number is the highest epoch that may have been forgotten, or
 * TF_ROLLBACK_WAITS as long as not everyone was heard. */
#include "federation/core/rollback.h"

#include "federation/core/cross.h"
#include "federation/core/desired.h"
#include "federation/core/jobs.h"
#include "federation/core/outbox.h"
#include "federation/core/reports.h"
#include "federation/core/reservations.h"
#include "federation/core/retention.h"
#include "federation/core/trace.h"

#include <inttypes.h>

/* Each era has numbers of its own. Subclusters may have been restored, too, and know an epoch no more that an
 * older copy of this store still places elsewhere, or of which the engine keeps traces: given out anew it
 * would be two. Eras only grow, so from here on nobody can have met the number before. */
#define EPOCHS_OF_AN_ERA UINT64_C(1000000000)

static void begin_era(struct fed *fed)
{
    uint64_t first = (fed->term.era - 1) * EPOCHS_OF_AN_ERA;
    if (first <= fed->epoch)
        return;
    fed->epoch = first;
    fed_touch_epoch(fed);
}

static void set(struct fed *fed, uint64_t number)
{
    fed->adopted_up_to = number;
    fed->waits_for_all = number == TF_ROLLBACK_WAITS;
}

void fed_rollback_accept(struct fed *fed)
{
    fed->accept_rollback = true;
    set(fed, TF_ROLLBACK_WAITS);
}

void fed_rollback_load(struct fed *fed, uint64_t number)
{
    if (!fed->accept_rollback)
        set(fed, number);
}

void fed_rollback_reaches(struct fed *fed, uint64_t epoch)
{
    if (fed->adopted_up_to >= epoch)
        return;
    set(fed, epoch);
    fed_touch_rollback(fed);
}

void fed_rollback_look(struct fed *fed)
{
    if (!fed->waits_for_all)
        return;
    tf_vec_each (c, &fed->clusters)
        if (!(*c)->told)
            return;
    begin_era(fed);
    set(fed, fed->epoch);
    fed_touch_rollback(fed);
    fed->more_room = true;
    tf_vec_each (c, &fed->clusters)
        if ((*c)->link && !(*c)->set_sent)
            fed_desired_all(fed, *c);
    fed_trace_line(
        fed, "rollback accepted: every registered subcluster is known again, epochs go on above %" PRIu64,
        fed->epoch);
}

/* ---- what is left alone ---- */

static struct tf_report *alone(const struct cluster *cluster, struct tf_uid uid, uint64_t epoch)
{
    tf_vec_each (report, &cluster->alone)
        if (report->epoch == epoch && tf_uid_eq(report->uid, uid))
            return report;
    return NULL;
}

/* The next leader must know of it, too, before it places the job anew. */
static struct tf_left_alone *kept_alone(const struct cluster *cluster, struct tf_uid uid, uint64_t epoch)
{
    tf_vec_each (kept, &cluster->record.left_alone)
        if (kept->epoch == epoch && tf_uid_eq(kept->uid, uid))
            return kept;
    return NULL;
}

static void keep_alone(struct fed *fed, struct cluster *cluster, struct tf_uid uid, uint64_t epoch)
{
    if (kept_alone(cluster, uid, epoch) || cluster->record.left_alone.count == TF_LEFT_ALONE_MAX)
        return;
    tf_vec_push(&cluster->record.left_alone, (struct tf_left_alone){uid, epoch});
    fed_touch_cluster(fed, cluster);
}

static bool is_awaited(const struct fed *fed, struct tf_uid uid)
{
    tf_vec_each (c, &fed->clusters)
        for (size_t i = 0; !(*c)->told && i < (*c)->record.left_alone.count; i++)
            if (tf_uid_eq((*c)->record.left_alone.items[i].uid, uid))
                return true;
    return false;
}

void fed_rollback_loaded(struct fed *fed, struct job *job)
{
    job->awaited = is_awaited(fed, job->record.uid);
    tf_reached_if(job->awaited, fed, FED_AWAITED);
}

static void wait_no_longer(struct fed *fed, struct tf_uid uid)
{
    struct job *job = fed_job_by_uid(fed, uid);
    if (!job || !job->awaited || is_awaited(fed, uid))
        return;
    job->awaited = false;
    fed_job_settle(fed, job);
}

static void leave_alone(struct fed *fed, struct cluster *cluster, struct tf_report *report)
{
    struct tf_report *known = alone(cluster, report->uid, report->epoch);
    if (!known) {
        fed_alarm_now(fed,
                      "subcluster %s runs %s/%s epoch %" PRIu64
                      ", of which the restored store knows nothing: it is left alone; submit the job again, "
                      "or stop it there",
                      cluster->record.name, report->tenant, report->name, report->epoch);
        known = tf_vec_add(&cluster->alone);
        tf_reached(fed, FED_LEFT_ALONE);
    }
    tf_report_release(known);
    *known = *report;
    *report = (struct tf_report){0};
    keep_alone(fed, cluster, known->uid, known->epoch);
}

/* It has ended, or is the job's again. */
static void alone_no_more(struct fed *fed, struct cluster *cluster, struct tf_uid uid, uint64_t epoch)
{
    struct tf_left_alone *kept = kept_alone(cluster, uid, epoch);
    if (!kept)
        return;
    tf_vec_remove(&cluster->record.left_alone, (size_t)(kept - cluster->record.left_alone.items));
    fed_touch_cluster(fed, cluster);
    wait_no_longer(fed, uid);
}

void fed_rollback_ended(struct fed *fed, struct cluster *cluster, struct tf_uid uid, uint64_t epoch)
{
    struct tf_report *report = alone(cluster, uid, epoch);
    alone_no_more(fed, cluster, uid, epoch);
    if (!report)
        return;
    tf_report_release(report);
    tf_vec_remove(&cluster->alone, (size_t)(report - cluster->alone.items));
}

void fed_rollback_told(struct fed *fed, struct cluster *cluster)
{
    for (size_t i = cluster->record.left_alone.count; i-- > 0;) {
        struct tf_left_alone kept = cluster->record.left_alone.items[i];
        if (alone(cluster, kept.uid, kept.epoch))
            wait_no_longer(fed, kept.uid);
        else
            alone_no_more(fed, cluster, kept.uid, kept.epoch);
    }
}

void fed_rollback_forget(struct cluster *cluster)
{
    tf_vec_each (report, &cluster->alone)
        tf_report_release(report);
    tf_vec_release(&cluster->alone);
}

/* ---- adoption ---- */

static bool is_live(enum tf_phase phase)
{
    return phase == TF_PHASE_STARTING || phase == TF_PHASE_RUNNING || phase == TF_PHASE_STOPPING;
}

/* A later epoch of the job began, so these had ended: the store has forgotten that, too. */
static void end_earlier(struct fed *fed, struct job *job, uint64_t epoch)
{
    struct tf_ended ended = {
        .end = TF_END_LOST, .at = fed->now.wall, .message = "the restored store had forgotten that it ended"};
    while (job->record.placements.items[0].epoch < epoch) {
        uint64_t earlier = job->record.placements.items[0].epoch;
        fed_trace_job(fed, job, "epoch %" PRIu64 " had ended: epoch %" PRIu64 " runs", earlier, epoch);
        fed_job_epoch_ended(fed, job, earlier, &ended);
    }
}

/* It had finished, and was submitted again later. */
static void begin_again(struct fed *fed, struct job *job)
{
    fed_retention_forget(fed, job);
    fed_job_set_phase(fed, job, TF_PHASE_PENDING);
    job->record.finished = (struct tf_wall){0};
}

static void adopt(struct fed *fed, struct cluster *cluster, struct job *job, struct tf_report *report)
{
    if (tf_phase_is_final(job->record.phase)) {
        begin_again(fed, job);
        fed_reservation_note(fed, job);
    }
    fed_trace_job(fed, job, "epoch %" PRIu64 " runs in %s: adopted", report->epoch, cluster->record.name);
    uint64_t epoch = report->epoch;
    tf_reached(fed, FED_ADOPTED);
    if (!fed_cross_adopt(fed, job, cluster, report)) {
        fed_job_adopt(fed, job, cluster, report);
        end_earlier(fed, job, epoch);
    }
    fed_report_take(fed, cluster, report);
    const struct tf_placement *placement = fed_job_placement(job, epoch);
    if (placement->release == TF_RELEASE_NONE)
        fed_desired_place(fed, cluster, job, placement); /* its own store may have lost the record of it */
}

/* The store knows of this epoch's end, or of a later one. */
static bool is_known_to_be_over(const struct job *job, uint64_t epoch)
{
    tf_vec_each (placement, &job->record.placements)
        if (placement->epoch >= epoch)
            return true;
    return epoch <= job->record.last_epoch;
}

bool fed_rollback_adopt(struct fed *fed, struct cluster *cluster, struct job *job, struct tf_report *report)
{
    if (report->epoch > fed->adopted_up_to || !is_live(report->phase))
        return false;
    if (job && is_known_to_be_over(job, report->epoch))
        return false;
    if (job && !job->archiving)
        adopt(fed, cluster, job, report);
    else
        leave_alone(fed, cluster, report);
    return true;
}

void fed_rollback_submitted(struct fed *fed, struct job *job)
{
    struct cluster *where = NULL;
    struct tf_report *latest = NULL;
    tf_vec_each (c, &fed->clusters)
        tf_vec_each (report, &(*c)->alone)
            if (tf_uid_eq(report->uid, job->record.uid) && (!latest || report->epoch > latest->epoch)) {
                where = *c;
                latest = report;
            }
    if (!latest)
        return;
    struct tf_report report = *latest;
    tf_vec_remove(&where->alone, (size_t)(latest - where->alone.items));
    adopt(fed, where, job, &report);
    tf_report_release(&report);
}
