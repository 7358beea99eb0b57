/* SPDX-License-Identifier: Apache-2.0 */
/* What is in each struct of settings, records and messages. */
#include "common/model/image.h"

/* ---- settings ---- */

static void image_class(struct tf_image *image, struct tf_class *class)
{
    tf_image_open(image, class);
    tf_image_string(image, &class->name);
    tf_image_number(image, &class->priority);
    tf_image_close(image);
}

void tf_image_freeze(struct tf_image *image, struct tf_freeze *freeze)
{
    tf_image_open(image, freeze);
    tf_image_number(image, &freeze->what);
    tf_image_string(image, &freeze->cluster);
    tf_image_number(image, &freeze->since);
    tf_image_number(image, &freeze->until);
    tf_image_string(image, &freeze->reason);
    tf_image_string(image, &freeze->user);
    tf_image_close(image);
}

static void image_shape_asked(struct tf_image *image, struct tf_shape_asked *shape)
{
    tf_image_open(image, shape);
    tf_image_shared_spec(image, &shape->spec);
    tf_image_number(image, &shape->instances);
    tf_image_number(image, &shape->waits);
    tf_image_close(image);
}

void tf_image_shapes(struct tf_image *image, struct tf_shapes *shapes)
{
    tf_image_list(image, shapes, image_shape_asked);
}

void tf_image_policy(struct tf_image *image, struct tf_policy *policy)
{
    tf_image_open(image, policy);
    tf_image_number(image, &policy->version);
    tf_image_list(image, &policy->classes, image_class);
    tf_image_string(image, &policy->ceiling);
    tf_image_strings(image, &policy->schedule_labels);
    tf_image_number(image, &policy->max_evictions_per_minute);
    tf_image_number(image, &policy->absorb_cooldown);
    tf_image_number(image, &policy->surplus_dwell);
    tf_image_number(image, &policy->offer_time);
    tf_image_number(image, &policy->repair_wait);
    tf_image_number(image, &policy->failure_settle);
    tf_image_number(image, &policy->hub_away_after);
    tf_image_number(image, &policy->start_timeout);
    tf_image_number(image, &policy->kill_bound);
    tf_image_number(image, &policy->fence_timeout);
    tf_image_number(image, &policy->max_moves);
    tf_image_number(image, &policy->max_moves_per_node);
    tf_image_number(image, &policy->max_moves_per_job);
    tf_image_number(image, &policy->consolidate);
    tf_image_number(image, &policy->consolidate_cooldown);
    tf_image_number(image, &policy->consolidate_moves);
    tf_image_list(image, &policy->freezes, tf_image_freeze);
    tf_image_shapes(image, &policy->shapes);
    tf_image_close(image);
}

void tf_image_settings(struct tf_image *image, struct tf_settings *settings)
{
    tf_image_open(image, settings);
    tf_image_table(image, &tf_settings_table, settings);
    tf_image_number(image, &settings->policy.version);
    tf_image_list(image, &settings->policy.freezes, tf_image_freeze);
    tf_image_shapes(image, &settings->policy.shapes);
    tf_image_close(image);
}

/* ---- the federation's records ---- */

static void image_placement(struct tf_image *image, struct tf_placement *placement)
{
    tf_image_open(image, placement);
    tf_image_number(image, &placement->epoch);
    tf_image_string(image, &placement->cluster);
    tf_image_number(image, &placement->size);
    tf_image_string(image, &placement->model);
    tf_image_number(image, &placement->phase);
    tf_image_number(image, &placement->placed);
    tf_image_number(image, &placement->accepted);
    tf_image_number(image, &placement->started);
    tf_image_number(image, &placement->release);
    tf_image_number(image, &placement->level);
    tf_image_number(image, &placement->successor);
    tf_image_number(image, &placement->noted);
    tf_image_close(image);
}

