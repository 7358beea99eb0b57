/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/level.h"

#include "common/base/text.h"

void tf_classes_release(struct tf_classes *classes)
{
    tf_vec_each (c, classes)
        free(c->name);
    tf_vec_release(classes);
}

static bool class_before(const struct tf_class *a, const struct tf_class *b)
{
    return a->priority != b->priority ? a->priority < b->priority : strcmp(a->name, b->name) < 0;
}

void tf_classes_add(struct tf_classes *classes, const char *name, int32_t priority)
{
    struct tf_class added = {tf_strdup(name), priority};
    tf_vec_push(classes, added);
    size_t at = classes->count - 1;
    for (; at > 0 && class_before(&added, &classes->items[at - 1]); at--)
        classes->items[at] = classes->items[at - 1];
    classes->items[at] = added;
}

void tf_classes_copy(struct tf_classes *to, const struct tf_classes *from)
{
    struct tf_classes copy = {0};
    tf_vec_each (c, from)
        tf_classes_add(&copy, c->name, c->priority);
    tf_classes_release(to);
    *to = copy;
}

int tf_classes_rank(const struct tf_classes *classes, const char *name)
{
    for (size_t i = 0; i < classes->count; i++)
        if (tf_str_eq(classes->items[i].name, name))
            return (int)i;
    return -1;
}

void tf_classes_names(const struct tf_classes *classes, struct tf_buf *out)
{
    for (size_t i = 0; i < classes->count; i++)
        tf_buf_fmt(out, "%s%s", i > 0 ? ", " : "", classes->items[i].name);
}

const char *tf_level_name(tf_level level, const struct tf_classes *classes, char text[TF_LEVEL_TEXT])
{
    if (level == TF_LEVEL_FREE)
        return "free";
    if (level == TF_LEVEL_GOING)
        return "going";
    size_t rank = (size_t)(level - 2) / 3;
    int part = (level - 2) % 3;
    if (part == 1)
        return "protected";
    const char *name = rank < classes->count ? classes->items[rank].name : "?";
    snprintf(text, TF_LEVEL_TEXT, "%s(%s)", part == 0 ? "surplus" : "core", name);
    return text;
}
