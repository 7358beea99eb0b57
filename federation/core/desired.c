/* SPDX-License-Identifier: Apache-2.0 */
/* Desired state on its way down: the full set of an attach, then numbered changes. Every message carries the
 * term; every set and change the next number n, from which a profile says what it reflects. */
#include "federation/core/desired.h"

#include "common/model/manifest.h"
#include "federation/core/claims.h"
#include "federation/core/cross.h"
#include "federation/core/freeze.h"
#include "federation/core/jobs.h"
#include "federation/core/ledger.h"
#include "federation/core/mix.h"
#include "federation/core/outbox.h"
#include "federation/core/reservations.h"

#include <assert.h>

enum { PART_BYTES = 256 * 1024, ENTRY_BYTES = 128 };

/* What of it the job may use; of those that come later in this message or set it hears in time, too. */
static void add_reservations(const struct fed *fed, const struct cluster *cluster, const struct job *job,
                             struct tf_entry *entry)
{
    struct fed_uids uids = {0};
    fed_reservations_in(fed, job, cluster, &uids);
    tf_vec_each (uid, &uids)
        tf_vec_push(&entry->reservations, (struct tf_reservation_ref){*uid});
    tf_vec_release(&uids);
}

static struct tf_entry place_entry(const struct fed *fed, const struct cluster *cluster,
                                   const struct job *job, const struct tf_placement *placement)
{
    const struct tf_job_record *r = &job->record;
    struct tf_entry entry = {.kind = TF_ENTRY_PLACE,
                             .uid = r->uid,
                             .epoch = placement->epoch,
                             .tenant = tf_strdup(r->tenant),
                             .name = tf_strdup(r->name),
                             .spec = tf_spec_take(r->spec),
                             .size = placement->size,
                             .model = tf_strdup(placement->model),
                             .submitted = r->submitted,
                             .retries_used = r->retries_used,
                             .level = placement->level,
                             .evictions = r->evictions};
    tf_evicted_copy(&entry.evicted, &r->evicted);
    add_reservations(fed, cluster, job, &entry);
    fed_cross_entry(job, placement, &entry);
    return entry;
}

static struct tf_entry release_entry(struct tf_uid uid, uint64_t epoch, enum tf_release why)
{
    return (struct tf_entry){.kind = TF_ENTRY_RELEASE, .uid = uid, .epoch = epoch, .release = why};
}

void fed_desired_place(const struct fed *fed, struct cluster *cluster, const struct job *job,
                       const struct tf_placement *placement)
{
    assert(placement->release == TF_RELEASE_NONE);
    if (cluster->link)
        tf_vec_push(&cluster->entries, place_entry(fed, cluster, job, placement));
}

void fed_desired_release(struct cluster *cluster, struct tf_uid uid, uint64_t epoch, enum tf_release why)
{
    if (cluster->link)
        tf_vec_push(&cluster->entries, release_entry(uid, epoch, why));
}

static struct tf_entry claim_entry(const struct job *job)
{
    const struct tf_job_record *r = &job->record;
    return (struct tf_entry){.kind = TF_ENTRY_CLAIM,
                             .uid = r->uid,
                             .tenant = tf_strdup(r->tenant),
                             .name = tf_strdup(r->name),
                             .spec = tf_spec_take(r->spec),
                             .move_cost = r->claim_move_cost};
}

void fed_desired_claim(struct cluster *cluster, const struct job *job)
{
    if (cluster->link)
        tf_vec_push(&cluster->entries, claim_entry(job));
}

void fed_desired_unclaim(struct cluster *cluster, struct tf_uid uid)
{
    if (cluster->link)
        tf_vec_push(&cluster->entries, (struct tf_entry){.kind = TF_ENTRY_UNCLAIM, .uid = uid});
}

void fed_desired_stored(struct cluster *cluster, struct tf_uid uid, uint64_t epoch)
{
    struct tf_entry entry = {.kind = TF_ENTRY_STORED, .uid = uid, .epoch = epoch};
    if (cluster->link)
        tf_vec_push(&cluster->entries, entry);
}

/* By epoch; of one epoch in the order place, release, stored; claims, which have none, come first, and what
 * ends before what begins. A total order but for repeats, of which the last counts. */
static int by_epoch(const void *a, const void *b)
{
    const struct tf_entry *x = a, *y = b;
    if (x->epoch != y->epoch)
        return x->epoch < y->epoch ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return tf_uid_cmp(x->uid, y->uid);
}

static void hold_message(struct fed *fed, struct cluster *cluster, struct tf_down message)
{
    message.term = fed->term;
    fed_outbox_hold(fed, (struct fed_action){.kind = FED_ACT_SEND, .link = cluster->link, .send = message});
}

