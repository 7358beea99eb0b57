/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/etcd.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "tests/support/loopback.h"
#include "tests/support/process.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_TIMEOUT_MS = 30 * 1000, PAGE_MAX = 4 << 20 };

struct test_etcd {
    struct test_etcd_options options;
    char *dir, *log, *address, *endpoint, *peer;
    pid_t pid;
};

bool test_etcd_available(void)
{
    const char *path = getenv("PATH");
    TF_AUTO_FREE char *copy = tf_strdup(path ? path : "/usr/bin");
    char *rest = NULL;
    for (char *dir = strtok_r(copy, ":", &rest); dir; dir = strtok_r(NULL, ":", &rest)) {
        TF_AUTO_FREE char *file = tf_asprintf("%s/etcd", dir);
        if (access(file, X_OK) == 0)
            return true;
    }
    fprintf(stderr, "SKIPPED: etcd is not installed (apt-get install etcd-server)\n");
    if (getenv("CI"))
        exit(1);
    return false;
}

/* The whole answer, headers too. */
static bool get(const struct test_etcd *etcd, const char *path, struct tf_buf *out)
{
    char request[128], chunk[8192];
    int len = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", path);
    struct timeval second = {.tv_sec = 1};
    struct sockaddr_in address;
    int fd = test_parse_address(etcd->address, &address) ? test_connect(&address) : -1;
    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    ssize_t n = send(fd, request, (size_t)len, MSG_NOSIGNAL);
    while (n > 0 && out->len < PAGE_MAX) {
        n = recv(fd, chunk, sizeof chunk, 0);
        tf_buf_add(out, chunk, n > 0 ? (size_t)n : 0);
    }
    close(fd);
    return out->len > 0;
}

static bool healthy(void *ctx)
{
    TF_AUTO_BUF page = TF_BUF_INIT;
    return get(ctx, "/health", &page) && strstr(tf_buf_text(&page), "\"health\":\"true\"");
}

/* Healthy, or ended. */
static bool decided(void *ctx)
{
    const struct test_etcd *etcd = ctx;
    return kill(etcd->pid, 0) != 0 || healthy(ctx);
}

static bool launch(struct test_etcd *etcd)
{
    TF_AUTO_FREE char *quota = tf_asprintf("%" PRId64, etcd->options.quota_bytes);
    TF_AUTO_FREE char *cluster = tf_asprintf("test=%s", etcd->peer);
    TF_AUTO_FREE char *data = tf_asprintf("%s/data", etcd->dir);
    const char *argv[] = {
        "etcd",
        "--name",
        "test",
        "--data-dir",
        data,
        "--listen-client-urls",
        etcd->endpoint,
        "--advertise-client-urls",
        etcd->endpoint,
        "--listen-peer-urls",
        etcd->peer,
        "--initial-advertise-peer-urls",
        etcd->peer,
        "--initial-cluster",
        cluster,
        "--heartbeat-interval=20",
        "--election-timeout=200", /* the shortest lease is 1.5 times as long, in whole seconds */
        "--quota-backend-bytes",
        quota,
        etcd->options.fsync ? NULL : "--unsafe-no-fsync",
        NULL};
    etcd->pid = test_process_start(argv, etcd->log, NULL, NULL);
    bool up = etcd->pid > 0 && test_wait_for(decided, etcd, START_TIMEOUT_MS) && healthy(etcd);
    if (!up) {
        test_process_kill(etcd->pid);
        etcd->pid = 0;
    }
    return up;
}

static void choose_addresses(struct test_etcd *etcd)
{
    TF_AUTO_FREE char *peer = test_new_address();
    etcd->address = test_new_address();
    etcd->endpoint = tf_asprintf("http://%s", etcd->address);
    etcd->peer = tf_asprintf("http://%s", peer);
}

struct test_etcd *test_etcd_start(const struct test_etcd_options *options)
{
    struct test_etcd *etcd = tf_calloc(1, sizeof *etcd);
    etcd->options = options ? *options : (struct test_etcd_options){0};
    etcd->dir = tf_asprintf("%s/tidefed-etcd-XXXXXX", etcd->options.dir ? etcd->options.dir : "/tmp");
    if (!mkdtemp(etcd->dir)) {
        perror(etcd->dir);
        test_etcd_stop(etcd);
        return NULL;
    }
    etcd->log = tf_asprintf("%s/log", etcd->dir);
    choose_addresses(etcd);
    if (launch(etcd))
        return etcd;
    fprintf(stderr, "etcd does not start; the end of its log:\n");
    TF_AUTO_FREE char *tail = tf_asprintf("tail -n 5 '%s' >&2", etcd->log);
    if (system(tail) != 0)
        fprintf(stderr, "(no log)\n");
    test_etcd_stop(etcd);
    return NULL;
}

void test_etcd_stop(struct test_etcd *etcd)
{
    if (!etcd)
        return;
    test_process_kill(etcd->pid);
    test_remove_tree(etcd->dir);
    free(etcd->dir);
    free(etcd->log);
    free(etcd->address);
    free(etcd->endpoint);
    free(etcd->peer);
    free(etcd);
}

const char *test_etcd_endpoint(const struct test_etcd *etcd)
{
    return etcd->endpoint;
}

const char *test_etcd_address(const struct test_etcd *etcd)
{
    return etcd->address;
}

int64_t test_etcd_cpu_us(const struct test_etcd *etcd)
{
    return test_process_cpu_us(etcd->pid);
}

int64_t test_etcd_counter(const struct test_etcd *etcd, const char *name)
{
    TF_AUTO_BUF page = TF_BUF_INIT;
    TF_AUTO_FREE char *line = tf_asprintf("\n%s ", name);
    if (!get(etcd, "/metrics", &page))
        return -1;
    const char *at = strstr(tf_buf_text(&page), line);
    return at ? (int64_t)strtod(at + strlen(line), NULL) : -1;
}

void test_etcd_kill(struct test_etcd *etcd)
{
    test_process_kill(etcd->pid);
    etcd->pid = 0;
}

bool test_etcd_restart(struct test_etcd *etcd)
{
    return launch(etcd);
}

void test_etcd_freeze(struct test_etcd *etcd)
{
    int status = 0;
    kill(etcd->pid, SIGSTOP);
    waitpid(etcd->pid, &status, WUNTRACED); /* until all its threads stand still */
}

void test_etcd_thaw(struct test_etcd *etcd)
{
    kill(etcd->pid, SIGCONT);
}
