/* SPDX-License-Identifier: Apache-2.0 */
/* The etcd store and what may be at its endpoints: nobody, etcd, something else. */
#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/loop/loop.h"
#include "common/store/etcd.h"
#include "tests/support/etcd.h"
#include "tests/support/loopback.h"
#include "tests/support/process.h"
#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define S(text) ((struct tf_bytes){"" text, sizeof(text) - 1})

enum { LIMIT_MS = 30 * 1000, TIMEOUT_MS = 1000 };

static struct tf_loop *loop;

struct got {
    bool done;
    struct tf_error error;
};

static void take(void *cookie, const struct tf_store_reply *reply)
{
    struct got *got = cookie;
    got->done = true;
    got->error = reply->error;
}

static struct tf_store *store_at(const char *const *endpoints, size_t count)
{
    struct tf_etcd_options options = {.endpoints = endpoints, .endpoint_count = count};
    struct tf_store *store = tf_etcd_store_create(loop, &options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(store);
    return store;
}

static struct got ask(struct tf_store *store, enum tf_store_kind kind, int64_t timeout_ms)
{
    struct got got = {0};
    struct tf_store_write write = {.key = S("/a"), .value = S("v")};
    struct tf_store_request request = {
        .kind = kind, .timeout_ms = timeout_ms, .key = S("/a"), .txn = {.writes = &write, .write_count = 1}};
    tf_store_send(store, &request, take, &got);
    int64_t deadline = test_now_ms() + LIMIT_MS;
    while (!got.done && test_now_ms() < deadline)
        tf_loop_turn(loop, 50);
    CU_ASSERT_TRUE_FATAL(got.done);
    return got;
}

/* ---- a server that answers every request with the same bytes, then closes ---- */

/* Reads a request of these tests: its body ends with a brace, and nothing before it does. */
static bool read_request(int fd, char *room, size_t size)
{
    size_t len = 0;
    while (len == 0 || room[len - 1] != '}') {
        ssize_t n = recv(fd, room + len, size - len, 0);
        if (n <= 0)
            return false;
        len += (size_t)n;
    }
    return true;
}

static void serve(int listener, const char *answer, size_t spaces)
{
    static char chunk[64 << 10];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            _exit(1);
        bool asked = read_request(fd, chunk, sizeof chunk);
        ssize_t n = asked ? send(fd, answer, strlen(answer), MSG_NOSIGNAL) : -1;
        memset(chunk, ' ', sizeof chunk);
        for (size_t sent = 0; n > 0 && sent < spaces; sent += (size_t)n)
            n = send(fd, chunk, sizeof chunk, MSG_NOSIGNAL);
        shutdown(fd, SHUT_WR);
        while (recv(fd, chunk, sizeof chunk, 0) > 0) {
        }
        close(fd);
    }
}

static pid_t start_server(const char *answer, size_t spaces, char **endpoint)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL_FATAL(bind(listener, (struct sockaddr *)&address, len), 0);
    CU_ASSERT_EQUAL_FATAL(listen(listener, 8), 0);
    CU_ASSERT_EQUAL_FATAL(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    *endpoint = tf_asprintf("http://127.0.0.1:%d", ntohs(address.sin_port));
    pid_t pid = fork();
    if (pid == 0)
        serve(listener, answer, spaces);
    close(listener);
    return pid;
}

static void check_server(const char *answer, size_t spaces, enum tf_error_code read, enum tf_error_code write)
{
    TF_AUTO_FREE char *endpoint = NULL;
    pid_t pid = start_server(answer, spaces, &endpoint);
    const char *const endpoints[] = {endpoint};
    struct tf_store *store = store_at(endpoints, 1);
    struct got got = ask(store, TF_STORE_GET, LIMIT_MS);
    CU_ASSERT_EQUAL(got.error.code, read);
    got = ask(store, TF_STORE_TXN, LIMIT_MS);
    CU_ASSERT_EQUAL(got.error.code, write);
    CU_ASSERT_TRUE(strlen(got.error.text) > 0);
    tf_store_destroy(store);
    test_process_kill(pid);
}

static void test_something_else(void)
{
    check_server("", 0, TF_ERR_UNAVAILABLE, TF_ERR_UNKNOWN); /* closes without a word */
    check_server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 0, TF_ERR_UNAVAILABLE, TF_ERR_UNKNOWN);
    check_server("HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nNot Found", 0, TF_ERR_UNAVAILABLE,
                 TF_ERR_UNKNOWN);
    check_server("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", 0,
                 TF_ERR_UNAVAILABLE, TF_ERR_UNKNOWN);
    check_server("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"header\":{", 0, TF_ERR_UNAVAILABLE,
                 TF_ERR_UNKNOWN); /* cut */
    check_server("SSH-2.0-OpenSSH\r\n", 0, TF_ERR_UNAVAILABLE, TF_ERR_UNKNOWN);
}

static void test_endless(void)
{
    check_server("HTTP/1.1 200 OK\r\n\r\n", 80 << 20, TF_ERR_TOO_LARGE, TF_ERR_UNKNOWN);
}

