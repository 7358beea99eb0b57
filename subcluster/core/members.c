/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what becomes of single members: starts, ends, retries, losses, stops and their time-outs. What it
 * means for the epoch is allocation.c's, where they are is the ledger's. */
#include "subcluster/core/members.h"

#include "subcluster/core/allocation.h"
#include "subcluster/core/event.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/peers.h"
#include "subcluster/core/reclaim.h"
#include "subcluster/core/size.h"
#include "subcluster/core/strays.h"
#include "subcluster/core/trace.h"

#include <assert.h>

enum { BACKOFF_MAX = 5 * TF_MINUTE };

bool members_any_live(const struct job *job)
{
    tf_vec_each (m, &job->record.members)
        if (member_lives(m->state))
            return true;
    return false;
}

static struct member_run new_run(struct sub *sub, const struct tf_member *m)
{
    uint32_t node = ledger_need(&sub->ledger, m->node)->number;
    return (struct member_run){.node = node, .due = TF_NEVER, .retry = TF_NEVER};
}

void members_attach(struct sub *sub, struct job *job)
{
    tf_vec_release(&job->runs);
    tf_vec_each (m, &job->record.members)
        tf_vec_push(&job->runs, new_run(sub, m));
}

static struct tf_instance_id id_of(const struct job *job, const struct tf_member *m)
{
    return (struct tf_instance_id){job->record.uid, job->record.epoch, m->index, m->attempt};
}

static struct tf_mono in(const struct sub *sub, int64_t ms)
{
    return (struct tf_mono){sub->now.mono.ms + ms};
}

static void set_due(struct sub *sub, struct job *job, size_t place, struct tf_mono due)
{
    job->runs.items[place].due = due;
    job_due_at(sub, job, due);
}

/* ---- levels ---- */

/* A class that the policy does not know (any more) is held at the highest rank: nobody may take it. */
int class_rank(const struct sub *sub, const struct tf_job_spec *spec)
{
    int rank = tf_classes_rank(&sub->policy.classes, spec->priority ? spec->priority : "");
    return rank >= 0 ? rank : TF_CLASSES_MAX - 1;
}

tf_level job_core_level(const struct sub *sub, const struct job *job)
{
    int rank = class_rank(sub, &job->record.spec), ceiling = tf_policy_ceiling_rank(&sub->policy);
    bool is_protected = job->protected_until.ms != TF_NEVER.ms && rank < ceiling;
    return is_protected ? tf_level_protected(ceiling) : tf_level_core(rank);
}

tf_level member_level(const struct sub *sub, const struct job *job, const struct tf_member *member)
{
    const struct tf_allocation *record = &job->record;
    if (record->phase == TF_ALLOCATION_ENDING || member->state == TF_MEMBER_LEAVING)
        return TF_LEVEL_GOING;
    return member->mark == 0 ? job_core_level(sub, job) : tf_level_surplus(class_rank(sub, &record->spec));
}

void members_set_levels(struct sub *sub, struct job *job)
{
    tf_vec_each (m, &job->record.members)
        if (member_holds(m->state))
            ledger_set_level(&sub->ledger, job->record.uid, m, member_level(sub, job, m));
    if (job->record.phase == TF_ALLOCATION_CLAIMING)
        reclaim_set_levels(sub, job);
}

/* The oldest members are core, what follows is surplus, step by step. */
void member_add(struct sub *sub, struct job *job, const char *node, uint64_t gpus)
{
    struct tf_allocation *record = &job->record;
    const struct tf_elastic *e = &record->spec.elastic;
    uint32_t index = (uint32_t)record->members.count;
    struct tf_member member = {.index = index,
                               .attempt = 1,
                               .node = tf_strdup(node),
                               .gpus = gpus,
                               .mark = size_mark(e, (int32_t)index),
                               .state = TF_MEMBER_PLANNED};
    tf_vec_push(&record->members, member);
    ledger_hold(&sub->ledger, record->uid, &member, tf_shape_vector(&record->spec.group.shape),
                member_level(sub, job, &member));
}

/* ---- what goes to the engine ---- */

static void ask_start(struct sub *sub, struct job *job, const struct tf_member *m)
{
    struct member_run *run = &job->runs.items[m->index];
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
    action.start.rank = m->index;
    action.start.size = record->size;
    group_copy(&action.start.group, &record->spec.group);
    out_hold(sub, action);
}

