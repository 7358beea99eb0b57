/* SPDX-License-Identifier: Apache-2.0 */
/* Owns who claims nodes, and where. Which nodes is the subcluster's to choose; what a claimed row means for
 * others is common/fit's. */
#include "federation/core/claims.h"

#include "federation/core/candidate.h"
#include "federation/core/cluster.h"
#include "federation/core/desired.h"
#include "federation/core/jobs.h"
#include "federation/core/ledger.h"
#include "federation/core/outbox.h"
#include "federation/core/place.h"
#include "federation/core/queue.h"
#include "federation/core/trace.h"

#include <assert.h>

enum {
    LOOK_AGAIN = 10 * TF_SECOND, /* a busy queue is not looked through for each change of it */
    MOVES_LAST = 15 * TF_MINUTE, /* room is made by moves for so long at most: then others are evicted */
    MOVES_SEEN = 5 * TF_SECOND,  /* what the last of them frees is told no later, when they are over */
    TRIES = 8, /* of those first in line, which no subcluster could hold, before the rest waits its turn */
};

static struct cluster *cluster_of(const struct fed *fed, const struct claimant *c)
{
    tf_vec_each (cluster, &fed->clusters)
        if ((*cluster)->slot == c->slot)
            return *cluster;
    assert(false && "subclusters are never removed");
    return NULL;
}

void fed_claims_touch(struct fed *fed)
{
    int64_t soon = fed->now.mono.ms + LOOK_AGAIN;
    if (soon < fed->claims_due.ms)
        fed->claims_due.ms = soon;
}

void fed_claims_queued(struct fed *fed, const struct job *job)
{
    fed_claims_touch(fed);
    tf_vec_each (c, &fed->claimants)
        c->challenged |= c->rank == job->rank && !tf_uid_eq(c->uid, job->record.uid);
}

struct tf_mono fed_claims_next(const struct fed *fed)
{
    return fed_place_is_stopped(fed) ? TF_NEVER : fed->claims_due;
}

/* ---- those that there are ---- */

/* It waits, or is on its way to a place which may yet refuse it. */
static bool still_wants(const struct job *job)
{
    const struct tf_placement *p = fed_job_last_placement(job);
    if (!p)
        return fed_job_is_waiting(job);
    return job->record.placements.count == 1 && p->phase == TF_PHASE_PENDING && p->release == TF_RELEASE_NONE;
}

static bool may_claim_in(const struct fed *fed, const struct job *job, const struct cluster *cluster)
{
    enum tf_reason bar = fed_candidate_bar(fed, job, cluster);
    return bar != TF_REASON_POLICY && bar != TF_REASON_CLUSTER_LOST && bar != TF_REASON_CLUSTER_CORDONED;
}

static void add_claimant(struct fed *fed, const struct job *job, const struct cluster *cluster)
{
    struct claimant c = {.slot = cluster->slot,
                         .version = job->record.version,
                         .rank = job->rank,
                         .until = job->record.claim_until,
                         .moves = job->record.claim_move_cost > 0,
                         .uid = job->record.uid};
    tf_vec_push(&fed->claimants, c);
}

/* Jobs that claim are a demand of their own. */
static void set_claim(struct fed *fed, struct job *job, const char *cluster, struct tf_wall until,
                      int64_t move_cost)
{
    bool waits = job->shape != NULL;
    fed_queue_remove(fed, job);
    tf_str_set(&job->record.claims_in, cluster);
    job->record.claim_until = until;
    job->record.claim_move_cost = move_cost;
    fed_touch_job(fed, job);
    if (waits)
        fed_queue_add(fed, job);
}

void fed_claims_load(struct fed *fed, const struct job *job)
{
    if (job->record.claims_in)
        add_claimant(fed, job, fed_cluster_add(fed, job->record.claims_in));
}

/* The first waiting job of the rank that comes after that one (NULL: of all). */
static struct job *next_in_line(const struct fed *fed, int rank, const struct job *after)
{
    struct job *first = NULL;
    for (struct shape *shape = fed->shapes; shape; shape = shape->hh.next) {
        struct job *job = fed_queue_first(shape);
        if (job->rank == rank && !tf_is_reservation(job->record.spec) &&
            (!after || fed_queue_cmp(after, job) < 0) && (!first || fed_queue_cmp(job, first) < 0))
            first = job;
    }
    return first;
}

/* The one that is closest to holding it already; NULL if none could, even if it ran nothing else. */
static struct cluster *best_place(struct fed *fed, const struct job *job)
{
    struct cluster *best = NULL;
    struct claim_room most = {0};
    tf_vec_each (c, &fed->clusters) {
        struct claim_room room;
        if (!may_claim_in(fed, job, *c) || !(*c)->room ||
            !fed_ledger_could_hold(fed, *c, job->record.spec, job->rank, &room))
            continue;
        if (!best || room.now > most.now || (room.now == most.now && room.ever > most.ever)) {
            best = *c;
            most = room;
        }
    }
    return best;
}

/* What is kept for a job keeps others of its priority away, also one that was put back before it: then the
 * claim ends, and is made anew when it is the first again. */
