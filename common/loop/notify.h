/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_LOOP_NOTIFY_H
#define TF_LOOP_NOTIFY_H

#include "common/loop/loop.h"

/* What a service manager wants to know (the protocol of sd_notify): datagrams to the socket that
 * NOTIFY_SOCKET names. Without it, nothing happens. Nothing here fails: who does not listen is not told. */
struct tf_notify {
    struct tf_loop *loop;
    struct tf_timer timer; /* of the watchdog */
    char *socket;          /* NULL = nobody wants to know */
    int64_t every_ms;      /* 0 = no watchdog */
};

/* Says that the daemon is ready, and from then on that its loop turns, if a watchdog asks for that
 * (WATCHDOG_USEC). Takes the variables out of the environment, so that children do not speak for the daemon:
 * before there are other threads that read it, or children. notify starts zeroed. */
void tf_notify_start(struct tf_loop *loop, struct tf_notify *notify);
/* One line, as "RELOADING=1", "STOPPING=1". */
void tf_notify_say(const struct tf_notify *notify, const char *line);
void tf_notify_stop(struct tf_notify *notify); /* not started is fine */

#endif
