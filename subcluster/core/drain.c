/* SPDX-License-Identifier: Apache-2.0 */
/* Owns who leaves a node that is drained, and when. Where they go is migrate.c's, what becomes of a job that
 * loses some is loss.c's. */
#include "subcluster/core/drain.h"

#include "common/base/cleanup.h"
#include "subcluster/core/drain_domain.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/loss.h"
#include "subcluster/core/members.h"
#include "subcluster/core/migrate.h"
#include "subcluster/core/notes.h"
#include "subcluster/core/trace.h"

#include <assert.h>

enum {
    SOON = TF_SECOND,       /* after something has changed: a burst of changes is one look */
    AGAIN = 30 * TF_SECOND, /* of what found no place */
    TOLD = 20,              /* instances that a plan names one by one */
};

/* ---- which nodes ---- */

static void look_by(struct sub *sub, int64_t wait)
{
    int64_t at = sub->now.mono.ms + wait;
    if (at < sub->drains_due.ms)
        sub->drains_due.ms = at;
}

void drain_load(struct sub *sub, const struct ledger_node *node)
{
    if (!node->cordon.drain.on)
        return;
    tf_vec_push(&sub->drains, node->number);
    look_by(sub, 0);
}

static void forget(struct sub *sub, uint32_t number)
{
    for (size_t i = sub->drains.count; i-- > 0;)
        if (sub->drains.items[i] == number)
            tf_vec_remove(&sub->drains, i);
}

void drain_note(struct sub *sub)
{
    if (sub->drains.count == 0 || sub->ledger.dirty.count == 0)
        return;
    drain_domain_note(sub);
    look_by(sub, SOON);
}

struct tf_mono drain_due(const struct sub *sub)
{
    return sub->listed && !sub->unsure && sub->drains.count ? sub->drains_due : TF_NEVER;
}

/* ---- who is there ---- */

struct tenant {
    struct job *job;
    size_t place;
};
struct tenants {
    struct tenant *items;
    size_t count, cap;
};

/* Members of jobs that hold something on the node and are not about to leave it. */
static void list_tenants(const struct sub *sub, const struct ledger_node *node, struct tenants *out)
{
    tf_vec_each (h, &node->holdings) {
        struct job *job = h->gone_after ? NULL : job_find(sub, h->uid);
        size_t place = job ? member_on_node(job, h->index, node->number) : SIZE_MAX;
        if (place == SIZE_MAX || !job_lives(job) || job->record.phase == TF_ALLOCATION_ENDING)
            continue;
        const struct tf_member *m = &job->record.members.items[place];
        if (member_counts(m) && member_holds(m->state) && !member_stops(m->state))
            tf_vec_push(out, (struct tenant){job, place});
    }
}

void drain_each_instance(const struct sub *sub, const struct ledger_node *node,
                         void (*each)(struct job *job, void *arg), void *arg)
{
    struct tenants all = {0};
    list_tenants(sub, node, &all);
    tf_vec_each (t, &all)
        each(t->job, arg);
    tf_vec_release(&all);
}

static const struct tf_member *member_of(const struct tenant *t)
{
    return &t->job->record.members.items[t->place];
}

static bool is_moving(const struct sub *sub, const struct tenant *t)
{
    return migrate_of(sub, t->job->record.uid, member_of(t)->index) != NULL;
}

/* It has its place, or is on its way there. */
static bool has_begun(const struct sub *sub, const struct tenant *t)
{
    const struct tf_move *move = migrate_of(sub, t->job->record.uid, member_of(t)->index);
    return move && move->state != TF_MOVE_PLANNED;
}

static bool restarts(const struct tenant *t)
{
    return t->job->record.spec->migration == TF_MIGRATION_RESTART;
}

/* ---- moves ---- */

static int32_t moves_under_way(const struct sub *sub)
{
    const struct tf_migration *m;
    int32_t count = 0;
    for (size_t i = 0; (m = migrate_at(sub, i)); i++)
        if (m->cause == TF_MOVE_BY_DRAIN)
            tf_vec_each (move, &m->moves)
                count += !tf_move_is_over(move->state);
    return count;
}

static struct tf_uid new_id(struct sub *sub)
{
    struct tf_uid id;
    uint64_t words[2] = {tf_rng_next(&sub->rng), tf_rng_next(&sub->rng)};
    _Static_assert(sizeof words == sizeof id.bytes, "a uid is two words");
    memcpy(id.bytes, words, sizeof id.bytes);
    return id;
}

struct wants {
    struct migrate_want *items;
    size_t count, cap;
};

/* It, and with a restart all of its job that are on the node: they go together. */
static void list_wants(const struct tenants *all, size_t at, struct wants *out)
{
    const struct tenant *t = &all->items[at];
    for (size_t i = at; i < all->count; i++)
        if (i == at || (restarts(t) && all->items[i].job == t->job))
            tf_vec_push(out, (struct migrate_want){.uid = t->job->record.uid,
                                                   .index = member_of(&all->items[i])->index});
}

