/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what users were refused in a run: a user of a scenario asks for what can be done, so that a final no
 * is a failure, unless the event says that it must be one. */
#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "common/base/text.h"
#include "tools/fedsim/play/private.h"

static const char *verb_name(enum sim_verb verb)
{
    static const char *const names[] = {
        [SIM_SUBMIT] = "submit",   [SIM_DELETE] = "delete", [SIM_HOLD] = "hold",   [SIM_RESUME] = "resume",
        [SIM_LOOK] = "look",       [SIM_SCALE] = "scale",   [SIM_APPLY] = "apply", [SIM_RESTART] = "restart",
        [SIM_MIGRATE] = "migrate", [SIM_ABORT] = "abort",
    };
    return names[verb];
}

static void hear(void *arg, const struct sim_fact *fact)
{
    struct play *play = arg;
    int64_t now = play->world.agenda.now.ms;
    if (fact->kind != SIM_FACT_ANSWERED || fact->code == TF_OK)
        return;
    tf_vec_each (r, &play->refusals) {
        if (r->job != fact->job || r->verb != fact->verb || strcmp(r->text, fact->text) != 0)
            continue;
        r->last = now;
        r->times++;
        return;
    }
    tf_vec_push(&play->refusals, (struct play_refusal){.job = fact->job,
                                                       .verb = fact->verb,
                                                       .text = tf_strdup(fact->text),
                                                       .first = now,
                                                       .last = now,
                                                       .times = 1});
}

void play_refusals_begin(struct play *play)
{
    world_listen(&play->world, hear, play);
}

void play_refusals_release(struct play *play)
{
    tf_vec_each (r, &play->refusals)
        free(r->text);
    tf_vec_release(&play->refusals);
}

/* ---- whose fault it is ---- */

/* The job that the event makes its user ask that for; NULL: it does not. */
static const char *asks(const struct scenario_event *event, enum sim_verb verb)
{
    switch (verb) {
    case SIM_SUBMIT:
        return event->submit;
    case SIM_DELETE:
        return event->delete_job;
    case SIM_HOLD:
        return event->hold;
    case SIM_RESUME: /* what was held for a while is resumed by the same event */
        return event->resume ? event->resume : event->hold;
    case SIM_LOOK:
        return event->look;
    case SIM_SCALE:
        return event->scale;
    case SIM_APPLY:
        return event->apply;
    case SIM_RESTART:
        return event->restart;
    case SIM_MIGRATE:
    case SIM_ABORT:
        return event->migrate;
    }
    return NULL;
}

/* The last that asked for it before the answer; a submit is the job's own. Owned by the caller. */
static char *where(const struct play *play, const struct play_refusal *r)
{
    const struct scenario_event *found = NULL;
    TF_AUTO_FREE char *name = tf_asprintf("%s/%s", r->job->manifest.tenant, r->job->manifest.name);
    tf_vec_each (event, &play->scenario->events)
        if (tf_str_eq(asks(event, r->verb), name) && event->at <= r->first &&
            (!found || event->at >= found->at))
            found = event;
    return found ? play_event_path(play, found) : play_job_path(play, r->job);
}

/* This is what the event wants: a move that must be refused. */
static bool wants(const struct play *play, const struct scenario_event *event,
                  const struct play_refusal *refusal)
{
    bool moves = event->refused && play_moves_job(play, event);
    int64_t job = moves ? play_job_find(play, event->migrate) : -1;
    return job >= 0 && refusal->verb == SIM_MIGRATE && refusal->job == &play->world.clients.jobs.items[job];
}

static bool is_wanted(const struct play *play, const struct play_refusal *refusal)
{
    tf_vec_each (event, &play->scenario->events)
        if (wants(play, event, refusal))
            return true;
    return false;
}

/* ---- the judgement ---- */

static void fail_not_refused(struct play *play)
{
    tf_vec_each (event, &play->scenario->events) {
        bool refused = !event->refused || !play_moves_job(play, event);
        tf_vec_each (r, &play->refusals)
            refused |= wants(play, event, r);
        if (!refused)
            play_fail_event(play, event, "migrate %s to %s was to be refused, and was not", event->migrate,
                            event->to);
    }
}

static void fail_refused(struct play *play)
{
    char first[TF_QUANTITY_TEXT], last[TF_QUANTITY_TEXT];
    tf_vec_each (r, &play->refusals) {
        if (is_wanted(play, r))
            continue;
        TF_AUTO_FREE char *at = where(play, r);
        TF_AUTO_FREE char *more =
            r->times > 1 ? tf_asprintf(" (%llu times, the last at %s)", (unsigned long long)r->times,
                                       tf_duration_format(r->last, last))
                         : tf_strdup("");
        play_fail_at(play, at, "at %s: %s %s/%s is refused: %s%s", tf_duration_format(r->first, first),
                     verb_name(r->verb), r->job->manifest.tenant, r->job->manifest.name, r->text, more);
    }
}

void play_refusals_judge(struct play *play)
{
    if (!play->scenario->world.rests) /* where anything may happen a user may be refused */
        fail_refused(play);
    fail_not_refused(play);
}
