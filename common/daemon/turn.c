/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a daemon between its making and its end: signals, and what a service manager is told. */
#include "common/daemon/turn.h"

#include "common/base/cleanup.h"
#include "common/log/log.h"
#include "common/loop/notify.h"
#include "common/loop/signals.h"

struct turning {
    const struct tf_turn *turn;
    struct tf_loop *loop;
    struct tf_signals signals;
    struct tf_notify notify;
    bool stopping;
};

static void on_stopped(void *arg)
{
    struct turning *turning = arg;
    tf_loop_stop(turning->loop);
}

static void reload(const struct turning *turning)
{
    tf_notify_say(&turning->notify, "RELOADING=1");
    turning->turn->reload(turning->turn->arg);
    tf_notify_say(&turning->notify, "READY=1");
}

static void stop(struct turning *turning, int signo)
{
    if (turning->stopping) { /* asked twice: now */
        tf_loop_stop(turning->loop);
        return;
    }
    turning->stopping = true;
    tf_log_info("ending, %s signal=%d", turning->turn->last_words, signo);
    tf_notify_say(&turning->notify, "STOPPING=1");
    turning->turn->stop(turning->turn->arg, on_stopped, turning);
}

static void on_signal(struct tf_signals *signals, int signo)
{
    struct turning *turning = TF_CONTAINER_OF(signals, struct turning, signals);
    if (signo == SIGHUP)
        reload(turning);
    else if (signo == SIGTERM || signo == SIGINT)
        stop(turning, signo);
}

int tf_turn(struct tf_loop *loop, const struct tf_turn *turn, struct tf_error *err)
{
    struct turning turning = {.turn = turn, .loop = loop};
    if (tf_signals_start(loop, &turning.signals, on_signal, err))
        return -1;
    tf_notify_start(loop, &turning.notify);
    tf_loop_run(loop);
    tf_notify_stop(&turning.notify);
    tf_signals_stop(&turning.signals);
    return 0;
}
