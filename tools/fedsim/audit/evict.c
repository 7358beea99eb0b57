/* SPDX-License-Identifier: Apache-2.0 */
/* Who gives way for whom: I5, I6 and I7 of DESIGN.md §9, from one transaction of a subcluster's store at a
 * time: claims and what they cost others become durable together.
 *
 * A transaction may hold more than the decision: what else has changed since. So whoever may have held
 * something when it was decided counts as a holder of it, a node that changed of late counts as none, and
 * what is called a breach here is one whatever the order was. */
#include "tools/fedsim/audit/facts.h"

#include "common/base/alloc.h"
#include "common/base/text.h"

#include <inttypes.h>

/* ---- what a transaction changes ---- */

void audit_note_opened(struct audit_site *site, struct audit_epoch *epoch)
{
    tf_vec_push(&site->opened, epoch);
}

void audit_keep_before(struct audit_site *site, struct audit_allocation *known)
{
    if (known->changed)
        return;
    known->changed = true;
    known->before = known->a;
    known->a = (struct tf_allocation){.uid = known->before.uid, .spec = tf_spec_none()};
    tf_vec_push(&site->changes, known);
}

void audit_drop_before(struct audit_site *site, struct audit_allocation *known)
{
    for (size_t i = 0; known->changed && i < site->changes.count; i++)
        if (site->changes.items[i] == known) {
            tf_vec_remove(&site->changes, i);
            break;
        }
    tf_allocation_release(&known->before);
    known->changed = false;
}

void audit_node_cordoned(struct audit *audit, struct audit_site *site, const char *name, bool on)
{
    struct audit_node *node = audit_find_node(site, name);
    if (!node)
        return;
    node->cordoned = on;
    node->changed = audit->now;
}

/* ---- who goes ---- */

static bool is_evicted_whole(const struct tf_allocation *a, uint64_t epoch)
{
    if (a->phase == TF_ALLOCATION_ENDING && a->epoch == epoch)
        return a->ending.end == TF_END_EVICTED;
    tf_vec_each (ended, &a->ended)
        if (ended->epoch == epoch)
            return ended->end == TF_END_EVICTED;
    return false;
}

static bool goes_whole(const struct audit_allocation *known)
{
    uint64_t epoch = known->before.phase != TF_ALLOCATION_IDLE ? known->before.epoch : known->a.epoch;
    return epoch && is_evicted_whole(&known->a, epoch) && !is_evicted_whole(&known->before, epoch);
}

/* The same attempt, wherever it was; or the one that was in that place. */
static const struct tf_member *member_before(const struct audit_allocation *known, size_t i)
{
    const struct tf_member *m = i < known->a.members.count ? &known->a.members.items[i] : NULL;
    if (known->before.epoch != known->a.epoch)
        return NULL;
    tf_vec_each (old, &known->before.members)
        if (m && old->index == m->index && old->attempt == m->attempt)
            return old;
    bool second = m && m->index != i;
    return !second && i < known->before.members.count && known->before.members.items[i].index == i
               ? &known->before.members.items[i]
               : NULL;
}

static bool is_of_move(const struct tf_member *m)
{
    return m->role == TF_MEMBER_MOVES_IN || m->role == TF_MEMBER_MOVES_OUT;
}

static bool begins_to_leave(const struct audit_allocation *known, size_t i)
{
    const struct tf_member *old = member_before(known, i);
    return i < known->a.members.count && known->a.members.items[i].state == TF_MEMBER_LEAVING &&
           (!old || old->state != TF_MEMBER_LEAVING);
}

/* What has not joined yet is nothing that could give way. */
static bool was_member(const struct audit_allocation *known, size_t i)
{
    const struct tf_member *old = member_before(known, i);
    const struct tf_member *m = i < known->a.members.count ? &known->a.members.items[i] : NULL;
    if (m && m->index != i)
        return false; /* it comes or goes by a move: its index stays */
    return old ? old->role != TF_MEMBER_JOINS && !is_of_move(old) : known->before.epoch != known->a.epoch;
}