static struct migrate_ask ask_of(const struct ledger_node *node, const struct wants *wants)
{
    return (struct migrate_ask){.cause = TF_MOVE_BY_DRAIN,
                                .owner = node->node.name,
                                .reason = node->cordon.reason,
                                .wants = wants->items,
                                .count = wants->count,
                                .may_restart = true};
}

/* False: it has no place now, or may not move. */
static bool move(struct sub *sub, const struct ledger_node *node, const struct tenants *all, size_t at)
{
    struct wants wants = {0};
    list_wants(all, at, &wants);
    struct migrate_ask ask = ask_of(node, &wants);
    ask.id = new_id(sub);
    TF_AUTO_FREE char *why = migrate_begin(sub, &ask);
    tf_reached_if(!why, sub, SUB_DRAIN_MOVES);
    tf_vec_release(&wants);
    return !why;
}

static void move_all(struct sub *sub, const struct ledger_node *node, const struct tenants *all)
{
    int32_t most = node->cordon.drain.max_at_once, moving = moves_under_way(sub);
    for (size_t i = 0; i < all->count; i++) {
        if (is_moving(sub, &all->items[i])) {
            look_by(sub, AGAIN); /* one that waits in vain is given up, and no node changes by that */
            continue;
        }
        if (most > 0 && moving >= most) {
            look_by(sub, AGAIN); /* sooner, as each that is over changes a node */
            return;
        }
        if (move(sub, node, all, i))
            moving++;
        else
            look_by(sub, AGAIN);
    }
}

/* ---- the deadline ---- */

static bool is_waited_for(const struct sub *sub, const struct ledger_node *node, const struct tenant *t)
{
    bool is_protected =
        job_core_level(sub, t->job) == tf_level_protected(tf_policy_ceiling_rank(&sub->policy)) &&
        t->job->protected_until.ms != TF_NEVER.ms;
    return member_of(t)->mark == 0 && is_protected && !node->cordon.drain.force;
}

/* Those of one job, from `first` on, that go now. */
static void send_away(struct sub *sub, const struct ledger_node *node, const struct tenants *all,
                      size_t first)
{
    struct job *job = all->items[first].job;
    struct places places = {0};
    for (size_t i = first; i < all->count; i++) {
        const struct tenant *t = &all->items[i];
        if (t->job != job)
            continue;
        if (has_begun(sub, t))
            look_by(sub, AGAIN);
        else if (is_waited_for(sub, node, t))
            look_by(sub, job->protected_until.ms - sub->now.mono.ms);
        else
            tf_vec_push(&places, t->place);
    }
    if (places.count) {
        TF_AUTO_FREE char *why =
            tf_asprintf("node %s is drained, and its deadline has come%s%s", node->node.name,
                        node->cordon.reason ? ": " : "", node->cordon.reason ? node->cordon.reason : "");
        tf_reached(sub, SUB_DRAIN_STOPS);
        trace_epoch(sub, job, "loses %zu instance%s: %s", places.count, places.count == 1 ? "" : "s", why);
        members_sent_away(sub, job, &places, why);
        if (job_lives(job) && job->record.phase != TF_ALLOCATION_ENDING)
            note_job(sub, job, TF_NOTE_SENT_AWAY, "%zu instance%s stopped: %s", places.count,
                     places.count == 1 ? " is" : "s are", why);
    }
    tf_vec_release(&places);
}

static bool is_first_of_job(const struct tenants *all, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (all->items[i].job == all->items[at].job)
            return false;
    return true;
}

static void stop_all(struct sub *sub, const struct ledger_node *node, const struct tenants *all)
{
    for (size_t i = 0; i < all->count; i++)
        if (is_first_of_job(all, i))
            send_away(sub, node, all, i);
}

/* What stops there now is none of the tenants, and may start there again, as after a restart. */
static bool any_more(const struct ledger_node *node, const struct tenants *all)
{
    size_t there = 0;
    tf_vec_each (h, &node->holdings)
        there += !h->gone_after;
    return there > all->count;
}

static void look_at(struct sub *sub, const struct ledger_node *node)
{
    const struct tf_drain *drain = &node->cordon.drain;
    int64_t left = drain->deadline.ms - sub->now.wall.ms;
    struct tenants all = {0};
    list_tenants(sub, node, &all);
    if (any_more(node, &all))
        look_by(sub, drain->deadline.ms && left > 0 && left < AGAIN ? left : AGAIN);
    if (drain->deadline.ms && left <= 0)
        stop_all(sub, node, &all);
    else {
        move_all(sub, node, &all);
        if (drain->deadline.ms && all.count)
            look_by(sub, left);
    }
    tf_vec_release(&all);
}

void drain_look(struct sub *sub)
{
    if (drain_due(sub).ms > sub->now.mono.ms)
        return;
    sub->drains_due = TF_NEVER;
    tf_vec_each (number, &sub->drains)
        look_at(sub, sub->ledger.nodes.items[*number]);
}

