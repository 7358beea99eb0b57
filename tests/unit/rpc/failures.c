/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong between two ends: nobody there, somebody else there, a server that comes and goes,
 * addresses. */
#include "tests/unit/rpc/fixture.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- the wrong thing at the address ---- */

static int listen_anywhere(char *address, size_t size)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    CU_ASSERT_TRUE_FATAL(fd >= 0 && bind(fd, (struct sockaddr *)&at, len) == 0 && listen(fd, 8) == 0);
    CU_ASSERT_EQUAL_FATAL(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    snprintf(address, size, "127.0.0.1:%d", ntohs(at.sin_port));
    return fd;
}

static void test_nobody_there(void)
{
    struct fixture f;
    struct outcome o = {0};
    fixture_begin(&f);
    int fd = listen_anywhere(f.address, sizeof f.address);
    close(fd);
    fixture_connect(&f, 0);
    ask(&f, &o, "/t.T/Echo", "x", PATIENCE_MS);
    CU_ASSERT_EQUAL(o.error.code, TF_ERR_UNAVAILABLE);
    CU_ASSERT_TRUE(strstr(o.error.text, f.address) && strstr(o.error.text, "Connection refused"));
    outcome_release(&o);
    fixture_end(&f);
}

static void test_listener_that_never_answers(void)
{
    struct fixture f;
    struct outcome o = {0};
    fixture_begin(&f);
    int fd = listen_anywhere(f.address, sizeof f.address);
    fixture_connect(&f, 0);
    ask(&f, &o, "/t.T/Echo", "x", 300);
    CU_ASSERT_EQUAL(o.error.code, TF_ERR_TIMEOUT);
    CU_ASSERT_TRUE(strstr(o.error.text, "nothing there spoke gRPC in time") != NULL);
    outcome_release(&o);
    fixture_end(&f);
    close(fd);
}

/* Answers each connection like a web server of old. */
static void on_web_connection(struct tf_io *io, unsigned events)
{
    static const char reply[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    (void)events;
    int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC);
    CU_ASSERT_EQUAL(write(fd, reply, sizeof reply - 1), (ssize_t)sizeof reply - 1);
    shutdown(fd, SHUT_WR);
    char ignored[512];
    while (recv(fd, ignored, sizeof ignored, MSG_DONTWAIT) > 0)
        ;
    close(fd);
}

static void test_web_server(void)
{
    struct fixture f;
    struct outcome o = {0};
    struct tf_io web = {0};
    fixture_begin(&f);
    int fd = listen_anywhere(f.address, sizeof f.address);
    CU_ASSERT_EQUAL_FATAL(tf_io_start(f.loop, &web, fd, TF_IO_READ, on_web_connection, NULL), 0);
    fixture_connect(&f, 0);
    ask(&f, &o, "/t.T/Echo", "x", PATIENCE_MS);
    CU_ASSERT_EQUAL(o.error.code, TF_ERR_UNAVAILABLE);
    CU_ASSERT_TRUE(strstr(o.error.text, "does not speak gRPC") != NULL);
    tf_io_stop(f.loop, &web);
    close(fd);
    outcome_release(&o);
    fixture_end(&f);
}

static void test_unknown_method(void)
{
    struct fixture f;
    struct outcome o = {0};
    fixture_begin(&f);
    fixture_bind(&f, (struct tf_server_limits){0});
    tf_server_unary(f.server, "/t.T/Echo", echo, NULL);
    tf_server_start(f.server);
    fixture_connect(&f, 0);
    for (int i = 0; i < 20; i++) {
        ask(&f, &o, "/t.T/Nope", "x", PATIENCE_MS);
        CU_ASSERT_EQUAL(o.error.code, TF_ERR_REFUSED);
        CU_ASSERT_TRUE(strstr(o.error.text, "does not know the method /t.T/Nope") != NULL);
    }
    outcome_release(&o);
    fixture_end(&f);
}

/* ---- sizes ---- */

static void reply_with_much(void *arg, struct tf_call *call, struct tf_bytes request)
{
    (void)request;
    struct tf_buf body = TF_BUF_INIT;
    tf_buf_reserve(&body, *(size_t *)arg);
    body.len = *(size_t *)arg;
    memset(body.data, 'm', body.len);
    tf_call_reply(call, &body);
}