static void image_refusal(struct tf_image *image, struct tf_refusal *refusal)
{
    tf_image_open(image, refusal);
    tf_image_string(image, &refusal->cluster);
    tf_image_number(image, &refusal->reason);
    tf_image_string(image, &refusal->text);
    tf_image_number(image, &refusal->times);
    tf_image_number(image, &refusal->until);
    tf_image_close(image);
}

static void image_job_event(struct tf_image *image, struct tf_job_event *event)
{
    tf_image_open(image, event);
    tf_image_number(image, &event->at);
    tf_image_number(image, &event->epoch);
    tf_image_string(image, &event->type);
    tf_image_string(image, &event->text);
    tf_image_number(image, &event->more);
    tf_image_close(image);
}

static void image_evicted_hour(struct tf_image *image, struct tf_evicted_hour *hour)
{
    tf_image_open(image, hour);
    tf_image_number(image, &hour->hour);
    tf_image_number(image, &hour->count);
    tf_image_close(image);
}

static void image_evicted(struct tf_image *image, struct tf_evicted *evicted)
{
    tf_image_list(image, evicted, image_evicted_hour);
}

static void image_cross(struct tf_image *image, struct tf_cross *cross)
{
    tf_image_open(image, cross);
    tf_image_number(image, &cross->state);
    tf_image_number(image, &cross->outcome);
    tf_image_number(image, &cross->cause);
    tf_image_string(image, &cross->from);
    tf_image_string(image, &cross->to);
    tf_image_number(image, &cross->old_epoch);
    tf_image_number(image, &cross->new_epoch);
    tf_image_number(image, &cross->since);
    tf_image_number(image, &cross->ended);
    tf_image_number(image, &cross->deadline);
    tf_image_string(image, &cross->why);
    tf_image_string(image, &cross->reason);
    tf_image_string(image, &cross->user);
    tf_image_close(image);
}

void tf_image_job_record(struct tf_image *image, struct tf_job_record *record)
{
    tf_image_open(image, record);
    tf_image_uid(image, &record->uid);
    tf_image_string(image, &record->tenant);
    tf_image_string(image, &record->name);
    tf_image_pairs(image, &record->labels);
    tf_image_shared_spec(image, &record->spec);
    tf_image_string(image, &record->user);
    tf_image_number(image, &record->submitted);
    tf_image_number(image, &record->phase);
    tf_image_number(image, &record->held);
    tf_image_number(image, &record->deleted);
    tf_image_number(image, &record->version);
    tf_image_list(image, &record->placements, image_placement);
    tf_image_list(image, &record->refusals, image_refusal);
    tf_image_list(image, &record->events, image_job_event);
    tf_image_number(image, &record->events_dropped);
    tf_image_number(image, &record->retries_used);
    tf_image_number(image, &record->restarts);
    tf_image_number(image, &record->evictions);
    tf_image_number(image, &record->losses);
    tf_image_number(image, &record->lost_gpu_seconds);
    tf_image_number(image, &record->changed);
    tf_image_number(image, &record->finished);
    tf_image_number(image, &record->exit_code);
    tf_image_string(image, &record->message);
    tf_image_string(image, &record->output);
    tf_image_string(image, &record->last_cluster);
    tf_image_number(image, &record->last_epoch);
    tf_image_uid(image, &record->change);
    tf_image_number(image, &record->last_size);
    image_evicted(image, &record->evicted);
    tf_image_string(image, &record->claims_in);
    tf_image_number(image, &record->claim_until);
    image_cross(image, &record->cross);
    tf_image_number(image, &record->claim_move_cost);
    tf_image_number(image, &record->consolidated);
    tf_image_close(image);
}

static void image_left_alone(struct tf_image *image, struct tf_left_alone *alone)
{
    tf_image_open(image, alone);
    tf_image_uid(image, &alone->uid);
    tf_image_number(image, &alone->epoch);
    tf_image_close(image);
}

