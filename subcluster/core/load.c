/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the way from stored records to a working state. A record is checked before it is believed: what the
 * rest of the core asserts must hold of it. */
#include "subcluster/core/load.h"

#include "subcluster/core/absorb.h"
#include "subcluster/core/allocation.h"
#include "subcluster/core/brake.h"
#include "subcluster/core/checkpoint.h"
#include "subcluster/core/cordon.h"
#include "subcluster/core/grow.h"
#include "subcluster/core/health.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/link.h"
#include "subcluster/core/loss.h"
#include "subcluster/core/members.h"
#include "subcluster/core/migrate.h"
#include "subcluster/core/moving.h"
#include "subcluster/core/node_claims.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/policy.h"
#include "subcluster/core/reclaim.h"
#include "subcluster/core/repair.h"
#include "subcluster/core/retries.h"
#include "subcluster/core/stakes.h"
#include "subcluster/core/strays.h"
#include "subcluster/core/trace.h"
#include "subcluster/core/yield.h"

#include <assert.h>

/* ---- is it sound? NULL, or what is wrong ---- */

/* Each index in its place, then those that come or go by a move, one an index. */
static bool is_in_place(const struct tf_allocation *record, size_t place)
{
    const struct tf_member *m = &record->members.items[place];
    bool leaves = m->state == TF_MEMBER_LEAVING || record->phase == TF_ALLOCATION_ENDING;
    bool moves = m->role == TF_MEMBER_MOVES_IN || m->role == TF_MEMBER_MOVES_OUT;
    if (m->index == place)
        return !moves && (place == 0 || record->members.items[place - 1].index == place - 1);
    if (m->index > place || record->members.items[m->index].index != m->index || !(moves || leaves))
        return false;
    for (size_t i = m->index + 1; i < place; i++)
        if (record->members.items[i].index == m->index)
            return false;
    return true;
}

static const char *member_fault(const struct sub *sub, const struct tf_allocation *record, size_t place)
{
    const struct tf_member *m = &record->members.items[place];
    if (m->attempt == 0 || !m->node)
        return "a member has no attempt, or no node";
    if (!is_in_place(record, place))
        return "its members are not numbered";
    if (m->state <= TF_MEMBER_NONE || m->state > TF_MEMBER_MISSING)
        return "a member has no state";
    if (record->phase == TF_ALLOCATION_ENDING && m->state == TF_MEMBER_BACKOFF)
        return "a member waits for a retry while its epoch is being ended";
    if (!member_holds(m->state))
        return NULL;
    if (tf_gpu_set_count(m->gpus) != record->spec->group.shape.gpus)
        return "a member does not hold the GPUs that its spec asks for";
    const struct ledger_node *node = ledger_find(&sub->ledger, m->node);
    uint64_t held = node ? ledger_held_gpus(node) : 0;
    for (size_t i = 0; i < place; i++) {
        const struct tf_member *other = &record->members.items[i];
        if (member_holds(other->state) && strcmp(other->node, m->node) == 0)
            held |= other->gpus;
    }
    return held & m->gpus ? "another holds one of its GPUs" : NULL;
}

static const char *claims_fault(const struct sub *sub, const struct tf_allocation *record)
{
    for (size_t i = 0; i < record->claims.count; i++) {
        const struct tf_claim *claim = &record->claims.items[i];
        const struct ledger_node *node = claim->node ? ledger_find(&sub->ledger, claim->node) : NULL;
        uint64_t claimed = node ? ledger_claimed_gpus_of(node) : 0;
        bool in_use = record->phase == TF_ALLOCATION_RESERVED && claim->gpus; /* in part */
        if (!claim->node || (tf_gpu_set_count(claim->gpus) != record->spec->group.shape.gpus && !in_use))
            return "a claim names no node, or not the GPUs that its spec asks for";
        for (size_t j = 0; j < i; j++)
            if (strcmp(record->claims.items[j].node, claim->node) == 0)
                claimed |= record->claims.items[j].gpus;
        if (claimed & claim->gpus)
            return "another claims one of its GPUs";
    }
    return NULL;
}

/* It runs, and has claims for what it lacks. */
static bool claims_more(const struct tf_allocation *record)
{
    const struct tf_elastic *e = &record->spec->elastic;
    return record->phase == TF_ALLOCATION_RUNNING && e->step >= 1 && e->min >= record->size &&
           record->claims.count <= (size_t)(e->min - record->size) &&
           record->claims.count % (size_t)e->step == 0;
}

