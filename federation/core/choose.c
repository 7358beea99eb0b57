/* SPDX-License-Identifier: Apache-2.0 */
/* The subcluster that suits a demand best. A verdict is kept until there is more room than it was made from;
 * who is chosen by one is looked at again if there is less. */
#include "federation/core/choose.h"

#include "federation/core/candidate.h"
#include "federation/core/ledger.h"
#include "federation/core/queue.h"

static void judge(struct fed *fed, struct shape *shape, struct cluster *cluster, int64_t *work)
{
    const struct job *job = fed_queue_first(shape);
    fed_ledger_fit(fed, cluster, &job->record.spec, job->rank, fed_candidate_claims_in(job, cluster),
                   &shape->verdicts.items[cluster->slot]);
    ++*work;
}

/* The shape's verdict about the subcluster, made anew if there is more room than when it was made. As long as
 * there is only less, and later, nothing of it can have become better: it bounds what a new one would say. */
static const struct verdict *bound_of(struct fed *fed, struct shape *shape, struct cluster *cluster,
                                      int64_t *work)
{
    while (shape->verdicts.count <= cluster->slot)
        (void)tf_vec_add(&shape->verdicts);
    if (shape->verdicts.items[cluster->slot].capacity != cluster->capacity)
        judge(fed, shape, cluster, work);
    return &shape->verdicts.items[cluster->slot];
}

static struct cluster *best_bound(struct fed *fed, struct shape *shape, int64_t *work)
{
    const struct job *job = fed_queue_first(shape);
    struct cluster *best = NULL;
    tf_vec_each (c, &fed->clusters) {
        if ((*c)->grown <= shape->failed || fed_candidate_bar(fed, job, *c) != TF_REASON_NONE)
            continue;
        const struct verdict *v = bound_of(fed, shape, *c, work);
        if (v->fits && (!best || fed_candidate_is_better(&job->record.spec, fed->now.wall, *c, v, best,
                                                         &shape->verdicts.items[best->slot])))
            best = *c;
    }
    return best;
}

static bool holds_still(const struct fed *fed, const struct shape *shape, const struct cluster *cluster)
{
    const struct verdict *v = &shape->verdicts.items[cluster->slot];
    return v->change == cluster->change && fed->now.wall.ms <= v->good_until.ms;
}

/* Of many, only those are counted anew that could be the best by what was known of them. */
struct cluster *fed_choose(struct fed *fed, struct shape *shape, int64_t *work)
{
    struct cluster *best, *judged = NULL;
    while ((best = best_bound(fed, shape, work)) && best != judged && !holds_still(fed, shape, best)) {
        judge(fed, shape, best, work);
        judged = best; /* of one that waits for its own claim, the moment may have passed at once */
    }
    return best;
}
