/* SPDX-License-Identifier: Apache-2.0 */
/* Owns which reservations there are, whom each is for, and when each ends. Where one is kept is place.c's and
 * its subcluster's to say; who may take what is common/fit's. */
#include "federation/core/reservations.h"

#include "federation/core/jobs.h"
#include "federation/core/outbox.h"
#include "federation/core/place.h"
#include "federation/core/queue.h"

#include <assert.h>

/* ---- the list: by uid, as rows of profiles name them ---- */

static size_t place_of(const struct fed *fed, struct tf_uid uid)
{
    size_t low = 0, high = fed->reservations.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tf_uid_cmp(fed->reservations.items[middle]->record.uid, uid) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_listed(const struct fed *fed, const struct job *job, size_t at)
{
    return at < fed->reservations.count && fed->reservations.items[at] == job;
}

static void insert(struct fed *fed, struct job *job, size_t at)
{
    tf_vec_push(&fed->reservations, job);
    struct job **items = fed->reservations.items;
    memmove(items + at + 1, items + at, (fed->reservations.count - 1 - at) * sizeof *items);
    items[at] = job;
}

static bool is_for(const struct job *reservation, const struct job *job)
{
    const struct tf_job_record *r = &job->record;
    return tf_owner_admits(&reservation->record.spec->reserve.owner, r->tenant, r->name, &r->labels);
}

void fed_reservation_refile(struct fed *fed, const char *tenant)
{
    struct job *job = fed_job_after(fed, tenant, "");
    for (; job && strcmp(job->record.tenant, tenant) == 0; job = fed_job_following(job)) {
        if (!job->shape || tf_is_reservation(job->record.spec))
            continue;
        fed_queue_remove(fed, job);
        fed_queue_add(fed, job);
    }
}

/* ---- ends ---- */

static void end(struct fed *fed, struct job *reservation, const char *event, const char *why)
{
    if (reservation->record.deleted)
        return;
    tf_reached(fed, FED_RESERVATION_OVER);
    fed_job_delete(fed, reservation, event, why);
}

/* One that was over before is of a name's past. */
static void end_with(struct fed *fed, const struct job *job)
{
    for (size_t i = fed->reservations.count; i-- > 0;) {
        struct job *r = fed->reservations.items[i];
        if (r->record.spec->reserve.owner.job && is_for(r, job) &&
            job->record.finished.ms >= r->record.submitted.ms)
            end(fed, r, "OwnerEnded", "the job that it was for is over");
    }
}

void fed_reservation_note(struct fed *fed, struct job *job)
{
    bool over = tf_phase_is_final(job->record.phase);
    if (!tf_is_reservation(job->record.spec)) {
        if (over && fed->reservations.count)
            end_with(fed, job);
        return;
    }
    fed->reservations_due = fed->now.mono;
    size_t at = place_of(fed, job->record.uid);
    bool listed = is_listed(fed, job, at);
    if (listed == !over)
        return;
    if (over)
        tf_vec_remove(&fed->reservations, at);
    else
        insert(fed, job, at);
    fed_reservation_refile(fed, job->record.spec->reserve.owner.tenant);
}

static int64_t left_of(const struct fed *fed, const struct job *reservation)
{
    const struct tf_job_record *r = &reservation->record;
    return r->submitted.ms + r->spec->reserve.expires - fed->now.wall.ms;
}

/* A job that goes to where the reservation is kept for it: should it have to start there anew before it has
 * arrived, or only then (`migration: restart`), it needs that room. NULL: none. */
static const struct job *on_its_way(const struct fed *fed, const struct job *reservation)
{
    const struct tf_placement *p = fed_job_last_placement(reservation);
    tf_vec_each (job, &fed->moving)
        if (p && is_for(reservation, *job) && strcmp(p->cluster, (*job)->record.cross.to) == 0)
            return *job;
    return NULL;
}

/* Said once for a move. */
static void refuse(struct fed *fed, struct job *reservation, const struct job *job)
{
    struct tf_job_record *r = &reservation->record;
    const char *event = "ExpiryRefused";
    if (r->events.count && strcmp(r->events.items[r->events.count - 1].type, event) == 0)
        return;
    tf_reached(fed, FED_EXPIRY_REFUSED);
    tf_job_record_event(r, fed->now.wall, fed_job_last_placement(reservation)->epoch, event,
                        "its time is over, but job %s is on its way to %s: it ends when that move does",
                        job->key, job->record.cross.to);
    fed_touch_job(fed, reservation);
}

static void expire(struct fed *fed, struct job *reservation)
{
    const struct job *moves = on_its_way(fed, reservation);
    if (reservation->record.deleted)
        return;
    if (moves)
        refuse(fed, reservation, moves);
    else
        end(fed, reservation, "Expired", "its time is over");
}

void fed_reservations_move_ended(struct fed *fed)
{
    if (fed->reservations.count)
        fed->reservations_due = fed->now.mono;
}

void fed_reservations_expire(struct fed *fed)
{
    if (fed_place_is_stopped(fed) || fed->now.mono.ms < fed->reservations_due.ms)
        return;
    for (size_t i = fed->reservations.count; i-- > 0;)
        if (left_of(fed, fed->reservations.items[i]) <= 0)
            expire(fed, fed->reservations.items[i]);
    fed->reservations_due = TF_NEVER;
    tf_vec_each (r, &fed->reservations) {
        int64_t left = left_of(fed, *r), due = fed->now.mono.ms + left;
        if (left > 0 && !(*r)->record.deleted && due < fed->reservations_due.ms) /* else a move's end tells */
            fed->reservations_due.ms = due;
    }
}

struct tf_mono fed_reservations_next(const struct fed *fed)
{
    return fed_place_is_stopped(fed) ? TF_NEVER : fed->reservations_due;
}

/* ---- what a job may use ---- */

void fed_reservations_of(const struct fed *fed, const struct job *job, struct fed_uids *out)
{
    if (!fed->reservations.count || tf_is_reservation(job->record.spec))
        return;
    tf_vec_each (r, &fed->reservations)
        if (is_for(*r, job))
            tf_vec_push(out, (*r)->record.uid);
}

static bool is_kept_in(const struct job *reservation, const struct cluster *cluster)
{
    const struct tf_placement *p = fed_job_last_placement(reservation);
    return p && p->release == TF_RELEASE_NONE && strcmp(p->cluster, cluster->record.name) == 0;
}

void fed_reservations_in(const struct fed *fed, const struct job *job, const struct cluster *cluster,
                         struct fed_uids *out)
{
    if (!fed->reservations.count || tf_is_reservation(job->record.spec))
        return;
    tf_vec_each (r, &fed->reservations)
        if (is_kept_in(*r, cluster) && is_for(*r, job))
            tf_vec_push(out, (*r)->record.uid);
}

/* While records are read none is listed yet: to be listed files the jobs of its tenant anew, and in which
 * order they are filed must not depend on an image. */
void fed_reservations_read(struct fed *fed)
{
    if (fed->stage != FED_STAGE_OPEN)
        return;
    for (struct job *job = fed_job_first(fed); job; job = fed_job_following(job))
        if (tf_is_reservation(job->record.spec) && !tf_phase_is_final(job->record.phase))
            insert(fed, job, place_of(fed, job->record.uid));
}
