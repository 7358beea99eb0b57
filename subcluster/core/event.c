/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of events and actions. */
#include "subcluster/core/event.h"

void sub_boot_release(struct sub_boot *boot)
{
    free(boot->name);
    free(boot->region);
    free(boot->version);
    free(boot->engine);
    tf_pairs_release(&boot->labels);
    tf_planes_release(&boot->planes);
    tf_policy_release(&boot->policy);
    *boot = (struct sub_boot){0};
}

static void instance_event_release(struct sub_instance_event *e)
{
    free(e->text);
    free(e->output);
    free(e->tenant);
    free(e->name);
    free(e->node);
    tf_strs_release(&e->ports);
}

void sub_event_release(struct sub_event *event)
{
    switch (event->kind) {
    case SUB_EV_BOOT:
        sub_boot_release(&event->boot);
        break;
    case SUB_EV_RECORD:
        tf_record_release(&event->record);
        break;
    case SUB_EV_NODE:
        tf_node_release(&event->node);
        break;
    case SUB_EV_INSTANCE:
        instance_event_release(&event->instance);
        break;
    case SUB_EV_DOWN:
        tf_down_release(&event->down);
        break;
    case SUB_EV_NONE:
    case SUB_EV_LOADED:
    case SUB_EV_COMMITTED:
    case SUB_EV_LISTED:
    case SUB_EV_LINK_UP:
    case SUB_EV_LINK_DOWN:
    case SUB_EV_TIMER:
    case SUB_EV_CONTINUE:
    case SUB_EV_SETTINGS:
    case SUB_EV_CHECKPOINT:
        break;
    }
    *event = (struct sub_event){0};
}

void group_copy(struct tf_group *to, const struct tf_group *from)
{
    struct tf_job_spec whole = {.group = *from}, copy = {0};
    tf_job_spec_copy(&copy, &whole);
    *to = copy.group;
    copy.group = (struct tf_group){0};
    tf_job_spec_release(&copy);
}

static void start_release(struct sub_start *start)
{
    free(start->tenant);
    free(start->name);
    free(start->node);
    struct tf_job_spec whole = {.group = start->group};
    tf_job_spec_release(&whole);
}

void sub_action_release(struct sub_action *action)
{
    switch (action->kind) {
    case SUB_ACT_PERSIST:
        for (size_t i = 0; i < action->persist.count; i++)
            tf_record_release(&action->persist.items[i]);
        free(action->persist.items);
        break;
    case SUB_ACT_SEND:
        tf_up_release(&action->send);
        break;
    case SUB_ACT_START:
        start_release(&action->start);
        break;
    case SUB_ACT_PEERS:
        free(action->peers.content);
        break;
    case SUB_ACT_CLOSE:
    case SUB_ACT_TRACE:
    case SUB_ACT_ALARM:
        free(action->text);
        break;
    case SUB_ACT_NONE:
    case SUB_ACT_STOP:
    case SUB_ACT_FORGET:
    case SUB_ACT_FENCE:
    case SUB_ACT_WAKE:
    case SUB_ACT_CONTINUE:
        break;
    }
    *action = (struct sub_action){0};
}

void sub_actions_release(struct sub_actions *actions)
{
    tf_vec_each (a, actions)
        sub_action_release(a);
    tf_vec_release(actions);
}
