/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what follows when an instance fails, or when all are to start anew: back-off, the next attempt, the
 * limit of retries (DESIGN.md §4). */
#include "subcluster/core/retries.h"

#include "subcluster/core/allocation.h"
#include "subcluster/core/calls.h"
#include "subcluster/core/checkpoint.h"
#include "subcluster/core/loss.h"
#include "subcluster/core/members_private.h"
#include "subcluster/core/migrate.h"
#include "subcluster/core/moving.h"
#include "subcluster/core/peers.h"
#include "subcluster/core/strays.h"
#include "subcluster/core/trace.h"

#include <assert.h>

enum { BACKOFF_MAX = 5 * TF_MINUTE };

static bool restarts_together(const struct job *job)
{
    return job->record.spec->on_resize == TF_ON_RESIZE_RESTART;
}

/* The next attempt of one that waited. The intent is recorded before the start goes out. */
static void attempt_again(struct sub *sub, struct job *job, size_t place)
{
    struct tf_member *m = &job->record.members.items[place];
    assert(m->state == TF_MEMBER_BACKOFF && sub->listed);
    const struct tf_claim *elsewhere = migrate_restart_place(sub, job, m->index);
    if (elsewhere)
        moving_relocate(sub, job, place, elsewhere);
    m->state = TF_MEMBER_PLANNED;
    m->attempt = member_last_attempt(m) + 1;
    m->started = m->ready = m->ended = m->retry_at = (struct tf_wall){0};
    m->exit_code = 0;
    tf_strs_release(&m->ports);
    job->runs.items[place] = member_new_run(sub, m);
}

/* Others have it. What is on the node by records is more than it can hold only where a restored store knew of
 * one too few when another got the place. less: so many of this job that are there do not count. */
static bool is_taken(const struct sub *sub, const struct job *job, size_t place, int32_t less)
{
    const struct tf_member *m = &job->record.members.items[place];
    const struct ledger_node *node = sub->ledger.nodes.items[job->runs.items[place].node];
    struct tf_vector sum = tf_vector_scale(tf_shape_vector(&job->record.spec->group.shape), -less);
    uint64_t gpus;
    ledger_strays_of_others(node, job->record.uid, &gpus);
    if (m->gpus & gpus)
        return true;
    tf_vec_each (h, &node->holdings)
        sum = h->gone_after ? sum : tf_vector_add(sum, h->hold.amount);
    sum.gpus = 0; /* they are named */
    return node->known && !tf_vector_fits(sum, node->node.capacity);
}

/* Nothing starts beside an instance without a record: what that has of the node's CPU, memory and slots is
 * not known before it is adopted. */
static bool has_its_place(const struct sub *sub, const struct job *job, size_t place)
{
    const struct ledger_node *node = sub->ledger.nodes.items[job->runs.items[place].node];
    uint64_t gpus;
    return !ledger_strays_of_others(node, job->record.uid, &gpus) && !is_taken(sub, job, place, 0);
}

static bool is_ripe(const struct sub *sub, const struct job *job, size_t place)
{
    return job->record.members.items[place].state == TF_MEMBER_BACKOFF &&
           job->record.members.items[place].role != TF_MEMBER_MOVES_OUT &&
           job->runs.items[place].retry.ms <= sub->now.mono.ms && !member_on_silent_node(sub, job, place) &&
           !strays_live_at(sub, job, job->record.members.items[place].index) &&
           has_its_place(sub, job, place);
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
        if (member_counts(&job->record.members.items[i]) && state != TF_MEMBER_DONE && !is_ripe(sub, job, i))
            return false;
    }
    return true;
}

/* Starts again those whose back-off is over. Not what a restored store has: what it takes for a failure may
 * have been the end. */
