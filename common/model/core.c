/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/core.h"

#include <assert.h>

struct any_actions {
    void *items;
    size_t count, cap;
};

static struct any_actions any(const void *actions)
{
    struct any_actions list; /* copied, since the pointer's type differs */
    memcpy(&list, actions, sizeof list);
    return list;
}

size_t tf_core_action_count(const void *actions)
{
    return any(actions).count;
}

void *tf_core_action_at(const struct tf_core_ops *ops, void *actions, size_t i)
{
    struct any_actions list = any(actions);
    assert(ops->actions_size == sizeof list && i < list.count);
    return (char *)list.items + i * ops->action_size;
}

int tf_core_write(const struct tf_core_ops *ops, void *core, bool checks, struct tf_buf *out,
                  struct tf_error *err)
{
    struct tf_image image;
    tf_image_write(&image, out, checks);
    ops->image_state(&image, &core);
    return tf_image_finish(&image, err);
}

void *tf_core_read(const struct tf_core_ops *ops, const void *bytes, size_t len, struct tf_error *err)
{
    struct tf_image image;
    void *core = NULL;
    tf_image_read(&image, bytes, len);
    ops->image_state(&image, &core);
    if (tf_image_finish(&image, err) == 0)
        return core;
    ops->destroy(core);
    return NULL;
}
