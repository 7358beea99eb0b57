/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/cleanup.h"
#include "subcluster/core/sub.h"

/* ---- for those who treat both cores alike ---- */

static void any_image_state(struct tf_image *image, void **core)
{
    struct sub *sub = *core;
    sub_image_state(image, &sub);
    *core = sub;
}

static void any_image_event(struct tf_image *image, void *event)
{
    sub_image_event(image, event);
}

static void any_image_action(struct tf_image *image, void *action)
{
    sub_image_action(image, action);
}

static void any_destroy(void *core)
{
    sub_destroy(core);
}

static void any_event_release(void *event)
{
    sub_event_release(event);
}

static void any_actions_release(void *actions)
{
    sub_actions_release(actions);
}

static void any_step(void *core, struct tf_now now, void *event, void *actions)
{
    sub_step(core, now, event, actions);
}

static struct tf_situations any_reached(const void *core)
{
    return TF_SITUATIONS_OF(sub, sub_reached(core));
}

static int event_kind(const void *event)
{
    return (int)((const struct sub_event *)event)->kind;
}

static int action_kind(const void *action)
{
    return (int)((const struct sub_action *)action)->kind;
}

static const char *event_name(int kind)
{
    static const char *const names[] = {
        [SUB_EV_BOOT] = "boot",           [SUB_EV_RECORD] = "record",
        [SUB_EV_LOADED] = "loaded",       [SUB_EV_COMMITTED] = "committed",
        [SUB_EV_NODE] = "node",           [SUB_EV_INSTANCE] = "instance",
        [SUB_EV_LISTED] = "listed",       [SUB_EV_LINK_UP] = "link up",
        [SUB_EV_LINK_DOWN] = "link down", [SUB_EV_DOWN] = "down",
        [SUB_EV_TIMER] = "timer",         [SUB_EV_CONTINUE] = "continue",
        [SUB_EV_SETTINGS] = "settings",   [SUB_EV_CHECKPOINT] = "checkpoint",
    };
    return kind > 0 && (size_t)kind < TF_ARRAY_LEN(names) ? names[kind] : "?";
}

static const char *action_name(int kind)
{
    static const char *const names[] = {
        [SUB_ACT_PERSIST] = "persist",   [SUB_ACT_SEND] = "send",   [SUB_ACT_CLOSE] = "close",
        [SUB_ACT_START] = "start",       [SUB_ACT_STOP] = "stop",   [SUB_ACT_FORGET] = "forget",
        [SUB_ACT_PEERS] = "peers",       [SUB_ACT_FENCE] = "fence", [SUB_ACT_WAKE] = "wake",
        [SUB_ACT_CONTINUE] = "continue", [SUB_ACT_TRACE] = "trace", [SUB_ACT_ALARM] = "alarm",
    };
    return kind > 0 && (size_t)kind < TF_ARRAY_LEN(names) ? names[kind] : "?";
}

static const char *action_text(const void *action)
{
    const struct sub_action *a = action;
    bool has = a->kind == SUB_ACT_TRACE || a->kind == SUB_ACT_ALARM || a->kind == SUB_ACT_CLOSE;
    return has ? a->text : NULL;
}

const struct tf_core_ops sub_core = {
    .name = "subcluster",
    .event_size = sizeof(struct sub_event),
    .actions_size = sizeof(struct sub_actions),
    .action_size = sizeof(struct sub_action),
    .image_state = any_image_state,
    .image_event = any_image_event,
    .image_action = any_image_action,
    .destroy = any_destroy,
    .event_release = any_event_release,
    .actions_release = any_actions_release,
    .step = any_step,
    .reached = any_reached,
    .event_kind = event_kind,
    .action_kind = action_kind,
    .event_name = event_name,
    .action_name = action_name,
    .action_text = action_text,
};
