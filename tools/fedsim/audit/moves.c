/* SPDX-License-Identifier: Apache-2.0 */
/* Instances that move, make before break: I10 of DESIGN.md §9, and what I2 allows to them. */
#include "tools/fedsim/audit/facts.h"

#include "common/base/text.h"

/* ---- chains, as stored ---- */

static struct audit_chain *find(struct audit_site *site, struct tf_uid id)
{
    tf_vec_each (chain, &site->chains)
        if (tf_uid_eq(chain->m.id, id))
            return chain;
    return NULL;
}

/* The move that brings the instance to where this one takes it from; NULL: it is there. */
static const struct tf_move *first_half(const struct tf_migration *m, size_t second)
{
    const struct tf_move *s = &m->moves.items[second];
    for (size_t i = 0; i < second; i++) {
        const struct tf_move *f = &m->moves.items[i];
        if (tf_uid_eq(f->uid, s->uid) && f->epoch == s->epoch && f->index == s->index &&
            tf_str_eq(f->claim.node, s->from))
            return f;
    }
    return NULL;
}

static bool others_stand(const struct tf_migration *m, size_t but)
{
    for (size_t i = 0; i < m->moves.count; i++)
        if (i != but && m->moves.items[i].state == TF_MOVE_ROLLED_BACK)
            return false;
    return true;
}

/* An instance on its way to a spare place goes on from there; it has lost its turn only if nothing starts,
 * and its next place only if another move came to nothing, or the node did. from: before, NULL if it is new.
 */
static void check_second_half(struct audit *audit, const struct audit_site *site,
                              const struct tf_migration *from, const struct tf_migration *to, size_t i)
{
    const struct tf_move *second = &to->moves.items[i], *first = first_half(to, i);
    bool fresh = !from || i >= from->moves.count || !tf_move_is_over(from->moves.items[i].state);
    if (!fresh || second->state != TF_MOVE_ROLLED_BACK || !first || first->state != TF_MOVE_STARTING)
        return;
    const struct audit_allocation *known = audit_allocation(site, second->uid);
    const struct audit_node *node = audit_find_node(site, second->claim.node);
    bool has_place = !second->claim.node || (node && node->node.state == TF_NODE_READY);
    if (has_place && others_stand(to, i) && known && known->a.epoch == second->epoch &&
        known->a.phase == TF_ALLOCATION_RUNNING && second->index < known->a.members.count)
        audit_fail(audit,
                   "I10: in %s a move of job %s from %s is given up while its instance is on its way there",
                   site->name, audit_uid(second->uid), second->from);
}

static void check_states(struct audit *audit, const struct audit_site *site, const struct tf_migration *from,
                         const struct tf_migration *to)
{
    for (size_t i = 0; i < from->moves.count && i < to->moves.count; i++) {
        const struct tf_move *a = &from->moves.items[i], *b = &to->moves.items[i];
        bool back = b->state < a->state && !a->restarts;
        bool late = a->state == TF_MOVE_STOPPING && b->state == TF_MOVE_ROLLED_BACK && !a->restarts;
        const struct audit_allocation *known = audit_allocation(site, a->uid);
        bool lives = known && known->a.epoch == a->epoch && known->a.phase == TF_ALLOCATION_RUNNING;
        if (tf_move_is_over(a->state) && b->state != a->state)
            audit_fail(audit, "I10: in %s a move of job %s that was %s is %s", site->name, audit_uid(a->uid),
                       tf_move_state_name(a->state), tf_move_state_name(b->state));
        else if (back || (late && lives))
            audit_fail(audit, "I10: in %s a move of job %s goes from %s to %s", site->name, audit_uid(a->uid),
                       tf_move_state_name(a->state), tf_move_state_name(b->state));
    }
}

/* All claims of a chain are taken by one transaction. */
static void check_reserved(struct audit *audit, const struct audit_site *site, const struct tf_migration *m)
{
    bool reserved = false, planned = false;
    tf_vec_each (move, &m->moves) {
        reserved |= move->state == TF_MOVE_RESERVED;
        planned |= move->state == TF_MOVE_PLANNED;
    }
    if (reserved && planned)
        audit_fail(audit, "I10: in %s a chain has claimed the places of some of its moves", site->name);
}