void tf_image_cluster_record(struct tf_image *image, struct tf_cluster_record *record)
{
    tf_image_open(image, record);
    tf_image_string(image, &record->name);
    tf_image_string(image, &record->region);
    tf_image_pairs(image, &record->labels);
    tf_image_number(image, &record->cordoned);
    tf_image_string(image, &record->cordon_reason);
    tf_image_number(image, &record->registered);
    tf_image_number(image, &record->highest_epoch);
    tf_image_number(image, &record->forgotten);
    tf_image_list(image, &record->events, image_job_event);
    tf_image_number(image, &record->events_dropped);
    tf_image_list(image, &record->left_alone, image_left_alone);
    tf_image_close(image);
}

/* ---- a subcluster's ---- */

static void image_member(struct tf_image *image, struct tf_member *member)
{
    tf_image_open(image, member);
    tf_image_number(image, &member->index);
    tf_image_number(image, &member->attempt);
    tf_image_string(image, &member->node);
    tf_image_number(image, &member->gpus);
    tf_image_number(image, &member->mark);
    tf_image_number(image, &member->state);
    tf_image_number(image, &member->started);
    tf_image_number(image, &member->ready);
    tf_image_number(image, &member->ended);
    tf_image_number(image, &member->retry_at);
    tf_image_number(image, &member->exit_code);
    tf_image_number(image, &member->role);
    tf_image_number(image, &member->attempts);
    tf_image_strings(image, &member->ports);
    tf_image_close(image);
}

static void image_claim(struct tf_image *image, struct tf_claim *claim)
{
    tf_image_open(image, claim);
    tf_image_string(image, &claim->node);
    tf_image_number(image, &claim->gpus);
    tf_image_number(image, &claim->cpu);
    tf_image_number(image, &claim->memory);
    tf_image_number(image, &claim->slots);
    tf_image_number(image, &claim->until);
    tf_image_close(image);
}

static void image_ended(struct tf_image *image, struct tf_ended *ended)
{
    tf_image_open(image, ended);
    tf_image_number(image, &ended->epoch);
    tf_image_number(image, &ended->end);
    tf_image_number(image, &ended->reason);
    tf_image_number(image, &ended->at);
    tf_image_number(image, &ended->exit_code);
    tf_image_number(image, &ended->failures);
    tf_image_string(image, &ended->message);
    tf_image_string(image, &ended->output);
    tf_image_number(image, &ended->evictions);
    tf_image_number(image, &ended->lost_gpu_seconds);
    tf_image_close(image);
}

static void image_note(struct tf_image *image, struct tf_note *note)
{
    tf_image_open(image, note);
    tf_image_number(image, &note->kind);
    tf_image_string(image, &note->text);
    tf_image_close(image);
}

void tf_image_allocation(struct tf_image *image, struct tf_allocation *allocation)
{
    tf_image_open(image, allocation);
    tf_image_uid(image, &allocation->uid);
    tf_image_string(image, &allocation->tenant);
    tf_image_string(image, &allocation->name);
    tf_image_number(image, &allocation->phase);
    tf_image_number(image, &allocation->epoch);
    tf_image_term(image, &allocation->term);
    tf_image_shared_spec(image, &allocation->spec);
    tf_image_number(image, &allocation->submitted);
    tf_image_number(image, &allocation->accepted);
    tf_image_number(image, &allocation->started);
    tf_image_number(image, &allocation->size);
    tf_image_string(image, &allocation->model);
    tf_image_list(image, &allocation->members, image_member);
    tf_image_list(image, &allocation->claims, image_claim);
    tf_image_number(image, &allocation->retries_used);
    tf_image_number(image, &allocation->evictions);
    image_evicted(image, &allocation->evicted);
    tf_image_number(image, &allocation->peers_version);
    tf_image_number(image, &allocation->last_shrink);
    tf_image_number(image, &allocation->last_grow);
    tf_image_number(image, &allocation->last_checkpoint);
    tf_image_number(image, &allocation->restart_took);
    tf_image_number(image, &allocation->short_since);
    tf_image_number(image, &allocation->restart_at);
    tf_image_number(image, &allocation->grow_after);
    tf_image_number(image, &allocation->grow_failures);
    tf_image_number(image, &allocation->move_after);
    tf_image_number(image, &allocation->move_failures);
    tf_image_number(image, &allocation->noted);
    tf_image_number(image, &allocation->successor);
    tf_image_number(image, &allocation->declined);
    tf_image_number(image, &allocation->predecessor);
    tf_image_number(image, &allocation->leave_at);
    image_ended(image, &allocation->ending);
    tf_image_list(image, &allocation->ended, image_ended);
    tf_image_list(image, &allocation->notes, image_note);
    tf_image_close(image);
}

