/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds the core and carries out its actions, in order. Decides nothing. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"

#include <assert.h>

static void on_wake(struct tf_timer *timer)
{
    struct fedd *fedd = TF_CONTAINER_OF(timer, struct fedd, wake);
    host_step(fedd, &(struct fed_event){.kind = FED_EV_TIMER});
}

static void on_again(struct tf_inbox_item *item)
{
    struct fedd *fedd = TF_CONTAINER_OF(item, struct fedd, again);
    fedd->again_posted = false;
    if (fedd->fed && fedd->loaded)
        host_step(fedd, &(struct fed_event){.kind = FED_EV_CONTINUE});
}

static void ask_again(struct fedd *fedd)
{
    if (fedd->again_posted)
        return;
    fedd->again_posted = true;
    fedd->again.run = on_again;
    tf_loop_post(fedd->loop, &fedd->again);
}

/* ---- actions ---- */

/* Watchers see what is durable: the jobs of a transaction are kept until it is; they are taken. */
static void keep_for_watchers(struct fedd *fedd, struct tf_record *records, size_t count)
{
    if (!fedd->watchers)
        return;
    for (size_t i = 0; i < count; i++) {
        if (records[i].kind != TF_RECORD_JOB)
            continue;
        struct tf_job_record *job = tf_vec_add(&fedd->published);
        *job = records[i].job;
        if (records[i].gone)
            job->phase = TF_PHASE_NONE;
        records[i] = (struct tf_record){0};
    }
}

static void publish(struct fedd *fedd)
{
    tf_vec_each (job, &fedd->published) {
        watch_publish(fedd, job, job->phase == TF_PHASE_NONE);
        tf_job_record_release(job);
    }
    fedd->published.count = 0;
}

static void perform(struct fedd *fedd, struct fed_action *action)
{
    switch (action->kind) {
    case FED_ACT_NONE:
        break;
    case FED_ACT_PERSIST:
        tf_tally_sent(&fedd->tally, action->persist.count);
        census_stale(fedd);
        tf_keep_commit(fedd->keep, action->persist.items, action->persist.count);
        keep_for_watchers(fedd, action->persist.items, action->persist.count);
        break;
    case FED_ACT_REPLY:
        requests_answer(fedd, &action->reply);
        break;
    case FED_ACT_SEND:
        links_send(fedd, action->link, &action->send);
        break;
    case FED_ACT_CLOSE:
        links_close(fedd, action->link, action->text);
        break;
    case FED_ACT_ARCHIVE:
        archive_append(fedd, &action->archive);
        break;
    case FED_ACT_WAKE:
        tf_timer_start(fedd->loop, &fedd->wake, action->wake, on_wake);
        break;
    case FED_ACT_CONTINUE:
        ask_again(fedd);
        break;
    case FED_ACT_TRACE:
        fedd->tally.decisions++;
        tf_decisions_line(fedd->decisions, action->text);
        break;
    case FED_ACT_ALARM:
        fedd->tally.alarms++;
        tf_log_error("%s", action->text);
        break;
    }
}

static void step(struct fedd *fedd, struct fed_event *event)
{
    struct fed_actions actions = {0};
    int64_t began = tf_tally_clock();
    struct tf_now now = tf_loop_now(fedd->loop);
    tf_recorder_event(fedd->recorder, now, event);
    fed_step(fedd->fed, now, event, &actions);
    tf_recorder_actions(fedd->recorder, fedd->fed, &actions);
    for (size_t i = 0; i < actions.count; i++)
        perform(fedd, &actions.items[i]);
    fed_actions_release(&actions);
    tf_tally_step(&fedd->tally, began);
}

void host_step(struct fedd *fedd, struct fed_event *event)
{
    tf_vec_push(&fedd->waiting, *event);
    if (fedd->stepping)
        return;
    assert(fedd->fed);
    fedd->stepping = true;
    for (size_t i = 0; i < fedd->waiting.count; i++) {
        struct fed_event next = fedd->waiting.items[i];
        step(fedd, &next);
    }
    fedd->waiting.count = 0;
    fedd->stepping = false;
}

void host_committed(struct fedd *fedd)
{
    tf_tally_committed(&fedd->tally);
    publish(fedd);
    host_step(fedd, &(struct fed_event){.kind = FED_EV_COMMITTED});
}

void host_release(struct fedd *fedd)
{
    while (fedd->again_posted)
        tf_loop_turn(fedd->loop, 0);
    host_reset(fedd);
    tf_vec_release(&fedd->waiting);
    tf_vec_release(&fedd->published);
}

void host_reset(struct fedd *fedd)
{
    assert(!fedd->stepping);
    tf_tally_dropped(&fedd->tally);
    census_reset(fedd);
    tf_timer_cancel(fedd->loop, &fedd->wake);
    tf_vec_each (event, &fedd->waiting)
        fed_event_release(event);
    fedd->waiting.count = 0;
    tf_vec_each (job, &fedd->published)
        tf_job_record_release(job);
    fedd->published.count = 0;
}