static void count_claims(struct audit_site *site, const struct tf_migration *m, int32_t times)
{
    tf_vec_each (move, &m->moves)
        if (move->state == TF_MOVE_RESERVED || (move->restarts && move->state == TF_MOVE_STOPPING))
            audit_count_claim(site, &move->claim, times);
}

void audit_chain_stored(struct audit *audit, struct audit_site *site, const struct tf_migration *record,
                        bool gone)
{
    struct audit_chain *chain = find(site, record->id);
    if (gone) {
        if (chain) {
            count_claims(site, &chain->m, -1);
            tf_migration_release(&chain->m);
            tf_vec_remove(&site->chains, (size_t)(chain - site->chains.items));
        }
        return;
    }
    bool fresh = !chain;
    if (fresh) {
        chain = tf_vec_add(&site->chains);
        *chain = (struct audit_chain){0};
    } else if (!site->copied)
        check_states(audit, site, &chain->m, record);
    for (size_t i = 0; i < record->moves.count && !site->copied; i++)
        check_second_half(audit, site, fresh ? NULL : &chain->m, record, i);
    count_claims(site, &chain->m, -1);
    tf_migration_copy(&chain->m, record);
    count_claims(site, &chain->m, 1);
    chain->changed = true;
    check_reserved(audit, site, record);
}

void audit_forget_chains(struct audit_site *site)
{
    tf_vec_each (chain, &site->chains) {
        count_claims(site, &chain->m, -1);
        tf_migration_release(&chain->m);
    }
    tf_vec_release(&site->chains);
}

void audit_settle_chains(struct audit_site *site)
{
    tf_vec_each (chain, &site->chains)
        chain->changed = false;
}

/* ---- looking ---- */

const struct tf_member *audit_member(const struct tf_allocation *a, const struct tf_instance_id *id)
{
    if (!a || a->epoch != id->epoch)
        return NULL;
    tf_vec_each (m, &a->members)
        if (m->index == id->index && m->attempt == id->attempt)
            return m;
    return NULL;
}

static bool is_second(const struct tf_allocation *a, const struct tf_member *m)
{
    return (size_t)(m - a->members.items) != m->index;
}

static const struct tf_move *move_of(const struct audit_site *site, const struct tf_instance_id *id)
{
    const struct tf_move *found = NULL;
    tf_vec_each (chain, &site->chains)
        tf_vec_each (move, &chain->m.moves)
            if (move->index == id->index && move->epoch == id->epoch && tf_uid_eq(move->uid, id->uid))
                found = move;
    return found;
}

bool audit_moves(const struct audit_site *site, const struct tf_instance_id *id)
{
    const struct audit_allocation *known = audit_allocation(site, id->uid);
    const struct tf_member *m = known ? audit_member(&known->a, id) : NULL;
    return m && is_second(&known->a, m) && move_of(site, id);
}

void audit_keep_moves(struct audit_site *site)
{
    site->under_way.count = 0;
    for (const struct audit_allocation *x = site->allocations; x; x = x->hh.next)
        tf_vec_each (m, &x->a.members) {
            struct tf_instance_id id = {x->a.uid, x->a.epoch, m->index, m->attempt};
            if (m->role == TF_MEMBER_MOVES_IN)
                tf_vec_push(&site->under_way, id);
        }
}

bool audit_moved_before(const struct audit_site *site, const struct tf_instance_id *id)
{
    tf_vec_each (new, &site->under_way)
        if (tf_instance_id_eq(new, id))
            return true;
    return false;
}

static bool touches(const struct tf_move *move, const char *node)
{
    return !node || strcmp(move->from, node) == 0 || tf_str_eq(move->claim.node, node);
}

bool audit_moves_at(const struct audit_site *site, const char *node)
{
    tf_vec_each (chain, &site->chains)
        tf_vec_each (move, &chain->m.moves)
            if ((chain->changed || !tf_move_is_over(move->state)) && touches(move, node))
                return true;
    return false;
}

/* §8.4: it takes nothing before its chain ends, also when all that was on it has gone. */
bool audit_is_emptied(const struct audit_site *site, const char *node)
{
    tf_vec_each (chain, &site->chains)
        if ((chain->changed || !tf_migration_is_over(&chain->m)) && tf_strs_has(&chain->m.empties, node))
            return true;
    return false;
}

