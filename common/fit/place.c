/* SPDX-License-Identifier: Apache-2.0 */
/* Puts instances on nodes, one by one where they harm least: a heap of the states of like nodes, of which
 * each instance changes one. */
#include "common/fit/pack_private.h"

#include <assert.h>

static int32_t order(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* What is kept for it, then the least cost, then least left. have is compared for what is left: every
 * instance takes the same. */
static bool is_before(const struct fit_state *a, const struct fit_state *b)
{
    int32_t c = order(b->kept, a->kept);
    c = c ? c : order(a->cost, b->cost);
    c = c ? c : order(a->have.gpus, b->have.gpus);
    c = c ? c : order(a->have.cpu, b->have.cpu);
    c = c ? c : order(a->have.memory, b->have.memory);
    c = c ? c : order(a->have.slots, b->have.slots);
    c = c ? c : order(a->row, b->row);
    return c ? c < 0 : a->held > b->held;
}

static void sift_down(struct fit_state *heap, size_t count, size_t at)
{
    struct fit_state moved = heap[at];
    for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_before(&heap[child], &moved))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static void sift_up(struct fit_state *heap, size_t at)
{
    struct fit_state moved = heap[at];
    for (; at > 0 && is_before(&moved, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = moved;
}

static int64_t cost(const struct pack *pack, uint32_t row, struct tf_vector have)
{
    if (!pack->mix || pack->mix->weight == 0)
        return 0;
    return tf_mix_cost(pack->mix, pack->view->rows[row].class, have, pack->demand->need);
}

static void start_heap(const struct pack *pack, const struct fit_part *part)
{
    struct tf_fit_scratch *scratch = pack->scratch;
    scratch->heap.count = scratch->done.count = 0;
    for (size_t i = part->first; i < part->last; i++) {
        const struct fit_entry *entry = &scratch->entries.items[i];
        struct fit_state state = {.row = entry->row, .nodes = entry->nodes};
        const struct tf_profile_row *row = &pack->view->rows[entry->row];
        struct tf_vector kept = tf_demand_reserved(pack->demand, row, pack->level);
        state.kept = kept.gpus > 0;
        state.have = tf_vector_add(tf_profile_row_at(row, pack->level), kept);
        state.cost = cost(pack, entry->row, state.have);
        tf_vec_push(&scratch->heap, state);
    }
    for (size_t i = scratch->heap.count / 2; i-- > 0;)
        sift_down(scratch->heap.items, scratch->heap.count, i);
}

static void pop(struct tf_fit_scratch *scratch)
{
    scratch->heap.items[0] = scratch->heap.items[--scratch->heap.count];
    if (scratch->heap.count > 0)
        sift_down(scratch->heap.items, scratch->heap.count, 0);
}

/* Puts one instance on the best node; on as many like it as are wanted if none of them holds another. Returns
 * how many instances. */
static int64_t place_next(const struct pack *pack, int64_t wanted)
{
    struct tf_fit_scratch *scratch = pack->scratch;
    struct fit_state state = scratch->heap.items[0];
    bool last = tf_vector_count(pack->demand->need, state.have) == 1;
    int32_t nodes = !last ? 1 : wanted < state.nodes ? (int32_t)wanted : state.nodes;
    if (nodes == state.nodes)
        pop(scratch);
    else
        scratch->heap.items[0].nodes -= nodes;
    state.nodes = nodes;
    state.held++;
    state.have = tf_vector_sub(state.have, pack->demand->need);
    if (last) {
        tf_vec_push(&scratch->done, state);
        return nodes;
    }
    state.cost = cost(pack, state.row, state.have);
    tf_vec_push(&scratch->heap, state);
    sift_up(scratch->heap.items, scratch->heap.count - 1);
    return nodes;
}

static int by_row(const void *a, const void *b)
{
    const struct fit_state *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return x->held > y->held ? -1 : x->held < y->held;
}

static void note_domain(const struct pack *pack, uint32_t row)
{
    const struct tf_demand_rule *rule = NULL;
    tf_vec_each (r, &pack->demand->rules)
        if (r->prefer && !rule)
            rule = r;
    if (!rule)
        return;
    int32_t domain = tf_catalog_domain(pack->view->catalog, pack->view->rows[row].class, rule->slot);
    tf_vec_each (known, &pack->scratch->domains)
        if (*known == domain)
            return;
    tf_vec_push(&pack->scratch->domains, domain);
}

static void emit(const struct pack *pack, uint32_t row, int32_t nodes, int32_t each)
{
    struct tf_fit_placement *placement = pack->placement;
    uint32_t id = pack->view->rows[row].id;
    placement->instances += nodes * each;
    placement->nodes += nodes;
    note_domain(pack, row);
    struct tf_place_row *tail =
        placement->rows.count > 0 ? &placement->rows.items[placement->rows.count - 1] : NULL;
    if (tail && tail->row == id && tail->each == each)
        tail->nodes += nodes;
    else
        tf_vec_push(&placement->rows, (struct tf_place_row){id, nodes, each});
}

/* Places best node first; false (and nothing emitted) if that needs more nodes than maxNodes. */
static bool place_best(const struct pack *pack, const struct fit_part *part)
{
    struct tf_fit_scratch *scratch = pack->scratch;
    start_heap(pack, part);
    for (int64_t left = part->take; left > 0;) {
        assert(scratch->heap.count > 0);
        left -= place_next(pack, left);
    }
    tf_vec_each (state, &scratch->heap)
        if (state->held > 0)
            tf_vec_push(&scratch->done, *state);
    int32_t fresh = 0;
    tf_vec_each (state, &scratch->done)
        if (!fit_is_used(pack->demand, pack->view->rows[state->row].id))
            fresh += state->nodes;
    if (pack->demand->max_nodes != 0 && fresh > fit_new_nodes(pack->demand))
        return false;
    qsort(scratch->done.items, scratch->done.count, sizeof *scratch->done.items, by_row);
    tf_vec_each (state, &scratch->done)
        emit(pack, state->row, state->nodes, state->held);
    return true;
}

void pack_sort(const struct pack *pack, size_t first, size_t last)
{
    if (last - first > 1)
        qsort(&pack->scratch->entries.items[first], last - first, sizeof(struct fit_entry), fit_by_size);
}

/* The fewest nodes: those in use, then the largest, the last instances on the tightest that holds them. */
static void place_largest(const struct pack *pack, const struct fit_part *part)
{
    struct fit_entry *entries = pack->scratch->entries.items;
    for (size_t i = part->first; i < part->last; i++)
        entries[i].key = 0;
    pack_sort(pack, part->first, part->last);
    int64_t left = part->take;
    for (size_t i = part->first; left > 0; i++) {
        assert(i < part->last);
        int64_t full = left / entries[i].cap;
        int32_t nodes = full < entries[i].nodes ? (int32_t)full : entries[i].nodes;
        if (nodes > 0)
            emit(pack, entries[i].row, nodes, entries[i].cap);
        left -= (int64_t)nodes * entries[i].cap;
        if (left == 0 || nodes == entries[i].nodes)
            continue;
        size_t tightest = i;
        while (tightest + 1 < part->last && entries[tightest + 1].used == entries[i].used &&
               entries[tightest + 1].cap >= left)
            tightest++;
        emit(pack, entries[tightest].row, 1, (int32_t)left);
        left = 0;
    }
}

void pack_place(const struct pack *pack, const struct fit_part *part)
{
    if (!place_best(pack, part))
        place_largest(pack, part);
}
