/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes durable, and what is said: I1, I2, I3, I14 of DESIGN.md §9, and "persist, then act and tell"
 * of §2. Who gives way for whom is judged in evict.c. */
#include "tools/fedsim/audit/facts.h"

#include "common/base/alloc.h"
#include "common/base/text.h"

#include <inttypes.h>

/* ---- the federation's jobs ---- */

const struct tf_job_record audit_no_record = {0};

void audit_forget_record(struct audit_job *job)
{
    if (job->record == &audit_no_record)
        return;
    struct tf_job_record *own = (struct tf_job_record *)(uintptr_t)job->record;
    job->record = &audit_no_record;
    tf_job_record_release(own);
    free(own);
}

/* What was known before is left in the record. */
static void keep_record(struct audit_job *job, struct tf_job_record *record)
{
    bool none = job->record == &audit_no_record;
    struct tf_job_record *own =
        none ? tf_calloc(1, sizeof *own) : (struct tf_job_record *)(uintptr_t)job->record;
    struct tf_job_record before = *own;
    *own = *record;
    *record = before;
    job->record = own;
}

/* As far as its cluster can know. Epoch 0: of any. */
static bool any_live(const struct audit *audit, const struct audit_job *job, uint64_t epoch)
{
    if (job->live == 0)
        return false;
    tf_vec_each (i, &job->instances)
        if ((*i)->live && (epoch == 0 || (*i)->id.epoch == epoch) && !audit_given_up(audit, *i))
            return true;
    return false;
}

/* In truth. */
static bool any_runs(const struct audit_epoch *e)
{
    tf_vec_each (i, &e->job->instances)
        if ((*i)->live && (*i)->id.epoch == e->epoch)
            return true;
    return false;
}

/* The federation has stored the end of an epoch: nothing of it may live, and it must really have ended. */
void audit_check_dropped(struct audit *audit, const struct audit_epoch *e)
{
    if (any_live(audit, e->job, e->epoch))
        audit_fail(audit,
                   "I14: the end of epoch %" PRIu64 " of job %s is stored while an instance of it lives",
                   e->epoch, audit_uid(e->uid));
    else if (!e->ended && e->recorded &&
             !(e->denied && e->local_rolled)) /* of a restore since, it has it again */
        audit_fail(audit,
                   "I14: the end of epoch %" PRIu64 " of job %s is stored, but %s, which took it, has not "
                   "ended it",
                   e->epoch, audit_uid(e->uid), e->site ? e->site->name : "its subcluster");
}

static const struct tf_placement *placement_of(const struct tf_job_record *record, uint64_t epoch)
{
    tf_vec_each (p, &record->placements)
        if (p->epoch == epoch)
            return p;
    return NULL;
}

static void drop_epochs(struct audit *audit, const struct audit_job *job, const struct tf_job_record *now)
{
    tf_vec_each (at, &job->epochs) {
        struct audit_epoch *e = *at;
        if (!e->placed || (now && placement_of(now, e->epoch)))
            continue;
        e->placed = false;
        e->dropped = true;
        audit_count_promise(audit, e);
        audit_check_dropped(audit, e);
    }
}

/* Its placement went with the store, and its subcluster never took it, or has forgotten that in the same way:
 * its number is free. */
static bool never_told(const struct audit_epoch *e)
{
    bool forgotten = !e->recorded && (!e->ran || e->burnt || e->local_rolled);
    return e->rolled && !e->placed && forgotten && !any_runs(e);
}

/* Nobody has any record of what ran of it. */
static void forget_instances(const struct audit_epoch *e)
{
    tf_vec_each (i, &e->job->instances)
        (*i)->burnt |= (*i)->id.epoch == e->epoch;
}

/* It is as if it had never been. */
static void begins_anew(struct audit_epoch *e)
{
    e->site = NULL;
    e->dropped = e->released = e->ended = e->recorded = e->troubled = e->ran = false;
    e->rolled = e->burnt = false; /* its subcluster may still forget what it was before */
    forget_instances(e);
}

