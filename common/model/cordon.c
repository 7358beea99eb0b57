/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is remembered of a node; what follows from it is the ledger's. */
#include "common/model/cordon.h"

#include "common/base/text.h"

#include <string.h>

static void gpu_cordon_release(struct tf_gpu_cordon *g)
{
    free(g->reason);
    *g = (struct tf_gpu_cordon){0};
}

void tf_cordon_release(struct tf_cordon *cordon)
{
    free(cordon->node);
    free(cordon->reason);
    free(cordon->drained_with);
    tf_vec_each (g, &cordon->gpus)
        gpu_cordon_release(g);
    tf_vec_release(&cordon->gpus);
    *cordon = (struct tf_cordon){0};
}

void tf_cordon_copy(struct tf_cordon *to, const struct tf_cordon *from)
{
    struct tf_cordon copy = {.node = tf_strdup(from->node),
                             .whole = from->whole,
                             .reason = tf_strdup(from->reason),
                             .at = from->at,
                             .verdict = from->verdict,
                             .judged = from->judged,
                             .drain = from->drain,
                             .drained_with = tf_strdup(from->drained_with),
                             .stays = from->stays};
    tf_vec_each (g, &from->gpus)
        tf_vec_push(&copy.gpus, (struct tf_gpu_cordon){g->gpus, tf_strdup(g->reason), g->at});
    tf_cordon_release(to);
    *to = copy;
}

static bool drain_eq(const struct tf_drain *a, const struct tf_drain *b)
{
    return a->on == b->on && a->force == b->force && a->max_at_once == b->max_at_once &&
           a->deadline.ms == b->deadline.ms;
}

bool tf_cordon_eq(const struct tf_cordon *a, const struct tf_cordon *b)
{
    if (!tf_str_eq(a->node, b->node) || a->whole != b->whole || !tf_str_eq(a->reason, b->reason) ||
        a->at.ms != b->at.ms || a->verdict != b->verdict || a->judged.ms != b->judged.ms ||
        a->gpus.count != b->gpus.count || !drain_eq(&a->drain, &b->drain) ||
        !tf_str_eq(a->drained_with, b->drained_with) || a->stays != b->stays)
        return false;
    for (size_t i = 0; i < a->gpus.count; i++) {
        const struct tf_gpu_cordon *x = &a->gpus.items[i], *y = &b->gpus.items[i];
        if (x->gpus != y->gpus || !tf_str_eq(x->reason, y->reason) || x->at.ms != y->at.ms)
            return false;
    }
    return true;
}

bool tf_cordon_of_people(const struct tf_cordon *cordon)
{
    return cordon->whole || cordon->gpus.count > 0;
}

bool tf_cordon_is_empty(const struct tf_cordon *cordon)
{
    return !tf_cordon_of_people(cordon) && cordon->verdict == TF_VERDICT_NONE;
}

uint64_t tf_cordon_gpus(const struct tf_cordon *cordon)
{
    uint64_t all = 0;
    tf_vec_each (g, &cordon->gpus)
        all |= g->gpus;
    return all;
}

static bool set_whole(struct tf_cordon *cordon, bool whole, const char *reason, struct tf_wall at)
{
    if (cordon->whole == whole && tf_str_eq(cordon->reason, reason))
        return false;
    cordon->whole = whole;
    tf_str_set(&cordon->reason, reason);
    cordon->at = at;
    return true;
}

static void drain_with(struct tf_cordon *cordon, const char *with, bool stays)
{
    tf_str_set(&cordon->drained_with, with);
    cordon->stays = stays;
}

bool tf_cordon_drain(struct tf_cordon *cordon, const struct tf_drain *terms, const char *with,
                     const char *reason, struct tf_wall at)
{
    bool same = drain_eq(&cordon->drain, terms) && tf_str_eq(cordon->drained_with, with);
    bool stays = with && (cordon->stays || (cordon->whole && !cordon->drain.on));
    cordon->drain = *terms;
    drain_with(cordon, with, stays);
    if (stays) /* and says why it was cordoned: that is what will be left of it */
        return !same;
    return set_whole(cordon, true, reason, at) || !same;
}

void tf_cordon_drain_ends(struct tf_cordon *cordon)
{
    bool stays = cordon->stays;
    cordon->drain = (struct tf_drain){0};
    drain_with(cordon, NULL, false);
    if (!stays)
        set_whole(cordon, false, NULL, (struct tf_wall){0});
}

static bool clear_gpus(struct tf_cordon *cordon, uint64_t gpus)
{
    bool changed = false;
    for (size_t i = cordon->gpus.count; i-- > 0;) {
        struct tf_gpu_cordon *g = &cordon->gpus.items[i];
        changed |= (g->gpus & gpus) != 0;
        g->gpus &= ~gpus;
        if (g->gpus)
            continue;
        gpu_cordon_release(g);
        tf_vec_remove(&cordon->gpus, i);
    }
    return changed;
}

/* They are so already, and for that reason. */
static bool is_set(const struct tf_cordon *cordon, uint64_t gpus, const char *reason)
{
    uint64_t same = 0;
    tf_vec_each (g, &cordon->gpus)
        if (tf_str_eq(g->reason, reason))
            same |= g->gpus;
    return (gpus & ~same) == 0;
}

bool tf_cordon_set(struct tf_cordon *cordon, uint64_t gpus, const char *reason, struct tf_wall at)
{
    if (gpus == 0) {
        bool stays = cordon->drained_with && !cordon->stays;
        cordon->stays |= stays;
        return set_whole(cordon, true, reason, at) || stays;
    }
    if (is_set(cordon, gpus, reason))
        return false;
    clear_gpus(cordon, gpus);
    tf_vec_push(&cordon->gpus, (struct tf_gpu_cordon){gpus, tf_strdup(reason), at});
    return true;
}

bool tf_cordon_clear(struct tf_cordon *cordon, uint64_t gpus)
{
    if (gpus)
        return clear_gpus(cordon, gpus);
    cordon->drain = (struct tf_drain){0};
    drain_with(cordon, NULL, false);
    return set_whole(cordon, false, NULL, (struct tf_wall){0});
}

bool tf_cordon_judge(struct tf_cordon *cordon, enum tf_verdict verdict, struct tf_wall at)
{
    if (cordon->verdict == verdict)
        return false;
    cordon->verdict = verdict;
    cordon->judged = verdict == TF_VERDICT_NONE ? (struct tf_wall){0} : at;
    return true;
}

const char *tf_cordon_fault(const struct tf_cordon *cordon)
{
    uint64_t seen = 0;
    tf_vec_each (g, &cordon->gpus) {
        if (g->gpus == 0)
            return "it cordons no GPU with a reason for one";
        if (seen & g->gpus)
            return "it cordons a GPU twice";
        seen |= g->gpus;
    }
    if (cordon->drain.on && !cordon->whole)
        return "it drains a node that it does not cordon";
    if ((cordon->drained_with || cordon->stays) && !cordon->drain.on)
        return "it is part of a drain and does not drain";
    if (cordon->verdict < TF_VERDICT_NONE || cordon->verdict > TF_VERDICT_LOST)
        return "its verdict is none that is known";
    return tf_cordon_is_empty(cordon) ? "it says nothing" : NULL;
}