static const char *epoch_fault(const struct sub *sub, const struct tf_allocation *record)
{
    const struct tf_elastic *e = &record->spec->elastic;
    bool ending = record->phase == TF_ALLOCATION_ENDING;
    bool claims = record->phase == TF_ALLOCATION_CLAIMING || record->phase == TF_ALLOCATION_RESERVED;
    if (record->epoch == 0 || record->members.count > 2 * (size_t)TF_INSTANCES_MAX)
        return "its live epoch has no number or too many members";
    if (claims != (record->claims.count > 0) && !claims_more(record))
        return "its phase and its claims do not agree";
    if (!ending && (record->members.count == 0) != claims)
        return "its phase and its members do not agree";
    if (e->min < 1 || e->step < 1 || e->max < e->min)
        return "its sizes make no sense";
    if (ending != (record->ending.end != TF_END_NONE))
        return "its phase and its end do not agree";
    for (size_t i = 0; i < record->members.count; i++) {
        const char *fault = member_fault(sub, record, i);
        if (fault)
            return fault;
    }
    return claims_fault(sub, record);
}

static const char *fault_of(const struct sub *sub, const struct tf_allocation *record)
{
    if (tf_uid_is_none(record->uid) || !record->tenant || !record->name)
        return "it has no uid or no name";
    if (job_find(sub, record->uid))
        return "there is another one of that uid";
    if (record->phase < TF_ALLOCATION_IDLE || record->phase > TF_ALLOCATION_RESERVED)
        return "it has no phase";
    tf_vec_each (ended, &record->ended)
        if (ended->epoch == 0 || ended->end == TF_END_NONE)
            return "one of its ended epochs has no number or no end";
    if (record->phase == TF_ALLOCATION_IDLE)
        return record->members.count ? "it has members but no live epoch" : NULL;
    return epoch_fault(sub, record);
}

/* ---- records ---- */

static uint64_t highest_epoch(const struct tf_allocation *record)
{
    uint64_t highest = record->epoch;
    tf_vec_each (ended, &record->ended)
        if (ended->epoch > highest)
            highest = ended->epoch;
    return highest;
}

static void hold_members(struct sub *sub, const struct job *job)
{
    struct tf_vector need = tf_shape_vector(&job->record.spec->group.shape);
    tf_vec_each (m, &job->record.members)
        if (member_holds(m->state))
            ledger_hold(&sub->ledger, job->record.uid, m, need, member_level(sub, job, m),
                        member_stake(sub, job, m));
}

static void load_allocation(struct sub *sub, struct tf_allocation *record)
{
    uint64_t highest = highest_epoch(record);
    const char *fault = fault_of(sub, record);
    if (highest > sub->floor)
        sub->floor = highest; /* the floor is stored after the allocation that raised it */
    if (fault) {
        char uid[TF_UID_TEXT];
        tf_uid_format(record->uid, uid);
        alarm_raise(
            sub,
            "the stored allocation %s of job %s/%s is not sound and is left aside: %s. Nothing of it is "
            "started; what runs of it is reported as without a record",
            uid, record->tenant ? record->tenant : "?", record->name ? record->name : "?", fault);
        return;
    }
    struct job *job = jobs_add(sub, record->uid);
    job->record = *record;
    *record = (struct tf_allocation){0};
    hold_members(sub, job);
    if (job->record.claims.count)
        reclaim_load(sub, job);
    members_attach(sub, job);
}

static void load_cordon(struct sub *sub, struct tf_cordon *cordon)
{
    const char *fault = NULL;
    if (!cordon_load(sub, cordon, &fault))
        alarm_raise(sub, "the stored cordon of node %s is not sound and is left aside: %s",
                    cordon->node ? cordon->node : "?", fault);
}

static void load_migration(struct sub *sub, struct tf_migration *migration)
{
    const char *fault = migrate_load(sub, migration);
    if (fault)
        alarm_raise(sub, "a stored migration is not sound and is left aside: %s. Nothing more of it begins",
                    fault);
}

static void load_node_claim(struct sub *sub, struct tf_node_claim *claim)
{
    const char *fault = node_claim_load(sub, claim);
    if (fault)
        alarm_raise(sub, "the stored claim of job %s/%s on nodes is not sound and is left aside: %s",
                    claim->tenant ? claim->tenant : "?", claim->name ? claim->name : "?", fault);
}

void load_one(struct sub *sub, struct tf_record *record)
{
    struct tf_error err = TF_ERROR_INIT;
    assert(!sub->loaded);
    if (record->kind == TF_RECORD_TERM)
        sub->term = record->term;
    else if (record->kind == TF_RECORD_ROLLBACK)
        sub->rollback_noted = true;
    else if (record->kind == TF_RECORD_EVICTIONS)
        brake_load(sub, &record->evictions);
    else if (record->kind == TF_RECORD_FLOOR) {
        sub->floor = record->number > sub->floor ? record->number : sub->floor;
        sub->floor_stored = true;
    } else if (record->kind == TF_RECORD_ALLOCATION)
        load_allocation(sub, &record->allocation);
    else if (record->kind == TF_RECORD_CORDON)
        load_cordon(sub, &record->cordon);
    else if (record->kind == TF_RECORD_NODE_CLAIM)
        load_node_claim(sub, &record->node_claim);
    else if (record->kind == TF_RECORD_MIGRATION)
        load_migration(sub, &record->migration);
    else if (record->kind != TF_RECORD_POLICY)
        alarm_raise(sub, "a stored record of kind %d does not belong here and is left aside",
                    (int)record->kind);
    else if (!policy_load(sub, &record->policy, &err))
        alarm_raise(sub, "the stored policy is not sound; the configured one is in force: %s", err.text);
}