static void note_number(struct audit *audit, struct audit_epoch *new)
{
    struct audit_epoch *e = NULL;
    HASH_FIND(hh, audit->numbers, &new->epoch, sizeof new->epoch, e);
    if (!e)
        HASH_ADD(hh, audit->numbers, epoch, sizeof new->epoch, new);
    else if (e != new &&never_told(e)) {
        HASH_DEL(audit->numbers, e);
        HASH_ADD(hh, audit->numbers, epoch, sizeof new->epoch, new);
    } else if (e != new && !new->rolled)
        audit_fail(audit, "I2: epoch %" PRIu64 " was given to job %s and to job %s", new->epoch,
                   audit_uid(e->uid), audit_uid(new->uid));
}

static void take_placement(struct audit *audit, const struct tf_job_record *record,
                           const struct tf_placement *p)
{
    struct audit_epoch *e = audit_epoch(audit, record->uid, p->epoch);
    struct audit_site *site = audit_site(audit, p->cluster);
    if (never_told(e) && (!audit->copied || e->site != site)) /* a copy may be of another past */
        begins_anew(e);
    else if (never_told(e)) /* not placed in an older copy, but in this: new to its subcluster */
        forget_instances(e);
    if (e->dropped)
        audit_fail(audit, "I14: epoch %" PRIu64 " of job %s is placed again after its end was stored",
                   p->epoch, audit_uid(record->uid));
    if (e->site && e->site != site)
        audit_fail(audit, "I2: epoch %" PRIu64 " of job %s goes from %s to %s", p->epoch,
                   audit_uid(record->uid), e->site->name, p->cluster);
    if (!e->placed) {
        note_number(audit, e);
        if (site->cordoned && !e->rolled)
            audit_fail(audit, "§3.1: epoch %" PRIu64 " of job %s is placed in %s, which is cordoned",
                       p->epoch, audit_uid(record->uid), p->cluster);
        audit->counts.placements++;
        site->placed = true;
    }
    e->site = site;
    tf_str_set(&e->model, p->model);
    e->placed = true;
    e->size = p->size;
    e->released |= p->release != TF_RELEASE_NONE;
    e->level = p->level;
    audit_count_promise(audit, e);
}

/* I1: a record goes only into the archive, or when its user deleted it (then, too). */
static void check_gone(struct audit *audit, struct audit_job *job)
{
    if (job->acked && !job->archived)
        audit_fail(audit, "I1: job %s was acknowledged and is neither stored nor archived any more",
                   audit_uid(job->uid));
    if (any_live(audit, job, 0))
        audit_fail(audit, "I1: job %s goes from the store while an instance of it lives",
                   audit_uid(job->uid));
    drop_epochs(audit, job, NULL);
    HASH_DELETE(by_name, audit->names, job);
    tf_str_set(&job->stored_as, NULL);
    job->stored = false;
    audit_forget_record(job);
}

static void is_stored(struct audit *audit, struct audit_job *job, const struct tf_job_record *record)
{
    job->stored = true;
    job->submitted = record->submitted;
    job->stored_as = tf_asprintf("%s/%s", record->tenant, record->name);
    HASH_ADD_KEYPTR(by_name, audit->names, job->stored_as, strlen(job->stored_as), job);
}

/* Whoever repeats a submit for longer than finished jobs are kept begins the job anew; nobody else does. */
static void comes_back(struct audit *audit, struct audit_job *job)
{
    if (job->acked)
        audit_fail(audit, "I1: job %s, acknowledged and archived, is stored again", audit_uid(job->uid));
    job->archived = false;
    job->version = 0;
}

/* I2, I10: two placements are those of a recorded move, and the new one becomes the job only when the old
 * subcluster's promise to end the old one is durable, or nothing is left to be promised. */
