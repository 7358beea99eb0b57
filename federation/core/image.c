/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the leader's state, its events and its actions (common/base/image.h). Trees and hashes are made
 * again of their members; what each part alone knows is written in its own file (image.h). */
#include "federation/core/image.h"

#include "federation/core/cluster.h"
#include "federation/core/cross.h"
#include "federation/core/jobs.h"
#include "federation/core/reservations.h"

#include <assert.h>
#include <stdio.h>

/* ---- events ---- */

static void image_submit(struct tf_image *image, struct fed_submit *submit)
{
    tf_image_open(image, submit);
    tf_image_uid(image, &submit->uid);
    tf_image_manifest(image, &submit->manifest);
    tf_image_number(image, &submit->apply);
    tf_image_number(image, &submit->restart);
    tf_image_number(image, &submit->dry_run);
    tf_image_string(image, &submit->user);
    tf_image_close(image);
}

static void image_boot(struct tf_image *image, struct fed_event *event)
{
    tf_image_open(image, &event->boot);
    tf_image_term(image, &event->boot.term);
    tf_image_settings(image, &event->boot.settings);
    tf_image_number(image, &event->boot.accept_rollback);
    tf_image_close(image);
}

static void image_job_verb(struct tf_image *image, struct fed_event *event)
{
    tf_image_open(image, &event->job);
    tf_image_string(image, &event->job.tenant);
    tf_image_string(image, &event->job.name);
    tf_image_uid(image, &event->job.uid);
    tf_image_elastic(image, &event->job.elastic);
    tf_image_string(image, &event->job.to);
    tf_image_number(image, &event->job.dry_run);
    tf_image_number(image, &event->job.abort);
    tf_image_string(image, &event->job.reason);
    tf_image_string(image, &event->job.user);
    tf_image_close(image);
}

static void image_cluster_verb(struct tf_image *image, struct fed_event *event)
{
    tf_image_open(image, &event->cluster);
    tf_image_string(image, &event->cluster.name);
    tf_image_string(image, &event->cluster.reason);
    tf_image_number(image, &event->cluster.on);
    tf_image_close(image);
}

static void image_freeze_verb(struct tf_image *image, struct fed_event *event)
{
    tf_image_open(image, &event->freeze);
    tf_image_freeze(image, &event->freeze.wanted);
    tf_image_number(image, &event->freeze.lasts);
    tf_image_number(image, &event->freeze.on);
    tf_image_close(image);
}

static void image_claim_verb(struct tf_image *image, struct fed_event *event)
{
    tf_image_open(image, &event->claim);
    tf_image_string(image, &event->claim.tenant);
    tf_image_string(image, &event->claim.name);
    tf_image_string(image, &event->claim.cluster);
    tf_image_number(image, &event->claim.lasts);
    tf_image_close(image);
}

/* Without a default, so that a kind that is forgotten here does not compile: an event that has no image ends
 * the recording of the daemon. */
static void image_event_part(struct tf_image *image, struct fed_event *event)
{
    switch (event->kind) {
    case FED_EV_BOOT:
        image_boot(image, event);
        return;
    case FED_EV_RECORD:
        tf_image_record(image, &event->record);
        return;
    case FED_EV_ARCHIVED:
        tf_image_uid(image, &event->archived);
        return;
    case FED_EV_SETTINGS:
        tf_image_settings(image, &event->settings);
        return;
    case FED_EV_QUOTA:
        tf_image_number(image, &event->quota_percent);
        return;
    case FED_EV_SUBMIT:
        image_submit(image, &event->submit);
        return;
    case FED_EV_DELETE:
    case FED_EV_SCALE:
    case FED_EV_HOLD:
    case FED_EV_RESUME:
    case FED_EV_MIGRATE:
        image_job_verb(image, event);
        return;
    case FED_EV_CORDON:
    case FED_EV_FORGET:
        image_cluster_verb(image, event);
        return;
    case FED_EV_FREEZE:
        image_freeze_verb(image, event);
        return;
    case FED_EV_CLAIM:
        image_claim_verb(image, event);
        return;
    case FED_EV_LINK_UP:
        tf_image_hello(image, &event->hello);
        return;
    case FED_EV_UP:
        tf_image_up(image, &event->up);
        return;
    case FED_EV_LINK_DOWN:
        tf_image_number(image, &event->left);
        return;
    case FED_EV_LOADED:
    case FED_EV_COMMITTED:
    case FED_EV_BARRIER:
    case FED_EV_TIMER:
    case FED_EV_CONTINUE:
        return;
    case FED_EV_NONE:
        break;
    }
    tf_image_fail(image, "there is no event of that kind");
}