static void ask_stop(struct sub *sub, struct job *job, const struct tf_member *m, int64_t stop_delay,
                     int64_t grace)
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
            ask_start(sub, job, m);
}

static void retry(struct sub *sub, struct job *job);

void members_resume(struct sub *sub, struct job *job)
{
    if (!job_lives(job))
        return;
    const struct tf_group *group = &job->record.spec.group;
    peers_repeat(sub, job);
    for (size_t i = 0; i < job->record.members.count; i++) {
        struct tf_member *m = &job->record.members.items[i];
        bool stops = member_stops(m->state);
        bool leaves = m->state == TF_MEMBER_LEAVING || job->record.phase == TF_ALLOCATION_ENDING;
        bool starts = !stops && member_lives(m->state) && !job->runs.items[i].seen;
        tf_reached_if(stops, sub, SUB_STOP_AGAIN);
        tf_reached_if(starts, sub, SUB_START_AGAIN);
        if (stops)
            ask_stop(sub, job, m, leaves ? group->stop_delay : 0, group->grace);
        else if (starts)
            ask_start(sub, job, m);
    }
    retry(sub, job);
}

/* The place of the member whose present attempt this is; SIZE_MAX if there is none. */
static size_t place_of(const struct job *job, const struct tf_instance_id *id)
{
    if (!job || job->record.epoch != id->epoch || id->index >= job->record.members.count ||
        job->record.members.items[id->index].attempt != id->attempt)
        return SIZE_MAX;
    return id->index;
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
    set_due(sub, job, place, in(sub, sub->policy.start_timeout));
    return true;
}

bool members_leave(struct sub *sub, const struct sub_action *action)
{
    if (action->kind == SUB_ACT_START)
        return start_leaves(sub, &action->start.id);
    if (action->kind != SUB_ACT_STOP)
        return true;
    const struct tf_instance_id *id = &action->stop.id;
    struct tf_mono due = in(sub, action->stop.stop_delay + action->stop.grace + sub->policy.kill_bound);
    struct job *job = job_find(sub, id->uid);
    size_t place = place_of(job, id);
    if (place != SIZE_MAX && member_stops(job->record.members.items[place].state))
        set_due(sub, job, place, due);
    else
        stray_stop_left(sub, id, due);
    return true;
}

/* ---- moves ---- */

/* It holds nothing any more. */
static void let_go(struct sub *sub, struct job *job, struct tf_member *m, enum tf_member_state state)
{
    assert(member_holds(m->state) && !member_holds(state));
    m->state = state;
    m->ended = sub->now.wall;
    job->runs.items[m->index].due = TF_NEVER;
    job_changed(sub, job);
    ledger_release(&sub->ledger, job->record.uid, m, tf_journal_last(sub->outbox.journal));
}

void members_are_gone(struct sub *sub, struct job *job)
{
    tf_vec_each (m, &job->record.members)
        if (member_holds(m->state))
            let_go(sub, job, m, TF_MEMBER_GONE);
}

static void set_ports(struct tf_member *m, const struct tf_strs *ports)
{
    if (ports->count)
        tf_strs_copy(&m->ports, ports);
}

static bool restarts_together(const struct job *job)
{
    return job->record.spec.on_resize == TF_ON_RESIZE_RESTART;
}

/* The next attempt of one that waited. The intent is recorded before the start goes out. */
static void attempt_again(struct sub *sub, struct job *job, size_t place)
{
    struct tf_member *m = &job->record.members.items[place];
    assert(m->state == TF_MEMBER_BACKOFF && sub->listed);
    m->state = TF_MEMBER_PLANNED;
    m->attempt++;
    m->started = m->ready = m->ended = m->retry_at = (struct tf_wall){0};
    m->exit_code = 0;
    tf_strs_release(&m->ports);
    job->runs.items[place] = new_run(sub, m);
}

static bool is_ripe(const struct sub *sub, const struct job *job, size_t place)
{
    return job->record.members.items[place].state == TF_MEMBER_BACKOFF &&
           job->runs.items[place].retry.ms <= sub->now.mono.ms;
}

