/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what the engine's word means for a member's present attempt. */
#include "subcluster/core/allocation.h"
#include "subcluster/core/checkpoint.h"
#include "subcluster/core/gpu_starts.h"
#include "subcluster/core/grow.h"
#include "subcluster/core/loss.h"
#include "subcluster/core/members_private.h"
#include "subcluster/core/moving.h"
#include "subcluster/core/peers.h"
#include "subcluster/core/retries.h"
#include "subcluster/core/stakes.h"
#include "subcluster/core/strays.h"

#include <assert.h>

static void set_ports(struct tf_member *m, const struct tf_strs *ports)
{
    if (ports->count)
        tf_strs_copy(&m->ports, ports);
}

static bool new_ports(const struct tf_member *m, const struct sub_instance_event *e)
{
    return e->ports.count && !tf_strs_eq(&m->ports, &e->ports);
}

int64_t member_start_bound(const struct sub *sub, const struct job *job)
{
    const struct tf_ready_probe *ready = &job->record.spec->group.ready;
    return ready->command.count && ready->timeout > 0 ? ready->timeout : sub->policy.start_timeout;
}

void members_adopted(struct sub *sub, struct job *job)
{
    for (size_t i = 0; i < job->record.members.count; i++) {
        job->runs.items[i].seen = job->runs.items[i].known = job->runs.items[i].begun = true;
        if (job->record.members.items[i].state == TF_MEMBER_STARTING)
            member_set_due(sub, job, i, moment_in(sub, member_start_bound(sub, job)));
    }
}

/* One that was ready before a restart stays it; but its engine must find it ready again in time. */
static void told_starting(struct sub *sub, struct job *job, size_t place, const struct sub_instance_event *e)
{
    struct tf_member *m = &job->record.members.items[place];
    bool first = m->state == TF_MEMBER_PLANNED;
    if (member_stops(m->state))
        return;
    if (first) {
        m->state = TF_MEMBER_STARTING;
        m->started = sub->now.wall;
    }
    if (first || job->runs.items[place].due.ms == TF_NEVER.ms || !job->runs.items[place].begun)
        member_set_due(sub, job, place, moment_in(sub, member_start_bound(sub, job)));
    job->runs.items[place].begun = true;
    if (new_ports(m, e)) {
        set_ports(m, &e->ports);
        job_changed(sub, job);
        if (member_is_peer(m))
            peers_change(sub, job);
    } else if (first)
        job_tell(sub,
                 job); /* the engine can be asked again: no word of it need be kept, and none is promised */
}

static void told_ready(struct sub *sub, struct job *job, size_t place, const struct sub_instance_event *e)
{
    struct tf_member *m = &job->record.members.items[place];
    if (member_stops(m->state))
        return;
    job->runs.items[place].due = TF_NEVER;
    if (m->state == TF_MEMBER_READY && !new_ports(m, e))
        return;
    if (m->started.ms == 0)
        m->started = sub->now.wall;
    if (m->state != TF_MEMBER_READY) {
        gpu_start_worked(sub, m);
        m->ready = sub->now.wall;
        ledger_set_stake(&sub->ledger, job->record.uid, m, member_stake(sub, job, m));
    }
    m->state = TF_MEMBER_READY;
    set_ports(m, &e->ports);
    job_changed(sub, job);
    if (!member_is_peer(m)) {
        grow_look(sub, job);
        return;
    }
    peers_change(sub, job);
    restart_look(sub, job);
    grow_all_ready(sub, job);
    epoch_look(sub, job);
}

static char *exit_message(const struct tf_member *m, const struct sub_instance_event *e)
{
    const char *text = e->text && *e->text ? e->text : NULL;
    const char *open = text ? " (" : "", *close = text ? ")" : "";
    if (e->exit_code > 128)
        return tf_asprintf("instance %u on %s was killed by signal %d%s%s%s", m->index, m->node,
                           e->exit_code - 128, open, text ? text : "", close);
    return tf_asprintf("instance %u on %s exited with code %d%s%s%s", m->index, m->node, e->exit_code, open,
                       text ? text : "", close);
}

