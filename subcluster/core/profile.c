/* SPDX-License-Identifier: Apache-2.0 */
/* Owns generations and the pace of profiles. Rows are the ledger's. */
#include "subcluster/core/profile.h"

#include "subcluster/core/defrag.h"
#include "subcluster/core/link.h"
#include "subcluster/core/migrate.h"
#include "subcluster/core/mix.h"
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

/* ---- what could be freed ---- */

/* To count it takes milliseconds where there are ten thousand nodes: it is not done for each change. */
enum { COUNT_EVERY = 10 * TF_SECOND };

static bool may_count(const struct sub *sub)
{
    return sub->profiler.count_due && sub->policy.consolidate > TF_CONSOLIDATE_OFF;
}

static bool is_count_due(const struct sub *sub)
{
    return may_count(sub) && sub->profiler.count_at.ms <= sub->now.mono.ms;
}

/* True if it is another than before. */
static bool count_anew(struct sub *sub)
{
    struct profiler *p = &sub->profiler;
    struct tf_vacatables before = p->vacatable;
    p->vacatable = (struct tf_vacatables){0};
    defrag_count(sub, &p->vacatable);
    bool same = tf_vacatables_eq(&before, &p->vacatable);
    tf_vec_release(&before);
    return !same;
}

/* None while nothing may begin: who counts on it would be refused. */
static bool count_again(struct sub *sub)
{
    struct profiler *p = &sub->profiler;
    bool cools = sub->defrag_at.ms > sub->now.mono.ms, told = p->vacatable.count > 0;
    if (!defrag_may_be_told(sub)) {
        p->vacatable.count = 0;
        p->count_due = cools;
        p->count_at = cools ? sub->defrag_at : sub->now.mono;
        return told;
    }
    p->count_due = p->count_at.ms > sub->now.mono.ms && !sub->ledger.rebuilt;
    if (p->count_due)
        return false;
    p->count_at = (struct tf_mono){sub->now.mono.ms + COUNT_EVERY};
    return count_anew(sub);
}

/* Whole again when the chain is over, as far as it is ours and healthy. */
static void tell_emptied(const struct sub *sub, const struct tf_migration *chain, const char *name,
                         struct tf_profile *profile)
{
    const struct ledger_node *node = ledger_find(&sub->ledger, name);
    const struct tf_profile_row *row = node ? &ledger_view(&sub->ledger).rows[node->number] : NULL;
    if (!row || row->count == 0)
        return;
    struct tf_vector room = ledger_capacity(node);
    for (size_t i = profile->emptying.count; i-- > 0;) {
        struct tf_emptying *e = &profile->emptying.items[i];
        if (!tf_uid_eq(e->chain, chain->id) || e->class != row->class)
            continue;
        e->nodes++;
        e->room = tf_vector_min(e->room, room);
        return;
    }
    if (profile->emptying.count < TF_PROFILE_CLASSES_MAX)
        tf_vec_push(&profile->emptying,
                    (struct tf_emptying){chain->id, tf_strdup(chain->owner), row->class, 1, room});
}

static void tell_emptying(const struct sub *sub, struct tf_profile *profile)
{
    const struct tf_migration *chain;
    for (size_t i = 0; (chain = migrate_at(sub, i)) != NULL; i++)
        if (chain->ended.ms == 0)
            tf_vec_each (name, &chain->empties)
                tell_emptied(sub, chain, *name, profile);
}

static void tell_moves(const struct sub *sub, struct tf_profile *profile)
{
    const struct tf_migration *m;
    for (size_t i = 0; (m = migrate_at(sub, i)) != NULL; i++)
        if (m->ended.ms == 0 && m->cause == TF_MOVE_BY_DEFRAG && m->owner)
            tf_strs_add(&profile->moving_for, m->owner);
    if (sub->ledger.rebuilt)
        return; /* classes have new numbers */
    tf_vec_each (v, &sub->profiler.vacatable)
        tf_vec_push(&profile->vacatable, *v);
}

/* ---- when ---- */

/* Nothing is told while the budget has split what the leader sent: rows with a part of a message, of which
 * the profile could not say so, would make the leader debit that part twice, and then find no room for the
 * rest, which it would count as free. */
static bool has_news(const struct sub *sub)
{
    const struct profiler *p = &sub->profiler;
    return p->open && !link_has_orders(sub) &&
           (p->full_due || p->due || p->brakes != brakes(sub) || sub->ledger.dirty.count ||
            sub->ledger.rebuilt || tf_fit_rows_changed(sub->ledger.rows) || is_count_due(sub));
}

struct tf_mono profile_due(const struct sub *sub)
{
    const struct profiler *p = &sub->profiler;
    if (has_news(sub))
        return p->next;
    return p->open && may_count(sub) && !link_has_orders(sub) ? p->count_at : TF_NEVER;
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
    tell_moves(sub, profile);
    tell_emptying(sub, profile);
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
        mixes_changed(sub);
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
    bool counted = count_again(sub);
    if (!rows && !p->full_due && !p->due && p->brakes == brakes(sub) && !counted)
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
