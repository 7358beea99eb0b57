/* SPDX-License-Identifier: Apache-2.0 */
/* Restart is replay: stored records are filed by the same functions as live changes. What can be asked again
 * (profiles, reports) is asked again. */
#include "federation/core/load.h"

#include "federation/core/claims.h"
#include "federation/core/cluster.h"
#include "federation/core/cross.h"
#include "federation/core/desired.h"
#include "federation/core/freeze.h"
#include "federation/core/jobs.h"
#include "federation/core/mix.h"
#include "federation/core/outbox.h"
#include "federation/core/queue.h"
#include "federation/core/refusals.h"
#include "federation/core/rollback.h"
#include "federation/core/trace.h"

#include <assert.h>
#include <inttypes.h>

/* A number that grows with each configuration, also across leaders. */
static void set_policy_version(struct fed *fed, uint64_t before)
{
    uint64_t by_time = (uint64_t)fed->now.wall.ms;
    fed->settings.policy.version = by_time > before ? by_time : before + 1;
}

void fed_load_settings(struct fed *fed, struct tf_settings *settings)
{
    uint64_t version = fed->settings.policy.version;
    tf_settings_release(&fed->settings);
    fed->settings = *settings;
    memset(settings, 0, sizeof *settings);
    set_policy_version(fed, version);
    if (fed->stage != FED_STAGE_OPEN)
        return;
    fed_queue_rebuild(fed);
    tf_vec_each (c, &fed->clusters) {
        fed_cluster_grew(fed, *c);
        if ((*c)->link)
            fed_desired_send(fed, *c, TF_DOWN_POLICY);
    }
}

void fed_load_boot(struct fed *fed, struct fed_event *event)
{
    assert(fed->stage == FED_STAGE_NEW);
    fed->stage = FED_STAGE_LOADING;
    fed->boot = fed->now.mono;
    fed->term = event->boot.term;
    if (event->boot.accept_rollback)
        fed_rollback_accept(fed);
    fed_load_settings(fed, &event->boot.settings);
}

/* One that contradicts what is there already: the store never holds such, so it is left out, loudly. */
static bool is_double(struct fed *fed, const struct tf_job_record *r)
{
    if (!fed_job_by_name(fed, r->tenant, r->name) && !fed_job_by_uid(fed, r->uid))
        return false;
    fed_alarm_now(fed, "the stored record of job %s/%s repeats a name or a uid: it is left out", r->tenant,
                  r->name);
    return true;
}

static void load_job(struct fed *fed, struct tf_job_record *record)
{
    if (is_double(fed, record))
        return;
    tf_vec_each (placement, &record->placements)
        if (placement->epoch > fed->epoch)
            fed->epoch = placement->epoch;
    tf_reached_if(record->placements.count, fed, FED_LOADED_PLACED);
    tf_vec_each (placement, &record->placements)
        tf_reached_if(placement->release != TF_RELEASE_NONE, fed, FED_LOADED_RELEASING);
    fed_job_add(fed, record);
}

void fed_load_record(struct fed *fed, struct tf_record *record)
{
    assert(fed->stage == FED_STAGE_LOADING && !record->gone);
    struct cluster *cluster;
    switch (record->kind) {
    case TF_RECORD_EPOCH:
        if (record->number > fed->epoch)
            fed->epoch = record->number;
        break;
    case TF_RECORD_ROLLBACK:
        fed_rollback_load(fed, record->number);
        break;
    case TF_RECORD_LEADERS:
        tf_leaders_copy(&fed->leaders, &record->leaders);
        break;
    case TF_RECORD_JOB:
        load_job(fed, &record->job);
        break;
    case TF_RECORD_CLUSTER:
        cluster = fed_cluster_add(fed, record->cluster.name);
        if (record->cluster.highest_epoch < cluster->record.highest_epoch)
            record->cluster.highest_epoch = cluster->record.highest_epoch;
        tf_cluster_record_release(&cluster->record);
        cluster->record = record->cluster;
        memset(&record->cluster, 0, sizeof record->cluster);
        break;
    case TF_RECORD_SUMMARY:
        cluster = fed_cluster_add(fed, record->summary.name);
        tf_summary_record_release(&cluster->summary);
        cluster->summary = record->summary;
        cluster->contact = cluster->summary.contact;
        memset(&record->summary, 0, sizeof record->summary);
        break;
    case TF_RECORD_FREEZE:
        fed_freeze_load(fed, &record->freeze);
        break;
    case TF_RECORD_NONE:
    case TF_RECORD_TERM:
    case TF_RECORD_FLOOR:
    case TF_RECORD_POLICY:
    case TF_RECORD_ALLOCATION:
    case TF_RECORD_CORDON:
    case TF_RECORD_NODE_CLAIM:
    case TF_RECORD_MIGRATION:
    case TF_RECORD_EVICTIONS:
        fed_alarm_now(fed,
                      "the store holds a record of kind %d, which is not the federation's: it is left out",
                      (int)record->kind);
        break;
    }
}

void fed_load_done(struct fed *fed)
{
    assert(fed->stage == FED_STAGE_LOADING);
    fed->stage = FED_STAGE_OPEN;
    for (struct job *job = fed_job_first(fed); job; job = fed_job_following(job)) {
        enum tf_phase phase = job->record.phase;
        fed_refusals_load(fed, job);
        fed_rollback_loaded(fed, job);
        fed_job_settle(fed, job);
        if (fed->accept_rollback)
            fed_cross_restored(fed, job);
        fed_claims_load(fed, job);
        if (job->record.phase != phase)
            fed_touch_job(fed, job);
    }
    tf_leaders_add(&fed->leaders, (struct tf_leader){fed->term, fed->epoch});
    fed_touch_leaders(fed);
    if (fed->accept_rollback)
        fed_touch_rollback(fed);
    fed_rollback_look(fed);
    fed_mix_begin(fed);
    fed_trace_line(fed, "leader of term %" PRIu64 ".%" PRIu64 ": %u jobs, %zu subclusters, epoch %" PRIu64,
                   fed->term.era, fed->term.revision, HASH_CNT(by_uid, fed->jobs_by_uid), fed->clusters.count,
                   fed->epoch);
}
