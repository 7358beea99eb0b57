/* SPDX-License-Identifier: Apache-2.0 */
#include "common/conf/open.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0 when something can be read, or the writers are gone. */
static int wait_for_writer(int fd, int patience)
{
    struct pollfd pipe = {.fd = fd, .events = POLLIN};
    int ready = poll(&pipe, 1, patience);
    if (ready == 0)
        errno = ETIMEDOUT;
    return ready > 0 ? 0 : -1;
}

int tf_conf_open(const char *path, int patience)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* else the open itself waits for a writer */
    if (fd < 0)
        return -1;
    bool good = fstat(fd, &st) == 0 && (!S_ISFIFO(st.st_mode) || wait_for_writer(fd, patience) == 0) &&
                fcntl(fd, F_SETFL, 0) == 0;
    if (good)
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}
