/* SPDX-License-Identifier: Apache-2.0 */
/* Formats one log line: walks the printf format piece by piece, so that every value can be quoted as the
 * output needs it. Pure; time, levels and writing are in log.c. */
#include "common/log/line.h"

#include "common/base/text.h"

#include <inttypes.h>
#include <stdint.h>

enum {
    TAIL = 8,         /* room kept for the ellipsis, a closing quote, a brace and the newline */
    VALUE_MAX = 2048, /* bytes of one message or value */
};

struct value {
    size_t len;
    bool quoted; /* JSON: not a bare number */
    char text[VALUE_MAX];
};

/* ---- output ---- */

static bool add(struct tf_log_line *line, const char *bytes, size_t len)
{
    if (line->len + len + TAIL > sizeof line->text)
        return false;
    memcpy(line->text + line->len, bytes, len);
    line->len += len;
    return true;
}

static bool add_str(struct tf_log_line *line, const char *s)
{
    return add(line, s, strlen(s));
}

/* Goes into the room that add keeps free. */
static void add_tail(struct tf_log_line *line, const char *s)
{
    size_t len = strlen(s);
    memcpy(line->text + line->len, s, len);
    line->len += len;
}

/* Length of the well-formed sequence at s, 0 if there is none. */
static size_t sequence(const char *s, size_t left)
{
    for (size_t len = 1; len <= 4 && len <= left; len++)
        if (tf_utf8_valid(s, len))
            return len;
    return 0;
}

