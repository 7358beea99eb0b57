/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the distributions: how long jobs of each class waited, and took in all. */
#include "tools/fedsim/report/page.h"

#include <inttypes.h>
#include <math.h>

enum { BINS = 90, ROW_HEIGHT = 36 };

struct spread {
    const char *kind; /* of the figures */
    size_t samples;   /* offset in a group */
    double top;       /* s: right end of the axis; it begins at one second */
};

static struct report_samples *samples_of(struct report_group *group, const struct spread *spread)
{
    return (struct report_samples *)(void *)((char *)group + spread->samples);
}

/* Of the width, 0 to 1: logarithmic; what is below a second is at its left end. */
static double place_of(const struct spread *spread, double seconds)
{
    return seconds <= 1 ? 0 : fmin(1, log(seconds) / log(spread->top));
}

static const int64_t marks[] = {1,     10,     60,      600,      3600,     21600,
                                86400, 604800, 2592000, 31536000, 315360000}; /* s */

static double top_of(const struct page *page, const struct spread *spread)
{
    double most = 60;
    for (size_t i = 0; i < page->class_count; i++)
        most = fmax(most, (double)report_percentile(samples_of(page->classes[i], spread), 100) / TF_SECOND);
    for (size_t i = 0; i < TF_ARRAY_LEN(marks); i++)
        if ((double)marks[i] >= most)
            return (double)marks[i];
    return most;
}

/* ---- a row ---- */

static void count(struct report_samples *samples, const struct spread *spread, int64_t bins[BINS])
{
    tf_vec_each (ms, &samples->ms) {
        int bin = (int)(place_of(spread, (double)*ms / TF_SECOND) * BINS);
        bins[bin < BINS ? bin : BINS - 1]++;
    }
}

static void shape(struct page *page, const struct report_group *class, const struct spread *spread,
                  int colour, const int64_t bins[BINS])
{
    int64_t most = 1;
    for (int i = 0; i < BINS; i++)
        most = bins[i] > most ? bins[i] : most;
    tf_buf_fmt(page->out,
               "<svg class=\"data\" width=\"100%%\" height=\"%d\" preserveAspectRatio=\"none\" viewBox=\"0 "
               "%" PRId64 " %d %" PRId64
               "\"><path transform=\"scale(1 -1)\" class=\"c%d\" data-kind=\"counts\" data-above=\"\" "
               "data-series=\"classes.",
               ROW_HEIGHT, -most, BINS, most, colour % PAGE_COLOURS);
    page_escaped(page->out, class->name);
    tf_buf_fmt(page->out, ".%s.count\" d=\"M0 0", spread->kind);
    for (int i = 0; i < BINS; i++)
        tf_buf_fmt(page->out, "V%" PRId64 "h1", bins[i]);
    tf_buf_str(page->out, "V0z\"/></svg>");
}

static void mark(struct page *page, const struct spread *spread, int64_t ms, const char *class)
{
    double percent = 100 * place_of(spread, (double)ms / TF_SECOND);
    tf_buf_fmt(page->out, "<line class=\"%s\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"%d\"/>", class,
               percent, percent, ROW_HEIGHT);
}

static void grid(struct page *page, const struct spread *spread, bool texts)
{
    for (size_t i = 0, n = 0; i < TF_ARRAY_LEN(marks) && (double)marks[i] <= spread->top; i++, n++) {
        double percent = 100 * place_of(spread, (double)marks[i]);
        const char *odd = n % 2 ? " odd" : "";
        tf_buf_fmt(page->out, "<line class=\"grid%s\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"%d\"/>", odd,
                   percent, percent, texts ? 4 : ROW_HEIGHT);
        if (!texts)
            continue;
        tf_buf_fmt(page->out, "<text class=\"tick %s%s\" x=\"%.2f%%\" y=\"17\">",
                   i == 0                            ? "begin"
                   : (double)marks[i] >= spread->top ? "end"
                                                     : "mid",
                   odd, percent);
        tf_buf_str(page->out, i == 0 ? "≤ " : "");
        page_time(page->out, marks[i] * TF_SECOND);
        tf_buf_str(page->out, "</text>");
    }
}

