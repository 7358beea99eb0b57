/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what becomes of single members: who there is, what each holds, how it goes, and the moments that are
 * waited for. What is asked of the engine is calls.c's, what its word means told.c's, failures are
 * retries.c's; what it means for the epoch is allocation.c's, where they are is the ledger's. */
#include "subcluster/core/members_private.h"

#include "subcluster/core/allocation.h"
#include "subcluster/core/calls.h"
#include "subcluster/core/gpu_starts.h"
#include "subcluster/core/grow.h"
#include "subcluster/core/health.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/loss.h"
#include "subcluster/core/moving.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/peers.h"
#include "subcluster/core/repair.h"
#include "subcluster/core/retries.h"
#include "subcluster/core/size.h"
#include "subcluster/core/stakes.h"
#include "subcluster/core/strays.h"
#include "subcluster/core/trace.h"
#include "subcluster/core/yield.h"

#include <assert.h>

/* ---- places ---- */

size_t member_second(const struct job *job, uint32_t index)
{
    for (size_t i = job->record.members.count; i-- > 0 && member_is_second(job, i);)
        if (job->record.members.items[i].index == index)
            return i;
    return SIZE_MAX;
}

size_t member_find(const struct job *job, const struct tf_instance_id *id)
{
    const struct tf_allocation *record = &job->record;
    if (!job_lives(job) || record->epoch != id->epoch || id->index >= record->members.count ||
        member_is_second(job, id->index))
        return SIZE_MAX;
    if (record->members.items[id->index].attempt == id->attempt)
        return id->index;
    size_t second = member_second(job, id->index);
    return second != SIZE_MAX && record->members.items[second].attempt == id->attempt ? second : SIZE_MAX;
}

size_t member_on_node(const struct job *job, uint32_t index, uint32_t node)
{
    size_t second = member_second(job, index);
    if (second != SIZE_MAX && job->runs.items[second].node == node &&
        member_holds(job->record.members.items[second].state))
        return second;
    if (index >= job->record.members.count || member_is_second(job, index) ||
        job->runs.items[index].node != node || !member_holds(job->record.members.items[index].state))
        return SIZE_MAX;
    return index;
}

uint32_t member_last_attempt(const struct tf_member *m)
{
    return m->attempts > m->attempt ? m->attempts : m->attempt;
}

bool members_any_live(const struct job *job)
{
    tf_vec_each (m, &job->record.members)
        if (member_lives(m->state))
            return true;
    return false;
}

struct member_run member_new_run(struct sub *sub, const struct tf_member *m)
{
    uint32_t node = ledger_need(&sub->ledger, m->node)->number;
    return (struct member_run){.node = node, .due = TF_NEVER, .retry = TF_NEVER};
}

void members_attach(struct sub *sub, struct job *job)
{
    tf_vec_release(&job->runs);
    tf_vec_each (m, &job->record.members)
        tf_vec_push(&job->runs, member_new_run(sub, m));
}

void member_set_due(struct sub *sub, struct job *job, size_t place, struct tf_mono due)
{
    job->runs.items[place].due = due;
    job_due_at(sub, job, due);
}

static void hold(struct sub *sub, const struct job *job, const struct tf_member *m)
{
    ledger_hold(&sub->ledger, job->record.uid, m, tf_shape_vector(&job->record.spec->group.shape),
                member_level(sub, job, m), member_stake(sub, job, m));
}

/* The oldest members are core, what follows is surplus, step by step. */
void member_add(struct sub *sub, struct job *job, const char *node, uint64_t gpus)
{
    struct tf_allocation *record = &job->record;
    uint32_t index = (uint32_t)record->members.count;
    struct tf_member *m = tf_vec_add(&record->members);
    *m = (struct tf_member){.index = index,
                            .attempt = 1,
                            .node = tf_strdup(node),
                            .gpus = gpus,
                            .mark = size_mark(&record->spec->elastic, (int32_t)index),
                            .state = TF_MEMBER_PLANNED};
    hold(sub, job, m);
}

