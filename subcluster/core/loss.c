/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what a loss does to the rest of its job. Which others leave is leave.c's, what comes in their place
 * repair.c's. */
#include "subcluster/core/loss.h"

#include "subcluster/core/allocation.h"
#include "subcluster/core/grow.h"
#include "subcluster/core/leave.h"
#include "subcluster/core/members_private.h"
#include "subcluster/core/moving.h"
#include "subcluster/core/notes.h"
#include "subcluster/core/peers.h"
#include "subcluster/core/repair.h"
#include "subcluster/core/retries.h"
#include "subcluster/core/size.h"
#include "subcluster/core/trace.h"

#include <assert.h>

static bool restarts_together(const struct job *job)
{
    return job->record.spec->on_resize == TF_ON_RESIZE_RESTART;
}

/* A start that the engine has not answered may still be on its way, and the node be back when it arrives:
 * such a one is not gone before the engine has answered its stop. */
static bool may_yet_start(const struct job *job, size_t place)
{
    return member_lives(job->record.members.items[place].state) && !job->runs.items[place].seen;
}

/* ---- those that were no members ---- */

static void note_situation(struct sub *sub, const struct job *job, size_t place)
{
    enum tf_member_state state = job->record.members.items[place].state;
    tf_reached_if(state == TF_MEMBER_STARTING, sub, SUB_NODE_LOST_STARTING);
    tf_reached_if(state == TF_MEMBER_STOPPING, sub, SUB_NODE_LOST_STOPPING);
    tf_reached_if(may_yet_start(job, place), sub, SUB_NODE_LOST_UNSEEN);
}

/* What was leaving anyway is gone, what was to join does not. */
static bool was_no_member(struct sub *sub, struct job *job, size_t place, const char *why)
{
    struct tf_member *m = &job->record.members.items[place];
    note_situation(sub, job, place);
    bool gone = !may_yet_start(job, place), ends = job->record.phase == TF_ALLOCATION_ENDING;
    if (m->state == TF_MEMBER_LEAVING || ends) {
        if (gone)
            member_let_go(sub, job, m, TF_MEMBER_GONE);
        return true;
    }
    if (m->role == TF_MEMBER_OF_JOB && !moving_is_switched(job, place))
        return false;
    bool stops = member_stops(m->state); /* its stop has been asked for */
    if (gone || !stops)
        grow_broken(sub, job, place, gone, tf_asprintf("instance %u was lost: %s", m->index, why));
    return true;
}

/* ---- those that were ---- */

static void remember(struct sub *sub, struct job *job, size_t count, size_t place, const char *why)
{
    struct tf_ended *latest = &job->record.ending;
    free(latest->message);
    if (count == 1)
        latest->message =
            tf_asprintf("instance %u was lost: %s", job->record.members.items[place].index, why);
    else
        latest->message = tf_asprintf("%zu instances were lost: %s", count, why);
    latest->at = sub->now.wall;
}

static bool any_done(const struct tf_allocation *record)
{
    tf_vec_each (m, &record->members)
        if (m->state == TF_MEMBER_DONE)
            return true;
    return false;
}

/* Its work cannot go on without those, and what it has is not worth waiting for. */
static bool ends_it(const struct job *job)
{
    return job->record.phase != TF_ALLOCATION_RUNNING || any_done(&job->record);
}

static void end_lost(struct sub *sub, struct job *job, const struct places *lost)
{
    char *message = job->record.ending.message;
    job->record.ending.message = NULL;
    tf_vec_each (place, lost)
        if (!may_yet_start(job, *place))
            member_let_go(sub, job, &job->record.members.items[*place], TF_MEMBER_GONE);
    epoch_end(sub, job, (struct ending){.end = TF_END_LOST, .message = message});
}

/* Nobody else leaves: the lost ones are to be replaced. */
static void miss(struct sub *sub, struct job *job, const struct places *lost)
{
    tf_reached(sub, SUB_GANG_BROKEN);
    tf_vec_each (place, lost) {
        struct tf_member *m = &job->record.members.items[*place];
        bool stops = member_stops(m->state);
        if (!may_yet_start(job, *place)) {
            member_let_go(sub, job, m, TF_MEMBER_MISSING);
            continue;
        }
        m->role = TF_MEMBER_REPLACES; /* of itself: MISSING when its stop is answered */
        if (!stops)
            member_stop(sub, job, *place);
    }
    trace_epoch(sub, job, "misses %zu of its %d instances: %s", lost->count, job->record.size,
                job->record.ending.message);
    job_changed(sub, job);
    peers_write(sub, job);
}