static size_t entry_bytes(const struct tf_entry *entry)
{
    return ENTRY_BYTES + tf_spec_weight(entry->spec);
}

/* Entries in messages of one kind, each about as large as one message should be. */
struct parts {
    struct fed *fed;
    struct cluster *cluster;
    struct tf_down message;
    size_t bytes;
};

static void send_part(struct parts *parts)
{
    if (!parts->message.entries.count)
        return;
    struct tf_down next = {.kind = parts->message.kind, .n = parts->message.n};
    hold_message(parts->fed, parts->cluster, parts->message);
    parts->message = next;
    parts->bytes = 0;
}

/* Takes the entry. */
static void add_entry(struct parts *parts, struct tf_entry *entry)
{
    size_t bytes = entry_bytes(entry);
    if (parts->bytes + bytes > PART_BYTES)
        send_part(parts);
    if (parts->message.kind == TF_DOWN_CHANGE && !parts->message.entries.count)
        parts->message.n = ++parts->cluster->n;
    if (entry->kind == TF_ENTRY_PLACE)
        fed_ledger_numbered(parts->cluster, entry->epoch, parts->message.n);
    if (entry->kind == TF_ENTRY_CLAIM)
        fed_claims_numbered(parts->fed, parts->cluster, entry->uid, parts->message.n);
    tf_vec_push(&parts->message.entries, *entry);
    parts->bytes += bytes;
}

static void flush_changes(struct fed *fed, struct cluster *cluster)
{
    struct parts parts = {.fed = fed, .cluster = cluster, .message = {.kind = TF_DOWN_CHANGE}};
    qsort(cluster->entries.items, cluster->entries.count, sizeof(struct tf_entry), by_epoch);
    tf_vec_each (entry, &cluster->entries)
        add_entry(&parts, entry);
    cluster->entries.count = 0;
    send_part(&parts);
}

void fed_desired_flush(struct fed *fed)
{
    tf_vec_each (cluster, &fed->clusters)
        if ((*cluster)->entries.count && (*cluster)->set_sent)
            flush_changes(fed, *cluster);
}

/* ---- the full set ---- */

static struct tf_entry wanted_entry(struct fed *fed, const struct cluster *cluster, const struct job *job,
                                    const struct tf_placement *placement)
{
    if (placement->release == TF_RELEASE_NONE)
        return place_entry(fed, cluster, job, placement);
    tf_reached_if(placement->release == TF_RELEASE_DELETE, fed, FED_DELETE_TOLD_AGAIN);
    return release_entry(job->record.uid, placement->epoch, placement->release);
}

static void add_claim(const struct job *job, void *arg)
{
    struct tf_entry entry = claim_entry(job);
    add_entry(arg, &entry);
}

static void policy_of(const struct fed *fed, const struct cluster *cluster, struct tf_policy *out)
{
    tf_policy_copy(out, &fed->settings.policy);
    fed_freezes_of(fed, cluster, &out->freezes);
    fed_mix_of(fed, cluster, &out->shapes);
}

void fed_desired_all(struct fed *fed, struct cluster *cluster)
{
    cluster->set_sent = true;
    cluster->set_n = ++cluster->n;
    struct tf_down begin = {.kind = TF_DOWN_BEGIN,
                            .n = cluster->set_n,
                            .count = cluster->placed.count + fed_claims_count(fed, cluster),
                            .highest_epoch = fed->epoch};
    policy_of(fed, cluster, &begin.policy);
    hold_message(fed, cluster, begin);
    struct parts parts = {
        .fed = fed, .cluster = cluster, .message = {.kind = TF_DOWN_PART, .n = cluster->set_n}};
    fed_claims_each(fed, cluster, add_claim, &parts);
    tf_vec_each (placed, &cluster->placed) {
        struct tf_entry entry =
            wanted_entry(fed, cluster, placed->job, fed_job_placement(placed->job, placed->epoch));
        add_entry(&parts, &entry);
    }
    send_part(&parts);
    hold_message(fed, cluster, (struct tf_down){.kind = TF_DOWN_END, .n = cluster->set_n});
}

void fed_desired_send(struct fed *fed, struct cluster *cluster, enum tf_down_kind kind)
{
    struct tf_down message = {.kind = kind};
    if (kind == TF_DOWN_POLICY)
        policy_of(fed, cluster, &message.policy);
    if (kind == TF_DOWN_CONSIDERED)
        message.considered = cluster->profile->generation;
    hold_message(fed, cluster, message);
}
