/* SPDX-License-Identifier: Apache-2.0 */
/* Puts instances that lost their place somewhere else: into what is free, or in the place of smaller ones,
 * which are then put down likewise. Which nodes are freed is consolidate.c's. */
#include "subcluster/core/consolidate/private.h"

#include "common/base/cleanup.h"

#include <assert.h>
#include <string.h>

/* Nodes whose instances were chosen from, for one instance: the first that will do are mostly the best. */
enum { EJECT_TRIES = 24 };

/* ---- sizes ---- */

static const struct tf_vector *need_of(const struct pool *pool, uint32_t instance)
{
    return &pool->ask->instances[instance].need;
}

/* By GPUs, then CPU, then memory. Whoever is ejected is strictly smaller than who ejects, so it ends. */
static int size_cmp(const struct tf_vector *a, const struct tf_vector *b)
{
    if (a->gpus != b->gpus)
        return a->gpus < b->gpus ? -1 : 1;
    if (a->cpu != b->cpu)
        return a->cpu < b->cpu ? -1 : 1;
    return a->memory < b->memory ? -1 : a->memory > b->memory;
}

/* ---- who leaves ---- */

/* What is missing, 0 or less where nothing is. */
static bool is_missing(struct tf_vector missing)
{
    return missing.gpus > 0 || missing.slots > 0 || missing.cpu > 0 || missing.memory > 0;
}

/* Whether a is the better one to leave, for what is missing. */
static bool leaves_better(const struct tf_vector *a, const struct tf_vector *b, struct tf_vector missing)
{
    bool a_exceeds = a->gpus > missing.gpus, b_exceeds = b->gpus > missing.gpus;
    if (a_exceeds != b_exceeds)
        return b_exceeds;
    if (a->gpus != b->gpus) /* the largest that is needed whole, else the smallest that will do */
        return a_exceeds ? a->gpus < b->gpus : a->gpus > b->gpus;
    return missing.cpu > 0 || missing.memory > 0 ? size_cmp(a, b) > 0 : size_cmp(a, b) < 0;
}

static void drop_unneeded(struct pool *pool, struct choice *choice, struct tf_vector spare)
{
    for (size_t i = 0; i < choice->count;) {
        const struct tf_vector *need = need_of(pool, choice->items[i]);
        if (tf_vector_fits(*need, spare)) {
            spare = tf_vector_sub(spare, *need);
            memmove(&choice->items[i], &choice->items[i + 1],
                    (choice->count - i - 1) * sizeof *choice->items);
            choice->count--;
        } else {
            i++;
        }
    }
}

static bool is_chosen(const struct choice *choice, uint32_t instance)
{
    for (size_t i = 0; i < choice->count; i++)
        if (choice->items[i] == instance)
            return true;
    return false;
}

static uint32_t next_leaver(struct pool *pool, uint32_t node, struct tf_vector missing, uint32_t below,
                            const struct choice *chosen)
{
    uint32_t best = IN_HAND;
    for (uint32_t i = pool->bins[node].first; i != IN_HAND; i = pool->next[i]) {
        pool->work++;
        if (pool->ask->instances[i].lock != CONSOLIDATE_MOVABLE || is_chosen(chosen, i))
            continue;
        if (below != IN_HAND && size_cmp(need_of(pool, i), need_of(pool, below)) >= 0)
            continue;
        if (best == IN_HAND || leaves_better(need_of(pool, i), need_of(pool, best), missing))
            best = i;
    }
    return best;
}

bool choose_leavers(struct pool *pool, uint32_t node, struct tf_vector need, uint32_t below,
                    struct choice *out)
{
    struct tf_vector missing = tf_vector_sub(need, pool->bins[node].free);
    out->count = 0;
    while (is_missing(missing) && out->count < CHOICE_MAX) {
        uint32_t leaver = next_leaver(pool, node, missing, below, out);
        if (leaver == IN_HAND)
            return false;
        out->items[out->count++] = leaver;
        missing = tf_vector_sub(missing, *need_of(pool, leaver));
    }
    if (is_missing(missing))
        return false;
    drop_unneeded(pool, out, tf_vector_sub((struct tf_vector){0}, missing));
    out->gpus = 0;
    out->cost = 0;
    for (size_t i = 0; i < out->count; i++) {
        out->gpus += need_of(pool, out->items[i])->gpus;
        out->cost += pool->ask->instances[out->items[i]].cost;
    }
    return true;
}

