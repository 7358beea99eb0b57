/* SPDX-License-Identifier: Apache-2.0 */
/* The timers of the loop: a binary min-heap of pointers, ordered by due, then by start. Each timer knows its
 * place, so that moving and cancelling are O(log n). When to wake is asked by loop.c. */
#include "common/loop/private.h"

static bool before(const struct tf_timer *a, const struct tf_timer *b)
{
    return a->due.ms != b->due.ms ? a->due.ms < b->due.ms : a->order < b->order;
}

/* Places count from 1: the parent of n is n / 2. */
static void put(struct tf_timers *timers, struct tf_timer *timer, size_t place)
{
    timers->heap.items[place - 1] = timer;
    timer->place = place;
}

static void settle(struct tf_timers *timers, struct tf_timer *timer, size_t place)
{
    struct tf_timer **at = timers->heap.items;
    size_t count = timers->heap.count;
    while (place > 1 && before(timer, at[place / 2 - 1])) {
        put(timers, at[place / 2 - 1], place);
        place /= 2;
    }
    for (;;) {
        size_t child = 2 * place;
        if (child < count && before(at[child], at[child - 1]))
            child++;
        if (child > count || !before(at[child - 1], timer))
            break;
        put(timers, at[child - 1], place);
        place = child;
    }
    put(timers, timer, place);
}

void tf_timer_start(struct tf_loop *loop, struct tf_timer *timer, struct tf_mono due, tf_timer_f run)
{
    struct tf_timers *timers = &loop->timers;
    if (due.ms == TF_NEVER.ms) {
        tf_timer_cancel(loop, timer);
        return;
    }
    timer->run = run;
    /* A due in the past would overtake timers that have waited longer. */
    timer->due.ms = due.ms > loop->now.mono.ms ? due.ms : loop->now.mono.ms;
    timer->order = timers->next_order++;
    if (!timer->place) {
        tf_vec_push(&timers->heap, timer);
        timer->place = timers->heap.count;
    }
    settle(timers, timer, timer->place);
}

void tf_timer_cancel(struct tf_loop *loop, struct tf_timer *timer)
{
    struct tf_timers *timers = &loop->timers;
    size_t place = timer->place;
    if (!place)
        return;
    timer->place = 0;
    struct tf_timer *last = timers->heap.items[--timers->heap.count];
    if (last != timer)
        settle(timers, last, place);
}

bool tf_timer_started(const struct tf_timer *timer)
{
    return timer->place != 0;
}

struct tf_mono tf_timers_next(const struct tf_loop *loop)
{
    return loop->timers.heap.count ? loop->timers.heap.items[0]->due : TF_NEVER;
}

void tf_timers_run(struct tf_loop *loop)
{
    struct tf_timers *timers = &loop->timers;
    uint64_t end = timers->next_order; /* timers started from now on wait for the next turn */
    for (int i = 0; i < TF_LOOP_TIMERS && timers->heap.count; i++) {
        struct tf_timer *timer = timers->heap.items[0];
        if (timer->due.ms > loop->now.mono.ms || timer->order >= end)
            break;
        tf_timer_cancel(loop, timer);
        timer->run(timer);
    }
}
