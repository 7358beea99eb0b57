/* SPDX-License-Identifier: Apache-2.0 */
/* Finished jobs: kept for keepFinished, and at most history.max of them, then archived, then gone. A few are
 * on their way at a time. And the summaries of subclusters.
 *
 * Nothing goes before everybody was heard. The store may have been restored, and a job that is finished in
 * the copy may run again; its subcluster says in its hello that it has seen more than the copy knows. */
#include "federation/core/retention.h"

#include "common/base/cleanup.h"
#include "federation/core/jobs.h"
#include "federation/core/outbox.h"
#include "federation/core/submit.h"

#include <assert.h>

enum { SUMMARY_EVERY = 30 * TF_SECOND };

/* ---- order ---- */

int fed_finished_cmp(const struct tf_tree_node *a, const struct tf_tree_node *b)
{
    const struct job *x = TF_CONTAINER_OF(a, struct job, finished),
                     *y = TF_CONTAINER_OF(b, struct job, finished);
    if (x->record.finished.ms != y->record.finished.ms)
        return x->record.finished.ms < y->record.finished.ms ? -1 : 1;
    return tf_uid_cmp(x->record.uid, y->record.uid);
}

int fed_expiry_cmp(const struct tf_tree_node *a, const struct tf_tree_node *b)
{
    const struct job *x = TF_CONTAINER_OF(a, struct job, expiry), *y = TF_CONTAINER_OF(b, struct job, expiry);
    if (x->due.ms != y->due.ms)
        return x->due.ms < y->due.ms ? -1 : 1;
    return tf_uid_cmp(x->record.uid, y->record.uid);
}

/* ---- finished jobs ---- */

/* Who is lost is not waited for: it may be for weeks, and the store would fill. */
bool fed_retention_has_listened(const struct fed *fed)
{
    if (fed->waits_for_all)
        return false;
    tf_vec_each (c, &fed->clusters)
        if (!(*c)->hello && !(*c)->lost && !(*c)->record.forgotten)
            return false;
    return true;
}

/* From the stored moment to the monotonic clock: what is left of the time, never more than all of it. */
static struct tf_mono expires(const struct fed *fed, const struct tf_job_record *r)
{
    int64_t keep = r->spec->keep_finished > 0 && !r->deleted ? r->spec->keep_finished : 0;
    int64_t left = r->finished.ms + keep - fed->now.wall.ms;
    left = left < 0 ? 0 : left > keep ? keep : left;
    return (struct tf_mono){fed->now.mono.ms + left};
}

void fed_retention_file(struct fed *fed, struct job *job)
{
    assert(tf_phase_is_final(job->record.phase));
    if (job->record.deleted && fed_retention_has_listened(fed))
        fed_retention_archive(fed, job);
    if (job->record.deleted) /* it may have been kept until now, and is not any longer */
        fed_retention_forget(fed, job);
    if (job->archiving || tf_tree_linked(&job->finished))
        return;
    job->due = expires(fed, &job->record);
    tf_tree_insert(&fed->finished, &job->finished);
    tf_tree_insert(&fed->expiry, &job->expiry);
}

void fed_retention_forget(struct fed *fed, struct job *job)
{
    if (!tf_tree_linked(&job->finished))
        return;
    tf_tree_remove(&fed->finished, &job->finished);
    tf_tree_remove(&fed->expiry, &job->expiry);
}

void fed_retention_archive(struct fed *fed, struct job *job)
{
    if (job->archiving)
        return;
    fed_retention_forget(fed, job);
    job->archiving = true;
    fed->archives_out++;
    struct fed_action action = {.kind = FED_ACT_ARCHIVE};
    tf_job_record_copy(&action.archive, &job->record);
    fed_outbox_hold(fed, action);
}

void fed_retention_archived(struct fed *fed, struct tf_uid uid)
{
    struct job *job = fed_job_by_uid(fed, uid);
    if (!job || !job->archiving)
        return;
    assert(fed->archives_out > 0);
    fed->archives_out--;
    if (job->replacement) {
        fed_submit_replace(fed, job);
        return;
    }
    fed_touch_job(fed, job);
    fed_job_remove(fed, job);
}

static bool too_many(const struct fed *fed)
{
    return fed->settings.history_max > 0 && fed->finished.count > (size_t)fed->settings.history_max;
}

static struct job *first_to_expire(const struct fed *fed)
{
    struct tf_tree_node *first = tf_tree_first(&fed->expiry);
    return first ? TF_CONTAINER_OF(first, struct job, expiry) : NULL;
}

/* The next one that has been kept for long enough; NULL: none yet. */
static struct job *next_due(const struct fed *fed)
{
    if (too_many(fed))
        return TF_CONTAINER_OF(tf_tree_first(&fed->finished), struct job, finished);
    struct job *first = first_to_expire(fed);
    return first && first->due.ms <= fed->now.mono.ms ? first : NULL;
}

static void archive_due(struct fed *fed)
{
    for (struct job *job; fed->archives_out < FED_ARCHIVES_OUT && (job = next_due(fed));) {
        if (!fed_retention_has_listened(fed))
            return;
        fed_retention_archive(fed, job);
    }
}

/* ---- summaries ---- */

static bool counts_eq(const struct tf_health_counts *a, const struct tf_health_counts *b)
{
    return memcmp(a, b, sizeof *a) == 0; /* integers of one size: no padding */
}

void fed_retention_profile(struct cluster *cluster)
{
    const struct tf_profile *p = cluster->profile;
    const struct tf_summary_record *s = &cluster->summary;
    cluster->summary_due =
        tf_generation_cmp(s->generation, p->generation) != 0 || !counts_eq(&s->health, &p->health);
}

static struct tf_mono summary_at(const struct cluster *cluster)
{
    return cluster->summary_due && cluster->profile ? cluster->summary_next : TF_NEVER;
}

static void write_summaries(struct fed *fed)
{
    tf_vec_each (c, &fed->clusters) {
        struct cluster *cluster = *c;
        if (summary_at(cluster).ms > fed->now.mono.ms)
            continue;
        cluster->summary.contact = cluster->contact;
        cluster->summary.generation = cluster->profile->generation;
        cluster->summary.health = cluster->profile->health;
        cluster->summary_due = false;
        cluster->summary_next.ms = fed->now.mono.ms + SUMMARY_EVERY;
        fed_touch_summary(fed, cluster);
        if (cluster->stored_epoch != cluster->record.highest_epoch)
            fed_touch_cluster(fed, cluster);
        cluster->stored_epoch = cluster->record.highest_epoch;
    }
}

/* ---- due ---- */

void fed_retention_run(struct fed *fed)
{
    if (fed->stage != FED_STAGE_OPEN || fed->closed)
        return;
    archive_due(fed);
    write_summaries(fed);
}

struct tf_mono fed_retention_next(const struct fed *fed)
{
    struct tf_mono next = TF_NEVER;
    if (fed->stage != FED_STAGE_OPEN || fed->closed)
        return next;
    tf_vec_each (c, &fed->clusters)
        if (summary_at(*c).ms < next.ms)
            next = summary_at(*c);
    const struct job *first = first_to_expire(fed);
    if (first && first->due.ms < next.ms && fed->archives_out < FED_ARCHIVES_OUT &&
        fed_retention_has_listened(fed))
        next = first->due;
    return next;
}
