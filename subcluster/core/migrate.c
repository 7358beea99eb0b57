/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the chains: their records and claims, when each move takes its next step, and what becomes of a chain
 * when one breaks. What a step does to a job is moving.c's, where moves go migrate_place.c's. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/core/grow.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/members_private.h"
#include "subcluster/core/migrate_private.h"
#include "subcluster/core/moving.h"
#include "subcluster/core/notes.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/policy.h"
#include "subcluster/core/repair.h"
#include "subcluster/core/retries.h"
#include "subcluster/core/trace.h"

#include <assert.h>

/* ---- claims ---- */

/* Its place is claimed, and nothing of it is there yet. */
static bool is_claimed(const struct tf_move *move)
{
    return move->state == TF_MOVE_RESERVED || (move->restarts && move->state == TF_MOVE_STOPPING);
}

/* As the member's that is to come there; but nothing runs there that minRuntime could protect. */
static tf_level claim_level(const struct sub *sub, const struct tf_move *move)
{
    const struct job *job = job_find(sub, move->uid);
    if (!job || !job_lives(job))
        return TF_LEVEL_GOING;
    int rank = class_rank(sub, job->record.spec);
    bool core = move->index >= job->record.members.count || job->record.members.items[move->index].mark == 0;
    return core ? tf_level_core(rank) : tf_level_surplus(rank);
}

static void claim(struct sub *sub, const struct migration *m, size_t i)
{
    const struct tf_move *move = &m->record.moves.items[i];
    ledger_claim(&sub->ledger, m->record.id, (uint32_t)i, &move->claim, claim_level(sub, move));
}

/* change 0: it is held from now on. */
static void unclaim(struct sub *sub, const struct migration *m, size_t i, uint64_t change)
{
    ledger_unclaim(&sub->ledger, m->record.id, (uint32_t)i, &m->record.moves.items[i].claim, change);
}

void migrate_set_levels(struct sub *sub)
{
    if (!sub->loaded)
        return; /* the claims are made when all records are there */
    tf_vec_each (at, &sub->migrations)
        for (size_t i = 0; chain_is_active(*at) && i < (*at)->record.moves.count; i++) {
            const struct tf_move *move = &(*at)->record.moves.items[i];
            if (is_claimed(move))
                ledger_set_claim_level(&sub->ledger, (*at)->record.id, (uint32_t)i, &move->claim,
                                       claim_level(sub, move));
        }
}

/* ---- states ---- */

static void stamp(struct tf_move *move, enum tf_move_state state, struct tf_wall now)
{
    switch (state) {
    case TF_MOVE_RESERVED:
        move->reserved = now;
        break;
    case TF_MOVE_STARTING:
        move->started = now;
        break;
    case TF_MOVE_READY:
        move->ready = now;
        break;
    case TF_MOVE_SWITCHED:
        move->switched = now;
        break;
    case TF_MOVE_STOPPING:
        move->stopping = now;
        break;
    case TF_MOVE_DONE:
    case TF_MOVE_ROLLED_BACK:
        move->ended = now;
        break;
    case TF_MOVE_NONE:
    case TF_MOVE_PLANNED:
        break;
    }
}

static void forget_oldest(struct sub *sub)
{
    size_t over = 0;
    tf_vec_each (at, &sub->migrations)
        over += !chain_is_active(*at);
    for (size_t i = 0; over > MIGRATE_HISTORY && i < sub->migrations.count;) {
        if (chain_is_active(sub->migrations.items[i])) {
            i++;
            continue;
        }
        struct tf_uid id = sub->migrations.items[i]->record.id;
        chain_drop(sub, i);
        out_touch_migration(sub, id);
        over--;
    }
}

/* What waits for its turn has waited for this one: its time begins anew. */
static void wait_anew(struct sub *sub, struct migration *m)
{
    m->record.until = (struct tf_wall){sub->now.wall.ms + MIGRATE_WAIT};
    m->until = moment_in(sub, MIGRATE_WAIT);
}

/* There is no way back from STOPPING but with the end of the job's epoch. */
static bool ends_with(const struct job *job, const struct tf_move *move)
{
    return !job_lives(job) || job->record.epoch != move->epoch || job->record.phase == TF_ALLOCATION_ENDING;
}