/* Before those that are behind: nobody holds a place across this. */
static void open_place(struct job *job, size_t place)
{
    struct tf_allocation *record = &job->record;
    tf_vec_add(&record->members);
    tf_vec_add(&job->runs);
    for (size_t i = record->members.count - 1; i > place; i--) {
        record->members.items[i] = record->members.items[i - 1];
        job->runs.items[i] = job->runs.items[i - 1];
    }
}

/* The lowest place that nothing is left of, or a new one: records do not grow with each tide. */
static struct tf_member *vacant(struct job *job)
{
    struct tf_allocation *record = &job->record;
    uint32_t attempt = 1;
    size_t place = 0;
    while (place < record->members.count && !member_is_second(job, place) &&
           (record->members.items[place].state != TF_MEMBER_GONE ||
            member_second(job, (uint32_t)place) != SIZE_MAX))
        place++;
    if (place < record->members.count && !member_is_second(job, place)) {
        attempt = member_last_attempt(&record->members.items[place]) + 1;
        tf_member_release(&record->members.items[place]);
    } else
        open_place(job, place);
    struct tf_member *m = &record->members.items[place];
    *m = (struct tf_member){.index = (uint32_t)place, .attempt = attempt, .state = TF_MEMBER_PLANNED};
    return m;
}

void member_join(struct sub *sub, struct job *job, const char *node, uint64_t gpus, int32_t older)
{
    struct tf_member *m = vacant(job);
    m->node = tf_strdup(node);
    m->gpus = gpus;
    m->mark = size_mark(&job->record.spec->elastic, older);
    m->role = TF_MEMBER_JOINS;
    job->runs.items[m->index] = member_new_run(sub, m);
    hold(sub, job, m);
}

void members_resume(struct sub *sub, struct job *job)
{
    if (!job_lives(job))
        return;
    const struct tf_group *group = &job->record.spec->group;
    peers_repeat(sub, job);
    for (size_t i = 0; i < job->record.members.count; i++) {
        struct tf_member *m = &job->record.members.items[i];
        bool stops = member_stops(m->state);
        bool leaves = m->state == TF_MEMBER_LEAVING || job->record.phase == TF_ALLOCATION_ENDING;
        bool starts = !stops && member_lives(m->state) && !job->runs.items[i].seen;
        tf_reached_if(stops, sub, SUB_STOP_AGAIN);
        tf_reached_if(starts, sub, SUB_START_AGAIN);
        if (stops)
            call_stop(sub, job, m, leaves ? group->stop_delay : 0, group->grace);
        else if (starts)
            call_start(sub, job, m);
    }
    members_retry(sub, job);
}

void member_replace(struct sub *sub, struct job *job, size_t place, const char *node, uint64_t gpus)
{
    struct tf_member *m = &job->record.members.items[place];
    struct tf_member next = {.index = m->index,
                             .attempt = member_last_attempt(m) + 1,
                             .gpus = gpus,
                             .mark = m->mark,
                             .state = TF_MEMBER_PLANNED,
                             .role = TF_MEMBER_REPLACES};
    assert(m->state == TF_MEMBER_MISSING);
    tf_member_release(m);
    *m = next;
    m->node = tf_strdup(node);
    job->runs.items[place] = member_new_run(sub, m);
    hold(sub, job, m);
}

/* ---- going ---- */

/* It holds nothing any more. */
void member_let_go(struct sub *sub, struct job *job, struct tf_member *m, enum tf_member_state state)
{
    assert(member_holds(m->state) && !member_holds(state));
    if (m->state == TF_MEMBER_LEAVING)
        repair_unbarred(sub, job);
    m->state = state;
    m->role = TF_MEMBER_OF_JOB;
    m->ended = sub->now.wall;
    job->runs.items[member_place(job, m)].due = TF_NEVER;
    job_changed(sub, job);
    ledger_release(&sub->ledger, job->record.uid, m, tf_journal_last(sub->outbox.journal));
}

void members_are_gone(struct sub *sub, struct job *job)
{
    tf_vec_each (m, &job->record.members)
        if (member_holds(m->state))
            member_let_go(sub, job, m, TF_MEMBER_GONE);
}

