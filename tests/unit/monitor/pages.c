/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP end of the monitor against clients that are right, wrong, slow and many. */
#include "common/monitor/pages.h"

#include "common/base/cleanup.h"
#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_MS = 30000 };

static int dial(const struct tf_pages *pages)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)tf_pages_port(pages)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL_FATAL(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* Sends, and reads to the end of the connection. */
static void ask(int fd, const char *request, struct tf_buf *answer)
{
    char bytes[4096];
    tf_buf_clear(answer);
    CU_ASSERT_EQUAL(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (poll(&ready, 1, PATIENCE_MS) == 1) {
        ssize_t n = recv(fd, bytes, sizeof bytes, 0);
        if (n <= 0)
            break;
        tf_buf_add(answer, bytes, (size_t)n);
    }
    close(fd);
}

static void set(struct tf_pages *pages, const char *path, unsigned status, const char *text)
{
    struct tf_buf body = TF_BUF_INIT;
    tf_buf_str(&body, text);
    tf_pages_set(pages, path, status, "text/plain", &body);
    CU_ASSERT_EQUAL(body.len, 0);
}

#define CLOSE " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

static void test_answers(void)
{
    static const struct {
        const char *request, *status, *has, *lacks;
    } rows[] = {
        {"GET /metrics" CLOSE, "HTTP/1.1 200", "\r\n\r\nfigures 1\n", NULL},
        {"GET /readyz" CLOSE, "HTTP/1.1 503", "not yet", NULL},
        {"HEAD /metrics" CLOSE, "HTTP/1.1 200", "Content-Length: 10", "figures"},
        {"GET /metrics?x=/../y" CLOSE, "HTTP/1.1 200", "figures", NULL},
        {"GET /etc/passwd" CLOSE, "HTTP/1.1 404", "there are:\n/metrics\n/readyz\n", NULL},
        {"POST /metrics" CLOSE, "HTTP/1.1 405", "Allow: GET, HEAD", "figures"},
        {"DELETE /metrics" CLOSE, "HTTP/1.1 405", "can only be read", "figures"},
    };
    struct tf_error err = TF_ERROR_INIT;
    struct tf_pages *pages = tf_pages_open("127.0.0.1:0", &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pages);
    set(pages, "/metrics", 200, "figures 0\n");
    set(pages, "/readyz", 503, "not yet\n");
    set(pages, "/metrics", 200, "figures 1\n");
    for (size_t i = 0; i < TF_ARRAY_LEN(rows); i++) {
        TF_AUTO_BUF answer = TF_BUF_INIT;
        ask(dial(pages), rows[i].request, &answer);
        CU_ASSERT_PTR_EQUAL(strstr(tf_buf_text(&answer), rows[i].status), tf_buf_text(&answer));
        CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&answer), rows[i].has));
        CU_ASSERT_TRUE(!rows[i].lacks || !strstr(tf_buf_text(&answer), rows[i].lacks));
    }
    tf_pages_close(pages);
}

/* Bytes that are no HTTP, heads without an end, and more connections than it takes: it goes on answering. */
static void test_abuse(void)
{
    TF_AUTO_BUF answer = TF_BUF_INIT, flood = TF_BUF_INIT;
    int idle[2 * TF_PAGES_CONNECTIONS_MAX];
    struct tf_pages *pages = tf_pages_open("127.0.0.1:0", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pages);
    set(pages, "/metrics", 200, "figures\n");
    ask(dial(pages), "\x16\x03\x01 no http at all\r\n\r\n", &answer);
    tf_buf_str(&flood, "GET /metrics HTTP/1.1\r\n");
    for (int i = 0; i < 2000; i++)
        tf_buf_fmt(&flood, "X-%d: yes, and again\r\n", i);
    tf_buf_str(&flood, "\r\n");
    ask(dial(pages), tf_buf_text(&flood), &answer);
    CU_ASSERT_PTR_NULL(strstr(tf_buf_text(&answer), "figures"));
    for (size_t i = 0; i < TF_ARRAY_LEN(idle); i++)
        idle[i] = dial(pages);
    for (size_t i = 0; i < TF_ARRAY_LEN(idle); i++)
        close(idle[i]);
    for (int tries = 0; tries < 100 && !strstr(tf_buf_text(&answer), "figures"); tries++) {
        int fd = dial(pages);
        ask(fd, "GET /metrics" CLOSE, &answer);
    }
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&answer), "figures"));
    tf_pages_close(pages);
}

static void test_in_use(void)
{
    char address[32];
    struct tf_error err = TF_ERROR_INIT;
    struct tf_pages *pages = tf_pages_open("127.0.0.1:0", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pages);
    snprintf(address, sizeof address, "127.0.0.1:%d", tf_pages_port(pages));
    CU_ASSERT_PTR_NULL(tf_pages_open(address, &err));
    CU_ASSERT_EQUAL(err.code, TF_ERR_CONFLICT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "choose another port"));
    tf_pages_close(pages);
}

static const struct suite_test tests[] = {
    {"answers", test_answers}, {"abuse", test_abuse}, {"in use", test_in_use}};

int main(void)
{
    return suite_run("pages", tests, TF_ARRAY_LEN(tests));
}
