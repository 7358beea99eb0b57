/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the two streams to the user. stdio is not used for data: a write that fails must be seen at once. */
#include "tools/fedctl/out.h"

#include "common/base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct winsize terminal_size(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size : (struct winsize){0};
}

void out_init(struct out *out, bool no_color)
{
    const char *asked = getenv("NO_COLOR"), *kind = getenv("TERM");
    *out = (struct out){.terminal = isatty(STDOUT_FILENO) == 1};
    out->color = out->terminal && !no_color && !(asked && *asked) && !tf_str_eq(kind, "dumb");
    struct winsize size = out->terminal ? terminal_size() : (struct winsize){0};
    out->style = (struct columns_style){.color = out->color, .terminal = size.ws_col};
    out->height = size.ws_row;
}

void out_write(struct out *out, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0 && !out->closed && !out->failed) {
        ssize_t n = write(STDOUT_FILENO, at, len);
        if (n >= 0) {
            at += n;
            len -= (size_t)n;
        } else if (errno == EPIPE)
            out->closed = true;
        else if (errno != EINTR)
            out->failed = errno;
    }
}

void out_buf(struct out *out, struct tf_buf *buf)
{
    out_write(out, tf_buf_text(buf), buf->len);
    tf_buf_clear(buf);
}

void out_fmt(struct out *out, const char *fmt, ...)
{
    char text[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    out_write(out, text, strlen(text));
}

void message(const char *fmt, ...)
{
    char text[4096];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tf_utf8_clean(text);
    fprintf(stderr, "fedctl: %s\n", text);
}