static void image_gpu_cordon(struct tf_image *image, struct tf_gpu_cordon *cordon)
{
    tf_image_open(image, cordon);
    tf_image_number(image, &cordon->gpus);
    tf_image_string(image, &cordon->reason);
    tf_image_number(image, &cordon->at);
    tf_image_number(image, &cordon->source);
    tf_image_number(image, &cordon->suspect);
    tf_image_close(image);
}

static void image_gpu_trouble(struct tf_image *image, struct tf_gpu_trouble *trouble)
{
    tf_image_open(image, trouble);
    tf_image_number(image, &trouble->gpu);
    tf_image_number(image, &trouble->starts);
    tf_image_number(image, &trouble->jobs);
    tf_image_uid(image, &trouble->last);
    tf_image_close(image);
}

void tf_image_domain_cordon(struct tf_image *image, struct tf_domain_cordon *cordon)
{
    tf_image_open(image, cordon);
    tf_image_string(image, &cordon->domain);
    tf_image_string(image, &cordon->reason);
    tf_image_number(image, &cordon->at);
    tf_image_close(image);
}

void tf_image_cordon(struct tf_image *image, struct tf_cordon *cordon)
{
    tf_image_open(image, cordon);
    tf_image_string(image, &cordon->node);
    tf_image_number(image, &cordon->whole);
    tf_image_string(image, &cordon->reason);
    tf_image_number(image, &cordon->at);
    tf_image_number(image, &cordon->verdict);
    tf_image_number(image, &cordon->judged);
    tf_image_open(image, &cordon->drain);
    tf_image_number(image, &cordon->drain.on);
    tf_image_number(image, &cordon->drain.force);
    tf_image_number(image, &cordon->drain.max_at_once);
    tf_image_number(image, &cordon->drain.deadline);
    tf_image_close(image);
    tf_image_string(image, &cordon->drained_with);
    tf_image_number(image, &cordon->stays);
    tf_image_list(image, &cordon->gpus, image_gpu_cordon);
    tf_image_list(image, &cordon->trouble, image_gpu_trouble);
    tf_image_list(image, &cordon->domains, tf_image_domain_cordon);
    tf_image_close(image);
}

void tf_image_node_claim(struct tf_image *image, struct tf_node_claim *claim)
{
    tf_image_open(image, claim);
    tf_image_uid(image, &claim->uid);
    tf_image_string(image, &claim->tenant);
    tf_image_string(image, &claim->name);
    tf_image_shared_spec(image, &claim->spec);
    tf_image_strings(image, &claim->nodes);
    tf_image_number(image, &claim->until);
    tf_image_close(image);
}

static void image_leader(struct tf_image *image, struct tf_leader *leader)
{
    tf_image_open(image, leader);
    tf_image_term(image, &leader->term);
    tf_image_number(image, &leader->epoch);
    tf_image_close(image);
}

void tf_image_leaders(struct tf_image *image, struct tf_leaders *leaders)
{
    tf_image_list(image, leaders, image_leader);
}

