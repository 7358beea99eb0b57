/* SPDX-License-Identifier: Apache-2.0 */
/* Owns a scenario as a whole: made, read, written, and what its parts mean together. */
#include "tools/fedsim/scenario/scenario.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/quantity.h"
#include "common/base/text.h"

enum { FILE_BYTES_MAX = TF_CONF_BYTES_MAX };

void scenario_init(struct scenario *scenario)
{
    tf_table_init(scenario_table(), scenario);
    tf_table_settle(scenario_table(), scenario);
}

void scenario_release(struct scenario *scenario)
{
    tf_table_release(scenario_table(), scenario);
}

void scenario_copy(struct scenario *to, const struct scenario *from)
{
    tf_table_copy(scenario_table(), to, from);
    tf_table_settle(scenario_table(), to);
}

bool scenario_eq(const struct scenario *a, const struct scenario *b)
{
    return tf_table_eq(scenario_table(), a, b);
}

bool scenario_check(struct scenario *scenario, struct tf_complaints *out)
{
    tf_table_settle(scenario_table(), scenario);
    return tf_table_check(scenario_table(), scenario, out);
}

void scenario_yaml(const struct scenario *scenario, struct tf_buf *out)
{
    tf_table_yaml(scenario_table(), scenario, out);
}

int scenario_read(const char *text, size_t len, struct scenario *scenario, struct tf_conf_problems *problems)
{
    return tf_conf_read_text(text, len, NULL, scenario_table(), scenario, problems);
}

int scenario_load(const char *path, struct scenario *scenario, struct tf_conf_problems *problems)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    *scenario = (struct scenario){0};
    if (tf_conf_read_file(path, FILE_BYTES_MAX, &text, &err) == 0)
        return scenario_read(tf_buf_text(&text), text.len, scenario, problems);
    tf_conf_problems_add(problems, 0, 0, "", "%s", err.text);
    return -1;
}

/* ---- expectations ---- */

static bool is_said(const struct scenario_assertion *assertion)
{
    return assertion->job || assertion->cluster || assertion->node || assertion->metric;
}

bool scenario_expect_is_always(const struct scenario_expect *expect)
{
    return is_said(&expect->always);
}

const struct scenario_assertion *scenario_assertion_of(const struct scenario_expect *expect)
{
    return scenario_expect_is_always(expect) ? &expect->always : &expect->assertion;
}

void scenario_expect_between(const struct scenario_expect *expect, int64_t *from, int64_t *to)
{
    *from = *to = 0;
    if (expect->between.count != 2)
        return;
    (void)tf_duration_parse(expect->between.items[0], from, NULL);
    (void)tf_duration_parse(expect->between.items[1], to, NULL);
}

/* ---- the end ---- */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t last_of_expect(const struct scenario_expect *expect)
{
    int64_t from, to;
    scenario_expect_between(expect, &from, &to);
    if (expect->at != SCENARIO_END)
        to = later(to, expect->at);
    if (expect->within >= 0)
        to = later(to, expect->within + later(expect->after, 0));
    return to;
}

int64_t scenario_end(const struct scenario *scenario)
{
    int64_t last = 0;
    if (scenario->until >= 0)
        return scenario->until;
    tf_vec_each (job, &scenario->jobs)
        last = later(last, scenario_times_at(&job->at, scenario_times_count(&job->at) - 1));
    tf_vec_each (tide, &scenario->tides)
        last = later(last, tide->job.at.from + tide->period);
    tf_vec_each (event, &scenario->events)
        last = later(last, event->at + event->lasts);
    tf_vec_each (event, &scenario->faults)
        last = later(last, event->at + event->lasts);
    tf_vec_each (expect, &scenario->expect)
        last = later(last, last_of_expect(expect));
    return last + TF_HOUR;
}
