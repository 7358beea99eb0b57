/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of files. */
#include "common/base/cleanup.h"
#include "common/conf/conf.h"
#include "common/conf/open.h"

#include <errno.h>
#include <unistd.h>

static int read_stream(FILE *stream, const char *path, size_t max, struct tf_buf *buf, struct tf_error *err)
{
    char block[16 * 1024];
    size_t n;
    while ((n = fread(block, 1, sizeof block, stream)) > 0) {
        if (n > max - buf->len)
            return tf_error_set(err, TF_ERR_TOO_LARGE,
                                "%.300s: more than %zu KiB, which is the most that is read", path,
                                max / 1024);
        tf_buf_add(buf, block, n);
    }
    return ferror(stream) ? tf_error_errno(err, TF_ERR_IO, errno, "%.300s: cannot be read", path) : 0;
}

int tf_conf_read_file(const char *path, size_t max, struct tf_buf *buf, struct tf_error *err)
{
    tf_buf_clear(buf);
    if (strcmp(path, "-") == 0)
        return read_stream(stdin, "standard input", max, buf, err);
    int fd = tf_conf_open(path, TF_CONF_PATIENCE);
    if (fd < 0 && errno == ETIMEDOUT)
        return tf_error_set(err, TF_ERR_IO, "%.300s: this is a pipe, and nobody writes to it", path);
    if (fd < 0)
        return tf_error_errno(err, errno == ENOENT ? TF_ERR_NOT_FOUND : TF_ERR_IO, errno,
                              "%.300s: cannot be opened", path);
    FILE *stream = fdopen(fd, "r");
    if (!stream) {
        int why = errno;
        close(fd);
        return tf_error_errno(err, TF_ERR_IO, why, "%.300s: cannot be opened", path);
    }
    int failed = read_stream(stream, path, max, buf, err);
    fclose(stream);
    return failed;
}

int tf_conf_load(const char *path, const struct tf_table *table, void *object, struct tf_error *err)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    memset(object, 0, table->size);
    if (tf_conf_read_file(path, TF_CONF_BYTES_MAX, &text, err))
        return -1;
    struct tf_conf_problems problems = {0};
    int failed = tf_conf_read_text(tf_buf_text(&text), text.len, NULL, table, object, &problems);
    if (failed)
        tf_conf_problems_error(&problems, strcmp(path, "-") == 0 ? "standard input" : path, err);
    tf_conf_problems_release(&problems);
    return failed;
}

void tf_conf_right(const char *path, const struct tf_table *table, const void *object, struct tf_buf *buf)
{
    struct tf_strs unused = {0};
    tf_buf_fmt(buf, "%s: the configuration is right\n", path);
    tf_table_unused(table, object, &unused);
    tf_vec_each (key, &unused)
        tf_buf_fmt(buf, "%s: note: %s decides nothing yet\n", path, *key);
    tf_strs_release(&unused);
}
