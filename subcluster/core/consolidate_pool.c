/* SPDX-License-Identifier: Apache-2.0 */
/* Where the instances are while a plan is made, with undo, and which nodes have how much free. What goes
 * where is consolidate_place.c's. */
#include "subcluster/core/consolidate_private.h"

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

/* ---- the index ---- */

static size_t cpu_level(const struct bucket_index *index, int64_t cpu)
{
    if (index->cpu_max <= 0 || cpu <= 0)
        return 0;
    int64_t level =
        cpu >= index->cpu_max ? POOL_CPU_LEVELS - 1 : cpu * (POOL_CPU_LEVELS - 1) / index->cpu_max;
    return (size_t)level;
}

static uint32_t bucket_of(const struct pool *pool, const struct bin *bin)
{
    size_t gpus = bin->free.gpus > 0 ? (size_t)bin->free.gpus : 0;
    return (uint32_t)(gpus * POOL_CPU_LEVELS + cpu_level(&pool->index, bin->free.cpu));
}

static uint64_t *bits_of(const struct bucket_index *index, uint32_t bucket)
{
    return &index->bits[bucket * (index->words + index->summary)];
}

static void index_add(struct pool *pool, struct bin *bin)
{
    bin->bucket = bucket_of(pool, bin);
    uint64_t *bits = bits_of(&pool->index, bin->bucket), *summary = bits + pool->index.words;
    uint32_t word = bin->rank / 64;
    bits[word] |= UINT64_C(1) << bin->rank % 64;
    summary[word / 64] |= UINT64_C(1) << word % 64;
    pool->index.count[bin->bucket]++;
}

static void index_remove(struct pool *pool, struct bin *bin)
{
    uint64_t *bits = bits_of(&pool->index, bin->bucket), *summary = bits + pool->index.words;
    uint32_t word = bin->rank / 64;
    bits[word] &= ~(UINT64_C(1) << bin->rank % 64);
    if (bits[word] == 0)
        summary[word / 64] &= ~(UINT64_C(1) << word % 64);
    pool->index.count[bin->bucket]--;
}

/* The lowest rank >= from in the bucket; UINT32_MAX if there is none. */
static uint32_t index_next(const struct bucket_index *index, uint32_t bucket, uint32_t from)
{
    const uint64_t *bits = bits_of(index, bucket), *summary = bits + index->words;
    size_t word = from / 64;
    if (word >= index->words)
        return UINT32_MAX;
    uint64_t rest = bits[word] & (UINT64_MAX << from % 64);
    if (rest)
        return (uint32_t)(word * 64 + (size_t)__builtin_ctzll(rest));
    for (size_t s = (word + 1) / 64; s < index->summary; s++) {
        uint64_t more = summary[s] & (s == (word + 1) / 64 ? UINT64_MAX << (word + 1) % 64 : UINT64_MAX);
        if (more) {
            size_t w = s * 64 + (size_t)__builtin_ctzll(more);
            return (uint32_t)(w * 64 + (size_t)__builtin_ctzll(bits[w]));
        }
    }
    return UINT32_MAX;
}

static void index_update(struct pool *pool, struct bin *bin)
{
    if (bin->indexed && bucket_of(pool, bin) != bin->bucket) {
        index_remove(pool, bin);
        index_add(pool, bin);
    }
}

void pool_open(struct pool *pool, uint32_t node)
{
    struct bin *bin = &pool->bins[node];
    if (bin->indexed || !pool->ask->nodes[node].takes)
        return;
    bin->indexed = true;
    index_add(pool, bin);
}

void pool_close(struct pool *pool, uint32_t node)
{
    struct bin *bin = &pool->bins[node];
    if (!bin->indexed)
        return;
    index_remove(pool, bin);
    bin->indexed = false;
}

