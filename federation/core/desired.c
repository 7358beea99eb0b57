/* SPDX-License-Identifier: Apache-2.0 */
/* Desired state on its way down: the full set of an attach, then numbered changes. Every message carries the
 * term; every set and change the next number n, from which a profile says what it reflects. */
#include "federation/core/desired.h"

#include "common/model/manifest.h"
#include "federation/core/jobs.h"
#include "federation/core/ledger.h"
#include "federation/core/outbox.h"

#include <assert.h>

enum { PART_BYTES = 256 * 1024, ENTRY_BYTES = 128 };

static struct tf_entry place_entry(const struct job *job, const struct tf_placement *placement)
{
    const struct tf_job_record *r = &job->record;
    struct tf_entry entry = {.kind = TF_ENTRY_PLACE,
                             .uid = r->uid,
                             .epoch = placement->epoch,
                             .tenant = tf_strdup(r->tenant),
                             .name = tf_strdup(r->name),
                             .size = placement->size,
                             .model = tf_strdup(placement->model),
                             .submitted = r->submitted,
                             .retries_used = r->retries_used};
    tf_job_spec_copy(&entry.spec, &r->spec);
    return entry;
}

static struct tf_entry release_entry(struct tf_uid uid, uint64_t epoch, enum tf_release why)
{
    return (struct tf_entry){.kind = TF_ENTRY_RELEASE, .uid = uid, .epoch = epoch, .release = why};
}

void desired_place(struct cluster *cluster, const struct job *job, const struct tf_placement *placement)
{
    assert(placement->release == TF_RELEASE_NONE);
    if (cluster->link)
        tf_vec_push(&cluster->entries, place_entry(job, placement));
}

void desired_release(struct cluster *cluster, struct tf_uid uid, uint64_t epoch, enum tf_release why)
{
    if (cluster->link)
        tf_vec_push(&cluster->entries, release_entry(uid, epoch, why));
}

void desired_stored(struct cluster *cluster, struct tf_uid uid, uint64_t epoch)
{
    struct tf_entry entry = {.kind = TF_ENTRY_STORED, .uid = uid, .epoch = epoch};
    if (cluster->link)
        tf_vec_push(&cluster->entries, entry);
}

/* By epoch; of one epoch in the order place, release, stored; a total order but for repeats, which are alike.
 */
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
    outbox_hold(fed, (struct fed_action){.kind = FED_ACT_SEND, .link = cluster->link, .send = message});
}

static void flush_changes(struct fed *fed, struct cluster *cluster)
{
    struct tf_down change = {.kind = TF_DOWN_CHANGE, .n = ++cluster->n};
    qsort(cluster->entries.items, cluster->entries.count, sizeof(struct tf_entry), by_epoch);
    tf_vec_each (entry, &cluster->entries)
        if (entry->kind == TF_ENTRY_PLACE)
            ledger_numbered(cluster, entry->epoch, change.n);
    change.entries.items = cluster->entries.items;
    change.entries.count = cluster->entries.count;
    change.entries.cap = cluster->entries.cap;
    memset(&cluster->entries, 0, sizeof cluster->entries);
    hold_message(fed, cluster, change);
}

void desired_flush(struct fed *fed)
{
    tf_vec_each (cluster, &fed->clusters)
        if ((*cluster)->entries.count)
            flush_changes(fed, *cluster);
}

/* ---- the full set ---- */

static struct tf_entry wanted_entry(const struct job *job, const struct tf_placement *placement)
{
    if (placement->release == TF_RELEASE_NONE)
        return place_entry(job, placement);
    return release_entry(job->record.uid, placement->epoch, placement->release);
}

static size_t entry_bytes(const struct tf_entry *entry)
{
    bool place = entry->kind == TF_ENTRY_PLACE;
    return ENTRY_BYTES + (place ? tf_table_weight(&tf_job_spec_table, &entry->spec) : 0);
}

/* The parts of a set, each about as large as one message should be. */
static void send_parts(struct fed *fed, struct cluster *cluster)
{
    struct tf_down part = {.kind = TF_DOWN_PART, .n = cluster->set_n};
    size_t bytes = 0;
    tf_vec_each (placed, &cluster->placed) {
        struct tf_entry entry = wanted_entry(placed->job, job_placement(placed->job, placed->epoch));
        if (part.entries.count && bytes + entry_bytes(&entry) > PART_BYTES) {
            hold_message(fed, cluster, part);
            part = (struct tf_down){.kind = TF_DOWN_PART, .n = cluster->set_n};
            bytes = 0;
        }
        tf_vec_push(&part.entries, entry);
        bytes += entry_bytes(&entry);
    }
    if (part.entries.count)
        hold_message(fed, cluster, part);
}

void desired_all(struct fed *fed, struct cluster *cluster)
{
    cluster->set_n = ++cluster->n;
    struct tf_down begin = {.kind = TF_DOWN_BEGIN, .n = cluster->set_n, .count = cluster->placed.count};
    tf_policy_copy(&begin.policy, &fed->settings.policy);
    hold_message(fed, cluster, begin);
    send_parts(fed, cluster);
    hold_message(fed, cluster, (struct tf_down){.kind = TF_DOWN_END, .n = cluster->set_n});
    ledger_all_numbered(cluster, cluster->set_n);
}

void desired_send(struct fed *fed, struct cluster *cluster, enum tf_down_kind kind)
{
    struct tf_down message = {.kind = kind};
    if (kind == TF_DOWN_POLICY)
        tf_policy_copy(&message.policy, &fed->settings.policy);
    hold_message(fed, cluster, message);
}