static bool add_escaped(struct tf_log_line *line, const char *s, size_t left)
{
    while (left > 0) {
        char code[8];
        unsigned char c = (unsigned char)*s;
        size_t len = sequence(s, left);
        bool ok = true;
        if (c == '"' || c == '\\')
            ok = add(line, (const char[]){'\\', (char)c}, 2);
        else if (c == '\n' || c == '\t' || c == '\r')
            ok = add(line, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r", 2);
        else if (c < 0x20 || c == 0x7f)
            ok = add(line, code, (size_t)snprintf(code, sizeof code, "\\u%04x", c));
        else
            ok = len ? add(line, s, len) : add_str(line, "\xef\xbf\xbd");
        if (!ok)
            return false;
        len = len ? len : 1;
        s += len;
        left -= len;
    }
    return true;
}

static void add_quoted(struct tf_log_line *line, const struct value *value)
{
    if (!add_str(line, "\""))
        return;
    bool whole = add_escaped(line, value->text, value->len) && value->len < sizeof value->text;
    add_tail(line, whole ? "\"" : "\xe2\x80\xa6\"");
}

static bool plain(const struct value *value)
{
    for (size_t i = 0; i < value->len; i++) {
        unsigned char c = (unsigned char)value->text[i];
        if (c <= ' ' || c == '"' || c == '\\' || c == '=' || c == 0x7f)
            return false;
    }
    return value->len > 0 && value->len < sizeof value->text && tf_utf8_valid(value->text, value->len);
}

static void add_message(struct tf_log_line *line, struct value *value)
{
    while (value->len > 0 && value->text[value->len - 1] == ' ')
        value->len--;
    if (line->format == TF_LOG_JSON) {
        add_str(line, ",\"message\":");
        add_quoted(line, value);
    } else if (!add_escaped(line, value->text, value->len) || value->len == sizeof value->text) {
        add_str(line, "\xe2\x80\xa6");
    }
}

static void add_field(struct tf_log_line *line, const char *key, size_t key_len, struct value *value)
{
    bool json = line->format == TF_LOG_JSON;
    size_t start = line->len;
    if (!add_str(line, json ? ",\"" : " ") || !add(line, key, key_len) ||
        !add_str(line, json ? "\":" : "=") || line->len + 2 * TAIL > sizeof line->text) {
        line->len = start; /* no room for even a part of it */
        return;
    }
    if (json ? value->quoted || value->len == 0 : !plain(value))
        add_quoted(line, value);
    else if (!add(line, value->text, value->len))
        line->len = start;
}

/* ---- input ---- */

static void value_add(struct value *value, const char *bytes, size_t len)
{
    size_t room = sizeof value->text - value->len;
    len = len < room ? len : room;
    memcpy(value->text + value->len, bytes, len);
    value->len += len;
}

struct conversion {
    char spec[32]; /* with its '%' and NUL, for snprintf; integers are widened to j */
    int precision; /* of a string; -1 = none */
    char modifier; /* 'H' = hh, 'L' = ll, else itself, 0 = none */
    char kind;
};

/* Reads the conversion at fmt (after its '%') and moves fmt behind it. The compiler has checked it already.
 */
static struct conversion conversion_read(const char **fmt, va_list *args)
{
    struct conversion c = {.precision = -1};
    char head[16] = "%";
    size_t used = 1;
    const char *p = *fmt;
    bool dot = false;
    for (; *p && strchr("-+ #0123456789.*", *p); p++) {
        int number = *p == '*' ? va_arg(*args, int) : 0;
        if (dot && *p == '*')
            c.precision = number;
        else if (dot && *p >= '0' && *p <= '9')
            c.precision = (c.precision > 0 ? 10 * c.precision : 0) + (*p - '0');
        if (*p == '.') {
            dot = true;
            c.precision = 0;
        }
        int n = *p == '*' ? snprintf(head + used, sizeof head - used, "%d", number)
                          : snprintf(head + used, sizeof head - used, "%c", *p);
        if (n > 0 && used + (size_t)n < sizeof head)
            used += (size_t)n;
    }
    head[used] = 0;
    for (; *p && strchr("hljzt", *p); p++)
        c.modifier = c.modifier == 'h' ? 'H' : c.modifier == 'l' ? 'L' : *p;
    c.kind = *p;
    *fmt = *p ? p + 1 : p;
    snprintf(c.spec, sizeof c.spec, "%s%s%c", head, strchr("diux", c.kind) ? "j" : "", c.kind);
    return c;
}

static intmax_t read_signed(char modifier, va_list *args)
{
    switch (modifier) {
    case 'l':
        return va_arg(*args, long);
    case 'L':
        return va_arg(*args, long long);
    case 'j':
        return va_arg(*args, intmax_t);
    case 'z':
    case 't':
        return va_arg(*args, ptrdiff_t);
    default:
        return va_arg(*args, int);
    }
}

static uintmax_t read_unsigned(char modifier, va_list *args)
{
    switch (modifier) {
    case 'l':
        return va_arg(*args, unsigned long);
    case 'L':
        return va_arg(*args, unsigned long long);
    case 'j':
        return va_arg(*args, uintmax_t);
    case 'z':
    case 't':
        return va_arg(*args, size_t);
    default:
        return va_arg(*args, unsigned);
    }
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the compiler has checked the caller's format */
static void convert(struct value *value, const struct conversion *c, va_list *args)
{
    char out[64];
    int n = -1;
    bool lone_number = value->len == 0;
    if (c->kind == 's') {
        const char *s = va_arg(*args, const char *);
        s = s ? s : "(null)";
        value_add(value, s, c->precision >= 0 ? strnlen(s, (size_t)c->precision) : strlen(s));
    } else if (c->kind == 'd' || c->kind == 'i') {
        n = snprintf(out, sizeof out, c->spec, read_signed(c->modifier, args));
    } else if (c->kind == 'u' || c->kind == 'x') {
        n = snprintf(out, sizeof out, c->spec, read_unsigned(c->modifier, args));
    } else if (c->kind == 'f' || c->kind == 'g') {
        n = snprintf(out, sizeof out, c->spec, va_arg(*args, double));
    } else if (c->kind == 'c') {
        n = snprintf(out, sizeof out, c->spec, va_arg(*args, int));
    } else if (c->kind == 'p') {
        n = snprintf(out, sizeof out, c->spec, va_arg(*args, void *));
    }
    if (n > 0)
        value_add(value, out, (size_t)n < sizeof out ? (size_t)n : sizeof out - 1);
    /* Only what JSON takes as a number stays bare: not 007, +1, nan or inf. */
    bool decimal = strchr("diufg", c->kind) && n > 0;
    const char *digits = out[0] == '-' ? out + 1 : out;
    value->quoted = !(lone_number && decimal && digits[0] >= '0' && digits[0] <= '9' &&
                      !(digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9'));
}
#pragma GCC diagnostic pop

/* Length of the key if `key=` begins at s, else 0. */
static size_t key_at(const char *s)
{
    size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
    return s[len] == '=' ? len : 0;
}

void tf_log_line_body(struct tf_log_line *line, enum tf_log_format format, enum tf_log_level level,
                      const char *fmt, va_list args)
{
    static const char *const text_levels[] = {"DEBUG ", "INFO  ", "WARN  ", "ERROR "};
    static const char *const json_levels[] = {"debug", "info", "warn", "error"};
    struct value value = {.quoted = true};
    const char *key = NULL;
    size_t key_len = 0;
    va_list rest;
    va_copy(rest, args);
    line->format = format;
    line->len = 0;
    if (format == TF_LOG_JSON)
        add_str(line, ",\"level\":\"");
    add_str(line, format == TF_LOG_JSON ? json_levels[level] : text_levels[level]);
    if (format == TF_LOG_JSON)
        add_str(line, "\"");
    for (bool word = true; *fmt;) {
        size_t next_key = word ? key_at(fmt) : 0;
        if (next_key) {
            key ? add_field(line, key, key_len, &value) : add_message(line, &value);
            key = fmt;
            key_len = next_key;
            value.len = 0;
            value.quoted = true;
            fmt += next_key + 1;
        }
        word = *fmt == ' ';
        if (*fmt == '%' && fmt[1] != '%' && fmt[1]) {
            fmt++;
            struct conversion c = conversion_read(&fmt, &rest);
            convert(&value, &c, &rest);
        } else if (*fmt) {
            if (!(key && word)) { /* blanks only separate fields */
                value_add(&value, fmt, 1);
                value.quoted = true;
            }
            fmt += *fmt == '%' && fmt[1] == '%' ? 2 : 1;
        }
    }
    va_end(rest);
    key ? add_field(line, key, key_len, &value) : add_message(line, &value);
    add_tail(line, format == TF_LOG_JSON ? "}\n" : "\n");
}
