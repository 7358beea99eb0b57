/* SPDX-License-Identifier: Apache-2.0 */
/* What the best plan could be (BOUNDS.md §2). Each of these is true of every plan: from instances of s GPUs
 * and more, a node with room r can hold floor(r/s) slots' worth at most. Exact for GPUs alone where each size
 * divides the next; with CPU and memory the smallest bound over the dimensions. */
#include "subcluster/core/consolidate/private.h"

#include "common/base/cleanup.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { DIMENSIONS = 3, SLICES = 4 };

static int64_t part_of(const struct tf_vector *v, int dimension)
{
    return dimension == 0 ? v->gpus : dimension == 1 ? v->cpu : v->memory;
}

/* ---- W* ---- */

/* What was counted of each node. */
struct tally {
    struct tf_vector room; /* if all that can move were gone */
    bool holds;            /* something that stays: not a whole node */
    bool site;
    int32_t count; /* instances on it */
    struct tf_vector used;
};

static void tally_nodes(const struct consolidate_ask *ask, uint32_t domain, struct tally *tallies)
{
    for (uint32_t n = 0; n < ask->node_count; n++)
        tallies[n] = (struct tally){.room = ask->nodes[n].free, .site = is_site(ask, n, domain)};
    for (size_t i = 0; i < ask->instance_count; i++) {
        const struct consolidate_instance *instance = &ask->instances[i];
        struct tally *tally = &tallies[instance->node];
        tally->count++;
        tally->used = tf_vector_add(tally->used, instance->need);
        if (instance->lock == CONSOLIDATE_MOVABLE)
            tally->room = tf_vector_add(tally->room, instance->need);
        else
            tally->holds = true;
    }
    for (uint32_t n = 0; n < ask->node_count; n++)
        tallies[n].holds |= !tf_vector_fits(ask->nodes[n].capacity, tallies[n].room);
}

/* A node that takes nothing has no room but for what is on it: nothing comes, though what is there may stay.
 * What is free on it counts only where it is a part that was to be freed. */
static struct tf_vector room_of(const struct consolidate_ask *ask, const struct tally *tallies, uint32_t n)
{
    return ask->nodes[n].takes || (tallies[n].site && !is_whole(ask))
               ? tallies[n].room
               : tf_vector_sub(tallies[n].room, tf_vector_floor0(ask->nodes[n].free));
}

/* Slots of that size that are needed, and that there are. */
static int64_t slots_needed(const struct consolidate_ask *ask, int dimension, int64_t size)
{
    int64_t needed = 0;
    for (size_t i = 0; i < ask->instance_count; i++)
        if (ask->instances[i].lock == CONSOLIDATE_MOVABLE)
            needed += part_of(&ask->instances[i].need, dimension) / size;
    return needed;
}

static int64_t slots_there(const struct consolidate_ask *ask, const struct tally *tallies, int dimension,
                           int64_t size)
{
    int64_t there = 0;
    for (uint32_t n = 0; n < ask->node_count; n++) {
        struct tf_vector room = room_of(ask, tallies, n);
        int64_t part = part_of(&room, dimension);
        there += part > 0 ? part / size : 0;
    }
    return there;
}

