/* SPDX-License-Identifier: Apache-2.0 */
/* What the command prints, kept in two files a stream, each at most `limit` bytes: out is the newer, out.1
 * the older. The command is never held up by a disk that is full: what cannot be written is dropped. */
#include "subcluster/engine/shim/shim.h"

#include "common/base/alloc.h"
#include "common/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CHUNK = 32768,
    TAIL = 2048, /* bytes for the exit record */
};

static void open_file(struct shim_output *out, struct shim_stream *stream)
{
    stream->file =
        openat(out->folder, stream->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    stream->size = 0;
}

static void rotate(struct shim_output *out, struct shim_stream *stream)
{
    char older[16];
    snprintf(older, sizeof older, "%s.1", stream->name);
    if (stream->file >= 0)
        close(stream->file);
    if (renameat(out->folder, stream->name, out->folder, older) != 0 && errno != ENOENT)
        fprintf(stderr, "cannot rotate %s: %s\n", stream->name, strerror(errno));
    open_file(out, stream);
}

static void keep(struct shim_output *out, struct shim_stream *stream, const char *bytes, size_t len)
{
    while (len > 0) {
        if (stream->size >= out->limit || stream->file < 0)
            rotate(out, stream);
        size_t room = (size_t)(out->limit - stream->size);
        ssize_t n = stream->file < 0 ? -1 : write(stream->file, bytes, len < room ? len : room);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* dropped */
        stream->size += n;
        bytes += n;
        len -= (size_t)n;
    }
}

static void keep_tail(struct tf_buf *tail, const char *bytes, size_t len)
{
    tf_buf_add(tail, bytes, len);
    if (tail->len <= 4 * (size_t)TAIL)
        return;
    memmove(tail->data, tail->data + (tail->len - TAIL), TAIL);
    tail->len = TAIL;
    tail->data[TAIL] = '\0';
}

int shim_output_init(struct shim_output *out, int folder, int64_t limit, int write_ends[2],
                     struct tf_error *err)
{
    static const char *const names[2] = {"out", "err"};
    *out = (struct shim_output){.folder = folder, .limit = limit};
    for (int i = 0; i < 2; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            return tf_error_errno(err, TF_ERR_IO, errno, "cannot make a pipe");
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        write_ends[i] = ends[1];
        out->streams[i] = (struct shim_stream){.name = names[i], .pipe = ends[0]};
        open_file(out, &out->streams[i]);
    }
    return 0;
}

bool shim_output_move(struct shim_output *out, struct shim_stream *stream)
{
    char chunk[CHUNK];
    ssize_t n = stream->pipe < 0 ? 0 : read(stream->pipe, chunk, sizeof chunk);
    if (n > 0) {
        keep(out, stream, chunk, (size_t)n);
        keep_tail(&out->tail, chunk, (size_t)n);
        return true;
    }
    if (n == 0 && stream->pipe >= 0) {
        close(stream->pipe);
        stream->pipe = -1;
    }
    return false;
}

/* NUL bytes would end the text in the record. */
char *shim_output_tail(const struct shim_output *out)
{
    const struct tf_buf *tail = &out->tail;
    size_t from = tail->len > TAIL ? tail->len - TAIL : 0;
    char *text = tf_malloc(tail->len - from + 1);
    for (size_t i = from; i < tail->len; i++)
        text[i - from] = tail->data[i] ? tail->data[i] : ' ';
    text[tail->len - from] = '\0';
    return text;
}