static bool is_first(struct fed *fed, const struct claimant *c, const struct job *job)
{
    struct job *other = NULL;
    for (int tries = 0; c->challenged && tries < TRIES; tries++) {
        other = next_in_line(fed, c->rank, other);
        if (!other || fed_queue_cmp(other, job) >= 0)
            return true;
        if (best_place(fed, other))
            return false;
    }
    return true;
}

static void end_claim(struct fed *fed, struct claimant c, struct job *job)
{
    struct cluster *cluster = cluster_of(fed, &c);
    tf_reached(fed, FED_UNCLAIMED);
    fed_desired_unclaim(cluster, c.uid);
    if (!job || !job->record.claims_in)
        return;
    fed_trace_job(fed, job, "claims no nodes in %s any more", cluster->record.name);
    set_claim(fed, job, NULL, (struct tf_wall){0}, 0);
}

static bool is_asked(const struct claimant *c)
{
    return c->until.ms != 0;
}

/* What the subcluster says of moves for the job, since it heard of the claim. Those that never began, or are
 * over, make no room that is not told by now. */
static bool is_moved_for(struct fed *fed, struct claimant *c, const struct job *job)
{
    const struct tf_profile *profile = cluster_of(fed, c)->profile;
    if (!c->n || !profile || tf_term_cmp(profile->reflects_term, fed->term) != 0 ||
        profile->reflects_n < c->n)
        return true; /* it is not known yet; a subcluster that is away is lost after a while */
    if (tf_strs_has(&profile->moving_for, job->key)) {
        c->moved = true;
        c->missed.ms = 0;
        return true;
    }
    if (c->moved && c->missed.ms == 0)
        c->missed = fed->now.mono;
    int64_t end = c->missed.ms + MOVES_SEEN;
    if (!c->moved || end <= fed->now.mono.ms)
        return false;
    fed->claims_due.ms = end < fed->claims_due.ms ? end : fed->claims_due.ms;
    return true;
}

static bool goes_on(struct fed *fed, struct claimant *c, const struct job *job)
{
    if (!job || !still_wants(job) || job->rank != c->rank || !may_claim_in(fed, job, cluster_of(fed, c)))
        return false;
    if (c->moves && fed_job_is_waiting(job) && !is_moved_for(fed, c, job))
        return false;
    return is_asked(c) ? fed->now.wall.ms < c->until.ms : is_first(fed, c, job);
}

/* Tells what the job asks for again when its record has changed: the subcluster takes what differs. */
static void review(struct fed *fed)
{
    size_t kept = 0;
    for (size_t i = 0; i < fed->claimants.count; i++) {
        struct claimant c = fed->claimants.items[i];
        struct cluster *cluster = cluster_of(fed, &c);
        struct job *job = fed_job_by_uid(fed, c.uid);
        if (!goes_on(fed, &c, job)) {
            end_claim(fed, c, job);
            fed_claims_touch(fed);
            fed->unfinished |= c.moves; /* others give way now, if need be */
            continue;
        }
        if (fed_job_is_waiting(job) && job->record.version != c.version) {
            fed_desired_claim(cluster, job);
            c.version = job->record.version;
        }
        c.challenged = false;
        fed->claimants.items[kept++] = c;
    }
    fed->claimants.count = kept;
}

/* ---- new ones ---- */

static void make_claim(struct fed *fed, struct job *job, struct cluster *cluster)
{
    int64_t waited = fed->now.wall.ms - job->record.changed.ms;
    tf_reached(fed, FED_CLAIMED);
    tf_job_record_event(&job->record, fed->now.wall, 0, "Claimed",
                        "has waited for %lld s: nodes in %s are kept for it, cores of its priority or lower "
                        "are placed there only if they end in time",
                        (long long)(waited / TF_SECOND), cluster->record.name);
    fed_trace_job(fed, job, "has waited for %lld s: claims nodes in %s", (long long)(waited / TF_SECOND),
                  cluster->record.name);
    set_claim(fed, job, cluster->record.name, (struct tf_wall){0}, 0);
    add_claimant(fed, job, cluster);
    fed_desired_claim(cluster, job);
}

static struct claimant *claimant_of_rank(const struct fed *fed, int rank)
{
    tf_vec_each (c, &fed->claimants)
        if (c->rank == rank)
            return c;
    return NULL;
}

/* The first that some subcluster could hold claims, or is waited for. */
static void look_at_rank(struct fed *fed, int rank)
{
    struct job *job = NULL;
    for (int tries = 0; tries < TRIES && (job = next_in_line(fed, rank, job)); tries++) {
        int64_t left = job->record.changed.ms + fed->settings.claim_after - fed->now.wall.ms;
        if (left > 0) {
            if (fed->now.mono.ms + left < fed->claims_due.ms)
                fed->claims_due.ms = fed->now.mono.ms + left;
            return;
        }
        struct cluster *cluster = best_place(fed, job);
        if (cluster) {
            make_claim(fed, job, cluster);
            return;
        }
    }
}

