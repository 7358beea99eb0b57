/* SPDX-License-Identifier: Apache-2.0 */
/* A round of placement: the waiting jobs in queue order, each to the subcluster that suits it best, at its
 * smallest size; then, when every waiting core has been considered, the placements of this round take more of
 * what is still free. Which jobs are due is queue.c's, which subcluster is choose.c's, how much more
 * raise.c's.
 *
 * Work is counted in candidate evaluations (one demand against one subcluster); the budget is looked at
 * between demands. */
#include "federation/core/place.h"

#include "common/model/transaction.h"
#include "federation/core/candidate.h"
#include "federation/core/choose.h"
#include "federation/core/consolidate.h"
#include "federation/core/desired.h"
#include "federation/core/jobs.h"
#include "federation/core/ledger.h"
#include "federation/core/outbox.h"
#include "federation/core/queue.h"
#include "federation/core/raise.h"
#include "federation/core/trace.h"

bool fed_place_is_stopped(const struct fed *fed)
{
    return fed->stage != FED_STAGE_OPEN || fed->closed || fed->waits_for_all;
}

static void commit(struct fed *fed, struct job *job, struct cluster *cluster)
{
    const struct tf_job_spec *spec = job->record.spec;
    struct raise raise = {
        .job = job, .cluster = cluster, .line = fed_trace_candidates(fed, job->shape, cluster)};
    tf_level level = raise.level = job->shape->verdicts.items[cluster->slot].level;
    struct tf_placement *placement = fed_job_place(fed, job, cluster, spec->elastic.min);
    placement->level = level;
    tf_reached_if(level > TF_LEVEL_FREE, fed, FED_RECLAIMS);
    fed_candidate_entitled(fed, job, cluster, &fed->entitled);
    tf_reached_if(fed->entitled.reserved.count, fed, FED_RESERVED_FOR);
    const char *model = fed_ledger_add(fed, cluster, spec, job->rank, &fed->entitled, placement->epoch,
                                       placement->size, level);
    placement->model = tf_strdup(model);
    raise.epoch = placement->epoch;
    tf_vec_push(&fed->round, raise);
}

static void consider(struct fed *fed, struct shape *shape, int64_t *work)
{
    struct job *job = fed_queue_first(shape);
    struct cluster *cluster = fed_choose(fed, shape, work);
    if (cluster && fed_consolidate_instead(fed, job, cluster))
        return; /* of a demand of its own from now on, which is considered next */
    if (cluster) {
        commit(fed, job, cluster);
        return;
    }
    if (!job->told_to_wait)
        fed_trace_waits(fed, job);
    fed_consolidate_observe(fed, job);
    job->told_to_wait = true;
    shape->failed = fed->world;
    fed_queue_considered(fed, shape);
}

/* The sizes of this round are final: they are recorded, told and traced. What fits into one transaction is
 * told together, so that the first need not wait for the last. */
static void close_round(struct fed *fed)
{
    tf_vec_each (raise, &fed->round) {
        struct job *job = raise->job;
        struct tf_placement *p = fed_job_placement(job, raise->epoch);
        p->size = fed_ledger_size(raise->cluster, raise->epoch);
        tf_reached_if(p->size > job->record.spec->elastic.min, fed, FED_RAISED);
        tf_job_record_event(&job->record, fed->now.wall, p->epoch, "Placed", "in %s, %d instance%s%s%s",
                            p->cluster, p->size, p->size == 1 ? "" : "s", p->model ? " on " : "",
                            p->model ? p->model : "");
        fed_trace_placed(fed, job, p, raise->line);
        free(raise->line);
        fed_desired_place(fed, raise->cluster, job, p);
        fed_touch_job(fed, job);
        if ((size_t)(raise - fed->round.items) % TF_TRANSACTION_RECORDS == TF_TRANSACTION_RECORDS - 1)
            fed_desired_flush(fed);
    }
    fed->round.count = 0;
}

void fed_place_round(struct fed *fed)
{
    fed->unfinished = false;
    if (fed_place_is_stopped(fed))
        return;
    if (fed->more_room)
        fed_queue_reconsider(fed);
    fed->more_room = false;
    int64_t work = 0;
    struct shape *shape;
    while ((shape = fed_queue_next(fed)) && work < fed->settings.decision_budget) {
        fed_ledger_count_shorts(fed, fed_queue_first(shape)->rank);
        consider(fed, shape, &work);
    }
    fed->unfinished = shape != NULL;
    tf_reached_if(fed->unfinished, fed, FED_BUDGET);
    if (!fed->unfinished) {
        fed_ledger_count_shorts(fed, 0);
        fed_raise_round(fed, &work);
    }
    close_round(fed);
}
