/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is concluded of nodes that went silent. */
#include "subcluster/core/health.h"

#include "subcluster/core/cordon.h"
#include "subcluster/core/jobs.h"
#include "subcluster/core/loss.h"
#include "subcluster/core/members.h"
#include "subcluster/core/outbox.h"
#include "subcluster/core/strays.h"
#include "subcluster/core/trace.h"

#include <assert.h>

enum { WHOLE = 10000 }; /* basis points */

static struct ledger_node *node_at(const struct sub *sub, uint32_t number)
{
    return sub->ledger.nodes.items[number];
}

/* ---- verdicts ---- */

static void pass(struct sub *sub, struct ledger_node *node, enum tf_verdict verdict)
{
    enum tf_verdict before = node->cordon.verdict;
    if (!tf_cordon_judge(&node->cordon, verdict, sub->now.wall))
        return;
    sub->health.suspects += (verdict == TF_VERDICT_SUSPECT) - (before == TF_VERDICT_SUSPECT);
    ledger_cordoned(&sub->ledger, node);
    out_touch_node(sub, node->node.name);
    if (before == TF_VERDICT_SUSPECT && sub->health.suspects == 0)
        trace(sub, "no node is suspect any more: silent nodes are judged again");
}

/* Those whose silence is to be looked at: each silent node is there once. */
static void watch(struct sub *sub, const struct ledger_node *node)
{
    tf_vec_each (number, &sub->health.watched)
        if (*number == node->number)
            return;
    tf_vec_push(&sub->health.watched, node->number);
}

/* ---- what is given up with a node ---- */

typedef void holding_f(struct sub *sub, struct job *job, size_t place, const struct ledger_node *node);

/* Of each member that holds something there; each may change what is held. */
static void each_member(struct sub *sub, const struct ledger_node *node, holding_f *each)
{
    TF_VEC(struct holding) all = {0};
    tf_vec_each (h, &node->holdings)
        tf_vec_push(&all, *h);
    tf_vec_each (h, &all) {
        struct job *job = job_find(sub, h->uid);
        size_t place = job && !h->gone_after ? member_on_node(job, h->index, node->number) : SIZE_MAX;
        if (place != SIZE_MAX)
            each(sub, job, place, node);
    }
    tf_vec_release(&all);
}

static void tell_job(struct sub *sub, struct job *job, size_t place, const struct ledger_node *node)
{
    (void)place;
    (void)node;
    job_tell(sub, job);
}

static void lose(struct sub *sub, struct job *job, const struct places *places, bool given_up,
                 const char *why)
{
    for (size_t i = 0; given_up && i < places->count; i++)
        member_given_up(sub, job, places->items[i]);
    members_lost(sub, job, places, why);
}

/* What the job had there, as far as it is not known to be gone; and it is not looked at again. */
static void take_places(const struct job *job, uint32_t node, struct holding *holdings, size_t count,
                        struct places *places)
{
    struct tf_uid uid = holdings[0].uid;
    places->count = 0;
    for (size_t i = 0; i < count; i++) {
        struct holding *h = &holdings[i];
        if (tf_uid_is_none(h->uid) || !tf_uid_eq(h->uid, uid))
            continue;
        size_t place = job && !h->gone_after ? member_on_node(job, h->index, node) : SIZE_MAX;
        if (place != SIZE_MAX)
            tf_vec_push(places, place);
        h->uid = (struct tf_uid){0};
    }
}

/* With the node goes all that was on it: what a job had there in one decision. given_up: it may live on. */
static void lose_all(struct sub *sub, const struct ledger_node *node, bool given_up, const char *why)
{
    TF_VEC(struct holding) all = {0};
    struct places places = {0};
    tf_vec_each (h, &node->holdings)
        tf_vec_push(&all, *h);
    for (size_t i = 0; i < all.count; i++) {
        if (tf_uid_is_none(all.items[i].uid))
            continue;
        struct job *job = job_find(sub, all.items[i].uid);
        take_places(job, node->number, &all.items[i], all.count - i, &places);
        if (job && places.count)
            lose(sub, job, &places, given_up, why);
    }
    tf_vec_release(&all);
    tf_vec_release(&places);
}

static char *given_up_text(const struct ledger_node *node)
{
    return tf_asprintf("node %s was unreachable for too long", node->node.name);
}

/* The verdict comes first: no end that follows from it is durable without it. */
static void give_up(struct sub *sub, struct ledger_node *node)
{
    char *why = given_up_text(node);
    pass(sub, node, TF_VERDICT_LOST);
    lose_all(sub, node, true, why);
    strays_given_up(sub, node->node.name);
    free(why);
}

/* ---- the brake ---- */

