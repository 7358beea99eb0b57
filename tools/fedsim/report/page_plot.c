/* SPDX-License-Identifier: Apache-2.0 */
/* Owns plots over time: axes, areas that lie on each other, and the labels beside them. */
#include "tools/fedsim/report/page.h"

#include "common/base/cleanup.h"

#include <inttypes.h>
#include <math.h>

enum { TICKS_MAX = 8, LABEL_GAP = 15, LABEL_LETTERS = 12 };
/* So that the page stays below 2 MB with many clusters and all classes: a small plot has no more pixels, and
 * nobody points at less than a few of them. */
enum { SMALL_MAX = 150, HITS_MAX = 200 };

/* ---- numbers of a line ---- */

static int64_t width(const struct page *page)
{
    return report_line_width(&page->report->all.there.line);
}

size_t page_buckets(const struct page *page)
{
    return page->report->all.there.line.parts.count;
}

double page_bucket_length(const struct page *page, size_t bucket)
{
    int64_t left = page->report->now - (int64_t)bucket * width(page);
    return left < width(page) ? (double)left / (double)width(page) : 1;
}

double page_level(const struct page *page, const struct report_line *line, size_t part, bool counts)
{
    double sum = part < line->parts.count ? (double)line->parts.items[part] : 0;
    double ms = (double)width(page) * page_bucket_length(page, part);
    return counts ? sum : ms > 0 ? sum / ms : 0;
}

double page_length(const struct page *page, size_t from, size_t to)
{
    double length = 0;
    for (size_t k = from; k < to && k < page_buckets(page); k++)
        length += page_bucket_length(page, k);
    return length;
}

double page_over(const struct page *page, const struct report_line *line, size_t from, size_t to, bool counts)
{
    double sum = 0, length = page_length(page, from, to);
    for (size_t k = from; k < to && k < page_buckets(page); k++)
        sum += page_level(page, line, k, counts) * (counts ? 1 : page_bucket_length(page, k));
    return counts ? sum : length > 0 ? sum / length : 0;
}

/* Buckets that go together so that there are at most so many. */
static size_t stride_for(const struct page *page, size_t most)
{
    return (page_buckets(page) + most - 1) / most;
}

static double level_of_all(const struct page *page, const struct page_bands *bands, size_t count, size_t part,
                           bool counts)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += page_level(page, bands->items[i].line, part, counts);
    return sum;
}

double page_highest(const struct page *page, const struct page_bands *bands, bool counts)
{
    double most = 0;
    for (size_t part = 0; part < page_buckets(page); part++)
        most = fmax(most, level_of_all(page, bands, bands->count, part, counts));
    return most;
}

static double highest_of(const struct page *page, const struct report_line *line)
{
    double most = 0;
    for (size_t part = 0; line && part < page_buckets(page); part++)
        most = fmax(most, page_level(page, line, part, false));
    return most;
}

/* ---- axes ---- */

/* 1, 2 or 5 times a power of ten, so that at most so many fit. */
static double nice_step(double most, int ticks)
{
    double power = pow(10, floor(log10(most / ticks)));
    double times = most / ticks / power;
    return (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10) * power;
}

static int64_t time_step(int64_t ms)
{
    static const int64_t steps[] = {1,     5,     10,    30,    60,     300,    600,    1800,   3600, 7200,
                                    10800, 21600, 43200, 86400, 172800, 432000, 864000, 2592000}; /* s */
    for (size_t i = 0; i < TF_ARRAY_LEN(steps); i++)
        if (ms / (steps[i] * TF_SECOND) <= TICKS_MAX)
            return steps[i] * TF_SECOND;
    return ms / TICKS_MAX;
}

void page_moment(struct tf_buf *out, int64_t ms, int64_t step)
{
    const int64_t day = INT64_C(24) * TF_HOUR;
    if (step >= day)
        tf_buf_fmt(out, "%" PRId64 " d", ms / day);
    else if (step >= TF_HOUR)
        tf_buf_fmt(out, "%" PRId64 " h", ms / TF_HOUR);
    else if (step >= TF_MINUTE)
        tf_buf_fmt(out, "%" PRId64 " min", ms / TF_MINUTE);
    else
        tf_buf_fmt(out, "%" PRId64 " s", ms / TF_SECOND);
}

