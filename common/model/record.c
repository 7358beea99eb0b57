/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/record.h"

#include "common/base/text.h"

#include <stdarg.h>

/* The memory of records: release and deep copy. What the fields mean and when they change is the cores'
 * business; how they become bytes is common/wire's. */

void tf_placement_release(struct tf_placement *placement)
{
    free(placement->cluster);
    free(placement->model);
    *placement = (struct tf_placement){0};
}

void tf_placement_copy(struct tf_placement *to, const struct tf_placement *from)
{
    struct tf_placement copy = *from;
    copy.cluster = tf_strdup(from->cluster);
    copy.model = tf_strdup(from->model);
    tf_placement_release(to);
    *to = copy;
}

void tf_job_event_release(struct tf_job_event *event)
{
    free(event->type);
    free(event->text);
    *event = (struct tf_job_event){0};
}

void tf_job_event_copy(struct tf_job_event *to, const struct tf_job_event *from)
{
    struct tf_job_event copy = *from;
    copy.type = tf_strdup(from->type);
    copy.text = tf_strdup(from->text);
    tf_job_event_release(to);
    *to = copy;
}

void tf_refusal_release(struct tf_refusal *refusal)
{
    free(refusal->cluster);
    free(refusal->text);
    *refusal = (struct tf_refusal){0};
}

void tf_refusal_copy(struct tf_refusal *to, const struct tf_refusal *from)
{
    struct tf_refusal copy = *from;
    copy.cluster = tf_strdup(from->cluster);
    copy.text = tf_strdup(from->text);
    tf_refusal_release(to);
    *to = copy;
}

static void release_events(struct tf_job_events *events)
{
    tf_vec_each (event, events)
        tf_job_event_release(event);
    tf_vec_release(events);
}

/* What a copy replaces is mostly a version before of the same record: what has not changed since is moved out
 * of there, which spares the copying of most texts. */

static bool event_eq(const struct tf_job_event *a, const struct tf_job_event *b)
{
    return a->at.ms == b->at.ms && a->epoch == b->epoch && a->more == b->more &&
           tf_str_eq(a->type, b->type) && tf_str_eq(a->text, b->text);
}

/* *to is overwritten. */
static void copy_events(struct tf_job_events *to, const struct tf_job_events *from,
                        struct tf_job_events *before)
{
    *to = (struct tf_job_events){0};
    tf_vec_reserve(to, from->count);
    for (size_t i = 0; i < from->count; i++) {
        struct tf_job_event *event = tf_vec_add(to);
        if (i < before->count && event_eq(&before->items[i], &from->items[i])) {
            *event = before->items[i];
            before->items[i] = (struct tf_job_event){0};
        } else
            tf_job_event_copy(event, &from->items[i]);
    }
}

void tf_job_record_release(struct tf_job_record *record)
{
    free(record->tenant);
    free(record->name);
    tf_pairs_release(&record->labels);
    tf_spec_drop(record->spec);
    free(record->user);
    tf_vec_each (placement, &record->placements)
        tf_placement_release(placement);
    tf_vec_release(&record->placements);
    tf_vec_each (refusal, &record->refusals)
        tf_refusal_release(refusal);
    tf_vec_release(&record->refusals);
    release_events(&record->events);
    tf_vec_release(&record->evicted);
    free(record->message);
    free(record->output);
    free(record->last_cluster);
    free(record->claims_in);
    tf_cross_release(&record->cross);
    *record = (struct tf_job_record){0};
}

/* Gives the lists of copy, which a shallow copy still shares with from, memory of their own. */
static void copy_job_lists(struct tf_job_record *copy, const struct tf_job_record *from)
{
    memset(&copy->placements, 0, sizeof copy->placements);
    memset(&copy->refusals, 0, sizeof copy->refusals);
    tf_vec_each (placement, &from->placements)
        tf_placement_copy(tf_vec_add(&copy->placements), placement);
    tf_vec_each (refusal, &from->refusals)
        tf_refusal_copy(tf_vec_add(&copy->refusals), refusal);
}