void fed_image_event(struct tf_image *image, struct fed_event *event)
{
    tf_image_open(image, event);
    tf_image_number(image, &event->kind);
    tf_image_number(image, &event->request);
    tf_image_number(image, &event->link);
    tf_image_union(image, event, boot);
    image_event_part(image, event);
    tf_image_close(image);
}

/* ---- actions ---- */

static void image_complaint(struct tf_image *image, struct tf_complaint *complaint)
{
    tf_image_open(image, complaint);
    tf_image_string(image, &complaint->path);
    tf_image_string(image, &complaint->text);
    tf_image_close(image);
}

static void image_error(struct tf_image *image, struct tf_error *error)
{
    char *text = tf_image_is_reading(image) ? NULL : tf_strdup(error->text);
    tf_image_open(image, error);
    tf_image_number(image, &error->code);
    tf_image_number(image, &error->sys_errno);
    tf_image_skip(image, &error->text, "its words:");
    tf_image_string(image, &text);
    if (tf_image_is_reading(image) && text)
        snprintf(error->text, sizeof error->text, "%s", text);
    free(text);
    tf_image_close(image);
}

static void image_reply(struct tf_image *image, struct fed_reply *reply)
{
    tf_image_open(image, reply);
    tf_image_number(image, &reply->request);
    image_error(image, &reply->error);
    tf_image_list(image, &reply->complaints, image_complaint);
    tf_image_number(image, &reply->outcome);
    tf_image_uid(image, &reply->uid);
    tf_image_number(image, &reply->version);
    tf_image_string(image, &reply->text);
    tf_image_close(image);
}

static void image_persist(struct tf_image *image, struct fed_action *action)
{
    TF_VEC(struct tf_record) records = {action->persist.items, action->persist.count, action->persist.count};
    tf_image_list(image, &records, tf_image_record);
    action->persist.items = records.items;
    action->persist.count = records.count;
}

static void image_action_part(struct tf_image *image, struct fed_action *action)
{
    switch (action->kind) {
    case FED_ACT_PERSIST:
        image_persist(image, action);
        break;
    case FED_ACT_REPLY:
        image_reply(image, &action->reply);
        break;
    case FED_ACT_SEND:
        tf_image_down(image, &action->send);
        break;
    case FED_ACT_ARCHIVE:
        tf_image_job_record(image, &action->archive);
        break;
    case FED_ACT_WAKE:
        tf_image_number(image, &action->wake);
        break;
    case FED_ACT_CLOSE:
    case FED_ACT_TRACE:
    case FED_ACT_ALARM:
        tf_image_string(image, &action->text);
        break;
    case FED_ACT_NONE:
    case FED_ACT_CONTINUE:
        break;
    }
}

void fed_image_action(struct tf_image *image, struct fed_action *action)
{
    tf_image_open(image, action);
    tf_image_number(image, &action->kind);
    tf_image_number(image, &action->link);
    tf_image_union(image, action, persist);
    image_action_part(image, action);
    tf_image_close(image);
}

/* ---- clusters ---- */

static void image_claimant(struct tf_image *image, struct claimant *claimant)
{
    tf_image_open(image, claimant);
    tf_image_uid(image, &claimant->uid);
    tf_image_number(image, &claimant->slot);
    tf_image_number(image, &claimant->rank);
    tf_image_number(image, &claimant->version);
    tf_image_number(image, &claimant->until);
    tf_image_number(image, &claimant->challenged);
    tf_image_number(image, &claimant->moves);
    tf_image_number(image, &claimant->moved);
    tf_image_number(image, &claimant->missed);
    tf_image_number(image, &claimant->n);
    tf_image_close(image);
}