void member_stop(struct sub *sub, struct job *job, size_t place)
{
    struct tf_member *m = &job->record.members.items[place];
    assert(member_lives(m->state) && !member_stops(m->state));
    m->state = TF_MEMBER_STOPPING;
    job->runs.items[place].due = TF_NEVER;
    job_changed(sub, job);
    call_stop(sub, job, m, 0, job->record.spec->group.grace);
}

void member_given_up(struct sub *sub, struct job *job, size_t place)
{
    const struct tf_member *m = &job->record.members.items[place];
    if (member_lives(m->state) && job->runs.items[place].seen)
        stray_leave(sub, job, m);
}

void members_stop_all(struct sub *sub, struct job *job)
{
    const struct tf_group *group = &job->record.spec->group;
    assert(job->record.phase == TF_ALLOCATION_ENDING);
    for (size_t i = 0; i < job->record.members.count; i++) {
        struct tf_member *m = &job->record.members.items[i];
        if (m->state == TF_MEMBER_BACKOFF)
            member_let_go(sub, job, m, TF_MEMBER_GONE);
        if (m->state == TF_MEMBER_MISSING)
            m->state = TF_MEMBER_GONE;
        if (!member_lives(m->state) || member_stops(m->state))
            continue;
        m->state = TF_MEMBER_STOPPING;
        job->runs.items[i].due = TF_NEVER;
        if (sub->listed)
            call_stop(sub, job, m, group->stop_delay, group->grace);
    }
}

/* Whether its stop has yet to be asked for. */
static bool begin_to_leave(struct sub *sub, struct job *job, struct tf_member *m)
{
    enum tf_member_state state = m->state;
    assert(member_stays(state));
    m->role = TF_MEMBER_OF_JOB;
    if (state == TF_MEMBER_BACKOFF)
        member_let_go(sub, job, m, TF_MEMBER_GONE);
    else if (state == TF_MEMBER_DONE || state == TF_MEMBER_MISSING)
        m->state = TF_MEMBER_GONE;
    else
        m->state = TF_MEMBER_LEAVING;
    if (m->state != TF_MEMBER_LEAVING)
        return false;
    ledger_set_level(&sub->ledger, job->record.uid, m, TF_LEVEL_GOING);
    struct member_run *run = &job->runs.items[member_place(job, m)];
    run->due = state == TF_MEMBER_STOPPING ? run->due : TF_NEVER;
    return state != TF_MEMBER_STOPPING;
}

void member_leave(struct sub *sub, struct job *job, size_t place)
{
    const struct tf_group *group = &job->record.spec->group;
    struct tf_member *m = &job->record.members.items[place];
    assert(job->record.phase != TF_ALLOCATION_ENDING && !member_is_peer(m));
    bool stops = begin_to_leave(sub, job, m);
    job_changed(sub, job);
    if (stops && sub->listed)
        call_stop(sub, job, m, group->stop_delay, group->grace);
}

void members_dismiss(struct sub *sub, struct job *job, const size_t *places, size_t count)
{
    const struct tf_group *group = &job->record.spec->group;
    TF_VEC(size_t) stops = {0};
    assert(job->record.phase != TF_ALLOCATION_ENDING);
    for (size_t i = 0; i < count; i++)
        if (begin_to_leave(sub, job, &job->record.members.items[places[i]]))
            tf_vec_push(&stops, places[i]);
    job_changed(sub, job);
    peers_write(sub, job);
    tf_vec_each (place, &stops)
        if (sub->listed)
            call_stop(sub, job, &job->record.members.items[*place], group->stop_delay, group->grace);
    tf_vec_release(&stops);
}

/* ---- moments ---- */

