/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on a world at rest: every acknowledged job is done, runs, or waits for a true reason; nothing
 * is left that belongs to nothing. */
#include "tools/fedsim/audit/facts.h"

#include "common/base/alloc.h"

#include <inttypes.h>

/* Its job went with the federation's store, and it ran: an alarm has said so. */
static bool is_left_alone(struct audit *audit, struct tf_uid uid, uint64_t epoch)
{
    return audit_epoch(audit, uid, epoch)->rolled && !audit_job(audit, uid)->stored;
}

void audit_leftover(struct audit *audit, const char *cluster, const struct tf_instance_id *id)
{
    const struct audit_allocation *known = audit_allocation(audit_site(audit, cluster), id->uid);
    if ((!known || known->a.epoch != id->epoch) && !is_left_alone(audit, id->uid, id->epoch))
        audit_fail(audit, "rest: the engine of %s keeps a record of %s, of which no record is left", cluster,
                   audit_id(id));
}

void audit_explained(struct audit *audit, struct tf_uid uid, const char *cluster, enum tf_reason reason,
                     bool first)
{
    tf_vec_push(&audit_job(audit, uid)->whys, (struct audit_why){tf_strdup(cluster), reason, first});
}

/* ---- idle ---- */

/* Nobody knows how much of its node is left. */
static void note_strange(const struct audit_instance *i)
{
    const struct audit_allocation *known = audit_allocation(i->site, i->id.uid);
    if (i->live && i->node && (!known || known->a.epoch != i->id.epoch))
        i->node->strange = true;
}

static int32_t idle_on(const struct audit_node *node)
{
    uint64_t idle = tf_gpu_set_all(node->node.capacity.gpus) & ~node->node.foreign.gpus;
    for (unsigned gpu = 0; gpu < TF_NODE_GPUS_MAX; gpu++)
        if (node->holders[gpu])
            idle &= ~(UINT64_C(1) << gpu);
    return tf_gpu_set_count(idle);
}

/* Where something runs that no record knows, there is no saying what is idle. */
void audit_idle(struct audit *audit, const char *cluster, const struct tf_idle_causes *idle)
{
    const struct audit_site *site = audit_site(audit, cluster);
    int32_t all = 0;
    for (const struct audit_instance *i = audit->instances; i; i = i->hh.next)
        note_strange(i);
    for (const struct audit_node *node = site->nodes; node; node = node->hh.next) {
        if (node->strange)
            return;
        all += idle_on(node);
    }
    const int32_t causes[] = {idle->deliverable, idle->count, idle->cpu_memory, idle->topology,
                              idle->policy,      idle->step,  idle->health};
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++)
        if (causes[i] < 0)
            audit_fail(audit, "I15: at rest %s has %d idle GPUs under one cause", cluster, causes[i]);
    if (tf_idle_causes_sum(idle) != all)
        audit_fail(audit, "I15: at rest the idle causes of %s sum to %d, and %d of its GPUs are idle",
                   cluster, tf_idle_causes_sum(idle), all);
}

/* ---- running ---- */

static int32_t live_members(const struct audit_job *job, const struct audit_site *site, uint64_t epoch)
{
    int32_t count = 0;
    tf_vec_each (i, &job->instances)
        count += (*i)->live && (*i)->id.epoch == epoch && (*i)->site == site;
    return count;
}

/* I8, of a job that is short: no step more of it fits what is free. Where its anchor narrows that down is
 * more than the naive loop knows. */
static void check_short(struct audit *audit, const struct audit_site *site, const struct audit_job *job,
                        const struct tf_allocation *a)
{
    const struct tf_job_spec *spec = a->spec;
    bool simple = !spec->topology.count && !spec->max_nodes && job->record->placements.count == 1;
    int32_t more = simple ? audit_naive_count(site, a->uid, spec, a->model, true) : 0;
    if (!simple || a->grow_failures) /* what cannot start is tried again after a while */
        return;
    int32_t taken = audit_room_by_eviction(audit, site, a);
    if (taken >= spec->elastic.step)
        audit_fail(audit, "I8: at rest job %s has %d of its min of %d, and %s could evict others for %d more",
                   audit_uid(job->uid), a->size, spec->elastic.min, site->name, taken);
    if (more >= spec->elastic.step)
        audit_fail(audit, "I8: at rest job %s has %d of its min of %d, and %s could hold %d more",
                   audit_uid(job->uid), a->size, spec->elastic.min, site->name, more);
}

/* It keeps all that its owner has not taken. */
static void check_reserved(struct audit *audit, const struct audit_job *job)
{
    const struct tf_placement *p = &job->record->placements.items[0];
    const struct audit_allocation *known = audit_allocation(audit_site(audit, p->cluster), job->uid);
    const struct tf_allocation *a = known ? &known->a : NULL;
    if (!a || a->phase != TF_ALLOCATION_RESERVED || a->epoch != p->epoch || a->members.count ||
        a->claims.count == 0 || a->claims.count > (size_t)a->spec->elastic.min)
        audit_fail(audit, "I10: at rest %s does not keep what reservation %s is said to have there",
                   p->cluster, audit_uid(job->uid));
}

