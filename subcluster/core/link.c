/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the order in which a leader's messages are taken. A message that is missing is never guessed at: the
 * link is closed (SUB_ACT_CLOSE), what it had not yet led to is dropped, and the next attach brings the full
 * set. What the entries lead to is place.c's. */
#include "subcluster/core/link.h"
#include "subcluster/core/defrag.h"

#include "subcluster/core/cordon.h"
#include "subcluster/core/health.h"
#include "subcluster/core/migrate.h"
#include "subcluster/core/node_claims.h"
#include "subcluster/core/offers.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/place.h"
#include "subcluster/core/policy.h"
#include "subcluster/core/profile.h"
#include "subcluster/core/reports.h"
#include "subcluster/core/trace.h"

#include <assert.h>

static void drop_orders(struct link *link)
{
    for (size_t i = link->next_order; i < link->orders.count; i++)
        tf_entry_release(&link->orders.items[i].entry);
    tf_vec_release(&link->orders);
    link->next_order = 0;
}

static void reset(struct sub *sub, enum link_state state)
{
    struct link *link = &sub->link;
    bool continue_asked = link->continue_asked;
    struct tf_mono since = link->state == LINK_LIVE ? sub->now.mono : link->since;
    drop_orders(link);
    tf_policy_release(&link->policy);
    tf_vec_each (answer, &link->answers)
        tf_up_release(answer);
    tf_vec_release(&link->answers);
    *link = (struct link){.state = state, .since = since, .continue_asked = continue_asked};
    profile_close(sub);
}

void uplink_up(struct sub *sub)
{
    uplink_down(sub);
    sub->hello_due = sub->unsure && !sub->listed;
    if (sub->hello_due)
        return;
    reset(sub, LINK_HELLO);
    struct tf_up up = {.kind = TF_UP_HELLO};
    up.hello.protocol = TF_PROTOCOL_VERSION;
    up.hello.name = tf_strdup(sub->boot.name);
    up.hello.region = tf_strdup(sub->boot.region);
    up.hello.version = tf_strdup(sub->boot.version);
    up.hello.engine = tf_strdup(sub->boot.engine);
    tf_pairs_copy(&up.hello.labels, &sub->boot.labels);
    up.hello.owner_revision = sub->boot.owner_revision;
    up.hello.highest_term = sub->term;
    up.hello.highest_epoch = sub->floor;
    up.hello.capabilities = sub->boot.capabilities;
    out_hold(sub, (struct sub_action){.kind = SUB_ACT_SEND, .send = up});
    reports_all(sub);
}

void uplink_down(struct sub *sub)
{
    sub->hello_due = false;
    out_drop_sends(sub);
    reset(sub, LINK_DOWN);
}

struct tf_mono uplink_alone_at(const struct sub *sub)
{
    if (sub->link.state == LINK_LIVE)
        return TF_NEVER;
    return (struct tf_mono){sub->link.since.ms + sub->policy.hub_away_after};
}

/* Something was missed. */
static void broken(struct sub *sub, char *text)
{
    tf_reached(sub, SUB_LINK_GAP);
    trace(sub, "link to the leader: %s: closed, to be dialled again", text);
    out_drop_sends(sub);
    reset(sub, LINK_BROKEN);
    out_now(sub, (struct sub_action){.kind = SUB_ACT_CLOSE, .text = text});
}

/* ---- the full set ---- */

static void begin(struct sub *sub, struct tf_down *down)
{
    struct link *link = &sub->link;
    drop_orders(link);
    profile_close(sub);
    if (link->state == LINK_LIVE)
        link->since = sub->now.mono;
    link->state = LINK_SET;
    link->n = down->n;
    link->set_left = down->count;
    link->highest_epoch = down->highest_epoch;
    tf_policy_release(&link->policy);
    link->policy = down->policy;
    down->policy = (struct tf_policy){0};
}

