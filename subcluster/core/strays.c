/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the list of strays. They are few, but for a store that was lost: then they are all that runs. */
#include "subcluster/core/strays.h"

#include "subcluster/core/absorb.h"
#include "subcluster/core/health.h"
#include "subcluster/core/jobs.h"
#include "subcluster/core/members.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/repair.h"
#include "subcluster/core/retries.h"
#include "subcluster/core/trace.h"

#include "common/base/text.h"

#include <assert.h>

enum { STRAY_GRACE = 30 * TF_SECOND }; /* when no spec says */

static int cmp_id(const struct tf_instance_id *a, const struct tf_instance_id *b)
{
    int uid = tf_uid_cmp(a->uid, b->uid);
    if (uid)
        return uid;
    if (a->epoch != b->epoch)
        return a->epoch < b->epoch ? -1 : 1;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    return a->attempt < b->attempt ? -1 : a->attempt > b->attempt;
}

/* The place of the first that is not less than id. */
static size_t lower_bound(const struct sub *sub, const struct tf_instance_id *id)
{
    size_t low = 0, high = sub->strays.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cmp_id(&sub->strays.items[middle].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct stray *find(const struct sub *sub, const struct tf_instance_id *id)
{
    size_t at = lower_bound(sub, id);
    if (at == sub->strays.count || cmp_id(&sub->strays.items[at].id, id) != 0)
        return NULL;
    return &sub->strays.items[at];
}

struct stray_range strays_of(const struct sub *sub, struct tf_uid uid)
{
    struct tf_instance_id id = {.uid = uid};
    struct stray_range range = {.first = lower_bound(sub, &id)};
    while (range.first + range.count < sub->strays.count &&
           tf_uid_eq(sub->strays.items[range.first + range.count].id.uid, uid))
        range.count++;
    return range;
}

bool strays_of_epoch(const struct sub *sub, struct tf_uid uid, uint64_t epoch)
{
    struct tf_instance_id id = {.uid = uid, .epoch = epoch};
    size_t at = lower_bound(sub, &id);
    return at < sub->strays.count && tf_uid_eq(sub->strays.items[at].id.uid, uid) &&
           sub->strays.items[at].id.epoch == epoch;
}

static bool is_given_up(const struct sub *sub, const struct stray *stray)
{
    const struct ledger_node *node = stray->node ? ledger_find(&sub->ledger, stray->node) : NULL;
    return node && node_is_given_up(node);
}

static bool is_reachable(const struct sub *sub, const struct stray *stray)
{
    const struct ledger_node *node = stray->node ? ledger_find(&sub->ledger, stray->node) : NULL;
    return node && node->known && node->told_state != TF_NODE_LOST && !node_is_silent(node);
}

bool strays_live(const struct sub *sub, struct tf_uid uid, uint64_t epoch, bool up_to)
{
    struct tf_instance_id id = {.uid = uid, .epoch = up_to ? 0 : epoch};
    for (size_t at = lower_bound(sub, &id); at < sub->strays.count; at++) {
        const struct stray *stray = &sub->strays.items[at];
        if (!tf_uid_eq(stray->id.uid, uid) || stray->id.epoch > epoch)
            return false;
        if (!is_given_up(sub, stray))
            return true;
    }
    return false;
}

bool strays_live_at(const struct sub *sub, const struct job *job, uint32_t index)
{
    struct tf_instance_id id = {.uid = job->record.uid, .epoch = job->record.epoch, .index = index};
    for (size_t at = lower_bound(sub, &id); at < sub->strays.count; at++) {
        const struct stray *stray = &sub->strays.items[at];
        if (!tf_uid_eq(stray->id.uid, id.uid) || stray->id.epoch != id.epoch || stray->id.index != index)
            return false;
        if (!is_given_up(sub, stray))
            return true;
    }
    return false;
}

static void stray_free(struct stray *stray)
{
    free(stray->tenant);
    free(stray->name);
    free(stray->node);
    tf_strs_release(&stray->ports);
}

void stray_remove(struct sub *sub, size_t at)
{
    struct stray *stray = &sub->strays.items[at];
    struct job *job = job_find(sub, stray->id.uid);
    if (job)
        repair_unbarred(sub, job);
    ledger_unblock(&sub->ledger, stray->node, &stray->id);
    const struct ledger_node *node = stray->node ? ledger_find(&sub->ledger, stray->node) : NULL;
    if (node)
        members_wake(sub, node, stray->id.uid);
    health_stray_gone(sub, stray->node);
    stray_free(stray);
    tf_vec_remove(&sub->strays, at);
}

void strays_release(struct sub *sub)
{
    tf_vec_each (stray, &sub->strays)
        stray_free(stray);
    tf_vec_release(&sub->strays);
}

void stray_found(struct sub *sub, const struct tf_instance_id *id)
{
    struct stray *stray = find(sub, id);
    if (stray)
        stray_remove(sub, (size_t)(stray - sub->strays.items));
}

static void insert(struct sub *sub, struct stray stray)
{
    size_t at = lower_bound(sub, &stray.id);
    tf_vec_push(&sub->strays, stray);
    for (size_t i = sub->strays.count - 1; i > at; i--)
        sub->strays.items[i] = sub->strays.items[i - 1];
    sub->strays.items[at] = stray;
    ledger_block(&sub->ledger, stray.node, &stray.id, stray.gpus);
}

/* An attempt of the present epoch that a restored store has forgotten: the next one comes after it. The
 * engine would take a second start of this one for a repeat, wherever it was to be. */
static void outlast(struct sub *sub, const struct tf_instance_id *id)
{
    struct job *job = job_find(sub, id->uid);
    if (!job || !job_lives(job) || job->record.epoch != id->epoch || id->index >= job->record.members.count)
        return;
    struct tf_member *m = &job->record.members.items[id->index];
    if (member_last_attempt(m) >= id->attempt)
        return;
    m->attempts = id->attempt;
    job_changed(sub, job);
}

static void stray_add(struct sub *sub, const struct sub_instance_event *e)
{
    struct stray stray = {.id = e->id,
                          .tenant = tf_strdup(e->tenant ? e->tenant : "unknown"),
                          .name = tf_strdup(e->name ? e->name : "unknown"),
                          .node = tf_strdup(e->node),
                          .gpus = e->gpus,
                          .due = TF_NEVER};
    insert(sub, stray);
    outlast(sub, &stray.id);
    tf_reached(sub, SUB_STRAY);
    trace(sub, "job %s/%s epoch %llu: instance %u attempt %u runs on %s, but no record wants it",
          stray.tenant, stray.name, (unsigned long long)e->id.epoch, e->id.index, e->id.attempt,
          e->node ? e->node : "?");
}

static bool is_known(const struct job *job, uint64_t epoch)
{
    return job && ((job_lives(job) && job->record.epoch == epoch) || job_ended(job, epoch));
}

/* What would run there is over or lost, or waits for its next attempt: one that a restored store has
 * forgotten would stand in the way of that. */
static bool is_vacant(const struct sub *sub, const struct job *job, const struct tf_member *m)
{
    bool next = m->state == TF_MEMBER_BACKOFF && sub->listed && !job->unconfirmed;
    return !member_stays(m->state) || m->state == TF_MEMBER_MISSING || next;
}

/* The earlier attempt has not gone: the later one was to take its place, in a move that the store has
 * forgotten. */
static bool runs_in_its_place(const struct sub *sub, const struct job *job, uint32_t index)
{
    enum tf_member_state state = job->record.members.items[index].state;
    return sub->listed && job->runs.items[index].seen &&
           (state == TF_MEMBER_STARTING || state == TF_MEMBER_READY);
}

/* The job went on to a later epoch here, so that the stray's is over, or to a later attempt of this one. (A
 * restored store may know of earlier attempts only.) */
static bool is_over(const struct sub *sub, const struct tf_instance_id *id)
{
    const struct job *job = job_find(sub, id->uid);
    if (!job)
        return false;
    if (job_lives(job) && job->record.epoch > id->epoch)
        return true;
    if (job->record.phase == TF_ALLOCATION_CLAIMING && job->record.epoch == id->epoch)
        return false; /* a restored store does not know that it got what it claimed */
    if (job_lives(job) && job->record.epoch == id->epoch) /* a step that it forgot is none any more */
        return id->index >= job->record.members.count ||
               job->record.members.items[id->index].attempt >= id->attempt ||
               is_vacant(sub, job, &job->record.members.items[id->index]) ||
               runs_in_its_place(sub, job, id->index);
    tf_vec_each (e, &job->record.ended)
        if (e->epoch >= id->epoch)
            return true;
    return false;
}

static void ask_stop(struct sub *sub, struct stray *stray, int64_t grace)
{
    struct sub_action action = {.kind = SUB_ACT_STOP};
    stray->stopping = true;
    action.stop.id = stray->id;
    action.stop.grace = grace;
    out_hold(sub, action);
}

static void judge(struct sub *sub, struct stray *stray)
{
    if (stray->stopping || !(is_given_up(sub, stray) || is_over(sub, &stray->id)))
        return;
    tf_reached(sub, SUB_STRAY_STOPPED);
    trace(sub, "job %s/%s epoch %llu: instance %u attempt %u is over and is stopped", stray->tenant,
          stray->name, (unsigned long long)stray->id.epoch, stray->id.index, stray->id.attempt);
    ask_stop(sub, stray, STRAY_GRACE);
}

void stray_leave(struct sub *sub, const struct job *job, const struct tf_member *m)
{
    struct tf_instance_id id = {job->record.uid, job->record.epoch, m->index, m->attempt};
    struct stray stray = {.id = id,
                          .tenant = tf_strdup(job->record.tenant),
                          .name = tf_strdup(job->record.name),
                          .node = tf_strdup(m->node),
                          .gpus = m->gpus,
                          .ready = m->state == TF_MEMBER_READY,
                          .due = TF_NEVER};
    assert(!find(sub, &id));
    tf_strs_copy(&stray.ports, &m->ports);
    insert(sub, stray);
    ask_stop(sub, find(sub, &id), job->record.spec->group.grace);
}

void strays_judge(struct sub *sub, struct tf_uid uid)
{
    struct stray_range range = strays_of(sub, uid);
    for (size_t i = 0; i < range.count; i++)
        judge(sub, &sub->strays.items[range.first + i]);
}

static void forget(struct sub *sub, struct tf_uid uid, uint64_t epoch)
{
    if (is_known(job_find(sub, uid), epoch) || strays_of_epoch(sub, uid, epoch))
        return;
    struct sub_action action = {.kind = SUB_ACT_FORGET};
    action.forget.uid = uid;
    action.forget.epoch = epoch;
    out_hold(sub, action);
}

/* What an unknown epoch left, or may have left, with the engine. It must never start here again, also when it
 * was the local store that forgot it. */
static void bury(struct sub *sub, const struct tf_instance_id *id)
{
    if (is_known(job_find(sub, id->uid), id->epoch))
        return;
    if (sub->listed)
        forget(sub, id->uid, id->epoch);
    else
        tf_vec_push(&sub->exited, (struct epoch_id){id->uid, id->epoch});
}

static void stray_gone(struct sub *sub, const struct sub_instance_event *e)
{
    struct stray *stray = find(sub, &e->id);
    if (stray)
        stray_remove(sub, (size_t)(stray - sub->strays.items));
    bury(sub, &e->id);
    outlast(sub, &e->id);
    struct job *job = job_find(sub, e->id.uid);
    if (stray && job) {
        members_retry(sub, job); /* the next attempt may have waited for it, */
        job_tell(sub, job);      /* or an end */
        absorb_note(sub, job);
        repair_again(sub, sub->now.mono); /* its place, too */
    }
    if (stray)
        sub->strays_due = true;
}

void stray_told(struct sub *sub, const struct sub_instance_event *e)
{
    if (e->state == SUB_INSTANCE_NONE || (e->state == SUB_INSTANCE_REFUSED && !find(sub, &e->id)))
        return;
    if (e->id.epoch > sub->floor) {
        sub->floor = e->id.epoch;
        out_touch(sub, TF_RECORD_FLOOR);
    }
    if (e->state != SUB_INSTANCE_STARTING && e->state != SUB_INSTANCE_READY) {
        if (e->state != SUB_INSTANCE_REFUSED)
            stray_gone(sub, e);
        return;
    }
    if (!find(sub, &e->id))
        stray_add(sub, e);
    struct stray *stray = find(sub, &e->id);
    stray->ready |= e->state == SUB_INSTANCE_READY;
    if (e->ports.count)
        tf_strs_copy(&stray->ports, &e->ports);
    judge(sub, stray);
    sub->strays_due = true;
}

static int cmp_epoch(const void *a, const void *b)
{
    const struct epoch_id *x = a, *y = b;
    int uid = tf_uid_cmp(x->uid, y->uid);
    return uid ? uid : x->epoch < y->epoch ? -1 : x->epoch > y->epoch;
}

void strays_listed(struct sub *sub)
{
    if (sub->exited.count)
        qsort(sub->exited.items, sub->exited.count, sizeof *sub->exited.items, cmp_epoch);
    const struct epoch_id *last = NULL;
    tf_vec_each (epoch, &sub->exited) {
        if (!last || cmp_epoch(last, epoch) != 0)
            forget(sub, epoch->uid, epoch->epoch);
        last = epoch;
    }
    tf_vec_release(&sub->exited);
    for (size_t i = 0; i < sub->strays.count; i++)
        judge(sub, &sub->strays.items[i]);
}

void strays_node_lost(struct sub *sub, const char *node)
{
    for (size_t i = sub->strays.count; i-- > 0;) {
        struct stray *stray = &sub->strays.items[i];
        if (!stray->node || strcmp(stray->node, node) != 0)
            continue;
        struct sub_instance_event e = {.id = stray->id, .state = SUB_INSTANCE_LOST};
        stray_gone(sub, &e);
    }
}

void strays_given_up(struct sub *sub, const char *node)
{
    tf_vec_each (stray, &sub->strays) {
        if (!tf_str_eq(stray->node, node))
            continue;
        judge(sub, stray);
        struct job *job = job_find(sub, stray->id.uid);
        if (job)
            job_tell(sub, job); /* an end may have waited for it */
        sub->strays_due = true;
    }
}

void strays_stop_again(struct sub *sub, const char *node)
{
    tf_vec_each (stray, &sub->strays)
        if (tf_str_eq(stray->node, node))
            ask_stop(sub, stray, STRAY_GRACE);
}

struct tf_mono strays_due(const struct sub *sub)
{
    struct tf_mono due = TF_NEVER;
    tf_vec_each (stray, &sub->strays)
        if (stray->due.ms < due.ms)
            due = stray->due;
    return due;
}

void strays_due_look(struct sub *sub)
{
    tf_vec_each (stray, &sub->strays) {
        if (stray->due.ms > sub->now.mono.ms)
            continue;
        stray->due = TF_NEVER;
        if (is_given_up(sub, stray) && !is_reachable(sub, stray))
            continue; /* it is asked again when the node is back */
        alarm_raise(
            sub,
            "job %s/%s: instance %u of the old epoch %llu on %s should have been killed by now and is not "
            "known to be gone; its GPUs stay taken until it is: look at the node",
            stray->tenant, stray->name, stray->id.index, (unsigned long long)stray->id.epoch,
            stray->node ? stray->node : "?");
    }
}

void stray_stop_left(struct sub *sub, const struct tf_instance_id *id, struct tf_mono due)
{
    struct stray *stray = find(sub, id);
    if (stray)
        stray->due = due;
}
