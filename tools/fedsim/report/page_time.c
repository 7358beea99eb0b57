/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the four plots that share the time of the run: GPUs held, jobs that wait, who gave way, GPUs idle. */
#include "tools/fedsim/report/page.h"

#include <inttypes.h>

enum { ROWS_MAX = 24 };

/* ---- bands ---- */

static struct page_band *add_band(struct page_bands *bands, const char *name, int colour,
                                  const struct report_line *line)
{
    struct page_band *band = &bands->items[bands->count++];
    *band = (struct page_band){.colour = colour % PAGE_COLOURS, .line = line};
    snprintf(band->name, sizeof band->name, "%s", name);
    return band;
}

typedef const struct report_line *line_of_f(const struct report_group *class);

static const struct report_line *held_of(const struct report_group *class)
{
    return &class->held.line;
}
static const struct report_line *waiting_of(const struct report_group *class)
{
    return &class->waiting.line;
}
static const struct report_line *evicted_of(const struct report_group *class)
{
    return &class->evicted;
}
static const struct report_line *resized_of(const struct report_group *class)
{
    return &class->resized;
}

static struct page_bands of_classes(const struct page *page, line_of_f *line_of, const char *figure)
{
    struct page_bands bands = {0};
    for (size_t i = 0; i < page->class_count; i++) {
        const struct report_group *class = page->classes[i];
        struct page_band *band = add_band(&bands, class->name, (int)i, line_of(class));
        if (*figure)
            snprintf(band->series, sizeof band->series, "classes.%s.%s", class->name, figure);
    }
    return bands;
}

/* ---- tables ---- */

static void open_table(struct page *page, const char *class, const char *const *heads)
{
    tf_buf_fmt(page->out, "<div class=\"beside\"><table class=\"%s\"><thead><tr>", class);
    for (size_t i = 0; heads[i]; i++)
        tf_buf_fmt(page->out, "<th scope=\"col\">%s</th>", heads[i]);
    tf_buf_str(page->out, "</tr></thead><tbody>\n");
}

static void close_table(struct page *page)
{
    tf_buf_str(page->out, "</tbody></table></div>\n");
}

static void row_head(struct page *page, const char *name, int colour)
{
    tf_buf_str(page->out, "<tr><th scope=\"row\">");
    if (colour >= 0)
        tf_buf_fmt(page->out, "<i class=\"c%d\"></i>", colour % PAGE_COLOURS);
    page_escaped(page->out, name);
    tf_buf_str(page->out, "</th>");
}

static void cell(struct page *page, const char *group, const char *name, enum page_form form)
{
    tf_buf_str(page->out, "<td>");
    page_figure(page, group, name, form);
    tf_buf_str(page->out, "</td>");
}

struct column {
    const char *figure;
    enum page_form form;
};

/* A row for each class and one for all; rows is the table's only body. */
static void class_table(struct page *page, const char *const *heads, const struct column *columns)
{
    open_table(page, "of-classes", heads);
    for (size_t i = 0; i <= page->class_count; i++) {
        bool all = i == page->class_count;
        char group[PAGE_NAME + 80] = "";
        if (!all)
            snprintf(group, sizeof group, "classes.%s.", page->classes[i]->name);
        row_head(page, all ? "all" : page->classes[i]->name, all ? -1 : (int)i);
        for (const struct column *c = columns; c->figure; c++)
            cell(page, group, c->figure, c->form);
        tf_buf_str(page->out, "</tr>\n");
    }
    close_table(page);
}

/* ---- numbers over time, for those who do not see the plot ---- */

static void sums_row(struct page *page, const struct page_bands *bands, size_t from, size_t to, bool counts)
{
    for (size_t i = 0; i < bands->count; i++) {
        double value = page_over(page, bands->items[i].line, from, to, counts);
        tf_buf_str(page->out, "<td>");
        page_number(page->out, value, counts || value >= 100 ? 0 : 1);
        tf_buf_str(page->out, "</td>");
    }
}

