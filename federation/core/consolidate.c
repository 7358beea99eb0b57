/* SPDX-License-Identifier: Apache-2.0 */
/* Owns whether room is made by moves rather than by evictions. Which moves is the subcluster's to say, how
 * long the job waits for them claims.c's. */
#include "federation/core/consolidate.h"

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "federation/core/candidate.h"
#include "federation/core/claims.h"
#include "federation/core/freeze.h"
#include "federation/core/jobs.h"
#include "federation/core/more_rows.h"
#include "federation/core/outbox.h"
#include "federation/core/trace.h"

#include <inttypes.h>

bool fed_consolidate_takes_cores(tf_level level)
{
    return level >= tf_level_core(0);
}

/* ---- what moves could give ---- */

static struct tf_fit_view with_freed(const struct cluster *cluster, struct more_rows *more)
{
    tf_vec_each (v, &cluster->profile->vacatable)
        more_rows_add(more, v->class, v->nodes, v->room);
    return more_rows_view(cluster, more);
}

/* Of as many nodes as it lacks; at least, since the cheapest count for all of a class. */
static int64_t cost_of(const struct cluster *cluster, const struct tf_demand *demand, int32_t missing)
{
    const struct tf_catalog *catalog = tf_fit_rows_view(cluster->room).catalog;
    int64_t cost = 0;
    tf_vec_each (v, &cluster->profile->vacatable) {
        int32_t each = tf_vector_count(demand->need, v->room);
        if (missing <= 0 || each <= 0 || tf_demand_admits(demand, catalog, v->class) < 0)
            continue;
        int32_t nodes = (missing + each - 1) / each;
        nodes = nodes < v->nodes ? nodes : v->nodes;
        cost += v->cost * nodes;
        missing -= nodes * each;
    }
    return cost;
}

/* True if the core would fit; *cost: what the moves cost then. */
static bool fits_after(const struct fed *fed, const struct job *job, const struct cluster *cluster,
                       struct tf_now now, int64_t *cost)
{
    const struct tf_job_spec *spec = job->record.spec;
    struct tf_fit_view view = tf_fit_rows_view(cluster->room);
    struct tf_demand demand = {0};
    struct tf_fit fit = {0}, after = {0};
    if (tf_demand_resolve(&demand, spec, job->rank, view.catalog, NULL) == 0) {
        struct more_rows freed = {0};
        if (spec->max_runtime > 0)
            demand.ends.ms = now.wall.ms + spec->max_runtime;
        demand.step = 1; /* single instances: how many are missing */
        tf_fit_count(&view, &demand, TF_LEVEL_FREE, fed->scratch, &fit);
        demand.step = spec->elastic.step;
        view = with_freed(cluster, &freed);
        tf_fit_count(&view, &demand, TF_LEVEL_FREE, fed->scratch, &after);
        more_rows_release(&freed);
        *cost = cost_of(cluster, &demand, demand.core - fit.count);
    }
    tf_demand_release(&demand);
    return after.fits;
}

static bool may_move(const struct fed *fed, const struct job *job, const struct cluster *cluster)
{
    return cluster->room && cluster->profile->vacatable.count &&
           fed_candidate_bar(fed, job, cluster) == TF_REASON_NONE &&
           !fed_frozen(fed, cluster, TF_FROZEN_MOVES);
}

bool fed_consolidate_find(const struct fed *fed, const struct job *job, int64_t evicting, struct tf_now now,
                          struct fed_consolidation *out)
{
    *out = (struct fed_consolidation){.cost = evicting};
    tf_vec_each (c, &fed->clusters) {
        int64_t cost = 0;
        if (may_move(fed, job, *c) && fits_after(fed, job, *c, now, &cost) && cost < out->cost)
            *out = (struct fed_consolidation){*c, cost};
    }
    return out->cluster != NULL;
}

/* ---- instead of evicting ---- */

