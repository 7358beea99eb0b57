/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP end of the monitor: libmicrohttpd with one thread. What is on the pages is monitor.c's. */
#include "common/monitor/pages.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/base/vec.h"
#include "common/log/log.h"
#include "common/net/address.h"

#include <assert.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum {
    CONNECTION_BYTES = 16 * 1024, /* of one request's head and what else libmicrohttpd keeps of it */
    IDLE_SECONDS = 20,            /* a connection that says nothing; a scrape interval or more comes anew */
};

struct page {
    const char *path, *type;
    unsigned status;
    struct tf_buf body;
    int64_t set_ms;
};

struct tf_pages {
    struct MHD_Daemon *daemon;
    int port;
    pthread_mutex_t lock; /* guards the rest */
    struct page items[TF_PAGES_MAX];
    size_t count;
};

static int64_t mono_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct page *find(struct tf_pages *pages, const char *path)
{
    for (size_t i = 0; i < pages->count; i++)
        if (tf_str_eq(pages->items[i].path, path))
            return &pages->items[i];
    return NULL;
}

void tf_pages_set(struct tf_pages *pages, const char *path, unsigned status, const char *type,
                  struct tf_buf *body)
{
    pthread_mutex_lock(&pages->lock);
    struct page *page = find(pages, path);
    if (!page) {
        assert(pages->count < TF_PAGES_MAX);
        page = &pages->items[pages->count++];
        page->path = path;
    }
    struct tf_buf old = page->body;
    page->body = *body;
    page->status = status;
    page->type = type;
    page->set_ms = mono_ms();
    pthread_mutex_unlock(&pages->lock);
    *body = (struct tf_buf)TF_BUF_INIT;
    tf_buf_release(&old);
}

/* ---- answers: in the thread of libmicrohttpd ---- */

struct answer {
    unsigned status;
    const char *type;
    struct tf_buf body;
};

#define PLAIN "text/plain; charset=utf-8"

static void look_up(struct tf_pages *pages, const char *path, struct answer *answer)
{
    pthread_mutex_lock(&pages->lock);
    const struct page *page = find(pages, path);
    int64_t age = page ? mono_ms() - page->set_ms : 0;
    if (page && age <= TF_PAGES_STALE_MS) {
        answer->status = page->status;
        answer->type = page->type;
        tf_buf_add(&answer->body, page->body.data, page->body.len);
    } else if (page) {
        answer->status = MHD_HTTP_SERVICE_UNAVAILABLE;
        tf_buf_fmt(&answer->body,
                   "the loop of this process has stood still for %d s: see its log, and what holds it\n",
                   (int)(age / TF_SECOND));
    } else {
        answer->status = MHD_HTTP_NOT_FOUND;
        tf_buf_str(&answer->body, "there is no such page; there are:\n");
        for (size_t i = 0; i < pages->count; i++)
            tf_buf_fmt(&answer->body, "%s\n", pages->items[i].path);
    }
    pthread_mutex_unlock(&pages->lock);
}

static enum MHD_Result send_answer(struct MHD_Connection *connection, struct answer *answer)
{
    size_t len = answer->body.len;
    char *bytes = tf_buf_take(&answer->body);
    struct MHD_Response *response = MHD_create_response_from_buffer(len, bytes, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(bytes);
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(connection, answer->status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **state)
{
    struct answer answer = {.type = PLAIN};
    (void)version;
    (void)upload;
    (void)upload_size;
    (void)state;
    if (tf_str_eq(method, "GET") || tf_str_eq(method, "HEAD"))
        look_up(arg, path, &answer);
    else {
        answer.status = MHD_HTTP_METHOD_NOT_ALLOWED;
        tf_buf_str(&answer.body, "these pages can only be read\n");
    }
    return send_answer(connection, &answer);
}

/* A peer's mistakes are its own: they are no errors of this daemon. */
static void on_log(void *arg, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

static void on_log(void *arg, const char *format, va_list args)
{
    char text[400];
    (void)arg;
    vsnprintf(text, sizeof text, format, args);
    tf_log_debug("http message=%s", text);
}

/* ---- life ---- */

static int port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at = {0};
    socklen_t len = sizeof at;
    if (getsockname(fd, &at.any, &len))
        return 0;
    return ntohs(at.any.sa_family == AF_INET6 ? at.v6.sin6_port : at.v4.sin_port);
}

struct tf_pages *tf_pages_open(const char *address, struct tf_error *err)
{
    int fd = tf_address_listen(address, err);
    if (fd < 0)
        return NULL;
    struct tf_pages *pages = tf_calloc(1, sizeof *pages);
    pthread_mutex_init(&pages->lock, NULL);
    pages->port = port_of(fd);
    pages->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, pages,
        MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)TF_PAGES_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_END);
    if (pages->daemon)
        return pages;
    tf_error_set(err, TF_ERR_IO, "cannot serve pages on %s: no thread or descriptor is left", address);
    close(fd);
    pthread_mutex_destroy(&pages->lock);
    free(pages);
    return NULL;
}

void tf_pages_close(struct tf_pages *pages)
{
    if (!pages)
        return;
    MHD_stop_daemon(pages->daemon); /* closes the socket, waits for the thread */
    for (size_t i = 0; i < pages->count; i++)
        tf_buf_release(&pages->items[i].body);
    pthread_mutex_destroy(&pages->lock);
    free(pages);
}

int tf_pages_port(const struct tf_pages *pages)
{
    return pages->port;
}
