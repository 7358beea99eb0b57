/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/buf.h"

#include "common/base/alloc.h"
#include "common/base/text.h"

#include <assert.h>

enum { FMT_GUESS = 40 }; /* bytes that most formats need at most: they are written once */

void tf_buf_release(struct tf_buf *buf)
{
    if (!buf)
        return;
    free(buf->data);
    *buf = (struct tf_buf)TF_BUF_INIT;
}

void tf_buf_clear(struct tf_buf *buf)
{
    buf->len = 0;
    if (buf->data)
        buf->data[0] = '\0';
}

void tf_buf_reserve(struct tf_buf *buf, size_t more)
{
    assert(more < SIZE_MAX / 4);
    size_t need = buf->len + more + 1;
    if (need <= buf->cap)
        return;
    size_t cap = buf->cap ? buf->cap : 64;
    while (cap < need)
        cap *= 2;
    buf->data = tf_reallocarray(buf->data, cap, 1);
    buf->cap = cap;
}

void tf_buf_add(struct tf_buf *buf, const void *bytes, size_t len)
{
    if (len >= buf->cap - buf->len)
        tf_buf_reserve(buf, len);
    if (len)
        memcpy(buf->data + buf->len, bytes, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void tf_buf_str(struct tf_buf *buf, const char *s)
{
    tf_buf_add(buf, s, strlen(s));
}

void tf_buf_char(struct tf_buf *buf, char c)
{
    tf_buf_add(buf, &c, 1);
}

void tf_buf_cat_(struct tf_buf *buf, const char *first, ...)
{
    va_list args;
    va_start(args, first);
    for (const char *s = first; s; s = va_arg(args, const char *))
        tf_buf_str(buf, s);
    va_end(args);
}

/* At least width characters wide. */
static void add_number(struct tf_buf *buf, uint64_t n, size_t width, char fill)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + n % 10);
    while (n /= 10);
    while (sizeof digits - at < width)
        digits[--at] = fill;
    tf_buf_add(buf, digits + at, sizeof digits - at);
}

void tf_buf_uint(struct tf_buf *buf, uint64_t n)
{
    add_number(buf, n, 1, '0');
}

void tf_buf_int(struct tf_buf *buf, int64_t n)
{
    if (n < 0)
        tf_buf_char(buf, '-');
    tf_buf_uint(buf, n < 0 ? -(uint64_t)n : (uint64_t)n);
}

void tf_buf_ints_(struct tf_buf *buf, const int64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            tf_buf_char(buf, ',');
        tf_buf_int(buf, numbers[i]);
    }
}

void tf_buf_stamp(struct tf_buf *buf, struct tf_mono at)
{
    assert(at.ms >= 0);
    tf_buf_char(buf, '[');
    add_number(buf, (uint64_t)at.ms / TF_SECOND, 6, ' ');
    tf_buf_char(buf, '.');
    add_number(buf, (uint64_t)at.ms % TF_SECOND, 3, '0');
    tf_buf_str(buf, "] ");
}

void tf_buf_vfmt(struct tf_buf *buf, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    tf_buf_reserve(buf, FMT_GUESS);
    size_t room = buf->cap - buf->len;
    int n = vsnprintf(buf->data + buf->len, room, fmt, args);
    assert(n >= 0);
    if ((size_t)n >= room) {
        tf_buf_reserve(buf, (size_t)n);
        vsnprintf(buf->data + buf->len, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    buf->len += (size_t)n;
}

void tf_buf_fmt(struct tf_buf *buf, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tf_buf_vfmt(buf, fmt, args);
    va_end(args);
}

/* Length of the well-formed sequence at s, or 0. */
static size_t valid_sequence(const char *s)
{
    size_t left = strnlen(s, 4);
    for (size_t n = 1; n <= left; n++)
        if (tf_utf8_valid(s, n))
            return n;
    return 0;
}

void tf_buf_utf8(struct tf_buf *buf, const char *s)
{
    while (*s) {
        size_t n = valid_sequence(s);
        if (n)
            tf_buf_add(buf, s, n);
        else
            tf_buf_str(buf, "\xef\xbf\xbd");
        s += n ? n : 1;
    }
}

/* Bytes at s that JSON takes as they are, and that are whole characters. */
static size_t plain_json(const char *s)
{
    size_t n = 0;
    while (s[n] >= 0x20 && s[n] < 0x7f && s[n] != '"' && s[n] != '\\')
        n++;
    return n;
}

void tf_buf_json(struct tf_buf *buf, const char *s)
{
    tf_buf_char(buf, '"');
    for (;;) {
        size_t plain = plain_json(s);
        tf_buf_add(buf, s, plain);
        s += plain;
        if (!*s)
            break;
        unsigned char c = (unsigned char)*s;
        size_t n = valid_sequence(s);
        if (c == '"' || c == '\\')
            tf_buf_fmt(buf, "\\%c", c);
        else if (c == '\n')
            tf_buf_str(buf, "\\n");
        else if (c < 0x20 || c == 0x7f)
            tf_buf_fmt(buf, "\\u%04x", c);
        else if (n)
            tf_buf_add(buf, s, n);
        else
            tf_buf_str(buf, "\xef\xbf\xbd");
        s += n ? n : 1;
    }
    tf_buf_char(buf, '"');
}

const char *tf_buf_text(const struct tf_buf *buf)
{
    return buf->data ? buf->data : "";
}

char *tf_buf_take(struct tf_buf *buf)
{
    char *data = buf->data ? buf->data : tf_strdup("");
    *buf = (struct tf_buf)TF_BUF_INIT;
    return data;
}