static void image_flight(struct tf_image *image, struct flight *flight)
{
    tf_image_open(image, flight);
    tf_image_number(image, &flight->epoch);
    tf_image_number(image, &flight->is_short);
    tf_image_shared_spec(image, &flight->spec);
    tf_image_number(image, &flight->rank);
    tf_image_number(image, &flight->size);
    tf_image_number(image, &flight->level);
    tf_image_string(image, &flight->model);
    tf_image_number(image, &flight->n);
    tf_image_number(image, &flight->ends);
    tf_image_number(image, &flight->entitled.claimant);
    tf_image_number(image, &flight->entitled.spares);
    tf_image_list(image, &flight->entitled.reserved, tf_image_uid);
    tf_image_fit_undo(image, &flight->debit);
    tf_image_close(image);
}

static void image_unknown(struct tf_image *image, struct unknown_end *unknown)
{
    tf_image_open(image, unknown);
    tf_image_uid(image, &unknown->uid);
    tf_image_number(image, &unknown->epoch);
    tf_image_close(image);
}

static void image_room(struct tf_image *image, struct cluster *c)
{
    tf_image_maybe(image, &c->profile, tf_image_profile);
    tf_image_fit_rows(image, &c->room);
    tf_image_number(image, &c->grown);
    for (size_t i = 0; i < TF_ARRAY_LEN(c->most); i++) {
        tf_image_vector(image, &c->most[i]);
        tf_image_number(image, &c->most_at[i]);
    }
    tf_image_number(image, &c->shorts_from);
    tf_image_list(image, &c->flights, image_flight);
    tf_image_number(image, &c->profiles);
    tf_image_number(image, &c->capacity);
    tf_image_number(image, &c->change);
}

static void image_cluster(struct tf_image *image, struct cluster *c)
{
    tf_image_open(image, c);
    tf_image_cluster_record(image, &c->record);
    tf_image_summary_record(image, &c->summary);
    tf_image_number(image, &c->stored_epoch);
    tf_image_number(image, &c->slot);
    tf_image_skip(image, &c->placed, "made of the jobs");
    tf_image_maybe(image, &c->hello, tf_image_hello);
    tf_image_number(image, &c->link);
    tf_image_number(image, &c->away_since);
    tf_image_number(image, &c->lost);
    tf_image_number(image, &c->contact);
    tf_image_number(image, &c->listed);
    tf_image_number(image, &c->suspects);
    tf_image_number(image, &c->told);
    tf_image_list(image, &c->alone, tf_image_report);
    tf_image_list(image, &c->unknown, image_unknown);
    tf_image_number(image, &c->n);
    tf_image_number(image, &c->set_sent);
    tf_image_number(image, &c->set_n);
    tf_image_list(image, &c->entries, tf_image_entry);
    tf_image_number(image, &c->proof);
    tf_image_number(image, &c->wants_profile);
    tf_image_generation(image, &c->considered);
    image_room(image, c);
    tf_image_skip(image, &c->mix, "resolved before it is read");
    tf_image_skip(image, &c->mix_made, "likewise");
    tf_image_skip(image, &c->mix_classes, "likewise");
    tf_image_number(image, &c->summary_due);
    tf_image_number(image, &c->summary_next);
    tf_image_close(image);
}

static void image_clusters(struct tf_image *image, struct fed *fed)
{
    uint64_t count = tf_image_count(image, fed->clusters.count);
    tf_image_skip(image, &fed->clusters, "one by one");
    for (size_t i = 0; i < count && !tf_image_failed(image); i++) {
        if (tf_image_is_reading(image))
            tf_vec_push(&fed->clusters, tf_calloc(1, sizeof(struct cluster)));
        image_cluster(image, fed->clusters.items[i]);
    }
    tf_image_number(image, &fed->slots);
}

