/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_BYTES_H
#define TF_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A borrowed run of bytes that may hold NULs; how long it is borrowed is said where it is used. {NULL, 0} and
 * {p, 0} are both the empty run. */
struct tf_bytes {
    const void *data;
    size_t len;
};

/* The letters of s without its NUL. */
static inline struct tf_bytes tf_bytes_of(const char *s)
{
    return (struct tf_bytes){s, strlen(s)};
}

/* Total order: as memcmp, a prefix before what it begins. */
static inline int tf_bytes_cmp(struct tf_bytes a, struct tf_bytes b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common ? memcmp(a.data, b.data, common) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static inline bool tf_bytes_eq(struct tf_bytes a, struct tf_bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool tf_bytes_start_with(struct tf_bytes s, struct tf_bytes prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.data, prefix.data, prefix.len) == 0);
}

#endif
