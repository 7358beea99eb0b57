/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_LOOP_SIGNALS_H
#define TF_LOOP_SIGNALS_H

#include "common/loop/loop.h"

#include <signal.h>

/* SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1 and SIGUSR2 as calls in the loop thread. SIGPIPE is ignored.
 *
 * tf_signals_block comes first in main, before any thread exists (libraries start some), since a mask is
 * inherited. A child that is spawned must be given an empty mask and the default SIGPIPE again
 * (POSIX_SPAWN_SETSIGMASK, POSIX_SPAWN_SETSIGDEF). */
void tf_signals_block(void);

struct tf_signals;
/* Equal signals that come close together are one call: on SIGCHLD, wait for all children that ended. */
typedef void (*tf_signal_f)(struct tf_signals *signals, int signo);

struct tf_signals {
    struct tf_io io;
    struct tf_loop *loop;
    tf_signal_f receive;
};

int tf_signals_start(struct tf_loop *loop, struct tf_signals *signals, tf_signal_f receive,
                     struct tf_error *err);
void tf_signals_stop(struct tf_signals *signals); /* not started is fine */

#endif