/* The job's record, where it changes too, is stored no later than the chain's. */
static void set_state(struct sub *sub, struct migration *m, size_t i, enum tf_move_state state)
{
    struct tf_move *move = &m->record.moves.items[i];
    struct job *job = job_find(sub, move->uid);
    assert(!tf_move_is_over(move->state));
    move->state = state;
    m->due.items[i] = TF_NEVER;
    stamp(move, state, sub->now.wall);
    if (job && state >= TF_MOVE_STARTING && (state != TF_MOVE_ROLLED_BACK || ends_with(job, move)))
        out_touch_job_before_migration(sub, job, m->record.id);
    out_touch_migration(sub, m->record.id);
    if (!tf_move_is_over(state))
        return;
    note_move_over(sub, &m->record, move);
    if (m->record.cause <= TF_MOVE_BY_DEFRAG)
        (state == TF_MOVE_DONE ? sub->moves_over.done : sub->moves_over.rolled_back)[m->record.cause]++;
    if (job)
        repair_unbarred(sub, job);
    wait_anew(sub, m);
    if (!tf_migration_is_over(&m->record))
        return;
    m->record.ended = sub->now.wall;
    m->until = TF_NEVER;
    ledger_empty(&sub->ledger, &m->record.empties, -1);
}

static void trace_move(struct sub *sub, const struct tf_move *move, const char *what)
{
    trace(sub, "job %s/%s: the move of instance %u from %s%s%s %s", move->tenant, move->name, move->index,
          move->from, move->claim.node ? " to " : "", move->claim.node ? move->claim.node : "", what);
}

/* What the job has of it is taken back by the caller, or will be with the end of its epoch. */
static void give_up(struct sub *sub, struct migration *m, size_t i, const char *why)
{
    struct tf_move *move = &m->record.moves.items[i];
    bool claimed = is_claimed(move);
    TF_AUTO_FREE char *text = tf_asprintf("is rolled back: %s", why);
    trace_move(sub, move, text);
    tf_reached(sub, SUB_MOVE_ROLLED_BACK);
    free(move->why);
    move->why = tf_strdup(why);
    set_state(sub, m, i, TF_MOVE_ROLLED_BACK);
    if (claimed)
        unclaim(sub, m, i, tf_journal_last(sub->outbox.journal));
}

static void roll_back(struct sub *sub, struct migration *m, size_t i, const char *why)
{
    const struct tf_move *move = &m->record.moves.items[i];
    struct job *job = job_find(sub, move->uid);
    bool begun = !move->restarts && move->state >= TF_MOVE_STARTING && move->state < TF_MOVE_STOPPING;
    if (begun && job && job_lives(job) && job->record.epoch == move->epoch &&
        job->record.phase != TF_ALLOCATION_ENDING)
        moving_take_back(sub, job, move->index);
    give_up(sub, m, i, why);
}

void migrate_undone(struct sub *sub, const struct job *job, uint32_t index, const char *why)
{
    size_t i;
    struct migration *m = chain_find_move(sub, job->record.uid, index, &i);
    if (m && m->record.moves.items[i].state >= TF_MOVE_STARTING)
        give_up(sub, m, i, why);
}

void migrate_take(struct sub *sub, struct tf_uid id, size_t i, const struct job *taker)
{
    struct migration *m = chain_find(sub, id);
    assert(m && i < m->record.moves.count);
    TF_AUTO_FREE char *why = tf_asprintf("its place went to %s/%s (%s)", taker->record.tenant,
                                         taker->record.name, taker->record.spec->priority);
    if (tf_move_is_over(m->record.moves.items[i].state))
        return; /* its job was evicted for the same placement */
    tf_reached(sub, SUB_MOVE_TAKEN);
    out_touch_migration_before(sub, id, taker);
    roll_back(sub, m, i, why);
}

void migrate_each_stake(const struct sub *sub, migrate_stake_f *each, void *arg)
{
    tf_vec_each (at, &sub->migrations)
        for (size_t i = 0; chain_is_active(*at) && i < (*at)->record.moves.count; i++) {
            const struct tf_move *move = &(*at)->record.moves.items[i];
            bool starts =
                !move->restarts && (move->state == TF_MOVE_STARTING || move->state == TF_MOVE_READY);
            if (!starts && !is_claimed(move))
                continue;
            struct migrate_stake stake = {.migration = (*at)->record.id,
                                          .move = i,
                                          .node = move->claim.node,
                                          .claimed = !starts,
                                          .gpus = move->claim.gpus,
                                          .amount = {tf_gpu_set_count(move->claim.gpus), move->claim.slots,
                                                     move->claim.cpu, move->claim.memory},
                                          .level = claim_level(sub, move)};
            each(&stake, arg);
        }
}

/* ---- the begin ---- */

