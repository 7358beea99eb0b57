/* SPDX-License-Identifier: Apache-2.0 */
/* What engines do: I2, I3, I12, I14 of DESIGN.md §9. */
#include "tools/fedsim/audit/facts.h"

#include "common/base/alloc.h"

#include <inttypes.h>

/* ---- starts ---- */

static const char *node_of(const struct audit_instance *i)
{
    return i->node ? i->node->node.name : "an unknown node";
}

/* Both of a move between subclusters may run while the job's record says so. A restored one may have
 * forgotten it. */
static bool may_overlap(struct audit *audit, const struct audit_job *job, uint64_t a, uint64_t b)
{
    uint64_t old = a < b ? a : b, new = a < b ? b : a;
    const struct tf_cross *c = &job->record->cross;
    const struct audit_epoch *e = audit_epoch(audit, job->uid, new);
    if (tf_cross_overlaps(c) && c->old_epoch == old && c->new_epoch == new)
        return true;
    return e->rolled && e->moved_from == old;
}

static void check_one_life(struct audit *audit, const struct audit_instance *new)
{
    tf_vec_each (at, &new->job->instances) {
        const struct audit_instance *i = *at;
        if (i == new)
            continue;
        if (tf_instance_id_eq(&i->id, &new->id) && !i->burnt)
            audit_fail(audit, "I2: instance %s starts on %s in %s, but it ran before, on %s in %s",
                       audit_id(&new->id), node_of(new), new->site->name, node_of(i), i->site->name);
        else if (audit_given_up(audit, i))
            continue; /* nobody could know whether it lives; it is stopped before its node is used again */
        else if (i->live && may_overlap(audit, new->job, i->id.epoch, new->id.epoch))
            continue;
        else if (i->live && i->id.epoch != new->id.epoch)
            audit_fail(audit, "I2: instance %s starts in %s while %s of another epoch of the job lives in %s",
                       audit_id(&new->id), new->site->name, audit_id(&i->id), i->site->name);
        else if (i->live && i->id.index == new->id.index &&
                 !(i->site == new->site && i->id.epoch == new->id.epoch &&
                   (audit_moves(new->site, &new->id) || audit_moves(new->site, &i->id) ||
                    audit_moved_before(new->site, &new->id))))
            audit_fail(audit, "I2: instance %s starts in %s while %s, the same member, lives in %s",
                       audit_id(&new->id), new->site->name, audit_id(&i->id), i->site->name);
    }
}

static void check_epoch(struct audit *audit, const struct audit_instance *new)
{
    const struct audit_epoch *e = audit_epoch(audit, new->id.uid, new->id.epoch);
    const char *id = audit_id(&new->id);
    /* its end went with the store before the leader had it, or with both stores */
    bool undone = e->local_rolled && (e->placed || e->rolled);
    if (e->ended && !undone && !(e->burnt && e->rolled))
        audit_fail(audit, "I14: instance %s starts in %s, where its epoch has ended (%s)", id,
                   new->site->name, tf_end_name(e->end));
    else if (e->dropped)
        audit_fail(audit, "I14: instance %s starts in %s, but the leader has stored the end of its epoch", id,
                   new->site->name);
    else if (e->rolled && !e->placed && e->site == new->site)
        return; /* the restored store has forgotten it, its subcluster has not */
    else if (!e->placed || e->site != new->site)
        audit_fail(audit, "I14: instance %s starts in %s, but the federation's store has no such placement",
                   id, new->site->name);
}

/* The intent is durable before the engine is asked. */
static void check_intent(struct audit *audit, const struct audit_instance *new)
{
    const struct audit_allocation *known = audit_allocation(new->site, new->id.uid);
    const struct tf_allocation *a = known ? &known->a : NULL;
    if (audit_epoch(audit, new->id.uid, new->id.epoch)->local_rolled)
        return; /* the call may have been on its way when the store was restored */
    const struct tf_member *m = a && a->epoch == new->id.epoch &&new->id.index < a->members.count
                                    ? &a->members.items[new->id.index]
                                    : NULL;
    bool meant = m && (m->attempt >= new->id.attempt || m->attempts >= new->id.attempt);
    if (!meant)
        audit_fail(audit, "§2: instance %s starts in %s, whose store has no intent to start it",
                   audit_id(&new->id), new->site->name);
}

