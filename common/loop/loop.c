/* SPDX-License-Identifier: Apache-2.0 */
/* The turn of the loop, the inbox, HTTP transfers and file descriptors. The loop waits in curl_multi_poll,
 * which watches libcurl's sockets and one epoll descriptor that stands for all others, the wake-up of the
 * inbox among them. Timers are in timers.c. What callbacks do is none of its business. */
#include "common/loop/private.h"

#include "common/base/cleanup.h"

#include <assert.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { CONNECTIONS = 128 /* kept open between requests */ };

struct tf_now tf_clock_read(void)
{
    struct timespec mono, wall;
    clock_gettime(CLOCK_BOOTTIME, &mono);
    clock_gettime(CLOCK_REALTIME, &wall);
    return (struct tf_now){
        .mono = {(int64_t)mono.tv_sec * 1000 + mono.tv_nsec / 1000000},
        .wall = {(int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000},
    };
}

struct tf_now tf_loop_now(const struct tf_loop *loop)
{
    return loop->now;
}

struct tf_loop *tf_loop_create(struct tf_error *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        tf_error_set(err, TF_ERR_IO, "libcurl cannot start");
        return NULL;
    }
    struct tf_loop *loop = tf_calloc(1, sizeof *loop);
    loop->last = &loop->first;
    loop->own_last = &loop->own;
    loop->now = tf_clock_read();
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event edge = {.events = EPOLLIN | EPOLLET};
    bool watched = epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->wake, &edge) == 0;
    int sys_errno = errno;
    loop->multi = curl_multi_init();
    if (!watched || !loop->multi) {
        tf_error_errno(err, TF_ERR_IO, watched ? ENFILE : sys_errno,
                       "cannot create the event loop (raise the limit on open files)");
        tf_loop_destroy(loop);
        return NULL;
    }
    curl_multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS);
    return loop;
}

/* ---- inbox ---- */

static void wake(struct tf_loop *loop)
{
    const uint64_t one = 1;
    ssize_t n;
    do
        n = write(loop->wake, &one, sizeof one);
    while (n < 0 && errno == EINTR);
}

bool tf_loop_is_here(const struct tf_loop *loop)
{
    return pthread_equal(atomic_load_explicit(&loop->thread, memory_order_relaxed), pthread_self());
}

void tf_loop_post(struct tf_loop *loop, struct tf_inbox_item *item)
{
    if (tf_loop_is_here(loop)) { /* it does not sleep */
        item->next = NULL;
        *loop->own_last = item;
        loop->own_last = &item->next;
        return;
    }
    struct tf_inbox_item *head = atomic_load_explicit(&loop->inbox, memory_order_relaxed);
    do {
        item->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&loop->inbox, &head, item, memory_order_release,
                                                    memory_order_relaxed));
    /* Whoever finds it empty wakes the loop; the loop empties it in one go, so nobody else has to. */
    if (!head)
        wake(loop);
}

/* Moves all that was posted to the end of the private list, oldest first. */
static void inbox_take(struct tf_loop *loop)
{
    if (loop->own) {
        *loop->last = loop->own;
        loop->last = loop->own_last;
        loop->own = NULL;
        loop->own_last = &loop->own;
    }
    struct tf_inbox_item *newest = atomic_exchange_explicit(&loop->inbox, NULL, memory_order_acquire);
    struct tf_inbox_item *oldest = NULL, **last = loop->last;
    if (newest)
        loop->last = &newest->next;
    while (newest) {
        struct tf_inbox_item *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    if (oldest)
        *last = oldest;
}

static void inbox_run(struct tf_loop *loop, int limit)
{
    inbox_take(loop);
    for (int i = 0; i < limit && loop->first; i++) {
        struct tf_inbox_item *item = loop->first;
        loop->first = item->next;
        if (!loop->first)
            loop->last = &loop->first;
        item->run(item);
    }
}

/* ---- HTTP ---- */

int tf_http_start(struct tf_loop *loop, struct tf_http_request *request, struct tf_error *err)
{
    assert(!request->started);
    curl_easy_setopt(request->easy, CURLOPT_PRIVATE, request);
    curl_easy_setopt(request->easy, CURLOPT_NOSIGNAL, 1L);
    CURLMcode code = curl_multi_add_handle(loop->multi, request->easy);
    if (code != CURLM_OK)
        return tf_error_set(err, TF_ERR_BUG, "cannot start an HTTP request: %s", curl_multi_strerror(code));
    request->started = true;
    return 0;
}

void tf_http_cancel(struct tf_loop *loop, struct tf_http_request *request)
{
    if (!request->started)
        return;
    request->started = false;
    CURLMcode code = curl_multi_remove_handle(loop->multi, request->easy);
    assert(code == CURLM_OK);
    (void)code;
}

/* Finished transfers are taken out before the next wait, which else would sleep on them. */
static void http_run(struct tf_loop *loop)
{
    int running = 0, queued = 0;
    curl_multi_perform(loop->multi, &running);
    loop->replies_left = false;
    for (int i = 0; i < TF_LOOP_REPLIES; i++) {
        const CURLMsg *message = curl_multi_info_read(loop->multi, &queued);
        if (!message)
            return;
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode result = message->data.result;
        struct tf_http_request *request = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&request);
        tf_http_cancel(loop, request); /* message is gone after this */
        request->done(request, result);
    }
    loop->replies_left = queued > 0;
}