static void check_cross(struct audit *audit, struct audit_job *job, const struct tf_job_record *record)
{
    const struct tf_cross *c = &record->cross;
    bool overlaps = tf_cross_overlaps(c);
    tf_vec_each (p, &record->placements)
        if (record->placements.count > 2 || (record->placements.count == 2 && !overlaps) ||
            (record->placements.count == 2 && p->epoch != c->old_epoch && p->epoch != c->new_epoch))
            audit_fail(audit, "I2: job %s has %zu placements at a time", audit_uid(record->uid),
                       record->placements.count);
    if (overlaps && c->new_epoch)
        audit_epoch(audit, record->uid, c->new_epoch)->moved_from = c->old_epoch;
    bool known = job->stored && job->record->cross.state == TF_CROSS_SWITCHED;
    if (c->state != TF_CROSS_SWITCHED || known || audit->copied)
        return;
    const struct audit_epoch *old = audit_epoch(audit, record->uid, c->old_epoch);
    const struct audit_allocation *at = old->site ? audit_allocation(old->site, record->uid) : NULL;
    bool promised = at && at->a.epoch == c->old_epoch && at->a.successor == c->new_epoch;
    if (!promised && !old->ended && !old->local_rolled && !old->burnt)
        audit_fail(audit,
                   "I10: job %s is switched to epoch %" PRIu64
                   " before %s has promised to end epoch %" PRIu64,
                   audit_uid(record->uid), c->new_epoch, c->from, c->old_epoch);
}

/* Of a subcluster whose store was restored what runs without a record is taken for Running. */
static bool may_be_running(struct audit *audit, const struct tf_job_record *record,
                           const struct tf_placement *last)
{
    const struct audit_epoch *e = last ? audit_epoch(audit, record->uid, last->epoch) : NULL;
    return e && (e->was_ready || e->rolled || e->local_rolled);
}

/* It had epochs when the store was restored. More may run than the copy, or what was adopted since, knows of,
 * and so the leader waits for each subcluster. */
static bool was_restored(struct audit *audit, struct tf_uid uid)
{
    tf_vec_each (e, &audit_job(audit, uid)->epochs)
        if ((*e)->rolled)
            return true;
    return false;
}

/* §3.1: a phase tells the truth. Of a job that is Running the core was ready, and of one that is deleted
 * nothing waits. */
static void check_phase(struct audit *audit, const struct tf_job_record *record)
{
    size_t count = record->placements.count;
    const struct tf_placement *last = count ? &record->placements.items[count - 1] : NULL;
    if (record->phase == TF_PHASE_RUNNING && !may_be_running(audit, record, last) && !audit->copied)
        audit_fail(audit, "§3.1: job %s is stored as Running, and its core was never ready",
                   audit_uid(record->uid));
    if (record->deleted && !last && !tf_phase_is_final(record->phase) && !was_restored(audit, record->uid))
        audit_fail(audit, "§3.1: job %s is deleted, nothing of it is left, and it is stored as %s",
                   audit_uid(record->uid), tf_phase_name(record->phase));
}

