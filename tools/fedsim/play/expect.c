/* SPDX-License-Identifier: Apache-2.0 */
/* Owns when expectations are looked at. Whether one holds at a moment is assertion.c's. */
#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "tools/fedsim/play/private.h"

static void skip(struct play *play, size_t number, int64_t when)
{
    char text[TF_QUANTITY_TEXT], until[TF_QUANTITY_TEXT];
    play_skip(play, (int)number, tf_asprintf("expect[%zu]", number),
              tf_asprintf("is about %s, and the run ended at %s", tf_duration_format(when, text),
                          tf_duration_format(play->until, until)));
}

/* ---- stops ---- */

static void stop_at(struct play *play, int64_t at, size_t number, int64_t watch)
{
    const struct play_stop stop = {at, number, watch};
    tf_vec_push(&play->stops, stop);
    struct play_stop *items = play->stops.items;
    for (size_t i = play->stops.count - 1; i > 0 && items[i - 1].at > at; i--) {
        items[i] = items[i - 1];
        items[i - 1] = stop;
    }
}

int64_t play_expect_next(const struct play *play)
{
    return play->stopped < play->stops.count ? play->stops.items[play->stopped].at : INT64_MAX;
}

/* ---- longer times ---- */

static void add_watch(struct play *play, size_t number, const struct scenario_expect *e)
{
    struct play_watch watch = {.number = number, .assertion = scenario_assertion_of(e), .to = play->until};
    if (e->within >= 0) {
        watch.from = e->after >= 0 ? e->after : 0;
        watch.to = watch.from + e->within;
        watch.once = true;
    } else if (e->between.count) {
        scenario_expect_between(e, &watch.from, &watch.to);
    }
    if (watch.to > play->until) {
        skip(play, number, watch.to);
        return;
    }
    stop_at(play, watch.to, number, (int64_t)play->watches.count);
    tf_vec_push(&play->watches, watch);
}

static void fail(struct play *play, struct play_watch *watch, int64_t now, const char *why)
{
    char text[TF_QUANTITY_TEXT];
    watch->failed = true;
    play_fail(play, (int)watch->number, "%s%s: %s", watch->once ? "by " : "at ",
              tf_duration_format(now, text), why);
}

static void look(struct play *play, struct play_watch *watch, struct tf_mono as_of)
{
    TF_AUTO_BUF why = TF_BUF_INIT;
    watch->seen = play->truth.changes;
    if (play_assertion_holds(play, watch->assertion, as_of, &why))
        watch->held = true;
    else if (!watch->once)
        fail(play, watch, as_of.ms, tf_buf_text(&why));
}

static bool is_settled(const struct play_watch *watch)
{
    return watch->failed || (watch->once && watch->held);
}

/* Nothing changes in between, but waiting grows: what must hold throughout is judged by the last moment. */
void play_expect_look(struct play *play, struct tf_mono next)
{
    struct tf_mono now = play->world.agenda.now;
    tf_vec_each (watch, &play->watches) {
        int64_t first = watch->from > now.ms ? watch->from : now.ms;
        int64_t last = watch->to < next.ms - 1 ? watch->to : next.ms - 1;
        bool same = watch->seen && watch->seen == play->truth.changes && watch->assertion->waiting < 0;
        if (first <= last && !same && !is_settled(watch))
            look(play, watch, (struct tf_mono){watch->once ? first : last});
    }
}

/* ---- moments ---- */

static void end_watch(struct play *play, struct play_watch *watch)
{
    TF_AUTO_BUF why = TF_BUF_INIT;
    if (!is_settled(watch) &&
        !play_assertion_holds(play, watch->assertion, (struct tf_mono){watch->to}, &why))
        fail(play, watch, watch->to, tf_buf_text(&why));
}

static void look_at_moment(struct play *play, const struct play_stop *stop)
{
    const struct scenario_expect *e = &play->scenario->expect.items[stop->number];
    TF_AUTO_BUF why = TF_BUF_INIT;
    char text[TF_QUANTITY_TEXT];
    if (!play_assertion_holds(play, scenario_assertion_of(e), (struct tf_mono){stop->at}, &why))
        play_fail(play, (int)stop->number, "at %s: %s", tf_duration_format(stop->at, text),
                  tf_buf_text(&why));
}

void play_expect_at(struct play *play, int64_t now)
{
    for (; play_expect_next(play) <= now; play->stopped++) {
        const struct play_stop *stop = &play->stops.items[play->stopped];
        if (stop->watch >= 0)
            end_watch(play, &play->watches.items[stop->watch]);
        else
            look_at_moment(play, stop);
    }
}

void play_expect_begin(struct play *play)
{
    if (play_is_compared(play)) /* what is expected is expected of all of tidefed */
        return;
    for (size_t i = 0; i < play->scenario->expect.count; i++) {
        const struct scenario_expect *e = &play->scenario->expect.items[i];
        int64_t at = e->at == SCENARIO_END ? play->until : e->at;
        if (e->at < 0)
            add_watch(play, i, e);
        else if (at > play->until)
            skip(play, i, at);
        else
            stop_at(play, at, i, -1);
    }
}
