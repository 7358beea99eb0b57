/* SPDX-License-Identifier: Apache-2.0 */
/* Connections in pairs, one poll loop, commands from stdin. Each client has its own connection to etcd;
 * requests are collected whole, so that each is forwarded or not; replies are passed on as they come. */
#include "tests/support/proxy/proxy.h"

#include "common/base/buf.h"
#include "common/base/text.h"
#include "common/base/vec.h"
#include "tests/support/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum fate { PASS, DROP, LOSE, BEFORE, AFTER, MARK, FATES };

static const char *const fate_names[FATES] = {"pass", "drop", "lose", "before", "after", "mark"};

struct pair {
    int client, upstream;             /* upstream -1: not connected yet */
    struct tf_buf request;            /* from the client, not complete or held */
    struct tf_buf to_upstream, reply; /* waiting to be written */
    enum fate fate;                   /* of the write under way */
    uint64_t number;                  /* of it */
    bool holds_request, holds_reply;
    bool closed;
};

struct plan {
    uint64_t number;
    enum fate fate;
};

struct proxy {
    int listener;
    const struct sockaddr_in *to;
    uint64_t count;
    struct tf_buf commands;
    TF_VEC(struct plan) plans;
    TF_VEC(struct pair *) pairs;
};

static void say(const char *what, uint64_t number)
{
    printf("%s %llu\n", what, (unsigned long long)number);
    fflush(stdout);
}

/* On any port of the loopback. */
static int listen_somewhere(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 64) == 0)
        return fd;
    close(fd);
    return -1;
}