/* With onResize: restart nobody goes on before all can. */
static bool may_retry(const struct sub *sub, const struct job *job, size_t place)
{
    if (!is_ripe(sub, job, place))
        return false;
    if (!restarts_together(job))
        return true;
    for (size_t i = 0; i < job->record.members.count; i++) {
        enum tf_member_state state = job->record.members.items[i].state;
        if (member_stays(state) && state != TF_MEMBER_DONE && !is_ripe(sub, job, i))
            return false;
    }
    return true;
}

/* Starts again those whose back-off is over. */
static void retry(struct sub *sub, struct job *job)
{
    if (!sub->listed || !job_lives(job) || job->record.phase == TF_ALLOCATION_ENDING)
        return;
    size_t again = 0;
    bool together = restarts_together(job), all = false;
    for (size_t i = 0; i < job->record.members.count; i++) {
        bool now = together && all ? is_ripe(sub, job, i) : may_retry(sub, job, i);
        if (!now)
            continue;
        all = true;
        attempt_again(sub, job, i);
        again++;
    }
    if (!again)
        return;
    tf_reached(sub, SUB_RETRY);
    tf_reached_if(together && again > 1, sub, SUB_RETRY_TOGETHER);
    trace_epoch(sub, job, "starts %zu instance%s again", again, again == 1 ? "" : "s");
    job_changed(sub, job);
    peers_write(sub, job);
    members_start(sub, job);
}

/* Nothing of the attempt is left; the next may follow once its back-off is over. */
static void back_off(struct sub *sub, struct job *job, size_t place)
{
    struct tf_member *m = &job->record.members.items[place];
    struct member_run *run = &job->runs.items[place];
    m->state = TF_MEMBER_BACKOFF;
    m->ended = sub->now.wall;
    if (run->retry.ms <= sub->now.mono.ms)
        run->due = TF_NEVER;
    else
        set_due(sub, job, place, run->retry);
    job_changed(sub, job);
    peers_change(sub, job);
    retry(sub, job);
}

static void set_retry(struct sub *sub, struct job *job, size_t place, int64_t wait)
{
    job->record.members.items[place].retry_at = (struct tf_wall){sub->now.wall.ms + wait};
    job->runs.items[place].retry = in(sub, wait);
}

/* retries.backoff, doubled with each attempt, up to five minutes. */
int64_t member_backoff(const struct job *job, const struct tf_member *m)
{
    int64_t wait = job->record.spec.retry_backoff;
    for (uint32_t i = 1; i < m->attempt && wait < BACKOFF_MAX; i++)
        wait *= 2;
    return wait < BACKOFF_MAX ? wait : BACKOFF_MAX;
}

/* All that live are to be started again, together. */
static void mark_others(struct sub *sub, struct job *job)
{
    for (size_t i = 0; i < job->record.members.count; i++) {
        struct tf_member *m = &job->record.members.items[i];
        if (!member_lives(m->state) || member_stops(m->state))
            continue;
        m->state = TF_MEMBER_STOPPING;
        set_retry(sub, job, i, 0);
    }
}

/* Stops those that are STOPPING: the one in that place, or (SIZE_MAX) all. */
static void stop_marked(struct sub *sub, struct job *job, size_t place)
{
    job_changed(sub, job);
    peers_write(sub, job);
    for (size_t i = 0; i < job->record.members.count; i++) {
        if ((place != SIZE_MAX && place != i) || job->record.members.items[i].state != TF_MEMBER_STOPPING)
            continue;
        job->runs.items[i].due = TF_NEVER;
        ask_stop(sub, job, &job->record.members.items[i], 0, job->record.spec.group.grace);
    }
}

struct failure {
    bool runs; /* it must be stopped first */
    int32_t exit_code;
    const char *output; /* may be NULL */
    char *message;      /* taken */
};

static void fail_for_good(struct sub *sub, struct job *job, size_t place, struct failure f)
{
    struct tf_member *m = &job->record.members.items[place];
    tf_reached(sub, SUB_RETRIES_USED);
    char *message = tf_asprintf("%s; no retry is left (limit %d)", f.message, job->record.spec.retry_limit);
    free(f.message);
    if (!f.runs)
        let_go(sub, job, m, TF_MEMBER_GONE);
    epoch_end(sub, job,
              (struct ending){
                  .end = TF_END_FAILED, .exit_code = f.exit_code, .output = f.output, .message = message});
}