static void sums_heads(struct page *page, const struct page_bands *bands, const char *before)
{
    for (size_t i = 0; i < bands->count; i++) {
        tf_buf_fmt(page->out, "<th scope=\"col\">%s", before);
        page_escaped(page->out, bands->items[i].name);
        tf_buf_str(page->out, "</th>");
    }
}

static void over_time(struct page *page, const struct page_stack *stack)
{
    size_t buckets = page_buckets(page), of_one = (buckets + ROWS_MAX - 1) / ROWS_MAX;
    int64_t width = report_line_width(&page->report->all.there.line);
    tf_buf_fmt(page->out,
               "<details><summary>In numbers: %s</summary><div class=\"scroll\"><table><thead><tr><th "
               "scope=\"col\">from</th>",
               stack->label);
    sums_heads(page, stack->up, stack->down ? "evicted: " : "");
    if (stack->down)
        sums_heads(page, stack->down, "resized: ");
    tf_buf_str(page->out, "</tr></thead><tbody>\n");
    for (size_t from = 0; from < buckets; from += of_one) {
        size_t to = from + of_one < buckets ? from + of_one : buckets;
        tf_buf_str(page->out, "<tr><th scope=\"row\">");
        page_time(page->out, (int64_t)from * width);
        tf_buf_str(page->out, "</th>");
        sums_row(page, stack->up, from, to, stack->counts);
        if (stack->down)
            sums_row(page, stack->down, from, to, stack->counts);
        tf_buf_str(page->out, "</tr>\n");
    }
    tf_buf_str(page->out, "</tbody></table></div></details>\n");
}

/* ---- plots ---- */

static void plot(struct page *page, const struct page_stack *stack, const char *nothing)
{
    bool any = page_highest(page, stack->up, stack->counts) > 0 ||
               (stack->down && page_highest(page, stack->down, stack->counts) > 0);
    tf_buf_str(page->out, "<div class=\"pair\"><div>\n");
    if (!any) {
        tf_buf_fmt(page->out, "<p class=\"none\">%s</p></div>\n", nothing);
        return;
    }
    page_stack(page, stack);
    over_time(page, stack);
    tf_buf_str(page->out, "</div>\n");
}

static void plot_end(struct page *page)
{
    tf_buf_str(page->out, "</div>\n");
    page_section_end(page);
}

static void held(struct page *page)
{
    static const char *const heads[] = {"class", "GPU-hours", "of all", "unmet GPU-h", NULL};
    static const struct column columns[] = {
        {"gpuHoursHeld", PAGE_HOURS}, {"gpuAllocation", PAGE_PERCENT}, {"unmetGpuHours", PAGE_HOURS}, {0}};
    struct page_bands bands = of_classes(page, held_of, "gpuHoursHeld");
    bool tide = page->report->tide.sum > 0;
    page_section(
        page, "GPUs by priority class",
        tide ? "Who held the GPUs. The dashed line is the tide: what services with a day of their own "
               "asked for."
             : "Who held the GPUs, under the line of those that were there.");
    plot(page,
         &(struct page_stack){.label = "GPUs held, by priority class",
                              .unit = "GPUs",
                              .up = &bands,
                              .tide = tide ? &page->report->tide.line : NULL,
                              .top = &page->report->all.there.line,
                              .height = 280},
         "No GPU was held.");
    class_table(page, heads, columns);
    plot_end(page);
}

static void waiting(struct page *page)
{
    static const char *const heads[] = {"class", "submitted", "wait now", "p50", "p99", "scale p99", NULL};
    static const struct column columns[] = {{"jobsSubmitted", PAGE_COUNT},   {"jobsPending", PAGE_COUNT},
                                            {"waitSeconds.p50", PAGE_TIME},  {"waitSeconds.p99", PAGE_TIME},
                                            {"scaleSeconds.p99", PAGE_TIME}, {0}};
    struct page_bands bands = of_classes(page, waiting_of, "");
    page_section(page, "Jobs that wait",
                 "Jobs of which nothing ran, though their users wanted it. In the table also how long those "
                 "that run waited "
                 "for more of what they asked for.");
    plot(page,
         &(struct page_stack){
             .label = "jobs that wait, by priority class", .unit = "jobs", .up = &bands, .height = 120},
         "No job had to wait long enough to be seen.");
    class_table(page, heads, columns);
    plot_end(page);
}