static int compare_slots(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Whole nodes that can be taken from what is there so that the rest suffices: those with the fewest slots
 * first. */
static int32_t whole_by_slots(const struct consolidate_ask *ask, const struct tally *tallies, int dimension,
                              int64_t size, int64_t spare)
{
    TF_AUTO_FREE int64_t *each = tf_calloc(ask->node_count + 1, sizeof *each);
    size_t count = 0;
    for (uint32_t n = 0; n < ask->node_count; n++) {
        struct tf_vector room = room_of(ask, tallies, n);
        if (tallies[n].site && !tallies[n].holds)
            each[count++] = part_of(&room, dimension) > 0 ? part_of(&room, dimension) / size : 0;
    }
    qsort(each, count, sizeof *each, compare_slots);
    int32_t whole = 0;
    while ((size_t)whole < count && spare >= each[whole])
        spare -= each[whole++];
    return whole;
}

static int32_t units_by_slots(const struct consolidate_ask *ask, int dimension, int64_t size, int64_t spare)
{
    int64_t each = part_of(&ask->unit, dimension) / size;
    if (each == 0 || spare / each > INT32_MAX)
        return INT32_MAX;
    return spare > 0 ? (int32_t)(spare / each) : 0;
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* All that there can be at most, those that are free already included. */
static int32_t most_by(const struct consolidate_ask *ask, const struct tally *tallies, int dimension,
                       int64_t size)
{
    int64_t spare = slots_there(ask, tallies, dimension, size) - slots_needed(ask, dimension, size);
    return is_whole(ask) ? whole_by_slots(ask, tallies, dimension, size, spare)
                         : units_by_slots(ask, dimension, size, spare);
}

/* By the rooms of the sites, each by itself. */
static int32_t most_by_site(const struct consolidate_ask *ask, const struct tally *tallies)
{
    int64_t most = 0;
    for (uint32_t n = 0; n < ask->node_count; n++)
        if (tallies[n].site)
            most += is_whole(ask) ? !tallies[n].holds
                                  : tf_vector_count(ask->unit, tf_vector_floor0(tallies[n].room));
    return most > INT32_MAX ? INT32_MAX : (int32_t)most;
}

static int32_t units_now(const struct consolidate_ask *ask, uint32_t domain)
{
    int64_t now = 0;
    for (uint32_t n = 0; n < ask->node_count; n++)
        if (is_site(ask, n, domain))
            now += tf_vector_count(unit_of(ask, n), ask->nodes[n].free);
    return (int32_t)now;
}

static bool has_size(const struct consolidate_ask *ask, int32_t gpus)
{
    for (size_t i = 0; i < ask->instance_count; i++)
        if (ask->instances[i].need.gpus == gpus && ask->instances[i].lock == CONSOLIDATE_MOVABLE)
            return true;
    return ask->unit.gpus == gpus;
}

static int32_t most_units(const struct consolidate_ask *ask, const struct tally *tallies)
{
    int32_t most = most_by_site(ask, tallies);
    for (int32_t size = 1; size <= CONSOLIDATE_GPUS_MAX; size++)
        if (size == 1 || has_size(ask, size))
            most = smaller(most, most_by(ask, tallies, 0, size));
    for (int dimension = 1; dimension < DIMENSIONS; dimension++)
        most = smaller(most, most_by(ask, tallies, dimension, 1));
    return most;
}

int32_t bound_units(const struct consolidate_ask *ask, uint32_t domain)
{
    TF_AUTO_FREE struct tally *tallies = tf_calloc(ask->node_count + 1, sizeof *tallies);
    tally_nodes(ask, domain, tallies);
    int32_t most = most_units(ask, tallies), now = units_now(ask, domain);
    return most > now ? most - now : 0;
}

int32_t consolidate_most(const struct consolidate_ask *ask)
{
    return bound_units(ask, CONSOLIDATE_ANY);
}

/* ---- moves ---- */

static int64_t sum_of_smallest(int64_t *each, size_t count, int32_t m)
{
    int64_t sum = 0;
    if (count == 0)
        return 0;
    qsort(each, count, sizeof *each, compare_slots);
    for (size_t i = 0; i < count && i < (size_t)m; i++)
        sum += each[i];
    return sum;
}

/* For whole nodes. Each slot of that size which the victims need and nobody else has free costs one more move
 * (of a smaller instance, of one GPU at least). `slice` of SLICES parts of that are counted, as the least
 * over all choices of victims is then a sum of the smallest. */
static int64_t bound_whole(const struct consolidate_ask *ask, const struct tally *tallies, bool by_gpus,
                           int32_t size, int slice, int32_t freed)
{
    TF_AUTO_FREE int64_t *each = tf_calloc(ask->node_count + 1, sizeof *each);
    TF_AUTO_FREE int64_t *needs = tf_calloc(ask->node_count + 1, sizeof *needs);
    int64_t free_slots = 0;
    size_t count = 0;
    for (size_t i = 0; i < ask->instance_count; i++)
        needs[ask->instances[i].node] += ask->instances[i].need.gpus / size;
    for (uint32_t n = 0; n < ask->node_count; n++) {
        int64_t slots = ask->nodes[n].takes && tallies[n].count ? ask->nodes[n].free.gpus / size : 0;
        free_slots += slots;
        if (tallies[n].site && !tallies[n].holds && tallies[n].count)
            each[count++] =
                SLICES * (by_gpus ? tallies[n].used.gpus : tallies[n].count) + slice * (needs[n] + slots);
    }
    int64_t bound = sum_of_smallest(each, count, freed) - slice * free_slots;
    return bound > 0 ? (bound + SLICES - 1) / SLICES : 0;
}

static int32_t at_least(int32_t least, int32_t n)
{
    return n > least ? n : least;
}

/* For other units: what is missing on a site comes in whole instances. */
static int64_t bound_part(const struct consolidate_ask *ask, const struct tally *tallies, bool by_gpus,
                          int32_t freed)
{
    TF_VEC(int64_t) each = {0};
    for (uint32_t n = 0; n < ask->node_count; n++) {
        int32_t now = tf_vector_count(ask->unit, ask->nodes[n].free);
        int32_t most = tf_vector_count(ask->unit, tf_vector_floor0(tallies[n].room));
        for (int32_t k = now; tallies[n].site && k < most; k++) {
            int32_t gpus = ask->unit.gpus, have = ask->nodes[n].free.gpus;
            int32_t missing = at_least(0, (k + 1) * gpus - have) - at_least(0, k * gpus - have);
            tf_vec_push(&each, by_gpus ? missing : k == now);
        }
    }
    int64_t sum = sum_of_smallest(each.items, each.count, freed);
    tf_vec_release(&each);
    return sum;
}

static int32_t bound_moves(const struct consolidate_ask *ask, const struct tally *tallies, bool by_gpus,
                           int32_t freed)
{
    int64_t best = 0;
    if (!is_whole(ask))
        return (int32_t)bound_part(ask, tallies, by_gpus, freed);
    /* Chains may go through any empty node only if some nodes are no sites: then no slot is known missing. */
    bool closed = true;
    for (uint32_t n = 0; n < ask->node_count; n++)
        closed &= tallies[n].site || tallies[n].count > 0;
    for (int slice = 0; slice <= (closed ? SLICES : 0); slice++)
        for (int32_t size = 1; size <= CONSOLIDATE_GPUS_MAX; size++)
            if (size == 1 || has_size(ask, size)) {
                int64_t bound = bound_whole(ask, tallies, by_gpus, size, slice, freed);
                best = bound > best ? bound : best;
            }
    return (int32_t)best;
}

static void count_locks(const struct consolidate_ask *ask, const struct tally *tallies,
                        struct consolidate_figures *out)
{
    for (size_t i = 0; i < ask->instance_count; i++)
        if (tallies[ask->instances[i].node].site)
            out->locked[ask->instances[i].lock]++;
    for (uint32_t n = 0; n < ask->node_count; n++)
        out->sites_locked += tallies[n].site && tallies[n].holds;
}

void bound_plan(const struct consolidate_ask *ask, uint32_t domain, struct consolidate_figures *out,
                int32_t freed)
{
    TF_AUTO_FREE struct tally *tallies = tf_calloc(ask->node_count + 1, sizeof *tallies);
    tally_nodes(ask, domain, tallies);
    out->before = units_now(ask, domain);
    int32_t most = most_units(ask, tallies);
    out->best = most > out->before ? most - out->before : 0;
    /* What is not there yet comes by a move, even where the first one of a site gives two units; not by GPUs
     * where it is CPU that was short. */
    out->moves_bound = at_least(freed > 0, bound_moves(ask, tallies, false, freed));
    out->gpus_bound = bound_moves(ask, tallies, true, freed);
    count_locks(ask, tallies, out);
}