/* Moves the entries into the orders, then the mark of their end. */
static void take_entries(struct link *link, struct tf_down *down)
{
    tf_vec_each (entry, &down->entries) {
        struct order order = {.entry = *entry, .n = link->n};
        tf_vec_push(&link->orders, order);
    }
    tf_vec_release(&down->entries);
}

static void take_mark(struct link *link, bool full)
{
    tf_vec_push(&link->orders, (struct order){.n = link->n, .full = full});
}

static void part(struct sub *sub, struct tf_down *down)
{
    struct link *link = &sub->link;
    if (link->state != LINK_SET || down->entries.count > link->set_left) {
        broken(sub, tf_strdup("a part of the full set came that does not belong to one"));
        return;
    }
    link->set_left -= down->entries.count;
    take_entries(link, down);
}

/* Ascending by epoch; of one epoch: place, release, stored. */
static int cmp_order(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    if (x->entry.epoch != y->entry.epoch)
        return x->entry.epoch < y->entry.epoch ? -1 : 1;
    if (x->entry.kind != y->entry.kind)
        return x->entry.kind < y->entry.kind ? -1 : 1;
    return tf_uid_cmp(x->entry.uid, y->entry.uid);
}

static void end(struct sub *sub)
{
    struct link *link = &sub->link;
    if (link->state != LINK_SET || link->set_left) {
        broken(sub, tf_asprintf("the full set ended %llu entries early", (unsigned long long)link->set_left));
        return;
    }
    if (link->orders.count)
        qsort(link->orders.items, link->orders.count, sizeof *link->orders.items, cmp_order);
    trace(sub, "leader %llu.%llu: the full set %llu has %zu entries", (unsigned long long)sub->term.era,
          (unsigned long long)sub->term.revision, (unsigned long long)link->n, link->orders.count);
    take_mark(link, true);
    node_claims_set_begins(sub);
    link->state = LINK_LIVE;
    if (link->policy.classes.count)
        policy_set(sub, &link->policy);
}

/* ---- changes ---- */

static void change(struct sub *sub, struct tf_down *down)
{
    struct link *link = &sub->link;
    if (link->state == LINK_LIVE && down->n <= link->n)
        return; /* a repeat */
    if (link->state != LINK_LIVE || down->n != link->n + 1) {
        broken(sub, tf_asprintf("change %llu came after %llu", (unsigned long long)down->n,
                                (unsigned long long)link->n));
        return;
    }
    link->n = down->n;
    size_t first = link->orders.count;
    take_entries(link, down);
    if (link->orders.count > first)
        qsort(link->orders.items + first, link->orders.count - first, sizeof *link->orders.items, cmp_order);
    take_mark(link, false);
}

/* False if the message is of a leader that another has followed. The highest term is persisted before
 * anything that comes of it. */
static bool take_term(struct sub *sub, struct tf_term term)
{
    int order = tf_term_cmp(term, sub->term);
    if (order > 0) {
        trace(sub, "leader %llu.%llu follows %llu.%llu", (unsigned long long)term.era,
              (unsigned long long)term.revision, (unsigned long long)sub->term.era,
              (unsigned long long)sub->term.revision);
        tf_reached_if(sub->term.revision, sub, SUB_NEXT_LEADER);
        sub->term = term;
        out_touch(sub, TF_RECORD_TERM);
        drop_orders(&sub->link);
        profile_close(sub);
        if (sub->link.state == LINK_LIVE)
            sub->link.since = sub->now.mono;
        sub->link.state = LINK_HELLO; /* its own full set must come */
    }
    if (order < 0 && !sub->link.stale_told) {
        sub->link.stale_told = true;
        trace(sub, "leader %llu.%llu is not heard any more: %llu.%llu has followed it",
              (unsigned long long)term.era, (unsigned long long)term.revision,
              (unsigned long long)sub->term.era, (unsigned long long)sub->term.revision);
    }
    tf_reached_if(order < 0, sub, SUB_STALE_LEADER);
    return order >= 0;
}