static void test_nobody(void)
{
    TF_AUTO_FREE char *one = test_new_address(), *two = test_new_address();
    TF_AUTO_FREE char *first = tf_asprintf("http://%s", one), *second = tf_asprintf("http://%s", two);
    const char *const endpoints[] = {first, second};
    struct tf_store *store = store_at(endpoints, 2);
    struct got got = ask(store, TF_STORE_TXN, TIMEOUT_MS);
    CU_ASSERT_EQUAL(got.error.code, TF_ERR_UNAVAILABLE);
    CU_ASSERT_TRUE(strstr(got.error.text, first) || strstr(got.error.text, second));
    got = ask(store, TF_STORE_STATUS, TIMEOUT_MS);
    CU_ASSERT_EQUAL(got.error.code, TF_ERR_UNAVAILABLE);
    tf_store_destroy(store);
}

static void test_failover(void)
{
    struct test_etcd *etcd = test_etcd_start(NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(etcd);
    TF_AUTO_FREE char *free_address = test_new_address();
    TF_AUTO_FREE char *nobody = tf_asprintf("http://%s/", free_address);
    const char *const endpoints[] = {nobody, test_etcd_endpoint(etcd)};
    struct tf_store *store = store_at(endpoints, 2);
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(ask(store, TF_STORE_TXN, LIMIT_MS).error.code, TF_OK);
    test_etcd_kill(etcd);
    CU_ASSERT_EQUAL(ask(store, TF_STORE_TXN, LIMIT_MS).error.code, TF_ERR_UNAVAILABLE);
    CU_ASSERT_TRUE(test_etcd_restart(etcd));
    CU_ASSERT_EQUAL(ask(store, TF_STORE_TXN, LIMIT_MS).error.code, TF_OK);
    test_etcd_freeze(etcd);
    CU_ASSERT_EQUAL(ask(store, TF_STORE_TXN, TIMEOUT_MS).error.code, TF_ERR_UNKNOWN);
    test_etcd_thaw(etcd);
    CU_ASSERT_EQUAL(ask(store, TF_STORE_TXN, LIMIT_MS).error.code, TF_OK);
    tf_store_destroy(store);
    test_etcd_stop(etcd);
}

static void test_full(void)
{
    struct test_etcd *etcd = test_etcd_start(&(struct test_etcd_options){.quota_bytes = 1 << 20});
    CU_ASSERT_PTR_NOT_NULL_FATAL(etcd);
    const char *const endpoints[] = {test_etcd_endpoint(etcd)};
    struct tf_store *store = store_at(endpoints, 1);
    char *big = tf_calloc(1, 200 << 10);
    struct got got = {0};
    for (int i = 0; i < 100 && got.error.code == TF_OK; i++) {
        struct tf_store_write write = {.key = S("/big"), .value = {big, 200 << 10}};
        struct tf_store_request request = {
            .kind = TF_STORE_TXN, .timeout_ms = LIMIT_MS, .txn = {.writes = &write, .write_count = 1}};
        got.done = false;
        tf_store_send(store, &request, take, &got);
        while (!got.done)
            tf_loop_turn(loop, 50);
    }
    CU_ASSERT_EQUAL(got.error.code, TF_ERR_REFUSED);
    CU_ASSERT_PTR_NOT_NULL(strstr(got.error.text, "alarm disarm")); /* what to do */
    CU_ASSERT_EQUAL(ask(store, TF_STORE_GET, LIMIT_MS).error.code, TF_OK);
    free(big);
    tf_store_destroy(store);
    test_etcd_stop(etcd);
}

static void test_bad_endpoints(void)
{
    static const char *const bad[] = {"",
                                      "localhost",
                                      "localhost:2379",
                                      "ftp://localhost:2379",
                                      "http://",
                                      "http://localhost:99999",
                                      "http://localhost:2379/v3",
                                      "http://localhost:2379?x",
                                      "unix:/run/etcd"};
    for (size_t i = 0; i < TF_ARRAY_LEN(bad); i++) {
        struct tf_error err = TF_ERROR_INIT;
        struct tf_etcd_options options = {.endpoints = &bad[i], .endpoint_count = 1};
        CU_ASSERT_PTR_NULL(tf_etcd_store_create(loop, &options, &err));
        CU_ASSERT_EQUAL(err.code, TF_ERR_INVALID);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "http://HOST:PORT"));
    }
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_PTR_NULL(tf_etcd_store_create(loop, &(struct tf_etcd_options){0}, &err));
    CU_ASSERT_EQUAL(err.code, TF_ERR_INVALID);
}

static const struct suite_test tests[] = {
    {"bad endpoints", test_bad_endpoints},
    {"nobody there", test_nobody},
    {"something else there", test_something_else},
    {"an endless answer", test_endless},
    {"failover", test_failover},
    {"a full etcd", test_full},
};

int main(void)
{
    if (!test_etcd_available())
        return 0;
    loop = tf_loop_create(NULL);
    if (!loop)
        return 1;
    int failed = suite_run("etcd endpoints", tests, TF_ARRAY_LEN(tests));
    tf_loop_destroy(loop);
    return failed;
}