/* The ends of those that were asked for are moments of the wall clock. */
static void note_ends(struct fed *fed)
{
    tf_vec_each (c, &fed->claimants) {
        int64_t end = fed->now.mono.ms + c->until.ms - fed->now.wall.ms;
        if (is_asked(c) && end < fed->claims_due.ms)
            fed->claims_due.ms = end;
    }
}

void fed_claims_run(struct fed *fed)
{
    if (fed_place_is_stopped(fed))
        return;
    review(fed);
    if (fed->now.mono.ms < fed->claims_due.ms)
        return;
    fed->claims_due = TF_NEVER;
    for (int rank = (int)fed->settings.policy.classes.count - 1; rank >= 0; rank--)
        if (!claimant_of_rank(fed, rank))
            look_at_rank(fed, rank);
    note_ends(fed);
}

/* ---- room made by moves ---- */

bool fed_claims_any(const struct fed *fed, int rank)
{
    return claimant_of_rank(fed, rank) != NULL;
}

void fed_claims_move(struct fed *fed, struct job *job, struct cluster *cluster, int64_t cost)
{
    assert(!fed_claims_any(fed, job->rank) && !job->record.claims_in && fed_job_is_waiting(job));
    set_claim(fed, job, cluster->record.name, (struct tf_wall){fed->now.wall.ms + MOVES_LAST}, cost);
    add_claimant(fed, job, cluster);
    fed_desired_claim(cluster, job);
    note_ends(fed);
}

void fed_claims_numbered(struct fed *fed, const struct cluster *cluster, struct tf_uid uid, uint64_t n)
{
    tf_vec_each (c, &fed->claimants)
        if (c->slot == cluster->slot && tf_uid_eq(c->uid, uid))
            c->n = n;
}

/* ---- because somebody asked ---- */

/* NULL after answering. */
static struct job *job_to_claim(struct fed *fed, const struct fed_event *event, struct cluster *cluster)
{
    struct job *job = fed_job_by_name(fed, event->claim.tenant, event->claim.name);
    if (!job || !fed_job_is_waiting(job) || tf_is_reservation(job->record.spec)) {
        fed_reply_error(
            fed, event->request, TF_ERR_REFUSED,
            "nothing is kept for %s/%s: there is no such job that waits. Moves that have begun go on",
            event->claim.tenant, event->claim.name);
        return NULL;
    }
    struct claimant *other = claimant_of_rank(fed, job->rank);
    if (!cluster || !may_claim_in(fed, job, cluster))
        fed_reply_error(
            fed, event->request, TF_ERR_REFUSED,
            "nothing is kept for %s in %s: it may not be placed there. Moves that have begun go on", job->key,
            event->claim.cluster);
    else if (other && is_asked(other) && !tf_uid_eq(other->uid, job->record.uid))
        fed_reply_error(fed, event->request, TF_ERR_REFUSED,
                        "nothing is kept for %s: nodes are kept already for another job of its priority, one "
                        "at a time. Moves that have begun go on",
                        job->key);
    else
        return job;
    return NULL;
}

/* At most one of a priority: one that is there for its long wait gives way, and comes back afterwards. */
static void drop_claimant(struct fed *fed, int rank)
{
    const struct claimant *found = claimant_of_rank(fed, rank);
    if (!found)
        return;
    struct claimant c = *found;
    tf_vec_remove(&fed->claimants, (size_t)(found - fed->claimants.items));
    end_claim(fed, c, fed_job_by_uid(fed, c.uid));
}

void fed_claims_verb(struct fed *fed, struct fed_event *event)
{
    struct cluster *cluster = fed_cluster_by_name(fed, event->claim.cluster);
    struct job *job = job_to_claim(fed, event, cluster);
    if (!job)
        return;
    drop_claimant(fed, job->rank);
    tf_reached(fed, FED_CLAIM_ASKED);
    tf_job_record_event(&job->record, fed->now.wall, 0, "Claimed",
                        "the nodes that are being freed for it in %s are kept for it, for %lld s at most",
                        cluster->record.name, (long long)(event->claim.lasts / TF_SECOND));
    fed_trace_job(fed, job, "claims the nodes that are being freed for it in %s", cluster->record.name);
    set_claim(fed, job, cluster->record.name, (struct tf_wall){fed->now.wall.ms + event->claim.lasts}, 0);
    add_claimant(fed, job, cluster);
    fed_desired_claim(cluster, job);
    note_ends(fed);
    fed_reply_done(fed, event->request, FED_OUTCOME_DONE, job->record.uid, job->record.version);
}

/* ---- the full set ---- */

size_t fed_claims_count(const struct fed *fed, const struct cluster *cluster)
{
    size_t count = 0;
    tf_vec_each (c, &fed->claimants)
        count += c->slot == cluster->slot && fed_job_by_uid(fed, c->uid);
    return count;
}

void fed_claims_each(struct fed *fed, const struct cluster *cluster,
                     void (*each)(const struct job *job, void *arg), void *arg)
{
    tf_vec_each (c, &fed->claimants) {
        const struct job *job = fed_job_by_uid(fed, c->uid);
        if (c->slot == cluster->slot && job)
            each(job, arg);
    }
}
