/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is asked of the engine for members, and from when its answer is waited for. */
#include "subcluster/core/calls.h"

#include "subcluster/core/event.h"
#include "subcluster/core/members_private.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/strays.h"

#include <assert.h>

static struct tf_instance_id id_of(const struct job *job, const struct tf_member *m)
{
    return (struct tf_instance_id){job->record.uid, job->record.epoch, m->index, m->attempt};
}

/* Where it is, or will be, in the peers file. */
static uint32_t rank_of(const struct tf_allocation *record, const struct tf_member *m)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < m->index; i++) {
        const struct tf_member *other = &record->members.items[i];
        rank += m->role == TF_MEMBER_JOINS ? member_stays(other->state) : member_counts(other);
    }
    return rank;
}

static int32_t size_for(const struct tf_allocation *record, const struct tf_member *m)
{
    int32_t size = record->size;
    tf_vec_each (other, &record->members)
        size += m->role == TF_MEMBER_JOINS && member_stays(other->state) && other->role == TF_MEMBER_JOINS;
    return size;
}

void call_start(struct sub *sub, struct job *job, const struct tf_member *m)
{
    struct member_run *run = &job->runs.items[member_place(job, m)];
    if (run->asked)
        return;
    run->asked = true;
    assert(sub->listed && !member_stops(m->state) && member_lives(m->state));
    const struct tf_allocation *record = &job->record;
    struct sub_action action = {.kind = SUB_ACT_START};
    action.start.id = id_of(job, m);
    action.start.tenant = tf_strdup(record->tenant);
    action.start.name = tf_strdup(record->name);
    action.start.node = tf_strdup(m->node);
    action.start.gpus = m->gpus;
    action.start.rank = rank_of(record, m);
    action.start.size = size_for(record, m);
    group_copy(&action.start.group, &record->spec->group);
    out_hold(sub, action);
}

void call_stop(struct sub *sub, struct job *job, const struct tf_member *m, int64_t stop_delay, int64_t grace)
{
    struct sub_action action = {.kind = SUB_ACT_STOP};
    action.stop.id = id_of(job, m);
    action.stop.stop_delay = stop_delay;
    action.stop.grace = grace;
    out_hold(sub, action);
}

void members_start(struct sub *sub, struct job *job)
{
    tf_vec_each (m, &job->record.members)
        if (m->state == TF_MEMBER_PLANNED)
            call_start(sub, job, m);
}

/* The place of the member whose present attempt this is; SIZE_MAX if there is none. */
static size_t place_of(const struct job *job, const struct tf_instance_id *id)
{
    return job ? member_find(job, id) : SIZE_MAX;
}

static bool start_leaves(struct sub *sub, const struct tf_instance_id *id)
{
    struct job *job = job_find(sub, id->uid);
    size_t place = place_of(job, id);
    if (place == SIZE_MAX)
        return false;
    enum tf_member_state state = job->record.members.items[place].state;
    if (!member_lives(state) || member_stops(state)) {
        tf_reached(sub, SUB_START_WITHHELD);
        return false;
    }
    member_set_due(sub, job, place, moment_in(sub, sub->policy.start_timeout));
    return true;
}

bool members_leave(struct sub *sub, const struct sub_action *action)
{
    if (action->kind == SUB_ACT_START)
        return start_leaves(sub, &action->start.id);
    if (action->kind != SUB_ACT_STOP)
        return true;
    const struct tf_instance_id *id = &action->stop.id;
    struct tf_mono due =
        moment_in(sub, action->stop.stop_delay + action->stop.grace + sub->policy.kill_bound);
    struct job *job = job_find(sub, id->uid);
    size_t place = place_of(job, id);
    if (place != SIZE_MAX && member_stops(job->record.members.items[place].state))
        member_set_due(sub, job, place, due);
    else
        stray_stop_left(sub, id, due);
    return true;
}
