/* SPDX-License-Identifier: Apache-2.0 */
/* Owns generations and the pace of profiles. Rows are the ledger's. */
#include "subcluster/core/profile.h"

#include "subcluster/core/idle.h"
#include "subcluster/core/link.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/policy.h"
#include "subcluster/core/repair.h"
#include "subcluster/core/stakes.h"

void profile_reflects(struct sub *sub, uint64_t n, bool full_set)
{
    struct profiler *p = &sub->profiler;
    p->reflects_term = sub->term;
    p->reflects_n = n;
    p->due = true;
    if (!full_set)
        return;
    p->open = p->full_due = true;
    p->next = sub->now.mono; /* the leader places nothing here before it */
}

void profile_want_full(struct sub *sub)
{
    sub->profiler.full_due = true;
}

void profile_close(struct sub *sub)
{
    struct profiler *p = &sub->profiler;
    p->open = p->full_due = p->due = false;
    p->reflects_term = (struct tf_term){0};
    p->reflects_n = 0;
}

static int32_t brakes(const struct sub *sub)
{
    return sub_frozen_all(sub) | (sub->health.suspects > 0 ? TF_BRAKE_MASS_DOWN : 0);
}

/* Nothing is told while the budget has split what the leader sent: rows with a part of a message, of which
 * the profile could not say so, would make the leader debit that part twice, and then find no room for the
 * rest, which it would count as free. */
static bool has_news(const struct sub *sub)
{
    const struct profiler *p = &sub->profiler;
    return p->open && !link_has_orders(sub) &&
           (p->full_due || p->due || p->brakes != brakes(sub) || sub->ledger.dirty.count ||
            sub->ledger.rebuilt || tf_fit_rows_changed(sub->ledger.rows));
}

struct tf_mono profile_due(const struct sub *sub)
{
    return has_news(sub) ? sub->profiler.next : TF_NEVER;
}

/* By moments, so that no time that goes by changes it. */
static void add_costs(const struct sub *sub, struct tf_profile *profile)
{
    profile->loss_cap = sub->boot.loss_cap;
    for (int level = TF_LEVEL_GOING + 1; level <= TF_LEVEL_TOP; level++) {
        const struct ledger_worth *worth = ledger_worth(&sub->ledger, (tf_level)level);
        if (worth->gpus == 0)
            continue;
        struct tf_level_cost cost = {.level = (tf_level)level,
                                     .gpus = worth->gpus,
                                     .since.ms = worth->since / worth->gpus * TF_SECOND,
                                     .before = evictions_weight(sub, worth->evictions, 1)};
        tf_vec_push(&profile->costs, cost);
    }
}

/* Everything but rows and generations. */
static void fill(const struct sub *sub, struct tf_profile *profile)
{
    profile->reflects_term = sub->profiler.reflects_term;
    profile->reflects_n = sub->profiler.reflects_n;
    profile->health = ledger_sums(&sub->ledger)->health;
    sub_idle(sub, &profile->idle);
    repair_tell(sub, profile);
    profile->brakes = brakes(sub);
    add_costs(sub, profile);
}

static struct tf_profile next_profile(struct sub *sub)
{
    struct profiler *p = &sub->profiler;
    struct tf_profile profile = {0};
    struct tf_generation last = {sub->boot.owner_revision, p->counter};
    if (p->full_due || sub->ledger.rebuilt)
        tf_fit_rows_export(sub->ledger.rows, &profile);
    else
        tf_fit_rows_export_changes(sub->ledger.rows, &profile);
    tf_fit_rows_mark(sub->ledger.rows);
    if (sub->ledger.rebuilt)
        idle_mix_changed(sub);
    sub->ledger.rebuilt = false;
    profile.generation = (struct tf_generation){sub->boot.owner_revision, ++p->counter};
    profile.base = profile.full ? profile.generation : last;
    fill(sub, &profile);
    p->brakes = profile.brakes;
    return profile;
}

void profile_render(struct sub *sub)
{
    struct profiler *p = &sub->profiler;
    if (!has_news(sub) || sub->now.mono.ms < p->next.ms)
        return;
    bool rows = tf_fit_rows_changed(sub->ledger.rows) || sub->ledger.rebuilt;
    if (!rows && !p->full_due && !p->due && p->brakes == brakes(sub))
        return; /* it was changed and changed back */
    struct tf_up up = {.kind = TF_UP_PROFILE, .profile = next_profile(sub)};
    out_hold(sub, (struct sub_action){.kind = SUB_ACT_SEND, .send = up});
    p->full_due = p->due = false;
    p->next = (struct tf_mono){sub->now.mono.ms + sub->boot.profile_interval};
}

const struct tf_profile *sub_profile(const struct sub *sub)
{
    struct tf_profile *view = sub->view;
    tf_profile_release(view);
    tf_fit_rows_export(sub->ledger.rows, view);
    view->generation = view->base = (struct tf_generation){sub->boot.owner_revision, sub->profiler.counter};
    fill(sub, view);
    return view;
}
