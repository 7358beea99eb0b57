/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/cleanup.h"
#include "federation/core/fed.h"

/* ---- for those who treat both cores alike ---- */

static void any_image_state(struct tf_image *image, void **core)
{
    struct fed *fed = *core;
    fed_image_state(image, &fed);
    *core = fed;
}

static void any_image_event(struct tf_image *image, void *event)
{
    fed_image_event(image, event);
}

static void any_image_action(struct tf_image *image, void *action)
{
    fed_image_action(image, action);
}

static void any_destroy(void *core)
{
    fed_destroy(core);
}

static void any_event_release(void *event)
{
    fed_event_release(event);
}

static void any_actions_release(void *actions)
{
    fed_actions_release(actions);
}

static void any_step(void *core, struct tf_now now, void *event, void *actions)
{
    fed_step(core, now, event, actions);
}

static struct tf_situations any_reached(const void *core)
{
    return TF_SITUATIONS_OF(fed, fed_reached(core));
}

static int event_kind(const void *event)
{
    return (int)((const struct fed_event *)event)->kind;
}

static int action_kind(const void *action)
{
    return (int)((const struct fed_action *)action)->kind;
}

static const char *event_name(int kind)
{
    static const char *const names[] = {
        [FED_EV_BOOT] = "boot",           [FED_EV_RECORD] = "record",       [FED_EV_LOADED] = "loaded",
        [FED_EV_COMMITTED] = "committed", [FED_EV_ARCHIVED] = "archived",   [FED_EV_SETTINGS] = "settings",
        [FED_EV_QUOTA] = "quota",         [FED_EV_SUBMIT] = "submit",       [FED_EV_DELETE] = "delete",
        [FED_EV_SCALE] = "scale",         [FED_EV_HOLD] = "hold",           [FED_EV_RESUME] = "resume",
        [FED_EV_CORDON] = "cordon",       [FED_EV_FORGET] = "forget",       [FED_EV_BARRIER] = "barrier",
        [FED_EV_LINK_UP] = "link up",     [FED_EV_LINK_DOWN] = "link down", [FED_EV_UP] = "up",
        [FED_EV_TIMER] = "timer",         [FED_EV_CONTINUE] = "continue",   [FED_EV_FREEZE] = "freeze",
        [FED_EV_CLAIM] = "claim",         [FED_EV_MIGRATE] = "migrate",
    };
    return kind > 0 && (size_t)kind < TF_ARRAY_LEN(names) ? names[kind] : "?";
}

static const char *action_name(int kind)
{
    static const char *const names[] = {
        [FED_ACT_PERSIST] = "persist",   [FED_ACT_REPLY] = "reply",     [FED_ACT_SEND] = "send",
        [FED_ACT_CLOSE] = "close",       [FED_ACT_ARCHIVE] = "archive", [FED_ACT_WAKE] = "wake",
        [FED_ACT_CONTINUE] = "continue", [FED_ACT_TRACE] = "trace",     [FED_ACT_ALARM] = "alarm",
    };
    return kind > 0 && (size_t)kind < TF_ARRAY_LEN(names) ? names[kind] : "?";
}

static const char *action_text(const void *action)
{
    const struct fed_action *a = action;
    bool has = a->kind == FED_ACT_TRACE || a->kind == FED_ACT_ALARM || a->kind == FED_ACT_CLOSE;
    return has ? a->text : NULL;
}

const struct tf_core_ops fed_core = {
    .name = "federation",
    .event_size = sizeof(struct fed_event),
    .actions_size = sizeof(struct fed_actions),
    .action_size = sizeof(struct fed_action),
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