/* The latest failure is kept beside what will be the end, for people who ask why it does not get on. */
static void remember_trouble(struct sub *sub, struct tf_allocation *record, const struct failure *f)
{
    struct tf_ended *latest = &record->ending;
    free(latest->message);
    latest->message =
        tf_asprintf("%s; retry %d of %d", f->message, record->retries_used, record->spec.retry_limit);
    tf_str_set(&latest->output, f->output);
    latest->exit_code = f->exit_code;
    latest->at = sub->now.wall;
}

/* A failure costs a retry; beyond the limit it is the epoch's end (DESIGN.md §4). */
static void fail(struct sub *sub, struct job *job, size_t place, struct failure f)
{
    struct tf_allocation *record = &job->record;
    struct tf_member *m = &record->members.items[place];
    if (record->retries_used >= record->spec.retry_limit) {
        fail_for_good(sub, job, place, f);
        return;
    }
    record->retries_used++;
    record->ending.failures++;
    remember_trouble(sub, record, &f);
    int64_t wait = member_backoff(job, m);
    trace_epoch(sub, job, "%s: retry %d of %d in %lld ms", f.message, record->retries_used,
                record->spec.retry_limit, (long long)wait);
    free(f.message);
    m->exit_code = f.exit_code;
    m->state = f.runs ? TF_MEMBER_STOPPING : TF_MEMBER_BACKOFF;
    set_retry(sub, job, place, wait);
    if (restarts_together(job))
        mark_others(sub, job);
    if (f.runs || restarts_together(job))
        stop_marked(sub, job, restarts_together(job) ? SIZE_MAX : place);
    if (!f.runs)
        back_off(sub, job, place);
}

static void lose(struct sub *sub, struct job *job, size_t place, char *message)
{
    struct tf_member *m = &job->record.members.items[place];
    bool left = m->state == TF_MEMBER_LEAVING;
    let_go(sub, job, m, TF_MEMBER_GONE);
    if (left || job->record.phase == TF_ALLOCATION_ENDING) {
        free(message);
        epoch_look(sub, job);
    } else
        epoch_end(sub, job, (struct ending){.end = TF_END_LOST, .message = message});
}

static void member_lost(struct sub *sub, struct job *job, size_t place, const char *why)
{
    const struct tf_member *m = &job->record.members.items[place];
    if (member_holds(m->state))
        lose(sub, job, place, tf_asprintf("instance %u was lost: %s", m->index, why));
}

/* A start that the engine has not answered may still be on its way, and the node be back when it arrives: the
 * epoch is over, but this member is not gone before the engine has answered its stop. */
void member_node_lost(struct sub *sub, struct job *job, size_t place, const char *why)
{
    const struct tf_member *m = &job->record.members.items[place];
    tf_reached_if(m->state == TF_MEMBER_STARTING, sub, SUB_NODE_LOST_STARTING);
    tf_reached_if(m->state == TF_MEMBER_STOPPING, sub, SUB_NODE_LOST_STOPPING);
    if (!member_lives(m->state) || job->runs.items[place].seen) {
        member_lost(sub, job, place, why);
        return;
    }
    tf_reached(sub, SUB_NODE_LOST_UNSEEN);
    if (m->state == TF_MEMBER_LEAVING)
        return;
    char *message = tf_asprintf("instance %u was lost: %s", m->index, why);
    epoch_end(sub, job, (struct ending){.end = TF_END_LOST, .message = message});
}

void members_stop_all(struct sub *sub, struct job *job)
{
    const struct tf_group *group = &job->record.spec.group;
    assert(job->record.phase == TF_ALLOCATION_ENDING);
    for (size_t i = 0; i < job->record.members.count; i++) {
        struct tf_member *m = &job->record.members.items[i];
        if (m->state == TF_MEMBER_BACKOFF)
            let_go(sub, job, m, TF_MEMBER_GONE);
        if (!member_lives(m->state) || member_stops(m->state))
            continue;
        m->state = TF_MEMBER_STOPPING;
        job->runs.items[i].due = TF_NEVER;
        if (sub->listed)
            ask_stop(sub, job, m, group->stop_delay, group->grace);
    }
}