/* Every second mark is left out where there is little room. */
static void time_axis(struct page *page, const struct page_stack *stack)
{
    int64_t end = page->report->now, step = time_step(stack->small ? 2 * end : end);
    for (int64_t at = 0, i = 0; at <= end; at += step, i++) {
        double percent = 100.0 * (double)at / (double)end;
        const char *odd = i % 2 ? " odd" : "";
        tf_buf_fmt(page->out,
                   "<line class=\"grid%s\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"0\" y2=\"%d\"/><text "
                   "class=\"tick mid%s\" x=\"%.3f%%\" y=\"%d\">",
                   odd, percent, percent, stack->height, odd, percent, stack->height + 17);
        page_moment(page->out, at, step);
        tf_buf_str(page->out, "</text>");
    }
}

struct scale {
    double up, down; /* most above and below the line of 0 */
    int height;
};

static double pixel(const struct scale *scale, double value)
{
    return scale->height * (scale->up - value) / (scale->up + scale->down);
}

static void value_tick(struct page *page, const struct scale *scale, double value, double step)
{
    double y = pixel(scale, value);
    tf_buf_fmt(page->out,
               "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"tick end\" "
               "x=\"-8\" y=\"%.1f\">",
               y, y, y + 4);
    page_number(page->out, fabs(value), step < 1 ? (int)ceil(-log10(step)) : 0);
    tf_buf_str(page->out, "</text>");
}

static void value_axis(struct page *page, const struct page_stack *stack, const struct scale *scale)
{
    double step = nice_step(scale->up + scale->down, stack->height < 150 ? 3 : 5);
    for (double value = 0; value <= scale->up; value += step)
        value_tick(page, scale, value, step);
    for (double value = step; value <= scale->down; value += step)
        value_tick(page, scale, -value, step);
    tf_buf_fmt(page->out, "<text class=\"tick end\" x=\"-8\" y=\"%d\">%s</text>", stack->small ? -6 : -12,
               stack->unit);
}

/* ---- areas ---- */

static double over_all(const struct page *page, const struct page_bands *bands, size_t count, size_t from,
                       size_t stride, bool counts)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += page_over(page, bands->items[i].line, from, from + stride, counts);
    return sum;
}

/* One step for so many buckets; equal ones are drawn as one. */
static void steps(struct page *page, const struct page_bands *bands, size_t count, size_t stride, bool counts)
{
    size_t buckets = page_buckets(page);
    for (size_t i = 0; i < buckets;) {
        double level = over_all(page, bands, count, i, stride, counts), length = 0;
        size_t k = i;
        for (; k < buckets && fabs(over_all(page, bands, count, k, stride, counts) - level) < 1e-9;
             k += stride)
            length += page_length(page, k, k + stride);
        tf_buf_char(page->out, 'V');
        page_coordinate(page->out, level);
        tf_buf_char(page->out, 'h');
        page_coordinate(page->out, length);
        i = k;
    }
}

/* Each reaches down to 0 and is drawn before those below it, so that what is seen of it is its own. */
static void areas(struct page *page, const struct page_bands *bands, size_t stride, bool counts)
{
    for (size_t n = bands->count; n > 0; n--) {
        const struct page_band *band = &bands->items[n - 1];
        tf_buf_fmt(page->out, "<path class=\"c%d\" data-kind=\"%s\" data-above=\"", band->colour,
                   counts ? "counts" : "levels");
        page_escaped(page->out, n > 1 ? bands->items[n - 2].series : "");
        tf_buf_str(page->out, "\" data-series=\"");
        page_escaped(page->out, band->series);
        tf_buf_str(page->out, "\" d=\"M0 0");
        steps(page, bands, n, stride, counts);
        tf_buf_str(page->out, "V0z\"/>");
    }
}

static void line_over(struct page *page, const char *class, const struct report_line *line, size_t stride)
{
    struct page_bands one = {.count = 1};
    one.items[0].line = line;
    if (!line)
        return;
    tf_buf_fmt(page->out, "<path class=\"%s\" d=\"M0 ", class);
    page_coordinate(page->out, page_over(page, line, 0, stride, false));
    steps(page, &one, 1, stride, false);
    tf_buf_str(page->out, "\"/>");
}

/* ---- what is said of a bucket when it is pointed at ---- */

