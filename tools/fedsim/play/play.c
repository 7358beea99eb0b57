/* SPDX-License-Identifier: Apache-2.0 */
/* Owns a run of a scenario from beginning to end, and its result. */
#include "tools/fedsim/play/private.h"

#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "tools/fedsim/rest.h"

#include <stdarg.h>

enum { FAILURES_MAX = 1000 };

/* where: taken. */
static void add_failure(struct play *play, int number, char *where, const char *fmt, va_list args)
{
    char text[1000];
    vsnprintf(text, sizeof text, fmt, args);
    if (play->result->failures.count == FAILURES_MAX) {
        free(where);
        return;
    }
    tf_vec_push(&play->result->failures, (struct play_failure){number, where, tf_strdup(text)});
    world_say(&play->world, "scenario", "FAILS: %s", text);
}

void play_fail(struct play *play, int number, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_failure(play, number, tf_asprintf("expect[%d]", number), fmt, args);
    va_end(args);
}

void play_fail_at(struct play *play, const char *where, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_failure(play, -1, where ? tf_strdup(where) : NULL, fmt, args);
    va_end(args);
}

void play_fail_event(struct play *play, const struct scenario_event *event, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_failure(play, -1, play_event_path(play, event), fmt, args);
    va_end(args);
}

void play_skip(struct play *play, int number, char *where, char *text)
{
    tf_vec_push(&play->result->skipped, (struct play_failure){number, where, text});
}

void play_note_event(struct play *play, const struct scenario_event *event, const char *fmt, ...)
{
    char text[1000];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tf_vec_push(&play->result->notes,
                (struct play_failure){-1, play_event_path(play, event), tf_strdup(text)});
}

int play_wrong(struct play *play, char *where)
{
    free(play->result->where);
    play->result->where = where;
    return -1;
}

/* ---- the run ---- */

static void tell(struct play *play)
{
    enum { EVENTS = 4096 }; /* a moment's work: whoever is told may look at a clock */
    const struct play_options *options = play->options;
    uint64_t done = play->world.agenda.done;
    if (!options->goes_on || done < play->told + EVENTS)
        return;
    play->told = done;
    options->goes_on(options->goes_on_arg, play->world.agenda.now.ms, play->until, done);
}

static void watch(void *arg, struct tf_mono next)
{
    struct play *play = arg;
    tell(play);
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

/* Named like expectations that are too late: a run that never did what it was written for proves nothing. */
static void note_what_is_too_late(struct play *play)
{
    char at[TF_QUANTITY_TEXT], until[TF_QUANTITY_TEXT];
    const struct scenario_event *first = NULL;
    size_t count = 0;
    tf_vec_each (event, &play->scenario->events) {
        count += event->at > play->until;
        if (event->at > play->until && (!first || event->at < first->at))
            first = event;
    }
    if (!first)
        return;
    tf_duration_format(first->at, at);
    tf_duration_format(play->until, until);
    play_skip(play, -1, play_event_path(play, first),
              tf_asprintf("%zu event%s later than the end, the first at %s, and the run ended at %s", count,
                          count == 1 ? " is" : "s are", at, until));
}

/* A fault by number is for one certain run: in another it may never come. */
static void note_what_never_came(struct play *play)
{
    for (size_t i = play->numbered_done; i < play->numbered.count; i++) {
        const struct scenario_event *event = play->numbered.items[i];
        play_skip(play, -1, play_event_path(play, event),
                  tf_asprintf("a fault at event %lld never came: the run had %llu events",
                              (long long)event->at_event, (unsigned long long)play->world.agenda.done));
    }
}

static void conclude(struct play *play)
{
    struct play_result *result = play->result;
    play_refusals_judge(play);
    play_orders_judge(play);
    note_what_never_came(play);
    if (!play->result->breached && !play->world.breached)
        note_what_is_too_late(play);
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
    tf_vec_release(&play->origins);
    play_refusals_release(play);
    play_orders_release(play);
    tf_vec_release(&play->pins);
    tf_vec_release(&play->held_back);
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
    play_refusals_begin(&play);
    play_orders_begin(&play);
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

static void failure_release(struct play_failure *failure)
{
    free(failure->where);
    free(failure->text);
}

void play_result_release(struct play_result *result)
{
    report_destroy(result->report);
    result->report = NULL;
    free(result->where);
    result->where = NULL;
    tf_vec_each (f, &result->failures)
        failure_release(f);
    tf_vec_each (f, &result->skipped)
        failure_release(f);
    tf_vec_each (f, &result->notes)
        failure_release(f);
    tf_vec_release(&result->notes);
    tf_vec_release(&result->failures);
    tf_vec_release(&result->skipped);
}