static void add_chain(struct sub *sub, const struct migrate_ask *ask)
{
    struct migration *m = chain_add(sub);
    struct tf_migration *record = &m->record;
    record->id = ask->id;
    record->cause = ask->cause;
    record->owner = tf_strdup(ask->owner);
    record->reason = tf_strdup(ask->reason);
    record->user = tf_strdup(ask->user);
    record->created = sub->now.wall;
    for (size_t i = 0; i < ask->count; i++) {
        const struct job *job = job_find(sub, ask->wants[i].uid);
        size_t first = migrate_first_half(ask, i);
        struct tf_move *move = tf_vec_add(&record->moves);
        *move = (struct tf_move){.uid = ask->wants[i].uid,
                                 .tenant = tf_strdup(job->record.tenant),
                                 .name = tf_strdup(job->record.name),
                                 .epoch = job->record.epoch,
                                 .index = ask->wants[i].index,
                                 .restarts = job->record.spec->migration == TF_MIGRATION_RESTART,
                                 .from = tf_strdup(first == SIZE_MAX
                                                       ? job->record.members.items[ask->wants[i].index].node
                                                       : ask->wants[first].to),
                                 .wanted = tf_strdup(ask->wants[i].to),
                                 .state = TF_MOVE_PLANNED};
    }
    if (ask->empties)
        tf_strs_copy(&record->empties, ask->empties);
    chain_make_runs(m);
    ledger_empty(&sub->ledger, &m->record.empties, 1);
    wait_anew(sub, m);
    out_touch_migration(sub, record->id);
    tf_reached(sub, SUB_MOVE_PLANNED);
    trace(sub, "%zu instance%s to move, for %s%s%s", ask->count, ask->count == 1 ? " is" : "s are",
          tf_move_cause_name(ask->cause), ask->owner ? " " : "", ask->owner ? ask->owner : "");
}

char *migrate_begin(struct sub *sub, const struct migrate_ask *ask)
{
    struct migrate_plan plan = {0};
    char *refusal = NULL;
    if (chain_find(sub, ask->id))
        return NULL;
    if (ask->count == 0 || ask->count > TF_MOVES_MAX)
        return tf_asprintf("a chain has 1 to %d moves, not %zu", TF_MOVES_MAX, ask->count);
    migrate_plan_make(sub, ask, &plan);
    for (size_t i = 0; !refusal && i < plan.count; i++) {
        const struct job *job = job_find(sub, ask->wants[i].uid);
        if (migrate_of(sub, ask->wants[i].uid, ask->wants[i].index))
            refusal = tf_asprintf("instance %u moves already", ask->wants[i].index);
        else if (plan.items[i].refusal && job)
            refusal = tf_asprintf("%s/%s/%u: %s", job->record.tenant, job->record.name, ask->wants[i].index,
                                  plan.items[i].refusal);
        else if (plan.items[i].refusal)
            refusal = tf_strdup(plan.items[i].refusal);
    }
    migrate_plan_release(&plan);
    if (!refusal)
        add_chain(sub, ask);
    return refusal;
}

/* All claims of all moves, or none. */
static void reserve(struct sub *sub, struct migration *m)
{
    TF_VEC(struct migrate_want) wants = {0};
    struct migrate_plan plan = {0};
    tf_vec_each (move, &m->record.moves)
        if (move->state == TF_MOVE_PLANNED)
            tf_vec_push(&wants, (struct migrate_want){move->uid, move->index, move->wanted});
    struct migrate_ask ask = {.wants = wants.items, .count = wants.count, .may_restart = true};
    if (migrate_place_now(sub, &ask, &plan)) {
        size_t next = 0;
        for (size_t i = 0; i < m->record.moves.count; i++) {
            struct tf_move *move = &m->record.moves.items[i];
            if (move->state != TF_MOVE_PLANNED)
                continue;
            const struct tf_shape *shape = &job_find(sub, move->uid)->record.spec->group.shape;
            struct tf_vector need = tf_shape_vector(shape);
            move->claim = (struct tf_claim){.node = tf_strdup(plan.items[next].node),
                                            .gpus = plan.items[next].gpus,
                                            .cpu = need.cpu,
                                            .memory = need.memory,
                                            .slots = need.slots};
            next++;
            set_state(sub, m, i, TF_MOVE_RESERVED);
            claim(sub, m, i);
            trace_move(sub, move, "has its place reserved");
        }
        tf_reached(sub, SUB_MOVE_RESERVED);
    }
    migrate_plan_release(&plan);
    tf_vec_release(&wants);
}

/* ---- limits ---- */

/* Those that run, by (chain, move). One that restarts counts with all of its job as one. */
struct running {
    TF_VEC(const struct tf_move *) moves;
    int32_t restarts;
};