static void restart_soon(struct sub *sub, struct job *job)
{
    int64_t wait = sub->policy.failure_settle;
    job->record.restart_at = (struct tf_wall){sub->now.wall.ms + wait};
    job->restart_due = moment_in(sub, wait);
    job_due_at(sub, job, job->restart_due);
}

/* It has its new size; those that leave are told to. */
static void go_on_without(struct sub *sub, struct job *job, const struct places *leavers, int32_t before)
{
    struct tf_allocation *record = &job->record;
    record->last_shrink = sub->now.wall;
    trace_epoch(sub, job, "shrinks from %d to %d instances: %s", before, record->size,
                record->ending.message);
    members_dismiss(sub, job, leavers->items, leavers->count);
    size_mark_again(sub, job);
    if (restarts_together(job) && record->size > 0)
        restart_soon(sub, job);
}

/* The lost ones leave, and with them whom the step asks for. */
static void shrink(struct sub *sub, struct job *job, const struct places *lost)
{
    struct tf_allocation *record = &job->record;
    struct places leavers = {0};
    int32_t before = record->size;
    leave_with_lost(sub, job, lost, &leavers);
    tf_vec_each (place, lost)
        if (may_yet_start(job, *place))
            tf_vec_push(&leavers, *place);
        else
            member_let_go(sub, job, &record->members.items[*place], TF_MEMBER_GONE);
    record->size = before - (int32_t)lost->count;
    tf_vec_each (place, &leavers)
        record->size -= member_is_among(*place, lost) ? 0 : 1;
    tf_reached(sub, SUB_SHRUNK_BY_LOSS);
    go_on_without(sub, job, &leavers, before);
    tf_vec_release(&leavers);
}

void members_lost(struct sub *sub, struct job *job, const struct places *all, const char *why)
{
    struct places lost = {0};
    const struct tf_elastic *e = &job->record.spec->elastic;
    tf_vec_each (place, all)
        if (member_holds(job->record.members.items[*place].state) && !was_no_member(sub, job, *place, why))
            tf_vec_push(&lost, *place);
    if (lost.count) {
        bool stops = job->record.spec->below_min == TF_BELOW_MIN_STOP;
        remember(sub, job, lost.count, lost.items[0], why);
        if (ends_it(job)) {
            end_lost(sub, job, &lost);
        } else {
            note_lost(sub, job, &lost, why);
            grow_undo(sub, job);
            if (stops && tf_size_align(e, job->record.size - (int32_t)lost.count) < e->min)
                miss(sub, job, &lost);
            else
                shrink(sub, job, &lost);
            repair_note(sub, job);
        }
    }
    if (job_lives(job))
        epoch_look(sub, job);
    tf_vec_release(&lost);
}

/* ---- some that live ---- */

/* They are replaced, when their stops are answered. */
static void stop_and_miss(struct sub *sub, struct job *job, const struct places *sent)
{
    tf_vec_each (place, sent) {
        struct tf_member *m = &job->record.members.items[*place];
        if (!member_lives(m->state)) { /* it waits for its retry: nothing of it runs */
            member_let_go(sub, job, m, TF_MEMBER_MISSING);
            continue;
        }
        m->role = TF_MEMBER_REPLACES;
        member_stop(sub, job, *place);
    }
    job_changed(sub, job);
    peers_write(sub, job);
}

static void shrink_by(struct sub *sub, struct job *job, const struct places *sent)
{
    struct tf_allocation *record = &job->record;
    struct places leavers = {0};
    int32_t before = record->size;
    leave_with_lost(sub, job, sent, &leavers);
    tf_vec_each (place, sent)
        if (!member_is_among(*place, &leavers))
            tf_vec_push(&leavers, *place);
    record->size = before - (int32_t)leavers.count;
    go_on_without(sub, job, &leavers, before);
    tf_vec_release(&leavers);
}

