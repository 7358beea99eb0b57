/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the two files of the log of decisions. What is decided, and in which words, is the cores'. */
#include "common/log/decisions.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/log/log.h"

#include <errno.h>

enum { BYTES_MAX = 16 * 1024 * 1024 };

struct tf_decisions {
    char *path;
    FILE *file;
    int sys_errno; /* why it is not open */
    long bytes;
    bool failed; /* told already */
};

static void open_file(struct tf_decisions *decisions)
{
    decisions->file = fopen(decisions->path, "ae");
    if (!decisions->file) {
        decisions->sys_errno = errno;
        tf_log_warn("the log of decisions cannot be opened path=%s error=%s", decisions->path,
                    strerror(decisions->sys_errno));
        return;
    }
    setvbuf(decisions->file, NULL, _IOLBF, BUFSIZ);
    long end = fseek(decisions->file, 0, SEEK_END) == 0 ? ftell(decisions->file) : 0;
    decisions->bytes = end > 0 ? end : 0;
}

static void close_file(struct tf_decisions *decisions)
{
    if (decisions->file)
        fclose(decisions->file);
    decisions->file = NULL;
}

struct tf_decisions *tf_decisions_open(const char *path)
{
    struct tf_decisions *decisions = tf_calloc(1, sizeof *decisions);
    decisions->path = tf_strdup(path);
    open_file(decisions);
    return decisions;
}

int tf_decisions_check(const struct tf_decisions *decisions, struct tf_error *err)
{
    if (decisions->file)
        return 0;
    return tf_error_errno(err, TF_ERR_IO, decisions->sys_errno, "%s: the log of decisions cannot be opened",
                          decisions->path);
}

void tf_decisions_reopen(struct tf_decisions *decisions)
{
    if (!decisions)
        return;
    close_file(decisions);
    open_file(decisions);
}

void tf_decisions_close(struct tf_decisions *decisions)
{
    if (!decisions)
        return;
    close_file(decisions);
    free(decisions->path);
    free(decisions);
}

static void rotate(struct tf_decisions *decisions)
{
    TF_AUTO_FREE char *older = tf_asprintf("%s.1", decisions->path);
    close_file(decisions);
    if (rename(decisions->path, older))
        tf_log_warn("the log of decisions cannot be rotated path=%s error=%s", decisions->path,
                    strerror(errno));
    open_file(decisions);
    decisions->bytes = 0; /* also when the file could not be moved: not again with each line */
}

void tf_decisions_line(struct tf_decisions *decisions, const char *line)
{
    tf_log_debug("%s", line);
    if (!decisions || !decisions->file)
        return;
    int n = fprintf(decisions->file, "%s\n", line);
    if (n < 0 && !decisions->failed)
        tf_log_warn("the log of decisions cannot be written path=%s error=%s", decisions->path,
                    strerror(errno));
    decisions->failed = n < 0;
    decisions->bytes += n > 0 ? n : 0;
    if (decisions->bytes >= BYTES_MAX)
        rotate(decisions);
}
