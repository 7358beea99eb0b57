/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_CORE_H
#define TF_MODEL_CORE_H

#include "common/base/clock.h"
#include "common/base/image.h"
#include "common/base/situation.h"

/* What either core is, for those who treat both alike: step(state, event) -> actions, and images of all
 * three. Recording, replay and simulation are written once, against this (fed_core in federation/core/fed.h,
 * sub_core in subcluster/core/sub.h). The pointers are of the types of the core in question. */
struct tf_core_ops {
    const char *name; /* "federation", "subcluster": in files */
    size_t event_size, actions_size, action_size;
    void (*image_state)(struct tf_image *image, void **core); /* makes *core when reading */
    void (*image_event)(struct tf_image *image, void *event);
    void (*image_action)(struct tf_image *image, void *action);
    void (*destroy)(void *core); /* NULL is fine */
    void (*event_release)(void *event);
    void (*actions_release)(void *actions);
    void (*step)(void *core, struct tf_now now, void *event, void *actions);
    struct tf_situations (*reached)(const void *core);
    /* For people: "submit", "persist". */
    int (*event_kind)(const void *event);
    int (*action_kind)(const void *action);
    const char *(*event_name)(int kind);
    const char *(*action_name)(int kind);
    const char *(*action_text)(const void *action); /* of a trace, an alarm or a close; else NULL. Borrowed */
};

/* Any struct of actions: {struct x *items; size_t count, cap;}. */
size_t tf_core_action_count(const void *actions);
void *tf_core_action_at(const struct tf_core_ops *ops, void *actions, size_t i);

/* Whole images of states. out is appended to; with checks each byte must be told. */
int tf_core_write(const struct tf_core_ops *ops, void *core, bool checks, struct tf_buf *out,
                  struct tf_error *err);
void *tf_core_read(const struct tf_core_ops *ops, const void *bytes, size_t len, struct tf_error *err);

#endif
