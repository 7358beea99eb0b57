/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds the core and carries out its actions, in order. Decides nothing. */
#include "subcluster/daemon/private.h"

#include "common/base/cleanup.h"

static void on_wake(struct tf_timer *timer)
{
    struct subd *subd = TF_CONTAINER_OF(timer, struct subd, wake);
    subd_feed(subd, &(struct sub_event){.kind = SUB_EV_TIMER});
}

static void on_again(struct tf_inbox_item *item)
{
    struct subd *subd = TF_CONTAINER_OF(item, struct subd, again);
    subd->again_posted = false;
    if (subd->sub)
        subd_feed(subd, &(struct sub_event){.kind = SUB_EV_CONTINUE});
}

static void ask_again(struct subd *subd)
{
    if (subd->again_posted)
        return;
    subd->again_posted = true;
    subd->again.run = on_again;
    tf_loop_post(subd->loop, &subd->again);
}

static void perform(struct subd *subd, struct sub_action *action)
{
    switch (action->kind) {
    case SUB_ACT_NONE:
        break;
    case SUB_ACT_PERSIST:
        tf_tally_sent(&subd->tally, action->persist.count);
        tf_keep_commit(subd->keep, action->persist.items, action->persist.count);
        break;
    case SUB_ACT_SEND:
        subd_uplink_send(subd, &action->send);
        break;
    case SUB_ACT_CLOSE:
        subd_uplink_close(subd, action->text);
        break;
    case SUB_ACT_START:
    case SUB_ACT_STOP:
    case SUB_ACT_FORGET:
    case SUB_ACT_PEERS:
    case SUB_ACT_FENCE:
        subd_metrics_call(subd, action->kind);
        subd_running_perform(subd, action);
        break;
    case SUB_ACT_WAKE:
        tf_timer_start(subd->loop, &subd->wake, action->wake, on_wake);
        break;
    case SUB_ACT_CONTINUE:
        ask_again(subd);
        break;
    case SUB_ACT_TRACE:
        subd->tally.decisions++;
        tf_decisions_line(subd->decisions, action->text);
        break;
    case SUB_ACT_ALARM:
        subd->tally.alarms++;
        tf_log_error("%s", action->text);
        break;
    }
}

static void step(struct subd *subd, struct sub_event *event)
{
    struct sub_actions actions = {0};
    int64_t began = tf_tally_clock();
    struct tf_now now = tf_loop_now(subd->loop);
    tf_recorder_event(subd->recorder, now, event);
    sub_step(subd->sub, now, event, &actions);
    tf_recorder_actions(subd->recorder, subd->sub, &actions);
    for (size_t i = 0; i < actions.count; i++)
        perform(subd, &actions.items[i]);
    sub_actions_release(&actions);
    tf_tally_step(&subd->tally, began);
}

void subd_feed(struct subd *subd, struct sub_event *event)
{
    tf_vec_push(&subd->events, *event);
    *event = (struct sub_event){0};
    if (subd->stepping)
        return;
    subd->stepping = true;
    while (subd->next_event < subd->events.count) {
        struct sub_event next = subd->events.items[subd->next_event++];
        step(subd, &next);
    }
    subd->events.count = subd->next_event = 0;
    subd->stepping = false;
}

void subd_shell_reset(struct subd *subd)
{
    tf_tally_dropped(&subd->tally);
    tf_timer_cancel(subd->loop, &subd->wake);
    for (size_t i = subd->next_event; i < subd->events.count; i++)
        sub_event_release(&subd->events.items[i]);
    subd->events.count = subd->next_event = 0;
}
