/* SPDX-License-Identifier: Apache-2.0 */
/* The step: an event goes to whoever owns its subject, then what is due is done, waiting jobs are considered,
 * and what may leave leaves. */
#include "federation/core/fed.h"

#include "federation/core/claims.h"
#include "federation/core/cluster.h"
#include "federation/core/considered.h"
#include "federation/core/cross.h"
#include "federation/core/desired.h"
#include "federation/core/freeze.h"
#include "federation/core/jobs.h"
#include "federation/core/links.h"
#include "federation/core/load.h"
#include "federation/core/mix.h"
#include "federation/core/outbox.h"
#include "federation/core/place.h"
#include "federation/core/queue.h"
#include "federation/core/refusals.h"
#include "federation/core/reservations.h"
#include "federation/core/retention.h"
#include "federation/core/submit.h"
#include "federation/core/tenants.h"
#include "federation/core/verbs.h"

#include <assert.h>

enum { QUOTA_ALARMS = 70 }; /* percent */

struct fed *fed_create(uint64_t seed)
{
    struct fed *fed = tf_calloc(1, sizeof *fed);
    fed->journal = tf_journal_create();
    fed->scratch = tf_fit_scratch_create();
    fed->mix_made = 1;
    fed->wake = fed->claims_due = fed->mix_due = fed->reservations_due = TF_NEVER;
    tf_tree_init(&fed->jobs, fed_jobs_cmp);
    tf_tree_init(&fed->todo, fed_todo_cmp);
    tf_tree_init(&fed->refused, fed_refused_cmp);
    tf_tree_init(&fed->finished, fed_finished_cmp);
    tf_tree_init(&fed->expiry, fed_expiry_cmp);
    fed->jobs.seed = seed;
    return fed;
}

static void destroy_jobs(struct fed *fed)
{
    HASH_CLEAR(by_uid, fed->jobs_by_uid);
    for (struct job *job = fed_job_first(fed), *next; job; job = next) {
        next = fed_job_following(job);
        tf_tree_remove(&fed->jobs, &job->by_name);
        fed_job_destroy(job);
    }
}

void fed_destroy(struct fed *fed)
{
    if (!fed)
        return;
    fed_queue_release(fed);
    destroy_jobs(fed);
    fed_tenants_release(fed);
    fed_mix_release(fed);
    tf_vec_each (cluster, &fed->clusters)
        fed_cluster_destroy(*cluster);
    tf_vec_release(&fed->clusters);
    tf_freezes_release(&fed->freezes);
    tf_leaders_release(&fed->leaders);
    tf_vec_release(&fed->round);
    tf_vec_release(&fed->claimants);
    tf_vec_release(&fed->reservations);
    tf_vec_release(&fed->moving);
    tf_vec_release(&fed->moved);
    tf_vec_release(&fed->entitled.reserved);
    fed_outbox_release(fed);
    tf_settings_release(&fed->settings);
    tf_demand_release(&fed->demand);
    tf_fit_placement_release(&fed->pack);
    tf_vec_release(&fed->options);
    tf_fit_scratch_destroy(fed->scratch);
    tf_journal_destroy(fed->journal);
    free(fed->closed);
    free(fed);
}

/* ---- events ---- */

static bool is_request(enum fed_event_kind kind)
{
    switch (kind) {
    case FED_EV_SUBMIT:
    case FED_EV_DELETE:
    case FED_EV_SCALE:
    case FED_EV_HOLD:
    case FED_EV_RESUME:
    case FED_EV_CORDON:
    case FED_EV_FORGET:
    case FED_EV_FREEZE:
    case FED_EV_CLAIM:
    case FED_EV_BARRIER:
    case FED_EV_MIGRATE:
        return true;
    default:
        return false;
    }
}

/* Nothing is changed, and nothing told, by a leader that is not open. */
static bool refuse_closed(struct fed *fed, const struct fed_event *event)
{
    if (!is_request(event->kind) || (fed->stage == FED_STAGE_OPEN && !fed->closed))
        return false;
    fed_reply_error(fed, event->request, TF_ERR_UNAVAILABLE, "%s",
                    fed->closed ? fed->closed : "the leader is still loading: try again");
    return true;
}

static void take_quota(struct fed *fed, int32_t percent)
{
    fed->quota = percent;
    if (percent >= QUOTA_ALARMS && !fed->quota_alarmed)
        fed_alarm_now(fed,
                      "the federation's store is %d %% full: submits are refused from 90 %%. Delete finished "
                      "jobs, shorten "
                      "keepFinished, or raise etcd's --quota-backend-bytes",
                      percent);
    fed->quota_alarmed = percent >= QUOTA_ALARMS;
}