/* Waits that were begun go on from what the record says is left of them, at most the whole. */
static void resume_waits(struct sub *sub, struct job *job)
{
    for (size_t i = 0; i < job->record.members.count; i++) {
        const struct tf_member *m = &job->record.members.items[i];
        struct member_run *run = &job->runs.items[i];
        bool waits = m->state == TF_MEMBER_BACKOFF;
        if (!waits && (m->state != TF_MEMBER_STOPPING || job->record.phase == TF_ALLOCATION_ENDING))
            continue;
        int64_t left = m->retry_at.ms - sub->now.wall.ms, all = member_backoff(job, m);
        left = left < 0 ? 0 : left;
        run->retry.ms = sub->now.mono.ms + (left < all ? left : all);
        if (waits)
            run->due = run->retry;
        tf_reached_if(waits, sub, SUB_RETRY_RESUMED);
    }
    epoch_set_runtime(sub, job);
    epoch_set_protection(sub, job);
    yield_load(sub, job);
    grow_load(sub, job);
    moving_load(sub, job);
    absorb_load(sub, job);
    checkpoint_load(sub, job);
    repair_note(sub, job);
    loss_load(sub, job);
    job_due_again(sub, job);
}

void load_end(struct sub *sub)
{
    assert(!sub->loaded);
    sub->loaded = true;
    sub->unsure = sub->boot.accept_rollback || sub->rollback_noted || !sub->floor_stored;
    if (sub->boot.accept_rollback)
        out_touch(sub, TF_RECORD_ROLLBACK);
    sub->rollback_noted |= sub->boot.accept_rollback;
    node_claims_loaded(sub);
    migrate_loaded(sub);
    health_loaded(sub);
    size_t live = 0;
    for (struct job *job = jobs_first(sub); job; job = jobs_next(job)) {
        if (!job_lives(job))
            continue;
        live++;
        resume_waits(sub, job);
    }
    trace(sub, "loaded: %zu jobs, %zu with a live epoch, floor %llu", sub->jobs.count, live,
          (unsigned long long)sub->floor);
}

/* The engine has something of the epoch, and nothing of a later one: as long as it has not forgotten that, it
 * starts nothing twice. */
static bool is_seen(const struct sub *sub, const struct job *job)
{
    struct stray_range range = strays_of(sub, job->record.uid);
    for (size_t i = 0; i < range.count; i++)
        if (sub->strays.items[range.first + i].id.epoch > job->record.epoch)
            return false;
    tf_vec_each (run, &job->runs)
        if (run->known)
            return true;
    return range.count > 0;
}

/* It may have ended, and the engine been told to forget it, after the copy of the store was made. What the
 * engine does not list does not run, and what earlier owners may yet ask of it is refused. */
static void end_unseen(struct sub *sub, struct job *job)
{
    members_are_gone(sub, job);
    if (job->record.phase == TF_ALLOCATION_ENDING) {
        epoch_look(sub, job);
        return;
    }
    char *why = tf_strdup("the subcluster's store was restored, and nothing of it runs");
    epoch_end(sub, job, (struct ending){.end = TF_END_LOST, .message = why});
}

/* The copy was made while it still claimed what it runs on by now. */
static bool got_its_claims(const struct sub *sub, const struct job *job)
{
    return job->record.phase == TF_ALLOCATION_CLAIMING &&
           strays_of_epoch(sub, job->record.uid, job->record.epoch);
}

/* The record goes, as if it had been lost: what runs is adopted when the leader names it. */
static void forget_epoch(struct sub *sub, struct job *job)
{
    reclaim_drop(sub, job);
    tf_allocation_clear_epoch(&job->record);
    out_touch_job(sub, job);
    job_drop_if_empty(sub, job);
}

void load_listed(struct sub *sub)
{
    assert(sub->loaded);
    sub->listed = true;
    for (struct job *job = jobs_first(sub), *next; job; job = next) {
        next = jobs_next(job);
        if (job->record.ended.count)
            job_tell(sub, job); /* what is released may be said from now on */
        if (!job_lives(job))
            continue;
        job->unconfirmed = sub->unsure;
        if (sub->unsure && got_its_claims(sub, job)) {
            forget_epoch(sub, job);
            continue;
        }
        if (sub->unsure && !is_seen(sub, job)) {
            end_unseen(sub, job);
            continue;
        }
        members_resume(sub, job);
        grow_look(sub, job);
        if (job_lives(job))
            epoch_look(sub, job);
    }
    strays_listed(sub);
    reclaim_listed(sub);
    health_listed(sub);
    sub->link.listed_due = true;
    if (sub->hello_due)
        uplink_up(sub);
    trace(sub, "the engine has told of everything: %zu nodes, %zu instances without a record",
          sub->ledger.nodes.count, sub->strays.count);
}