static void test_messages_over_the_limits(void)
{
    struct fixture f;
    struct outcome o = {0};
    size_t reply_size = 20000;
    static char big[20001];
    memset(big, 'b', sizeof big - 1);
    fixture_begin(&f);
    fixture_bind(&f, (struct tf_server_limits){.message_max = 10000});
    tf_server_unary(f.server, "/t.T/Echo", echo, NULL);
    tf_server_unary(f.server, "/t.T/Much", reply_with_much, &reply_size);
    tf_server_start(f.server);
    fixture_connect(&f, 1000);
    ask(&f, &o, "/t.T/Echo", big, PATIENCE_MS); /* more than the client sends */
    CU_ASSERT_EQUAL(o.error.code, TF_ERR_TOO_LARGE);
    CU_ASSERT_TRUE(strstr(o.error.text, "nothing was sent") != NULL);
    reply_size = 5000; /* more than the client takes */
    ask(&f, &o, "/t.T/Much", "x", PATIENCE_MS);
    CU_ASSERT_EQUAL(o.error.code, TF_ERR_TOO_LARGE);
    reply_size = 10001; /* more than the server sends */
    ask(&f, &o, "/t.T/Much", "x", PATIENCE_MS);
    CU_ASSERT_EQUAL(o.error.code, TF_ERR_TOO_LARGE);
    CU_ASSERT_TRUE(strstr(o.error.text, "10001 bytes") != NULL);
    tf_channel_destroy(f.channel);
    fixture_connect(&f, 100000);
    ask(&f, &o, "/t.T/Echo", big, PATIENCE_MS); /* more than the server takes */
    CU_ASSERT_EQUAL(o.error.code, TF_ERR_TOO_LARGE);
    ask(&f, &o, "/t.T/Echo", "fine", PATIENCE_MS);
    CU_ASSERT_EQUAL(o.error.code, TF_OK);
    outcome_release(&o);
    fixture_end(&f);
}

/* ---- addresses ---- */

static void expect_no_server(struct fixture *f, const char *address, enum tf_error_code code,
                             const char *text)
{
    struct tf_error err = TF_ERROR_INIT;
    struct tf_server_options options = {.address = address};
    CU_ASSERT_PTR_NULL(tf_server_create(f->rpc, &options, &err));
    CU_ASSERT_EQUAL(err.code, code);
    if (!strstr(err.text, text) || !strstr(err.text, address))
        printf("\n    got: %s\n", err.text);
    CU_ASSERT_TRUE(strstr(err.text, text) && strstr(err.text, address));
}

static void test_address_in_use(void)
{
    struct fixture f;
    fixture_begin(&f);
    fixture_bind(&f, (struct tf_server_limits){0});
    tf_server_start(f.server);
    expect_no_server(&f, f.address, TF_ERR_CONFLICT, "in use by another process");
    fixture_end(&f);
}

static void test_unix_socket(void)
{
    struct fixture f;
    struct outcome o = {0};
    char folder[] = "/tmp/tidefed-rpc-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    fixture_begin(&f);
    snprintf(f.address, sizeof f.address, "unix:%s/s", folder);
    /* What a killed server left is no obstacle. */
    struct sockaddr_un stale = {.sun_family = AF_UNIX};
    snprintf(stale.sun_path, sizeof stale.sun_path, "%s/s", folder);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&stale, sizeof stale), 0);
    close(fd);
    fixture_bind(&f, (struct tf_server_limits){0});
    CU_ASSERT_EQUAL(tf_server_port(f.server), 0);
    tf_server_unary(f.server, "/t.T/Echo", echo, NULL);
    tf_server_start(f.server);
    expect_no_server(&f, f.address, TF_ERR_CONFLICT, "another process does already");
    fixture_connect(&f, 0);
    ask(&f, &o, "/t.T/Echo", "by file", PATIENCE_MS);
    CU_ASSERT_EQUAL(o.error.code, TF_OK);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&o.body), "by file");
    outcome_release(&o);
    fixture_end(&f);
    unlink(stale.sun_path);
    rmdir(folder);
}

static void test_bad_addresses(void)
{
    struct fixture f;
    fixture_begin(&f);
    expect_no_server(&f, "nonsense", TF_ERR_INVALID, "host:port");
    expect_no_server(&f, "127.0.0.1:", TF_ERR_INVALID, "no port");
    expect_no_server(&f, "127.0.0.1:99999", TF_ERR_INVALID, "no port");
    expect_no_server(&f, ":1234", TF_ERR_INVALID, "no host");
    expect_no_server(&f, "::1:1234", TF_ERR_INVALID, "[::1]:port");
    expect_no_server(&f, "unix:", TF_ERR_INVALID, "path");
    expect_no_server(&f, "192.0.2.1:7000", TF_ERR_INVALID, "no interface");
    char longest[300] = "unix:/tmp/";
    memset(longest + strlen(longest), 'l', 200);
    expect_no_server(&f, longest, TF_ERR_INVALID, "1 to 107 bytes");
    struct tf_error err = TF_ERROR_INIT;
    struct tf_channel_options options = {.address = "nowhere"};
    CU_ASSERT_PTR_NULL(tf_channel_create(f.rpc, &options, &err));
    CU_ASSERT_EQUAL(err.code, TF_ERR_INVALID);
    fixture_end(&f);
}

