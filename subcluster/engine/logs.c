/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the output files of an instance across their rotation (shim/output.c): NAME is written, and becomes
 * NAME.1 when it is full. */
#include "subcluster/engine/logs.h"

#include "common/base/alloc.h"
#include "subcluster/engine/state/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct tf_instance_log {
    int folder;
    char newer[8], older[8]; /* names */
    int file;                /* -1 = none open yet */
    ino_t inode;
    bool skip_line; /* the beginning of a line that was cut off */
};

static ino_t inode_of(const struct tf_instance_log *log, const char *name)
{
    struct stat st;
    return fstatat(log->folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_ino : 0;
}

static int64_t size_of(const struct tf_instance_log *log, const char *name)
{
    struct stat st;
    return fstatat(log->folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_size : 0;
}

static bool open_file(struct tf_instance_log *log, const char *name)
{
    struct stat st;
    int fd = openat(log->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) != 0) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    if (log->file >= 0)
        close(log->file);
    log->file = fd;
    log->inode = st.st_ino;
    return true;
}

/* Stands at the byte that is `tail` before the end of both files together. */
static void seek_tail(struct tf_instance_log *log, int64_t tail)
{
    int64_t newer = size_of(log, log->newer), older = size_of(log, log->older);
    if (tail < 0 || tail >= newer + older) {
        if (!open_file(log, log->older))
            open_file(log, log->newer);
        return;
    }
    bool in_newer = tail <= newer;
    if (!open_file(log, in_newer ? log->newer : log->older))
        return;
    int64_t at = in_newer ? newer - tail : older + newer - tail;
    char before = '\n';
    if (at > 0 && pread(log->file, &before, 1, at - 1) == 1)
        log->skip_line = before != '\n';
    lseek(log->file, at, SEEK_SET);
}

struct tf_instance_log *tf_instance_log_open(const char *state_dir, const struct tf_instance_id *id,
                                             enum tf_output_stream stream, int64_t tail, struct tf_error *err)
{
    int root = tf_root_open(state_dir, err);
    if (root < 0)
        return NULL;
    int folder = tf_instance_open(root, id, false, err);
    close(root);
    if (folder < 0)
        return NULL;
    struct tf_instance_log *log = tf_calloc(1, sizeof *log);
    log->folder = folder;
    log->file = -1;
    snprintf(log->newer, sizeof log->newer, "%s", stream == TF_STREAM_OUT ? "out" : "err");
    snprintf(log->older, sizeof log->older, "%s.1", log->newer);
    seek_tail(log, tail);
    return log;
}

void tf_instance_log_close(struct tf_instance_log *log)
{
    if (!log)
        return;
    if (log->file >= 0)
        close(log->file);
    close(log->folder);
    free(log);
}

/* At the end of our file: goes on to the next one if there is. *gap: there was one in between that is gone.
 */
static bool next_file(struct tf_instance_log *log, bool *gap)
{
    ino_t newer = inode_of(log, log->newer), older = inode_of(log, log->older);
    if (log->file < 0 || newer == log->inode || newer == 0)
        return log->file < 0 && open_file(log, older ? log->older : log->newer);
    if (older == log->inode || older == 0)
        return open_file(log, log->newer);
    *gap = true;
    return open_file(log, log->older);
}

static ssize_t read_some(struct tf_instance_log *log, char *bytes, size_t size)
{
    ssize_t n;
    do
        n = log->file < 0 ? 0 : read(log->file, bytes, size);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Drops what is left of the line that was cut; how many bytes remain. */
static ssize_t skip_line(struct tf_instance_log *log, char *bytes, ssize_t n)
{
    if (!log->skip_line || n <= 0)
        return n;
    char *end = memchr(bytes, '\n', (size_t)n);
    if (!end)
        return 0;
    log->skip_line = false;
    ssize_t rest = n - (end + 1 - bytes);
    memmove(bytes, end + 1, (size_t)rest);
    return rest;
}

ssize_t tf_instance_log_read(struct tf_instance_log *log, char *bytes, size_t size, bool *gap,
                             struct tf_error *err)
{
    *gap = false;
    for (;;) {
        bool rotated = log->file >= 0 && inode_of(log, log->newer) != log->inode;
        ssize_t n = read_some(log, bytes, size);
        if (n < 0)
            return tf_error_errno(err, TF_ERR_IO, errno, "cannot read the output file %s", log->newer);
        ssize_t kept = skip_line(log, bytes, n);
        if (kept > 0)
            return kept;
        if (n > 0)
            continue;
        /* Only an end that was seen after the file had been put aside is its last. */
        if (log->file >= 0 && !rotated)
            return 0;
        if (!next_file(log, gap))
            return 0;
    }
}

bool tf_instance_log_ended(const struct tf_instance_log *log)
{
    return tf_file_exists(log->folder, "exit");
}