static void image_move(struct tf_image *image, struct tf_move *move)
{
    tf_image_open(image, move);
    tf_image_uid(image, &move->uid);
    tf_image_string(image, &move->tenant);
    tf_image_string(image, &move->name);
    tf_image_number(image, &move->epoch);
    tf_image_number(image, &move->index);
    tf_image_number(image, &move->attempt);
    tf_image_number(image, &move->restarts);
    tf_image_string(image, &move->from);
    tf_image_string(image, &move->wanted);
    image_claim(image, &move->claim);
    tf_image_number(image, &move->state);
    tf_image_number(image, &move->reserved);
    tf_image_number(image, &move->started);
    tf_image_number(image, &move->ready);
    tf_image_number(image, &move->switched);
    tf_image_number(image, &move->stopping);
    tf_image_number(image, &move->ended);
    tf_image_string(image, &move->why);
    tf_image_close(image);
}

void tf_image_migration(struct tf_image *image, struct tf_migration *migration)
{
    tf_image_open(image, migration);
    tf_image_uid(image, &migration->id);
    tf_image_number(image, &migration->cause);
    tf_image_string(image, &migration->owner);
    tf_image_string(image, &migration->reason);
    tf_image_string(image, &migration->user);
    tf_image_number(image, &migration->created);
    tf_image_number(image, &migration->until);
    tf_image_number(image, &migration->ended);
    tf_image_number(image, &migration->paused);
    tf_image_list(image, &migration->moves, image_move);
    tf_image_strings(image, &migration->empties);
    tf_image_close(image);
}

void tf_image_eviction_count(struct tf_image *image, struct tf_eviction_count *evictions)
{
    tf_image_open(image, evictions);
    tf_image_number(image, &evictions->last);
    tf_image_number(image, &evictions->count);
    tf_image_close(image);
}

void tf_image_record(struct tf_image *image, struct tf_record *record)
{
    tf_image_open(image, record);
    tf_image_number(image, &record->kind);
    tf_image_number(image, &record->gone);
    tf_image_union(image, record, number);
    switch (record->kind) {
    case TF_RECORD_NONE:
        break;
    case TF_RECORD_EPOCH:
    case TF_RECORD_FLOOR:
    case TF_RECORD_ROLLBACK:
        tf_image_number(image, &record->number);
        break;
    case TF_RECORD_EVICTIONS:
        tf_image_eviction_count(image, &record->evictions);
        break;
    case TF_RECORD_JOB:
        tf_image_job_record(image, &record->job);
        break;
    case TF_RECORD_CLUSTER:
        tf_image_cluster_record(image, &record->cluster);
        break;
    case TF_RECORD_SUMMARY:
        tf_image_summary_record(image, &record->summary);
        break;
    case TF_RECORD_TERM:
        tf_image_term(image, &record->term);
        break;
    case TF_RECORD_POLICY:
        tf_image_policy(image, &record->policy);
        break;
    case TF_RECORD_ALLOCATION:
        tf_image_allocation(image, &record->allocation);
        break;
    case TF_RECORD_CORDON:
        tf_image_cordon(image, &record->cordon);
        break;
    case TF_RECORD_FREEZE:
        tf_image_freeze(image, &record->freeze);
        break;
    case TF_RECORD_NODE_CLAIM:
        tf_image_node_claim(image, &record->node_claim);
        break;
    case TF_RECORD_LEADERS:
        tf_image_leaders(image, &record->leaders);
        break;
    case TF_RECORD_MIGRATION:
        tf_image_migration(image, &record->migration);
        break;
    }
    tf_image_close(image);
}

/* ---- messages ---- */

void tf_image_hello(struct tf_image *image, struct tf_hello *hello)
{
    tf_image_open(image, hello);
    tf_image_number(image, &hello->protocol);
    tf_image_string(image, &hello->name);
    tf_image_string(image, &hello->region);
    tf_image_string(image, &hello->version);
    tf_image_pairs(image, &hello->labels);
    tf_image_number(image, &hello->owner_revision);
    tf_image_term(image, &hello->highest_term);
    tf_image_number(image, &hello->highest_epoch);
    tf_image_number(image, &hello->capabilities);
    tf_image_string(image, &hello->engine);
    tf_image_close(image);
}