static void told_of(struct page *page, const struct page_stack *stack, const struct page_bands *bands,
                    size_t from, size_t to)
{
    for (size_t i = bands ? bands->count : 0; i-- > 0;) {
        double level = page_over(page, bands->items[i].line, from, to, stack->counts);
        if (level <= 0)
            continue;
        tf_buf_char(page->out, '\n');
        page_escaped(page->out, bands->items[i].name);
        tf_buf_char(page->out, ' ');
        page_number(page->out, level, stack->counts || level >= 10 ? 0 : 2);
    }
}

static void hit(struct page *page, const struct page_stack *stack, const struct scale *scale, size_t from,
                size_t to)
{
    tf_buf_fmt(page->out, "<rect class=\"hit\" x=\"%zu\" y=\"", from);
    page_coordinate(page->out, -scale->up);
    tf_buf_str(page->out, "\" width=\"");
    page_coordinate(page->out, page_length(page, from, to));
    tf_buf_str(page->out, "\" height=\"");
    page_coordinate(page->out, scale->up + scale->down);
    tf_buf_str(page->out, "\"><title>from ");
    page_time(page->out, (int64_t)from * width(page));
    if (stack->down)
        tf_buf_fmt(page->out, "\n%s", stack->up_label);
    told_of(page, stack, stack->up, from, to);
    if (stack->down)
        tf_buf_fmt(page->out, "\n%s", stack->down_label);
    told_of(page, stack, stack->down, from, to);
    tf_buf_str(page->out, "</title></rect>");
}

static void hits(struct page *page, const struct page_stack *stack, const struct scale *scale)
{
    size_t stride = stride_for(page, HITS_MAX);
    for (size_t i = 0; i < page_buckets(page); i += stride)
        hit(page, stack, scale, i, i + stride);
}

/* ---- labels ---- */

struct label {
    const char *text, *line; /* line: class of what it names; NULL: a band */
    int colour;              /* of the band */
    double y, weight;        /* weight: which of them are left out where there is no room for all */
};
struct labels {
    struct label items[2 * TF_CLASSES_MAX + 2];
    size_t count;
};

static void add_label(struct labels *labels, struct label label)
{
    labels->items[labels->count++] = label;
}

/* In the middle of what is seen of a band at the end of the run; of one that has ended, over the line of 0.
 */
static void band_labels(const struct page *page, const struct page_bands *bands, const struct scale *scale,
                        bool counts, struct labels *labels)
{
    size_t last = page_buckets(page) - 1;
    double below = 0;
    for (size_t i = 0; i < bands->count; i++) {
        double level = page_level(page, bands->items[i].line, last, counts);
        double mean = page_over(page, bands->items[i].line, 0, last + 1, counts);
        add_label(labels, (struct label){bands->items[i].name, NULL, bands->items[i].colour,
                                         pixel(scale, below + level / 2), mean});
        below += level;
    }
}

/* They come from below, and each goes up as far as it must; if that is too far, all of them come down. */
static void spread_labels(struct labels *labels, int height)
{
    double under = height + LABEL_GAP;
    for (size_t i = 0; i < labels->count; i++) {
        labels->items[i].y = fmin(labels->items[i].y, under - LABEL_GAP);
        under = labels->items[i].y;
    }
    double over = -LABEL_GAP;
    for (size_t i = labels->count; i-- > 0;) {
        labels->items[i].y = fmax(labels->items[i].y, over + LABEL_GAP);
        over = labels->items[i].y;
    }
}

static void sort_labels(struct labels *labels)
{
    for (size_t i = 1; i < labels->count; i++)
        for (size_t k = i; k > 0 && labels->items[k].y > labels->items[k - 1].y; k--) {
            struct label swap = labels->items[k];
            labels->items[k] = labels->items[k - 1];
            labels->items[k - 1] = swap;
        }
}

/* The table beside the plot names all. */
static void drop_labels(struct labels *labels, size_t room)
{
    while (labels->count > room) {
        size_t least = 0;
        for (size_t i = 1; i < labels->count; i++)
            if (labels->items[i].weight < labels->items[least].weight)
                least = i;
        memmove(&labels->items[least], &labels->items[least + 1],
                (labels->count - least - 1) * sizeof *labels->items);
        labels->count--;
    }
}

