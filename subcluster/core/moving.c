/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what a move does to its job's record: the second instance of an index, the switch, the way back. When
 * and where to is migrate.c's, what single instances do members.c's. */
#include "subcluster/core/moving.h"

#include "subcluster/core/calls.h"
#include "subcluster/core/grow.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/members_private.h"
#include "subcluster/core/migrate.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/peers.h"
#include "subcluster/core/stakes.h"
#include "subcluster/core/strays.h"
#include "subcluster/core/trace.h"

#include <assert.h>

enum { BACKOFF_FIRST = 30 * TF_SECOND, BACKOFF_MOST = 10 * TF_MINUTE };

/* ---- may it? ---- */

bool moving_any(const struct job *job)
{
    size_t count = job->record.members.count;
    return count > 0 && member_is_second(job, count - 1);
}

const char *moving_bar(const struct sub *sub, const struct job *job)
{
    const struct tf_allocation *record = &job->record;
    if (record->spec->migration == TF_MIGRATION_NEVER)
        return "migration: never";
    if (record->phase != TF_ALLOCATION_RUNNING)
        return "it does not run fully";
    if (record->restart_at.ms)
        return "it is about to restart";
    if (job->unconfirmed) /* it would stop, and not start again before the leader has named it */
        return "its subcluster's store was restored, and the federation has not named it since";
    if (strays_live(sub, record->uid, record->epoch, false))
        return "instances of it that its record has forgotten still run";
    if (record->claims.count)
        return "it waits for what it lacks, and others go for that";
    if (job->move_at.ms > sub->now.mono.ms)
        return "its latest move failed, and a while has to pass";
    for (size_t i = 0; i < record->members.count && !member_is_second(job, i); i++) {
        const struct tf_member *m = &record->members.items[i];
        if (m->state == TF_MEMBER_MISSING || (m->role == TF_MEMBER_REPLACES && member_stays(m->state)))
            return "it is being repaired";
        if (m->state == TF_MEMBER_LEAVING)
            return "it is being made smaller";
    }
    return NULL;
}

const char *moving_instance_bar(const struct job *job, uint32_t index)
{
    if (index >= job->record.members.count || member_is_second(job, index) ||
        !member_counts(&job->record.members.items[index]))
        return "it has no such instance";
    if (job->record.members.items[index].state == TF_MEMBER_DONE)
        return "the work of this instance is done";
    if (member_second(job, index) != SIZE_MAX)
        return "what an earlier move of this instance has left is still being stopped";
    return NULL;
}

/* ---- forward ---- */

uint32_t moving_start(struct sub *sub, struct job *job, uint32_t index, const struct tf_claim *claim)
{
    struct tf_allocation *record = &job->record;
    assert(!moving_instance_bar(job, index) && strcmp(record->members.items[index].node, claim->node) != 0);
    struct tf_member *new = tf_vec_add(&record->members);
    const struct tf_member *old = &record->members.items[index];
    *new = (struct tf_member){.index = index,
                              .attempt = member_last_attempt(old) + 1,
                              .node = tf_strdup(claim->node),
                              .gpus = claim->gpus,
                              .mark = old->mark,
                              .state = TF_MEMBER_PLANNED,
                              .role = TF_MEMBER_MOVES_IN};
    record->members.items[index].attempts = new->attempt; /* never given out again, whatever becomes of it */
    tf_vec_push(&job->runs, member_new_run(sub, new));
    ledger_hold(&sub->ledger, record->uid, new, tf_shape_vector(&record->spec->group.shape),
                member_level(sub, job, new), member_stake(sub, job, new));
    trace_epoch(sub, job, "instance %u moves from %s to %s", index, old->node, new->node);
    job_changed(sub, job);
    call_start(sub, job, new);
    return new->attempt;
}

static void swap(struct job *job, size_t a, size_t b)
{
    struct tf_member member = job->record.members.items[a];
    struct member_run run = job->runs.items[a];
    job->record.members.items[a] = job->record.members.items[b];
    job->record.members.items[b] = member;
    job->runs.items[a] = job->runs.items[b];
    job->runs.items[b] = run;
}

/* The two of an index, with what each is from now on. */
static void exchange(struct sub *sub, struct job *job, uint32_t index, enum tf_member_role behind)
{
    struct tf_allocation *record = &job->record;
    size_t second = member_second(job, index);
    uint32_t last = member_last_attempt(&record->members.items[index]);
    assert(second != SIZE_MAX);
    swap(job, index, second);
    struct tf_member *in = &record->members.items[index], *out = &record->members.items[second];
    in->role = TF_MEMBER_OF_JOB;
    in->attempts = last;
    out->role = behind;
    job_changed(sub, job);
    if (member_holds(in->state))
        ledger_set_level(&sub->ledger, record->uid, in, member_level(sub, job, in));
    if (member_holds(out->state))
        ledger_set_level(&sub->ledger, record->uid, out, member_level(sub, job, out));
}

void moving_switch(struct sub *sub, struct job *job, uint32_t index)
{
    assert(job->record.members.items[member_second(job, index)].role == TF_MEMBER_MOVES_IN);
    exchange(sub, job, index, TF_MEMBER_MOVES_OUT);
    trace_epoch(sub, job, "instance %u is on %s from now on", index, job->record.members.items[index].node);
    peers_write(sub, job);
}

