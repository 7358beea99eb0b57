/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatch: one event in, what it changes, then whatever may leave. Each part is in a file of its own. */
#include "subcluster/core/sub.h"
#include "subcluster/core/defrag.h"

#include "subcluster/core/absorb.h"
#include "subcluster/core/candidates.h"
#include "subcluster/core/checkpoint.h"
#include "subcluster/core/cordon_domain.h"
#include "subcluster/core/drain.h"
#include "subcluster/core/event.h"
#include "subcluster/core/health.h"
#include "subcluster/core/link.h"
#include "subcluster/core/load.h"
#include "subcluster/core/loss.h"
#include "subcluster/core/members.h"
#include "subcluster/core/migrate.h"
#include "subcluster/core/mix.h"
#include "subcluster/core/moving.h"
#include "subcluster/core/node_claims.h"
#include "subcluster/core/offers.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/policy.h"
#include "subcluster/core/profile.h"
#include "subcluster/core/reclaim.h"
#include "subcluster/core/repair.h"
#include "subcluster/core/reports.h"
#include "subcluster/core/stakes.h"
#include "subcluster/core/strays.h"
#include "subcluster/core/trace.h"

#include <assert.h>

struct sub *sub_create(uint64_t seed)
{
    struct sub *sub = tf_calloc(1, sizeof *sub);
    tf_rng_init(&sub->rng, seed);
    jobs_init(sub);
    out_init(&sub->outbox);
    sub->scratch = tf_fit_scratch_create();
    sub->view = tf_calloc(1, sizeof *sub->view);
    sub->mixes = mixes_create();
    sub->wake = sub->repair_at = sub->health.due = sub->drains_due = TF_NEVER;
    return sub;
}

void sub_destroy(struct sub *sub)
{
    if (!sub)
        return;
    struct sub_actions none = {0};
    sub->actions = &none;
    uplink_down(sub);
    jobs_release(sub);
    strays_release(sub);
    out_release(&sub->outbox);
    ledger_free(&sub->ledger);
    tf_vec_release(&sub->link.orders);
    tf_vec_release(&sub->link.answers);
    tf_vec_release(&sub->exited);
    tf_vec_release(&sub->touched);
    tf_vec_release(&sub->claiming);
    tf_vec_release(&sub->shorts);
    tf_vec_each (c, &sub->node_claims)
        tf_node_claim_release(&c->record);
    tf_vec_release(&sub->node_claims);
    tf_vec_release(&sub->profiler.vacatable);
    migrate_release_all(sub);
    tf_vec_release(&sub->drains);
    tf_vec_each (order, &sub->cordons)
        tf_domain_cordon_release(order);
    tf_vec_release(&sub->cordons);
    tf_vec_release(&sub->evictions);
    tf_vec_release(&sub->offers);
    tf_vec_release(&sub->absorb.tried);
    tf_vec_release(&sub->health.watched);
    tf_policy_release(&sub->policy);
    sub_boot_release(&sub->boot);
    candidates_destroy(sub->candidates);
    tf_fit_scratch_destroy(sub->scratch);
    tf_profile_release(sub->view);
    free(sub->view);
    mixes_destroy(sub->mixes);
    sub_actions_release(&none);
    free(sub);
}

/* ---- events ---- */

static void boot(struct sub *sub, struct sub_boot *taken)
{
    assert(!sub->boot.name && taken->name);
    sub->boot = *taken;
    sub->link.since = sub->now.mono;
    *taken = (struct sub_boot){0};
    tf_policy_copy(&sub->policy, &sub->boot.policy);
    ledger_init(&sub->ledger, &sub->boot.planes, &sub->policy.schedule_labels);
}

static void node_told(struct sub *sub, struct tf_node *node)
{
    struct tf_complaints complaints = {0};
    if (!tf_node_check(node, &sub->boot.planes, node->name ? node->name : "a node", &complaints)) {
        alarm_raise(sub, "the engine's node %s cannot be used: %s",
                    node->name ? node->name : "without a name", complaints.items[0].text);
        tf_complaints_release(&complaints);
        return;
    }
    const struct ledger_node *known = ledger_find(&sub->ledger, node->name);
    enum tf_node_state before = known ? known->node.state : TF_NODE_NONE;
    struct ledger_node *now = ledger_set_node(&sub->ledger, node);
    if (now->node.state != before)
        trace(sub, "node %s is %s", now->node.name, tf_node_state_name(now->node.state));
    health_told(sub, now, before);
}

/* A record's member, in its present attempt, as far as it lives; or else a stray. */
static void instance_told(struct sub *sub, const struct sub_instance_event *e)
{
    struct job *job = job_find(sub, e->id.uid);
    assert(sub->loaded);
    size_t place = job ? member_find(job, &e->id) : SIZE_MAX;
    if (place == SIZE_MAX || !member_lives(job->record.members.items[place].state)) {
        stray_told(sub, e);
        return;
    }
    if (sub->strays.count)
        stray_found(sub, &e->id);
    member_told(sub, job, place, e);
    health_member_told(sub, &e->id);
}

static void committed(struct sub *sub)
{
    struct tf_journal *journal = sub->outbox.journal;
    tf_journal_committed(journal);
    ledger_durable(&sub->ledger, tf_journal_durable(journal));
}