void tf_image_report(struct tf_image *image, struct tf_report *report)
{
    tf_image_open(image, report);
    tf_image_uid(image, &report->uid);
    tf_image_number(image, &report->epoch);
    tf_image_string(image, &report->tenant);
    tf_image_string(image, &report->name);
    tf_image_number(image, &report->phase);
    image_ended(image, &report->ended);
    tf_image_string(image, &report->model);
    tf_image_number(image, &report->size);
    tf_image_number(image, &report->ready);
    tf_image_number(image, &report->accepted);
    tf_image_number(image, &report->started);
    tf_image_number(image, &report->retries_used);
    tf_image_number(image, &report->restarts);
    tf_image_number(image, &report->unreachable);
    tf_image_number(image, &report->successor);
    tf_image_number(image, &report->declined);
    tf_image_number(image, &report->predecessor);
    tf_image_number(image, &report->checkpoint);
    tf_image_number(image, &report->restart_took);
    tf_image_list(image, &report->members, image_member);
    tf_image_list(image, &report->notes, image_note);
    tf_image_number(image, &report->noted);
    tf_image_close(image);
}

static void image_answer(struct tf_image *image, struct tf_answer *answer)
{
    tf_image_open(image, answer);
    tf_image_number(image, &answer->id);
    tf_image_blob(image, &answer->data, &answer->len);
    tf_image_number(image, &answer->code);
    tf_image_string(image, &answer->text);
    tf_image_close(image);
}

void tf_image_up(struct tf_image *image, struct tf_up *up)
{
    tf_image_open(image, up);
    tf_image_number(image, &up->kind);
    tf_image_union(image, up, hello);
    switch (up->kind) {
    case TF_UP_NONE:
    case TF_UP_LISTED:
        break;
    case TF_UP_HELLO:
        tf_image_hello(image, &up->hello);
        break;
    case TF_UP_PROFILE:
        tf_image_profile(image, &up->profile);
        break;
    case TF_UP_REPORT:
        tf_image_report(image, &up->report);
        break;
    case TF_UP_FENCE:
        tf_image_number(image, &up->fence_boot_ms);
        break;
    case TF_UP_ANSWER:
        image_answer(image, &up->answer);
        break;
    case TF_UP_STORE:
        tf_image_string(image, &up->store.text);
        break;
    }
    tf_image_close(image);
}

static void image_reservation_ref(struct tf_image *image, struct tf_reservation_ref *ref)
{
    tf_image_open(image, ref);
    tf_image_uid(image, &ref->uid);
    tf_image_close(image);
}

void tf_image_entry(struct tf_image *image, struct tf_entry *entry)
{
    tf_image_open(image, entry);
    tf_image_number(image, &entry->kind);
    tf_image_uid(image, &entry->uid);
    tf_image_number(image, &entry->epoch);
    tf_image_string(image, &entry->tenant);
    tf_image_string(image, &entry->name);
    tf_image_shared_spec(image, &entry->spec);
    tf_image_number(image, &entry->size);
    tf_image_string(image, &entry->model);
    tf_image_number(image, &entry->submitted);
    tf_image_number(image, &entry->retries_used);
    tf_image_number(image, &entry->level);
    tf_image_number(image, &entry->evictions);
    image_evicted(image, &entry->evicted);
    tf_image_list(image, &entry->reservations, image_reservation_ref);
    tf_image_number(image, &entry->release);
    tf_image_number(image, &entry->successor);
    tf_image_number(image, &entry->predecessor);
    tf_image_number(image, &entry->leave_after);
    tf_image_number(image, &entry->move_cost);
    tf_image_close(image);
}