static void check_capacity(struct audit *audit, const struct audit_instance *new)
{
    const struct audit_node *node = new->node;
    struct tf_vector sum = {0};
    if (!node || tf_gpu_set_count(new->gpus) != new->need.gpus ||
        (new->gpus & ~tf_gpu_set_all(node->node.capacity.gpus)) || (new->gpus & node->node.foreign.gpus)) {
        audit_fail(audit, "I3: instance %s starts on GPUs of %s that are not ours, or not as many as asked",
                   audit_id(&new->id), node_of(new));
        return;
    }
    tf_vec_each (at, &node->live) {
        const struct audit_instance *i = *at;
        sum = tf_vector_add(sum, i->need);
        if (i != new && (i->gpus & new->gpus))
            audit_fail(audit, "I3: instances %s and %s run on the same GPU of %s in %s", audit_id(&i->id),
                       audit_id(&new->id), node_of(new), new->site->name);
    }
    sum.gpus = 0;
    if (!tf_vector_fits(sum, node->node.capacity))
        audit_fail(audit, "I3: with instance %s more runs on %s in %s than it can hold", audit_id(&new->id),
                   node_of(new), new->site->name);
}

void audit_check_start(struct audit *audit, const struct audit_instance *new)
{
    check_one_life(audit, new);
    check_epoch(audit, new);
    check_intent(audit, new);
    check_capacity(audit, new);
    audit_check_silence(audit, new);
}

static struct audit_instance *add_instance(struct audit *audit, const char *cluster,
                                           const struct tf_instance_id *id, const char *node)
{
    struct audit_instance *i = tf_calloc(1, sizeof *i);
    i->id = *id;
    i->job = audit_job(audit, id->uid);
    i->site = audit_site(audit, cluster);
    i->node = audit_find_node(i->site, node);
    i->key = (struct audit_key){*id, i->site->number};
    struct audit_instance *before = audit_instance(audit, cluster, id);
    if (before && before->burnt)
        HASH_DEL(audit->instances, before);
    HASH_ADD(hh, audit->instances, key, sizeof i->key, i);
    tf_vec_push(&i->job->instances, i);
    return i;
}

void audit_started(struct audit *audit, const char *cluster, const struct tf_instance_id *id,
                   const char *node, uint64_t gpus, struct tf_vector need)
{
    struct audit_instance *i = add_instance(audit, cluster, id, node);
    i->gpus = gpus;
    i->need = need;
    i->live = true;
    i->started = audit->now;
    i->job->live++;
    if (i->node)
        tf_vec_push(&i->node->live, i);
    audit->counts.starts++;
    struct audit_epoch *e = audit_epoch(audit, id->uid, id->epoch);
    if (!e->ran)
        e->first = audit->now;
    e->ran = true;
    e->started = audit->now;
    audit_note_move_start(i->site, i);
    audit_check_start(audit, i);
}

/* ---- ends ---- */

static void leave_node(struct audit_instance *i)
{
    for (size_t n = 0; i->node && n < i->node->live.count; n++)
        if (i->node->live.items[n] == i) {
            tf_vec_remove(&i->node->live, n);
            return;
        }
}

void audit_ended(struct audit *audit, const char *cluster, const struct tf_instance_id *id,
                 enum audit_end end)
{
    struct audit_instance *i = audit_instance(audit, cluster, id);
    i->job->live -= i->live;
    i->live = false;
    if (i->node && audit_is_stray(i->site, id))
        i->node->changed = audit->now; /* its daemon counts it until it hears of that */
    if (i->node)
        audit_note_freed(audit, i->node, i->gpus);
    leave_node(i);
    audit->counts.ends++;
    if (end != AUDIT_STOPPED)
        audit_epoch(audit, id->uid, id->epoch)->troubled = true;
}

void audit_ready(struct audit *audit, const char *cluster, const struct tf_instance_id *id)
{
    struct audit_instance *i = audit_instance(audit, cluster, id);
    if (i->ready.ms == 0)
        i->ready = audit->now;
}

void audit_refused(struct audit *audit, const struct tf_instance_id *id)
{
    audit_epoch(audit, id->uid, id->epoch)->troubled = true;
}