static void take(struct sub *sub, struct sub_event *event)
{
    switch (event->kind) {
    case SUB_EV_BOOT:
        boot(sub, &event->boot);
        break;
    case SUB_EV_RECORD:
        load_one(sub, &event->record);
        break;
    case SUB_EV_LOADED:
        load_end(sub);
        break;
    case SUB_EV_COMMITTED:
        committed(sub);
        break;
    case SUB_EV_NODE:
        node_told(sub, &event->node);
        break;
    case SUB_EV_INSTANCE:
        instance_told(sub, &event->instance);
        break;
    case SUB_EV_LISTED:
        load_listed(sub);
        break;
    case SUB_EV_LINK_UP:
        assert(sub->loaded);
        uplink_up(sub);
        break;
    case SUB_EV_LINK_DOWN:
        uplink_down(sub);
        break;
    case SUB_EV_DOWN:
        uplink_said(sub, &event->down);
        break;
    case SUB_EV_TIMER:
        sub->wake = TF_NEVER;
        break;
    case SUB_EV_CONTINUE:
        sub->link.continue_asked = false;
        break;
    case SUB_EV_CHECKPOINT:
        assert(sub->loaded);
        checkpoint_told(sub, &event->checkpoint);
        break;
    case SUB_EV_SETTINGS:
        sub->boot.profile_interval = event->settings.profile_interval;
        sub->boot.decision_budget = event->settings.decision_budget;
        sub->boot.loss_cap = event->settings.loss_cap;
        sub->boot.resize_loss = event->settings.resize_loss;
        sub->boot.health = event->settings.health;
        sub->health.look = true;
        break;
    case SUB_EV_NONE:
        break;
    }
}

/* ---- what follows ---- */

static void moments(struct sub *sub)
{
    struct job *job;
    while ((job = job_due_first(sub)) && job->due.ms <= sub->now.mono.ms)
        members_due(sub, job);
    if (sub->strays.count)
        strays_due_look(sub);
    health_look(sub);
}

static struct tf_mono earlier(struct tf_mono a, struct tf_mono b)
{
    return a.ms < b.ms ? a : b;
}

static void ask_wake(struct sub *sub)
{
    const struct job *job = job_due_first(sub);
    struct tf_mono next = earlier(job ? job->due : TF_NEVER, strays_due(sub));
    next = earlier(next, earlier(offers_due(sub), sub_frozen_end(sub)));
    next = earlier(next, earlier(earlier(repair_due(sub), absorb_due(sub)), stakes_due(sub)));
    next = earlier(next, earlier(health_due(sub), earlier(migrate_due(sub), drain_due(sub))));
    next = earlier(next, defrag_due(sub));
    if (!out_busy(sub))
        next = earlier(next, profile_due(sub));
    if (next.ms >= sub->wake.ms)
        return;
    sub->wake = next;
    out_now(sub, (struct sub_action){.kind = SUB_ACT_WAKE, .wake = next});
}

/* What came or went by a move, and is gone, leaves the records before they are stored or told. */
static void sweep(struct sub *sub)
{
    tf_vec_each (uid, &sub->touched) {
        struct job *job = job_find(sub, *uid);
        if (job && moving_any(job))
            moving_sweep(sub, job);
    }
}

/* Nothing is decided before the records are there. */
static void settle(struct sub *sub)
{
    if (!sub->loaded)
        return;
    /* Before anything starts: a node that came, or that one of two orders has let go, is closed by the other.
     */
    cordon_domain_note(sub);
    drain_note(sub);
    moments(sub);
    sweep(sub);
    stakes_look(sub);
    reclaim_look(sub);
    node_claims_look(sub);
    link_orders(sub);
    ledger_refresh(&sub->ledger);
    offers_note(sub);
    repair_look(sub);
    drain_look(sub);
    defrag_look(sub);
    migrate_look(sub);
    ledger_refresh(&sub->ledger);
    offers_note(
        sub); /* a node that was emptied, and is not kept any more, is offered before anybody grows there */
    absorb_look(sub);
    sub->offers.over = false;
    ledger_refresh(&sub->ledger);
    offers_note(sub);
    sweep(sub);
    if (!out_busy(sub)) {
        reports_render(sub);
        profile_render(sub);
    }
    out_flush(sub);
    ask_wake(sub);
}

void sub_step(struct sub *sub, struct tf_now now, struct sub_event *event, struct sub_actions *actions)
{
    assert(sub->boot.name || event->kind == SUB_EV_BOOT);
    sub->now = now;
    sub->actions = actions;
    take(sub, event);
    settle(sub);
    sub->actions = NULL;
    sub_event_release(event);
}

/* ---- for reading ---- */

TF_SITUATIONS_DEFINE(sub, SUB_SITUATIONS_EXPECTED, SUB_SITUATIONS_OTHER);

const struct sub_situations *sub_reached(const struct sub *sub)
{
    return &sub->reached;
}

size_t sub_node_count(const struct sub *sub)
{
    return sub->ledger.by_name.count;
}

struct sub_node_view sub_node_at(const struct sub *sub, size_t index)
{
    const struct ledger_node *node = sub->ledger.by_name.items[index];
    return (struct sub_node_view){.node = &node->node,
                                  .cordon = &node->cordon,
                                  .free_gpus = ledger_free_gpus(node),
                                  .held_gpus = ledger_held_gpus(node),
                                  .used = ledger_used(node),
                                  .instances = (int32_t)node->holdings.count};
}
