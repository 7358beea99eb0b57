/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of subclusters. Their streams are links.c's, their room is ledger.c's. */
#include "federation/core/cluster.h"

#include "federation/core/claims.h"
#include "federation/core/ledger.h"
#include "federation/core/outbox.h"
#include "federation/core/rollback.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

/* The place of name: index of the first that is not smaller. */
static size_t lower_bound(const struct fed *fed, const char *name)
{
    size_t low = 0, high = fed->clusters.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(fed->clusters.items[middle]->record.name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct cluster *fed_cluster_by_name(const struct fed *fed, const char *name)
{
    size_t at = lower_bound(fed, name);
    if (at == fed->clusters.count || strcmp(fed->clusters.items[at]->record.name, name) != 0)
        return NULL;
    return fed->clusters.items[at];
}

struct cluster *fed_cluster_by_link(const struct fed *fed, uint64_t link)
{
    tf_vec_each (cluster, &fed->clusters)
        if ((*cluster)->link == link && link)
            return *cluster;
    return NULL;
}

struct cluster *fed_cluster_add(struct fed *fed, const char *name)
{
    struct cluster *cluster = fed_cluster_by_name(fed, name);
    if (cluster)
        return cluster;
    cluster = tf_calloc(1, sizeof *cluster);
    cluster->record.name = tf_strdup(name);
    cluster->summary.name = tf_strdup(name);
    cluster->slot = fed->slots++;
    cluster->capacity = cluster->change = 1;
    cluster->away_since = fed->boot;
    size_t at = lower_bound(fed, name);
    tf_vec_push(&fed->clusters, cluster);
    memmove(fed->clusters.items + at + 1, fed->clusters.items + at,
            (fed->clusters.count - 1 - at) * sizeof(struct cluster *));
    fed->clusters.items[at] = cluster;
    return cluster;
}

void fed_cluster_destroy(struct cluster *cluster)
{
    fed_ledger_reset(cluster);
    tf_vec_release(&cluster->flights);
    tf_mix_release(&cluster->mix);
    fed_rollback_forget(cluster);
    tf_cluster_record_release(&cluster->record);
    tf_summary_record_release(&cluster->summary);
    if (cluster->hello)
        tf_hello_release(cluster->hello);
    free(cluster->hello);
    tf_vec_each (entry, &cluster->entries)
        tf_entry_release(entry);
    tf_vec_release(&cluster->entries);
    tf_vec_release(&cluster->unknown);
    tf_vec_release(&cluster->placed);
    free(cluster);
}

/* Index of the first epoch that is not smaller. */
static size_t placed_at(const struct cluster *cluster, uint64_t epoch)
{
    size_t low = 0, high = cluster->placed.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (cluster->placed.items[middle].epoch < epoch)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void fed_cluster_placed(struct cluster *cluster, uint64_t epoch, struct job *job)
{
    size_t at = placed_at(cluster, epoch);
    tf_vec_push(&cluster->placed, (struct placed){0});
    struct placed *items = cluster->placed.items;
    memmove(items + at + 1, items + at, (cluster->placed.count - 1 - at) * sizeof *items);
    items[at] = (struct placed){epoch, job};
    if (cluster->record.highest_epoch < epoch)
        cluster->record.highest_epoch = epoch;
}

void fed_cluster_left(struct cluster *cluster, uint64_t epoch, const struct job *job)
{
    size_t at = placed_at(cluster, epoch);
    /* After a restore two jobs may have epochs of one number: one stored, one of another past, adopted. */
    while (at < cluster->placed.count && cluster->placed.items[at].job != job)
        at++;
    assert(at < cluster->placed.count && cluster->placed.items[at].epoch == epoch);
    tf_vec_remove(&cluster->placed, at);
}

void fed_cluster_event(struct fed *fed, struct cluster *cluster, const char *type, const char *fmt, ...)
{
    char text[TF_JOB_EVENT_TEXT];
    va_list args;
    if (fed->closed) /* on the store of another: see links.c */
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tf_cluster_record_event(&cluster->record, fed->now.wall, type, "%s", text);
    fed_touch_cluster(fed, cluster);
}

/* When it went away in that way, if that is how it went the last time, and it is away still. */
static struct tf_wall went_at(const struct cluster *cluster, const char *how)
{
    const struct tf_job_events *events = &cluster->record.events;
    for (size_t i = events->count; i > 0; i--) {
        const struct tf_job_event *e = &events->items[i - 1];
        if (strcmp(e->type, how) == 0)
            return e->at;
        if (strcmp(e->type, FED_CLUSTER_RETURNED_EVENT) == 0)
            break;
    }
    return (struct tf_wall){0};
}

struct tf_wall fed_cluster_lost_at(const struct cluster *cluster)
{
    return went_at(cluster, FED_CLUSTER_LOST_EVENT);
}

struct tf_wall fed_cluster_stopped_at(const struct cluster *cluster)
{
    return went_at(cluster, FED_CLUSTER_STOPPED_EVENT);
}

void fed_cluster_grew(struct fed *fed, struct cluster *cluster)
{
    cluster->grown = ++fed->world;
    fed->more_room = true;
    fed_claims_touch(fed); /* it may hold more, too */
}

int64_t fed_cluster_away_seconds(const struct fed *fed, const struct cluster *cluster)
{
    return cluster->link ? 0 : (fed->now.mono.ms - cluster->away_since.ms) / TF_SECOND;
}

bool fed_cluster_is_current(const struct fed *fed, const struct cluster *cluster)
{
    const struct tf_profile *p = cluster->profile;
    return cluster->link && cluster->set_sent && p && tf_term_cmp(p->reflects_term, fed->term) == 0 &&
           p->reflects_n >= cluster->set_n;
}
