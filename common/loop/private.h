/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_LOOP_PRIVATE_H
#define TF_LOOP_PRIVATE_H

/* What the files of this folder share; for nobody else. */
#include "common/base/vec.h"
#include "common/loop/http.h"
#include "common/loop/loop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>

/* How much of each kind is done in one turn. */
enum {
    TF_LOOP_ITEMS = 256, /* of the inbox */
    TF_LOOP_TIMERS = 256,
    TF_LOOP_REPLIES = 256, /* finished HTTP requests */
    TF_LOOP_FDS = 64,
};

struct tf_timers {
    TF_VEC(struct tf_timer *) heap;
    uint64_t next_order;
};

struct tf_loop {
    CURLM *multi;
    struct tf_now now;
    atomic_bool stopping;
    bool replies_left; /* finished requests that the last turn did not get to */

    _Atomic(struct tf_inbox_item *) inbox; /* newest first */
    struct tf_inbox_item *first, **last;   /* taken out of the inbox, oldest first */
    struct tf_inbox_item *own, **own_last; /* posted by the loop's own thread in this turn */
    _Atomic(pthread_t) thread;             /* that made the last turn */
    int wake;                              /* eventfd: edges only, never read */

    struct tf_timers timers;

    int epoll;
    struct epoll_event ready[TF_LOOP_FDS]; /* of this turn; those that were stopped meanwhile have a NULL */
    int ready_count;
    bool ready_to_ask; /* epoll has something */
};

void tf_timers_run(struct tf_loop *loop);
struct tf_mono tf_timers_next(const struct tf_loop *loop); /* TF_NEVER if there is none */

#endif
