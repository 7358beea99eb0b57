/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_DAEMON_TURN_H
#define TF_DAEMON_TURN_H

#include "common/loop/loop.h"

/* What a daemon does when it is asked to. arg is the daemon. */
struct tf_turn {
    void (*reload)(void *arg); /* SIGHUP */
    /* SIGTERM, SIGINT: lets go politely, then calls stopped(stopped_arg). */
    void (*stop)(void *arg, void (*stopped)(void *), void *stopped_arg);
    void *arg;
    const char *last_words; /* of the log when it is asked to end: "instances live on" */
};

/* Turns the loop of a daemon that is made until a signal or tf_loop_stop ends it; a second SIGTERM does so at
 * once. The service manager is told when it is ready, reloads and stops. tf_signals_block was called before.
 * -1 if signals cannot be received: nothing was turned. */
int tf_turn(struct tf_loop *loop, const struct tf_turn *turn, struct tf_error *err);

#endif
