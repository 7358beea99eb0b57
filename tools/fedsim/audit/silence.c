/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that nothing is heard of: when a subcluster may give up what runs there, and what it owes then
 * (DESIGN.md §8.7). From what the fleet did and what the store says was concluded of it. */
#include "tools/fedsim/audit/facts.h"

enum { SLACK = 3 * TF_SECOND, NEWS = 2 * TF_MINUTE, WHOLE = 10000 };

void audit_silence(struct audit *audit, const struct audit_silence *rules)
{
    audit->silence = *rules;
}

void audit_note_silence(struct audit *audit, struct audit_node *node, enum tf_node_state before)
{
    if (node->node.state == TF_NODE_UNREACHABLE && before != TF_NODE_UNREACHABLE)
        node->silent = audit->now;
    else if (node->node.state != TF_NODE_UNREACHABLE && before == TF_NODE_UNREACHABLE) {
        node->returned = audit->now;
        node->silent = (struct tf_mono){0};
    }
}

static int64_t apart(struct tf_mono a, struct tf_mono b)
{
    return a.ms < b.ms ? b.ms - a.ms : a.ms - b.ms;
}

/* So many are silent that went so near to this one, and so long before it could be judged, that whoever was
 * there to judge it knew of them. */
static bool is_mass(const struct audit *audit, const struct audit_site *site, const struct audit_node *node)
{
    const struct audit_silence *rules = &audit->silence;
    int64_t gone = 0, nodes = 0;
    for (const struct audit_node *n = site->nodes; n; n = n->hh.next) {
        nodes++;
        gone += n->silent.ms && apart(n->silent, node->silent) <= rules->window - SLACK &&
                n->silent.ms <= node->silent.ms + rules->lost_after - SLACK;
    }
    return gone >= rules->least && gone * WHOLE > nodes * rules->fraction;
}

/* What was concluded before a return may be stored after it, and heard of late: how long it was silent then
 * nobody here can tell. */
static bool was_silent_of_late(const struct audit *audit, const struct audit_node *node)
{
    return node->returned.ms && audit->now.ms - node->returned.ms < NEWS;
}

static int64_t silence_of(const struct audit *audit, const struct audit_node *node)
{
    return node->silent.ms ? audit->now.ms - node->silent.ms : 0;
}

bool audit_given_up(const struct audit *audit, const struct audit_instance *i)
{
    int64_t least = audit->silence.lost_after - SLACK;
    return i->given_up || (i->node && i->node->silent.ms && audit->now.ms - i->node->silent.ms >= least);
}

static void given_up(struct audit *audit, const struct audit_site *site, struct audit_node *node)
{
    if (site->copied)
        return;              /* the copy may say so of a node that has been back for long */
    node->lost = audit->now; /* its jobs' other instances are stopped */
    tf_vec_each (i, &node->live)
        (*i)->given_up = true;
    if (node->node.state == TF_NODE_LOST || was_silent_of_late(audit, node))
        return;
    if (silence_of(audit, node) < audit->silence.lost_after - SLACK)
        audit_fail(audit, "§8.7: %s gives %s up after only %lld ms of silence", site->name, node->node.name,
                   (long long)silence_of(audit, node));
    else if (is_mass(audit, site, node))
        audit_fail(audit, "§8.7: %s gives %s up, but with so many that went silent at once nobody may judge",
                   site->name, node->node.name);
}

/* The store has it as a member after all: it had not been heard of when its node was given up. */
static bool is_member(const struct audit_instance *i)
{
    const struct audit_allocation *known = audit_allocation(i->site, i->id.uid);
    const struct tf_allocation *a = known ? &known->a : NULL;
    if (!a || a->phase == TF_ALLOCATION_IDLE || a->epoch != i->id.epoch)
        return false;
    const struct tf_member *m = audit_member(a, &i->id);
    return m && audit_member_holds(m);
}

/* It may be ready from now on. */
static void taken_back(struct audit *audit, const struct audit_site *site, const struct audit_node *node)
{
    tf_vec_each (i, &node->live)
        if ((*i)->given_up && !is_member(*i) && !site->restored)
            audit_fail(audit,
                       "§8.7: %s takes %s back, where instance %s, which was given up with it, still runs",
                       site->name, node->node.name, audit_id(&(*i)->id));
}

void audit_node_judged(struct audit *audit, struct audit_site *site, const char *name,
                       enum tf_verdict verdict)
{
    struct audit_node *node = audit_find_node(site, name);
    if (!node || node->verdict == verdict)
        return;
    if (verdict == TF_VERDICT_LOST)
        given_up(audit, site, node);
    else if (node->verdict == TF_VERDICT_LOST)
        taken_back(audit, site, node);
    node->verdict = verdict;
}

void audit_check_silence(struct audit *audit, const struct audit_instance *new)
{
    if (!new->node || new->site->restored) /* a restored store forgets what it gave up, and adopts it */
        return;
    tf_vec_each (i, &new->node->live)
        if ((*i)->given_up && !is_member(*i))
            audit_fail(audit,
                       "§8.7: instance %s starts on %s in %s, where %s, which was given up, still runs",
                       audit_id(&new->id), new->node->node.name, new->site->name, audit_id(&(*i)->id));
}
