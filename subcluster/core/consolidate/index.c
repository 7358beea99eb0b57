/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes have room for an instance, or would have if smaller ones left, without looking at all of them.
 */
#include "subcluster/core/consolidate/private.h"

#include <stdlib.h>

/* ---- buckets ---- */

static size_t cpu_level(const struct bucket_index *index, int64_t cpu)
{
    if (index->cpu_max <= 0 || cpu <= 0)
        return 0;
    return cpu >= index->cpu_max ? POOL_CPU_LEVELS - 1
                                 : (size_t)(cpu * (POOL_CPU_LEVELS - 1) / index->cpu_max);
}

static uint32_t bucket_of(const struct bucket_index *index, const struct bin *bin)
{
    size_t gpus = bin->free.gpus > 0 ? (size_t)bin->free.gpus : 0;
    return (uint32_t)(gpus * POOL_CPU_LEVELS + cpu_level(index, bin->free.cpu));
}

static size_t bucket_count(const struct bucket_index *index)
{
    return ((size_t)index->gpus + 1) * POOL_CPU_LEVELS;
}

static uint64_t *bits_of(const struct bucket_index *index, size_t table, uint32_t bucket)
{
    return &index->bits[(table * bucket_count(index) + bucket) * (index->words + index->summary)];
}

static void bucket_add(struct bucket_index *index, size_t table, const struct bin *bin)
{
    uint64_t *bits = bits_of(index, table, bin->bucket), *summary = bits + index->words;
    uint32_t word = bin->rank / 64;
    bits[word] |= UINT64_C(1) << bin->rank % 64;
    summary[word / 64] |= UINT64_C(1) << word % 64;
    index->count[table * bucket_count(index) + bin->bucket]++;
}

static void bucket_remove(struct bucket_index *index, size_t table, const struct bin *bin)
{
    uint64_t *bits = bits_of(index, table, bin->bucket), *summary = bits + index->words;
    uint32_t word = bin->rank / 64;
    bits[word] &= ~(UINT64_C(1) << bin->rank % 64);
    if (bits[word] == 0)
        summary[word / 64] &= ~(UINT64_C(1) << word % 64);
    index->count[table * bucket_count(index) + bin->bucket]--;
}

/* The lowest rank >= from in the bucket; UINT32_MAX if there is none. */
static uint32_t bucket_next(const struct bucket_index *index, const uint64_t *bits, uint32_t from)
{
    const uint64_t *summary = bits + index->words;
    size_t word = from / 64, after = word + 1;
    if (word >= index->words)
        return UINT32_MAX;
    uint64_t rest = bits[word] & (UINT64_MAX << from % 64);
    if (rest)
        return (uint32_t)(word * 64 + (size_t)__builtin_ctzll(rest));
    for (size_t s = after / 64; s < index->summary; s++) {
        uint64_t more = summary[s] & (s == after / 64 ? UINT64_MAX << after % 64 : UINT64_MAX);
        if (more) {
            word = s * 64 + (size_t)__builtin_ctzll(more);
            return (uint32_t)(word * 64 + (size_t)__builtin_ctzll(bits[word]));
        }
    }
    return UINT32_MAX;
}

/* ---- tables ---- */

/* Whoever is ejected is smaller: in GPUs, or where CPU and memory count, in these (place.c). */
static bool is_small(const struct bucket_index *index, int32_t gpus, size_t table)
{
    return index->plain ? gpus < index->sizes[table] : gpus <= index->sizes[table];
}

void index_count(struct pool *pool, struct bin *bin, const struct consolidate_instance *instance, int sign)
{
    const struct bucket_index *index = &pool->index;
    if (instance->lock != CONSOLIDATE_MOVABLE)
        return;
    bin->movable += sign;
    for (size_t t = 1; t < index->tables; t++)
        if (is_small(index, instance->need.gpus, t))
            bin->small[t] += sign * instance->need.gpus;
}

static bool could_eject(const struct bucket_index *index, const struct bin *bin, size_t table)
{
    int32_t missing = index->sizes[table] - bin->free.gpus;
    if (missing <= 0) /* CPU or memory is what is short there */
        return !index->plain && bin->movable > 0;
    return bin->small[table] >= (index->exact ? missing : 1);
}

static uint32_t tables_of(const struct bucket_index *index, const struct bin *bin)
{
    uint32_t tables = bin->open;
    for (size_t t = 1; bin->open && t < index->tables; t++)
        tables |= (uint32_t)could_eject(index, bin, t) << t;
    return tables;
}

void index_update(struct pool *pool, struct bin *bin)
{
    struct bucket_index *index = &pool->index;
    uint32_t bucket = bucket_of(index, bin), tables = tables_of(index, bin);
    uint32_t stay = bucket == bin->bucket ? tables & bin->tables : 0;
    for (size_t t = 0; t < index->tables; t++)
        if ((bin->tables & ~stay) >> t & 1)
            bucket_remove(index, t, bin);
    bin->bucket = bucket;
    bin->tables = tables;
    for (size_t t = 0; t < index->tables; t++)
        if ((tables & ~stay) >> t & 1)
            bucket_add(index, t, bin);
}

static size_t table_for(const struct bucket_index *index, int32_t gpus)
{
    size_t table = 1;
    while (table + 1 < index->tables && index->sizes[table] < gpus)
        table++;
    return table;
}

