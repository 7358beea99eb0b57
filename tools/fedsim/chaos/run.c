/* SPDX-License-Identifier: Apache-2.0 */
/* One run: drawn, played, counted. */
#include "tools/fedsim/chaos/chaos.h"
#include "tools/fedsim/play/play.h"

#include "common/base/cleanup.h"

#include <ctype.h>

struct run {
    const struct chaos_options *options;
    struct chaos_result *result;
};

static void begins(void *arg, struct sim_world *world)
{
    const struct run *run = arg;
    world->renew_every = run->options->renew_every;
}

static void ends(void *arg, struct sim_world *world)
{
    struct run *run = arg;
    struct chaos_result *result = run->result;
    result->stale_messages = world->stale_messages;
    result->restored = world->operator.restored;
    result->found_out = world->operator.found_out;
    result->counts = audit_counts(world->audit);
}

void chaos_play(const struct scenario *scenario, const struct chaos_options *options,
                struct chaos_result *result)
{
    struct run run = {options, result};
    struct play_options play = {.until = -1,
                                .aloud = options->aloud,
                                .tail = options->tail,
                                .record = options->record,
                                .begins = begins,
                                .ends = ends,
                                .arg = &run};
    struct play_result played;
    struct tf_error err = TF_ERROR_INIT;
    *result = (struct chaos_result){0};
    chaos_ingredients_count(scenario, result->drawn);
    if (scenario_play(scenario, &play, &played, &err)) {
        result->breached = true;
        snprintf(result->breach, sizeof result->breach, "it cannot be played: %s", err.text);
    } else {
        result->breached = played.breached;
        memcpy(result->breach, played.breach, sizeof result->breach);
        result->hash = played.hash;
        result->events = played.events;
        result->rested_ms = played.ended;
        result->reached = played.reached;
    }
    play_result_release(&played);
}

void chaos_run(const struct chaos_options *options, struct chaos_result *result)
{
    struct scenario scenario;
    chaos_draw(options->seed, options->size ? options->size : CHAOS_SMALL, &scenario);
    chaos_play(&scenario, options, result);
    scenario_release(&scenario);
}

/* ---- the kind of a breach ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '/' || c == '.';
}

/* A name, a number or an id has a digit or a dash in it. */
static bool is_name(const char *word, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (isdigit((unsigned char)word[i]) || word[i] == '/' || (word[i] == '-' && i > 0))
            return true;
    return false;
}

char *chaos_kind(const char *breach)
{
    struct tf_buf out = TF_BUF_INIT;
    const char *colon = strncmp(breach, "at ", 3) == 0 ? strchr(breach, ':') : NULL;
    for (const char *c = colon ? colon + 1 : breach; *c;) {
        size_t len = 0;
        while (is_word(c[len]))
            len++;
        bool invariant = len > 1 && len <= 3 && *c == 'I' && isdigit((unsigned char)c[1]);
        if (len && is_name(c, len) && !invariant)
            tf_buf_str(&out, "#");
        else
            tf_buf_add(&out, c, len ? len : 1);
        c += len ? len : 1;
    }
    char *kind = tf_strdup(tf_buf_text(&out));
    tf_buf_release(&out);
    return kind;
}