static bool runs(const struct tf_move *move)
{
    return move->state >= TF_MOVE_STARTING && !tf_move_is_over(move->state);
}

static void list_running(const struct sub *sub, struct running *out)
{
    tf_vec_each (at, &sub->migrations) {
        struct tf_uid last = {0};
        if (!chain_is_active(*at))
            continue;
        tf_vec_each (move, &(*at)->record.moves) {
            if (!runs(move))
                continue;
            if (!move->restarts)
                tf_vec_push(&out->moves, move);
            else if (!tf_uid_eq(last, move->uid)) {
                out->restarts++;
                last = move->uid;
            }
        }
    }
}

static bool touches(const struct tf_move *move, const char *node)
{
    return strcmp(move->from, node) == 0 || (move->claim.node && strcmp(move->claim.node, node) == 0);
}

static bool within_limits(const struct sub *sub, const struct running *running, const struct tf_move *move)
{
    int32_t from = 0, to = 0, job = 0;
    if ((int32_t)running->moves.count + running->restarts >= sub->policy.max_moves)
        return false;
    if (move->restarts)
        return true;
    tf_vec_each (other, &running->moves) {
        from += touches(*other, move->from);
        to += touches(*other, move->claim.node);
        job += tf_uid_eq((*other)->uid, move->uid);
    }
    return from < sub->policy.max_moves_per_node && to < sub->policy.max_moves_per_node &&
           job < sub->policy.max_moves_per_job;
}

/* ---- one step of one move ---- */

struct chain {
    const struct migration *m;
    size_t before;
};

/* The holder is one that a move before this one takes away. */
static bool leaves_by_chain(struct tf_uid uid, uint32_t index, const char *node, const void *arg)
{
    const struct chain *chain = arg;
    for (size_t i = 0; i < chain->before; i++) {
        const struct tf_move *move = &chain->m->record.moves.items[i];
        if (move->index == index && move->state != TF_MOVE_ROLLED_BACK && tf_uid_eq(move->uid, uid) &&
            strcmp(move->from, node) == 0)
            return true;
    }
    return false;
}

static enum claim_state place_state(const struct sub *sub, const struct migration *m, size_t i)
{
    struct chain chain = {m, i};
    return ledger_place_state(&sub->ledger, m->record.id, (uint32_t)i, &m->record.moves.items[i].claim,
                              leaves_by_chain, &chain);
}

/* The instance has yet to come to the spare place from which this move goes. */
static bool is_on_its_way(const struct tf_migration *chain, size_t i)
{
    size_t first = chain_first_half(chain, i);
    return first != SIZE_MAX && !tf_move_is_over(chain->moves.items[first].state);
}

/* NULL: the job is as it was when this was planned. */
static const char *gone_astray(const struct job *job, const struct tf_migration *chain, size_t i)
{
    const struct tf_move *move = &chain->moves.items[i];
    if (!job || !job_lives(job) || job->record.epoch != move->epoch)
        return "its job's epoch is over";
    if (job->record.phase == TF_ALLOCATION_ENDING)
        return "its job is being ended";
    if (move->index >= job->record.members.count || member_is_second(job, move->index))
        return "its job has become smaller";
    const struct tf_member *m = &job->record.members.items[move->index];
    if (!member_counts(m))
        return "its job has become smaller";
    if (m->state == TF_MEMBER_DONE)
        return "its work is done";
    if (m->state == TF_MEMBER_MISSING || (strcmp(m->node, move->from) != 0 && !is_on_its_way(chain, i)))
        return "it is not there any more: it was lost with its node, or replaced, or did not get there";
    return NULL;
}

static bool brakes(const struct sub *sub, const struct migration *m)
{
    return m->record.paused || sub->unsure || sub_frozen(sub, TF_FROZEN_MOVES);
}

/* All moves of one job that restarts, together. */
static void begin_restart(struct sub *sub, struct migration *m, struct job *job)
{
    for (size_t i = 0; i < m->record.moves.count; i++) {
        const struct tf_move *move = &m->record.moves.items[i];
        if (move->state != TF_MOVE_RESERVED || !tf_uid_eq(move->uid, job->record.uid))
            continue;
        if (place_state(sub, m, i) != CLAIM_FREE || gone_astray(job, &m->record, i))
            return;
    }
    for (size_t i = 0; i < m->record.moves.count; i++)
        if (m->record.moves.items[i].state == TF_MOVE_RESERVED &&
            tf_uid_eq(m->record.moves.items[i].uid, job->record.uid))
            set_state(sub, m, i, TF_MOVE_STOPPING);
    tf_reached(sub, SUB_MOVE_RESTARTS);
    trace_epoch(sub, job, "restarts to move");
    members_restart(sub, job);
}

