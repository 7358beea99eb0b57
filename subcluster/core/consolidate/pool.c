/* SPDX-License-Identifier: Apache-2.0 */
/* Where the instances are while a plan is made, with undo. Which nodes have how much free is
 * index.c's, what goes where place.c's. */
#include "subcluster/core/consolidate/private.h"

#include "common/base/cleanup.h"

#include <assert.h>
#include <string.h>

enum { FEW_NODES = 256 };

/* ---- eligibility ---- */

bool set_admits(const struct consolidate_ask *ask, uint32_t set, uint32_t class)
{
    size_t words = (ask->class_count + 63) / 64;
    return set == CONSOLIDATE_ANY || (ask->sets[set * words + class / 64] >> class % 64 & 1) != 0;
}

bool is_site(const struct consolidate_ask *ask, uint32_t node, uint32_t domain)
{
    const struct consolidate_node *n = &ask->nodes[node];
    return n->site && (domain == CONSOLIDATE_ANY || n->domain == domain) &&
           set_admits(ask, ask->unit_set, n->class);
}

bool pool_admits(const struct pool *pool, uint32_t set, uint32_t node)
{
    return set_admits(pool->ask, set, pool->ask->nodes[node].class);
}

const uint32_t *pool_set_nodes(const struct pool *pool, uint32_t set, size_t *count)
{
    *count = 0;
    if (set == CONSOLIDATE_ANY)
        return NULL;
    *count = pool->set_first[set + 1] - pool->set_first[set];
    return &pool->set_nodes[pool->set_first[set]];
}

/* An instance that may go to few nodes would be looked for in vain among all. */
static void list_set_nodes(struct pool *pool)
{
    const struct consolidate_ask *ask = pool->ask;
    pool->set_first = tf_calloc(ask->set_count + 1, sizeof *pool->set_first);
    pool->set_nodes = tf_calloc(ask->set_count * FEW_NODES + 1, sizeof *pool->set_nodes);
    uint32_t used = 0;
    for (size_t s = 0; s < ask->set_count; s++) {
        uint32_t found = 0;
        pool->set_first[s] = used;
        for (uint32_t n = 0; n < ask->node_count && found <= FEW_NODES; n++)
            if (pool_admits(pool, (uint32_t)s, n) && found++ < FEW_NODES)
                pool->set_nodes[used + found - 1] = n;
        used += found <= FEW_NODES ? found : 0;
    }
    pool->set_first[ask->set_count] = used;
}

/* ---- instances ---- */

void pool_open(struct pool *pool, uint32_t node)
{
    pool->bins[node].open = pool->ask->nodes[node].takes;
    index_update(pool, &pool->bins[node]);
}

void pool_close(struct pool *pool, uint32_t node)
{
    pool->bins[node].open = false;
    index_update(pool, &pool->bins[node]);
}

static void unlink_instance(struct pool *pool, uint32_t i)
{
    uint32_t next = pool->next[i], prev = pool->prev[i];
    if (next != IN_HAND)
        pool->prev[next] = prev;
    if (prev != IN_HAND)
        pool->next[prev] = next;
    else
        pool->bins[pool->at[i]].first = next;
}

static void link_instance(struct pool *pool, uint32_t i, uint32_t node)
{
    struct bin *bin = &pool->bins[node];
    pool->next[i] = bin->first;
    pool->prev[i] = IN_HAND;
    if (bin->first != IN_HAND)
        pool->prev[bin->first] = i;
    bin->first = i;
}

/* Without a trace in the log. */
static void shift(struct pool *pool, uint32_t i, uint32_t to)
{
    const struct consolidate_instance *instance = &pool->ask->instances[i];
    uint32_t from = pool->at[i];
    bool was_away = from != instance->node, is_away = to != instance->node;
    if (from != IN_HAND) {
        unlink_instance(pool, i);
        pool->bins[from].free = tf_vector_add(pool->bins[from].free, instance->need);
        index_count(pool, &pool->bins[from], instance, -1);
        index_update(pool, &pool->bins[from]);
    }
    pool->at[i] = to;
    if (to != IN_HAND) {
        link_instance(pool, i, to);
        pool->bins[to].free = tf_vector_sub(pool->bins[to].free, instance->need);
        index_count(pool, &pool->bins[to], instance, 1);
        index_update(pool, &pool->bins[to]);
    }
    pool->moved += is_away - was_away;
    pool->cost += (is_away - was_away) * instance->cost;
}