static void note_resized(struct audit *audit, const struct audit_allocation *known)
{
    struct audit_epoch *e = audit_epoch(audit, known->a.uid, known->a.epoch);
    /* taken up again after a restore, and it may grow by the same decision: nobody knows what size it had */
    e->resized |= known->before.epoch != known->a.epoch && e->local_rolled && e->ran;
    if (!known->changed || known->before.epoch != known->a.epoch || !known->before.members.count)
        return;
    /* also where it grows and gives way in one decision: it restarts all the same */
    e->resized |= known->before.size != known->a.size || known->before.members.count < known->a.members.count;
    for (size_t i = 0; i < known->a.members.count; i++) {
        e->turned_back |= begins_to_leave(known, i) && !was_member(known, i);
        e->shrunk |= begins_to_leave(known, i) && was_member(known, i);
    }
}

/* Some of it is gone that nobody had told to go. */
static bool has_lost(const struct audit_allocation *known)
{
    for (size_t i = 0; i < known->a.members.count; i++) {
        const struct tf_member *old = member_before(known, i), *m = &known->a.members.items[i];
        bool held = old && audit_member_holds(old) && old->state != TF_MEMBER_LEAVING && m->index == i;
        bool gone =
            m->state == TF_MEMBER_GONE || m->state == TF_MEMBER_MISSING || (old && m->attempt > old->attempt);
        if (held && gone)
            return true;
    }
    return false;
}

/* People who asked for less explain a shrink, too, and a loss, which takes its step along: what leaves then
 * may give way for nobody. */
static bool goes_in_part(struct audit *audit, const struct audit_site *site,
                         const struct audit_allocation *known)
{
    if (known->a.phase == TF_ALLOCATION_ENDING || audit_job(audit, known->a.uid)->scale_asked ||
        has_lost(known) || audit_has_lost_a_node(audit, site, &known->a) ||
        audit_is_drained(audit, site, &known->a))
        return false;
    for (size_t i = 0; i < known->a.members.count; i++)
        if (begins_to_leave(known, i) && was_member(known, i))
            return true;
    return false;
}

/* ---- levels, by the records ---- */

static const struct tf_job_spec *spec_of(const struct audit_site *site, const struct audit_epoch *e)
{
    const struct audit_allocation *known = audit_allocation(site, e->uid);
    bool live = known && known->a.epoch == e->epoch && known->a.spec->priority;
    return live ? known->a.spec : &e->job->manifest.spec;
}

static int rank_of(const struct audit_site *site, const struct tf_job_spec *spec)
{
    return tf_classes_rank(&site->classes, spec->priority ? spec->priority : "");
}

/* The epoch was first seen to have run fully: not before the last of its members was ready. */
static void note_full(struct audit *audit, const struct audit_site *site, const struct tf_allocation *a)
{
    struct audit_epoch *e = audit_epoch(audit, a->uid, a->epoch);
    if (a->phase != TF_ALLOCATION_RUNNING || a->started.ms == 0 || e->full.ms)
        return;
    e->min_runtime = a->spec->min_runtime;
    tf_vec_each (m, &a->members) {
        struct tf_instance_id id = {
            .uid = a->uid, .epoch = a->epoch, .index = m->index, .attempt = m->attempt};
        const struct audit_instance *i = audit_instance(audit, site->name, &id);
        if (i && m->mark == 0 && i->ready.ms > e->full.ms)
            e->full = i->ready;
    }
}

static void note_protection(struct audit *audit, const struct audit_site *site, const struct tf_allocation *a)
{
    struct audit_epoch *e = audit_epoch(audit, a->uid, a->epoch);
    note_full(audit, site, a);
    if (a->phase != TF_ALLOCATION_IDLE && a->spec->min_runtime < e->min_runtime)
        e->min_runtime = a->spec->min_runtime;
}

/* By the subcluster's clock, of which the rate may be wrong by 1 %. */
bool audit_is_protected(const struct audit *audit, const struct audit_epoch *e)
{
    int64_t least = e->min_runtime - e->min_runtime / 100;
    return e->full.ms && audit->now.ms < e->full.ms + least - audit->clock_error;
}

static struct audit_epoch *epoch_of(struct audit *audit, const struct audit_allocation *known)
{
    uint64_t epoch = known->before.phase != TF_ALLOCATION_IDLE ? known->before.epoch : known->a.epoch;
    return audit_epoch(audit, known->a.uid, epoch);
}

