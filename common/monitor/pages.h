/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MONITOR_PAGES_H
#define TF_MONITOR_PAGES_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <stdbool.h>

/* A few read-only pages over HTTP, answered by a thread of its own from copies that the loop leaves with it:
 * so it answers when the loop is busy, and nothing that it does can hold the loop up. Connections, their
 * memory and their time are bounded; other paths and methods are refused. */
struct tf_pages;

enum {
    TF_PAGES_STALE_MS =
        15000, /* a page that was not set for so long is answered 503: the loop stands still */
    TF_PAGES_CONNECTIONS_MAX = 64,
    TF_PAGES_MAX = 8,
};

/* address: HOST:PORT of this machine; port 0 = any free one. */
struct tf_pages *tf_pages_open(const char *address, struct tf_error *err);
void tf_pages_close(struct tf_pages *pages); /* NULL is fine */
int tf_pages_port(const struct tf_pages *pages);

/* What GET path gets from now on: an HTTP status and the body (taken). path and type are constants of the
 * program. Any thread. */
void tf_pages_set(struct tf_pages *pages, const char *path, unsigned status, const char *type,
                  struct tf_buf *body);

#endif
