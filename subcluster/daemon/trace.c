/* SPDX-License-Identifier: Apache-2.0 */
/* The log of decisions: two files of bounded size, the older one with ".1". It is for people: what cannot be
 * written is dropped, with a word in the daemon's log, and stops nothing. */
#include "subcluster/daemon/private.h"

#include "common/base/cleanup.h"

#include <errno.h>

enum { BYTES_MAX = 16 * 1024 * 1024 };

struct trace_log {
    char *path;
    FILE *file;
    long bytes;
    bool failed; /* told already */
};

static bool open_file(struct trace_log *trace)
{
    trace->file = fopen(trace->path, "ae");
    if (!trace->file) {
        tf_log_warn("the log of decisions cannot be opened path=%s error=%s", trace->path, strerror(errno));
        return false;
    }
    setvbuf(trace->file, NULL, _IOLBF, BUFSIZ);
    long end = fseek(trace->file, 0, SEEK_END) == 0 ? ftell(trace->file) : 0;
    trace->bytes = end > 0 ? end : 0;
    return true;
}

static void close_file(struct trace_log *trace)
{
    if (trace->file)
        fclose(trace->file);
    trace->file = NULL;
}

struct trace_log *subd_trace_open(const char *path)
{
    struct trace_log *trace = tf_calloc(1, sizeof *trace);
    trace->path = tf_strdup(path);
    open_file(trace);
    return trace;
}

void subd_trace_reopen(struct trace_log *trace)
{
    if (!trace)
        return;
    close_file(trace);
    open_file(trace);
}

void subd_trace_close(struct trace_log *trace)
{
    if (!trace)
        return;
    close_file(trace);
    free(trace->path);
    free(trace);
}

static void rotate(struct trace_log *trace)
{
    TF_AUTO_FREE char *older = tf_asprintf("%s.1", trace->path);
    close_file(trace);
    if (rename(trace->path, older))
        tf_log_warn("the log of decisions cannot be rotated path=%s error=%s", trace->path, strerror(errno));
    open_file(trace);
}

void subd_trace_line(struct trace_log *trace, const char *line)
{
    tf_log_debug("%s", line);
    if (!trace || !trace->file)
        return;
    int n = fprintf(trace->file, "%s\n", line);
    if (n < 0 && !trace->failed)
        tf_log_warn("the log of decisions cannot be written path=%s error=%s", trace->path, strerror(errno));
    trace->failed = n < 0;
    trace->bytes += n > 0 ? n : 0;
    if (trace->bytes >= BYTES_MAX)
        rotate(trace);
}
