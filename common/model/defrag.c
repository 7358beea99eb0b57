/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/defrag.h"

#include "common/base/hash.h"

void tf_defrag_order_release(struct tf_defrag_order *order)
{
    free(order->model);
    tf_strs_release(&order->nodes);
    free(order->plane);
    free(order->within);
    free(order->reason);
    free(order->user);
    free(order->for_job);
    *order = (struct tf_defrag_order){0};
}

void tf_defrag_order_copy(struct tf_defrag_order *to, const struct tf_defrag_order *from)
{
    struct tf_defrag_order copy = *from;
    copy.model = tf_strdup(from->model);
    copy.nodes = (struct tf_strs){0};
    tf_strs_copy(&copy.nodes, &from->nodes);
    copy.plane = tf_strdup(from->plane);
    copy.within = tf_strdup(from->within);
    copy.reason = tf_strdup(from->reason);
    copy.user = tf_strdup(from->user);
    copy.for_job = tf_strdup(from->for_job);
    tf_defrag_order_release(to);
    *to = copy;
}

void tf_defrag_plan_release(struct tf_defrag_plan *plan)
{
    tf_vec_each (move, &plan->moves) {
        free(move->tenant);
        free(move->name);
        free(move->from);
        free(move->to);
    }
    tf_vec_each (site, &plan->sites)
        free(site->node);
    tf_vec_each (lock, &plan->locks)
        free(lock->why);
    tf_vec_release(&plan->moves);
    tf_vec_release(&plan->sites);
    tf_vec_release(&plan->buckets);
    tf_vec_release(&plan->locks);
    free(plan->text);
    free(plan->note);
    free(plan->model);
    free(plan->domain);
    *plan = (struct tf_defrag_plan){0};
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (const char *c = text ? text : ""; *c; c++)
        hash = tf_hash_mix(hash, (uint8_t)*c);
    return tf_hash_mix(hash, 256); /* no byte: where it ends */
}

uint64_t tf_defrag_digest(const struct tf_defrag_plan *plan)
{
    uint64_t hash = tf_hash_mix(plan->moves.count, plan->sites.count);
    tf_vec_each (move, &plan->moves) {
        for (size_t i = 0; i < sizeof move->uid.bytes; i++)
            hash = tf_hash_mix(hash, move->uid.bytes[i]);
        hash = tf_hash_mix(hash, move->index);
        hash = mix_text(mix_text(hash, move->from), move->to);
    }
    tf_vec_each (site, &plan->sites)
        hash = tf_hash_mix(mix_text(hash, site->node), (uint64_t)site->units);
    return hash ? hash : 1;
}

const char *tf_defrag_order_fault(const struct tf_defrag_order *order)
{
    if (order->apply && tf_uid_is_none(order->id))
        return "the order has no id";
    if (order->apply && order->digest == 0)
        return "the order does not say which plan was read";
    if (order->want < 0 || order->worst < 0 || order->max_moves < 0 || order->gpus < 0 || order->cpu < 0 ||
        order->memory < 0)
        return "a number of the order is below 0";
    if (order->gpus == 0 && (order->cpu > 0 || order->memory > 0))
        return "a part of a node that is to be free has at least one GPU";
    if (order->plane && !order->within)
        return "a plane was named, and no level of it";
    return NULL;
}