static void start_too_slow(struct sub *sub, struct job *job, size_t place)
{
    const struct tf_member *m = &job->record.members.items[place];
    tf_reached(sub, SUB_START_LATE);
    char *why = tf_asprintf("instance %u on %s was not ready in time", m->index, m->node);
    bool ends = job->record.phase == TF_ALLOCATION_ENDING;
    if (m->state == TF_MEMBER_STARTING)
        gpu_start_failed(sub, job, place, why);
    if (!ends &&
        m->role == TF_MEMBER_MOVES_OUT) { /* of before a restart: if it is there, it is stopped soon */
        member_set_due(sub, job, place, moment_in(sub, member_start_bound(sub, job)));
        free(why);
        return;
    }
    if (!ends && (m->role != TF_MEMBER_OF_JOB || moving_is_switched(job, place))) {
        grow_broken(sub, job, place, false, why);
        return;
    }
    member_fail(sub, job, place, (struct failure){.runs = true, .message = why});
}

static void stop_too_slow(struct sub *sub, struct job *job, size_t place)
{
    const struct tf_member *m = &job->record.members.items[place];
    char gpus[TF_GPU_SET_TEXT];
    if (job->runs.items[place].stuck)
        return;
    job->runs.items[place].stuck = true;
    ledger_set_stuck(&sub->ledger, job->record.uid, m);
    tf_reached(sub, SUB_STOP_STUCK);
    alarm_raise(
        sub,
        "job %s/%s: instance %u on %s should have been killed by now and is not known to be gone; its "
        "GPUs (%s) stay held until it is: look at the node",
        job->record.tenant, job->record.name, m->index, m->node, tf_gpu_set_format(m->gpus, gpus));
    call_stop(sub, job, m, 0, 0);
}

bool member_on_silent_node(const struct sub *sub, const struct job *job, size_t place)
{
    return node_is_silent(sub->ledger.nodes.items[job->runs.items[place].node]);
}

void member_reachable(struct sub *sub, struct job *job, size_t place, const struct ledger_node *node)
{
    const struct member_run *run = &job->runs.items[place];
    enum tf_member_state state = job->record.members.items[place].state;
    (void)node;
    if (state == TF_MEMBER_BACKOFF)
        member_retry_here(sub, job, place);
    else if (run->due.ms == TF_NEVER.ms && (state == TF_MEMBER_STARTING || state == TF_MEMBER_PLANNED ||
                                            (state == TF_MEMBER_READY && !run->seen)))
        member_set_due(sub, job, place, moment_in(sub, member_start_bound(sub, job)));
}

static void member_due(struct sub *sub, struct job *job, size_t place)
{
    job->runs.items[place].due = TF_NEVER;
    if (member_on_silent_node(sub, job, place) && !member_stops(job->record.members.items[place].state))
        return; /* what takes too long there is not held against it; member_reachable takes it up again */
    switch (job->record.members.items[place].state) {
    case TF_MEMBER_PLANNED:
    case TF_MEMBER_STARTING:
    case TF_MEMBER_READY: /* of before a restart, and not found again */
        start_too_slow(sub, job, place);
        break;
    case TF_MEMBER_STOPPING:
    case TF_MEMBER_LEAVING:
        stop_too_slow(sub, job, place);
        break;
    case TF_MEMBER_BACKOFF:
        members_lose_taken(sub, job);
        members_retry(sub, job);
        break;
    case TF_MEMBER_NONE:
    case TF_MEMBER_DONE:
    case TF_MEMBER_GONE:
    case TF_MEMBER_MISSING:
        break;
    }
}

void members_due(struct sub *sub, struct job *job)
{
    if (job->runtime_due.ms <= sub->now.mono.ms)
        epoch_runtime_over(sub, job);
    if (job->protected_until.ms <= sub->now.mono.ms)
        epoch_protection_over(sub, job);
    if (job->restart_due.ms <= sub->now.mono.ms)
        loss_restart(sub, job);
    if (job->repair_due.ms <= sub->now.mono.ms)
        loss_repair_over(sub, job);
    if (job->leave_due.ms <= sub->now.mono.ms)
        yield_due(sub, job);
    for (size_t i = 0; i < job->runs.count; i++)
        if (job->runs.items[i].due.ms <= sub->now.mono.ms)
            member_due(sub, job, i);
    job_due_again(sub, job);
}
