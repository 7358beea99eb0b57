/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_PIPE_H
#define TF_FEDSIM_PIPE_H

#include "tools/fedsim/agenda.h"

/* Delivers things one at a time, in the order in which they were put in, each after a delay of its own. It
 * can be stopped (a cut, a paused receiver): what is inside waits. */
struct sim_pipe_item {
    void *thing;
    struct tf_mono at;
};

/* thing is taken. */
typedef void sim_pipe_f(void *arg, void *thing);

struct sim_pipe {
    struct sim_agenda *agenda;
    int64_t delay_min, delay_max; /* ms, of what is put in from now on */
    bool stopped;
    struct tf_mono not_before;
    sim_pipe_f *deliver, *drop;
    void *arg;
    TF_VEC(struct sim_pipe_item) items;
    size_t first;
    uint64_t armed; /* number of the delivery that counts */
    bool waiting;   /* one is on the agenda */
};

void sim_pipe_init(struct sim_pipe *pipe, struct sim_agenda *agenda, sim_pipe_f *deliver, sim_pipe_f *drop,
                   void *arg);
void sim_pipe_put(struct sim_pipe *pipe, void *thing); /* taken */
void sim_pipe_stop(struct sim_pipe *pipe, bool stopped);
/* Nothing comes out before that moment. */
void sim_pipe_delay(struct sim_pipe *pipe, struct tf_mono until);
/* Loses all that is inside. */
void sim_pipe_clear(struct sim_pipe *pipe);
/* Loses all but the `keep` first. */
void sim_pipe_cut_tail(struct sim_pipe *pipe, size_t keep);
size_t sim_pipe_count(const struct sim_pipe *pipe);
/* Clears, and frees its memory. What the agenda still holds of it is never run again only if the agenda is
 * not: a pipe lives as long as its agenda. */
void sim_pipe_release(struct sim_pipe *pipe);

#endif