bool audit_moves_whole(const struct audit_site *site, struct tf_uid uid)
{
    tf_vec_each (chain, &site->chains)
        tf_vec_each (move, &chain->m.moves)
            if (move->restarts && move->stopping.ms && tf_uid_eq(move->uid, uid))
                return true;
    return false;
}

/* ---- make before break ---- */

/* What a transaction says of those that run on. */
void audit_note_moves(struct audit *audit, struct audit_site *site, const struct tf_allocation *a)
{
    for (size_t i = 0; i < a->members.count; i++) {
        const struct tf_member *m = &a->members.items[i];
        struct tf_instance_id id = {a->uid, a->epoch, m->index, m->attempt};
        struct audit_instance *old =
            m->role == TF_MEMBER_MOVES_OUT ? audit_instance(audit, site->name, &id) : NULL;
        if (old && (m->state != TF_MEMBER_LEAVING || !old->switched_out))
            old->successor = a->members.items[m->index].attempt;
        if (old)
            old->switched_out = true;
        struct audit_instance *new = audit_instance(audit, site->name, &id);
        if (new && (!is_second(a, m) || m->role == TF_MEMBER_MOVES_IN)) /* a switch may be undone */
            new->moves_in = is_second(a, m);
    }
}

/* An attempt's number does not tell the new one from the old, which may fail and start again meanwhile. */
void audit_note_move_start(const struct audit_site *site, struct audit_instance *new)
{
    const struct audit_allocation *known = audit_allocation(site, new->id.uid);
    const struct tf_member *m = known ? audit_member(&known->a, &new->id) : NULL;
    new->moves_in = m &&is_second(&known->a, m); /* it may have been taken back before it started */
}

/* I10: the old one is told to stop. By then the one in its place may have failed: it was ready when that was
 * decided, and nobody goes back from there. */
void audit_check_move_stop(struct audit *audit, struct audit_site *site, const struct tf_instance_id *id)
{
    const struct audit_allocation *known = audit_allocation(site, id->uid);
    const struct tf_allocation *a = known ? &known->a : NULL;
    const struct tf_member *m = audit_member(a, id);
    const struct audit_instance *old = audit_instance(audit, site->name, id);
    if (!m || !is_second(a, m) || a->phase != TF_ALLOCATION_RUNNING || !old || !old->live)
        return;
    if (old->moves_in || a->members.items[m->index].attempt < m->attempt)
        return; /* it is the new one, which is taken back: the second, if the switch to it was undone */
    struct tf_instance_id new_id = {a->uid, a->epoch, m->index, old->successor};
    const struct audit_instance *new = audit_instance(audit, site->name, &new_id);
    bool lost = (new &&audit_given_up(audit, new)) || audit_given_up(audit, old);
    if (!old->switched_out && !site->restored && !lost)
        audit_fail(audit,
                   "I10: instance %s in %s is stopped before its store says that another is the member",
                   audit_id(id), site->name);
    else if ((!new || new->ready.ms == 0) && !site->restored && !lost)
        audit_fail(audit, "I10: instance %s in %s is stopped, and the one in its place was never ready",
                   audit_id(id), site->name);
}

/* Its subcluster's store was put back, and the federation's, too: no leader names the epoch, and until one
 * does nothing of it is moved, which could not start again. */
static bool is_named_by_nobody(struct audit *audit, const struct tf_move *move)
{
    const struct audit_epoch *e = audit_epoch(audit, move->uid, move->epoch);
    return e->local_rolled && !e->placed;
}

/* For room, or for a leader's word, it may wait a while longer than a world is silent before it counts as at
 * rest. */
static bool waits(struct audit *audit, const struct tf_migration *m, const struct tf_move *move)
{
    int64_t now = audit->calendar + audit->now.ms;
    bool reserved = move->state == TF_MOVE_RESERVED && is_named_by_nobody(audit, move);
    return (move->state == TF_MOVE_PLANNED || reserved) &&
           now <= m->until.ms + audit->clock_error + audit->skew;
}

void audit_check_chains_at_rest(struct audit *audit, const struct audit_site *site)
{
    tf_vec_each (chain, &site->chains)
        tf_vec_each (move, &chain->m.moves)
            if (!tf_move_is_over(move->state) && !chain->m.paused && !waits(audit, &chain->m, move))
                audit_fail(audit, "I10: at rest a move of job %s in %s is %s", audit_uid(move->uid),
                           site->name, tf_move_state_name(move->state));
}