/* Whether its stop has yet to be asked for. */
static bool begin_to_leave(struct sub *sub, struct job *job, struct tf_member *m)
{
    enum tf_member_state state = m->state;
    assert(member_stays(state));
    if (state == TF_MEMBER_BACKOFF)
        let_go(sub, job, m, TF_MEMBER_GONE);
    else
        m->state = state == TF_MEMBER_DONE ? TF_MEMBER_GONE : TF_MEMBER_LEAVING;
    if (m->state != TF_MEMBER_LEAVING)
        return false;
    ledger_set_level(&sub->ledger, job->record.uid, m, TF_LEVEL_GOING);
    job->runs.items[m->index].due = state == TF_MEMBER_STOPPING ? job->runs.items[m->index].due : TF_NEVER;
    return state != TF_MEMBER_STOPPING;
}

void members_dismiss(struct sub *sub, struct job *job, const size_t *places, size_t count)
{
    const struct tf_group *group = &job->record.spec.group;
    TF_VEC(size_t) stops = {0};
    assert(job->record.phase != TF_ALLOCATION_ENDING);
    for (size_t i = 0; i < count; i++)
        if (begin_to_leave(sub, job, &job->record.members.items[places[i]]))
            tf_vec_push(&stops, places[i]);
    job_changed(sub, job);
    peers_write(sub, job);
    tf_vec_each (place, &stops)
        if (sub->listed)
            ask_stop(sub, job, &job->record.members.items[*place], group->stop_delay, group->grace);
    tf_vec_release(&stops);
}

void members_restart(struct sub *sub, struct job *job)
{
    mark_others(sub, job);
    stop_marked(sub, job, SIZE_MAX);
    retry(sub, job); /* they may have waited for one that went */
}

/* ---- the engine's word ---- */

static bool new_ports(const struct tf_member *m, const struct sub_instance_event *e)
{
    return e->ports.count && !tf_strs_eq(&m->ports, &e->ports);
}

static int64_t start_bound(const struct sub *sub, const struct job *job)
{
    const struct tf_ready_probe *ready = &job->record.spec.group.ready;
    return ready->command.count && ready->timeout > 0 ? ready->timeout : sub->policy.start_timeout;
}