/* ---- what people are told ---- */

static void say_moves(const struct tenants *all, const struct wants *wants, const struct migrate_plan *plan,
                      struct tf_buf *text)
{
    size_t stay = 0;
    for (size_t i = 0; i < plan->count; i++)
        stay += plan->items[i].refusal != NULL;
    tf_buf_fmt(text, "%zu instance%s there, of which %zu cannot move now", wants->count,
               wants->count == 1 ? " is" : "s are", stay);
    size_t told = 0; /* first what cannot go: that is what one asks for */
    for (size_t at = 0; at < 2 * plan->count && told < TOLD; at++) {
        size_t i = at % plan->count;
        const struct tf_allocation *a = &all->items[i].job->record;
        const struct migrate_place *to = &plan->items[i];
        if ((at < plan->count) != (to->refusal != NULL))
            continue;
        told++;
        tf_buf_fmt(text, "\n  %s/%s/%u %s%s%s", a->tenant, a->name, wants->items[i].index,
                   to->refusal ? "stays: " : "-> ",
                   to->refusal ? to->refusal
                   : to->node  ? to->node
                               : "?",
                   restarts(&all->items[i]) && !to->refusal ? ", by a restart of its job" : "");
    }
    if (plan->count > TOLD)
        tf_buf_fmt(text, "\n  and %zu more", plan->count - TOLD);
}

char *drain_plan(struct sub *sub, struct ledger_node *const *nodes, size_t count)
{
    struct tenants all = {0};
    struct wants wants = {0};
    struct tf_buf text = TF_BUF_INIT;
    struct tf_strs empties = {0}; /* none of them takes what leaves another */
    for (size_t i = 0; i < count; i++) {
        list_tenants(sub, nodes[i], &all);
        tf_strs_add(&empties, nodes[i]->node.name);
    }
    tf_vec_each (t, &all)
        if (wants.count < TF_MOVES_MAX)
            tf_vec_push(&wants,
                        (struct migrate_want){.uid = t->job->record.uid, .index = member_of(t)->index});
    if (wants.count) {
        struct migrate_ask ask = ask_of(nodes[0], &wants);
        struct migrate_plan plan = {0};
        ask.empties = &empties;
        ledger_refresh(&sub->ledger);
        migrate_plan_make(sub, &ask, &plan);
        say_moves(&all, &wants, &plan, &text);
        migrate_plan_release(&plan);
    } else
        tf_buf_str(&text, "nothing runs there");
    if (all.count > wants.count)
        tf_buf_fmt(&text, "\n  and %zu that were not looked at", all.count - wants.count);
    tf_strs_release(&empties);
    tf_vec_release(&wants);
    tf_vec_release(&all);
    return tf_buf_take(&text);
}

/* What waits for a place is taken back; what has begun goes on. */
static int32_t call_off(struct sub *sub, const struct ledger_node *node)
{
    TF_VEC(struct tf_uid) ids = {0};
    const struct tf_migration *m;
    int32_t count = 0;
    for (size_t i = 0; (m = migrate_at(sub, i)); i++) {
        if (m->cause != TF_MOVE_BY_DRAIN || tf_migration_is_over(m) || !m->owner ||
            strcmp(m->owner, node->node.name) != 0)
            continue;
        tf_vec_push(&ids, m->id);
        tf_vec_each (move, &m->moves)
            count += migrate_has_way_back(move);
    }
    tf_vec_each (id, &ids) /* which may push the oldest out of the history */
        migrate_abort(sub, *id, "its node is drained no longer");
    tf_vec_release(&ids);
    return count;
}

void drain_ended(struct sub *sub, const struct ledger_node *node, struct drain_undone *sum)
{
    struct tenants all = {0};
    forget(sub, node->number);
    list_tenants(sub, node, &all);
    sum->there += all.count;
    sum->back += call_off(sub, node);
    tf_vec_release(&all);
}

void drain_undone_say(const struct drain_undone *sum, struct tf_buf *text)
{
    tf_buf_fmt(text, "%zu instance%s still there; %d move%s taken back", sum->there,
               sum->there == 1 ? " is" : "s are", sum->back, sum->back == 1 ? " is" : "s are");
}

char *drain_changed(struct sub *sub, const struct ledger_node *node, bool before)
{
    bool now = node->cordon.drain.on;
    if (now && !before)
        tf_vec_push(&sub->drains, node->number);
    if (now) {
        /* Nodes are drained one by one, a rack's within a moment: what leaves the first must not go to the
         * next of them, so the look waits until no more come. */
        sub->drains_due.ms = sub->now.mono.ms + SOON;
        return NULL;
    }
    if (!before)
        return NULL;
    struct drain_undone sum = {0};
    struct tf_buf text = TF_BUF_INIT;
    drain_ended(sub, node, &sum);
    tf_buf_fmt(&text, "node %s is drained no longer: ", node->node.name);
    drain_undone_say(&sum, &text);
    return tf_buf_take(&text);
}