static void take_job(struct audit *audit, struct tf_job_record *record)
{
    struct audit_job *old = audit_stored_job(audit, record->tenant, record->name);
    /* One transaction may take the record of an archived job away and store the repeat of its submit. */
    if (old && (!tf_uid_eq(old->uid, record->uid) || (old->archived && record->version == 1)))
        check_gone(audit, old);
    struct audit_job *job = audit_job(audit, record->uid);
    if (!job->asked)
        audit_fail(audit, "I1: job %s/%s is stored, but nobody has submitted it", record->tenant,
                   record->name);
    if (job->stored && record->version <= job->version)
        audit_fail(audit, "§7: version %" PRIu64 " of job %s is written after version %" PRIu64,
                   record->version, audit_uid(record->uid), job->version);
    if (job->stored && record->submitted.ms != job->record->submitted.ms)
        audit_fail(audit, "§8.2: job %s loses its submit time, and with that its place in the queue",
                   audit_uid(record->uid));
    if (job->delete_acked && !record->deleted)
        audit_fail(audit, "I1: job %s was deleted, acknowledged, and is not deleted any more",
                   audit_uid(record->uid));
    check_cross(audit, job, record);
    check_phase(audit, record);
    if (!job->stored && job->archived)
        comes_back(audit, job);
    if (!job->stored)
        is_stored(audit, job, record);
    job->acked |= job->acked_before;
    job->acked_before = false;
    struct tf_mono *since = record->placements.count ? &job->placed : &job->waits;
    if (!since->ms)
        *since = audit->now;
    job->version = record->version;
    keep_record(job, record);
    drop_epochs(audit, job, job->record);
    tf_vec_each (p, &job->record->placements)
        take_placement(audit, job->record, p);
}

void audit_archived(struct audit *audit, const struct tf_job_record *record)
{
    struct audit_job *job = audit_job(audit, record->uid);
    audit->counts.archived++;
    if (!tf_phase_is_final(record->phase))
        audit_fail(audit, "I1: job %s is archived as %s", audit_uid(record->uid),
                   tf_phase_name(record->phase));
    if (job->archived && job->archived_phase != record->phase)
        audit_fail(audit, "I1: job %s is archived as %s after it was archived as %s", audit_uid(record->uid),
                   tf_phase_name(record->phase), tf_phase_name(job->archived_phase));
    job->archived = true;
    job->archived_phase = record->phase;
}

static void federation_record(struct audit *audit, struct tf_record *record)
{
    if (record->kind != TF_RECORD_JOB)
        return;
    if (!record->gone) {
        take_job(audit, &record->job);
        return;
    }
    struct audit_job *job = audit_stored_job(audit, record->job.tenant, record->job.name);
    if (job)
        check_gone(audit, job);
}

/* ---- a subcluster's allocations ---- */

static bool has_ended(const struct tf_allocation *a, uint64_t epoch)
{
    tf_vec_each (ended, &a->ended)
        if (ended->epoch == epoch)
            return true;
    return false;
}

/* Ends leave the record only when the leader has stored them. */
static void check_kept_ends(struct audit *audit, const struct audit_site *site,
                            const struct tf_allocation *old, const struct tf_allocation *new)
{
    tf_vec_each (ended, &old->ended) {
        const struct audit_epoch *e = audit_epoch(audit, old->uid, ended->epoch);
        bool ended_before = e->rolled && e->ended; /* of a restore: it was stored, as it was told */
        if ((!new || !has_ended(new, ended->epoch)) && e->placed && !ended_before && e->site == site)
            audit_fail(audit,
                       "I14: %s forgets the end of epoch %" PRIu64
                       " of job %s, which the leader has not stored",
                       site->name, ended->epoch, audit_uid(old->uid));
    }
    struct audit_epoch *e = audit_epoch(audit, old->uid, old->epoch);
    bool lived = old->phase != TF_ALLOCATION_IDLE;
    bool lives = new &&new->phase != TF_ALLOCATION_IDLE &&new->epoch == old->epoch;
    if (!lived || lives || (new &&has_ended(new, old->epoch)))
        return;
    if (e->local_rolled)
        e->recorded = false; /* it went on without this record: to be adopted, or unknown */
    else if (e->placed)
        audit_fail(audit, "I14: epoch %" PRIu64 " of job %s leaves the store of %s without an end",
                   old->epoch, audit_uid(old->uid), site->name);
}

