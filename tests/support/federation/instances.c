/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/federation/instances.h"

#include "common/base/alloc.h"
#include "tests/support/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KILL_TIMEOUT_MS = 10 * 1000, PROC_FILE_MAX = 256 * 1024 };

/* The file of a process, its NULs as spaces; owned by the caller. Empty if it is gone or not ours. */
static char *proc_file(int pid, const char *name)
{
    char path[64];
    char *text = tf_malloc(PROC_FILE_MAX);
    size_t len = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : 1;
    while (n > 0 && len < PROC_FILE_MAX - 1) {
        n = read(fd, text + len, PROC_FILE_MAX - 1 - len);
        len += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
    for (size_t i = 0; i < len; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    text[len] = '\0';
    return text;
}

static bool file_names(int pid, const char *name, const char *folder)
{
    char *text = proc_file(pid, name);
    bool found = strstr(text, folder) != NULL;
    free(text);
    return found;
}

static size_t each_instance(const char *folder, void (*each)(int pid))
{
    DIR *proc = opendir("/proc");
    size_t count = 0;
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        int pid = isdigit((unsigned char)entry->d_name[0]) ? (int)strtol(entry->d_name, NULL, 10) : 0;
        if (pid <= 0 || pid == (int)getpid())
            continue;
        if (!file_names(pid, "cmdline", folder) && !file_names(pid, "environ", folder))
            continue;
        count++;
        if (each)
            each(pid);
    }
    if (proc)
        closedir(proc);
    return count;
}

size_t test_instances_count(const char *folder)
{
    return each_instance(folder, NULL);
}

static void print_one(int pid)
{
    char *command = proc_file(pid, "cmdline");
    fprintf(stderr, "    pid %d: %.200s\n", pid, command);
    free(command);
}

void test_instances_print(const char *folder)
{
    each_instance(folder, print_one);
}

static void kill_one(int pid)
{
    kill(pid, SIGKILL);
}

static bool kill_round(void *ctx)
{
    return each_instance(ctx, kill_one) == 0;
}

bool test_instances_kill(const char *folder)
{
    char *own = tf_strdup(folder);
    bool done = test_wait_for(kill_round, own, KILL_TIMEOUT_MS);
    free(own);
    return done;
}

/* ---- the guardian ---- */

struct test_guardian {
    pid_t pid;
    int watched; /* its other end closes with this process */
};

static void watch(const char *folder, int watched)
{
    char word;
    setsid(); /* what interrupts the test does not end it */
    signal(SIGPIPE, SIG_IGN);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd); /* who waits for the end of the test's output does not wait for us */
    for (int fd = 3; fd < 256; fd++)
        if (fd != watched)
            close(fd);
    ssize_t n;
    while ((n = read(watched, &word, 1)) < 0 && errno == EINTR) {
    }
    if (n == 0)
        test_instances_kill(folder);
    _exit(0);
}

struct test_guardian *test_guardian_start(const char *folder)
{
    int ends[2];
    struct test_guardian *guardian = tf_calloc(1, sizeof *guardian);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        perror("pipe");
        abort();
    }
    fflush(NULL);
    guardian->pid = fork();
    if (guardian->pid == 0) {
        close(ends[1]);
        watch(folder, ends[0]);
    }
    close(ends[0]);
    guardian->watched = ends[1];
    return guardian;
}

void test_guardian_end(struct test_guardian *guardian)
{
    if (!guardian)
        return;
    if (write(guardian->watched, "e", 1) != 1)
        perror("guardian");
    close(guardian->watched);
    test_process_wait(guardian->pid);
    free(guardian);
}
