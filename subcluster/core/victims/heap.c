/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of ways of the cell under way, the cheapest an instance on top. What is cheapest on one node is
 * node.c's. */
#include "subcluster/core/victims/private.h"

static const int64_t *slot_cost(const struct victims_choice *choice, uint32_t slot)
{
    return &choice->costs.items[slot * choice->search.dims];
}

static bool is_cheaper(const struct victims_choice *choice, uint32_t a, uint32_t b)
{
    int32_t gain_a = choice->slots.items[a].way.gain, gain_b = choice->slots.items[b].way.gain;
    int order = victims_cost_cmp(&choice->search, slot_cost(choice, a), gain_a, slot_cost(choice, b), gain_b);
    if (order == 0 && gain_a != gain_b)
        return gain_a > gain_b;
    return order < 0 || (order == 0 && a < b);
}

static void heap_put(struct victims_choice *choice, size_t at, uint32_t slot)
{
    choice->heap.items[at] = slot;
    choice->slots.items[slot].at = at;
}

static void sift_up(struct victims_choice *choice, size_t at)
{
    uint32_t slot = choice->heap.items[at];
    for (; at > 0 && is_cheaper(choice, slot, choice->heap.items[(at - 1) / 2]); at = (at - 1) / 2)
        heap_put(choice, at, choice->heap.items[(at - 1) / 2]);
    heap_put(choice, at, slot);
}

static void sift_down(struct victims_choice *choice, size_t at)
{
    uint32_t slot = choice->heap.items[at];
    for (size_t child = 2 * at + 1; child < choice->heap.count; child = 2 * at + 1) {
        if (child + 1 < choice->heap.count &&
            is_cheaper(choice, choice->heap.items[child + 1], choice->heap.items[child]))
            child++;
        if (!is_cheaper(choice, choice->heap.items[child], slot))
            break;
        heap_put(choice, at, choice->heap.items[child]);
        at = child;
    }
    heap_put(choice, at, slot);
}

static void heap_remove(struct victims_choice *choice, uint32_t slot)
{
    size_t at = choice->slots.items[slot].at;
    if (at == SIZE_MAX)
        return;
    choice->slots.items[slot].at = SIZE_MAX;
    uint32_t last = choice->heap.items[--choice->heap.count];
    if (last == slot)
        return;
    heap_put(choice, at, last);
    sift_up(choice, at);
    sift_down(choice, choice->slots.items[last].at);
}

void victims_heap_refresh(struct victims_choice *choice, uint32_t slot, int32_t wanted, bool by_share)
{
    struct victim_slot *s = &choice->slots.items[slot];
    heap_remove(choice, slot);
    if (!victims_ways_best(choice->ways, &choice->search, s->node, wanted, by_share, &s->way,
                           &choice->costs.items[slot * choice->search.dims]))
        return;
    tf_vec_push(&choice->heap, slot);
    sift_up(choice, choice->heap.count - 1);
}

void victims_heap_make(struct victims_choice *choice, int32_t wanted, bool by_share)
{
    choice->slots.count = choice->heap.count = 0;
    tf_vec_reserve(&choice->slots, choice->nodes.count);
    tf_vec_reserve(&choice->costs, choice->nodes.count * choice->search.dims);
    tf_vec_each (node, &choice->nodes) {
        uint32_t slot = (uint32_t)choice->slots.count++;
        choice->slots.items[slot].node = *node;
        choice->slots.items[slot].at = SIZE_MAX;
        choice->slot_of[*node] = slot;
        victims_heap_refresh(choice, slot, wanted, by_share);
    }
}

void victims_heap_refresh_near(struct victims_choice *choice, size_t from, int32_t wanted, bool by_share)
{
    const struct victims_search *search = &choice->search;
    for (size_t i = from; i < choice->log.count; i++) {
        uint32_t unit = choice->log.items[i];
        for (size_t p = search->unit_first.items[unit]; p < search->unit_first.items[unit + 1]; p++) {
            uint32_t node = search->places.items[p].node, slot = choice->slot_of[node];
            if (slot < choice->slots.count && choice->slots.items[slot].node == node)
                victims_heap_refresh(choice, slot, wanted, by_share);
        }
    }
}
