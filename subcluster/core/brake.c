/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the count of those who went within the last minute. Who goes, and what a refusal says, is left to its
 * users. */
#include "subcluster/core/brake.h"

#include "subcluster/core/outbox.h"

static bool is_recent(const struct sub *sub, const struct evictions *some)
{
    return some->at.ms > sub->now.mono.ms - TF_MINUTE;
}

static uint32_t evicted_lately(const struct sub *sub)
{
    uint32_t count = 0;
    tf_vec_each (some, &sub->evictions)
        count += is_recent(sub, some) ? some->count : 0;
    return count;
}

bool brake_is_on(const struct sub *sub, size_t more)
{
    size_t lately = evicted_lately(sub), most = (size_t)sub->policy.max_evictions_per_minute;
    return lately > 0 && more > 0 && lately + more > most;
}

static void forget_old(struct sub *sub)
{
    size_t kept = 0;
    tf_vec_each (some, &sub->evictions)
        if (is_recent(sub, some))
            sub->evictions.items[kept++] = *some;
    sub->evictions.count = kept;
}

void brake_count(struct sub *sub)
{
    forget_old(sub);
    size_t count = sub->evictions.count;
    if (count && sub->evictions.items[count - 1].at.ms == sub->now.mono.ms)
        sub->evictions.items[count - 1].count++;
    else
        tf_vec_push(&sub->evictions, ((struct evictions){sub->now.mono, 1}));
    uint32_t lately = evicted_lately(sub);
    sub->evicted = (struct tf_eviction_count){
        sub->now.wall, lately < TF_EVICTION_COUNT_MAX ? lately : TF_EVICTION_COUNT_MAX};
    out_touch(sub, TF_RECORD_EVICTIONS);
}

void brake_load(struct sub *sub, const struct tf_eviction_count *stored)
{
    int64_t ago = sub->now.wall.ms - stored->last.ms;
    if (ago < 0)
        ago = 0; /* the wall clock went back: a limit is never shorter for it */
    sub->evicted = *stored;
    if (stored->count && ago < TF_MINUTE)
        tf_vec_push(&sub->evictions, ((struct evictions){{sub->now.mono.ms - ago}, stored->count}));
}
