/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/buf.h"

#include "common/base/alloc.h"
#include "common/base/text.h"

#include <assert.h>
#include <stdbool.h>

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

void tf_buf_uint(struct tf_buf *buf, uint64_t n)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + n % 10);
    while (n /= 10);
    tf_buf_add(buf, digits + at, sizeof digits - at);
}

/* ---- formats ---- */

/* What nearly all conversions are: %s, %c, and %d or %u, which may be long, with a width and leading zeros.
 * Lines of the decision trace and keys are made of these, thousands a second: printf needs five times as long
 * for them. */
struct plain {
    char kind;
    bool is_long, zeros;
    size_t width;
};

enum { NUMBER_MAX = 64 };

/* The end of the conversion at `at`; NULL if it is another. */
static const char *read_plain(const char *at, struct plain *p)
{
    *p = (struct plain){.zeros = *at == '0'};
    for (; *at >= '0' && *at <= '9'; at++)
        p->width = 10 * p->width + (size_t)(*at - '0');
    for (; *at == 'l' || *at == 'z'; at++)
        p->is_long = true;
    p->kind = *at;
    if (p->kind == 's' || p->kind == 'c')
        return p->width || p->is_long ? NULL : at + 1;
    bool one_size = sizeof(long) == sizeof(long long) && sizeof(size_t) == sizeof(long long);
    bool known = (p->kind == 'd' || p->kind == 'u') && p->width < NUMBER_MAX;
    return known && (one_size || !p->is_long) ? at + 1 : NULL;
}

static void put_number(struct tf_buf *buf, const struct plain *p, bool negative, uint64_t n)
{
    char text[NUMBER_MAX];
    size_t at = sizeof text;
    do
        text[--at] = (char)('0' + n % 10);
    while (n /= 10);
    while (p->zeros && sizeof text - at + negative < p->width)
        text[--at] = '0';
    if (negative)
        text[--at] = '-';
    while (sizeof text - at < p->width)
        text[--at] = ' ';
    tf_buf_add(buf, text + at, sizeof text - at);
}

/* False: the format has another conversion, and what was appended is to be taken back. */
static bool fmt_plain(struct tf_buf *buf, const char *fmt, va_list args)
{
    for (;;) {
        size_t text = strcspn(fmt, "%");
        struct plain p;
        tf_buf_add(buf, fmt, text);
        if (!fmt[text])
            return true;
        fmt = read_plain(fmt + text + 1, &p);
        if (!fmt)
            return false;
        if (p.kind == 's') {
            const char *s = va_arg(args, const char *);
            tf_buf_str(buf, s ? s : "(null)");
        } else if (p.kind == 'c') {
            tf_buf_char(buf, (char)va_arg(args, int));
        } else if (p.kind == 'u') {
            put_number(buf, &p, false, p.is_long ? va_arg(args, uint64_t) : va_arg(args, unsigned));
        } else {
            int64_t n = p.is_long ? va_arg(args, int64_t) : va_arg(args, int);
            put_number(buf, &p, n < 0, n < 0 ? -(uint64_t)n : (uint64_t)n);
        }
    }
}

static void fmt_any(struct tf_buf *buf, const char *fmt, va_list args)
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

void tf_buf_vfmt(struct tf_buf *buf, const char *fmt, va_list args)
{
    size_t before = buf->len;
    va_list again;
    va_copy(again, args);
    if (!fmt_plain(buf, fmt, args)) {
        buf->len = before;
        fmt_any(buf, fmt, again);
    }
    va_end(again);
}

void tf_buf_fmt(struct tf_buf *buf, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tf_buf_vfmt(buf, fmt, args);
    va_end(args);
}

/* ---- other text ---- */

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
