/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_LOOP_LOOP_H
#define TF_LOOP_LOOP_H

#include "common/base/clock.h"
#include "common/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The loop of a daemon: one thread that owns all state. Other threads reach it through the inbox only;
 * timers, HTTP requests (http.h), file descriptors and signals (signals.h) call back in the loop thread. Each
 * turn does a bounded amount of each kind of work, so that none starves the others; what is left over is done
 * in the next turn, which then does not wait.
 *
 * Unless said otherwise, functions are for the loop thread (before the first turn: the thread that will run
 * it), and may be called from within callbacks. Embedded structs (tf_inbox_item, tf_timer, tf_io) are owned
 * by the caller, start zeroed, and stay where they are until they have run or were stopped. */
struct tf_loop;

struct tf_loop *tf_loop_create(struct tf_error *err); /* NULL: out of file descriptors */
/* Runs what is still in the inbox, so that the items can free themselves; then nobody may post any more.
 * Timers, descriptors and requests that are still started are forgotten, not called. NULL is fine. */
void tf_loop_destroy(struct tf_loop *loop);

/* Turns until tf_loop_stop, which may be called from any thread; a stop before the run ends it at once. */
void tf_loop_run(struct tf_loop *loop);
void tf_loop_stop(struct tf_loop *loop);
/* One turn that waits at most wait_ms (-1: as long as it takes) for something to do. For tests. */
void tf_loop_turn(struct tf_loop *loop, int64_t wait_ms);

/* The time, read once at the start of the present turn. The monotonic clock counts suspended time. */
struct tf_now tf_loop_now(const struct tf_loop *loop);
/* The same clocks, read now; any thread. */
struct tf_now tf_clock_read(void);

/* ---- inbox: from any thread to the loop thread, in order of posting ---- */

struct tf_inbox_item;
typedef void (*tf_inbox_f)(struct tf_inbox_item *item); /* may free the item, or post it again */

struct tf_inbox_item {
    tf_inbox_f run;             /* set by the caller */
    struct tf_inbox_item *next; /* the inbox's own */
};

/* Any thread, without locks. item is taken until it runs and must not be in an inbox already. What the poster
 * wrote before is visible to run. */
void tf_loop_post(struct tf_loop *loop, struct tf_inbox_item *item);
/* True in the thread that made the last turn; any thread. */
bool tf_loop_is_here(const struct tf_loop *loop);

/* ---- timers ---- */

struct tf_timer;
typedef void (*tf_timer_f)(struct tf_timer *timer); /* the timer is idle by then and may be started again */

struct tf_timer {
    tf_timer_f run;
    struct tf_mono due;
    uint64_t order; /* of starts: breaks ties */
    size_t place;   /* in the heap, from 1; 0 = idle */
};

/* Runs once, in the first turn whose time is >= due (never in the present one); timers run in order of due,
 * then of start. A due in the past means now. A started timer is moved; TF_NEVER cancels. */
void tf_timer_start(struct tf_loop *loop, struct tf_timer *timer, struct tf_mono due, tf_timer_f run);
void tf_timer_cancel(struct tf_loop *loop, struct tf_timer *timer); /* idle is fine */
bool tf_timer_started(const struct tf_timer *timer);

/* ---- file descriptors: sockets, pipes, signalfd, timerfd, inotify; not regular files ---- */

enum tf_io_event {
    TF_IO_READ = 1,
    TF_IO_WRITE = 2,
    TF_IO_HANGUP = 4, /* the other end is gone, or an error: always reported */
};

struct tf_io;
/* events is the set of what is ready. Called again each turn while it stays ready. */
typedef void (*tf_io_f)(struct tf_io *io, unsigned events);

struct tf_io {
    tf_io_f ready;
    int fd;
    bool started;
};

/* fd is borrowed until tf_io_stop, which comes before close(fd). */
int tf_io_start(struct tf_loop *loop, struct tf_io *io, int fd, unsigned events, tf_io_f ready,
                struct tf_error *err);
void tf_io_modify(struct tf_loop *loop, struct tf_io *io, unsigned events);
void tf_io_stop(struct tf_loop *loop, struct tf_io *io); /* idle is fine; no call comes after it */

#endif
