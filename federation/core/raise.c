/* SPDX-License-Identifier: Apache-2.0 */
/* When every waiting core has been considered, the placements of this round take more of what is still free,
 * step by step. */
#include "federation/core/raise.h"

#include "federation/core/ledger.h"

/* What takes from others takes its core alone. */
static bool may_grow(const struct raise *raise)
{
    const struct tf_job_spec *spec = raise->job->record.spec;
    return raise->level == TF_LEVEL_FREE && spec->elastic.max > spec->elastic.min &&
           spec->grow != TF_GROW_NEVER;
}

static size_t growers_in(const struct fed *fed, const struct cluster *cluster)
{
    size_t count = 0;
    tf_vec_each (raise, &fed->round)
        count += raise->cluster == cluster && may_grow(raise);
    return count;
}

/* One step to each in turn, until none can take another or the budget is used up. */
static void raise_by_steps(struct fed *fed, struct cluster *cluster, int64_t *work)
{
    bool more = true;
    while (more) {
        more = false;
        tf_vec_each (raise, &fed->round) {
            if (raise->cluster != cluster || !may_grow(raise) || *work >= fed->settings.decision_budget)
                continue;
            more |= fed_ledger_raise_step(fed, cluster, raise->epoch);
            ++*work;
        }
    }
}

void fed_raise_round(struct fed *fed, int64_t *work)
{
    if (!fed->round.count)
        return;
    tf_vec_each (c, &fed->clusters) {
        size_t growers = growers_in(fed, *c);
        if (growers > 1)
            raise_by_steps(fed, *c, work);
        tf_vec_each (raise, &fed->round)
            if (growers == 1 && raise->cluster == *c && may_grow(raise))
                fed_ledger_raise_most(fed, *c, raise->epoch);
    }
}
