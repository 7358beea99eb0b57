/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what goes for short jobs. Which jobs are short, and whose turn it is, is repair.c's. */
#include "subcluster/core/shortage.h"

#include "subcluster/core/grow.h"
#include "subcluster/core/levels.h"
#include "subcluster/core/policy.h"
#include "subcluster/core/reclaim.h"
#include "subcluster/core/repair.h"
#include "subcluster/core/trace.h"

/* Rows of one node each, of what is or will be free when all has gone that is going. */
struct going {
    TF_VEC(struct tf_profile_row) rows;
    TF_VEC(struct tf_level_vector) have;
};

static void list_going(const struct sub *sub, struct going *going)
{
    struct tf_fit_view view = ledger_view(&sub->ledger);
    tf_vec_reserve(&going->rows, view.count + 1);
    tf_vec_reserve(&going->have, view.count + 1);
    for (size_t i = 0; i < view.count; i++) {
        struct tf_vector have = tf_vector_floor0(ledger_going(sub->ledger.nodes.items[i]));
        tf_vec_push(&going->have, (struct tf_level_vector){TF_LEVEL_FREE, have});
        tf_vec_push(&going->rows, view.rows[i]);
        going->rows.items[i].levels = (struct tf_level_vectors){&going->have.items[i], 1, 1};
    }
}

/* Nobody has to go for it: there will be room. (What strays hold is less here than in the ledger's rows,
 * which know nothing of it but the GPUs.) */
static bool will_fit(const struct sub *sub, const struct tf_demand *demand)
{
    struct tf_fit_view view = ledger_view(&sub->ledger);
    struct going going = {0};
    struct tf_fit fit;
    if (!sub->strays.count && !grow_may_fit(sub, demand, TF_LEVEL_GOING))
        return false;
    list_going(sub, &going);
    view.rows = going.rows.items;
    tf_fit_count(&view, demand, TF_LEVEL_FREE, sub->scratch, &fit);
    tf_vec_release(&going.rows);
    tf_vec_release(&going.have);
    return fit.count >= demand->step;
}

/* Of its own priority surplus only, below it cores, too: as for a first start. False: there is no such plan.
 */
static bool claim(struct sub *sub, struct job *job, const struct tf_demand *demand)
{
    struct reclaim_plan plan = {0};
    bool found =
        grow_may_fit(sub, demand, demand->level) && reclaim_plan_make(sub, demand, demand->level, &plan);
    if (found && reclaim_is_braked(sub, &plan)) {
        repair_again(sub, (struct tf_mono){sub->now.mono.ms + TF_MINUTE});
    } else if (found) {
        tf_reached(sub, SUB_SHORT_CLAIMS);
        trace_epoch(sub, job, "is short, %d of %d instances: claims what %d need, %zu job%s evicted for it",
                    job->record.size, job->record.spec->elastic.min, demand->core, plan.evicted.count,
                    plan.evicted.count == 1 ? "" : "s");
        reclaim_commit(sub, job, NULL, &plan);
    }
    reclaim_plan_release(&plan);
    return found;
}

void shortage_serve(struct sub *sub, struct job *job)
{
    struct tf_demand demand = {0};
    if (sub_frozen(sub, TF_FROZEN_EVICTIONS) || grow_bar(sub, job))
        return;
    ledger_refresh(&sub->ledger);
    if (grow_demand(sub, job, &demand) && !will_fit(sub, &demand)) {
        demand.core = repair_missing(job); /* all of it at once, */
        if (!claim(sub, job, &demand) && demand.core > demand.step) {
            demand.core = demand.step; /* or what a step needs */
            (void)claim(sub, job, &demand);
        }
    }
    tf_demand_release(&demand);
}
