/* SPDX-License-Identifier: Apache-2.0 */
/* Which subclusters a job may be given to at all, and which of two that could hold it is to be preferred
 * (DESIGN.md §6). How a job would fit is ledger.c's to say, whom to ask choose.c's. */
#include "federation/core/candidate.h"

#include "federation/core/cluster.h"
#include "federation/core/refusals.h"
#include "federation/core/reservations.h"

/* ---- who may be asked ---- */

bool fed_candidate_lets(const struct tf_job_spec *spec, const struct cluster *cluster)
{
    if (spec->clusters.count && !tf_strs_has(&spec->clusters, cluster->record.name))
        return false;
    return !spec->regions.count ||
           (cluster->record.region && tf_strs_has(&spec->regions, cluster->record.region));
}

bool fed_candidate_allows(const struct job *job, const struct cluster *cluster)
{
    return job->rank >= 0 && fed_candidate_lets(job->record.spec, cluster);
}

bool fed_candidate_claims_in(const struct job *job, const struct cluster *cluster)
{
    return job->record.claims_in && strcmp(job->record.claims_in, cluster->record.name) == 0;
}

void fed_candidate_entitled(const struct fed *fed, const struct job *job, const struct cluster *cluster,
                            struct entitled *out)
{
    out->claimant = fed_candidate_claims_in(job, cluster);
    out->spares = job->record.claims_in && job->record.claim_move_cost > 0;
    out->reserved.count = 0;
    fed_reservations_in(fed, job, cluster, &out->reserved);
}

enum tf_reason fed_candidate_bar(const struct fed *fed, const struct job *job, const struct cluster *cluster)
{
    if (!fed_candidate_allows(job, cluster))
        return TF_REASON_POLICY;
    if (cluster->lost || cluster->record.forgotten)
        return TF_REASON_CLUSTER_LOST;
    if (cluster->record.cordoned)
        return TF_REASON_CLUSTER_CORDONED;
    if (!fed_cluster_is_current(fed, cluster))
        return TF_REASON_NOT_CONSIDERED_YET;
    return fed_refusals_hold(fed, job, cluster) ? TF_REASON_REFUSED : TF_REASON_NONE;
}

/* ---- which of two ---- */

static size_t place_in_list(const struct tf_strs *list, const char *name)
{
    size_t i = 0;
    while (i < list->count && strcmp(list->items[i], name) != 0)
        i++;
    return i;
}

static int32_t room_to_grow(const struct tf_job_spec *spec, const struct verdict *v)
{
    return spec->grow == TF_GROW_NEVER ? 0 : tf_size_align(&spec->elastic, v->count);
}

int64_t fed_candidate_cost(const struct tf_job_spec *spec, struct tf_wall now, const struct cluster *cluster,
                           const struct verdict *v)
{
    int64_t taken = (int64_t)(spec->elastic.min - v->below) * spec->group.shape.gpus;
    if (v->level <= TF_LEVEL_GOING || taken <= 0)
        return 0;
    return tf_profile_price(cluster->profile, v->level, taken, now);
}

/* What is alike to a quarter counts as equal (the three highest bits are kept): of costs, no two are ever the
 * same, and topology and the job's own order should still count; of room, what was known before the last few
 * placements is then good enough to choose by. */
static int64_t coarse(int64_t amount)
{
    if (amount < 8)
        return amount;
    int low = 61 - __builtin_clzll((uint64_t)amount);
    return amount >> low << low;
}

void fed_candidate_prefer(const struct tf_job_spec *spec, struct tf_wall now, const struct cluster *cluster,
                          const struct verdict *v, struct preference *out)
{
    int64_t cost = fed_candidate_cost(spec, now, cluster, v);
    size_t place = spec->clusters.count ? place_in_list(&spec->clusters, cluster->record.name) : 0;
    *out = (struct preference){{
        [FED_PREFER_LEVEL] = v->level,
        [FED_PREFER_RESERVED] = !v->kept,
        [FED_PREFER_COST] = coarse(cost),
        [FED_PREFER_TOPOLOGY] = v->domains,
        [FED_PREFER_MODEL] = v->model,
        [FED_PREFER_CLUSTER] = (int64_t)place,
        [FED_PREFER_EXACT_COST] = cost,
        [FED_PREFER_GROWTH] = -(int64_t)room_to_grow(spec, v),
        [FED_PREFER_ROOM] = -coarse(v->count),
        [FED_PREFER_TURN] = (int64_t)cluster->record.highest_epoch,
    }};
}

int fed_preference_cmp(const struct preference *a, const struct preference *b)
{
    for (size_t i = 0; i < FED_PREFERENCES; i++)
        if (a->by[i] != b->by[i])
            return a->by[i] < b->by[i] ? -1 : 1;
    return 0;
}