/* ---- jobs ---- */

static void image_wait(struct tf_image *image, struct fed *fed, struct refusal_wait *wait)
{
    char *name = tf_image_is_reading(image) ? NULL : tf_strdup(wait->cluster->record.name);
    tf_image_open(image, wait);
    tf_image_skip(image, &wait->cluster, "found by its name:");
    tf_image_string(image, &name);
    tf_image_number(image, &wait->until);
    tf_image_number(image, &wait->profiles);
    tf_image_number(image, &wait->lasts);
    if (tf_image_is_reading(image) && name)
        wait->cluster = fed_cluster_by_name(fed, name);
    if (!wait->cluster)
        tf_image_fail(image, "a refusal names no subcluster");
    free(name);
    tf_image_close(image);
}

static void image_waits(struct tf_image *image, struct fed *fed, struct job *job)
{
    uint64_t count = tf_image_count(image, job->refusals.count);
    tf_image_skip(image, &job->refusals, "one by one");
    for (size_t i = 0; i < count && !tf_image_failed(image); i++) {
        if (tf_image_is_reading(image))
            (void)tf_vec_add(&job->refusals);
        image_wait(image, fed, &job->refusals.items[i]);
    }
    tf_image_number(image, &job->refusals_due);
}

static void image_request(struct tf_image *image, uint64_t *request)
{
    tf_image_number(image, request);
}

static void image_replacement(struct tf_image *image, struct replacement *replacement)
{
    tf_image_open(image, replacement);
    tf_image_job_record(image, &replacement->record);
    tf_image_list(image, &replacement->requests, image_request);
    tf_image_close(image);
}

static void file_job(struct fed *fed, struct job *job, bool kept)
{
    if (job->refusals.count)
        tf_tree_insert(&fed->refused, &job->refused);
    if (!kept)
        return;
    tf_tree_insert(&fed->finished, &job->finished);
    tf_tree_insert(&fed->expiry, &job->expiry);
}

/* All but the record, which makes the job when reading. */
static void image_job(struct tf_image *image, struct fed *fed, struct job *job)
{
    tf_image_open(image, job);
    tf_image_skip(image, &job->record, "written before");
    tf_image_skip(image, &job->key, "made of the record");
    tf_image_skip(image, &job->by_name, "filed by its names");
    tf_image_skip(image, &job->by_uid, "filed by its uid");
    tf_image_skip(image, &job->shape, "the queue knows");
    tf_image_skip(image, &job->waiting, "the queue knows");
    tf_image_number(image, &job->rank);
    tf_image_number(image, &job->charged);
    tf_image_number(image, &job->charged_gpus);
    tf_image_skip(image, &job->ask, "filed anew");
    tf_image_skip(image, &job->asked, "likewise");
    tf_image_skip(image, &job->refused, "filed if there are refusals");
    image_waits(image, fed, job);
    tf_image_maybe(image, &job->report, tf_image_report);
    tf_image_maybe(image, &job->coming, tf_image_report);
    tf_image_number(image, &job->epoch_restarts);
    tf_image_strings(image, &job->decisions);
    tf_image_number(image, &job->told_to_wait);
    tf_image_number(image, &job->awaited);
    tf_image_skip(image, &job->finished, "filed if it was:");
    tf_image_skip(image, &job->expiry, "filed if it was:");
    bool kept = tf_image_flag(image, tf_tree_linked(&job->finished));
    tf_image_number(image, &job->due);
    tf_image_number(image, &job->archiving);
    tf_image_maybe(image, &job->replacement, image_replacement);
    tf_image_close(image);
    if (tf_image_is_reading(image) && !tf_image_failed(image))
        file_job(fed, job, kept);
}

static void read_job(struct tf_image *image, struct fed *fed)
{
    struct tf_job_record record = {0};
    tf_image_job_record(image, &record);
    if (!tf_image_failed(image) && (!record.tenant || !record.name))
        tf_image_fail(image, "a job has no name");
    if (tf_image_failed(image))
        tf_job_record_release(&record);
    else
        image_job(image, fed, fed_job_add(fed, &record));
}

