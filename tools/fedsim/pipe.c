/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the order of what is on its way from one to another. */
#include "tools/fedsim/pipe.h"

#include <assert.h>

void sim_pipe_init(struct sim_pipe *pipe, struct sim_agenda *agenda, sim_pipe_f *deliver, sim_pipe_f *drop,
                   void *arg)
{
    *pipe = (struct sim_pipe){.agenda = agenda, .deliver = deliver, .drop = drop, .arg = arg};
}

static void arm(struct sim_pipe *pipe);

static struct tf_mono moment(const struct sim_pipe *pipe)
{
    struct tf_mono at = pipe->items.items[pipe->first].at;
    return at.ms < pipe->not_before.ms ? pipe->not_before : at;
}

static void due(void *arg, uint64_t tag)
{
    struct sim_pipe *pipe = arg;
    if (tag != pipe->armed)
        return;
    pipe->waiting = false;
    if (pipe->first == pipe->items.count || pipe->stopped)
        return;
    if (moment(pipe).ms > pipe->agenda->now.ms) {
        arm(pipe);
        return;
    }
    void *thing = pipe->items.items[pipe->first++].thing;
    if (pipe->first == pipe->items.count)
        pipe->first = pipe->items.count = 0;
    arm(pipe);
    pipe->deliver(pipe->arg, thing);
}

/* The first thing inside gets its moment, unless it has it. */
static void arm(struct sim_pipe *pipe)
{
    if (pipe->waiting || pipe->stopped || pipe->first == pipe->items.count)
        return;
    pipe->waiting = true;
    sim_agenda_at(pipe->agenda, moment(pipe), due, pipe, ++pipe->armed);
}

void sim_pipe_put(struct sim_pipe *pipe, void *thing)
{
    int64_t delay = tf_rng_range(&pipe->agenda->rng, pipe->delay_min, pipe->delay_max);
    tf_vec_push(&pipe->items, (struct sim_pipe_item){thing, {pipe->agenda->now.ms + delay}});
    arm(pipe);
}

void sim_pipe_stop(struct sim_pipe *pipe, bool stopped)
{
    pipe->stopped = stopped;
    if (stopped)
        pipe->waiting = false;
    if (stopped)
        pipe->armed++;
    arm(pipe);
}

void sim_pipe_delay(struct sim_pipe *pipe, struct tf_mono until)
{
    pipe->not_before = until;
}

size_t sim_pipe_count(const struct sim_pipe *pipe)
{
    return pipe->items.count - pipe->first;
}

void sim_pipe_cut_tail(struct sim_pipe *pipe, size_t keep)
{
    while (sim_pipe_count(pipe) > keep)
        pipe->drop(pipe->arg, pipe->items.items[--pipe->items.count].thing);
    if (pipe->first == pipe->items.count)
        pipe->first = pipe->items.count = 0;
}

void sim_pipe_clear(struct sim_pipe *pipe)
{
    sim_pipe_cut_tail(pipe, 0);
}

void sim_pipe_release(struct sim_pipe *pipe)
{
    sim_pipe_clear(pipe);
    tf_vec_release(&pipe->items);
}