static void begin(struct sub *sub, struct migration *m, size_t i, struct job *job, struct running *running)
{
    struct tf_move *move = &m->record.moves.items[i];
    if (grow_pending(job) && !job->record.claims.count)
        grow_undo(sub, job); /* §4: it ranks below */
    if (brakes(sub, m) || moving_bar(sub, job) || !within_limits(sub, running, move))
        return;
    if (move->restarts) {
        begin_restart(sub, m, job);
        running->restarts += move->state == TF_MOVE_STOPPING;
        return;
    }
    if (moving_instance_bar(job, move->index) || is_on_its_way(&m->record, i))
        return; /* what is left of an earlier move of it is being stopped, or that has yet to come */
    unclaim(sub, m, i, 0);
    move->attempt = moving_start(sub, job, move->index, &move->claim);
    set_state(sub, m, i, TF_MOVE_STARTING);
    tf_vec_push(&running->moves, move);
}

/* Nothing of the chain has ended for as long as a move may wait, and none starts, which has a time of its
 * own. This is asked before any of them is given up for that: it is no reason for the others to wait anew. */
static bool is_late(const struct sub *sub, const struct migration *m)
{
    if (m->until.ms > sub->now.mono.ms || m->record.paused)
        return false;
    tf_vec_each (move, &m->record.moves)
        if (move->state == TF_MOVE_STARTING)
            return false;
    return true;
}

static void step_reserved(struct sub *sub, struct migration *m, size_t i, bool late, struct running *running)
{
    struct tf_move *move = &m->record.moves.items[i];
    struct job *job = job_find(sub, move->uid);
    const char *astray = gone_astray(job, &m->record, i);
    enum claim_state state = astray ? CLAIM_BROKEN : place_state(sub, m, i);
    if (astray)
        give_up(sub, m, i, astray);
    else if (state == CLAIM_BROKEN)
        give_up(sub, m, i, "its place cannot be had any more: the node went, or who should leave it stays");
    else if (late)
        give_up(sub, m, i, "its turn did not come in time");
    else if (state == CLAIM_FREE)
        begin(sub, m, i, job, running);
}

static void step_starting(struct sub *sub, struct migration *m, size_t i, struct job *job)
{
    struct tf_move *move = &m->record.moves.items[i];
    size_t second = member_second(job, move->index);
    if (second == SIZE_MAX || job->record.members.items[second].role != TF_MEMBER_MOVES_IN) {
        give_up(sub, m, i, "it was taken back"); /* of a restored store */
        return;
    }
    if (job->record.members.items[second].state != TF_MEMBER_READY)
        return;
    set_state(sub, m, i, TF_MOVE_READY);
    moving_switch(sub, job, move->index);
    set_state(sub, m, i, TF_MOVE_SWITCHED);
    m->switched.items[i] = tf_journal_last(sub->outbox.journal);
    m->due.items[i] = moment_in(sub, sub->policy.start_timeout);
    tf_reached(sub, SUB_MOVE_SWITCHED);
}

static int32_t ready_members(const struct job *job)
{
    int32_t ready = 0;
    tf_vec_each (m, &job->record.members)
        ready += member_counts(m) && m->state == TF_MEMBER_READY;
    return ready;
}

/* I10: the switch is durable, and what it led to is ready, as far as anybody can know. */
static bool may_stop_old(const struct sub *sub, const struct migration *m, size_t i, const struct job *job)
{
    uint32_t index = m->record.moves.items[i].index;
    return tf_journal_durable(sub->outbox.journal) >= m->switched.items[i] &&
           job->record.members.items[index].state == TF_MEMBER_READY && job->runs.items[index].seen &&
           !member_on_silent_node(sub, job, index) && ready_members(job) >= job->record.spec->ready_min;
}

static void step_switched(struct sub *sub, struct migration *m, size_t i, struct job *job)
{
    const struct tf_move *move = &m->record.moves.items[i];
    size_t second = member_second(job, move->index);
    if (second == SIZE_MAX || job->record.members.items[second].state == TF_MEMBER_GONE) {
        set_state(sub, m, i, TF_MOVE_STOPPING); /* the old one went by itself */
        return;
    }
    if (may_stop_old(sub, m, i, job)) {
        moving_stop_old(sub, job, move->index);
        set_state(sub, m, i, TF_MOVE_STOPPING);
    } else if (m->due.items[i].ms <= sub->now.mono.ms) {
        tf_reached(sub, SUB_MOVE_HELD);
        roll_back(sub, m, i, "the new instance did not stay ready, or fewer than readyMin are");
        moving_put_off(sub, job);
    }
}