static void image_jobs(struct tf_image *image, struct fed *fed)
{
    uint64_t count = tf_image_count(image, fed->jobs.count);
    tf_image_skip(image, &fed->jobs, "one by one, in order; the shape of a tree decides nothing");
    tf_image_skip(image, &fed->jobs_by_uid, "made of the jobs");
    tf_image_skip(image, &fed->refused, "made of the jobs");
    tf_image_skip(image, &fed->finished, "made of the jobs");
    tf_image_skip(image, &fed->expiry, "made of the jobs");
    if (tf_image_is_reading(image)) {
        while (count-- > 0 && !tf_image_failed(image))
            read_job(image, fed);
        return;
    }
    for (struct job *job = fed_job_first(fed); job; job = fed_job_following(job)) {
        tf_image_job_record(image, &job->record);
        image_job(image, fed, job);
    }
}

/* ---- the whole ---- */

static void image_counters(struct tf_image *image, struct fed *fed)
{
    tf_image_number(image, &fed->world);
    tf_image_number(image, &fed->more_room);
    tf_image_number(image, &fed->unfinished);
    tf_image_number(image, &fed->told_late);
    tf_image_number(image, &fed->continuing);
    tf_image_number(image, &fed->archives_out);
    tf_image_number(image, &fed->quota);
    tf_image_number(image, &fed->quota_alarmed);
    tf_image_number(image, &fed->wake);
}

static void skip_the_rest(struct tf_image *image, struct fed *fed)
{
    tf_image_skip(image, &fed->now, "of a step");
    tf_image_skip(image, &fed->out, "of a step");
    tf_image_skip(image, &fed->round, "of a step");
    tf_image_list(image, &fed->claimants, image_claimant);
    tf_image_number(image, &fed->claims_due);
    tf_image_skip(image, &fed->demand, "filled before it is read");
    tf_image_skip(image, &fed->scratch, "likewise");
    tf_image_skip(image, &fed->pack, "likewise");
    tf_image_skip(image, &fed->options, "likewise");
    tf_image_skip(image, &fed->entitled, "likewise");
    tf_image_skip(image, &fed->reached, "decides nothing");
    tf_image_skip(image, &fed->moves_over, "likewise");
}

static void image_fed(struct tf_image *image, struct fed *fed)
{
    assert(fed->round.count == 0);
    tf_image_open(image, fed);
    tf_image_number(image, &fed->stage);
    tf_image_term(image, &fed->term);
    tf_image_number(image, &fed->boot);
    tf_image_settings(image, &fed->settings);
    tf_image_number(image, &fed->accept_rollback);
    tf_image_number(image, &fed->waits_for_all);
    tf_image_number(image, &fed->adopted_up_to);
    tf_image_string(image, &fed->closed);
    tf_image_leaders(image, &fed->leaders);
    tf_image_number(image, &fed->epoch);
    tf_image_skip(image, &fed->journal, "as it is:");
    tf_image_journal(image, fed->journal);
    fed_outbox_image(image, fed);
    image_clusters(image, fed);
    tf_image_list(image, &fed->freezes, tf_image_freeze);
    image_jobs(image, fed);
    tf_image_skip(image, &fed->reservations, "made of the jobs");
    if (tf_image_is_reading(image) && !tf_image_failed(image))
        fed_reservations_read(fed);
    tf_image_skip(image, &fed->moving, "made of the jobs");
    tf_image_skip(image, &fed->moved, "likewise");
    if (tf_image_is_reading(image))
        fed_cross_read(fed);
    tf_image_number(image, &fed->reservations_due);
    fed_tenants_image(image, fed);
    fed_mix_image(image, fed);
    fed_queue_image(image, fed);
    image_counters(image, fed);
    skip_the_rest(image, fed);
    tf_image_close(image);
}

void fed_image_state(struct tf_image *image, struct fed **fed)
{
    if (tf_image_is_reading(image))
        *fed = fed_create(0);
    image_fed(image, *fed);
}
