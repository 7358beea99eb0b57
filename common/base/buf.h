/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_BUF_H
#define TF_BASE_BUF_H

#include "common/base/clock.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* A growing byte string. data is always NUL-terminated after the first append and may be NULL before it; len
 * does not count the NUL, and the bytes may hold NULs of their own. Zero-initialise, or TF_BUF_INIT. */
struct tf_buf {
    char *data;
    size_t len, cap;
};

#define TF_BUF_INIT \
    {               \
        NULL, 0, 0  \
    }

void tf_buf_release(struct tf_buf *buf); /* frees and zeroes; NULL is fine */
void tf_buf_clear(struct tf_buf *buf);   /* len = 0, keeps the memory */
void tf_buf_reserve(struct tf_buf *buf, size_t more);
void tf_buf_add(struct tf_buf *buf, const void *bytes, size_t len);
void tf_buf_str(struct tf_buf *buf, const char *s);
void tf_buf_char(struct tf_buf *buf, char c);
/* Appends strings, one or more: tf_buf_cat(&line, "job ", tenant, "/", name). */
#define tf_buf_cat(buf, ...) tf_buf_cat_(buf, __VA_ARGS__, (const char *)NULL)
void tf_buf_cat_(struct tf_buf *buf, const char *first, ...) __attribute__((sentinel));
void tf_buf_uint(struct tf_buf *buf, uint64_t n); /* in decimal */
void tf_buf_int(struct tf_buf *buf, int64_t n);
/* Appends whole numbers, one or more, with commas between them. */
#define tf_buf_ints(buf, ...)                         \
    tf_buf_ints_(buf, (const int64_t[]){__VA_ARGS__}, \
                 sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
void tf_buf_ints_(struct tf_buf *buf, const int64_t *numbers, size_t count);
/* "[   120.500] ": how a line of a decision trace begins. */
void tf_buf_stamp(struct tf_buf *buf, struct tf_mono at);
void tf_buf_fmt(struct tf_buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tf_buf_vfmt(struct tf_buf *buf, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));
/* Appends s; bytes that are not UTF-8 become U+FFFD. */
void tf_buf_utf8(struct tf_buf *buf, const char *s);
/* Appends s as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void tf_buf_json(struct tf_buf *buf, const char *s);
/* The text so far ("" if none), borrowed until the next change. */
const char *tf_buf_text(const struct tf_buf *buf);
/* Hands the bytes to the caller (free()), never NULL, and leaves buf empty. */
char *tf_buf_take(struct tf_buf *buf);

#define TF_AUTO_BUF __attribute__((cleanup(tf_buf_release))) struct tf_buf

#endif