static void check_running(struct audit *audit, const struct audit_job *job)
{
    const struct tf_placement *p = &job->record->placements.items[0];
    struct audit_site *site = audit_site(audit, p->cluster);
    const struct audit_allocation *known = audit_allocation(site, job->uid);
    const struct tf_allocation *a = known ? &known->a : NULL;
    const char *uid = audit_uid(job->uid);
    int32_t ready = 0, done = 0;
    audit->counts.running_at_rest++;
    if (!a || a->phase != TF_ALLOCATION_RUNNING || a->epoch != p->epoch) {
        audit_fail(audit, "I14: at rest job %s is %s in %s, whose store does not say that it runs", uid,
                   tf_phase_name(job->record->phase), p->cluster);
        return;
    }
    tf_vec_each (m, &a->members) {
        ready += m->state == TF_MEMBER_READY;
        done += m->state == TF_MEMBER_DONE;
    }
    if (a->successor || tf_cross_goes_on(&job->record->cross))
        audit_fail(audit, "I10: at rest job %s is still on its way to another subcluster (%s)", uid,
                   tf_cross_state_name(job->record->cross.state));
    if (a->size < a->spec->elastic.min)
        check_short(audit, site, job, a);
    if (job->record->phase != TF_PHASE_RUNNING || ready + done != a->size ||
        live_members(job, site, a->epoch) != ready)
        audit_fail(audit,
                   "I4: at rest job %s is %s with %d of %d members ready, %d done, of which %d live in the "
                   "engine of %s",
                   uid, tf_phase_name(job->record->phase), ready, a->size, done,
                   live_members(job, site, a->epoch), p->cluster);
}

/* ---- jobs ---- */

static void check_job(struct audit *audit, const struct audit_job *job)
{
    const struct tf_job_record *r = job->record;
    const char *uid = audit_uid(job->uid);
    if (job->acked && !job->stored && !job->archived)
        audit_fail(audit, "I1: at rest job %s, acknowledged, is nowhere", uid);
    if (!job->stored)
        return;
    if (r->deleted)
        audit_fail(audit, "§7: at rest the name of the deleted job %s is not free", uid);
    else if (r->placements.count && tf_is_reservation(r->spec))
        check_reserved(audit, job);
    else if (r->placements.count)
        check_running(audit, job);
    else if (r->phase == TF_PHASE_PENDING)
        audit_check_waiting(audit, job);
    else if (!tf_phase_is_final(r->phase) && r->phase != TF_PHASE_HELD)
        audit_fail(audit, "I14: at rest job %s is %s without a placement", uid, tf_phase_name(r->phase));
}

/* ---- growing ---- */

/* Nothing but room can keep it from growing. Topology and maxNodes are more than the naive loop knows. */
static bool wants_more(const struct tf_allocation *a)
{
    const struct tf_elastic *e = &a->spec->elastic;
    if (a->phase != TF_ALLOCATION_RUNNING || a->spec->grow != TF_GROW_CONTINUOUS || a->grow_failures ||
        a->spec->topology.count || a->spec->max_nodes || a->size < e->min || a->size + e->step > e->max)
        return false;
    tf_vec_each (m, &a->members)
        if (m->state == TF_MEMBER_DONE || m->state == TF_MEMBER_LEAVING)
            return false;
    return true;
}

static void check_grown(struct audit *audit, const struct audit_site *site, const struct tf_allocation *a)
{
    int32_t step = a->spec->elastic.step;
    if (!wants_more(a) || is_left_alone(audit, a->uid, a->epoch))
        return;
    int32_t free = audit_room_to_grow(audit, site, a, false),
            lower = audit_room_to_grow(audit, site, a, true);
    if (free >= step)
        audit_fail(audit, "I8: at rest job %s has %d of %d instances, and in %s %d more are free",
                   audit_uid(a->uid), a->size, a->spec->elastic.max, site->name, free);
    else if (lower >= step)
        audit_fail(
            audit,
            "I8: at rest job %s has %d of %d instances, and in %s surplus of lower priorities has room for "
            "%d more",
            audit_uid(a->uid), a->size, a->spec->elastic.max, site->name, lower);
}

/* ---- nothing belongs to nothing ---- */

static void check_allocation(struct audit *audit, const struct audit_site *site,
                             const struct tf_allocation *a)
{
    const struct audit_epoch *e = audit_epoch(audit, a->uid, a->epoch);
    if (a->ended.count)
        audit_fail(audit, "rest: %s still keeps the end of epoch %" PRIu64 " of job %s", site->name,
                   a->ended.items[0].epoch, audit_uid(a->uid));
    bool left_alone = is_left_alone(audit, a->uid, a->epoch);
    if (a->phase != TF_ALLOCATION_IDLE && !left_alone && (!e->placed || e->site != site))
        audit_fail(audit, "I10: at rest %s has epoch %" PRIu64 " of job %s, which the federation has not",
                   site->name, a->epoch, audit_uid(a->uid));
}

static void check_instance(struct audit *audit, const struct audit_instance *i)
{
    const struct audit_allocation *known = audit_allocation(i->site, i->id.uid);
    const struct tf_allocation *a = known ? &known->a : NULL;
    if (i->live && !is_left_alone(audit, i->id.uid, i->id.epoch) &&
        (!a || a->phase == TF_ALLOCATION_IDLE || a->epoch != i->id.epoch))
        audit_fail(audit, "I3: at rest instance %s lives in %s without a record", audit_id(&i->id),
                   i->site->name);
}

void audit_rest(struct audit *audit)
{
    for (const struct audit_instance *i = audit->instances; i; i = i->hh.next)
        note_strange(i);
    for (const struct audit_job *job = audit->jobs; job; job = job->hh.next)
        check_job(audit, job);
    audit_check_order(audit);
    tf_vec_each (site, &audit->sites)
        audit_check_chains_at_rest(audit, *site);
    tf_vec_each (site, &audit->sites)
        audit_check_drains_at_rest(audit, *site);
    tf_vec_each (site, &audit->sites)
        for (const struct audit_allocation *known = (*site)->allocations; known; known = known->hh.next) {
            check_allocation(audit, *site, &known->a);
            check_grown(audit, *site, &known->a);
        }
    for (const struct audit_instance *i = audit->instances; i; i = i->hh.next)
        check_instance(audit, i);
}
