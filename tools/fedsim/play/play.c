/* SPDX-License-Identifier: Apache-2.0 */
/* Owns a run of a scenario from beginning to end, and its result. */
#include "tools/fedsim/play/private.h"

#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "tools/fedsim/rest.h"

#include <stdarg.h>

enum { FAILURES_MAX = 1000 };

void play_fail(struct play *play, int number, const char *fmt, ...)
{
    char text[1000];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (play->result->failures.count == FAILURES_MAX)
        return;
    tf_vec_push(&play->result->failures, (struct play_failure){number, tf_strdup(text)});
    world_say(&play->world, "scenario", "FAILS: %s", text);
}

/* ---- the run ---- */

static const char *verb_name(enum sim_verb verb)
{
    static const char *const names[] = {
        [SIM_SUBMIT] = "submit",   [SIM_DELETE] = "delete", [SIM_HOLD] = "hold",   [SIM_RESUME] = "resume",
        [SIM_LOOK] = "look",       [SIM_SCALE] = "scale",   [SIM_APPLY] = "apply", [SIM_RESTART] = "restart",
        [SIM_MIGRATE] = "migrate", [SIM_ABORT] = "abort",
    };
    return names[verb];
}

/* A user of a scenario asks for what can be done: a final no is a failure. */
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

/* This is what the event wants: a move that must be refused. */
static bool wants_refusal(const struct play *play, const struct scenario_event *event,
                          const struct play_refusal *refusal)
{
    int64_t job = event->refused ? play_job_find(play, event->migrate) : -1;
    return job >= 0 && refusal->verb == SIM_MIGRATE && refusal->job == &play->world.clients.jobs.items[job];
}

static bool is_wanted(const struct play *play, const struct play_refusal *refusal)
{
    tf_vec_each (event, &play->scenario->events)
        if (wants_refusal(play, event, refusal))
            return true;
    return false;
}

static void fail_not_refused(struct play *play)
{
    tf_vec_each (event, &play->scenario->events) {
        bool refused = !event->refused;
        tf_vec_each (r, &play->refusals)
            refused |= wants_refusal(play, event, r);
        if (!refused)
            play_fail(play, -1, "migrate %s to %s was to be refused, and was not", event->migrate, event->to);
    }
}

static void fail_refused(struct play *play)
{
    char first[TF_QUANTITY_TEXT], last[TF_QUANTITY_TEXT];
    tf_vec_each (r, &play->refusals) {
        if (is_wanted(play, r))
            continue;
        TF_AUTO_FREE char *more =
            r->times > 1 ? tf_asprintf(" (%llu times, the last at %s)", (unsigned long long)r->times,
                                       tf_duration_format(r->last, last))
                         : tf_strdup("");
        play_fail(play, -1, "at %s: %s %s/%s is refused: %s%s", tf_duration_format(r->first, first),
                  verb_name(r->verb), r->job->manifest.tenant, r->job->manifest.name, r->text, more);
    }
}

static void watch(void *arg, struct tf_mono next)
{
    struct play *play = arg;
    for (; play->numbered_done < play->numbered.count; play->numbered_done++) {
        const struct scenario_event *event = play->numbered.items[play->numbered_done];
        if ((uint64_t)event->at_event > play->world.agenda.done)
            break;
        play_happen(play, event);
    }
    if (next.ms > play->world.agenda.now.ms)
        play_expect_look(play, next);
}

static void run(struct play *play)
{
    for (bool end = false; !end;) {
        int64_t stop = play_expect_next(play);
        end = stop > play->until;
        struct tf_mono to = {end ? play->until : stop};
        if (!world_run(&play->world, to, 0))
            return;
        play_expect_look(play, (struct tf_mono){to.ms + 1});
        world_idle(&play->world, to);
        play_expect_at(play, to.ms);
    }
}