static void print_swatch(struct page *page, const struct label *label)
{
    tf_buf_str(page->out, "<svg x=\"100%\" overflow=\"visible\">");
    if (label->line)
        tf_buf_fmt(page->out, "<line class=\"%s\" x1=\"6\" x2=\"19\" y1=\"%.1f\" y2=\"%.1f\"/>", label->line,
                   label->y, label->y);
    else
        tf_buf_fmt(page->out, "<rect class=\"c%d\" x=\"10\" y=\"%.1f\" width=\"8\" height=\"8\" rx=\"2\"/>",
                   label->colour, label->y - 4);
    tf_buf_str(page->out, "</svg>");
}

static void print_labels(struct page *page, const struct labels *labels)
{
    for (size_t i = 0; i < labels->count; i++) {
        const struct label *label = &labels->items[i];
        print_swatch(page, label);
        tf_buf_fmt(page->out, "<text class=\"name\" x=\"100%%\" dx=\"23\" y=\"%.1f\">", label->y + 4);
        page_short(page->out, label->text, LABEL_LETTERS);
        tf_buf_str(page->out, "</text>");
    }
}

static void labels(struct page *page, const struct page_stack *stack, const struct scale *scale)
{
    struct labels all = {0};
    size_t last = page_buckets(page) - 1;
    band_labels(page, stack->up, scale, stack->counts, &all);
    if (stack->tide)
        add_label(&all, (struct label){"tide", "tide", 0,
                                       pixel(scale, page_level(page, stack->tide, last, false)), INFINITY});
    if (stack->top)
        add_label(&all, (struct label){"there", "top", 0,
                                       pixel(scale, page_level(page, stack->top, last, false)), INFINITY});
    drop_labels(&all, (size_t)(scale->height / LABEL_GAP) + 1);
    sort_labels(&all);
    spread_labels(&all, scale->height);
    print_labels(page, &all);
}

/* ---- a plot ---- */

static struct scale scale_of(const struct page *page, const struct page_stack *stack)
{
    struct scale scale = {page_highest(page, stack->up, stack->counts), 0, stack->height};
    scale.up = fmax(scale.up, fmax(highest_of(page, stack->top), highest_of(page, stack->tide)));
    if (stack->down)
        scale.up = scale.down = fmax(scale.up, page_highest(page, stack->down, stack->counts));
    if (scale.up <= 0)
        scale.up = 1;
    scale.up *= 1.03;
    scale.down *= 1.03;
    return scale;
}

static void open_data(struct page *page, const struct scale *scale)
{
    double length = (double)page->report->now / (double)width(page);
    tf_buf_fmt(page->out,
               "<svg class=\"data\" width=\"100%%\" height=\"%d\" preserveAspectRatio=\"none\" "
               "data-bucket-seconds=\"%" PRId64 "\" viewBox=\"0 ",
               scale->height, width(page) / TF_SECOND);
    page_coordinate(page->out, -scale->up);
    tf_buf_char(page->out, ' ');
    page_coordinate(page->out, length);
    tf_buf_char(page->out, ' ');
    page_coordinate(page->out, scale->up + scale->down);
    tf_buf_str(page->out, "\">");
}

void page_stack(struct page *page, const struct page_stack *stack)
{
    struct scale scale = scale_of(page, stack);
    size_t stride = stack->small ? stride_for(page, SMALL_MAX) : 1;
    tf_buf_fmt(page->out, "<div class=\"frame%s\"><svg height=\"%d\" role=\"img\" aria-label=\"",
               stack->small ? " small" : "", stack->height);
    page_escaped(page->out, stack->label);
    tf_buf_str(page->out, "\">");
    time_axis(page, stack);
    value_axis(page, stack, &scale);
    open_data(page, &scale);
    tf_buf_str(page->out, "<g transform=\"scale(1 -1)\">");
    areas(page, stack->up, stride, stack->counts);
    line_over(page, "top", stack->top, stride);
    line_over(page, "tide", stack->tide, stride);
    tf_buf_str(page->out, "</g>");
    if (stack->down)
        areas(page, stack->down, stride, stack->counts);
    if (!stack->small)
        hits(page, stack, &scale);
    tf_buf_str(page->out, "</svg>");
    if (!stack->small)
        labels(page, stack, &scale);
    tf_buf_str(page->out, "</svg></div>\n");
}