/* Whether as many have gone silent within massDownWindow as is nobody's bad luck. */
static bool is_mass_down(const struct sub *sub)
{
    const struct sub_health_rules *rules = &sub->boot.health;
    const struct tf_health_counts *sums = &ledger_sums(&sub->ledger)->health;
    int64_t gone = 0, lost = 0;
    tf_vec_each (number, &sub->health.watched) {
        const struct ledger_node *node = node_at(sub, *number);
        if (node->silent.ms == TF_NEVER.ms || node->silent.ms + rules->mass_down_window < sub->now.mono.ms)
            continue;
        gone++;
        lost += node->node.state == TF_NODE_LOST;
    }
    int64_t nodes = sums->nodes - sums->lost + lost; /* those that were there before it began */
    return gone >= rules->mass_down_least && gone * WHOLE > nodes * rules->mass_down_fraction;
}

static void suspect(struct sub *sub, struct ledger_node *node)
{
    if (node_is_silent(node) && node->cordon.verdict == TF_VERDICT_NONE)
        pass(sub, node, TF_VERDICT_SUSPECT);
}

static void look_at_mass(struct sub *sub)
{
    if (sub->boot.health.node_lost_after <= 0 || !sub->listed)
        return;
    bool before = sub->health.suspects > 0;
    if (!before && !is_mass_down(sub))
        return;
    tf_vec_each (number, &sub->health.watched)
        suspect(sub, node_at(sub, *number));
    if (before || sub->health.suspects == 0)
        return;
    tf_reached(sub, SUB_MASS_DOWN);
    trace(sub, "%d nodes went silent at once: none of them is judged", sub->health.suspects);
    alarm_raise(
        sub,
        "%d nodes of %s went silent at once, which is more likely the network than the nodes: nothing "
        "that runs on them is given up before they return, or `fedctl node confirm-lost %s/NODE` says "
        "that one is lost",
        sub->health.suspects, sub->boot.name, sub->boot.name);
}

/* ---- the engine's word ---- */

static void went_silent(struct sub *sub, struct ledger_node *node)
{
    node->silent = sub->now.mono;
    watch(sub, node);
    if (node_is_given_up(node)) {
        give_up(sub, node); /* before a restart; not all that followed need have been stored */
        return;
    }
    look_at_mass(sub);
}

/* What was to happen there meanwhile was put off. */
static void came_back(struct sub *sub, struct ledger_node *node)
{
    tf_reached_if(node->cordon.verdict == TF_VERDICT_SUSPECT, sub, SUB_SUSPECT_BACK);
    tf_reached_if(node_is_given_up(node), sub, SUB_GIVEN_UP_BACK);
    if (node->cordon.verdict == TF_VERDICT_SUSPECT)
        pass(sub, node, TF_VERDICT_NONE);
    if (node_is_given_up(node))
        strays_stop_again(sub, node->node.name);
    each_member(sub, node, member_reachable);
}

/* With it goes all that was on it: that is the engine's word, so nothing of it can be left. */
static void is_lost(struct sub *sub, struct ledger_node *node)
{
    char *why = tf_asprintf("node %s is lost", node->node.name);
    pass(sub, node, TF_VERDICT_NONE);
    lose_all(sub, node, false, why);
    strays_node_lost(sub, node->node.name);
    free(why);
}

void health_told(struct sub *sub, struct ledger_node *node, enum tf_node_state before)
{
    bool was_silent = node->silent.ms != TF_NEVER.ms;
    if (node->told_state == TF_NODE_LOST && before != TF_NODE_LOST)
        is_lost(sub, node);
    else if (node->told_state == TF_NODE_LOST && node_is_given_up(node))
        is_lost(sub, node);
    else if (node_is_silent(node) && !was_silent)
        went_silent(sub, node);
    else if (node->told_state != TF_NODE_LOST && !node_is_silent(node)) {
        if (was_silent || node->cordon.verdict != TF_VERDICT_NONE)
            came_back(sub, node);
        node->silent = TF_NEVER;
    }
    if ((node->node.state == TF_NODE_UNREACHABLE) != (before == TF_NODE_UNREACHABLE))
        each_member(sub, node, tell_job);
    sub->health.look = true;
}

void health_member_told(struct sub *sub, const struct tf_instance_id *id)
{
    struct job *job = job_find(sub, id->uid);
    size_t place = job ? member_find(job, id) : SIZE_MAX;
    if (place == SIZE_MAX)
        return;
    const struct tf_member *m = &job->record.members.items[place];
    const struct ledger_node *node = node_at(sub, job->runs.items[place].node);
    if (!member_lives(m->state) || !node_is_given_up(node) || !node->known)
        return;
    char *why = given_up_text(node);
    lose(sub, job, &(struct places){.items = &place, .count = 1}, true, why);
    free(why);
}

/* ---- moments ---- */

/* Ready again, now that nothing is left there of what was given up. */
static void look_at_return(struct sub *sub, struct ledger_node *node)
{
    if (node->blockings.count)
        return;
    pass(sub, node, TF_VERDICT_NONE);
    trace(sub, "node %s is %s again: nothing is left of what was given up there", node->node.name,
          tf_node_state_name(node->node.state));
}

