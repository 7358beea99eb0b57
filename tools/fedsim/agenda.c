/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the order of events in virtual time. What they do is everybody else's. */
#include "tools/fedsim/agenda.h"

#include <assert.h>

enum { FAR_MS = 10 * TF_MINUTE };

void sim_agenda_init(struct sim_agenda *agenda, uint64_t seed)
{
    *agenda = (struct sim_agenda){.now = {1}};
    tf_rng_init(&agenda->rng, seed);
}

static void dues_release(struct sim_dues *dues)
{
    tf_vec_each (due, dues)
        if (due->given)
            free(due->arg);
    tf_vec_release(dues);
}

void sim_agenda_release(struct sim_agenda *agenda)
{
    dues_release(&agenda->near);
    dues_release(&agenda->far);
}

static bool is_before(const struct sim_due *a, const struct sim_due *b)
{
    if (a->at.ms != b->at.ms)
        return a->at.ms < b->at.ms;
    if (a->lot != b->lot)
        return a->lot < b->lot;
    return a->number < b->number;
}

/* ---- a heap ---- */

static void push(struct sim_dues *dues, const struct sim_due *due)
{
    tf_vec_push(dues, *due);
    struct sim_due *heap = dues->items;
    size_t hole = dues->count - 1;
    for (; hole > 0 && is_before(due, &heap[(hole - 1) / 2]); hole = (hole - 1) / 2)
        heap[hole] = heap[(hole - 1) / 2];
    heap[hole] = *due;
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

static struct sim_due pop(struct sim_dues *dues)
{
    struct sim_due first = dues->items[0], last = dues->items[--dues->count];
    if (dues->count)
        sink(dues->items, dues->count, &last);
    return first;
}

/* ---- both ---- */

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
    push(due.at.ms - agenda->now.ms < FAR_MS ? &agenda->near : &agenda->far, &due);
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

/* The heap that the first event is in, which neither heap alone says; NULL: there is none. */
static struct sim_dues *first_of(struct sim_agenda *agenda)
{
    if (!agenda->near.count)
        return agenda->far.count ? &agenda->far : NULL;
    bool far = agenda->far.count && is_before(agenda->far.items, agenda->near.items);
    return far ? &agenda->far : &agenda->near;
}

struct tf_mono sim_agenda_next(const struct sim_agenda *agenda)
{
    struct tf_mono near = agenda->near.count ? agenda->near.items[0].at : TF_NEVER;
    struct tf_mono far = agenda->far.count ? agenda->far.items[0].at : TF_NEVER;
    return near.ms < far.ms ? near : far;
}

bool sim_agenda_step(struct sim_agenda *agenda)
{
    if (sim_agenda_next(agenda).ms > agenda->now.ms)
        return false;
    struct sim_due first = pop(first_of(agenda));
    agenda->done++;
    first.run(first.arg, first.tag);
    return true;
}