static void changes(struct page *page)
{
    static const char *const heads[] = {"class", "evictions", "jobs evicted", "resizes", "lost GPU-h", NULL};
    static const struct column columns[] = {{"evictions", PAGE_COUNT},
                                            {"jobsEvicted", PAGE_COUNT},
                                            {"resizes", PAGE_COUNT},
                                            {"lostGpuHours", PAGE_HOURS},
                                            {0}};
    struct page_bands up = of_classes(page, evicted_of, "evictions");
    struct page_bands down = of_classes(page, resized_of, "resizes");
    page_section(
        page, "Evictions and resizes",
        "Above the line instances that had to stop so that another job may have their GPUs, below it "
        "running jobs that grew or shrank.");
    plot(page,
         &(struct page_stack){.label = "evictions above, resizes below the line, by priority class",
                              .unit = "times",
                              .up = &up,
                              .down = &down,
                              .up_label = "evictions",
                              .down_label = "resizes",
                              .counts = true,
                              .height = 170},
         "Nobody was evicted, and nobody was resized.");
    class_table(page, heads, columns);
    plot_end(page);
}

/* ---- why GPUs are idle ---- */

/* Others than those of the first classes, so that a colour has one meaning on most pages. */
static const int cause_colours[REPORT_CAUSES] = {
    [REPORT_DELIVERABLE] = 4, [REPORT_COUNT] = 6, [REPORT_CPU_MEMORY] = 3, [REPORT_TOPOLOGY] = 5,
    [REPORT_POLICY] = 0,      [REPORT_STEP] = 2,  [REPORT_HEALTH] = 1,
};

static void cause_table(struct page *page)
{
    static const char *const heads[] = {"cause", "GPU-hours", "work lacks", NULL};
    static const char *const lacks[REPORT_CAUSES] = {
        [REPORT_DELIVERABLE] = "nothing: a job could have them",
        [REPORT_COUNT] = "as many as an instance asks for, on one node",
        [REPORT_CPU_MEMORY] = "CPU or memory beside them",
        [REPORT_TOPOLOGY] = "others in the same domain",
        [REPORT_POLICY] = "leave: labels, models or claims forbid it",
        [REPORT_STEP] = "others for a whole step",
        [REPORT_HEALTH] = "health: theirs, or their node's",
    };
    open_table(page, "of-causes", heads);
    for (int cause = 0; cause < REPORT_CAUSES; cause++) {
        char figure[80];
        snprintf(figure, sizeof figure, "idleGpuHoursByCause.%s", report_cause_names[cause]);
        row_head(page, report_cause_names[cause], cause_colours[cause]);
        cell(page, "", figure, PAGE_HOURS);
        tf_buf_fmt(page->out, "<td class=\"words\">%s</td></tr>\n", lacks[cause]);
    }
    close_table(page);
}

static void idle(struct page *page)
{
    struct page_bands bands = {0};
    for (int cause = 0; cause < REPORT_CAUSES; cause++) {
        if (!page->report->all.idle[cause])
            continue;
        struct page_band *band =
            add_band(&bands, report_cause_names[cause], cause_colours[cause], &page->report->idle[cause]);
        snprintf(band->series, sizeof band->series, "idleGpuHoursByCause.%s", report_cause_names[cause]);
    }
    page_section(
        page, "Idle GPUs by cause",
        "GPUs that nobody held, each under the one thing that kept work from it: for the shapes of the "
        "jobs that waited then.");
    plot(page,
         &(struct page_stack){.label = "idle GPUs, by cause", .unit = "GPUs", .up = &bands, .height = 150},
         "No GPU was idle.");
    cause_table(page);
    plot_end(page);
}

void page_over_time(struct page *page)
{
    held(page);
    waiting(page);
    changes(page);
    idle(page);
}
