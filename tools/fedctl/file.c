/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedctl/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int write_all(int fd, const struct tf_buf *text)
{
    size_t done = 0;
    while (done < text->len) {
        ssize_t n = write(fd, text->data + done, text->len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        done += (size_t)n;
    }
    return 0;
}

int file_write(const char *path, const char *what, const struct tf_buf *text, struct tf_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return tf_error_errno(err, TF_ERR_IO, errno, "%s cannot be written to %s", what, path);
    int failed = write_all(fd, text) ? errno : 0;
    if (close(fd) && !failed)
        failed = errno;
    return failed ? tf_error_errno(err, TF_ERR_IO, failed, "%s cannot be written to %s", what, path) : 0;
}