void tf_job_record_copy(struct tf_job_record *to, const struct tf_job_record *from)
{
    struct tf_job_record copy = *from;
    copy.tenant = tf_strdup(from->tenant);
    copy.name = tf_strdup(from->name);
    copy.user = tf_strdup(from->user);
    copy.message = tf_strdup(from->message);
    copy.output = tf_strdup(from->output);
    copy.last_cluster = tf_strdup(from->last_cluster);
    copy.claims_in = tf_strdup(from->claims_in);
    copy.cross = (struct tf_cross){0};
    tf_cross_copy(&copy.cross, &from->cross);
    copy.labels = (struct tf_pairs){0};
    tf_pairs_copy(&copy.labels, &from->labels);
    copy.spec = tf_spec_take(from->spec);
    copy_events(&copy.events, &from->events, &to->events);
    copy_job_lists(&copy, from);
    copy.evicted = (struct tf_evicted){0};
    tf_evicted_copy(&copy.evicted, &from->evicted);
    tf_job_record_release(to);
    *to = copy;
}

/* text is cut here. */
static void append_event(struct tf_job_events *events, uint64_t *dropped, struct tf_job_event event,
                         char *text)
{
    while (events->count >= TF_JOB_EVENTS_MAX) {
        tf_job_event_release(&events->items[0]);
        tf_vec_remove(events, 0);
        ++*dropped;
    }
    tf_utf8_trim(text);
    event.type = tf_strdup(event.type);
    event.text = tf_strdup(text);
    tf_vec_push(events, event);
}

void tf_job_record_event(struct tf_job_record *record, struct tf_wall at, uint64_t epoch, const char *type,
                         const char *fmt, ...)
{
    char text[TF_JOB_EVENT_TEXT];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const struct tf_job_event event = {.at = at, .epoch = epoch, .type = (char *)(uintptr_t)type};
    append_event(&record->events, &record->events_dropped, event, text);
}

static bool is_note(const struct tf_job_event *event)
{
    for (int kind = TF_NOTE_MOVED; kind <= TF_NOTE_LAST; kind++)
        if (strcmp(event->type, tf_note_word((enum tf_note_kind)kind)) == 0)
            return true;
    return false;
}

/* Of the notes that end the list and are enough in a row, the latest of that type and epoch; SIZE_MAX. */
static size_t note_to_replace(const struct tf_job_events *events, uint64_t epoch, const char *type)
{
    size_t row = 0, found = SIZE_MAX;
    for (size_t i = events->count; i-- > 0 && is_note(&events->items[i]); row++)
        if (found == SIZE_MAX && events->items[i].epoch == epoch && strcmp(events->items[i].type, type) == 0)
            found = i;
    return row >= TF_JOB_NOTES_MAX ? found : SIZE_MAX;
}

void tf_job_record_note(struct tf_job_record *record, struct tf_wall at, uint64_t epoch,
                        enum tf_note_kind kind, const char *text)
{
    const char *type = tf_note_word(kind);
    size_t place = note_to_replace(&record->events, epoch, type);
    uint32_t more = 0;
    if (place != SIZE_MAX) {
        more = record->events.items[place].more + 1;
        tf_job_event_release(&record->events.items[place]);
        tf_vec_remove(&record->events, place);
    }
    if (more)
        tf_job_record_event(record, at, epoch, type, "%s; and %u before", text, more);
    else
        tf_job_record_event(record, at, epoch, type, "%s", text);
    record->events.items[record->events.count - 1].more = more;
}

void tf_cluster_record_event(struct tf_cluster_record *record, struct tf_wall at, const char *type,
                             const char *fmt, ...)
{
    char text[TF_JOB_EVENT_TEXT];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const struct tf_job_event event = {.at = at, .type = (char *)(uintptr_t)type};
    append_event(&record->events, &record->events_dropped, event, text);
}

void tf_cluster_record_release(struct tf_cluster_record *record)
{
    free(record->name);
    free(record->region);
    tf_pairs_release(&record->labels);
    free(record->cordon_reason);
    release_events(&record->events);
    tf_vec_release(&record->left_alone);
    *record = (struct tf_cluster_record){0};
}

