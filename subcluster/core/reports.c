/* SPDX-License-Identifier: Apache-2.0 */
/* Renders reports from records. When they leave is the outbox's. */
#include "subcluster/core/reports.h"

#include "subcluster/core/jobs.h"
#include "subcluster/core/members.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/peers.h"
#include "subcluster/core/strays.h"

static bool attached(const struct sub *sub)
{
    return sub->link.state != LINK_DOWN && sub->link.state != LINK_BROKEN;
}

static void send(struct sub *sub, struct tf_up up)
{
    out_hold(sub, (struct sub_action){.kind = SUB_ACT_SEND, .send = up});
}

static enum tf_phase phase_of(enum tf_allocation_phase phase)
{
    switch (phase) {
    case TF_ALLOCATION_CLAIMING:
    case TF_ALLOCATION_STARTING:
        return TF_PHASE_STARTING;
    case TF_ALLOCATION_RUNNING:
    case TF_ALLOCATION_RESERVED:
        return TF_PHASE_RUNNING;
    case TF_ALLOCATION_ENDING:
        return TF_PHASE_STOPPING;
    case TF_ALLOCATION_IDLE:
        break;
    }
    return TF_PHASE_NONE;
}

/* What a reservation keeps is told as members that were never started, and counts as ready. */
static void add_kept(struct tf_report *r, const struct tf_allocation *record)
{
    for (uint32_t i = 0; i < record->claims.count; i++) {
        const struct tf_claim *claim = &record->claims.items[i];
        tf_vec_push(&r->members, (struct tf_member){.index = i,
                                                    .attempt = 1,
                                                    .node = tf_strdup(claim->node),
                                                    .gpus = claim->gpus,
                                                    .state = TF_MEMBER_PLANNED});
    }
    r->ready = (int32_t)record->claims.count;
}

/* Its node does not answer its engine: nothing is known of it now. */
static bool is_unreachable(const struct sub *sub, const struct tf_member *m)
{
    if (!sub->health.watched.count || !member_holds(m->state))
        return false;
    const struct ledger_node *node = ledger_find(&sub->ledger, m->node);
    return node && node->silent.ms != TF_NEVER.ms;
}

static void send_live(struct sub *sub, const struct tf_allocation *record)
{
    struct tf_up up = {.kind = TF_UP_REPORT};
    struct tf_report *r = &up.report;
    r->uid = record->uid;
    r->epoch = record->epoch;
    r->tenant = tf_strdup(record->tenant);
    r->name = tf_strdup(record->name);
    r->phase = phase_of(record->phase);
    r->model = tf_strdup(record->model);
    r->size = record->size;
    r->accepted = record->accepted;
    r->started = record->started;
    r->retries_used = record->retries_used;
    r->successor = record->successor;
    r->declined = record->declined;
    r->predecessor = record->predecessor;
    r->checkpoint = record->last_checkpoint;
    r->restart_took = record->restart_took;
    r->noted = record->noted;
    tf_notes_copy(&r->notes, &record->notes);
    tf_vec_each (m, &record->members) {
        r->ready += m->state == TF_MEMBER_READY && member_counts(m);
        if (record->members.items[m->index].attempt == m->attempt) /* not one that comes or goes by a move */
            r->restarts += (int32_t)m->attempt - 1;
        r->unreachable += member_counts(m) && is_unreachable(sub, m);
        tf_member_copy(tf_vec_add(&r->members), m);
    }
    if (record->phase == TF_ALLOCATION_RESERVED)
        add_kept(r, record);
    if (record->ending.end == TF_END_NONE)
        tf_ended_copy(&r->ended, &record->ending); /* the latest trouble: it ends nothing */
    send(sub, up);
}

static void send_ended(struct sub *sub, const struct tf_allocation *record, const struct tf_ended *ended)
{
    struct tf_up up = {.kind = TF_UP_REPORT};
    up.report.uid = record->uid;
    up.report.epoch = ended->epoch;
    up.report.tenant = tf_strdup(record->tenant);
    up.report.name = tf_strdup(record->name);
    tf_ended_copy(&up.report.ended, ended);
    send(sub, up);
}

/* An end says that nothing of the epoch runs, which only the engine knows of one whose record was lost;
 * `released` says it of all lower ones too (DESIGN.md §7). */
static bool may_tell(const struct sub *sub, const struct tf_allocation *record, const struct tf_ended *ended)
{
    bool lower_lives = record->phase != TF_ALLOCATION_IDLE && record->epoch < ended->epoch;
    if (ended->end != TF_END_REFUSED && !sub->listed)
        return false;
    if (ended->end == TF_END_RELEASED && lower_lives)
        return false;
    if (ended->end == TF_END_REFUSED) /* it never ran; unless a restored store says so of one that does */
        return !strays_live(sub, record->uid, ended->epoch, false);
    return !strays_live(sub, record->uid, ended->epoch, true);
}

