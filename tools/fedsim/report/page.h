/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_REPORT_PAGE_H
#define TF_FEDSIM_REPORT_PAGE_H

#include "tools/fedsim/report/private.h"

/* Shared by the parts of the page. Every plot is drawn in the units of its data (x: buckets, y: GPUs, jobs or
 * events) and stretched to the width there is, with texts that are not stretched: so it is legible on any
 * screen, and whoever reads the paths reads the numbers. */

enum { PAGE_NAME = 64, PAGE_COLOURS = 7, PAGE_HEATS = 8 };

struct page {
    struct report *report;
    struct tf_buf *out;
    struct report_group *classes[TF_CLASSES_MAX]; /* the most important first; those that had jobs */
    size_t class_count;
};

/* ---- page_text.c: words and numbers ---- */
void page_escaped(struct tf_buf *out, const char *text);
/* As `escaped`, at most so many letters, with an ellipsis in the middle for what is left out. */
void page_short(struct tf_buf *out, const char *text, size_t letters);
void page_number(struct tf_buf *out, double value, int decimals); /* "1,234.5" */
void page_coordinate(struct tf_buf *out, double value);           /* "12.25": shortest, for paths */
/* "850 ms", "12 s", "1 h 4 min" */
void page_time(struct tf_buf *out, int64_t ms);
enum page_form { PAGE_COUNT, PAGE_PERCENT, PAGE_HOURS, PAGE_TIME };
/* The figure of that name, as the JSON form has it, beside what people read of it. */
void page_figure(struct page *page, const char *group, const char *name, enum page_form form);

/* ---- page_plot.c: axes, areas, labels ---- */
struct page_band {
    char name[PAGE_NAME];
    char series[PAGE_NAME + 80]; /* the figure that its parts sum to; "" none */
    int colour;                  /* of PAGE_COLOURS, from 0 */
    const struct report_line *line;
};
struct page_bands {
    struct page_band items[TF_CLASSES_MAX];
    size_t count;
};
/* The bands lie on each other, the first at the bottom, over the time of the run. */
struct page_stack {
    const char *label, *unit; /* of the plot in words, of y */
    const struct page_bands *up, *down;
    bool counts; /* parts are events, not levels */
    const char *down_label, *up_label;
    const struct report_line *tide, *top; /* lines over the bands; NULL: none */
    int height;                           /* px */
    bool small;                           /* few ticks, no labels */
};
void page_stack(struct page *page, const struct page_stack *stack);
/* The y of a part, and the largest sum of all. */
double page_level(const struct page *page, const struct report_line *line, size_t part, bool counts);
double page_highest(const struct page *page, const struct page_bands *bands, bool counts);
/* Of several parts: their mean, or their sum if they are counts. page_length: how many whole ones that is. */
double page_over(const struct page *page, const struct report_line *line, size_t from, size_t to,
                 bool counts);
double page_length(const struct page *page, size_t from, size_t to);
size_t page_buckets(const struct page *page);
double page_bucket_length(const struct page *page, size_t bucket); /* of a whole one */
void page_moment(struct tf_buf *out, int64_t ms, int64_t step);    /* "36 h" */

/* ---- the sections ---- */
void page_style(struct tf_buf *out);
void page_section(struct page *page, const char *title, const char *what);
void page_section_end(struct page *page);
void page_over_time(struct page *page);
void page_spreads(struct page *page);
void page_clusters(struct page *page);
void page_nodes(struct page *page);

#endif