void members_sent_away(struct sub *sub, struct job *job, const struct places *sent, const char *why)
{
    const struct tf_elastic *e = &job->record.spec->elastic;
    bool stops = job->record.spec->below_min == TF_BELOW_MIN_STOP;
    assert(sent->count && job_lives(job));
    remember(sub, job, sent->count, sent->items[0], why);
    if (ends_it(job)) {
        char *message = TF_STEAL(job->record.ending.message);
        epoch_end(sub, job, (struct ending){.end = TF_END_LOST, .message = message});
        return;
    }
    grow_undo(sub, job);
    if (stops && tf_size_align(e, job->record.size - (int32_t)sent->count) < e->min)
        stop_and_miss(sub, job, sent);
    else
        shrink_by(sub, job, sent);
    repair_note(sub, job);
    if (job_lives(job))
        epoch_look(sub, job);
}

/* ---- the restart that follows ---- */

bool loss_is_settling(const struct job *job)
{
    if (!restarts_together(job))
        return false;
    tf_vec_each (m, &job->record.members)
        if (m->state == TF_MEMBER_MISSING || (m->role == TF_MEMBER_REPLACES && member_stays(m->state)))
            return true;
    return job->record.restart_at.ms != 0;
}

void loss_restart(struct sub *sub, struct job *job)
{
    job->restart_due = TF_NEVER;
    job->record.restart_at = (struct tf_wall){0};
    tf_reached(sub, SUB_RESTART_SETTLED);
    trace_epoch(sub, job, "restarts with %d instances", job->record.size);
    members_restart(sub, job);
    repair_unbarred(sub, job);
}

/* ---- the wait for a repair ---- */

/* Nothing of it runs, or it cannot go on without those that are missing; and nothing is on its way. */
static bool is_stuck(const struct job *job)
{
    const struct tf_allocation *record = &job->record;
    bool missing = false;
    tf_vec_each (m, &record->members) {
        missing |= m->state == TF_MEMBER_MISSING;
        if (m->role == TF_MEMBER_JOINS && member_stays(m->state))
            return false;
    }
    return missing || record->size == 0;
}

static void end_unrepaired(struct sub *sub, struct job *job)
{
    const struct tf_allocation *record = &job->record;
    int32_t missing = 0;
    tf_vec_each (m, &record->members)
        missing += m->state == TF_MEMBER_MISSING;
    tf_reached(sub, SUB_NOT_REPAIRED);
    char *message =
        tf_asprintf("%s%sin %lld s (repairWait) there was no place for %s",
                    record->ending.message ? record->ending.message : "", record->ending.message ? "; " : "",
                    (long long)sub->policy.repair_wait / TF_SECOND, missing ? "what it misses" : "any of it");
    epoch_end(sub, job, (struct ending){.end = TF_END_LOST, .message = message});
}

void loss_repair_over(struct sub *sub, struct job *job)
{
    job->repair_due = TF_NEVER;
    if (job->record.phase == TF_ALLOCATION_RUNNING && is_stuck(job))
        end_unrepaired(sub, job);
}

/* A replacement that fails when the wait is over already is the last. */
void loss_note(struct sub *sub, struct job *job)
{
    struct tf_allocation *record = &job->record;
    if (record->phase != TF_ALLOCATION_RUNNING || !is_stuck(job) || job->repair_due.ms != TF_NEVER.ms)
        return;
    int64_t waited = sub->now.wall.ms - record->short_since.ms, all = sub->policy.repair_wait;
    waited = waited < 0 ? 0 : waited;
    job->repair_due = moment_in(sub, waited < all ? all - waited : 0);
    job_due_at(sub, job, job->repair_due);
}

void loss_load(struct sub *sub, struct job *job)
{
    int64_t left = job->record.restart_at.ms - sub->now.wall.ms, all = sub->policy.failure_settle;
    if (job->record.restart_at.ms && job->record.phase == TF_ALLOCATION_RUNNING) {
        left = left < 0 ? 0 : left;
        job->restart_due = moment_in(sub, left < all ? left : all);
    }
    loss_note(sub, job);
}
