/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the page as a whole: one file without anything to fetch, and without a script. */
#include "tools/fedsim/report/page.h"

#include "common/base/cleanup.h"

#include <inttypes.h>

/* ---- classes ---- */

static void find_classes(struct page *page)
{
    const struct tf_classes *ranks = &page->report->ranks;
    for (size_t i = ranks->count; i-- > 0;) {
        struct report_group *class = NULL;
        HASH_FIND_STR(page->report->classes, ranks->items[i].name, class);
        if (class && page->class_count < TF_CLASSES_MAX)
            page->classes[page->class_count++] = class;
    }
}

/* ---- sections ---- */

void page_section(struct page *page, const char *title, const char *what)
{
    tf_buf_fmt(page->out, "<section><h2>%s</h2><p class=\"what\">%s</p>\n", title, what);
}

void page_section_end(struct page *page)
{
    tf_buf_str(page->out, "</section>\n");
}

/* ---- the head ---- */

static void title(struct page *page, const struct report_frame *frame)
{
    page_escaped(page->out, frame->scenario ? frame->scenario : "a scenario without a name");
}

static void facts(struct page *page, const struct report_frame *frame)
{
    const struct report *report = page->report;
    struct tf_buf *out = page->out;
    tf_buf_str(out, "<p class=\"facts\">");
    page_time(out, report->now);
    tf_buf_str(out, " simulated, ");
    page_number(out, (double)report->all.submitted, 0);
    tf_buf_fmt(out, " %s, %u %s, seed %" PRIu64 "</p>\n", report->all.submitted == 1 ? "job" : "jobs",
               HASH_COUNT(report->clusters), HASH_COUNT(report->clusters) == 1 ? "cluster" : "clusters",
               frame->seed);
    if (frame->policy) {
        tf_buf_str(out, "<p class=\"policy\">Decided by ");
        page_escaped(out, frame->policy);
        tf_buf_str(out, ", for comparison</p>\n");
    }
    if (frame->breach) {
        tf_buf_str(out, "<p class=\"breach\" role=\"alert\">A promise broke: ");
        page_escaped(out, frame->breach);
        tf_buf_str(out, "</p>\n");
    }
}

static void key(struct page *page, const char *name, const char *group, const char *figure,
                enum page_form form)
{
    tf_buf_str(page->out, "<div><dt>");
    page_escaped(page->out, name);
    tf_buf_str(page->out, "</dt><dd>");
    page_figure(page, group, figure, form);
    tf_buf_str(page->out, "</dd></div>\n");
}

/* What one would ask first. */
static void keys(struct page *page)
{
    tf_buf_str(page->out, "<dl class=\"keys\">\n");
    key(page, "of all GPU-time held", "", "gpuAllocation", PAGE_PERCENT);
    key(page, "held in usable sizes", "", "gpuUsable", PAGE_PERCENT);
    if (page->class_count) {
        const char *first = page->classes[0]->name;
        TF_AUTO_FREE char *group = tf_asprintf("classes.%s.", first);
        TF_AUTO_FREE char *name = tf_asprintf("P99 of waits in %s", first);
        key(page, name, group, "waitSeconds.p99", PAGE_TIME);
    }
    key(page, "jobs completed", "", "jobsCompleted", PAGE_COUNT);
    key(page, "instances evicted", "", "evictions", PAGE_COUNT);
    key(page, "GPU-hours of work lost", "", "lostGpuHours", PAGE_HOURS);
    tf_buf_str(page->out, "</dl>\n");
}

static void head(struct page *page, const struct report_frame *frame)
{
    tf_buf_str(page->out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                          "<link rel=\"icon\" href=\"data:,\">\n<title>");
    title(page, frame);
    tf_buf_str(page->out, "</title>\n");
    page_style(page->out);
    tf_buf_str(page->out, "</head><body>\n<header><h1>");
    title(page, frame);
    tf_buf_str(page->out, "</h1>\n");
    facts(page, frame);
    keys(page);
    tf_buf_str(page->out, "</header>\n<main>\n");
}

static void foot(struct page *page)
{
    tf_buf_str(page->out, "</main>\n<footer>Simulated by <code>fedsim</code> through the cores that run in "
                          "production. Areas have one step for each ");
    page_time(page->out, report_line_width(&page->report->all.there.line));
    tf_buf_str(page->out, "; steps sum to the figures of <code>--report json</code>, under the same names."
                          "</footer>\n</body></html>\n");
}

void report_page(struct report *report, const struct report_frame *frame, struct tf_buf *out)
{
    struct page page = {.report = report, .out = out};
    find_classes(&page);
    head(&page, frame);
    page_over_time(&page);
    page_clusters(&page);
    page_spreads(&page);
    page_nodes(&page);
    foot(&page);
}