/* One of its instances takes too long to get ready, as far as its daemon can know by now. */
static bool is_slow(const struct audit *audit, const struct audit_job *job, const struct audit_instance *i)
{
    enum { SLACK = 3 * TF_SECOND, NEWS = 20 * TF_SECOND };
    const struct tf_ready_probe *ready = &job->manifest.spec.group.ready;
    int64_t bound = ready->command.count && ready->timeout > 0 ? ready->timeout : audit->start_timeout;
    bool known_ready = i->ready.ms != 0 && audit->now.ms - i->ready.ms > NEWS;
    return i->live && !known_ready && audit->now.ms - i->started.ms >= bound - SLACK;
}

/* The job's own clocks: maxRuntime, a start that takes too long. */
static bool clock_may_stop(const struct audit *audit, const struct audit_job *job,
                           const struct audit_epoch *epoch)
{
    enum { SLACK = 11 * TF_SECOND }; /* wall clocks differ */
    int64_t max = job->manifest.spec.max_runtime;
    if (max > 0 && audit->now.ms - epoch->first.ms >= max - SLACK - audit->clock_error)
        return true;
    tf_vec_each (i, &job->instances)
        if ((*i)->id.epoch == epoch->epoch && is_slow(audit, job, *i))
            return true;
    return false;
}

static bool was_lost_of_late(const struct audit *audit, const struct audit_node *node)
{
    enum { NEWS = 40 * TF_SECOND };
    return node && node->lost.ms && audit->now.ms - node->lost.ms < NEWS;
}

/* The node of one of its members was lost, a moment ago as its daemon hears of it. The store may name it
 * still for a member that was never started, or for one that was replaced in the same decision only the
 * engine. */
bool audit_has_lost_a_node(struct audit *audit, const struct audit_site *site, const struct tf_allocation *a)
{
    tf_vec_each (m, &a->members)
        if (was_lost_of_late(audit, audit_find_node(site, m->node)))
            return true;
    tf_vec_each (i, &audit_job(audit, a->uid)->instances)
        if ((*i)->given_up && (*i)->site == site && (*i)->id.epoch == a->epoch &&
            was_lost_of_late(audit, (*i)->node))
            return true;
    return false;
}

/* The deadline of a drain may stop all of it, where less than all is not enough. */
static bool is_drained(struct audit *audit, const char *cluster, const struct audit_epoch *epoch)
{
    struct audit_site *site = audit_site(audit, cluster);
    const struct audit_allocation *known = audit_allocation(site, epoch->uid);
    bool now = known && known->a.epoch == epoch->epoch && audit_is_drained(audit, site, &known->a);
    return now || audit_was_drained(audit, site, epoch);
}

/* It went on without what its cluster gave up with a node, and in all of its repairWait found no place for
 * that. */
static bool is_not_repaired(struct audit *audit, const char *cluster, const struct audit_epoch *e)
{
    const struct audit_allocation *known = audit_allocation(audit_site(audit, cluster), e->uid);
    if (!known || known->a.epoch != e->epoch || known->a.phase != TF_ALLOCATION_ENDING ||
        known->a.ending.end != TF_END_LOST)
        return false;
    tf_vec_each (i, &e->job->instances)
        if ((*i)->given_up && (*i)->id.epoch == e->epoch)
            return true;
    return false;
}

static bool lost_a_node(struct audit *audit, const char *cluster, const struct audit_epoch *epoch)
{
    struct audit_site *site = audit_site(audit, cluster);
    const struct audit_allocation *known = audit_allocation(site, epoch->uid);
    return known && known->a.epoch == epoch->epoch && audit_has_lost_a_node(audit, site, &known->a);
}

/* Its subcluster has stored another size of the job: the member goes since people asked for less, or since it
 * has not joined yet and will not; or all are to learn of it. Or what it stored is a copy of before the job
 * grew. */
