/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how far a run is, in a line. When it is asked for it is told the time: what is here has no clock. */
#include "tools/fedsim/program/progress.h"

#include "common/base/cleanup.h"
#include "common/base/quantity.h"

#include <inttypes.h>
#include <stdio.h>

void progress_begin(struct progress *p, const char *name, bool on, struct tf_mono now)
{
    *p = (struct progress){.name = name, .on = on, .begun = now, .told = now};
}

bool progress_is_due(const struct progress *p, struct tf_mono now)
{
    return p->on && now.ms - p->told.ms >= TF_SECOND;
}

/* To the minute: seconds of days are noise. */
static const char *span(int64_t ms, char text[TF_QUANTITY_TEXT])
{
    int64_t unit = ms >= TF_HOUR ? TF_MINUTE : TF_SECOND;
    return tf_duration_format(ms / unit * unit, text);
}

void progress_line(const struct progress *p, int64_t at, int64_t until, uint64_t events, struct tf_mono now,
                   struct tf_buf *out)
{
    char is[TF_QUANTITY_TEXT], all[TF_QUANTITY_TEXT], took[TF_QUANTITY_TEXT];
    int64_t percent = until > 0 ? (int64_t)(100.0 * (double)at / (double)until) : 100;
    tf_buf_fmt(out, "%.40s: %s of %s (%" PRId64 " %%), %" PRIu64 " events, %s", p->name, span(at, is),
               span(until, all), percent > 100 ? 100 : percent, events,
               span((now.ms - p->begun.ms) / TF_SECOND * TF_SECOND, took));
}

void progress_show(struct progress *p, int64_t at, int64_t until, uint64_t events, struct tf_mono now)
{
    TF_AUTO_BUF line = TF_BUF_INIT;
    progress_line(p, at, until, events, now, &line);
    fprintf(stderr, "\r%s\033[K", tf_buf_text(&line));
    fflush(stderr);
    p->told = now;
    p->shown = true;
}

void progress_end(struct progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = false;
}