static tf_level victim_level(struct audit *audit, const struct audit_site *site,
                             const struct audit_allocation *known)
{
    const struct audit_epoch *e = epoch_of(audit, known);
    const struct tf_allocation *a = known->before.phase != TF_ALLOCATION_IDLE ? &known->before : &known->a;
    int rank = rank_of(site, a->spec);
    bool core = goes_whole(known);
    /* what has not joined, or comes by a move that is rolled back, gives way to nobody */
    for (size_t i = 0; !core && i < known->a.members.count; i++)
        core = begins_to_leave(known, i) && was_member(known, i) && known->a.members.items[i].mark == 0;
    if (core && rank < site->ceiling && audit_is_protected(audit, e))
        return tf_level_protected(site->ceiling);
    return core ? tf_level_core(rank) : tf_level_surplus(rank);
}

/* ---- for whom ---- */

/* Strictly below its core, and not above what its leader meant. */
static bool may_take(const struct audit_site *site, const struct audit_epoch *e, tf_level level)
{
    return level <= e->level && level < tf_level_core(rank_of(site, spec_of(site, e)));
}

/* It got something for it: the claims, or (others were quicker) a start or an end that people asked for. */
static bool has_claimed(const struct audit *audit, const struct audit_site *site, const struct audit_epoch *e)
{
    bool fault = !audit->calm || site->changed;
    const struct audit_allocation *known = audit_allocation(site, e->uid);
    bool waits = known && known->a.epoch == e->epoch && known->a.phase == TF_ALLOCATION_CLAIMING;
    if (waits && known->a.claims.count < (size_t)known->a.size)
        return false;
    return e->level > TF_LEVEL_FREE && (!e->ended || e->end == TF_END_RELEASED || fault);
}

/* ---- surplus that goes without a claim (§5): a running job is to grow by it ---- */

static int32_t leaving_members(const struct audit_allocation *known)
{
    int32_t count = 0;
    for (size_t i = 0; i < known->a.members.count; i++)
        count += begins_to_leave(known, i) && was_member(known, i);
    return count;
}

/* Steps of x that use at least what one of v, of that size, frees: then x is not above where v was. */
static bool evens_out(const struct tf_allocation *v, int32_t size, const struct tf_allocation *x)
{
    const struct tf_elastic *ve = &v->spec->elastic, *xe = &x->spec->elastic;
    int64_t frees = (int64_t)ve->step * v->spec->group.shape.gpus,
            uses = (int64_t)xe->step * x->spec->group.shape.gpus;
    if (v->spec->grow != TF_GROW_CONTINUOUS || frees == 0 || uses == 0)
        return false;
    int64_t after = x->size + (frees + uses - 1) / uses * xe->step;
    return after * ve->max < (int64_t)size * xe->max;
}

static bool may_grow(const struct tf_allocation *x)
{
    const struct tf_elastic *e = &x->spec->elastic;
    return x->phase == TF_ALLOCATION_RUNNING && x->size + e->step <= e->max &&
           (x->size < e->min || x->spec->grow != TF_GROW_NEVER);
}

static bool goes_for_growth(struct audit *audit, const struct audit_site *site,
                            const struct audit_allocation *known)
{
    bool fresh = known->before.epoch != known->a.epoch; /* placed, or adopted, by the same transaction */
    const struct tf_allocation *v = fresh ? &known->a : &known->before;
    int32_t gave = known->a.size + leaving_members(known); /* it may have grown by the same, too */
    int32_t size = v->size > gave ? v->size : gave;
    int rank = rank_of(site, v->spec);
    bool one_step = leaving_members(known) == v->spec->elastic.step;
    if (victim_level(audit, site, known) != tf_level_surplus(rank) || !v->members.count)
        return false;
    for (const struct audit_allocation *x = site->allocations; x; x = x->hh.next) {
        if (x == known || !may_grow(&x->a))
            continue;
        int of = rank_of(site, x->a.spec);
        bool is_short = x->a.size < x->a.spec->elastic.min; /* what it lacks are cores */
        if (of > rank || (of == rank && (is_short || (one_step && evens_out(v, size, &x->a)))))
            return true;
    }
    return false;
}

/* A running job claims what it lacks with this transaction. */
static bool claims_more(const struct audit_allocation *known)
{
    return known->changed && known->a.phase == TF_ALLOCATION_RUNNING && known->a.claims.count > 0 &&
           (known->before.epoch != known->a.epoch || known->before.claims.count == 0);
}