static void note_failed_start(struct sub *sub, const struct job *job, size_t place,
                              const struct sub_instance_event *e)
{
    TF_AUTO_FREE char *what = exit_message(&job->record.members.items[place], e);
    TF_AUTO_FREE char *why = tf_asprintf("%s/%s: %s", job->record.tenant, job->record.name, what);
    gpu_start_failed(sub, job, place, why);
}

/* One that was to join or to replace another; why is taken. False: it was a member, or is none any more. */
static bool did_not_join(struct sub *sub, struct job *job, size_t place, char *why)
{
    const struct tf_member *m = &job->record.members.items[place];
    bool joins = (m->role != TF_MEMBER_OF_JOB || moving_is_switched(job, place)) &&
                 m->state != TF_MEMBER_LEAVING && job->record.phase != TF_ALLOCATION_ENDING;
    if (!joins) {
        free(why);
        return false;
    }
    grow_broken(sub, job, place, true, why);
    epoch_look(sub, job);
    return true;
}

/* It is gone, and not by its own doing; why is taken. */
static void lost(struct sub *sub, struct job *job, size_t place, char *why)
{
    const struct places one = {&place, 1, 1};
    members_lost(sub, job, &one, why);
    free(why);
}

/* It was no part of the job any more. */
static void left(struct sub *sub, struct job *job, size_t place)
{
    member_let_go(sub, job, &job->record.members.items[place], TF_MEMBER_GONE);
    epoch_look(sub, job);
    members_retry(sub, job);
}

/* Whichever of the two instances of an index has ended its work: the other is not needed any more. Returns
 * where it is by then. */
static size_t work_was_done(struct sub *sub, struct job *job, size_t place)
{
    uint32_t index = job->record.members.items[place].index;
    size_t second = member_second(job, index);
    if (second == SIZE_MAX || !member_moves(&job->record.members.items[second]))
        return place;
    bool old = (place == second) == (job->record.members.items[second].role == TF_MEMBER_MOVES_OUT);
    if (!old)
        return place; /* it has only begun: that it ends so soon is no reason to give up the old one */
    moving_undo_one(sub, job, index, "its work is done");
    return index;
}

static void told_exit(struct sub *sub, struct job *job, size_t place, const struct sub_instance_event *e)
{
    struct tf_member *m = &job->record.members.items[place];
    bool done = e->exit_code == 0 && !e->stopped;
    tf_reached_if(done && m->state == TF_MEMBER_STOPPING, sub, SUB_EXIT_STOPPING);
    tf_reached_if(!sub->listed, sub, SUB_EXIT_UNSEEN);
    m->exit_code = e->exit_code;
    if (e->exit_code != 0 && !e->stopped && m->state == TF_MEMBER_STARTING)
        note_failed_start(sub, job, place, e);
    if (done && job->record.phase != TF_ALLOCATION_ENDING && m->state != TF_MEMBER_LEAVING) {
        place = work_was_done(sub, job, place);
        m = &job->record.members.items[place];
    }
    if (did_not_join(sub, job, place, exit_message(m, e)))
        return;
    if (m->state == TF_MEMBER_LEAVING) {
        left(sub, job, place);
        return;
    }
    if (done || job->record.phase == TF_ALLOCATION_ENDING) {
        member_let_go(sub, job, m, done ? TF_MEMBER_DONE : TF_MEMBER_GONE);
        if (job->record.phase != TF_ALLOCATION_ENDING)
            peers_change(sub, job);
        epoch_look(sub, job);
        members_retry(sub, job);
    } else if (m->state == TF_MEMBER_STOPPING)
        member_back_off(sub, job, place);
    else if (e->stopped)
        lost(sub, job, place, tf_asprintf("it was stopped on %s by somebody else", m->node));
    else if (loss_is_settling(job))
        member_waits(sub, job, place);
    else
        member_fail(
            sub, job, place,
            (struct failure){.exit_code = e->exit_code, .output = e->output, .message = exit_message(m, e)});
}