static void done(struct sub *sub, struct migration *m, size_t i, struct job *job)
{
    if (job->record.move_failures) {
        job->record.move_failures = 0;
        job->record.move_after = (struct tf_wall){0};
        job_changed(sub, job);
    }
    set_state(sub, m, i, TF_MOVE_DONE);
    trace_move(sub, &m->record.moves.items[i], "is done");
    tf_reached(sub, SUB_MOVE_DONE);
}

static bool is_there(const struct job *job, const struct tf_move *move)
{
    const struct tf_member *m = &job->record.members.items[move->index];
    return strcmp(m->node, move->claim.node) == 0 && m->gpus == move->claim.gpus;
}

/* Of a job that restarts: STOPPING, STARTING. */
static void step_restarting(struct sub *sub, struct migration *m, size_t i, struct job *job)
{
    const struct tf_move *move = &m->record.moves.items[i];
    const struct tf_member *member = &job->record.members.items[move->index];
    if (!member_counts(member) || member->state == TF_MEMBER_MISSING)
        give_up(sub, m, i, "it was lost meanwhile");
    else if (move->state == TF_MOVE_STOPPING && place_state(sub, m, i) == CLAIM_BROKEN)
        give_up(sub, m, i, "its place cannot be had any more: it starts again where it was");
    else if (move->state == TF_MOVE_STARTING && !is_there(job, move))
        give_up(sub, m, i, "it was replaced meanwhile");
    else if (move->state == TF_MOVE_STARTING && member->state == TF_MEMBER_READY)
        done(sub, m, i, job);
}

const struct tf_claim *migrate_restart_place(struct sub *sub, const struct job *job, uint32_t index)
{
    size_t i;
    struct migration *m = chain_find_move(sub, job->record.uid, index, &i);
    if (!m || !m->record.moves.items[i].restarts || m->record.moves.items[i].state != TF_MOVE_STOPPING)
        return NULL;
    if (place_state(sub, m, i) != CLAIM_FREE) { /* it does not wait there for what may not come */
        give_up(sub, m, i, "its place is not free now: it starts again where it was");
        return NULL;
    }
    unclaim(sub, m, i, 0);
    set_state(sub, m, i, TF_MOVE_STARTING);
    return &m->record.moves.items[i].claim;
}

static void step_begun(struct sub *sub, struct migration *m, size_t i)
{
    const struct tf_move *move = &m->record.moves.items[i];
    struct job *job = job_find(sub, move->uid);
    if (!job || !job_lives(job) || job->record.epoch != move->epoch) {
        give_up(sub, m, i, "its job's epoch is over");
        return;
    }
    if (job->record.phase == TF_ALLOCATION_ENDING) {
        give_up(sub, m, i, "its job is being ended");
        return;
    }
    if (move->restarts)
        step_restarting(sub, m, i, job);
    else if (move->state == TF_MOVE_STARTING || move->state == TF_MOVE_READY)
        step_starting(sub, m, i, job);
    else if (move->state == TF_MOVE_SWITCHED)
        step_switched(sub, m, i, job);
    if (move->state == TF_MOVE_STOPPING && !move->restarts && member_second(job, move->index) == SIZE_MAX)
        done(sub, m, i, job);
}

/* ---- all ---- */

static void step_planned(struct sub *sub, struct migration *m, bool late, const struct running *running)
{
    size_t waiting = 0;
    for (size_t i = 0; i < m->record.moves.count; i++) {
        const struct tf_move *move = &m->record.moves.items[i];
        struct job *job = job_find(sub, move->uid);
        if (move->state != TF_MOVE_PLANNED)
            continue;
        const char *astray = gone_astray(job, &m->record, i);
        if (astray)
            give_up(sub, m, i, astray);
        else if (late)
            give_up(sub, m, i, "there was no place for it in time");
        else {
            waiting++;
            if (grow_pending(job) && !job->record.claims.count)
                grow_undo(sub, job);
        }
    }
    if (waiting && !brakes(sub, m) &&
        (int32_t)running->moves.count + running->restarts < sub->policy.max_moves)
        reserve(sub, m);
}