/* ---- instances ---- */

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
        index_update(pool, &pool->bins[from]);
    }
    pool->at[i] = to;
    if (to != IN_HAND) {
        link_instance(pool, i, to);
        pool->bins[to].free = tf_vector_sub(pool->bins[to].free, instance->need);
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

/* ---- looking for a place ---- */

static bool look_in_bucket(struct pool *pool, uint32_t set, uint32_t bucket, pool_look_f *look, void *ctx)
{
    int looks = 0;
    if (pool->index.count[bucket] == 0)
        return true;
    for (uint32_t rank = index_next(&pool->index, bucket, 0); rank != UINT32_MAX && looks < POOL_LOOKS;
         rank = index_next(&pool->index, bucket, rank + 1)) {
        uint32_t node = pool->index.by_rank[rank];
        pool->work++, looks++;
        if (pool_admits(pool, set, node) && !look(pool, node, ctx))
            return false;
    }
    return true;
}

/* The bucket and rank of one of few nodes, in one number to sort by. */
static uint64_t order_of(const struct bin *bin, bool down)
{
    uint64_t gpus = bin->bucket / POOL_CPU_LEVELS, cpu = bin->bucket % POOL_CPU_LEVELS;
    gpus = down ? CONSOLIDATE_GPUS_MAX - gpus : gpus;
    return (gpus * POOL_CPU_LEVELS + cpu) << 32 | bin->rank;
}

static void look_at_few(struct pool *pool, const uint32_t *nodes, size_t count, int32_t from, int32_t to,
                        pool_look_f *look, void *ctx)
{
    bool down = from > to;
    int32_t low = down ? to : from, high = down ? from : to;
    uint64_t last = 0;
    for (bool first = true;; first = false) {
        uint64_t best = UINT64_MAX;
        uint32_t node = 0;
        for (size_t i = 0; i < count; i++) {
            const struct bin *bin = &pool->bins[nodes[i]];
            int32_t gpus = (int32_t)(bin->bucket / POOL_CPU_LEVELS);
            if (!bin->indexed || gpus < low || gpus > high)
                continue;
            uint64_t order = order_of(bin, down);
            if (order < best && (first || order > last))
                best = order, node = nodes[i];
        }
        pool->work += (int64_t)count;
        if (best == UINT64_MAX || !look(pool, node, ctx))
            return;
        last = best;
    }
}

void pool_each(struct pool *pool, uint32_t instance, int32_t from, int32_t to, pool_look_f *look, void *ctx)
{
    const struct consolidate_instance *item = &pool->ask->instances[instance];
    size_t few, lowest = cpu_level(&pool->index, item->need.cpu);
    const uint32_t *nodes = pool_set_nodes(pool, item->set, &few);
    if (few) {
        look_at_few(pool, nodes, few, from, to, look, ctx);
        return;
    }
    bool down = from > to;
    for (int32_t g = from; down ? g >= to : g <= to; g += down ? -1 : 1)
        for (size_t c = down ? 0 : lowest; c < POOL_CPU_LEVELS; c++)
            if (!look_in_bucket(pool, item->set, (uint32_t)((size_t)g * POOL_CPU_LEVELS + c), look, ctx))
                return;
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

static void init_index(struct pool *pool)
{
    const struct consolidate_ask *ask = pool->ask;
    struct bucket_index *index = &pool->index;
    for (size_t n = 0; n < ask->node_count; n++) {
        const struct tf_vector *capacity = &ask->nodes[n].capacity;
        assert(capacity->gpus >= 0 && capacity->gpus <= CONSOLIDATE_GPUS_MAX);
        index->gpus = (size_t)capacity->gpus > index->gpus ? (size_t)capacity->gpus : index->gpus;
        index->cpu_max = capacity->cpu > index->cpu_max ? capacity->cpu : index->cpu_max;
    }
    size_t buckets = (index->gpus + 1) * POOL_CPU_LEVELS;
    index->words = (ask->node_count + 63) / 64;
    index->summary = (index->words + 63) / 64;
    index->bits = tf_calloc(buckets * (index->words + index->summary) + 1, sizeof *index->bits);
    index->count = tf_calloc(buckets, sizeof *index->count);
    index->by_rank = tf_calloc(ask->node_count + 1, sizeof *index->by_rank);
}

void pool_init(struct pool *pool, const struct consolidate_ask *ask)
{
    *pool = (struct pool){.ask = ask};
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
    init_index(pool);
    rank_nodes(pool);
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
    free(pool->index.bits);
    free(pool->index.count);
    free(pool->index.by_rank);
    free(pool->set_first);
    free(pool->set_nodes);
    tf_vec_release(&pool->log);
}