/* ---- file descriptors ---- */

static uint32_t to_epoll(unsigned events)
{
    return (events & TF_IO_READ ? (uint32_t)EPOLLIN : 0) | (events & TF_IO_WRITE ? (uint32_t)EPOLLOUT : 0);
}

static unsigned from_epoll(uint32_t events)
{
    return (events & EPOLLIN ? TF_IO_READ : 0u) | (events & EPOLLOUT ? TF_IO_WRITE : 0u) |
           (events & (EPOLLHUP | EPOLLERR) ? TF_IO_HANGUP : 0u);
}

int tf_io_start(struct tf_loop *loop, struct tf_io *io, int fd, unsigned events, tf_io_f ready,
                struct tf_error *err)
{
    assert(!io->started);
    struct epoll_event event = {.events = to_epoll(events), .data.ptr = io};
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event))
        return tf_error_errno(err, TF_ERR_IO, errno, "cannot watch file descriptor %d", fd);
    *io = (struct tf_io){.ready = ready, .fd = fd, .started = true};
    return 0;
}

void tf_io_modify(struct tf_loop *loop, struct tf_io *io, unsigned events)
{
    assert(io->started);
    struct epoll_event event = {.events = to_epoll(events), .data.ptr = io};
    int rc = epoll_ctl(loop->epoll, EPOLL_CTL_MOD, io->fd, &event);
    assert(rc == 0);
    (void)rc;
}

void tf_io_stop(struct tf_loop *loop, struct tf_io *io)
{
    if (!io->started)
        return;
    int rc = epoll_ctl(loop->epoll, EPOLL_CTL_DEL, io->fd, NULL);
    assert(rc == 0); /* else it was closed too early, and another one may have its number */
    (void)rc;
    io->started = false;
    for (int i = 0; i < loop->ready_count; i++)
        if (loop->ready[i].data.ptr == io)
            loop->ready[i].data.ptr = NULL;
}

static void io_run(struct tf_loop *loop)
{
    int count = loop->ready_to_ask ? epoll_wait(loop->epoll, loop->ready, TF_LOOP_FDS, 0) : 0;
    loop->ready_count = count > 0 ? count : 0;
    for (int i = 0; i < loop->ready_count; i++) {
        struct tf_io *io = loop->ready[i].data.ptr;
        if (io)
            io->ready(io, from_epoll(loop->ready[i].events));
    }
    loop->ready_count = 0;
}

/* ---- the turn ---- */

static void wait_for_work(struct tf_loop *loop, int64_t wait_ms)
{
    enum { LONGEST = TF_MINUTE };
    if (wait_ms < 0 || wait_ms > LONGEST)
        wait_ms = LONGEST;
    struct tf_mono next = tf_timers_next(loop);
    if (next.ms != TF_NEVER.ms) {
        int64_t left = next.ms - tf_clock_read().mono.ms;
        wait_ms = left < 0 ? 0 : left < wait_ms ? left : wait_ms;
    }
    /* What was posted since the inbox was taken: its wake-up may have been seen with an earlier one. */
    if (loop->first || loop->own || atomic_load(&loop->inbox) || loop->replies_left)
        wait_ms = 0;
    struct curl_waitfd others = {.fd = loop->epoll, .events = CURL_WAIT_POLLIN};
    curl_multi_poll(loop->multi, &others, 1, (int)wait_ms, NULL);
    loop->ready_to_ask = others.revents != 0;
}

void tf_loop_turn(struct tf_loop *loop, int64_t wait_ms)
{
    if (!tf_loop_is_here(loop))
        atomic_store_explicit(&loop->thread, pthread_self(), memory_order_relaxed);
    wait_for_work(loop, wait_ms);
    loop->now = tf_clock_read();
    inbox_run(loop, TF_LOOP_ITEMS);
    tf_timers_run(loop);
    http_run(loop);
    io_run(loop);
}

void tf_loop_run(struct tf_loop *loop)
{
    while (!atomic_load(&loop->stopping))
        tf_loop_turn(loop, -1);
    atomic_store(&loop->stopping, false);
}

void tf_loop_stop(struct tf_loop *loop)
{
    atomic_store(&loop->stopping, true);
    wake(loop);
}

void tf_loop_destroy(struct tf_loop *loop)
{
    if (!loop)
        return;
    do
        inbox_run(loop, TF_LOOP_ITEMS);
    while (loop->first || loop->own || atomic_load(&loop->inbox));
    tf_vec_release(&loop->timers.heap);
    if (loop->multi)
        curl_multi_cleanup(loop->multi);
    if (loop->epoll >= 0)
        close(loop->epoll);
    if (loop->wake >= 0)
        close(loop->wake);
    free(loop);
    curl_global_cleanup();
}