static void take_request(struct fed *fed, struct fed_event *event)
{
    switch (event->kind) {
    case FED_EV_SUBMIT:
        fed_submit_take(fed, event->request, &event->submit);
        break;
    case FED_EV_DELETE:
        fed_verb_delete(fed, event);
        break;
    case FED_EV_SCALE:
        fed_verb_scale(fed, event);
        break;
    case FED_EV_HOLD:
        fed_verb_hold(fed, event);
        break;
    case FED_EV_RESUME:
        fed_verb_resume(fed, event);
        break;
    case FED_EV_CORDON:
        fed_verb_cordon(fed, event);
        break;
    case FED_EV_FORGET:
        fed_verb_forget(fed, event);
        break;
    case FED_EV_FREEZE:
        fed_freeze_verb(fed, event);
        break;
    case FED_EV_CLAIM:
        fed_claims_verb(fed, event);
        break;
    case FED_EV_MIGRATE:
        fed_cross_verb(fed, event);
        break;
    default:
        assert(event->kind == FED_EV_BARRIER);
        fed_reply_done(fed, event->request, FED_OUTCOME_DONE, (struct tf_uid){{0}}, 0);
        break;
    }
}

static void take_event(struct fed *fed, struct fed_event *event)
{
    switch (event->kind) {
    case FED_EV_BOOT:
        fed_load_boot(fed, event);
        break;
    case FED_EV_RECORD:
        fed_load_record(fed, &event->record);
        break;
    case FED_EV_LOADED:
        fed_load_done(fed);
        break;
    case FED_EV_COMMITTED:
        tf_journal_committed(fed->journal);
        break;
    case FED_EV_ARCHIVED:
        fed_retention_archived(fed, event->archived);
        break;
    case FED_EV_SETTINGS:
        fed_load_settings(fed, &event->settings);
        break;
    case FED_EV_QUOTA:
        take_quota(fed, event->quota_percent);
        break;
    case FED_EV_LINK_UP:
        fed_link_up(fed, event->link, &event->hello);
        break;
    case FED_EV_LINK_DOWN:
        fed_link_down(fed, event->link, event->left);
        break;
    case FED_EV_UP:
        fed_link_said(fed, event->link, &event->up);
        break;
    case FED_EV_TIMER:
        fed->wake = TF_NEVER;
        break;
    case FED_EV_CONTINUE:
        fed->continuing = false;
        break;
    default:
        assert(is_request(event->kind));
        take_request(fed, event);
        break;
    }
}

/* ---- what follows ---- */

static struct tf_mono earlier(struct tf_mono a, struct tf_mono b)
{
    return a.ms < b.ms ? a : b;
}

static void wish_wake(struct fed *fed)
{
    struct tf_mono next =
        earlier(earlier(fed_refusals_next(fed), fed_links_next(fed)),
                earlier(fed_retention_next(fed), earlier(fed_freeze_next(fed), fed_claims_next(fed))));
    next = earlier(next, fed_mix_next(fed));
    next = earlier(earlier(next, fed_reservations_next(fed)), fed_cross_next(fed));
    if (next.ms == fed->wake.ms || next.ms == TF_NEVER.ms)
        return;
    fed->wake = next;
    fed_outbox_now(fed, (struct fed_action){.kind = FED_ACT_WAKE, .wake = next});
}

static void wish_continue(struct fed *fed)
{
    if (!fed->unfinished || fed->continuing)
        return;
    fed->continuing = true;
    fed_outbox_now(fed, (struct fed_action){.kind = FED_ACT_CONTINUE});
}

void fed_step(struct fed *fed, struct tf_now now, struct fed_event *event, struct fed_actions *actions)
{
    fed->now = now;
    fed->out = actions;
    if (!refuse_closed(fed, event))
        take_event(fed, event);
    fed_event_release(event);
    fed_links_judge(fed);
    fed_freeze_expire(fed);
    fed_reservations_expire(fed);
    fed_refusals_expire(fed);
    fed_retention_run(fed);
    fed_cross_run(fed);
    fed_place_round(fed);
    fed_claims_run(fed);
    fed_mix_run(fed);
    fed_desired_flush(fed);
    fed_considered_tell(fed);
    wish_wake(fed);
    wish_continue(fed);
    fed_outbox_flush(fed);
    fed->out = NULL;
}
