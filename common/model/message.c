/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/message.h"

/* The memory of messages: release and deep copy. */

void tf_hello_release(struct tf_hello *hello)
{
    free(hello->name);
    free(hello->region);
    free(hello->version);
    tf_pairs_release(&hello->labels);
    free(hello->engine);
    *hello = (struct tf_hello){0};
}

void tf_hello_copy(struct tf_hello *to, const struct tf_hello *from)
{
    struct tf_hello copy = *from;
    copy.name = tf_strdup(from->name);
    copy.region = tf_strdup(from->region);
    copy.version = tf_strdup(from->version);
    copy.engine = tf_strdup(from->engine);
    copy.labels = (struct tf_pairs){0};
    tf_pairs_copy(&copy.labels, &from->labels);
    tf_hello_release(to);
    *to = copy;
}

void tf_report_release(struct tf_report *report)
{
    free(report->tenant);
    free(report->name);
    tf_ended_release(&report->ended);
    free(report->model);
    tf_vec_each (member, &report->members)
        tf_member_release(member);
    tf_vec_release(&report->members);
    tf_notes_release(&report->notes);
    *report = (struct tf_report){0};
}

void tf_report_copy(struct tf_report *to, const struct tf_report *from)
{
    struct tf_report copy = *from;
    copy.tenant = tf_strdup(from->tenant);
    copy.name = tf_strdup(from->name);
    copy.model = tf_strdup(from->model);
    copy.ended = (struct tf_ended){0};
    tf_ended_copy(&copy.ended, &from->ended);
    memset(&copy.members, 0, sizeof copy.members);
    tf_vec_each (member, &from->members)
        tf_member_copy(tf_vec_add(&copy.members), member);
    copy.notes = (struct tf_notes){0};
    tf_notes_copy(&copy.notes, &from->notes);
    tf_report_release(to);
    *to = copy;
}

void tf_up_release(struct tf_up *up)
{
    switch (up->kind) {
    case TF_UP_HELLO:
        tf_hello_release(&up->hello);
        break;
    case TF_UP_PROFILE:
        tf_profile_release(&up->profile);
        break;
    case TF_UP_REPORT:
        tf_report_release(&up->report);
        break;
    case TF_UP_ANSWER:
        free(up->answer.data);
        free(up->answer.text);
        break;
    case TF_UP_STORE:
        free(up->store.text);
        break;
    case TF_UP_NONE:
    case TF_UP_LISTED:
    case TF_UP_FENCE:
        break;
    }
    *up = (struct tf_up){0};
}

void tf_up_copy(struct tf_up *to, const struct tf_up *from)
{
    struct tf_up copy = {.kind = from->kind};
    switch (from->kind) {
    case TF_UP_HELLO:
        tf_hello_copy(&copy.hello, &from->hello);
        break;
    case TF_UP_PROFILE:
        tf_profile_copy(&copy.profile, &from->profile);
        break;
    case TF_UP_REPORT:
        tf_report_copy(&copy.report, &from->report);
        break;
    case TF_UP_ANSWER:
        copy.answer = from->answer;
        copy.answer.data = tf_memdup(from->answer.data, from->answer.len);
        copy.answer.text = tf_strdup(from->answer.text);
        break;
    case TF_UP_FENCE:
        copy.fence_boot_ms = from->fence_boot_ms;
        break;
    case TF_UP_STORE:
        copy.store.text = tf_strdup(from->store.text);
        break;
    case TF_UP_NONE:
    case TF_UP_LISTED:
        break;
    }
    tf_up_release(to);
    *to = copy;
}

void tf_entry_release(struct tf_entry *entry)
{
    free(entry->tenant);
    free(entry->name);
    tf_spec_drop(entry->spec);
    free(entry->model);
    tf_vec_release(&entry->evicted);
    tf_vec_release(&entry->reservations);
    *entry = (struct tf_entry){0};
}

void tf_entry_copy(struct tf_entry *to, const struct tf_entry *from)
{
    struct tf_entry copy = *from;
    copy.tenant = tf_strdup(from->tenant);
    copy.name = tf_strdup(from->name);
    copy.model = tf_strdup(from->model);
    copy.spec = tf_spec_take(from->spec);
    copy.evicted = (struct tf_evicted){0};
    tf_evicted_copy(&copy.evicted, &from->evicted);
    memset(&copy.reservations, 0, sizeof copy.reservations);
    tf_vec_each (ref, &from->reservations)
        tf_vec_push(&copy.reservations, *ref);
    tf_entry_release(to);
    *to = copy;
}

void tf_ask_release(struct tf_ask *ask)
{
    free(ask->node);
    free(ask->domain);
    free(ask->reason);
    free(ask->data);
    tf_vec_each (entry, &ask->place)
        tf_entry_release(entry);
    tf_vec_release(&ask->place);
    tf_vec_each (order, &ask->migrate)
        tf_migrate_order_release(order);
    tf_vec_release(&ask->migrate);
    tf_vec_each (order, &ask->defrag)
        tf_defrag_order_release(order);
    tf_vec_release(&ask->defrag);
    *ask = (struct tf_ask){0};
}

void tf_ask_copy(struct tf_ask *to, const struct tf_ask *from)
{
    struct tf_ask copy = *from;
    copy.node = tf_strdup(from->node);
    copy.domain = tf_strdup(from->domain);
    copy.reason = tf_strdup(from->reason);
    memset(&copy.place, 0, sizeof copy.place);
    tf_vec_each (entry, &from->place)
        tf_entry_copy(tf_vec_add(&copy.place), entry);
    copy.data = tf_memdup(from->data, from->len);
    memset(&copy.migrate, 0, sizeof copy.migrate);
    tf_vec_each (order, &from->migrate)
        tf_migrate_order_copy(tf_vec_add(&copy.migrate), order);
    memset(&copy.defrag, 0, sizeof copy.defrag);
    tf_vec_each (order, &from->defrag)
        tf_defrag_order_copy(tf_vec_add(&copy.defrag), order);
    tf_ask_release(to);
    *to = copy;
}

void tf_down_release(struct tf_down *down)
{
    tf_ask_release(&down->ask);
    tf_policy_release(&down->policy);
    tf_vec_each (entry, &down->entries)
        tf_entry_release(entry);
    tf_vec_release(&down->entries);
    *down = (struct tf_down){0};
}

void tf_down_copy(struct tf_down *to, const struct tf_down *from)
{
    struct tf_down copy = *from;
    copy.ask = (struct tf_ask){0};
    tf_ask_copy(&copy.ask, &from->ask);
    copy.policy = (struct tf_policy){0};
    tf_policy_copy(&copy.policy, &from->policy);
    memset(&copy.entries, 0, sizeof copy.entries);
    tf_vec_each (entry, &from->entries)
        tf_entry_copy(tf_vec_add(&copy.entries), entry);
    tf_down_release(to);
    *to = copy;
}