static void step(struct sub *sub, struct migration *m, struct running *running)
{
    bool planned = false, late = is_late(sub, m);
    for (size_t i = 0; i < m->record.moves.count; i++)
        planned |= m->record.moves.items[i].state == TF_MOVE_PLANNED;
    if (planned)
        step_planned(sub, m, late, running);
    for (size_t i = 0; i < m->record.moves.count; i++) {
        enum tf_move_state state = m->record.moves.items[i].state;
        if (state == TF_MOVE_RESERVED)
            step_reserved(sub, m, i, late, running);
        else if (state > TF_MOVE_RESERVED && !tf_move_is_over(state))
            step_begun(sub, m, i);
    }
}

void migrate_look(struct sub *sub)
{
    struct running running = {0};
    bool any = false;
    tf_vec_each (at, &sub->migrations)
        any |= chain_is_active(*at);
    if (!sub->listed || !any)
        return;
    list_running(sub, &running);
    for (size_t i = 0; i < sub->migrations.count; i++)
        if (chain_is_active(sub->migrations.items[i]))
            step(sub, sub->migrations.items[i], &running);
    tf_vec_release(&running.moves);
    forget_oldest(sub);
}

struct tf_mono migrate_due(const struct sub *sub)
{
    struct tf_mono due = TF_NEVER;
    if (!sub->listed)
        return due;
    tf_vec_each (at, &sub->migrations) {
        const struct migration *m = *at;
        bool waits = false;
        for (size_t i = 0; chain_is_active(m) && i < m->record.moves.count; i++) {
            const struct tf_move *move = &m->record.moves.items[i];
            const struct job *job = move->state <= TF_MOVE_RESERVED ? job_find(sub, move->uid) : NULL;
            waits |= move->state <= TF_MOVE_RESERVED;
            if (m->due.items[i].ms < due.ms)
                due = m->due.items[i];
            if (job && job->move_at.ms > sub->now.mono.ms && job->move_at.ms < due.ms)
                due = job->move_at;
        }
        if (waits && !m->record.paused && m->until.ms < due.ms)
            due = m->until;
    }
    return due;
}

/* ---- orders ---- */

const struct sub_moves_over *sub_moves_over(const struct sub *sub)
{
    return &sub->moves_over;
}

bool migrate_pause(struct sub *sub, struct tf_uid id, bool paused)
{
    struct migration *m = chain_find(sub, id);
    if (!m || !chain_is_active(m))
        return false;
    if (m->record.paused == paused)
        return true;
    m->record.paused = paused;
    wait_anew(sub, m);
    out_touch_migration(sub, id);
    tf_reached_if(paused, sub, SUB_MOVES_PAUSED);
    trace(sub, "a chain of %zu moves %s", m->record.moves.count, paused ? "is paused" : "goes on");
    return true;
}

bool migrate_has_way_back(const struct tf_move *move)
{
    enum tf_move_state last = move->restarts ? TF_MOVE_STARTING : TF_MOVE_STOPPING;
    return !tf_move_is_over(move->state) && move->state != last;
}

bool migrate_abort(struct sub *sub, struct tf_uid id, const char *why)
{
    struct migration *m = chain_find(sub, id);
    if (!m || !chain_is_active(m))
        return false;
    for (size_t i = 0; i < m->record.moves.count; i++)
        if (migrate_has_way_back(&m->record.moves.items[i]))
            roll_back(sub, m, i, why);
    tf_reached(sub, SUB_MOVE_ABORTED);
    return true;
}

/* ---- from the store ---- */

const char *migrate_load(struct sub *sub, struct tf_migration *record)
{
    const char *fault = tf_migration_fault(record);
    if (fault)
        return fault;
    if (chain_find(sub, record->id))
        return "there is another one of that id";
    struct migration *m = chain_add(sub);
    m->record = *record;
    *record = (struct tf_migration){0};
    chain_make_runs(m);
    int64_t left = m->record.until.ms - sub->now.wall.ms;
    left = left < 0 ? 0 : left < MIGRATE_WAIT ? left : MIGRATE_WAIT;
    m->until = chain_is_active(m) ? moment_in(sub, left) : TF_NEVER;
    return NULL;
}

/* What the job's record says of a move that had begun, or that the chain's does not know to have begun;
 * ROLLED_BACK: nothing. */
static enum tf_move_state state_by_job(const struct job *job, const struct tf_move *move)
{
    size_t second = member_second(job, move->index);
    const struct tf_member *m = &job->record.members.items[move->index];
    const struct tf_member *other = second == SIZE_MAX ? NULL : &job->record.members.items[second];
    if (other && other->role == TF_MEMBER_MOVES_IN && strcmp(other->node, move->claim.node) == 0)
        return TF_MOVE_STARTING;
    if (!is_there(job, move))
        return move->state <= TF_MOVE_RESERVED || (move->restarts && move->state == TF_MOVE_STOPPING)
                   ? move->state
                   : TF_MOVE_ROLLED_BACK;
    if (move->restarts)
        return member_counts(m) ? TF_MOVE_STARTING : TF_MOVE_ROLLED_BACK;
    if (other && other->role == TF_MEMBER_MOVES_OUT)
        return TF_MOVE_SWITCHED;
    return other || move->state >= TF_MOVE_STARTING ? TF_MOVE_STOPPING : TF_MOVE_ROLLED_BACK;
}