/* It lacks something, and that is claimed, or starts already: those that went had nothing to be stopped. */
static bool gets_more(const struct audit_allocation *known)
{
    const struct tf_allocation *a = &known->a;
    int32_t joining = 0;
    tf_vec_each (m, &a->members)
        joining += m->role == TF_MEMBER_JOINS;
    return known->changed && a->phase == TF_ALLOCATION_RUNNING && (a->claims.count || joining);
}

static bool goes_for_claims(const struct audit_site *site, const struct audit_allocation *victim,
                            tf_level level)
{
    tf_vec_each (at, &site->changes)
        if (*at != victim && gets_more(*at) && level < tf_level_core(rank_of(site, (*at)->a.spec)))
            return true;
    return false;
}

static void check_victim(struct audit *audit, struct audit_site *site, struct audit_allocation *known)
{
    struct audit_epoch *victim = epoch_of(audit, known);
    tf_level level = victim_level(audit, site, known);
    char text[TF_LEVEL_TEXT];
    bool any = false, may = false;
    tf_vec_each (at, &site->opened) {
        struct audit_epoch *e = *at;
        if (!has_claimed(audit, site, e))
            continue;
        any = true;
        may = may || may_take(site, e, level);
        e->took = true;
    }
    tf_level_name(level, &site->classes, text);
    may = may || goes_for_growth(audit, site, known) || goes_for_claims(site, known, level);
    if (!may && !any)
        audit_fail(audit,
                   "I7: epoch %" PRIu64
                   " of job %s gives way in %s, and nobody has claimed anything with that",
                   victim->epoch, audit_uid(victim->uid), site->name);
    else if (!may && level == tf_level_protected(site->ceiling))
        audit_fail(audit, "I5: epoch %" PRIu64 " of job %s gives way in %s, and its core is protected",
                   victim->epoch, audit_uid(victim->uid), site->name);
    else if (!may)
        audit_fail(audit,
                   "I6: epoch %" PRIu64 " of job %s gives way at level %s in %s, for nobody that may take it",
                   victim->epoch, audit_uid(victim->uid), text, site->name);
    victim->troubled = true;
    audit->counts.evictions++;
}

/* ---- what could be packed if others had gone ---- */

enum whose { ALL_BUT, BELOW, LOWER_SURPLUS };

struct question {
    struct audit *audit;
    const struct audit_site *site;
    const struct tf_allocation *claimant;
    const struct audit_allocation *kept; /* ALL_BUT: this victim stays, */
    int32_t mark;                        /* of one that goes in part only this step of it */
    enum whose whose;
    tf_level level; /* BELOW: of all jobs what is below goes, and the other victims that are not;
                       LOWER_SURPLUS: what is surplus below it */
};

/* Of either version of the record. */
static size_t place_of(const struct audit_allocation *known, const struct tf_member *m)
{
    for (size_t i = 0; i < known->a.members.count; i++)
        if (known->a.members.items[i].index == m->index && known->a.members.items[i].attempt == m->attempt)
            return i;
    return m->index;
}

static bool goes_unless_kept(const struct question *q, const struct audit_allocation *known,
                             const struct tf_allocation *a, const struct tf_member *m)
{
    if (!known->changed || a->epoch != known->a.epoch)
        return false;
    if (known->gives_step && known != q->kept)
        return false; /* to growth, for which it was chosen when the victims were */
    bool whole = goes_whole(known);
    /* one step less of a job that has lost nothing yet is no cheaper: all of its steps stay, or none */
    bool stays = known == q->kept && (whole || q->whose == BELOW || m->mark == q->mark);
    return !stays && (whole || begins_to_leave(known, place_of(known, m)));
}

/* A loss that the same transaction records has made a core of the oldest surplus that is left, before anybody
 * looked for victims: what was surplus in the record of before is none any more. */
static bool is_surplus(const struct audit_allocation *known, const struct tf_allocation *a,
                       const struct tf_member *m)
{
    size_t i = place_of(known, m);
    bool same = known->changed && a->epoch == known->a.epoch && i < known->a.members.count;
    const struct tf_member *after = same ? &known->a.members.items[i] : m;
    bool other = after->index != m->index || after->attempt != m->attempt;
    return m->mark > 0 && (other || after->mark > 0);
}

/* Whether a member is gone in the world that the question is about. A core that may be protected is none of
 * those below anything. */