/* ---- what waits for a place ---- */

struct waiting {
    uint32_t instance;
    int depth; /* 0: of a node that is freed; else so many ejections away from that */
};

struct queue {
    TF_VEC(struct waiting) items; /* the smallest first */
};

static void queue_add(const struct pool *pool, struct queue *queue, uint32_t instance, int depth)
{
    tf_vec_push(&queue->items, (struct waiting){instance, depth});
    struct waiting *items = queue->items.items;
    for (size_t i = queue->items.count - 1; i > 0; i--) {
        int order = size_cmp(need_of(pool, items[i - 1].instance), need_of(pool, items[i].instance));
        if (order < 0 || (order == 0 && items[i - 1].instance < items[i].instance))
            break;
        struct waiting swapped = items[i];
        items[i] = items[i - 1];
        items[i - 1] = swapped;
    }
}

/* ---- into what is free ---- */

struct direct {
    uint32_t instance, node;
};

static bool look_direct(struct pool *pool, uint32_t node, void *ctx)
{
    struct direct *direct = ctx;
    if (!tf_vector_fits(*need_of(pool, direct->instance), pool->bins[node].free))
        return true;
    direct->node = node;
    return false;
}

static bool put_direct(struct pool *pool, uint32_t instance)
{
    struct direct direct = {instance, IN_HAND};
    pool_each_direct(pool, instance, look_direct, &direct);
    if (direct.node == IN_HAND)
        return false;
    pool_put(pool, instance, direct.node);
    return true;
}

/* ---- in the place of others ---- */

struct ejection {
    uint32_t instance, node;
    int tries;
    struct choice best;
};

static bool look_eject(struct pool *pool, uint32_t node, void *ctx)
{
    struct ejection *ejection = ctx;
    const struct tf_vector *need = need_of(pool, ejection->instance);
    int32_t least = need->gpus - pool->bins[node].free.gpus; /* and no less on the nodes that follow */
    struct choice choice;
    if (ejection->node != IN_HAND && ejection->best.gpus <= least)
        return false;
    if (!choose_leavers(pool, node, *need, ejection->instance, &choice))
        return true;
    if (ejection->node == IN_HAND || choice.gpus < ejection->best.gpus ||
        (choice.gpus == ejection->best.gpus && choice.count < ejection->best.count)) {
        ejection->best = choice;
        ejection->node = node;
    }
    return ++ejection->tries < EJECT_TRIES;
}

static bool put_ejecting(struct pool *pool, uint32_t instance, int depth, struct queue *queue)
{
    struct ejection ejection = {.instance = instance, .node = IN_HAND};
    if (depth >= CONSOLIDATE_DEPTH)
        return false;
    pool_each_ejecting(pool, instance, false, look_eject, &ejection);
    if (ejection.node == IN_HAND)
        pool_each_ejecting(pool, instance, true, look_eject, &ejection);
    if (ejection.node == IN_HAND)
        return false;
    for (size_t i = 0; i < ejection.best.count; i++) {
        pool_lift(pool, ejection.best.items[i]);
        queue_add(pool, queue, ejection.best.items[i], depth + 1);
    }
    pool_put(pool, instance, ejection.node);
    return true;
}

bool place_all(struct pool *pool, const uint32_t *instances, size_t count, bool eject)
{
    struct queue queue = {0};
    bool ok = true;
    for (size_t i = 0; i < count; i++)
        queue_add(pool, &queue, instances[i], 0);
    while (ok && queue.items.count) {
        struct waiting next = queue.items.items[--queue.items.count];
        ok = put_direct(pool, next.instance) ||
             (eject && put_ejecting(pool, next.instance, next.depth, &queue));
    }
    tf_vec_release(&queue.items);
    return ok;
}
