/* SPDX-License-Identifier: Apache-2.0 */
/* Who belongs to an instance, without its shim to ask; and the little of cgroup v2 that is needed. */
#include "subcluster/engine/state/sweep.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/engine/state/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENVIRONMENT_MAX = 8 * 1024 * 1024 };

struct search {
    const struct tf_sweep *sweep;
    struct stat lock;
    bool has_lock;
    char words[4][64]; /* the environment entries that name the instance */
    size_t found;
};

static bool holds_lock(const struct search *s, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = s->has_lock ? opendir(path) : NULL;
    if (!dir)
        return false;
    bool holds = false;
    for (struct dirent *entry; !holds && (entry = readdir(dir));) {
        struct stat st;
        holds = entry->d_name[0] != '.' && fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 &&
                st.st_ino == s->lock.st_ino && st.st_dev == s->lock.st_dev;
    }
    closedir(dir);
    return holds;
}

static void read_environment(pid_t pid, struct tf_buf *out)
{
    char path[64], chunk[8192];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    for (ssize_t n; out->len < ENVIRONMENT_MAX && (n = read(fd, chunk, sizeof chunk)) > 0;)
        tf_buf_add(out, chunk, (size_t)n);
    close(fd);
}

static bool is_named(const struct search *s, pid_t pid)
{
    TF_AUTO_BUF all = TF_BUF_INIT;
    read_environment(pid, &all);
    bool seen[4] = {false};
    for (size_t at = 0; at < all.len; at += strlen(all.data + at) + 1)
        for (size_t i = 0; i < 4; i++)
            seen[i] |= strcmp(all.data + at, s->words[i]) == 0;
    return seen[0] && seen[1] && seen[2] && seen[3];
}

static bool kill_if_ours(void *context, pid_t pid)
{
    struct search *s = context;
    uint64_t ticks;
    if (pid == getpid() || pid == 1 || !tf_process_ticks(pid, &ticks))
        return true;
    /* The ticks were read first: if the number passes to another process meanwhile, the signal is not sent.
     */
    if (!holds_lock(s, pid) && !is_named(s, pid))
        return true;
    s->found++;
    tf_process_signal(pid, ticks, SIGKILL);
    return true;
}

size_t tf_sweep_kill(const struct tf_sweep *sweep)
{
    struct search s = {.sweep = sweep};
    char uid[TF_UID_TEXT];
    tf_uid_format(sweep->id.uid, uid);
    snprintf(s.words[0], sizeof s.words[0], "TIDEFED_UID=%s", uid);
    snprintf(s.words[1], sizeof s.words[1], "TIDEFED_EPOCH=%" PRIu64, sweep->id.epoch);
    snprintf(s.words[2], sizeof s.words[2], "TIDEFED_INDEX=%" PRIu32, sweep->id.index);
    snprintf(s.words[3], sizeof s.words[3], "TIDEFED_ATTEMPT=%" PRIu32, sweep->id.attempt);
    s.has_lock = fstatat(sweep->folder, "lock", &s.lock, AT_SYMLINK_NOFOLLOW) == 0;
    if (sweep->cgroup && !tf_cgroup_empty(sweep->cgroup)) {
        s.found++;
        tf_cgroup_kill(sweep->cgroup);
    }
    tf_process_each(kill_if_ours, &s);
    return s.found;
}

/* ---- cgroup v2 ---- */

static char *read_line_with(const char *path, bool (*take)(char *line, char *out, size_t size), char *out,
                            size_t size)
{
    FILE *f = fopen(path, "re");
    char *line = NULL, *found = NULL;
    size_t cap = 0;
    while (f && !found && getline(&line, &cap, f) > 0)
        if (take(line, out, size))
            found = out;
    free(line);
    if (f)
        fclose(f);
    return found;
}

/* /proc/self/mountinfo: "... root mountpoint options ... - cgroup2 source options" */
static bool take_mount(char *line, char *out, size_t size)
{
    char *type = strstr(line, " - cgroup2 ");
    char *state = NULL, *field = type ? strtok_r(line, " ", &state) : NULL;
    for (int i = 0; field && i < 4; i++)
        field = strtok_r(NULL, " ", &state);
    return field && (size_t)snprintf(out, size, "%s", field) < size;
}

/* /proc/self/cgroup: "0::/path" */
static bool take_own(char *line, char *out, size_t size)
{
    if (!tf_starts_with(line, "0::/"))
        return false;
    line[strcspn(line, "\n")] = '\0';
    return (size_t)snprintf(out, size, "%s", line + 3) < size;
}

bool tf_cgroup_path(const struct tf_instance_id *id, int folder, char *path, size_t size)
{
    char mount[512], own[512], uid[TF_UID_TEXT];
    struct stat st;
    if (!read_line_with("/proc/self/mountinfo", take_mount, mount, sizeof mount) ||
        !read_line_with("/proc/self/cgroup", take_own, own, sizeof own) || fstat(folder, &st) != 0)
        return false;
    tf_uid_format(id->uid, uid);
    /* The folder's inode tells apart two state folders that know the same job. */
    int n = snprintf(path, size, "%s%s%stidefed-%s-%" PRIu64 "-%" PRIu32 ".%" PRIu32 "-%" PRIu64, mount, own,
                     own[1] ? "/" : "", uid, id->epoch, id->index, id->attempt, (uint64_t)st.st_ino);
    return n > 0 && (size_t)n < size;
}

static int open_in(const char *path, const char *file, int flags)
{
    char full[1200];
    if ((size_t)snprintf(full, sizeof full, "%s/%s", path, file) >= sizeof full)
        return -1;
    return open(full, flags | O_CLOEXEC);
}

bool tf_cgroup_make(const char *path)
{
    if (mkdir(path, 0755) != 0 && errno != EEXIST)
        return false;
    int fd = open_in(path, "cgroup.kill", O_WRONLY); /* since Linux 5.14 */
    if (fd < 0) {
        rmdir(path);
        return false;
    }
    close(fd);
    return true;
}

void tf_cgroup_kill(const char *path)
{
    int fd = open_in(path, "cgroup.kill", O_WRONLY);
    if (fd < 0)
        return;
    if (write(fd, "1", 1) != 1)
        fprintf(stderr, "tidefed: cannot kill the cgroup %s: %s\n", path, strerror(errno));
    close(fd);
}

bool tf_cgroup_empty(const char *path)
{
    char text[256];
    int fd = open_in(path, "cgroup.events", O_RDONLY);
    if (fd < 0)
        return true;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return true;
    text[n] = '\0';
    return strstr(text, "populated 1") == NULL;
}

void tf_cgroup_remove(const char *path)
{
    rmdir(path);
}
