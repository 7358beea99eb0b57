/* SPDX-License-Identifier: Apache-2.0 */
/* What nobody waiting has use for: subclusters are told, so that running work may have it. */
#include "federation/core/considered.h"

#include "federation/core/cluster.h"
#include "federation/core/desired.h"
#include "federation/core/ledger.h"
#include "federation/core/place.h"

/* Not while something that takes from others is on its way: what else waits could not be considered (§6). */
static bool is_considered(const struct fed *fed, const struct cluster *cluster)
{
    return fed_cluster_is_current(fed, cluster) && !cluster->wants_profile &&
           !fed_ledger_is_reclaiming(cluster);
}

void fed_considered_tell(struct fed *fed)
{
    if (!fed->told_late || fed->unfinished || fed_place_is_stopped(fed))
        return;
    fed->told_late = false;
    tf_vec_each (c, &fed->clusters) {
        struct cluster *cluster = *c;
        if (!cluster->link || !cluster->profile || !cluster->profile->health.free_gpus ||
            tf_generation_cmp(cluster->profile->generation, cluster->considered) == 0)
            continue;
        if (!is_considered(fed, cluster)) {
            fed->told_late = true;
            continue;
        }
        cluster->considered = cluster->profile->generation;
        fed_desired_send(fed, cluster, TF_DOWN_CONSIDERED);
    }
}