static bool is_away(const struct question *q, const struct audit_allocation *known,
                    const struct tf_allocation *a, const struct tf_member *m)
{
    int rank = rank_of(q->site, a->spec);
    if (q->whose == LOWER_SURPLUS)
        return is_surplus(known, a, m) && tf_level_surplus(rank) < q->level;
    bool below = is_surplus(known, a, m) ? tf_level_surplus(rank) < q->level
                                         : a->spec->min_runtime == 0 && tf_level_core(rank) < q->level;
    return (q->whose == BELOW && below) || goes_unless_kept(q, known, a, m);
}

static bool is_evictable(const struct tf_allocation *a, const struct tf_member *m)
{
    return (a->phase == TF_ALLOCATION_STARTING || a->phase == TF_ALLOCATION_RUNNING) &&
           m->state != TF_MEMBER_LEAVING;
}

/* What waits for its claims goes whole, and ranks at its core's level. */
static bool is_claim_away(const struct question *q, const struct audit_allocation *known,
                          const struct tf_allocation *a)
{
    bool below = q->whose == BELOW && tf_level_core(rank_of(q->site, a->spec)) < q->level;
    return below || (known->changed && known != q->kept && goes_whole(known));
}

struct taken {
    struct tf_vector sum;
    uint64_t gpus;
};

static void take_part(struct taken *taken, struct tf_vector need, uint64_t gpus)
{
    taken->sum = tf_vector_add(taken->sum, need);
    taken->gpus |= gpus;
}

static bool held_before(const struct audit_allocation *known, const struct tf_member *m)
{
    const struct tf_member *old = member_before(known, place_of(known, m));
    return known->changed && old && audit_member_holds(old) && old->gpus == m->gpus &&
           tf_str_eq(old->node, m->node);
}

/* By one version of a record; `later`: what the earlier one has, too, counts there. */
static void count_taken(const struct question *q, const struct audit_allocation *known,
                        const struct tf_allocation *a, bool later, const char *node, struct taken *taken)
{
    bool claims = a == q->claimant && q->whose != LOWER_SURPLUS; /* they are what is asked about */
    if (a->phase == TF_ALLOCATION_IDLE)
        return;
    struct tf_vector need = tf_shape_vector(&a->spec->group.shape);
    tf_vec_each (m, &a->members) {
        bool goes = (later ? held_before(known, m) : is_evictable(a, m)) && is_away(q, known, a, m);
        bool counted = later && held_before(known, m);
        if (audit_member_holds(m) && !goes && !counted && strcmp(m->node, node) == 0)
            take_part(taken, need, m->gpus);
    }
    tf_vec_each (c, &a->claims)
        if (!claims && strcmp(c->node, node) == 0 && !is_claim_away(q, known, a))
            take_part(taken, (struct tf_vector){tf_gpu_set_count(c->gpus), c->slots, c->cpu, c->memory},
                      c->gpus);
}

static bool is_recent(const struct audit *audit, const struct audit_node *node)
{
    enum { NEWS = 60 * TF_SECOND };
    return node->changed.ms && audit->now.ms - node->changed.ms < NEWS;
}

bool audit_is_stray(const struct audit_site *site, const struct tf_instance_id *id)
{
    const struct audit_allocation *known = audit_allocation(site, id->uid);
    const struct tf_allocation *a = known ? &known->a : NULL;
    return !a || a->epoch != id->epoch || a->phase == TF_ALLOCATION_IDLE || id->index >= a->members.count ||
           a->members.items[id->index].attempt != id->attempt;
}

/* Something runs there that no record knows, or (of a restored store) knows an earlier attempt of only. */
static bool has_strays(const struct audit_site *site, const struct audit_node *node)
{
    tf_vec_each (at, &node->live)
        if (audit_is_stray(site, &(*at)->id))
            return true;
    return false;
}

