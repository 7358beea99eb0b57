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
    fed_candidate_entitled(fed, job, cluster, &fed->entitled);
    fed_ledger_fit(fed, cluster, job->record.spec, job->rank, &fed->entitled,
                   &shape->verdicts.items[cluster->slot]);
    ++*work;
}

/* The shape's verdict about the subcluster, made anew if there is more room than when it was made. As long as
 * there is only less, and later, nothing of it can have become better: it bounds what a new one would say.
 * (Where a job takes any model its next one may have more room than the last of the first: that decides
 * balance alone, and is found when this subcluster's turn comes.) */
static const struct verdict *bound_of(struct fed *fed, struct shape *shape, struct cluster *cluster,
                                      int64_t *work)
{
    while (shape->verdicts.count <= cluster->slot)
        (void)tf_vec_add(&shape->verdicts);
    if (shape->verdicts.items[cluster->slot].capacity != cluster->capacity)
        judge(fed, shape, cluster, work);
    return &shape->verdicts.items[cluster->slot];
}

/* ---- the options, best first: a heap ---- */

static bool is_before(const struct option *a, const struct option *b)
{
    int c = fed_preference_cmp(&a->preference, &b->preference);
    return c ? c < 0 : a->order < b->order;
}

/* The option at that place may be worse than those below it. */
static void sink(struct fed *fed, size_t at)
{
    struct option *heap = fed->options.items, moved = heap[at];
    size_t count = fed->options.count;
    for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && is_before(&heap[child + 1], &heap[child]);
        if (!is_before(&heap[child], &moved))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static void list_options(struct fed *fed, struct shape *shape, int64_t *work)
{
    const struct job *job = fed_queue_first(shape);
    fed->options.count = 0;
    for (size_t i = 0; i < fed->clusters.count; i++) {
        struct cluster *cluster = fed->clusters.items[i];
        if (cluster->grown <= shape->failed || fed_candidate_bar(fed, job, cluster) != TF_REASON_NONE)
            continue;
        const struct verdict *v = bound_of(fed, shape, cluster, work);
        if (!v->fits)
            continue;
        struct option *option = tf_vec_add(&fed->options);
        option->cluster = cluster;
        option->order = i;
        fed_candidate_prefer(job->record.spec, fed->now.wall, cluster, v, &option->preference);
    }
    for (size_t i = fed->options.count / 2; i-- > 0;)
        sink(fed, i);
}

/* So much is known of the first option by now. */
static void review_first(struct fed *fed, const struct shape *shape, const struct verdict *v)
{
    struct option *first = &fed->options.items[0];
    if (v->fits)
        fed_candidate_prefer(fed_queue_first(shape)->record.spec, fed->now.wall, first->cluster, v,
                             &first->preference);
    else
        *first = fed->options.items[--fed->options.count];
    if (fed->options.count)
        sink(fed, 0);
}

static bool holds_still(const struct fed *fed, const struct shape *shape, const struct cluster *cluster)
{
    const struct verdict *v = &shape->verdicts.items[cluster->slot];
    return v->change == cluster->change && fed->now.wall.ms <= v->good_until.ms;
}

/* Counts the first option anew, if what is known without counting does not put another before it. */
static void look_again(struct fed *fed, struct shape *shape, int64_t *work)
{
    struct option *first = &fed->options.items[0];
    struct verdict v = shape->verdicts.items[first->cluster->slot];
    if (!first->narrowed)
        fed_ledger_narrow(fed, first->cluster, fed_queue_first(shape)->record.spec, &v);
    else {
        judge(fed, shape, first->cluster, work);
        v = shape->verdicts.items[first->cluster->slot];
    }
    first->narrowed = true;
    review_first(fed, shape, &v);
}

/* Of many, only those are counted anew that could be the best by what is known of them. */
struct cluster *fed_choose(struct fed *fed, struct shape *shape, int64_t *work)
{
    const struct cluster *judged = NULL; /* of one that waits for its own claim the moment may have passed */
    list_options(fed, shape, work);
    while (fed->options.count) {
        const struct option *first = &fed->options.items[0];
        if (first->cluster == judged || holds_still(fed, shape, first->cluster))
            return first->cluster;
        judged = first->narrowed ? first->cluster : judged;
        look_again(fed, shape, work);
    }
    return NULL;
}
