/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/process.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void move_fd(int from, int to)
{
    if (dup2(from, to) < 0)
        _exit(126);
}

static void run_child(const char *const *argv, const char *log, int in, int out)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    int sink = open(log ? log : "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0644);
    int null = open("/dev/null", O_RDONLY);
    move_fd(in >= 0 ? in : null, 0);
    move_fd(out >= 0 ? out : sink, 1);
    move_fd(sink, 2);
    for (int fd = 3; fd < 256; fd++)
        close(fd);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

static int make_pipe(int ends[2], bool wanted)
{
    ends[0] = ends[1] = -1;
    return wanted ? pipe2(ends, O_CLOEXEC) : 0;
}

pid_t test_process_start(const char *const *argv, const char *log, int *in, int *out)
{
    int to[2], from[2];
    if (make_pipe(to, in != NULL) != 0 || make_pipe(from, out != NULL) != 0) {
        perror("pipe");
        return -1;
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        run_child(argv, log, to[0], from[1]);
    if (pid < 0)
        perror("fork");
    if (in) {
        close(to[0]);
        *in = to[1];
    }
    if (out) {
        close(from[1]);
        *out = from[0];
    }
    return pid;
}

int test_process_wait(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

void test_process_kill(pid_t pid)
{
    if (pid <= 0)
        return;
    kill(pid, SIGKILL);
    test_process_wait(pid);
}

int64_t test_process_cpu_us(pid_t pid)
{
    struct timespec used;
    clockid_t clock;
    if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return 0;
    return (int64_t)used.tv_sec * 1000000 + used.tv_nsec / 1000;
}

int64_t test_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool test_wait_for(bool (*ready)(void *ctx), void *ctx, int64_t timeout_ms)
{
    int64_t deadline = test_now_ms() + timeout_ms;
    while (!ready(ctx)) {
        if (test_now_ms() > deadline)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    }
    return true;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    return remove(path);
}

void test_remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