static int32_t count_left(const struct audit_node *node, void *arg)
{
    const struct question *q = arg;
    const struct tf_node *n = &node->node;
    const struct tf_job_spec *spec = q->claimant->spec;
    const struct tf_shape *shape = &spec->group.shape;
    if (n->state != TF_NODE_READY || node->cordoned || is_recent(q->audit, node) ||
        has_strays(q->site, node) || audit_moves_at(q->site, n->name) || audit_is_emptied(q->site, n->name) ||
        audit_is_kept(q->site, n, q->claimant->uid, spec) || !tf_pairs_match(&n->labels, &spec->node_labels))
        return 0;
    if (shape->gpus > 0 && (!tf_str_eq(n->model, q->claimant->model) || n->gpu_memory < shape->gpu_memory))
        return 0;
    struct taken taken = {{0}, n->foreign.gpus | n->bad_gpus};
    for (const struct audit_allocation *x = q->site->allocations; x; x = x->hh.next) {
        if (x->changed)
            count_taken(q, x, &x->before, false, n->name, &taken);
        count_taken(q, x, &x->a, x->changed, n->name, &taken);
    }
    struct tf_vector have = tf_vector_sub(n->capacity, taken.sum);
    have.gpus = tf_gpu_set_count(tf_gpu_set_all(n->capacity.gpus) & ~taken.gpus);
    have.slots -= n->foreign.slots;
    have.cpu -= n->foreign.cpu;
    have.memory -= n->foreign.memory;
    return tf_vector_count(tf_shape_vector(shape), tf_vector_floor0(have));
}

static bool would_fit(struct question *q)
{
    const struct tf_allocation *a = q->claimant;
    return audit_count_nodes(q->site, a->spec, count_left, q) >= (int32_t)a->claims.count;
}

/* A topology of several planes is more than the naive loop knows. */
static bool is_simple(const struct audit_site *site)
{
    return !site->nodes || site->nodes->node.domains.count <= 1;
}

int32_t audit_room_to_grow(struct audit *audit, const struct audit_site *site, const struct tf_allocation *a,
                           bool take_surplus)
{
    struct question q = {.audit = audit, .site = site, .claimant = a, .whose = LOWER_SURPLUS};
    q.level = take_surplus ? tf_level_surplus(rank_of(site, a->spec)) : TF_LEVEL_FREE;
    return audit_count_nodes(site, a->spec, count_left, &q);
}

/* Where a job's instances may be does not depend on where others of it are, which the naive loop knows not.
 */
static bool is_loose(const struct tf_job_spec *spec)
{
    return !spec->topology.count && !spec->max_nodes;
}

/* By the policy as stored before this transaction, and by any clock that its daemons may have. */
static bool is_frozen(const struct audit *audit, const struct audit_site *site)
{
    int64_t now = audit->calendar + audit->now.ms, error = audit->clock_error + audit->skew;
    tf_vec_each (freeze, &site->freezes)
        if (freeze->what == TF_FROZEN_EVICTIONS && now + error < freeze->until.ms)
            return site->policy_at.ms < audit->now.ms;
    return false;
}

int32_t audit_room_by_eviction(struct audit *audit, const struct audit_site *site,
                               const struct tf_allocation *a)
{
    struct question q = {.audit = audit, .site = site, .claimant = a, .whose = BELOW};
    q.level = tf_level_core(rank_of(site, a->spec));
    return is_frozen(audit, site) ? 0 : audit_count_nodes(site, a->spec, count_left, &q);
}

/* The only one that has claimed with this transaction, and so all of its victims are for it. */
static const struct tf_allocation *only_claimant(const struct audit *audit, const struct audit_site *site)
{
    const struct tf_allocation *found = NULL;
    tf_vec_each (at, &site->changes) {
        if (!claims_more(*at))
            continue;
        if (found || !is_loose((*at)->a.spec))
            return NULL;
        found = &(*at)->a;
    }
    tf_vec_each (e, &site->opened) {
        const struct audit_allocation *known = audit_allocation(site, (*e)->uid);
        if ((*e)->ended && (*e)->end == TF_END_EVICTED)
            return NULL; /* it had claimed, and others gave way for it, before somebody took that */
        if (!has_claimed(audit, site, *e))
            continue;
        if (found || !known || known->a.phase != TF_ALLOCATION_CLAIMING || known->a.epoch != (*e)->epoch)
            return NULL;
        found = &known->a;
    }
    return found;
}

static bool is_victim(struct audit *audit, const struct audit_site *site,
                      const struct audit_allocation *known)
{
    return goes_whole(known) || goes_in_part(audit, site, known);
}

static void check_with(struct audit *audit, struct question *q, enum whose whose, tf_level level)
{
    char text[TF_LEVEL_TEXT];
    q->whose = whose;
    q->level = level;
    if (!would_fit(q))
        return;
    if (whose == ALL_BUT)
        audit_fail(audit, "I7: job %s gives way in %s for job %s, which would fit without that",
                   audit_uid(q->kept->a.uid), q->site->name, audit_uid(q->claimant->uid));
    else
        audit_fail(audit,
                   "§5: job %s gives way at level %s in %s for job %s, for which lower levels would do",
                   audit_uid(q->kept->a.uid), tf_level_name(level, &q->site->classes, text), q->site->name,
                   audit_uid(q->claimant->uid));
}