void tf_cluster_record_copy(struct tf_cluster_record *to, const struct tf_cluster_record *from)
{
    struct tf_cluster_record copy = *from;
    copy.name = tf_strdup(from->name);
    copy.region = tf_strdup(from->region);
    copy.cordon_reason = tf_strdup(from->cordon_reason);
    copy.labels = (struct tf_pairs){0};
    tf_pairs_copy(&copy.labels, &from->labels);
    copy_events(&copy.events, &from->events, &to->events);
    memset(&copy.left_alone, 0, sizeof copy.left_alone);
    tf_vec_each (alone, &from->left_alone)
        tf_vec_push(&copy.left_alone, *alone);
    tf_cluster_record_release(to);
    *to = copy;
}

void tf_summary_record_release(struct tf_summary_record *record)
{
    free(record->name);
    *record = (struct tf_summary_record){0};
}

void tf_summary_record_copy(struct tf_summary_record *to, const struct tf_summary_record *from)
{
    struct tf_summary_record copy = *from;
    copy.name = tf_strdup(from->name);
    tf_summary_record_release(to);
    *to = copy;
}

void tf_member_release(struct tf_member *member)
{
    free(member->node);
    tf_strs_release(&member->ports);
    *member = (struct tf_member){0};
}

void tf_member_copy(struct tf_member *to, const struct tf_member *from)
{
    struct tf_member copy = *from;
    copy.node = tf_strdup(from->node);
    copy.ports = (struct tf_strs){0};
    tf_strs_copy(&copy.ports, &from->ports);
    tf_member_release(to);
    *to = copy;
}

void tf_ended_release(struct tf_ended *ended)
{
    free(ended->message);
    free(ended->output);
    *ended = (struct tf_ended){0};
}

void tf_ended_copy(struct tf_ended *to, const struct tf_ended *from)
{
    struct tf_ended copy = *from;
    copy.message = tf_strdup(from->message);
    copy.output = tf_strdup(from->output);
    tf_ended_release(to);
    *to = copy;
}

void tf_allocation_clear_epoch(struct tf_allocation *allocation)
{
    struct tf_allocation kept = {.uid = allocation->uid,
                                 .tenant = allocation->tenant,
                                 .name = allocation->name,
                                 .spec = tf_spec_none()};
    memcpy(&kept.ended, &allocation->ended, sizeof kept.ended);
    allocation->tenant = allocation->name = NULL;
    memset(&allocation->ended, 0, sizeof allocation->ended);
    tf_allocation_release(allocation);
    *allocation = kept;
}

void tf_allocation_release(struct tf_allocation *allocation)
{
    free(allocation->tenant);
    free(allocation->name);
    tf_spec_drop(allocation->spec);
    free(allocation->model);
    tf_vec_each (member, &allocation->members)
        tf_member_release(member);
    tf_vec_release(&allocation->members);
    tf_vec_each (claim, &allocation->claims)
        tf_claim_release(claim);
    tf_vec_release(&allocation->claims);
    tf_vec_release(&allocation->evicted);
    tf_ended_release(&allocation->ending);
    tf_vec_each (ended, &allocation->ended)
        tf_ended_release(ended);
    tf_vec_release(&allocation->ended);
    tf_notes_release(&allocation->notes);
    *allocation = (struct tf_allocation){0};
}

/* As copy_job_lists. */
static void copy_allocation_lists(struct tf_allocation *copy, const struct tf_allocation *from)
{
    memset(&copy->members, 0, sizeof copy->members);
    memset(&copy->claims, 0, sizeof copy->claims);
    memset(&copy->ended, 0, sizeof copy->ended);
    tf_vec_each (member, &from->members)
        tf_member_copy(tf_vec_add(&copy->members), member);
    tf_vec_each (claim, &from->claims)
        tf_claim_copy(tf_vec_add(&copy->claims), claim);
    tf_vec_each (ended, &from->ended)
        tf_ended_copy(tf_vec_add(&copy->ended), ended);
}

void tf_allocation_copy(struct tf_allocation *to, const struct tf_allocation *from)
{
    struct tf_allocation copy = *from;
    copy.tenant = tf_strdup(from->tenant);
    copy.name = tf_strdup(from->name);
    copy.model = tf_strdup(from->model);
    copy.spec = tf_spec_take(from->spec);
    copy.ending = (struct tf_ended){0};
    tf_ended_copy(&copy.ending, &from->ending);
    copy_allocation_lists(&copy, from);
    copy.evicted = (struct tf_evicted){0};
    tf_evicted_copy(&copy.evicted, &from->evicted);
    copy.notes = (struct tf_notes){0};
    tf_notes_copy(&copy.notes, &from->notes);
    tf_allocation_release(to);
    *to = copy;
}

