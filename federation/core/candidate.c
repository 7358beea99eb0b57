/* SPDX-License-Identifier: Apache-2.0 */
/* Which subclusters a job may be given to at all, and which of two that could hold it is to be preferred
 * (DESIGN.md §6). How a job would fit is ledger.c's to say, whom to ask choose.c's. */
#include "federation/core/candidate.h"

#include "federation/core/cluster.h"
#include "federation/core/refusals.h"

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
    return job->rank >= 0 && fed_candidate_lets(&job->record.spec, cluster);
}

bool fed_candidate_claims_in(const struct job *job, const struct cluster *cluster)
{
    return job->record.claims_in && strcmp(job->record.claims_in, cluster->record.name) == 0;
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

/* What is alike to a quarter counts as equal: of costs, no two are ever the same, and topology and the job's
 * own order should still count; of room, what was known before the last few placements is then good enough to
 * choose by. */
static int64_t coarse(int64_t cost)
{
    int64_t unit = 1;
    while (cost / unit >= 8)
        unit *= 2;
    return cost / unit * unit;
}

/* DESIGN.md §6: the lowest level touched, what is free being the lowest of all; then lower cost, better
 * topology, the job's own order (models, then clusters), the cost to the last second (so that equal
 * subclusters take turns), room to grow, balance: most room left, among equals the one that was given
 * something longest ago. Equal in all: the one asked first stays. */
bool fed_candidate_is_better(const struct tf_job_spec *spec, struct tf_wall now, const struct cluster *a,
                             const struct verdict *va, const struct cluster *b, const struct verdict *vb)
{
    if (va->level != vb->level)
        return va->level < vb->level;
    int64_t ca = fed_candidate_cost(spec, now, a, va), cb = fed_candidate_cost(spec, now, b, vb);
    if (coarse(ca) != coarse(cb))
        return ca < cb;
    if (va->domains != vb->domains)
        return va->domains < vb->domains;
    if (va->model != vb->model)
        return va->model < vb->model;
    size_t pa = place_in_list(&spec->clusters, a->record.name),
           pb = place_in_list(&spec->clusters, b->record.name);
    if (pa != pb)
        return pa < pb;
    if (ca != cb)
        return ca < cb;
    if (room_to_grow(spec, va) != room_to_grow(spec, vb))
        return room_to_grow(spec, va) > room_to_grow(spec, vb);
    if (coarse(va->count) != coarse(vb->count))
        return va->count > vb->count;
    return a->record.highest_epoch < b->record.highest_epoch;
}