/* The sizes there are, or powers of two if they are many. */
static void choose_sizes(struct bucket_index *index, const struct consolidate_ask *ask)
{
    bool there[CONSOLIDATE_GPUS_MAX + 1] = {false};
    index->exact = index->plain = true;
    index->tables = 1;
    for (size_t i = 0; i < ask->instance_count; i++) {
        const struct consolidate_instance *instance = &ask->instances[i];
        int32_t gpus = instance->need.gpus;
        there[gpus < CONSOLIDATE_GPUS_MAX ? gpus : CONSOLIDATE_GPUS_MAX] |=
            instance->lock == CONSOLIDATE_MOVABLE;
        index->plain &= gpus > 0 && instance->need.cpu == 0 && instance->need.memory == 0;
    }
    for (int32_t gpus = 0; gpus <= CONSOLIDATE_GPUS_MAX; gpus++) {
        if (there[gpus] && index->tables == TABLES_MAX)
            index->exact = false;
        else if (there[gpus])
            index->sizes[index->tables++] = gpus;
    }
    if (!index->exact) {
        index->tables = 1;
        for (int32_t gpus = 1; gpus <= CONSOLIDATE_GPUS_MAX; gpus *= 2)
            index->sizes[index->tables++] = gpus;
    }
}

void index_init(struct pool *pool)
{
    const struct consolidate_ask *ask = pool->ask;
    struct bucket_index *index = &pool->index;
    for (size_t n = 0; n < ask->node_count; n++) {
        const struct tf_vector *capacity = &ask->nodes[n].capacity;
        index->gpus = capacity->gpus > index->gpus ? capacity->gpus : index->gpus;
        index->cpu_max = capacity->cpu > index->cpu_max ? capacity->cpu : index->cpu_max;
    }
    choose_sizes(index, ask);
    size_t buckets = index->tables * bucket_count(index);
    index->words = (ask->node_count + 63) / 64;
    index->summary = (index->words + 63) / 64;
    index->bits = tf_calloc(buckets * (index->words + index->summary) + 1, sizeof *index->bits);
    index->count = tf_calloc(buckets, sizeof *index->count);
    index->by_rank = tf_calloc(ask->node_count + 1, sizeof *index->by_rank);
}

void index_release(struct bucket_index *index)
{
    free(index->bits);
    free(index->count);
    free(index->by_rank);
}

/* ---- looking for a place ---- */

/* One walk through a table. */
struct walk {
    struct pool *pool;
    uint32_t set;
    size_t table;
    bool far;
    pool_look_f *look;
    void *ctx;
};

static bool walk_bucket(const struct walk *walk, uint32_t bucket)
{
    struct pool *pool = walk->pool;
    const struct bucket_index *index = &pool->index;
    const uint64_t *bits = bits_of(index, walk->table, bucket);
    int looks = 0;
    if (index->count[walk->table * bucket_count(index) + bucket] == 0)
        return true;
    for (uint32_t rank = bucket_next(index, bits, 0); rank != UINT32_MAX;
         rank = bucket_next(index, bits, rank + 1)) {
        uint32_t node = index->by_rank[rank];
        if (++looks > POOL_LOOKS && (!walk->far || pool->far-- <= 0))
            return true;
        pool->work++;
        if (pool_admits(pool, walk->set, node) && !walk->look(pool, node, walk->ctx))
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

/* In the same order as a walk through the buckets. */
static void walk_few(const struct walk *walk, const uint32_t *nodes, size_t count, int32_t least)
{
    uint64_t last = 0;
    for (bool first = true;; first = false) {
        uint64_t best = UINT64_MAX;
        uint32_t node = 0;
        for (size_t i = 0; i < count; i++) {
            const struct bin *bin = &walk->pool->bins[nodes[i]];
            if ((bin->tables >> walk->table & 1) == 0 || bin->free.gpus < least)
                continue;
            uint64_t order = order_of(bin, walk->table > 0);
            if (order < best && (first || order > last))
                best = order, node = nodes[i];
        }
        walk->pool->work += (int64_t)count;
        if (best == UINT64_MAX || !walk->look(walk->pool, node, walk->ctx))
            return;
        last = best;
    }
}

void pool_each_direct(struct pool *pool, uint32_t instance, pool_look_f *look, void *ctx)
{
    const struct consolidate_instance *item = &pool->ask->instances[instance];
    struct walk walk = {pool, item->set, 0, false, look, ctx};
    size_t few, lowest = cpu_level(&pool->index, item->need.cpu);
    const uint32_t *nodes = pool_set_nodes(pool, item->set, &few);
    if (few) {
        walk_few(&walk, nodes, few, item->need.gpus);
        return;
    }
    for (int32_t g = item->need.gpus; g <= pool->index.gpus; g++)
        for (size_t c = lowest; c < POOL_CPU_LEVELS; c++)
            if (!walk_bucket(&walk, (uint32_t)((size_t)g * POOL_CPU_LEVELS + c)))
                return;
}

void pool_each_ejecting(struct pool *pool, uint32_t instance, bool far, pool_look_f *look, void *ctx)
{
    const struct consolidate_instance *item = &pool->ask->instances[instance];
    struct walk walk = {pool, item->set, table_for(&pool->index, item->need.gpus), far, look, ctx};
    size_t few;
    const uint32_t *nodes = pool_set_nodes(pool, item->set, &few);
    if (few) {
        walk_few(&walk, nodes, few, 0);
        return;
    }
    for (int32_t g = pool->index.gpus; g >= 0; g--)
        for (size_t c = 0; c < POOL_CPU_LEVELS; c++)
            if (!walk_bucket(&walk, (uint32_t)((size_t)g * POOL_CPU_LEVELS + c)))
                return;
}