void tf_node_claim_release(struct tf_node_claim *claim)
{
    free(claim->tenant);
    free(claim->name);
    tf_spec_drop(claim->spec);
    tf_strs_release(&claim->nodes);
    *claim = (struct tf_node_claim){0};
}

void tf_node_claim_copy(struct tf_node_claim *to, const struct tf_node_claim *from)
{
    struct tf_node_claim copy = {.uid = from->uid,
                                 .tenant = tf_strdup(from->tenant),
                                 .name = tf_strdup(from->name),
                                 .spec = tf_spec_take(from->spec),
                                 .until = from->until};
    tf_strs_copy(&copy.nodes, &from->nodes);
    tf_node_claim_release(to);
    *to = copy;
}

void tf_record_release(struct tf_record *record)
{
    switch (record->kind) {
    case TF_RECORD_JOB:
        tf_job_record_release(&record->job);
        break;
    case TF_RECORD_CLUSTER:
        tf_cluster_record_release(&record->cluster);
        break;
    case TF_RECORD_SUMMARY:
        tf_summary_record_release(&record->summary);
        break;
    case TF_RECORD_POLICY:
        tf_policy_release(&record->policy);
        break;
    case TF_RECORD_ALLOCATION:
        tf_allocation_release(&record->allocation);
        break;
    case TF_RECORD_CORDON:
        tf_cordon_release(&record->cordon);
        break;
    case TF_RECORD_FREEZE:
        tf_freeze_release(&record->freeze);
        break;
    case TF_RECORD_NODE_CLAIM:
        tf_node_claim_release(&record->node_claim);
        break;
    case TF_RECORD_LEADERS:
        tf_leaders_release(&record->leaders);
        break;
    case TF_RECORD_MIGRATION:
        tf_migration_release(&record->migration);
        break;
    case TF_RECORD_NONE:
    case TF_RECORD_EPOCH:
    case TF_RECORD_TERM:
    case TF_RECORD_FLOOR:
    case TF_RECORD_ROLLBACK:
    case TF_RECORD_EVICTIONS:
        break;
    }
    *record = (struct tf_record){0};
}

void tf_record_copy(struct tf_record *to, const struct tf_record *from)
{
    struct tf_record copy = {.kind = from->kind, .gone = from->gone};
    switch (from->kind) {
    case TF_RECORD_JOB:
        tf_job_record_copy(&copy.job, &from->job);
        break;
    case TF_RECORD_CLUSTER:
        tf_cluster_record_copy(&copy.cluster, &from->cluster);
        break;
    case TF_RECORD_SUMMARY:
        tf_summary_record_copy(&copy.summary, &from->summary);
        break;
    case TF_RECORD_POLICY:
        tf_policy_copy(&copy.policy, &from->policy);
        break;
    case TF_RECORD_ALLOCATION:
        tf_allocation_copy(&copy.allocation, &from->allocation);
        break;
    case TF_RECORD_CORDON:
        tf_cordon_copy(&copy.cordon, &from->cordon);
        break;
    case TF_RECORD_FREEZE:
        tf_freeze_copy(&copy.freeze, &from->freeze);
        break;
    case TF_RECORD_NODE_CLAIM:
        tf_node_claim_copy(&copy.node_claim, &from->node_claim);
        break;
    case TF_RECORD_LEADERS:
        tf_leaders_copy(&copy.leaders, &from->leaders);
        break;
    case TF_RECORD_MIGRATION:
        tf_migration_copy(&copy.migration, &from->migration);
        break;
    case TF_RECORD_EPOCH:
    case TF_RECORD_FLOOR:
    case TF_RECORD_ROLLBACK:
        copy.number = from->number;
        break;
    case TF_RECORD_TERM:
        copy.term = from->term;
        break;
    case TF_RECORD_EVICTIONS:
        copy.evictions = from->evictions;
        break;
    case TF_RECORD_NONE:
        break;
    }
    tf_record_release(to);
    *to = copy;
}