void moving_stop_old(struct sub *sub, struct job *job, uint32_t index)
{
    size_t second = member_second(job, index);
    assert(second != SIZE_MAX && job->record.members.items[second].role == TF_MEMBER_MOVES_OUT);
    assert(job->record.members.items[index].state == TF_MEMBER_READY && "make before break");
    member_leave(sub, job, second);
}

/* ---- back ---- */

bool moving_is_switched(const struct job *job, size_t place)
{
    size_t second = member_is_second(job, place) ? SIZE_MAX : member_second(job, (uint32_t)place);
    return second != SIZE_MAX && job->record.members.items[second].role == TF_MEMBER_MOVES_OUT;
}

/* The old one is the member again; the new one is behind it. */
static size_t step_back(struct sub *sub, struct job *job, uint32_t index)
{
    if (moving_is_switched(job, index)) {
        exchange(sub, job, index, TF_MEMBER_MOVES_IN);
        struct member_run *run = &job->runs.items[index];
        if (job->record.members.items[index].state == TF_MEMBER_READY && !run->seen)
            member_set_due(sub, job, index, moment_in(sub, member_start_bound(sub, job)));
        peers_write(sub, job);
    }
    return member_second(job, index);
}

void moving_take_back(struct sub *sub, struct job *job, uint32_t index)
{
    size_t second = member_second(job, index);
    if (second == SIZE_MAX || !member_moves(&job->record.members.items[second]))
        return; /* nothing of it, or there is no way back */
    second = step_back(sub, job, index);
    member_leave(sub, job, second);
}

void moving_undo_one(struct sub *sub, struct job *job, uint32_t index, const char *why)
{
    moving_take_back(sub, job, index);
    migrate_undone(sub, job, index, why);
}

void moving_undo(struct sub *sub, struct job *job, const char *why)
{
    struct places moving = {0};
    for (size_t i = job->record.members.count; i-- > 0 && member_is_second(job, i);)
        if (member_moves(&job->record.members.items[i]))
            tf_vec_push(&moving, job->record.members.items[i].index);
    tf_vec_each (index, &moving) {
        tf_reached(sub, SUB_MOVE_UNDONE);
        moving_undo_one(sub, job, (uint32_t)*index, why);
    }
    tf_vec_release(&moving);
}

void moving_put_off(struct sub *sub, struct job *job)
{
    struct tf_allocation *record = &job->record;
    int64_t wait = BACKOFF_FIRST;
    for (int32_t i = 0; i < record->move_failures && wait < BACKOFF_MOST; i++)
        wait *= 2;
    wait = wait < BACKOFF_MOST ? wait : BACKOFF_MOST;
    record->move_failures++;
    record->move_after = (struct tf_wall){sub->now.wall.ms + wait};
    job->move_at = moment_in(sub, wait);
    job_changed(sub, job);
}

void moving_load(struct sub *sub, struct job *job)
{
    int64_t left = job->record.move_after.ms ? job->record.move_after.ms - sub->now.wall.ms : 0;
    if (left > 0)
        job->move_at = moment_in(sub, left < BACKOFF_MOST ? left : BACKOFF_MOST);
}

void moving_broken(struct sub *sub, struct job *job, size_t place, bool gone, char *why)
{
    uint32_t index = job->record.members.items[place].index;
    size_t second = member_second(job, index);
    bool old = place == second && job->record.members.items[second].role == TF_MEMBER_MOVES_OUT;
    assert(second != SIZE_MAX && job->record.phase != TF_ALLOCATION_ENDING);
    if (!old)
        second = step_back(sub, job, index);
    if (gone)
        member_let_go(sub, job, &job->record.members.items[second], TF_MEMBER_GONE);
    else
        member_leave(sub, job, second);
    if (!old) {
        tf_reached(sub, SUB_MOVE_FAILED);
        trace_epoch(sub, job, "instance %u stays on %s: %s", index, job->record.members.items[index].node,
                    why);
        migrate_undone(sub, job, index, why);
        moving_put_off(sub, job);
    }
    free(why);
}

/* ---- the rest ---- */

void moving_relocate(struct sub *sub, struct job *job, size_t place, const struct tf_claim *claim)
{
    struct tf_member *m = &job->record.members.items[place];
    assert(m->state == TF_MEMBER_BACKOFF && !member_is_second(job, place));
    trace_epoch(sub, job, "instance %u moves from %s to %s", m->index, m->node, claim->node);
    job_changed(sub, job);
    ledger_release(&sub->ledger, job->record.uid, m, tf_journal_last(sub->outbox.journal));
    tf_str_set(&m->node, claim->node);
    m->gpus = claim->gpus;
    ledger_hold(&sub->ledger, job->record.uid, m, tf_shape_vector(&job->record.spec->group.shape),
                member_level(sub, job, m), member_stake(sub, job, m));
}

void moving_sweep(struct sub *sub, struct job *job)
{
    for (size_t i = job->record.members.count; i-- > 0 && member_is_second(job, i);) {
        struct tf_member *m = &job->record.members.items[i];
        if (m->state != TF_MEMBER_GONE)
            continue;
        tf_member_release(m);
        tf_vec_remove(&job->record.members, i);
        tf_vec_remove(&job->runs, i);
        job_changed(sub, job);
    }
}