#define WOULD_EVENT "WouldConsolidate"

/* One claim a priority, and one attempt a wait: what does not come of it is not waited for again. */
static bool may_say(const struct fed *fed, const struct job *job)
{
    const struct tf_job_record *r = &job->record;
    bool said = r->consolidated.ms > 0 && r->consolidated.ms >= r->changed.ms;
    return fed->settings.policy.consolidate >= TF_CONSOLIDATE_OBSERVE && !said &&
           !tf_is_reservation(r->spec) && r->spec->group.shape.gpus > 0 && !r->claims_in &&
           !fed_claims_any(fed, job->rank);
}

bool fed_consolidate_may(const struct fed *fed, const struct job *job)
{
    return fed->settings.policy.consolidate == TF_CONSOLIDATE_ON && may_say(fed, job);
}

char *fed_consolidate_text(const struct fed_consolidation *found, int64_t evicting,
                           const struct cluster *evicts)
{
    int64_t moves = found->cost / 360, losses = evicting / 360; /* tenths of GPU-hours */
    struct tf_buf text = TF_BUF_INIT;
    tf_buf_fmt(&text,
               "fits after consolidation in %s, by moves that cost %" PRId64 ".%" PRId64 " gpu-h or more; ",
               found->cluster->record.name, moves / 10, moves % 10);
    if (evicts)
        tf_buf_fmt(&text, "to evict others in %s costs %" PRId64 ".%" PRId64 " gpu-h", evicts->record.name,
                   losses / 10, losses % 10);
    else
        tf_buf_str(&text, "nobody can be evicted for it");
    return tf_buf_take(&text);
}

static void say(struct fed *fed, struct job *job, const char *text, const char *event, const char *what)
{
    job->record.consolidated = fed->now.wall;
    tf_job_record_event(&job->record, fed->now.wall, 0, event, "%s: %s", text, what);
    fed_trace_job(fed, job, "%s -> %s", text, what);
    fed_touch_job(fed, job);
}

bool fed_consolidate_instead(struct fed *fed, struct job *job, const struct cluster *evicts)
{
    bool observes = fed->settings.policy.consolidate == TF_CONSOLIDATE_OBSERVE;
    const struct verdict *v = &job->shape->verdicts.items[evicts->slot];
    struct fed_consolidation found;
    if (!fed_consolidate_takes_cores(v->level) || !may_say(fed, job))
        return false;
    int64_t evicting = fed_candidate_cost(job->record.spec, fed->now.wall, evicts, v);
    if (!fed_consolidate_find(fed, job, evicting, fed->now, &found))
        return false;
    TF_AUTO_FREE char *text = fed_consolidate_text(&found, evicting, evicts);
    if (observes) {
        say(fed, job, text, WOULD_EVENT, "they go (consolidate: observe)");
        return false;
    }
    say(fed, job, text, "Consolidating", "it waits for the moves");
    tf_reached(fed, FED_CONSOLIDATES);
    fed_claims_move(fed, job, found.cluster, evicting);
    return true;
}

bool fed_consolidate_hopes(const struct fed *fed, const struct cluster *cluster,
                           const struct tf_profile *profile)
{
    return fed->settings.policy.consolidate == TF_CONSOLIDATE_OBSERVE && profile->vacatable.count &&
           !(cluster->profile && tf_vacatables_eq(&cluster->profile->vacatable, &profile->vacatable));
}

void fed_consolidate_observe(struct fed *fed, struct job *job)
{
    struct fed_consolidation found;
    if (fed->settings.policy.consolidate != TF_CONSOLIDATE_OBSERVE || !may_say(fed, job) ||
        !fed_consolidate_find(fed, job, INT64_MAX, fed->now, &found))
        return;
    TF_AUTO_FREE char *text = fed_consolidate_text(&found, 0, NULL);
    say(fed, job, text, WOULD_EVENT, "it waits (consolidate: observe)");
}