static void take_end(struct audit *audit, struct audit_site *site, const struct tf_allocation *a,
                     const struct tf_ended *ended)
{
    struct audit_epoch *e = audit_epoch(audit, a->uid, ended->epoch);
    if (e->site != site || e->ended)
        return;
    e->ended = true;
    e->end = ended->end;
    audit_note_opened(site, e);
    audit_check_claim_end(audit, e);
    if (ended->end == TF_END_REFUSED && ended->reason != TF_REASON_ENGINE) {
        audit->counts.refusals++;
        tf_vec_push(&site->refused, e);
    }
    /* of one whose record went with a restored store the end is written first, told later */
    if (!e->local_rolled)
        tf_vec_push(&site->ended, e);
}

/* What gives up a node of theirs may come after them in the same transaction: together they are one decision.
 */
static void check_ended(struct audit *audit, struct audit_site *site)
{
    tf_vec_each (at, &site->ended) {
        const struct audit_epoch *e = *at;
        if (any_live(audit, e->job, e->epoch))
            audit_fail(audit, "I14: %s records the end (%s) of epoch %" PRIu64 " of job %s while it lives",
                       site->name, tf_end_name(e->end), e->epoch, audit_uid(e->uid));
    }
    site->ended.count = 0;
}

static void take_live(struct audit *audit, struct audit_site *site, const struct tf_allocation *a)
{
    struct audit_epoch *e = audit_epoch(audit, a->uid, a->epoch);
    if (e->ended && !e->local_rolled)
        audit_fail(audit, "I14: epoch %" PRIu64 " of job %s lives again in the store of %s", a->epoch,
                   audit_uid(a->uid), site->name);
    if (e->site != site)
        audit_fail(audit, "I14: %s takes epoch %" PRIu64 " of job %s, which was not placed there", site->name,
                   a->epoch, audit_uid(a->uid));
    if (e->dropped && !e->local_rolled)
        audit_fail(audit,
                   "I14: epoch %" PRIu64 " of job %s is alive in the store of %s after the leader has stored "
                   "its end",
                   a->epoch, audit_uid(a->uid), site->name);
    e->was_ready |= a->phase == TF_ALLOCATION_RUNNING || a->phase == TF_ALLOCATION_RESERVED;
    if (!e->recorded && tf_term_cmp(a->term, site->term) < 0)
        audit_fail(audit, "§7: %s takes epoch %" PRIu64 " of a leader that another has followed", site->name,
                   a->epoch);
    if (!e->recorded)
        audit_note_opened(site, e);
    e->recorded = true;
}

static void promises_changed(const struct audit *audit, const struct audit_job *job)
{
    tf_vec_each (e, &job->epochs)
        audit_count_promise(audit, *e);
}

static bool waits_for_claims(const struct tf_allocation *a)
{
    return a->phase == TF_ALLOCATION_CLAIMING || (a->phase == TF_ALLOCATION_RUNNING && a->claims.count);
}

enum {
    PROMISED_FOR = TF_MINUTE, /* what a leader asks for */
    PROMISE_LATE = 10 * TF_SECOND,
    PROMISE_WRITES = 3, /* those that were on their way to a store that did not answer */
};

static void note_promise(struct audit *audit, struct audit_site *site, struct audit_allocation *known,
                         bool promised)
{
    if (promised == (known->promised.ms != 0))
        return;
    site->promised += promised ? 1 : -1;
    known->promised.ms = promised ? audit->now.ms : 0;
    known->late = 0;
}

/* §7, I14: what was promised to another epoch ends, also if nobody can ask for it: whoever writes lives. */
static void check_promises(struct audit *audit, const struct audit_site *site)
{
    if (site->promised == 0)
        return;
    for (struct audit_allocation *known = site->allocations; known; known = known->hh.next) {
        int64_t held = known->promised.ms ? audit->now.ms - known->promised.ms : 0;
        known->late += held > PROMISED_FOR + PROMISE_LATE + 2 * (audit->skew + audit->clock_error);
        if (known->late > PROMISE_WRITES)
            audit_fail(audit,
                       "I14: epoch %" PRIu64 " of job %s goes on in %s, which promised its end %lld s ago",
                       known->a.epoch, audit_uid(known->a.uid), site->name, (long long)(held / TF_SECOND));
    }
}