/* ---- a server that comes and goes ---- */

static void never_answer(void *arg, struct tf_call *call, struct tf_bytes request)
{
    (void)request;
    *(struct tf_call **)arg = call;
}

static void start_server(struct fixture *f, struct tf_call **held)
{
    fixture_bind(f, (struct tf_server_limits){0});
    tf_server_unary(f->server, "/t.T/Echo", echo, NULL);
    tf_server_unary(f->server, "/t.T/Never", never_answer, held);
    tf_server_start(f->server);
}

static void drop(struct tf_call **held)
{
    struct tf_error error = {.code = TF_ERR_UNAVAILABLE, .text = "stopping"};
    tf_call_fail(TF_STEAL(*held), &error, (struct tf_bytes){NULL, 0});
}

static void test_server_goes_and_comes_back(void)
{
    struct fixture f;
    struct outcome o = {0}, lost = {0};
    struct tf_call *held = NULL;
    fixture_begin(&f);
    start_server(&f, &held);
    fixture_connect(&f, 0);
    for (int round = 0; round < 3; round++) {
        ask(&f, &o, "/t.T/Echo", "up", PATIENCE_MS);
        CU_ASSERT_EQUAL(o.error.code, TF_OK);
        struct tf_buf request = text_body("x");
        tf_unary_start(f.channel, "/t.T/Never", &request, PATIENCE_MS, on_outcome, &lost);
        TURN_UNTIL(&f, held != NULL);
        tf_server_destroy(f.server);
        f.server = NULL;
        TURN_UNTIL(&f, lost.calls == round + 1);
        CU_ASSERT_EQUAL(lost.error.code, TF_ERR_UNKNOWN); /* it was under way */
        CU_ASSERT_TRUE(strstr(lost.error.text, "repeat the same request") != NULL);
        drop(&held);
        do /* the end of the connection may take a moment to be seen */
            ask(&f, &o, "/t.T/Echo", "down", PATIENCE_MS);
        while (o.error.code == TF_ERR_UNKNOWN);
        CU_ASSERT_EQUAL(o.error.code, TF_ERR_UNAVAILABLE); /* it did not leave */
        start_server(&f, &held);
        int64_t end = tf_clock_read().mono.ms + PATIENCE_MS;
        do
            ask(&f, &o, "/t.T/Echo", "again", PATIENCE_MS);
        while (o.error.code == TF_ERR_UNAVAILABLE && tf_clock_read().mono.ms < end);
        CU_ASSERT_EQUAL(o.error.code, TF_OK);
    }
    outcome_release(&o);
    outcome_release(&lost);
    fixture_end(&f);
}

static void test_two_servers_and_a_dead_one_in_one_process(void)
{
    struct fixture f;
    struct tf_error err = TF_ERROR_INIT;
    fixture_begin(&f);
    struct tf_server_options options = {.address = "127.0.0.1:0"};
    struct tf_server *a = tf_server_create(f.rpc, &options, &err);
    struct tf_server *b = tf_server_create(f.rpc, &options, &err);
    CU_ASSERT_TRUE(a && b && tf_server_port(a) != tf_server_port(b));
    tf_server_start(a);
    tf_server_destroy(a);
    tf_server_destroy(b); /* never started */
    tf_server_destroy(NULL);
    tf_channel_destroy(NULL);
    fixture_end(&f);
}

static const struct suite_test tests[] = {
    {"nobody there", test_nobody_there},
    {"listener that never answers", test_listener_that_never_answers},
    {"web server", test_web_server},
    {"unknown method", test_unknown_method},
    {"messages over the limits", test_messages_over_the_limits},
    {"address in use", test_address_in_use},
    {"unix socket", test_unix_socket},
    {"bad addresses", test_bad_addresses},
    {"server goes and comes back", test_server_goes_and_comes_back},
    {"two servers and a dead one in one process", test_two_servers_and_a_dead_one_in_one_process},
};

int main(void)
{
    return suite_run("failures", tests, TF_ARRAY_LEN(tests));
}