/* A fault by number is for one certain run: in another it may never come. */
static void note_what_never_came(struct play *play)
{
    for (size_t i = play->numbered_done; i < play->numbered.count; i++) {
        struct play_failure skipped = {
            -1, tf_asprintf("a fault at event %lld never came: the run had %llu events",
                            (long long)play->numbered.items[i]->at_event,
                            (unsigned long long)play->world.agenda.done)};
        tf_vec_push(&play->result->skipped, skipped);
    }
}

static void conclude(struct play *play)
{
    struct play_result *result = play->result;
    if (!play->scenario->world.rests) /* where anything may happen a user may be refused */
        fail_refused(play);
    fail_not_refused(play);
    note_what_never_came(play);
    result->breached = play->world.breached;
    result->hash = play->world.diary.mute ? 0 : play->world.diary.hash;
    result->events = play->world.agenda.done;
    result->ended = play->world.agenda.now.ms;
    result->expectations = play->scenario->expect.count;
    if (!result->breached)
        return;
    snprintf(result->breach, sizeof result->breach, "%s", audit_breach(play->world.audit));
    sim_diary_tail(&play->world.diary, play->options->tail);
}

static void release(struct play *play)
{
    struct play_name *name, *next;
    rival_destroy(play->rival);
    world_release(&play->world);
    truth_release(&play->truth);
    HASH_ITER (hh, play->names, name, next) {
        HASH_DEL(play->names, name);
        free(name);
    }
    tf_vec_release(&play->tides);
    tf_vec_release(&play->events);
    tf_vec_release(&play->numbered);
    tf_vec_release(&play->copies);
    tf_vec_release(&play->watches);
    tf_vec_release(&play->stops);
    tf_vec_each (r, &play->refusals)
        free(r->text);
    tf_vec_release(&play->refusals);
    tf_vec_release(&play->pins);
}

static void play_it(struct play *play)
{
    const struct play_options *options = play->options;
    play->world.check = options->check;
    play->world.diary.mute = play->world.check != SIM_CHECK_EVERY && !options->aloud;
    play->world.watch = watch;
    play->world.watch_arg = play;
    play_expect_begin(play);
    report_begin(play->result->report, &play->world);
    play_rival_begin(play); /* after who measures: they have heard of an end before anybody acts on it */
    if (options->begins)
        options->begins(options->arg, &play->world);
    if (play->scenario->world.rests && !play->scenario->faults.count)
        audit_expect_calm(play->world.audit);
    world_start(&play->world);
    run(play);
    if (play->scenario->world.rests && !play->rival && !play->world.breached)
        world_comes_to_rest(&play->world);
    if (options->check != SIM_CHECK_OFF)
        world_check(&play->world);
    if (options->ends)
        options->ends(options->arg, &play->world);
    conclude(play);
    report_end(play->result->report);
}

int scenario_play(const struct scenario *scenario, const struct play_options *options,
                  struct play_result *result, struct tf_error *err)
{
    struct play play = {.scenario = scenario, .options = options, .result = result};
    *result = (struct play_result){0};
    play.until = options->until >= 0 ? options->until : scenario_end(scenario);
    world_init(&play.world, options->has_seed ? options->seed : (uint64_t)scenario->seed, options->aloud);
    play.world.record = options->record;
    truth_begin(&play.truth, &play.world);
    world_listen(&play.world, hear, &play);
    int failed = play_build(&play, err);
    if (!failed) {
        result->report = report_create();
        play_it(&play);
    }
    release(&play);
    result->reached = play.world.reached; /* the last daemons end with the world */
    return failed;
}

bool play_is_good(const struct play_result *result)
{
    return !result->breached && result->failures.count == 0;
}

void play_result_release(struct play_result *result)
{
    report_destroy(result->report);
    result->report = NULL;
    tf_vec_each (f, &result->failures)
        free(f->text);
    tf_vec_each (f, &result->skipped)
        free(f->text);
    tf_vec_release(&result->failures);
    tf_vec_release(&result->skipped);
}
