/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_VEC_H
#define TF_BASE_VEC_H

#include "common/base/alloc.h"

#include <stddef.h>

/* A growing array as a struct member or local: `TF_VEC(struct row) rows;`, zero-initialised. Elements are
 * plain values; what they own is released by the owner of the array before tf_vec_release. */
#define TF_VEC(type)       \
    struct {               \
        type *items;       \
        size_t count, cap; \
    }

#define tf_vec_reserve(vec, n)                                                              \
    do {                                                                                    \
        if ((vec)->cap < (n)) {                                                             \
            (vec)->cap = (n) > 2 * (vec)->cap ? (n) : 2 * (vec)->cap;                       \
            (vec)->items = tf_reallocarray((vec)->items, (vec)->cap, sizeof *(vec)->items); \
        }                                                                                   \
    } while (0)

/* Appends a copy of the value. */
#define tf_vec_push(vec, ...)                                             \
    do {                                                                  \
        tf_vec_reserve(vec, (vec)->count + 1 > 4 ? (vec)->count + 1 : 4); \
        (vec)->items[(vec)->count++] = (__VA_ARGS__);                     \
    } while (0)

/* Appends a zeroed element and gives its address, valid until the next append. */
#define tf_vec_add(vec)                                                     \
    (__extension__({                                                        \
        tf_vec_reserve(vec, (vec)->count + 1 > 4 ? (vec)->count + 1 : 4);   \
        (void)memset(&(vec)->items[(vec)->count], 0, sizeof *(vec)->items); \
        &(vec)->items[(vec)->count++];                                      \
    }))

/* Removes element i, keeping the order of the others. */
#define tf_vec_remove(vec, i)                                     \
    do {                                                          \
        size_t at_ = (i);                                         \
        memmove(&(vec)->items[at_], &(vec)->items[at_ + 1],       \
                ((vec)->count - at_ - 1) * sizeof *(vec)->items); \
        (vec)->count--;                                           \
    } while (0)

/* tf_vec_each(p, &vec) { use *p; } */
#define tf_vec_each(p, vec) \
    for (__typeof__((vec)->items + 0) p = (vec)->items; p && p < (vec)->items + (vec)->count; p++)

#define tf_vec_release(vec)            \
    do {                               \
        free((vec)->items);            \
        (vec)->items = NULL;           \
        (vec)->count = (vec)->cap = 0; \
    } while (0)

#endif