void uplink_said(struct sub *sub, struct tf_down *down)
{
    if (sub->link.state == LINK_DOWN || sub->link.state == LINK_BROKEN || !take_term(sub, down->term))
        return;
    switch (down->kind) {
    case TF_DOWN_BEGIN:
        begin(sub, down);
        break;
    case TF_DOWN_PART:
        part(sub, down);
        break;
    case TF_DOWN_END:
        end(sub);
        break;
    case TF_DOWN_CHANGE:
        change(sub, down);
        break;
    case TF_DOWN_WANT_PROFILE:
        profile_want_full(sub);
        break;
    case TF_DOWN_POLICY:
        policy_set(sub, &down->policy);
        break;
    case TF_DOWN_ASK: /* questions are answered by the daemon from the state */
        if (down->ask.kind == TF_ASK_CORDON)
            cordon_asked(sub, &down->ask);
        else if (down->ask.kind == TF_ASK_CONFIRM_LOST)
            health_confirmed(sub, &down->ask);
        else if (down->ask.kind == TF_ASK_DEFRAG)
            defrag_asked(sub, &down->ask);
        else if (down->ask.kind == TF_ASK_MIGRATE)
            migrate_asked(sub, &down->ask);
        break;
    case TF_DOWN_CONSIDERED:
        offers_considered(sub, down->considered);
        break;
    case TF_DOWN_NONE:
    case TF_DOWN_FENCE: /* no job is under a lease: place() refuses them */
        break;
    }
}

/* ---- carrying out ---- */

/* What the leader wants here is known; whatever comes from now on is new. What it had given out by then may
 * have run here and been forgotten. */
static void is_sure(struct sub *sub)
{
    if (!sub->unsure)
        return;
    raise_floor(sub, sub->link.highest_epoch);
    if (sub->rollback_noted) {
        sub->rollback_noted = false;
        out_touch(sub, TF_RECORD_ROLLBACK);
    }
    sub->unsure = false;
}

static int64_t carry_out(struct sub *sub, struct order *order)
{
    int64_t cost = 0;
    switch (order->entry.kind) {
    case TF_ENTRY_PLACE:
        cost = place(sub, &order->entry);
        break;
    case TF_ENTRY_RELEASE:
        release_epoch(sub, &order->entry);
        break;
    case TF_ENTRY_STORED:
        stored(sub, &order->entry);
        break;
    case TF_ENTRY_CLAIM:
        cost = defrag_for_claim(sub, &order->entry);
        cost += node_claim_make(sub, &order->entry);
        break;
    case TF_ENTRY_UNCLAIM:
        node_claim_end(sub, order->entry.uid);
        break;
    case TF_ENTRY_NONE:
        profile_reflects(sub, order->n, order->full);
        if (order->full) {
            is_sure(sub);
            node_claims_set_ends(sub);
        }
        break;
    }
    tf_entry_release(&order->entry);
    return cost;
}

bool link_has_orders(const struct sub *sub)
{
    return sub->link.next_order < sub->link.orders.count;
}

void link_continue(struct sub *sub)
{
    if (!sub->link.continue_asked)
        out_now(sub, (struct sub_action){.kind = SUB_ACT_CONTINUE});
    sub->link.continue_asked = true;
    tf_reached(sub, SUB_BUDGET);
}

void link_orders(struct sub *sub)
{
    struct link *link = &sub->link;
    int64_t left = sub->boot.decision_budget;
    if (!sub->listed || link->state != LINK_LIVE || link->continue_asked)
        return;
    while (link->next_order < link->orders.count && left > 0) {
        struct order order = link->orders.items[link->next_order];
        link->orders.items[link->next_order++].entry = (struct tf_entry){0};
        left -= 1 + carry_out(sub, &order);
    }
    if (link->next_order == link->orders.count) {
        link->next_order = link->orders.count = 0;
        return;
    }
    link_continue(sub);
}