static char *refusal(const struct tf_member *m, const struct sub_instance_event *e)
{
    return tf_asprintf("the engine refused to start instance %u on %s: %s", m->index, m->node,
                       e->text && *e->text ? e->text : "it gave no reason");
}

/* The engine will not start it. Before the epoch ever ran fully that is its end, for the leader to try
 * elsewhere; later, of a repeated attempt, it is a loss. */
static void told_refused(struct sub *sub, struct job *job, size_t place, const struct sub_instance_event *e)
{
    struct tf_member *m = &job->record.members.items[place];
    if (m->state == TF_MEMBER_STARTING || m->state == TF_MEMBER_READY) {
        tf_reached(sub, SUB_START_TWICE);
        return; /* of a repeated start: it runs */
    }
    tf_reached(sub, SUB_START_REFUSED);
    if (did_not_join(sub, job, place, refusal(m, e)))
        return;
    if (m->state == TF_MEMBER_LEAVING) {
        left(sub, job, place);
        return;
    }
    if (m->state == TF_MEMBER_STOPPING && job->record.phase != TF_ALLOCATION_ENDING) {
        member_back_off(sub, job, place);
        return;
    }
    bool ran = job->record.started.ms != 0 || m->attempt > 1;
    if (ran || job->record.phase == TF_ALLOCATION_ENDING) {
        lost(sub, job, place, refusal(m, e));
        grow_refused(sub, job);
        return;
    }
    char *message = refusal(m, e);
    member_let_go(sub, job, m, TF_MEMBER_GONE);
    epoch_end(sub, job,
              (struct ending){.end = TF_END_REFUSED, .reason = TF_REASON_ENGINE, .message = message});
}

static char *unknown(const struct tf_member *m)
{
    return tf_asprintf("instance %u on %s is unknown to its engine", m->index, m->node);
}

/* Nothing of the attempt ever ran, and nothing will. */
static void told_absent(struct sub *sub, struct job *job, size_t place)
{
    struct tf_member *m = &job->record.members.items[place];
    tf_reached_if(member_stops(m->state), sub, SUB_STOP_ABSENT);
    if (did_not_join(sub, job, place, unknown(m)))
        return;
    if (m->state == TF_MEMBER_LEAVING)
        left(sub, job, place);
    else if (m->state == TF_MEMBER_STOPPING && job->record.phase != TF_ALLOCATION_ENDING)
        member_back_off(sub, job, place);
    else
        lost(sub, job, place, unknown(m));
}

void member_told(struct sub *sub, struct job *job, size_t place, const struct sub_instance_event *event)
{
    assert(member_lives(job->record.members.items[place].state));
    bool first = !job->runs.items[place].seen;
    job->runs.items[place].seen = true;
    job->runs.items[place].known |= event->state != SUB_INSTANCE_ABSENT;
    if (first && sub->listed)
        strays_judge(sub, job->record.uid); /* what was to take its place need not */
    switch (event->state) {
    case SUB_INSTANCE_STARTING:
        told_starting(sub, job, place, event);
        break;
    case SUB_INSTANCE_READY:
        told_ready(sub, job, place, event);
        break;
    case SUB_INSTANCE_EXITED:
        told_exit(sub, job, place, event);
        break;
    case SUB_INSTANCE_REFUSED:
        told_refused(sub, job, place, event);
        break;
    case SUB_INSTANCE_LOST:
        lost(sub, job, place, tf_strdup(event->text && *event->text ? event->text : "the engine says so"));
        break;
    case SUB_INSTANCE_ABSENT:
        told_absent(sub, job, place);
        break;
    case SUB_INSTANCE_NONE:
        break;
    }
}
