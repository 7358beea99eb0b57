/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_OUT_H
#define TF_FEDCTL_OUT_H

#include "common/base/buf.h"
#include "common/base/error.h"
#include "tools/fedctl/columns.h"

/* Standard output. A reader that has gone (`fedctl get jobs | head`) is no error: what follows is dropped, so
 * that work that was asked for is still done. */
struct out {
    bool terminal, color;
    size_t height; /* lines of the terminal, 0 = none */
    bool closed;   /* nobody reads any more */
    int failed;    /* errno of another failure, 0 = none */
    struct columns_style style;
};

void out_init(struct out *out, bool no_color);
void out_write(struct out *out, const void *bytes, size_t len);
void out_buf(struct out *out, struct tf_buf *buf); /* writes and clears it */
void out_fmt(struct out *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Messages on stderr: "fedctl: ..." and a newline. */
void message(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