static int connect_upstream(const struct sockaddr_in *to)
{
    int one = 1, fd = test_connect(to);
    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

/* ---- one connection ---- */

static void pair_destroy(struct pair *pair)
{
    close(pair->client);
    if (pair->upstream >= 0)
        close(pair->upstream);
    tf_buf_release(&pair->request);
    tf_buf_release(&pair->to_upstream);
    tf_buf_release(&pair->reply);
    free(pair);
}

/* Reads all there is. False when the other end is gone. */
static bool read_into(int fd, struct tf_buf *buf)
{
    char chunk[64 << 10];
    for (;;) {
        ssize_t n = recv(fd, chunk, sizeof chunk, 0);
        if (n > 0)
            tf_buf_add(buf, chunk, (size_t)n);
        else
            return n < 0 && (errno == EAGAIN || errno == EINTR);
    }
}

/* Writes what can be written. False when the other end is gone. */
static bool write_from(int fd, struct tf_buf *buf)
{
    size_t done = 0;
    while (done < buf->len) {
        ssize_t n = send(fd, buf->data + done, buf->len - done, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    if (done) {
        memmove(buf->data, buf->data + done, buf->len - done);
        buf->len -= done;
    }
    return true;
}

static void forward(const struct proxy *proxy, struct pair *pair, size_t len)
{
    if (pair->upstream < 0)
        pair->upstream = connect_upstream(proxy->to);
    tf_buf_add(&pair->to_upstream, pair->request.data, len);
    memmove(pair->request.data, pair->request.data + len, pair->request.len - len);
    pair->request.len -= len;
    pair->holds_request = false;
    if (pair->upstream < 0 || !write_from(pair->upstream, &pair->to_upstream))
        pair->closed = true;
}

static enum fate fate_of(const struct proxy *proxy, uint64_t number)
{
    enum fate fate = PASS;
    tf_vec_each (plan, &proxy->plans)
        if (plan->number == number)
            fate = plan->fate; /* the last word counts */
    return fate;
}

static void take_write(struct proxy *proxy, struct pair *pair, size_t len)
{
    pair->number = ++proxy->count;
    pair->fate = fate_of(proxy, pair->number);
    if (pair->fate == DROP) {
        pair->closed = true;
        say("! dropped", pair->number);
    } else if (pair->fate == BEFORE) {
        pair->holds_request = true;
        say("! before", pair->number);
    } else {
        forward(proxy, pair, len);
        if (pair->fate == MARK)
            say("! mark", pair->number);
    }
}

static void take_requests(struct proxy *proxy, struct pair *pair)
{
    size_t len = 0;
    while (!pair->closed && !pair->holds_request) {
        struct tf_bytes bytes = {pair->request.data, pair->request.len};
        enum http_state state = http_request_length(bytes, &len);
        if (state == HTTP_BROKEN)
            pair->closed = true;
        if (state != HTTP_COMPLETE)
            return;
        pair->fate = PASS;
        if (http_is_durable_write((struct tf_bytes){pair->request.data, len}))
            take_write(proxy, pair, len);
        else
            forward(proxy, pair, len);
    }
}

static void take_reply(struct pair *pair)
{
    if (!read_into(pair->upstream, &pair->reply))
        pair->closed = true;
    if (pair->reply.len == 0)
        return;
    if (pair->fate == LOSE) {
        pair->closed = true;
        tf_buf_clear(&pair->reply);
        say("! lost", pair->number);
    } else if (pair->fate == AFTER && !pair->holds_reply) {
        pair->holds_reply = true;
        say("! after", pair->number);
    }
    if (!pair->holds_reply && !write_from(pair->client, &pair->reply))
        pair->closed = true;
}

static void serve(struct proxy *proxy, struct pair *pair, short client, short upstream)
{
    if (client & (POLLIN | POLLHUP | POLLERR)) {
        if (!read_into(pair->client, &pair->request))
            pair->closed = true;
        else
            take_requests(proxy, pair);
    }
    if (!pair->closed && client & POLLOUT && !write_from(pair->client, &pair->reply))
        pair->closed = true;
    if (!pair->closed && upstream & POLLOUT && !write_from(pair->upstream, &pair->to_upstream))
        pair->closed = true;
    if (!pair->closed && upstream & (POLLIN | POLLHUP | POLLERR))
        take_reply(pair);
}

/* ---- commands ---- */

static void let_go(struct proxy *proxy, bool onward)
{
    tf_vec_each (p, &proxy->pairs) {
        struct pair *pair = *p;
        size_t len = 0;
        if (!pair->holds_request && !pair->holds_reply)
            continue;
        pair->closed = !onward;
        if (onward && pair->holds_request &&
            http_request_length((struct tf_bytes){pair->request.data, pair->request.len}, &len) ==
                HTTP_COMPLETE)
            forward(proxy, pair, len);
        pair->fate = PASS;
        if (onward && pair->holds_reply && !write_from(pair->client, &pair->reply))
            pair->closed = true;
        pair->holds_reply = false;
    }
}

static bool plan_fate(struct proxy *proxy, uint64_t number, const char *name)
{
    for (unsigned f = 0; f < FATES; f++)
        if (name && strcmp(fate_names[f], name) == 0) {
            tf_vec_push(&proxy->plans, (struct plan){number, (enum fate)f});
            return true;
        }
    return false;
}

static bool obey(struct proxy *proxy, const char *verb, const char *first, const char *second)
{
    int64_t number = 0;
    if (tf_str_eq(verb, "at"))
        return first && tf_parse_int64(first, 1, INT64_MAX, &number, NULL) == 0 &&
               plan_fate(proxy, (uint64_t)number, second);
    if (tf_str_eq(verb, "next"))
        return plan_fate(proxy, proxy->count + 1, first);
    if (tf_str_eq(verb, "reset")) {
        proxy->count = 0;
        tf_vec_release(&proxy->plans);
        return true;
    }
    bool onward = tf_str_eq(verb, "release");
    if (onward || tf_str_eq(verb, "discard")) {
        let_go(proxy, onward);
        return true;
    }
    return false;
}

static void take_command(struct proxy *proxy, char *line)
{
    char *rest = NULL;
    const char *verb = strtok_r(line, " ", &rest);
    const char *first = strtok_r(NULL, " ", &rest);
    const char *second = strtok_r(NULL, " ", &rest);
    if (tf_str_eq(verb, "count"))
        say("count", proxy->count);
    else
        puts(obey(proxy, verb, first, second) ? "ok" : "error: not a command, see the top of main.c");
    fflush(stdout);
}

/* False when stdin has ended. */
static bool take_commands(struct proxy *proxy)
{
    char chunk[4096];
    ssize_t n = read(STDIN_FILENO, chunk, sizeof chunk);
    if (n <= 0)
        return n < 0 && errno == EINTR;
    tf_buf_add(&proxy->commands, chunk, (size_t)n);
    char *line = proxy->commands.data, *end;
    while ((end = strchr(line, '\n'))) {
        *end = '\0';
        take_command(proxy, line);
        line = end + 1;
    }
    size_t left = strlen(line);
    memmove(proxy->commands.data, line, left + 1);
    proxy->commands.len = left;
    return true;
}

/* ---- the loop ---- */

static void accept_client(struct proxy *proxy)
{
    int fd = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct pair *pair = tf_calloc(1, sizeof *pair);
    *pair = (struct pair){.client = fd, .upstream = -1};
    tf_vec_push(&proxy->pairs, pair);
}

static void sweep(struct proxy *proxy)
{
    for (size_t i = proxy->pairs.count; i-- > 0;)
        if (proxy->pairs.items[i]->closed) {
            pair_destroy(proxy->pairs.items[i]);
            tf_vec_remove(&proxy->pairs, i);
        }
}

/* False when stdin has ended. */
static bool turn(struct proxy *proxy)
{
    TF_VEC(struct pollfd) fds = {0};
    tf_vec_push(&fds, (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN});
    tf_vec_push(&fds, (struct pollfd){.fd = proxy->listener, .events = POLLIN});
    tf_vec_each (p, &proxy->pairs) {
        short write_client = (*p)->reply.len && !(*p)->holds_reply ? POLLOUT : 0;
        short write_upstream = (*p)->to_upstream.len ? POLLOUT : 0;
        tf_vec_push(&fds, (struct pollfd){.fd = (*p)->client, .events = (short)(POLLIN | write_client)});
        tf_vec_push(&fds, (struct pollfd){.fd = (*p)->upstream, .events = (short)(POLLIN | write_upstream)});
    }
    bool more = true;
    size_t pairs = proxy->pairs.count;
    if (poll(fds.items, fds.count, -1) > 0) {
        for (size_t i = 0; i < pairs; i++)
            serve(proxy, proxy->pairs.items[i], fds.items[2 + 2 * i].revents, fds.items[3 + 2 * i].revents);
        if (fds.items[1].revents)
            accept_client(proxy);
        if (fds.items[0].revents)
            more = take_commands(proxy);
    }
    tf_vec_release(&fds);
    sweep(proxy);
    return more;
}

int proxy_run(const struct sockaddr_in *upstream)
{
    struct proxy proxy = {.to = upstream, .listener = listen_somewhere()};
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    if (proxy.listener < 0 || getsockname(proxy.listener, (struct sockaddr *)&address, &len) != 0) {
        fprintf(stderr, "tf_store_proxy: cannot listen: %s\n", strerror(errno));
        return 1;
    }
    say("listening", ntohs(address.sin_port));
    while (turn(&proxy)) {
    }
    tf_vec_each (pair, &proxy.pairs)
        (*pair)->closed = true;
    sweep(&proxy);
    tf_vec_release(&proxy.pairs);
    tf_vec_release(&proxy.plans);
    tf_buf_release(&proxy.commands);
    close(proxy.listener);
    return 0;
}