static void class_row(struct page *page, size_t number, const struct spread *spread)
{
    struct report_group *class = page->classes[number];
    struct report_samples *samples = samples_of(class, spread);
    int64_t bins[BINS] = {0};
    count(samples, spread, bins);
    tf_buf_str(page->out, "<div class=\"strip\"><b>");
    page_escaped(page->out, class->name);
    tf_buf_str(page->out, "</b><span>");
    page_number(page->out, (double)samples->ms.count, 0);
    tf_buf_fmt(page->out, " %s</span></div><svg class=\"row\" height=\"%d\" role=\"img\" aria-label=\"%s, ",
               samples->ms.count == 1 ? "job" : "jobs", ROW_HEIGHT, spread->kind);
    page_escaped(page->out, class->name);
    tf_buf_str(page->out, "\">");
    grid(page, spread, false);
    shape(page, class, spread, (int)number, bins);
    mark(page, spread, report_percentile(samples, 50), "median");
    mark(page, spread, report_percentile(samples, 99), "late");
    tf_buf_str(page->out, "</svg>\n");
}

/* ---- the section ---- */

static void table(struct page *page, const struct spread *spread)
{
    static const char *const parts[] = {"count", "p50", "p90", "p99", "max"};
    tf_buf_str(page->out, "<div class=\"beside\"><table><thead><tr><th scope=\"col\">class</th><th "
                          "scope=\"col\">jobs</th><th scope=\"col\">p50</th><th scope=\"col\">p90</th><th "
                          "scope=\"col\">p99</th><th scope=\"col\">max</th></tr></thead><tbody>\n");
    for (size_t i = 0; i <= page->class_count; i++) {
        bool all = i == page->class_count;
        const char *name = all ? "all" : page->classes[i]->name;
        tf_buf_str(page->out, "<tr><th scope=\"row\">");
        if (!all)
            tf_buf_fmt(page->out, "<i class=\"c%zu\"></i>", i % PAGE_COLOURS);
        page_escaped(page->out, name);
        tf_buf_str(page->out, "</th>");
        for (size_t k = 0; k < TF_ARRAY_LEN(parts); k++) {
            char group[300];
            snprintf(group, sizeof group, "%s%s%s%s.", all ? "" : "classes.", all ? "" : name, all ? "" : ".",
                     spread->kind);
            tf_buf_str(page->out, "<td>");
            page_figure(page, group, parts[k], k == 0 ? PAGE_COUNT : PAGE_TIME);
            tf_buf_str(page->out, "</td>");
        }
        tf_buf_str(page->out, "</tr>\n");
    }
    tf_buf_str(page->out, "</tbody></table></div>\n");
}

static void section(struct page *page, struct spread spread, const char *title, const char *what,
                    const char *nothing)
{
    spread.top = top_of(page, &spread);
    page_section(page, title, what);
    tf_buf_str(page->out, "<div class=\"pair\"><div class=\"rows\">\n");
    size_t shown = 0;
    for (size_t i = 0; i < page->class_count; i++) {
        if (!samples_of(page->classes[i], &spread)->ms.count)
            continue;
        class_row(page, i, &spread);
        shown++;
    }
    if (shown) {
        tf_buf_str(page->out, "<svg class=\"row\" height=\"20\" aria-hidden=\"true\">");
        grid(page, &spread, true);
        tf_buf_str(page->out, "</svg>");
    } else
        tf_buf_fmt(page->out, "<p class=\"none\">%s</p>", nothing);
    tf_buf_str(page->out, "</div>\n");
    table(page, &spread);
    tf_buf_str(page->out, "</div>\n");
    page_section_end(page);
}

void page_spreads(struct page *page)
{
    section(page, (struct spread){"waitSeconds", offsetof(struct report_group, waits), 0}, "Waits",
            "From the submit until all of a job's core was ready. The bold mark is the median, the thin one "
            "P99; time is logarithmic.",
            "No job has started.");
    section(page, (struct spread){"jctSeconds", offsetof(struct report_group, completions), 0}, "Completion",
            "From the submit to the end, of jobs that succeeded.", "No job has ended.");
}
