/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the page for people. */
#include "tools/fedsim/report/private.h"

#include "common/base/quantity.h"

#include <inttypes.h>

enum { TENANTS_SHOWN = 30, SIGNIFICANT_MS = 60 * TF_SECOND };

/* A few letters: "850ms", "12s", "1h4m". */
static const char *brief(int64_t ms, char text[TF_QUANTITY_TEXT])
{
    int64_t unit = ms < TF_SECOND ? 1 : ms < 60 * SIGNIFICANT_MS ? TF_SECOND : SIGNIFICANT_MS;
    return tf_duration_format(ms / unit * unit, text);
}

static double hours(int64_t gpu_ms)
{
    return (double)gpu_ms / (3600.0 * TF_SECOND);
}

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- the head ---- */

static void head(const struct report *report, const struct report_frame *frame, struct tf_buf *out)
{
    char text[TF_QUANTITY_TEXT];
    tf_buf_fmt(out, "%s\n", frame->scenario ? frame->scenario : "a scenario without a name");
    tf_buf_fmt(out, "  seed %" PRIu64 ", %s simulated in %.2f s and %" PRId64 " MiB, %" PRIu64 " events\n",
               frame->seed, brief(report->now, text), (double)frame->wall_ms / TF_SECOND,
               frame->peak_kib / 1024, report->events);
    if (frame->policy)
        tf_buf_fmt(out, "  decided by %s\n", frame->policy);
    if (frame->breach)
        tf_buf_fmt(out, "  BREACH %s\n", frame->breach);
}

static void jobs(const struct report *report, struct tf_buf *out)
{
    const struct report_group *g = &report->all;
    tf_buf_fmt(out,
               "\nJobs      %" PRId64 " submitted: %" PRId64 " completed, %" PRId64 " failed, %" PRId64
               " deleted, %" PRId64 " run, %" PRId64 " wait\n",
               g->submitted, g->completed, g->failed, g->deleted, g->running, g->pending);
    tf_buf_fmt(out,
               "Changes   %" PRId64 " placements (%" PRId64 " refused), %" PRId64 " restarts, %" PRId64
               " resizes, %" PRId64 " requeued\n",
               g->placements, g->refused, g->restarts, g->resizes, g->requeued);
    tf_buf_fmt(out,
               "Evictions %" PRId64 " instances, %" PRId64 " jobs (%" PRId64
               " redundant); migrations %" PRId64 ", rolled back %" PRId64 "; nodes vacated %" PRId64 "\n",
               g->evictions, g->jobs_evicted, g->redundant, g->migrations, g->rolled_back, g->vacated);
}

/* ---- GPUs ---- */

static void fleet_row(const struct report *report, const struct report_group *g, const char *name,
                      struct tf_buf *out)
{
    int64_t there = report_integral_at(&g->there, report->now), idle = 0;
    int64_t held = report_integral_at(&g->held, report->now);
    for (int cause = 0; cause < REPORT_CAUSES; cause++)
        idle += g->idle[cause];
    tf_buf_fmt(out, "  %-20.20s %12.0f %7.1f%% %7.1f%%", name, hours(there), percent(held, there),
               percent(report_integral_at(&g->usable, report->now), there));
    for (int cause = 0; cause < REPORT_CAUSES; cause++)
        tf_buf_fmt(out, " %10.1f%%", percent(g->idle[cause], idle));
    tf_buf_char(out, '\n');
}

static void fleet(const struct report *report, struct tf_buf *out)
{
    tf_buf_fmt(out,
               "\nGPUs      %.0f GPU-hours of work lost; why idle GPUs are idle, in parts of idle time\n",
               hours(report->all.lost));
    tf_buf_fmt(out, "  %-20s %12s %8s %8s", "cluster", "GPU-hours", "held", "usable");
    for (int cause = 0; cause < REPORT_CAUSES; cause++)
        tf_buf_fmt(out, " %11s", report_cause_names[cause]);
    tf_buf_char(out, '\n');
    fleet_row(report, &report->all, "all", out);
    for (const struct report_group *g = report->clusters; g; g = g->hh.next)
        fleet_row(report, g, g->name, out);
}

/* ---- times ---- */

static void times_row(const char *what, const char *name, struct report_samples *samples, struct tf_buf *out)
{
    static const int percents[] = {50, 95, 99, 100};
    char text[TF_QUANTITY_TEXT];
    if (!samples->ms.count)
        return;
    tf_buf_fmt(out, "  %-8s %-20.20s %8zu %11s", what, name, samples->ms.count,
               brief(report_mean(samples), text));
    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++)
        tf_buf_fmt(out, " %11s", brief(report_percentile(samples, percents[i]), text));
    tf_buf_char(out, '\n');
}

static void times_of(struct report_group *g, const char *name, struct tf_buf *out)
{
    times_row("wait", name, &g->waits, out);
    times_row("complete", name, &g->completions, out);
    times_row("reclaim", name, &g->reclaims, out);
}

static void times(struct report *report, struct tf_buf *out)
{
    int shown = 0;
    tf_buf_fmt(out, "\nTimes     from the submit: until it ran, until it was done, until it ran by "
                    "evictions; of those jobs that did\n");
    tf_buf_fmt(out, "  %-8s %-20s %8s %11s %11s %11s %11s %11s\n", "", "", "jobs", "mean", "median", "P95",
               "P99", "max");
    times_of(&report->all, "all", out);
    for (struct report_group *g = report->classes; g; g = g->hh.next)
        times_of(g, g->name, out);
    for (struct report_group *g = report->tenants; g && shown < TENANTS_SHOWN; g = g->hh.next, shown++)
        times_of(g, g->name, out);
    unsigned tenants = HASH_COUNT(report->tenants);
    if (tenants > TENANTS_SHOWN)
        tf_buf_fmt(out, "  and %u tenants more: --report json has them all\n", tenants - TENANTS_SHOWN);
}

void report_text(struct report *report, const struct report_frame *frame, struct tf_buf *out)
{
    head(report, frame, out);
    jobs(report, out);
    fleet(report, out);
    times(report, out);
}