static bool is_due(const struct sub *sub, const struct ledger_node *node)
{
    return node_is_silent(node) && node->cordon.verdict == TF_VERDICT_NONE &&
           node->silent.ms != TF_NEVER.ms && sub->boot.health.node_lost_after > 0;
}

static void judge(struct sub *sub, struct ledger_node *node)
{
    tf_reached(sub, SUB_NODE_GIVEN_UP);
    trace(sub, "node %s is lost: unreachable for %lld ms", node->node.name,
          (long long)(sub->now.mono.ms - node->silent.ms));
    give_up(sub, node);
}

static void look_at(struct sub *sub, struct ledger_node *node)
{
    bool reached = node->known && node->told_state != TF_NODE_LOST && !node_is_silent(node);
    if (reached && node_is_given_up(node))
        look_at_return(sub, node);
    else if (is_due(sub, node) && node->silent.ms + sub->boot.health.node_lost_after <= sub->now.mono.ms)
        judge(sub, node);
}

/* A node that is back, or was told lost without ever having been silent, needs no more looking at. */
static bool is_settled(const struct ledger_node *node)
{
    return node->cordon.verdict == TF_VERDICT_NONE && node->silent.ms == TF_NEVER.ms;
}

void health_look(struct sub *sub)
{
    struct health *health = &sub->health;
    if (!sub->listed || (!health->look && health->due.ms > sub->now.mono.ms))
        return;
    if (sub->unsure)
        return; /* what runs there may be wanted: the restored store does not know it, and its leader does */
    health->look = false;
    health->due = TF_NEVER;
    for (size_t i = health->watched.count; i-- > 0;) {
        struct ledger_node *node = node_at(sub, health->watched.items[i]);
        look_at(sub, node);
        if (is_settled(node)) {
            tf_vec_remove(&health->watched, i);
            continue;
        }
        if (!is_due(sub, node))
            continue;
        int64_t due = node->silent.ms + sub->boot.health.node_lost_after;
        health->due.ms = due < health->due.ms ? due : health->due.ms;
    }
}

struct tf_mono health_due(const struct sub *sub)
{
    return sub->listed && !sub->unsure ? sub->health.due : TF_NEVER;
}

void health_stray_gone(struct sub *sub, const char *name)
{
    const struct ledger_node *node = name ? ledger_find(&sub->ledger, name) : NULL;
    if (node && node_is_given_up(node))
        sub->health.look = true;
}

/* ---- after a restart ---- */

/* What a store that may be an older copy says of nodes is not believed: what it gave up may since have come
 * back, been stopped, and made room for others. */
void health_loaded(struct sub *sub)
{
    tf_vec_each (at, &sub->ledger.nodes) {
        struct ledger_node *node = *at;
        if (node->cordon.verdict == TF_VERDICT_NONE)
            continue;
        if (sub->unsure)
            pass(sub, node, TF_VERDICT_NONE);
        else
            watch(sub, node);
    }
}

/* A verdict on what is no node any more would keep the brake on for ever. */
void health_listed(struct sub *sub)
{
    for (size_t i = 0; i < sub->health.watched.count; i++) {
        struct ledger_node *node = node_at(sub, sub->health.watched.items[i]);
        if (!node->known)
            pass(sub, node, TF_VERDICT_NONE);
    }
    look_at_mass(sub);
    sub->health.look = true;
}

/* ---- people's word ---- */

/* Why it cannot be confirmed; NULL if it can. */
static char *refusal(const struct sub *sub, const struct ledger_node *node, const struct tf_ask *ask,
                     enum tf_error_code *code)
{
    *code = TF_ERR_NOT_FOUND;
    if (!node || !node->known)
        return ask_node_unknown(sub, ask);
    *code = TF_ERR_REFUSED;
    if (sub->unsure)
        return tf_asprintf(
            "the store of %s was restored, and a leader has not yet told what should run there: "
            "try again when it has",
            sub->boot.name);
    if (!node_is_silent(node) && node->told_state != TF_NODE_LOST && !node_is_given_up(node))
        return tf_asprintf("node %s is %s: its engine reaches it, so it is not lost", ask->node,
                           tf_node_state_name(node->node.state));
    return NULL;
}

void health_confirmed(struct sub *sub, const struct tf_ask *ask)
{
    struct ledger_node *node = ask->node ? ledger_find(&sub->ledger, ask->node) : NULL;
    enum tf_error_code code = TF_OK;
    char *text = refusal(sub, node, ask, &code);
    if (text) {
        ask_answer(sub, ask, code, text);
        return;
    }
    if (node->node.state == TF_NODE_LOST)
        text = tf_asprintf("node %s is lost already", ask->node);
    else {
        tf_reached(sub, SUB_LOST_CONFIRMED);
        trace(sub, "node %s is lost: somebody confirmed it%s%s", ask->node, ask->reason ? ": " : "",
              ask->reason ? ask->reason : "");
        give_up(sub, node);
        sub->health.look = true;
    }
    ask_answer(sub, ask, TF_OK, text);
}
