/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol of sd_notify, without its library: it is one datagram a message. */
#include "common/loop/notify.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

void tf_notify_say(const struct tf_notify *notify, const char *line)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = notify->socket ? strlen(notify->socket) : 0;
    char text[128];
    if (len < 2 || len >= sizeof to.sun_path)
        return;
    memcpy(to.sun_path, notify->socket, len);
    if (to.sun_path[0] == '@')
        to.sun_path[0] = '\0'; /* an abstract name */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    /* A manager that wants a reload to be announced compares the moment with its own. */
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long long now_us = (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    int n = tf_str_eq(line, "RELOADING=1")
                ? snprintf(text, sizeof text, "%s\nMONOTONIC_USEC=%lld", line, now_us)
                : snprintf(text, sizeof text, "%s", line);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    (void)!sendto(fd, text, (size_t)n, MSG_NOSIGNAL, (const struct sockaddr *)&to, size);
    close(fd);
}

static void on_timer(struct tf_timer *timer)
{
    struct tf_notify *notify = TF_CONTAINER_OF(timer, struct tf_notify, timer);
    tf_notify_say(notify, "WATCHDOG=1");
    struct tf_mono due = {tf_loop_now(notify->loop).mono.ms + notify->every_ms};
    tf_timer_start(notify->loop, timer, due, on_timer);
}

/* Half the time that the watchdog waits; 0 if it does not watch this process. */
static int64_t watchdog_ms(void)
{
    int64_t us = 0, pid = 0;
    const char *wait = getenv("WATCHDOG_USEC"), *whom = getenv("WATCHDOG_PID");
    if (!wait || tf_parse_int64(wait, 2000, INT64_MAX, &us, NULL))
        return 0;
    if (whom && (tf_parse_int64(whom, 1, INT64_MAX, &pid, NULL) || pid != getpid()))
        return 0;
    return us / 2000;
}

void tf_notify_start(struct tf_loop *loop, struct tf_notify *notify)
{
    const char *socket = getenv("NOTIFY_SOCKET");
    notify->loop = loop;
    notify->socket = tf_strdup(socket);
    notify->every_ms = socket ? watchdog_ms() : 0;
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    tf_notify_say(notify, "READY=1");
    if (notify->every_ms)
        tf_timer_start(loop, &notify->timer, tf_loop_now(loop).mono, on_timer);
}

void tf_notify_stop(struct tf_notify *notify)
{
    if (notify->loop)
        tf_timer_cancel(notify->loop, &notify->timer);
    free(TF_STEAL(notify->socket));
}