static void take_allocation(struct audit *audit, struct audit_site *site, struct tf_allocation *record)
{
    struct audit_allocation *known = audit_allocation(site, record->uid);
    site->claiming += waits_for_claims(record) - (known && waits_for_claims(&known->a));
    if (known) {
        check_kept_ends(audit, site, &known->a, record);
        audit_count_allocation(audit, site, &known->a, -1);
    } else {
        known = tf_calloc(1, sizeof *known);
        known->a.uid = record->uid;
        known->a.spec = tf_spec_none();
        HASH_ADD(hh, site->allocations, a.uid, sizeof known->a.uid, known);
    }
    audit_keep_before(site, known);
    struct tf_allocation before = known->a;
    const struct tf_allocation *new = &known->a;
    known->a = *record;
    *record = before;
    bool goes_on = new->phase != TF_ALLOCATION_IDLE &&new->phase != TF_ALLOCATION_ENDING;
    note_promise(audit, site, known, goes_on && new->successor != 0);
    audit_count_allocation(audit, site, &known->a, 1);
    tf_vec_each (ended, &new->ended)
        take_end(audit, site, new, ended);
    if (new->phase != TF_ALLOCATION_IDLE)
        take_live(audit, site, new);
    audit_note_moves(audit, site, new);
    audit_check_size(audit, site, new);
    promises_changed(audit, audit_job(audit, new->uid));
}

static void drop_allocation(struct audit *audit, struct audit_site *site, struct tf_uid uid)
{
    struct audit_allocation *known = audit_allocation(site, uid);
    if (!known)
        return;
    check_kept_ends(audit, site, &known->a, NULL);
    audit_drop_before(site, known);
    note_promise(audit, site, known, false);
    site->claiming -= waits_for_claims(&known->a);
    audit_count_allocation(audit, site, &known->a, -1);
    HASH_DEL(site->allocations, known);
    tf_allocation_release(&known->a);
    free(known);
    promises_changed(audit, audit_job(audit, uid));
}

static void take_term(struct audit *audit, struct audit_site *site, struct tf_term term)
{
    if (tf_term_cmp(term, site->term) < 0)
        audit_fail(audit, "§7: the highest term that %s has stored goes down", site->name);
    site->term = term;
}

/* ---- a store that was restored ---- */

static void forget_job(struct audit *audit, struct audit_job *job)
{
    job->acked_before |= job->acked;
    job->acked = job->archived = job->delete_acked = false;
    job->version = 0;
    tf_vec_each (at, &job->epochs) {
        struct audit_epoch *e = *at;
        e->placed = e->dropped = false;
        e->rolled = true;
        audit_count_promise(audit, e);
    }
    if (!job->stored)
        return;
    HASH_DELETE(by_name, audit->names, job);
    tf_str_set(&job->stored_as, NULL);
    job->stored = false;
    audit_forget_record(job);
}

static void federation_restored(struct audit *audit)
{
    audit->copied = true;
    for (struct audit_job *job = audit->jobs; job; job = job->hh.next)
        forget_job(audit, job);
    tf_vec_each (site, &audit->sites)
        (*site)->cordoned = false;
}

/* The copy may take them for running: their fellows go with them. */
static bool has_ended_members(const struct audit_epoch *e)
{
    tf_vec_each (i, &e->job->instances)
        if ((*i)->id.epoch == e->epoch && !(*i)->live)
            return true;
    return false;
}

