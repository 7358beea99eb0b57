/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of the engine's thread: commands, folder changes, ends of helpers, moments. Never waits for
 * anything but a disk. Nothing depends on promptness: after a stop of the whole process, what is due is
 * looked at before it is acted on. */
#include "subcluster/engine/worker.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/engine/state/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { COMMANDS = 64 }; /* a round */

void command_free(struct command *command)
{
    tf_engine_spec_release(&command->spec);
    free(command->bytes);
    free(command);
}

void worker_trouble(struct worker *w, const char *fmt, ...)
{
    char text[1200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tf_utf8_trim(text);
    struct tf_engine_event event = {.type = TF_ENGINE_TROUBLE, .text = text};
    w->tell(w->context, &event);
}

int worker_watch_fd(struct worker *w, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event);
}

int worker_open(struct worker *w, struct tf_error *err)
{
    nodes_init(w);
    w->root = w->down_watch = -1;
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    w->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    w->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->epoll < 0 || w->inotify < 0 || w->timer < 0 || w->wake < 0 || worker_watch_fd(w, w->inotify) ||
        worker_watch_fd(w, w->timer) || worker_watch_fd(w, w->wake))
        return tf_error_errno(err, TF_ERR_IO, errno,
                              "the engine cannot watch its folders; raise fs.inotify.max_user_instances, or "
                              "the limit of open files");
    return 0;
}

void worker_close(struct worker *w)
{
    w->adopted = false; /* nothing is told any more */
    while (w->instances)
        instance_remove(w, w->instances);
    helpers_close(w);
    const int fds[] = {w->root, w->epoll, w->inotify, w->timer, w->wake};
    for (size_t n = 0; n < TF_ARRAY_LEN(fds); n++)
        if (fds[n] >= 0)
            close(fds[n]);
    nodes_release(w);
}

/* ---- changes of folders ---- */

static void tell_checkpoint(struct worker *w, const struct instance *i)
{
    struct tf_engine_event event = {
        .type = TF_ENGINE_CHECKPOINT, .id = i->id, .at = tf_wall_read(), .text = ""};
    w->tell(w->context, &event);
}

static void folder_changed(struct worker *w, const struct inotify_event *event)
{
    static const char *const telling[] = {"shim", "running", "ready", "exit", "alive"};
    struct instance *i = NULL;
    HASH_FIND(by_watch, w->watches, &event->wd, sizeof event->wd, i);
    if (!i || event->len == 0)
        return;
    if (tf_str_eq(event->name, "checkpoint"))
        tell_checkpoint(w, i);
    if (tf_str_eq(event->name, "alive") && (event->mask & IN_CLOSE_WRITE))
        i->shim_closed = true;
    for (size_t n = 0; n < TF_ARRAY_LEN(telling); n++)
        if (tf_str_eq(event->name, telling[n]))
            instance_due(w, i, 0); /* once, however many changes there were */
}

/* Changes were lost: everything is looked at. */
static void look_at_all(struct worker *w)
{
    for (struct instance *i = w->instances; i; i = i->hh.next)
        if (!i->exited)
            instance_due(w, i, 0);
}

static void read_changes(struct worker *w)
{
    _Alignas(struct inotify_event) char buffer[65536];
    ssize_t len = read(w->inotify, buffer, sizeof buffer);
    bool down = false;
    for (char *at = buffer; len > 0 && at < buffer + len;) {
        const struct inotify_event *event = (const struct inotify_event *)(void *)at;
        if (event->mask & IN_Q_OVERFLOW) {
            down = true;
            look_at_all(w);
        } else if (event->wd == w->down_watch) {
            down = true;
        } else {
            folder_changed(w, event);
        }
        at += sizeof *event + event->len;
    }
    if (down && w->adopted)
        nodes_read_down(w);
}

/* ---- the loop ---- */

static void arm(struct worker *w)
{
    int64_t next = instances_next(w);
    struct itimerspec at = {.it_value = {.tv_sec = 0, .tv_nsec = 0}};
    if (next != INT64_MAX) {
        next = next > 0 ? next : 1;
        at.it_value.tv_sec = (time_t)(next / 1000);
        at.it_value.tv_nsec = (long)(next % 1000) * 1000000;
    }
    timerfd_settime(w->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static void drain(int fd)
{
    uint64_t count;
    ssize_t n;
    do
        n = read(fd, &count, sizeof count);
    while (n < 0 && errno == EINTR);
}

static void wait_and_take(struct worker *w)
{
    struct epoll_event events[32];
    int n = epoll_wait(w->epoll, events, TF_ARRAY_LEN(events), -1);
    bool changes = false;
    for (int k = 0; k < n; k++) {
        int fd = events[k].data.fd;
        if (fd == w->inotify)
            changes = true;
        else if (fd == w->timer || fd == w->wake)
            drain(fd);
        else
            helper_ended(w, fd);
    }
    if (changes)
        read_changes(w);
}

void worker_run(struct worker *w, struct command *(*take)(void *context, bool *quit))
{
    for (;;) {
        bool quit = false;
        struct command *command = NULL;
        int taken = 0;
        while (taken < COMMANDS && (command = take(w->context, &quit))) {
            worker_call(w, command);
            command_free(command);
            taken++;
        }
        if (quit)
            return;
        instances_tick(w, tf_boottime_ms());
        errands_pump(w);
        worker_listing_check(w);
        arm(w);
        if (taken < COMMANDS)
            wait_and_take(w);
    }
}