static bool has_begun(const struct job *job, const struct tf_move *move)
{
    enum tf_move_state state = tf_move_is_over(move->state) ? move->state : state_by_job(job, move);
    return state >= TF_MOVE_STARTING && state != TF_MOVE_ROLLED_BACK;
}

/* What the job's record says of move i, and of one that goes on from there: that is not stored before this
 * one is over, but the chain's record may be older than the job's. */
static enum tf_move_state state_at_load(const struct tf_migration *chain, size_t i, const struct job *job)
{
    for (size_t next = i + 1; next < chain->moves.count; next++)
        if (chain_first_half(chain, next) == i && has_begun(job, &chain->moves.items[next]))
            return TF_MOVE_DONE;
    return state_by_job(job, &chain->moves.items[i]);
}

static void load_claim(struct sub *sub, struct migration *m, size_t i)
{
    struct tf_move *move = &m->record.moves.items[i];
    const struct ledger_node *node = ledger_find(&sub->ledger, move->claim.node);
    if (!node || !(ledger_claimed_gpus_of(node) & move->claim.gpus)) {
        claim(sub, m, i);
        return;
    }
    alarm_raise(sub, "the stored move of %s/%s/%u claims GPUs on %s that another claims: it is rolled back",
                move->tenant, move->name, move->index, move->claim.node);
    move->state = TF_MOVE_PLANNED; /* it has no claim to give up */
    give_up(sub, m, i, "another claims its place");
}

static void load_move(struct sub *sub, struct migration *m, size_t i)
{
    struct tf_move *move = &m->record.moves.items[i];
    const struct job *job = job_find(sub, move->uid);
    bool lives = job && job_lives(job) && job->record.epoch == move->epoch &&
                 move->index < job->record.members.count && !member_is_second(job, move->index);
    if (tf_move_is_over(move->state) || move->state == TF_MOVE_PLANNED)
        return;
    enum tf_move_state state = lives ? state_at_load(&m->record, i, job) : TF_MOVE_ROLLED_BACK;
    if (state == TF_MOVE_ROLLED_BACK) {
        move->state = TF_MOVE_PLANNED; /* likewise */
        give_up(sub, m, i, lives ? "its job took it back" : "its job's epoch is over");
        return;
    }
    if (state != move->state && !(state == TF_MOVE_STARTING && move->state == TF_MOVE_READY))
        set_state(sub, m, i, state);
    if (state == TF_MOVE_SWITCHED)
        m->due.items[i] = moment_in(sub, sub->policy.start_timeout);
    if (is_claimed(move))
        load_claim(sub, m, i);
}

/* The record that wanted it was left aside: the old one is enough. */
static void take_back_unknown(struct sub *sub, struct job *job)
{
    for (size_t i = job->record.members.count; i-- > 0 && member_is_second(job, i);) {
        const struct tf_member *m = &job->record.members.items[i];
        if (member_moves(m) && job->record.phase != TF_ALLOCATION_ENDING &&
            !migrate_of(sub, job->record.uid, m->index))
            moving_take_back(sub, job, m->index);
    }
}

static int by_creation(const void *a, const void *b)
{
    const struct migration *x = *(struct migration *const *)a, *y = *(struct migration *const *)b;
    if (x->record.created.ms != y->record.created.ms)
        return x->record.created.ms < y->record.created.ms ? -1 : 1;
    return tf_uid_cmp(x->record.id, y->record.id);
}

void migrate_loaded(struct sub *sub)
{
    if (sub->migrations.count > 1)
        qsort(sub->migrations.items, sub->migrations.count, sizeof *sub->migrations.items, by_creation);
    tf_vec_each (at, &sub->migrations)
        if (chain_is_active(*at))
            ledger_empty(&sub->ledger, &(*at)->record.empties, 1);
    tf_vec_each (at, &sub->migrations)
        for (size_t i = 0; chain_is_active(*at) && i < (*at)->record.moves.count; i++)
            load_move(sub, *at, i);
    for (struct job *job = jobs_first(sub); job; job = jobs_next(job))
        if (job_lives(job))
            take_back_unknown(sub, job);
}