static void site_restored(struct audit *audit, struct audit_site *site)
{
    audit->copied = true;
    struct audit_allocation *known, *next;
    audit_keep_moves(site);
    HASH_ITER (hh, site->allocations, known, next) {
        audit_count_allocation(audit, site, &known->a, -1);
        HASH_DEL(site->allocations, known);
        audit_drop_before(site, known);
        tf_allocation_release(&known->a);
        free(known);
    }
    audit_forget_node_claims(site);
    audit_forget_chains(site);
    site->copied = site->restored = true;
    site->grown =
        audit->now; /* what was freed since the copy is held again, and its leader knows of it free */
    for (struct audit_node *node = site->nodes; node; node = node->hh.next) {
        node->verdict = TF_VERDICT_NONE;
        audit_node_drained(audit, site, node->node.name, NULL);
        node->cordoned = false;
    }
    site->term = (struct tf_term){0};
    site->floor = 0;
    for (struct audit_job *job = audit->jobs; job; job = job->hh.next) {
        tf_vec_each (e, &job->epochs)
            if ((*e)->site == site) {
                (*e)->recorded = false;
                (*e)->local_rolled = true;
                (*e)->troubled |= has_ended_members(*e);
            }
        promises_changed(audit, job);
    }
}

void audit_restored(struct audit *audit, const char *store)
{
    if (strcmp(store, AUDIT_FEDERATION) == 0)
        federation_restored(audit);
    else
        site_restored(audit, audit_site(audit, store));
}

void audit_burnt(struct audit *audit, const char *cluster)
{
    const struct audit_site *site = audit_site(audit, cluster);
    audit->burnt = true;
    for (struct audit_job *job = audit->jobs; job; job = job->hh.next) {
        tf_vec_each (i, &job->instances)
            (*i)->burnt |= (*i)->site == site;
        tf_vec_each (e, &job->epochs)
            (*e)->burnt |= (*e)->site == site;
    }
}

static void take_policy(struct audit *audit, struct audit_site *site, const struct tf_policy *policy)
{
    tf_freezes_copy(&site->freezes, &policy->freezes);
    site->policy_at = audit->now;
    site->offer_time = policy->offer_time;
    tf_classes_copy(&site->classes, &policy->classes);
    site->ceiling = tf_policy_ceiling_rank(policy);
}

static void take_node(struct audit *audit, struct audit_site *site, const struct tf_cordon *cordon, bool gone)
{
    audit_node_cordoned(audit, site, cordon->node, !gone && tf_cordon_of_people(cordon));
    audit_node_drained(audit, site, cordon->node, gone ? NULL : cordon);
    audit_node_judged(audit, site, cordon->node, gone ? TF_VERDICT_NONE : cordon->verdict);
}

static void local_record(struct audit *audit, struct audit_site *site, struct tf_record *record)
{
    if (record->kind == TF_RECORD_ALLOCATION && record->gone)
        drop_allocation(audit, site, record->allocation.uid);
    else if (record->kind == TF_RECORD_ALLOCATION)
        take_allocation(audit, site, &record->allocation);
    else if (record->kind == TF_RECORD_POLICY && !record->gone)
        take_policy(audit, site, &record->policy);
    else if (record->kind == TF_RECORD_CORDON)
        take_node(audit, site, &record->cordon, record->gone);
    else if (record->kind == TF_RECORD_NODE_CLAIM)
        audit_nodes_claimed(site, &record->node_claim, record->gone);
    else if (record->kind == TF_RECORD_MIGRATION)
        audit_chain_stored(audit, site, &record->migration, record->gone);
    else if (record->kind == TF_RECORD_TERM && !record->gone)
        take_term(audit, site, record->term);
    else if (record->kind == TF_RECORD_FLOOR && !record->gone) {
        if (record->number < site->floor)
            audit_fail(audit, "§7: the floor of %s goes down", site->name);
        site->floor = record->number;
    }
}

void audit_record(struct audit *audit, const char *store, struct tf_record *record)
{
    if (strcmp(store, AUDIT_FEDERATION) == 0)
        federation_record(audit, record);
    else
        local_record(audit, audit_site(audit, store), record);
}