void members_adopted(struct sub *sub, struct job *job)
{
    for (size_t i = 0; i < job->record.members.count; i++) {
        job->runs.items[i].seen = job->runs.items[i].begun = true;
        if (job->record.members.items[i].state == TF_MEMBER_STARTING)
            set_due(sub, job, i, in(sub, start_bound(sub, job)));
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
        set_due(sub, job, place, in(sub, start_bound(sub, job)));
    job->runs.items[place].begun = true;
    if (new_ports(m, e)) {
        set_ports(m, &e->ports);
        job_changed(sub, job);
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
    if (m->state != TF_MEMBER_READY)
        m->ready = sub->now.wall;
    m->state = TF_MEMBER_READY;
    set_ports(m, &e->ports);
    job_changed(sub, job);
    peers_change(sub, job);
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

/* It was no part of the job any more. */
static void left(struct sub *sub, struct job *job, size_t place)
{
    let_go(sub, job, &job->record.members.items[place], TF_MEMBER_GONE);
    epoch_look(sub, job);
    retry(sub, job);
}

static void told_exit(struct sub *sub, struct job *job, size_t place, const struct sub_instance_event *e)
{
    struct tf_member *m = &job->record.members.items[place];
    bool done = e->exit_code == 0 && !e->stopped;
    tf_reached_if(done && m->state == TF_MEMBER_STOPPING, sub, SUB_EXIT_STOPPING);
    tf_reached_if(!sub->listed, sub, SUB_EXIT_UNSEEN);
    m->exit_code = e->exit_code;
    if (m->state == TF_MEMBER_LEAVING) {
        left(sub, job, place);
        return;
    }
    if (done || job->record.phase == TF_ALLOCATION_ENDING) {
        let_go(sub, job, m, done ? TF_MEMBER_DONE : TF_MEMBER_GONE);
        if (job->record.phase != TF_ALLOCATION_ENDING)
            peers_change(sub, job);
        epoch_look(sub, job);
        retry(sub, job);
    } else if (m->state == TF_MEMBER_STOPPING)
        back_off(sub, job, place);
    else if (e->stopped)
        lose(sub, job, place,
             tf_asprintf("instance %u on %s was stopped by somebody else", m->index, m->node));
    else
        fail(sub, job, place,
             (struct failure){.exit_code = e->exit_code, .output = e->output, .message = exit_message(m, e)});
}

/* The engine will not start it. Before the epoch ever ran fully that is its end, for the leader to try
 * elsewhere; later, of a repeated attempt, it is a loss. */
static void told_refused(struct sub *sub, struct job *job, size_t place, const struct sub_instance_event *e)
{
    struct tf_member *m = &job->record.members.items[place];
    const char *text = e->text && *e->text ? e->text : "it gave no reason";
    if (m->state == TF_MEMBER_STARTING || m->state == TF_MEMBER_READY) {
        tf_reached(sub, SUB_START_TWICE);
        return; /* of a repeated start: it runs */
    }
    tf_reached(sub, SUB_START_REFUSED);
    if (m->state == TF_MEMBER_LEAVING) {
        left(sub, job, place);
        return;
    }
    if (m->state == TF_MEMBER_STOPPING && job->record.phase != TF_ALLOCATION_ENDING) {
        back_off(sub, job, place);
        return;
    }
    bool ran = job->record.started.ms != 0 || m->attempt > 1;
    char *message = tf_asprintf("the engine refused to start instance %u on %s: %s", m->index, m->node, text);
    let_go(sub, job, m, TF_MEMBER_GONE);
    if (job->record.phase == TF_ALLOCATION_ENDING) {
        free(message);
        epoch_look(sub, job);
    } else
        epoch_end(sub, job,
                  (struct ending){.end = ran ? TF_END_LOST : TF_END_REFUSED,
                                  .reason = ran ? TF_REASON_NONE : TF_REASON_ENGINE,
                                  .message = message});
}

/* Nothing of the attempt ever ran, and nothing will. */
static void told_absent(struct sub *sub, struct job *job, size_t place)
{
    struct tf_member *m = &job->record.members.items[place];
    tf_reached_if(member_stops(m->state), sub, SUB_STOP_ABSENT);
    if (m->state == TF_MEMBER_LEAVING) {
        left(sub, job, place);
    } else if (job->record.phase == TF_ALLOCATION_ENDING) {
        let_go(sub, job, m, TF_MEMBER_GONE);
        epoch_look(sub, job);
    } else if (m->state == TF_MEMBER_STOPPING)
        back_off(sub, job, place);
    else
        lose(sub, job, place, tf_asprintf("instance %u on %s is unknown to its engine", m->index, m->node));
}

void member_told(struct sub *sub, struct job *job, size_t place, const struct sub_instance_event *event)
{
    assert(member_lives(job->record.members.items[place].state));
    job->runs.items[place].seen = true;
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
        member_lost(sub, job, place, event->text && *event->text ? event->text : "the engine says so");
        break;
    case SUB_INSTANCE_ABSENT:
        told_absent(sub, job, place);
        break;
    case SUB_INSTANCE_NONE:
        break;
    }
}

/* ---- moments ---- */

static void start_too_slow(struct sub *sub, struct job *job, size_t place)
{
    const struct tf_member *m = &job->record.members.items[place];
    tf_reached(sub, SUB_START_LATE);
    fail(sub, job, place,
         (struct failure){.runs = true,
                          .message =
                              tf_asprintf("instance %u on %s was not ready in time", m->index, m->node)});
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
    ask_stop(sub, job, m, 0, 0);
}

static void member_due(struct sub *sub, struct job *job, size_t place)
{
    job->runs.items[place].due = TF_NEVER;
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
        retry(sub, job);
        break;
    case TF_MEMBER_NONE:
    case TF_MEMBER_DONE:
    case TF_MEMBER_GONE:
        break;
    }
}

void members_due(struct sub *sub, struct job *job)
{
    if (job->runtime_due.ms <= sub->now.mono.ms)
        epoch_runtime_over(sub, job);
    if (job->protected_until.ms <= sub->now.mono.ms)
        epoch_protection_over(sub, job);
    for (size_t i = 0; i < job->runs.count; i++)
        if (job->runs.items[i].due.ms <= sub->now.mono.ms)
            member_due(sub, job, i);
    job_due_again(sub, job);
}
