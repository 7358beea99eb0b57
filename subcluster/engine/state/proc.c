/* SPDX-License-Identifier: Apache-2.0 */
/* Reading /proc and the clocks. */
#include "subcluster/engine/state/proc.h"

#include "common/base/text.h"
#include "subcluster/engine/state/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Reads a small file of /proc whole; -1 if it cannot be read. */
static ssize_t slurp(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, text, size - 1);
    close(fd);
    if (n >= 0)
        text[n] = '\0';
    return n;
}

const char *tf_boot_id(void)
{
    static _Thread_local char id[TF_BOOT_ID];
    if (!id[0]) {
        char text[64];
        ssize_t n = slurp("/proc/sys/kernel/random/boot_id", text, sizeof text);
        if (n >= TF_BOOT_ID - 1)
            snprintf(id, sizeof id, "%.36s", text);
        else
            snprintf(id, sizeof id, "unknown");
    }
    return id;
}

static int64_t clock_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t tf_boottime_ms(void)
{
    return clock_ms(CLOCK_BOOTTIME);
}

struct tf_wall tf_wall_read(void)
{
    return (struct tf_wall){clock_ms(CLOCK_REALTIME)};
}

/* /proc/PID/stat: "pid (any name) state ppid ..."; the start time is field 22, the 20th after the name. */
bool tf_process_ticks(pid_t pid, uint64_t *ticks)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (slurp(path, text, sizeof text) <= 0)
        return false;
    const char *p = strrchr(text, ')');
    if (!p || p[1] != ' ' || p[2] == 'Z' || p[2] == 'X' || p[2] == 'x')
        return false;
    for (int field = 2; field < 22; field++) {
        p = strchr(p + 1, ' ');
        if (!p)
            return false;
    }
    *ticks = strtoull(p + 1, NULL, 10);
    return true;
}

int tf_process_signal(pid_t pid, uint64_t ticks, int signal)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return -1;
    /* The descriptor is bound to whoever has the number now; only then is it known who that is. */
    uint64_t now;
    int rc = -1;
    if (tf_process_ticks(pid, &now) && now == ticks)
        rc = (int)syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
    close(fd);
    return rc;
}

/* A line of /proc/PID/status: "SigCgt:\t0000000000010000", a bit a signal from 1 on. */
static uint64_t signals_of(const char *status, const char *line)
{
    const char *at = strstr(status, line);
    return at ? strtoull(at + strlen(line), NULL, 16) : 0;
}

bool tf_process_minds(pid_t pid, int signal)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    if (slurp(path, text, sizeof text) <= 0)
        return false;
    uint64_t blocked = signals_of(text, "\nSigBlk:");
    if (__builtin_popcountll(blocked) > 32)
        blocked = 0; /* shells and libraries block all for a moment when they fork: nobody waits for it */
    return (signals_of(text, "\nSigCgt:") | signals_of(text, "\nSigIgn:") | blocked) >> (signal - 1) & 1;
}

void tf_process_each(bool (*each)(void *context, pid_t pid), void *context)
{
    DIR *dir = opendir("/proc");
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        int64_t pid;
        if (tf_parse_int64(entry->d_name, 1, INT32_MAX, &pid, NULL) == 0 && !each(context, (pid_t)pid))
            break;
    }
    closedir(dir);
}
