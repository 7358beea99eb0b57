/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/orphans.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void test_adopt_orphans(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static char state_of(long pid, char *name, size_t size)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return 'X';
    text[n] = '\0';
    char *end = strrchr(text, ')');
    snprintf(name, size, "%s", text);
    return end && end[1] ? end[2] : 'X';
}

/* Children that are not zombies; kills them unless `look`. */
static size_t each_child(size_t note, bool look)
{
    char path[64], name[128];
    size_t alive = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "re");
    for (long pid; f && fscanf(f, "%ld", &pid) == 1;) {
        char state = state_of(pid, name, sizeof name);
        if (state == 'Z' || state == 'X')
            continue;
        if (alive++ < note)
            printf("\n    still alive: %.100s", name);
        if (!look)
            kill((pid_t)pid, SIGKILL);
    }
    if (f)
        fclose(f);
    return alive;
}

static bool none_lives(void *context)
{
    (void)context;
    return each_child(0, true) == 0;
}

bool test_children_end(int seconds)
{
    return test_until(none_lives, NULL, seconds);
}

size_t test_end_children(size_t note)
{
    size_t alive = 0;
    for (;;) {
        alive += each_child(note, false);
        pid_t pid;
        do
            pid = waitpid(-1, NULL, WNOHANG | __WALL);
        while (pid > 0);
        if (pid < 0 && errno == ECHILD)
            return alive;
        poll(NULL, 0, 1);
    }
}

pid_t test_program_start(const char *const argv[])
{
    pid_t pid = -1;
    char *const *args = (char *const *)(uintptr_t)argv;
    return posix_spawn(&pid, argv[0], NULL, NULL, args, environ) == 0 ? pid : -1;
}

int test_program_wait(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

int test_program_run(const char *const argv[])
{
    pid_t pid = test_program_start(argv);
    return pid < 0 ? -1 : test_program_wait(pid);
}

bool test_until(bool (*holds)(void *context), void *context, int seconds)
{
    for (int i = 0; i < seconds * 1000; i++) {
        if (holds(context))
            return true;
        poll(NULL, 0, 1);
    }
    return holds(context);
}

bool test_make_folder(char *path)
{
    const char *parent = getenv("TMPDIR");
    if (!parent || strlen(parent) > 40)
        parent = "/tmp";
    snprintf(path, 64, "%s/tidefed-test-XXXXXX", parent);
    return mkdtemp(path) != NULL;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

void test_remove_folder(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
