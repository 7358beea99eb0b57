/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/alloc.h"

#include <stdarg.h>
#include <stdbool.h>

#undef malloc
#undef calloc
#undef realloc

static _Noreturn void out_of_memory(size_t count, size_t size)
{
    fprintf(stderr, "fatal: out of memory (%zu x %zu bytes)\n", count, size);
    abort();
}

void *tf_malloc(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (!p)
        out_of_memory(1, size);
    return p;
}

void *tf_calloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p)
        out_of_memory(count, size);
    return p;
}

void *tf_reallocarray(void *p, size_t count, size_t size)
{
    size_t bytes;
    bool fits = !__builtin_mul_overflow(count ? count : 1, size ? size : 1, &bytes);
    if (!fits)
        out_of_memory(count, size);
    void *q = p ? realloc(p, bytes) : malloc(bytes); /* most arrays are new: that is the shorter way */
    if (!q)
        out_of_memory(count, size);
    return q;
}

char *tf_strndup(const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char *copy = tf_malloc(len + 1);
    memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

char *tf_strdup(const char *s)
{
    size_t size = s ? strlen(s) + 1 : 0;
    return s ? memcpy(tf_malloc(size), s, size) : NULL;
}

void *tf_memdup(const void *p, size_t size)
{
    if (!p || !size)
        return NULL;
    return memcpy(tf_malloc(size), p, size);
}

char *tf_asprintf(const char *fmt, ...)
{
    char *s = NULL;
    va_list args;
    va_start(args, fmt);
    int n = vasprintf(&s, fmt, args);
    va_end(args);
    if (n < 0)
        out_of_memory(1, 0);
    return s;
}

void tf_str_set(char **s, const char *value)
{
    free(*s);
    *s = tf_strdup(value);
}
