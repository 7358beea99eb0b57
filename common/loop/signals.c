/* SPDX-License-Identifier: Apache-2.0 */
/* Signals through a signalfd. What they mean is the daemon's affair. */
#include "common/loop/signals.h"

#include "common/base/cleanup.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

static sigset_t watched(void)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1, SIGUSR2};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < TF_ARRAY_LEN(signals); i++)
        sigaddset(&set, signals[i]);
    return set;
}

void tf_signals_block(void)
{
    sigset_t set = watched();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void on_readable(struct tf_io *io, unsigned events)
{
    (void)events;
    struct tf_signals *signals = TF_CONTAINER_OF(io, struct tf_signals, io);
    struct signalfd_siginfo info;
    /* One a call: receive may stop us. The loop comes back while there are more. */
    if (read(io->fd, &info, sizeof info) == (ssize_t)sizeof info)
        signals->receive(signals, (int)info.ssi_signo);
}

int tf_signals_start(struct tf_loop *loop, struct tf_signals *signals, tf_signal_f receive,
                     struct tf_error *err)
{
    sigset_t set = watched();
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0)
        return tf_error_errno(err, TF_ERR_IO, errno, "cannot watch for signals");
    *signals = (struct tf_signals){.loop = loop, .receive = receive};
    if (tf_io_start(loop, &signals->io, fd, TF_IO_READ, on_readable, err)) {
        close(fd);
        return -1;
    }
    return 0;
}

void tf_signals_stop(struct tf_signals *signals)
{
    if (!signals->io.started)
        return;
    tf_io_stop(signals->loop, &signals->io);
    close(signals->io.fd);
}
