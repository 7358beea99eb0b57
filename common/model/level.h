/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_LEVEL_H
#define TF_MODEL_LEVEL_H

#include "common/base/buf.h"
#include "common/base/list.h"

#include <stdint.h>

enum { TF_CLASSES_MAX = 16 };

/* A priority class: its rank among the configured ones (0 = least important) is what decisions compare. */
struct tf_class {
    char *name;
    int32_t priority; /* higher is more important */
};

/* The classes in force, sorted by priority ascending: index = rank. */
struct tf_classes {
    struct tf_class *items;
    size_t count, cap;
};

void tf_classes_release(struct tf_classes *classes);
/* Keeps the order by priority; equal priorities are ordered by name. The name is copied. */
void tf_classes_add(struct tf_classes *classes, const char *name, int32_t priority);
void tf_classes_copy(struct tf_classes *to, const struct tf_classes *from);
int tf_classes_rank(const struct tf_classes *classes,
                    const char *name); /* -1 if there is none of that name */
void tf_classes_names(const struct tf_classes *classes, struct tf_buf *out); /* "offline, train, online" */

/* Who may take what from whom (DESIGN.md §5), lowest first:
 * free < going < surplus(0) < protected(0) < core(0) < surplus(1) ...
 * A protected core of a class below the ceiling is held at protected(rank of the ceiling), just under its
 * core. */
typedef uint8_t tf_level;
enum { TF_LEVEL_FREE = 0, TF_LEVEL_GOING = 1, TF_LEVEL_TOP = 2 + 3 * TF_CLASSES_MAX };

static inline tf_level tf_level_surplus(int rank)
{
    return (tf_level)(2 + 3 * rank);
}
static inline tf_level tf_level_protected(int ceiling_rank)
{
    return (tf_level)(3 + 3 * ceiling_rank);
}
static inline tf_level tf_level_core(int rank)
{
    return (tf_level)(4 + 3 * rank);
}

/* "free", "going", "surplus(offline)", "core(online)", "protected". text holds TF_LEVEL_TEXT bytes. */
enum { TF_LEVEL_TEXT = 80 };
const char *tf_level_name(tf_level level, const struct tf_classes *classes, char text[TF_LEVEL_TEXT]);

#endif