/* Leaves one victim out, step by step. */
static void check_one(struct audit *audit, struct question *q)
{
    const struct tf_allocation *a = &q->kept->a;
    tf_level level = victim_level(audit, q->site, q->kept);
    bool whole = goes_whole(q->kept);
    if (q->kept->gives_step)
        return;
    for (size_t i = 0; i < (whole ? 1 : a->members.count); i++) {
        if (!whole && (!begins_to_leave(q->kept, i) || !was_member(q->kept, i)))
            continue; /* what has not joined goes with the step that does: a growth is rolled back */
        q->mark = i < a->members.count ? a->members.items[i].mark : 0;
        check_with(audit, q, ALL_BUT, TF_LEVEL_FREE);
        check_with(audit, q, BELOW, level);
    }
}

/* I7: each is needed; and (§5) lower levels would not have done in its place. */
static void check_needed(struct audit *audit, const struct audit_site *site)
{
    struct question q = {.audit = audit, .site = site, .claimant = only_claimant(audit, site)};
    if (!q.claimant || !is_simple(site))
        return;
    tf_vec_each (at, &site->changes)
        (*at)->gives_step = is_victim(audit, site, *at) && goes_for_growth(audit, site, *at);
    tf_vec_each (at, &site->changes) {
        q.kept = *at;
        if (is_victim(audit, site, q.kept))
            check_one(audit, &q);
    }
}

static void forget_changes(struct audit_site *site)
{
    tf_vec_each (at, &site->changes) {
        tf_allocation_release(&(*at)->before);
        (*at)->changed = false;
    }
    site->changes.count = site->opened.count = 0;
    site->copied = false;
}

/* I5, of a drain that is not forced. What has lost some of itself besides may shrink for that. */
static void check_spared(struct audit *audit, const struct audit_site *site,
                         const struct audit_allocation *known)
{
    const struct audit_epoch *e = epoch_of(audit, known);
    bool other = audit_job(audit, known->a.uid)->scale_asked || has_lost(known) || e->troubled ||
                 e->released || audit_has_lost_a_node(audit, site, &known->a);
    tf_vec_each (at, &site->opened)
        other |= has_claimed(audit, site, *at);
    if (other || !audit_is_protected(audit, e) || rank_of(site, known->a.spec) >= site->ceiling)
        return;
    for (size_t i = 0; i < known->a.members.count; i++)
        if (begins_to_leave(known, i) && was_member(known, i) &&
            audit_drain_spares(audit, site, &known->a.members.items[i]))
            audit_fail(audit,
                       "I5: the drain of %s in %s stops an instance of epoch %" PRIu64
                       " of job %s, and its core is protected",
                       known->a.members.items[i].node, site->name, e->epoch, audit_uid(e->uid));
}

void audit_check_evicted(struct audit *audit, struct audit_site *site)
{
    bool any = false;
    for (size_t i = 0; !site->copied && i < site->changes.count; i++) {
        struct audit_allocation *known = site->changes.items[i];
        note_protection(audit, site, &known->a);
        note_resized(audit, known);
        audit_check_drained(audit, site, known);
        check_spared(audit, site, known);
        if (!is_victim(audit, site, known))
            continue;
        any = true;
        if (is_frozen(audit, site))
            audit_fail(audit, "§5: job %s gives way in %s, where evictions are frozen",
                       audit_uid(known->a.uid), site->name);
        check_victim(audit, site, known);
    }
    if (any)
        check_needed(audit, site);
    forget_changes(site);
}

/* I7: the ends that a claim may come to which has cost others something. */
void audit_check_claim_end(struct audit *audit, const struct audit_epoch *e)
{
    bool taken = e->end == TF_END_EVICTED; /* by a higher level, which is checked of each victim */
    bool explained = e->end == TF_END_RELEASED || taken || e->troubled || e->site->changed ||
                     e->job->scale_asked || !audit->calm; /* troubled: the start failed */
    if (e->took && !e->ran && !explained)
        audit_fail(audit, "I7: others went in %s for epoch %" PRIu64 " of job %s, which ends (%s) unstarted",
                   e->site->name, e->epoch, audit_uid(e->uid), tf_end_name(e->end));
}
