/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_DAEMON_ARCHIVE_H
#define TF_FEDERATION_DAEMON_ARCHIVE_H

#include "federation/daemon/archive_files.h"
#include "federation/daemon/private.h"

#include <pthread.h>

/* Shared by archive.c, which writes, and archive_read.c. */
struct archive {
    const char *folder; /* of the configuration */
    int lock_fd;
    struct archive_writer writer; /* the thread's */
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t more;
    struct entry *first, *last;
    struct archive_limits limits;
    bool closing;

    size_t out; /* loop only: entries that have not come back */
};

struct archive_limits archive_limits_of(struct archive *archive); /* from any thread */

#endif