static bool is_resized(struct audit *audit, const char *cluster, const struct audit_job *job,
                       const struct tf_instance_id *id)
{
    const struct audit_allocation *known = audit_allocation(audit_site(audit, cluster), id->uid);
    const struct tf_allocation *a = known ? &known->a : NULL;
    const struct audit_epoch *e = audit_epoch(audit, id->uid, id->epoch);
    if (job->scale_asked && e->local_rolled) /* the call was on its way when the store forgot why */
        return true;
    if (!a || a->epoch != id->epoch)
        return e->local_rolled && e->resized; /* its record went while the call was on its way */
    if (audit_moves(audit_site(audit, cluster), id) || audit_moves_whole(audit_site(audit, cluster), id->uid))
        return true;
    if (id->index >= a->members.count)
        return e->local_rolled && e->resized;
    const struct tf_member *m = &a->members.items[id->index];
    if (m->attempt < id->attempt && e->local_rolled && e->resized)
        return true;
    bool resized = job->scale_asked || e->resized;
    if (m->state == TF_MEMBER_LEAVING)
        return job->scale_asked || e->shrunk || e->turned_back;
    return resized && a->spec->on_resize == TF_ON_RESIZE_RESTART;
}

/* A move had begun when the store was put back: it runs twice, and the copy knows one of both at most. Or the
 * call to stop the old one was on its way. */
static bool runs_twice(const struct audit_job *job, const struct audit_epoch *e,
                       const struct tf_instance_id *id)
{
    if (!e->local_rolled)
        return false;
    tf_vec_each (i, &job->instances) {
        const struct tf_instance_id *other = &(*i)->id;
        if ((*i)->live && other->epoch == id->epoch && other->index == id->index &&
            other->attempt != id->attempt)
            return true;
    }
    return false;
}

/* Its end was promised to the epoch that follows it in another subcluster. */
static bool is_promised(struct audit *audit, const char *cluster, const struct tf_instance_id *id)
{
    const struct audit_allocation *known = audit_allocation(audit_site(audit, cluster), id->uid);
    return known && known->a.epoch == id->epoch && known->a.successor != 0;
}

/* A restored store has forgotten their move, and of two that run only the later one is taken for the job. */
static bool was_to_be_followed(const struct audit_job *job, const struct audit_epoch *e)
{
    tf_vec_each (at, &job->epochs)
        if ((*at)->moved_from == e->epoch && (*at)->rolled && (*at)->placed)
            return true;
    return false;
}

/* I12. A stop needs a cause that is not silence: a user's word, a release that the federation has stored, the
 * end of a fellow, or a clock of the job itself. */
void audit_stop(struct audit *audit, const char *cluster, const struct tf_instance_id *id)
{
    struct audit_epoch *e = audit_epoch(audit, id->uid, id->epoch);
    const struct audit_job *job = audit_job(audit, id->uid);
    const struct audit_instance *i = audit_instance(audit, cluster, id);
    audit->counts.stops++;
    audit_check_move_stop(audit, audit_site(audit, cluster), id);
    if (i && audit_given_up(audit, i))
        return; /* its fellows need not follow */
    bool forgotten =
        !e->placed && !(e->rolled && !e->dropped && !audit->burnt); /* what was told before, a restored store
                                                                     * may not know: that is no cause */
    if (job->delete_asked || job->hold_asked || e->troubled || e->released || forgotten || e->ended)
        return;
    if (is_resized(audit, cluster, job, id) || runs_twice(job, e, id) || is_promised(audit, cluster, id) ||
        was_to_be_followed(job, e))
        return;
    if (clock_may_stop(audit, job, e) || lost_a_node(audit, cluster, e) || is_drained(audit, cluster, e) ||
        is_not_repaired(audit, cluster, e))
        e->troubled = true; /* its fellows follow */
    else
        audit_fail(audit, "I12: instance %s in %s is stopped, and nobody and nothing has asked for that",
                   audit_id(id), cluster);
}

/* From now on the engine would not refuse what it had refused. */
void audit_forgotten(struct audit *audit, const char *cluster, struct tf_uid uid, uint64_t epoch)
{
    const struct audit_site *site = audit_site(audit, cluster);
    const struct audit_epoch *e = audit_epoch(audit, uid, epoch);
    bool ended_before = e->local_rolled || (e->rolled && e->ended); /* of a restore */
    if (e->placed && !ended_before && e->site == site)
        audit_fail(audit,
                   "I14: the engine of %s is told to forget epoch %" PRIu64
                   " of job %s, whose end the leader has not stored",
                   cluster, epoch, audit_uid(uid));
    tf_vec_each (at, &e->job->instances) {
        const struct audit_instance *i = *at;
        if (i->live && i->id.epoch == epoch && i->site == site)
            audit_fail(audit, "I14: the engine of %s is told to forget instance %s, which runs", cluster,
                       audit_id(&i->id));
    }
}
