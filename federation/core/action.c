/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of events and actions. */
#include "federation/core/action.h"

void fed_event_release(struct fed_event *event)
{
    switch (event->kind) {
    case FED_EV_BOOT:
        tf_settings_release(&event->boot.settings);
        break;
    case FED_EV_RECORD:
        tf_record_release(&event->record);
        break;
    case FED_EV_SETTINGS:
        tf_settings_release(&event->settings);
        break;
    case FED_EV_SUBMIT:
        tf_job_manifest_release(&event->submit.manifest);
        free(event->submit.user);
        break;
    case FED_EV_DELETE:
    case FED_EV_SCALE:
    case FED_EV_HOLD:
    case FED_EV_RESUME:
    case FED_EV_MIGRATE:
        free(event->job.tenant);
        free(event->job.name);
        free(event->job.to);
        free(event->job.reason);
        free(event->job.user);
        break;
    case FED_EV_CORDON:
    case FED_EV_FORGET:
        free(event->cluster.name);
        free(event->cluster.reason);
        break;
    case FED_EV_FREEZE:
        tf_freeze_release(&event->freeze.wanted);
        break;
    case FED_EV_CLAIM:
        free(event->claim.tenant);
        free(event->claim.name);
        free(event->claim.cluster);
        break;
    case FED_EV_LINK_UP:
        tf_hello_release(&event->hello);
        break;
    case FED_EV_UP:
        tf_up_release(&event->up);
        break;
    case FED_EV_NONE:
    case FED_EV_LOADED:
    case FED_EV_COMMITTED:
    case FED_EV_ARCHIVED:
    case FED_EV_QUOTA:
    case FED_EV_BARRIER:
    case FED_EV_LINK_DOWN:
    case FED_EV_TIMER:
    case FED_EV_CONTINUE:
        break;
    }
    *event = (struct fed_event){0};
}

void fed_action_release(struct fed_action *action)
{
    switch (action->kind) {
    case FED_ACT_PERSIST:
        for (size_t i = 0; i < action->persist.count; i++)
            tf_record_release(&action->persist.items[i]);
        free(action->persist.items);
        break;
    case FED_ACT_REPLY:
        tf_complaints_release(&action->reply.complaints);
        free(action->reply.text);
        break;
    case FED_ACT_SEND:
        tf_down_release(&action->send);
        break;
    case FED_ACT_ARCHIVE:
        tf_job_record_release(&action->archive);
        break;
    case FED_ACT_CLOSE:
    case FED_ACT_TRACE:
    case FED_ACT_ALARM:
        free(action->text);
        break;
    case FED_ACT_NONE:
    case FED_ACT_WAKE:
    case FED_ACT_CONTINUE:
        break;
    }
    *action = (struct fed_action){0};
}

void fed_actions_release(struct fed_actions *actions)
{
    tf_vec_each (action, actions)
        fed_action_release(action);
    tf_vec_release(actions);
}
