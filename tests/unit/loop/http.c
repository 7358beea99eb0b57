/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP through the loop, against a server of a few lines that runs in the same loop. The tests include
 * loop/http.h, which brings libcurl's options with it. */
#include "common/loop/http.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "tests/support/suite.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000, CLIENTS = 8, ROUNDS = 20 };

static struct tf_loop *loop;

/* ---- the server: answers each request head with "pong", except /hang ---- */

static struct tf_io listener;
static struct tf_io connections[64];
static uint16_t port;

static void on_request(struct tf_io *io, unsigned events)
{
    (void)events;
    static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npong";
    char head[2048] = "";
    ssize_t got = recv(io->fd, head, sizeof head - 1, MSG_DONTWAIT);
    if (got <= 0) {
        tf_io_stop(loop, io);
        close(io->fd);
    } else if (!strstr(head, "/hang")) {
        CU_ASSERT_EQUAL(write(io->fd, reply, sizeof reply - 1), (ssize_t)sizeof reply - 1);
    }
}

static void on_connection(struct tf_io *io, unsigned events)
{
    (void)events;
    int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    for (size_t i = 0; i < TF_ARRAY_LEN(connections); i++)
        if (!connections[i].started) {
            CU_ASSERT_EQUAL(tf_io_start(loop, &connections[i], fd, TF_IO_READ, on_request, NULL), 0);
            return;
        }
    CU_FAIL("too many connections");
    close(fd);
}

static void begin(void)
{
    loop = tf_loop_create(NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(loop);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&address, size), 0);
    CU_ASSERT_EQUAL_FATAL(listen(fd, 64), 0);
    CU_ASSERT_EQUAL_FATAL(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    port = ntohs(address.sin_port);
    CU_ASSERT_EQUAL_FATAL(tf_io_start(loop, &listener, fd, TF_IO_READ, on_connection, NULL), 0);
}

static void finish(void)
{
    tf_io_stop(loop, &listener);
    close(listener.fd);
    for (size_t i = 0; i < TF_ARRAY_LEN(connections); i++)
        if (connections[i].started) {
            tf_io_stop(loop, &connections[i]);
            close(connections[i].fd);
        }
    tf_loop_destroy(loop);
}

/* ---- the clients ---- */

struct client {
    struct tf_http_request request;
    struct tf_buf body;
    int rounds_left;
    CURLcode result;
    bool done;
};

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct client *client = arg;
    tf_buf_add(&client->body, bytes, size * count);
    return size * count;
}

static void client_init(struct client *client, const char *path, tf_http_f done)
{
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", port, path);
    *client = (struct client){.request = {.easy = curl_easy_init(), .done = done}};
    curl_easy_setopt(client->request.easy, CURLOPT_URL, url);
    curl_easy_setopt(client->request.easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(client->request.easy, CURLOPT_WRITEDATA, client);
    curl_easy_setopt(client->request.easy, CURLOPT_NOPROXY, "*");
}

static void client_release(struct client *client)
{
    tf_http_cancel(loop, &client->request);
    curl_easy_cleanup(client->request.easy);
    tf_buf_release(&client->body);
}

static void on_done(struct tf_http_request *request, CURLcode result)
{
    struct client *client = TF_CONTAINER_OF(request, struct client, request);
    CU_ASSERT_FALSE(request->started);
    client->result = result;
    client->done = result != CURLE_OK || client->rounds_left-- <= 0;
    if (!client->done)
        CU_ASSERT_EQUAL(tf_http_start(loop, request, NULL), 0);
}

static void turn_until(const bool *condition)
{
    int64_t end = tf_clock_read().mono.ms + PATIENCE_MS;
    while (!*condition && tf_clock_read().mono.ms < end)
        tf_loop_turn(loop, PATIENCE_MS);
    CU_ASSERT_TRUE(*condition);
}

static void test_many_requests_each_restarted_from_done(void)
{
    begin();
    struct client clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        client_init(&clients[i], "/", on_done);
        clients[i].rounds_left = ROUNDS - 1;
        CU_ASSERT_EQUAL(tf_http_start(loop, &clients[i].request, NULL), 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        turn_until(&clients[i].done);
        CU_ASSERT_EQUAL(clients[i].result, CURLE_OK);
        CU_ASSERT_EQUAL(clients[i].body.len, 4 * ROUNDS);
        CU_ASSERT_TRUE(strncmp(tf_buf_text(&clients[i].body), "pongpong", 8) == 0);
    }
    for (int i = 0; i < CLIENTS; i++)
        client_release(&clients[i]);
    finish();
}

static void test_time_out_and_refused_connection(void)
{
    begin();
    struct client slow, refused;
    client_init(&slow, "/hang", on_done);
    curl_easy_setopt(slow.request.easy, CURLOPT_TIMEOUT_MS, 50L);
    CU_ASSERT_EQUAL(tf_http_start(loop, &slow.request, NULL), 0);
    turn_until(&slow.done);
    CU_ASSERT_EQUAL(slow.result, CURLE_OPERATION_TIMEDOUT);
    client_init(&refused, "/", on_done);
    curl_easy_setopt(refused.request.easy, CURLOPT_URL, "http://127.0.0.1:1/");
    CU_ASSERT_EQUAL(tf_http_start(loop, &refused.request, NULL), 0);
    turn_until(&refused.done);
    CU_ASSERT_EQUAL(refused.result, CURLE_COULDNT_CONNECT);
    client_release(&slow);
    client_release(&refused);
    finish();
}

static struct client *other;

static void on_done_cancel_other(struct tf_http_request *request, CURLcode result)
{
    on_done(request, result);
    tf_http_cancel(loop, &other->request);
}

static void test_cancelled_request_is_not_called(void)
{
    begin();
    struct client first, hanging;
    other = &hanging;
    client_init(&first, "/", on_done_cancel_other);
    client_init(&hanging, "/hang", on_done);
    CU_ASSERT_EQUAL(tf_http_start(loop, &hanging.request, NULL), 0);
    CU_ASSERT_EQUAL(tf_http_start(loop, &first.request, NULL), 0);
    turn_until(&first.done);
    CU_ASSERT_FALSE(hanging.request.started);
    CU_ASSERT_FALSE(hanging.done);
    client_release(&first);
    client_release(&hanging);
    finish();
}

static const struct suite_test tests[] = {
    {"many requests, each restarted from done", test_many_requests_each_restarted_from_done},
    {"time-out and refused connection", test_time_out_and_refused_connection},
    {"cancelled request is not called", test_cancelled_request_is_not_called},
};

int main(void)
{
    return suite_run("http", tests, TF_ARRAY_LEN(tests));
}
