/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/store_proxy.h"

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/base/vec.h"
#include "tests/support/process.h"

#include <poll.h>
#include <stdarg.h>
#include <unistd.h>

enum { ANSWER_TIMEOUT_MS = 30 * 1000 };

struct test_proxy {
    pid_t pid;
    int in, out;
    char *endpoint;
    struct tf_buf text; /* read, not a whole line yet */
    TF_VEC(char *) announcements;
};

/* The next whole line, owned by the caller; NULL at the deadline or at the end. */
static char *read_line(struct test_proxy *proxy, int64_t deadline)
{
    char *end;
    while (!(end = proxy->text.len ? memchr(proxy->text.data, '\n', proxy->text.len) : NULL)) {
        char chunk[1024];
        int64_t left = deadline - test_now_ms();
        struct pollfd fd = {.fd = proxy->out, .events = POLLIN};
        if (left <= 0 || poll(&fd, 1, (int)left) < 0)
            return NULL;
        ssize_t n = fd.revents ? read(proxy->out, chunk, sizeof chunk) : -1;
        if (n == 0)
            return NULL;
        if (n > 0)
            tf_buf_add(&proxy->text, chunk, (size_t)n);
    }
    size_t len = (size_t)(end - proxy->text.data);
    char *line = tf_strndup(proxy->text.data, len);
    memmove(proxy->text.data, end + 1, proxy->text.len - len - 1);
    proxy->text.len -= len + 1;
    return line;
}

/* The next line that is no announcement; those before it are kept. */
static char *read_answer(struct test_proxy *proxy)
{
    int64_t deadline = test_now_ms() + ANSWER_TIMEOUT_MS;
    char *line;
    while ((line = read_line(proxy, deadline)) && line[0] == '!')
        tf_vec_push(&proxy->announcements, line);
    return line;
}

struct test_proxy *test_proxy_start(const char *upstream)
{
    struct test_proxy *proxy = tf_calloc(1, sizeof *proxy);
    const char *argv[] = {TF_STORE_PROXY, upstream, NULL};
    proxy->pid = test_process_start(argv, NULL, &proxy->in, &proxy->out);
    TF_AUTO_FREE char *line = proxy->pid > 0 ? read_answer(proxy) : NULL;
    if (line && tf_starts_with(line, "listening ")) {
        proxy->endpoint = tf_asprintf("http://127.0.0.1:%s", line + strlen("listening "));
        return proxy;
    }
    fprintf(stderr, "cannot start %s\n", TF_STORE_PROXY);
    test_proxy_stop(proxy);
    return NULL;
}

void test_proxy_stop(struct test_proxy *proxy)
{
    if (!proxy)
        return;
    close(proxy->in);
    if (proxy->pid > 0)
        test_process_wait(proxy->pid); /* it ends with its stdin */
    close(proxy->out);
    free(proxy->endpoint);
    tf_buf_release(&proxy->text);
    tf_vec_each (line, &proxy->announcements)
        free(*line);
    tf_vec_release(&proxy->announcements);
    free(proxy);
}

const char *test_proxy_endpoint(const struct test_proxy *proxy)
{
    return proxy->endpoint;
}

static char *ask(struct test_proxy *proxy, const char *command)
{
    TF_AUTO_FREE char *line = tf_asprintf("%s\n", command);
    size_t len = strlen(line);
    if (write(proxy->in, line, len) != (ssize_t)len)
        return NULL;
    return read_answer(proxy);
}

bool test_proxy_command(struct test_proxy *proxy, const char *fmt, ...)
{
    char command[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(command, sizeof command, fmt, args);
    va_end(args);
    TF_AUTO_FREE char *answer = ask(proxy, command);
    return answer && strcmp(answer, "ok") == 0;
}

int64_t test_proxy_count(struct test_proxy *proxy)
{
    int64_t count = -1;
    TF_AUTO_FREE char *answer = ask(proxy, "count");
    if (answer && tf_starts_with(answer, "count "))
        tf_parse_int64(answer + strlen("count "), 0, INT64_MAX, &count, NULL);
    return count;
}

static bool take_announcement(struct test_proxy *proxy, const char *wanted)
{
    for (size_t i = 0; i < proxy->announcements.count; i++) {
        char *line = proxy->announcements.items[i];
        if (strcmp(line + strlen("! "), wanted) == 0) {
            free(line);
            tf_vec_remove(&proxy->announcements, i);
            return true;
        }
    }
    return false;
}

bool test_proxy_wait(struct test_proxy *proxy, const char *announcement, int64_t timeout_ms)
{
    int64_t deadline = test_now_ms() + timeout_ms;
    while (!take_announcement(proxy, announcement)) {
        char *line = read_line(proxy, deadline);
        if (!line)
            return false;
        tf_vec_push(&proxy->announcements, line);
    }
    return true;
}
