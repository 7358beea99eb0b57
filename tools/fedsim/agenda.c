/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the order of events in virtual time. What they do is everybody else's. */
#include "tools/fedsim/agenda.h"

#include <assert.h>

void sim_agenda_init(struct sim_agenda *agenda, uint64_t seed)
{
    *agenda = (struct sim_agenda){.now = {1}};
    tf_rng_init(&agenda->rng, seed);
}

void sim_agenda_release(struct sim_agenda *agenda)
{
    tf_vec_each (due, &agenda->heap)
        if (due->given)
            free(due->arg);
    tf_vec_release(&agenda->heap);
}

static bool is_before(const struct sim_due *a, const struct sim_due *b)
{
    if (a->at.ms != b->at.ms)
        return a->at.ms < b->at.ms;
    if (a->lot != b->lot)
        return a->lot < b->lot;
    return a->number < b->number;
}

static void add(struct sim_agenda *agenda, struct sim_due due)
{
    if (due.at.ms == TF_NEVER.ms) {
        if (due.given)
            free(due.arg);
        return;
    }
    if (due.at.ms < agenda->now.ms)
        due.at = agenda->now;
    due.lot = agenda->in_order ? 0 : tf_rng_next(&agenda->rng);
    due.number = agenda->added++;
    tf_vec_push(&agenda->heap, due);
    struct sim_due *heap = agenda->heap.items;
    size_t hole = agenda->heap.count - 1;
    for (; hole > 0 && is_before(&due, &heap[(hole - 1) / 2]); hole = (hole - 1) / 2)
        heap[hole] = heap[(hole - 1) / 2];
    heap[hole] = due;
}

void sim_agenda_at(struct sim_agenda *agenda, struct tf_mono at, sim_due_f *run, void *arg, uint64_t tag)
{
    add(agenda, (struct sim_due){.at = at, .run = run, .arg = arg, .tag = tag});
}

void sim_agenda_give(struct sim_agenda *agenda, struct tf_mono at, sim_due_f *run, void *thing)
{
    add(agenda, (struct sim_due){.at = at, .run = run, .arg = thing, .given = true});
}

void sim_agenda_in(struct sim_agenda *agenda, int64_t ms, sim_due_f *run, void *arg, uint64_t tag)
{
    assert(ms >= 0);
    sim_agenda_at(agenda, (struct tf_mono){agenda->now.ms + ms}, run, arg, tag);
}

struct tf_mono sim_agenda_next(const struct sim_agenda *agenda)
{
    return agenda->heap.count ? agenda->heap.items[0].at : TF_NEVER;
}

/* Fills the place at the top. */
static void sink(struct sim_due *heap, size_t count, const struct sim_due *due)
{
    size_t hole = 0;
    for (;;) {
        size_t child = 2 * hole + 1;
        if (child + 1 < count && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (child >= count || !is_before(&heap[child], due))
            break;
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = *due;
}

bool sim_agenda_step(struct sim_agenda *agenda)
{
    if (sim_agenda_next(agenda).ms > agenda->now.ms)
        return false;
    struct sim_due first = agenda->heap.items[0];
    struct sim_due last = agenda->heap.items[--agenda->heap.count];
    if (agenda->heap.count)
        sink(agenda->heap.items, agenda->heap.count, &last);
    agenda->done++;
    first.run(first.arg, first.tag);
    return true;
}