void audit_transaction(struct audit *audit, const char *store)
{
    audit->copied = false;
    if (strcmp(store, AUDIT_FEDERATION) == 0) {
        tf_vec_each (site, &audit->sites)
            audit_check_room(audit, *site);
        return;
    }
    struct audit_site *site = audit_site(audit, store);
    check_ended(audit, site);
    check_promises(audit, site);
    audit_check_offers(audit, site); /* of what others are about to settle */
    audit_settle_offers(audit, site);
    audit_check_kept(audit, site);
    audit_check_evicted(audit, site);
    audit_check_ledger(audit, site);
    audit_settle_kept(site);
    audit_settle_chains(site);
    audit_settle_drains(site);
}

/* ---- messages ---- */

void audit_told_up(struct audit *audit, const char *cluster, const struct tf_up *up)
{
    if (up->kind == TF_UP_PROFILE)
        audit_profile_told(audit, audit_site(audit, cluster), up->profile.generation);
    if (up->kind != TF_UP_REPORT)
        return;
    const struct tf_report *r = &up->report;
    struct audit_epoch *e = audit_epoch(audit, r->uid, r->epoch);
    if (e->site != audit_site(audit, cluster))
        return;
    e->denied |= r->ended.end == TF_END_UNKNOWN && !e->recorded;
    bool forgot = e->ended || e->local_rolled; /* with a restored store */
    if (r->ended.end == TF_END_UNKNOWN && e->recorded && e->placed && !forgot)
        audit_fail(audit, "I14: %s says that it does not know epoch %" PRIu64 " of job %s, which it took",
                   cluster, r->epoch, audit_uid(r->uid));
    else if (r->ended.end != TF_END_NONE && r->ended.end != TF_END_UNKNOWN && !e->ended)
        audit_fail(audit, "§2: %s tells the end of epoch %" PRIu64 " of job %s before it is stored", cluster,
                   r->epoch, audit_uid(r->uid));
    else if (r->ended.end != TF_END_NONE && r->ended.end != TF_END_UNKNOWN &&
             any_live(audit, e->job, r->epoch))
        audit_fail(audit, "I14: %s tells the end of epoch %" PRIu64 " of job %s while it lives", cluster,
                   r->epoch, audit_uid(r->uid));
    else if (r->ended.end == TF_END_NONE && !e->recorded && !e->local_rolled)
        audit_fail(audit, "§2: %s tells of epoch %" PRIu64 " of job %s before it is stored", cluster,
                   r->epoch, audit_uid(r->uid));
}

static void check_entry(struct audit *audit, const char *cluster, const struct tf_entry *entry)
{
    if (entry->kind == TF_ENTRY_CLAIM || entry->kind == TF_ENTRY_UNCLAIM)
        return;
    const struct audit_epoch *e = audit_epoch(audit, entry->uid, entry->epoch);
    bool placed_here = e->site == audit_site(audit, cluster);
    if (entry->kind == TF_ENTRY_PLACE && !placed_here)
        audit_fail(audit, "§2: %s is told to place epoch %" PRIu64 " of job %s, which is not stored", cluster,
                   entry->epoch, audit_uid(entry->uid));
    else if (entry->kind == TF_ENTRY_STORED && placed_here && e->placed)
        audit_fail(audit, "I14: %s is told that the end of epoch %" PRIu64 " of job %s is stored: it is not",
                   cluster, entry->epoch, audit_uid(entry->uid));
    else if (entry->kind == TF_ENTRY_RELEASE && placed_here && e->placed && !e->released)
        audit_fail(audit, "§2: %s is told to release epoch %" PRIu64 " of job %s: that is not stored",
                   cluster, entry->epoch, audit_uid(entry->uid));
}

void audit_told_down(struct audit *audit, const char *cluster, const struct tf_down *down)
{
    if (down->kind == TF_DOWN_CONSIDERED)
        audit_considered_told(audit_site(audit, cluster), down->considered);
    tf_vec_each (entry, &down->entries)
        check_entry(audit, cluster, entry);
}