void pool_lift(struct pool *pool, uint32_t instance)
{
    tf_vec_push(&pool->log, (struct pool_step){instance, pool->at[instance], IN_HAND});
    shift(pool, instance, IN_HAND);
}

void pool_put(struct pool *pool, uint32_t instance, uint32_t node)
{
    assert(pool->at[instance] == IN_HAND);
    tf_vec_push(&pool->log, (struct pool_step){instance, IN_HAND, node});
    shift(pool, instance, node);
}

void pool_undo(struct pool *pool, size_t log)
{
    while (pool->log.count > log) {
        struct pool_step step = pool->log.items[--pool->log.count];
        shift(pool, step.instance, step.from);
    }
}

void pool_keep(struct pool *pool, uint32_t node, struct tf_vector amount)
{
    struct bin *bin = &pool->bins[node];
    bin->free = tf_vector_sub(bin->free, amount);
    bin->kept = tf_vector_add(bin->kept, amount);
    index_update(pool, bin);
}

/* ---- the pool ---- */

/* A node's worth as a place for others. */
struct ranked {
    uint32_t node;
    bool site;
    int64_t cost; /* of freeing it */
};

/* What cannot be freed takes first, then what is dearest to free. */
static int ranked_cmp(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->site != y->site)
        return x->site ? 1 : -1;
    if (x->cost != y->cost)
        return x->cost > y->cost ? -1 : 1;
    return x->node < y->node ? -1 : 1;
}

static void rank_nodes(struct pool *pool)
{
    const struct consolidate_ask *ask = pool->ask;
    TF_AUTO_FREE struct ranked *ranked = tf_calloc(ask->node_count + 1, sizeof *ranked);
    for (uint32_t n = 0; n < ask->node_count; n++)
        ranked[n] = (struct ranked){n, ask->nodes[n].site, 0};
    for (size_t i = 0; i < ask->instance_count; i++) {
        struct ranked *r = &ranked[ask->instances[i].node];
        r->cost += ask->instances[i].cost;
        r->site &= ask->instances[i].lock == CONSOLIDATE_MOVABLE;
    }
    qsort(ranked, ask->node_count, sizeof *ranked, ranked_cmp);
    for (uint32_t rank = 0; rank < ask->node_count; rank++) {
        pool->index.by_rank[rank] = ranked[rank].node;
        pool->bins[ranked[rank].node].rank = rank;
    }
}

void pool_init(struct pool *pool, const struct consolidate_ask *ask)
{
    *pool = (struct pool){.ask = ask, .far = POOL_FAR * (int64_t)ask->node_count};
    pool->bins = tf_calloc(ask->node_count + 1, sizeof *pool->bins);
    pool->at = tf_calloc(ask->instance_count + 1, sizeof *pool->at);
    pool->next = tf_calloc(ask->instance_count + 1, sizeof *pool->next);
    pool->prev = tf_calloc(ask->instance_count + 1, sizeof *pool->prev);
    for (size_t n = 0; n < ask->node_count; n++)
        pool->bins[n] = (struct bin){.free = ask->nodes[n].free, .first = IN_HAND};
    for (uint32_t i = 0; i < ask->instance_count; i++) {
        pool->at[i] = ask->instances[i].node;
        link_instance(pool, i, pool->at[i]);
    }
    index_init(pool);
    rank_nodes(pool);
    for (uint32_t i = 0; i < ask->instance_count; i++)
        index_count(pool, &pool->bins[pool->at[i]], &ask->instances[i], 1);
    list_set_nodes(pool);
    for (uint32_t n = 0; n < ask->node_count; n++)
        pool_open(pool, n);
}

void pool_release(struct pool *pool)
{
    free(pool->bins);
    free(pool->at);
    free(pool->next);
    free(pool->prev);
    index_release(&pool->index);
    free(pool->set_first);
    free(pool->set_nodes);
    tf_vec_release(&pool->log);
}