static void send_job(struct sub *sub, const struct tf_allocation *record)
{
    tf_vec_each (ended, &record->ended)
        if (may_tell(sub, record, ended))
            send_ended(sub, record, ended);
        else
            tf_reached(sub, SUB_END_WAITS);
    if (record->phase != TF_ALLOCATION_IDLE)
        send_live(sub, record);
}

static void add_stray(struct tf_report *report, const struct stray *stray)
{
    struct tf_member *m = tf_vec_add(&report->members);
    m->index = stray->id.index;
    m->attempt = stray->id.attempt;
    m->node = tf_strdup(stray->node ? stray->node : "unknown");
    m->gpus = stray->gpus;
    m->state = stray->ready ? TF_MEMBER_READY : TF_MEMBER_STARTING;
    tf_strs_copy(&m->ports, &stray->ports);
    report->size++;
    report->ready += stray->ready;
}

/* The strays of one epoch, from the first; how many they are. Those that are stopped already are told only if
 * all are: they may run on for as long as it takes, and a leader whose store has forgotten the epoch would
 * place the job elsewhere meanwhile. */
static size_t render_epoch(struct sub *sub, size_t first, struct tf_report *report)
{
    const struct stray *strays = &sub->strays.items[first];
    size_t count = 0, stopping = 0;
    while (first + count < sub->strays.count && tf_uid_eq(strays[count].id.uid, strays->id.uid) &&
           strays[count].id.epoch == strays->id.epoch)
        stopping += strays[count++].stopping;
    report->uid = strays->id.uid;
    report->epoch = strays->id.epoch;
    report->tenant = tf_strdup(strays->tenant);
    report->name = tf_strdup(strays->name);
    report->phase = stopping == count ? TF_PHASE_STOPPING : TF_PHASE_RUNNING;
    for (size_t i = 0; i < count; i++)
        if (stopping == count || !strays[i].stopping)
            add_stray(report, &strays[i]);
    return count;
}

/* Its own record tells of it; or what is stopped is on nodes that were given up, and it has ended without. */
static bool is_told(const struct sub *sub, const struct tf_report *report)
{
    if (report->phase != TF_PHASE_STOPPING)
        return false;
    const struct job *job = job_find(sub, report->uid);
    return (job && job_lives(job) && job->record.epoch == report->epoch) ||
           !strays_live(sub, report->uid, report->epoch, false);
}

/* One report an epoch of which something runs and no record is. */
static void send_strays(struct sub *sub)
{
    for (size_t i = 0; i < sub->strays.count;) {
        struct tf_up up = {.kind = TF_UP_REPORT};
        i += render_epoch(sub, i, &up.report);
        if (is_told(sub, &up.report))
            tf_up_release(&up);
        else
            send(sub, up);
    }
}

void reports_unknown(struct sub *sub, const struct tf_entry *entry)
{
    struct tf_up up = {.kind = TF_UP_REPORT};
    up.report.uid = entry->uid;
    up.report.epoch = entry->epoch;
    up.report.tenant = tf_strdup(entry->tenant);
    up.report.name = tf_strdup(entry->name);
    up.report.ended.epoch = entry->epoch;
    up.report.ended.end = TF_END_UNKNOWN;
    up.report.ended.reason = TF_REASON_UNKNOWN_EPOCH;
    up.report.ended.at = sub->now.wall;
    up.report.ended.message =
        tf_asprintf("%s has no record of the epoch and never started it", sub->boot.name);
    tf_vec_push(&sub->link.answers, up);
}

void reports_all(struct sub *sub)
{
    for (struct job *job = jobs_first(sub); job; job = jobs_next(job))
        job_tell(sub, job);
    sub->strays_due = true;
    sub->link.listed_due = sub->listed;
}

static void render_touched(struct sub *sub)
{
    for (size_t i = 0; i < sub->touched.count; i++) {
        struct job *job = job_find(sub, sub->touched.items[i]);
        if (!job || !job->report_due)
            continue; /* it is gone, or a new one of that uid was told */
        job->report_due = false;
        if (job->peers_due && job_lives(job))
            peers_write(sub, job);
        job->peers_due = false;
        if (attached(sub))
            send_job(sub, &job->record);
    }
    sub->touched.count = 0;
}

void reports_render(struct sub *sub)
{
    render_touched(sub);
    if (!attached(sub))
        return;
    if (sub->strays_due)
        send_strays(sub);
    sub->strays_due = false;
    tf_vec_each (answer, &sub->link.answers)
        send(sub, *answer);
    sub->link.answers.count = 0;
    if (sub->link.listed_due)
        send(sub, (struct tf_up){.kind = TF_UP_LISTED});
    sub->link.listed_due = false;
}
