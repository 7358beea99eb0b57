/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_CLEANUP_H
#define TF_BASE_CLEANUP_H

#include <stdlib.h>

/* TF_DEFINE_AUTO(tag, fn), written once beside the declaration of fn, allows `TF_AUTO(tag) x = ...;`: fn(x)
 * runs when x leaves its scope. fn accepts NULL. TF_AUTO_FREE does the same with free(). */
#define TF_DEFINE_AUTO(tag, fn)                      \
    static inline void tf_auto_##tag(struct tag **p) \
    {                                                \
        fn(*p);                                      \
    }                                                \
    struct tag /* takes the semicolon */

#define TF_AUTO(tag) __attribute__((cleanup(tf_auto_##tag))) struct tag *

static inline void tf_auto_free_(void *p)
{
    free(*(void **)p);
}
#define TF_AUTO_FREE __attribute__((cleanup(tf_auto_free_)))

/* Hands ownership out of a variable: `return TF_STEAL(job);`. */
#define TF_STEAL(var)                   \
    (__extension__({                    \
        __typeof__(var) taken_ = (var); \
        (var) = NULL;                   \
        taken_;                         \
    }))

#define TF_CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
#define TF_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