void members_retry(struct sub *sub, struct job *job)
{
    if (!sub->listed || job->unconfirmed || !job_lives(job) || job->record.phase == TF_ALLOCATION_ENDING)
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

static int32_t how_many_at(const struct job *job, const struct places *places, uint32_t node)
{
    int32_t n = 0;
    tf_vec_each (place, places)
        n += job->runs.items[*place].node == node;
    return n;
}

void members_lose_taken(struct sub *sub, struct job *job)
{
    struct places places = {0};
    if (!sub->listed || job->unconfirmed || !job_lives(job))
        return;
    for (size_t i = 0; i < job->record.members.count; i++)
        if (job->record.members.items[i].state == TF_MEMBER_BACKOFF &&
            is_taken(sub, job, i, how_many_at(job, &places, job->runs.items[i].node)))
            tf_vec_push(&places, i);
    if (places.count)
        members_lost(sub, job, &places,
                     "its node has no room for it any more: another runs there that a restored store had "
                     "forgotten, or the node has become smaller");
    tf_vec_release(&places);
}

/* Not at once: the decision that is under way may hold places. */
static void look_soon(struct sub *sub, struct job *job, size_t place)
{
    if (job->record.members.items[place].state == TF_MEMBER_BACKOFF &&
        job->runs.items[place].retry.ms <= sub->now.mono.ms)
        member_set_due(sub, job, place, sub->now.mono);
}

void members_wake(struct sub *sub, const struct ledger_node *node, struct tf_uid but)
{
    tf_vec_each (h, &node->holdings) {
        struct job *job = h->gone_after || tf_uid_eq(h->uid, but) ? NULL : job_find(sub, h->uid);
        size_t place = job ? member_on_node(job, h->index, node->number) : SIZE_MAX;
        if (place != SIZE_MAX)
            look_soon(sub, job, place);
    }
}

void member_retry_here(struct sub *sub, struct job *job, size_t place)
{
    members_retry(sub, job);
    if (job->record.members.items[place].state == TF_MEMBER_BACKOFF && is_taken(sub, job, place, 0))
        look_soon(sub, job, place);
}

/* Nothing of the attempt is left; the next may follow once its back-off is over. */
void member_back_off(struct sub *sub, struct job *job, size_t place)
{
    struct tf_member *m = &job->record.members.items[place];
    struct member_run *run = &job->runs.items[place];
    m->state = TF_MEMBER_BACKOFF;
    m->ended = sub->now.wall;
    if (run->retry.ms <= sub->now.mono.ms)
        run->due = TF_NEVER;
    else
        member_set_due(sub, job, place, run->retry);
    job_changed(sub, job);
    peers_change(sub, job);
    member_retry_here(sub, job, place);
}

static void set_retry(struct sub *sub, struct job *job, size_t place, int64_t wait)
{
    job->record.members.items[place].retry_at = (struct tf_wall){sub->now.wall.ms + wait};
    job->runs.items[place].retry = moment_in(sub, wait);
}

/* retries.backoff, doubled with each failure, up to five minutes. */
int64_t member_backoff(const struct job *job, const struct tf_member *m)
{
    int64_t wait = job->record.spec->retry_backoff;
    /* an attempt that went with its node, or was replaced, was no failure */
    uint32_t failures = (uint32_t)job->record.retries_used;
    failures = failures < m->attempt ? failures : m->attempt;
    for (uint32_t i = 1; i < failures && wait < BACKOFF_MAX; i++)
        wait *= 2;
    return wait < BACKOFF_MAX ? wait : BACKOFF_MAX;
}

/* All that live are to be started again, together. */
static void mark_others(struct sub *sub, struct job *job)
{
    moving_undo(sub, job, "its job restarts as a whole");
    job->record.restart_at = (struct tf_wall){0}; /* one that was due is this one */
    job->restart_due = TF_NEVER;
    for (size_t i = 0; i < job->record.members.count; i++) {
        struct tf_member *m = &job->record.members.items[i];
        if (!member_lives(m->state) || member_stops(m->state) || m->role != TF_MEMBER_OF_JOB)
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
        call_stop(sub, job, &job->record.members.items[i], 0, job->record.spec->group.grace);
    }
}

static void fail_for_good(struct sub *sub, struct job *job, size_t place, struct failure f)
{
    struct tf_member *m = &job->record.members.items[place];
    tf_reached(sub, SUB_RETRIES_USED);
    char *message = tf_asprintf("%s; no retry is left (limit %d)", f.message, job->record.spec->retry_limit);
    free(f.message);
    if (!f.runs)
        member_let_go(sub, job, m, TF_MEMBER_GONE);
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
        tf_asprintf("%s; retry %d of %d", f->message, record->retries_used, record->spec->retry_limit);
    tf_str_set(&latest->output, f->output);
    latest->exit_code = f->exit_code;
    latest->at = sub->now.wall;
}

/* A failure costs a retry; beyond the limit it is the epoch's end (DESIGN.md §4). */
void member_fail(struct sub *sub, struct job *job, size_t place, struct failure f)
{
    struct tf_allocation *record = &job->record;
    struct tf_member *m = &record->members.items[place];
    if (record->retries_used >= record->spec->retry_limit) {
        fail_for_good(sub, job, place, f);
        return;
    }
    record->retries_used++;
    record->ending.failures++;
    restart_fails(job);
    remember_trouble(sub, record, &f);
    int64_t wait = member_backoff(job, m);
    trace_epoch(sub, job, "%s: retry %d of %d in %lld ms", f.message, record->retries_used,
                record->spec->retry_limit, (long long)wait);
    free(f.message);
    m->exit_code = f.exit_code;
    m->state = f.runs ? TF_MEMBER_STOPPING : TF_MEMBER_BACKOFF;
    set_retry(sub, job, place, wait);
    if (restarts_together(job))
        mark_others(sub, job);
    if (f.runs || restarts_together(job))
        stop_marked(sub, job, restarts_together(job) ? SIZE_MAX : place);
    if (!f.runs)
        member_back_off(sub, job, place);
}

void member_waits(struct sub *sub, struct job *job, size_t place)
{
    tf_reached(sub, SUB_FAILED_WITH_LOSS);
    set_retry(sub, job, place, 0);
    member_back_off(sub, job, place);
}

void members_restart(struct sub *sub, struct job *job)
{
    restart_begins(sub, job);
    mark_others(sub, job);
    stop_marked(sub, job, SIZE_MAX);
    members_retry(sub, job); /* they may have waited for one that went */
}
