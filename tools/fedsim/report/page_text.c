/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how the page writes words and numbers. */
#include "tools/fedsim/report/page.h"

#include "common/base/cleanup.h"

#include <inttypes.h>
#include <math.h>

#define MILLION INT64_C(1000000)

void page_escaped(struct tf_buf *out, const char *text)
{
    TF_AUTO_BUF clean = TF_BUF_INIT;
    tf_buf_utf8(&clean, text);
    for (const char *c = tf_buf_text(&clean); *c; c++) {
        switch (*c) {
        case '<':
            tf_buf_str(out, "&lt;");
            break;
        case '>':
            tf_buf_str(out, "&gt;");
            break;
        case '&':
            tf_buf_str(out, "&amp;");
            break;
        case '"':
            tf_buf_str(out, "&quot;");
            break;
        default:
            tf_buf_char(out, *c);
        }
    }
}

/* Bytes of the first so many letters of UTF-8. */
static size_t bytes_of(const char *text, size_t letters)
{
    size_t at = 0;
    while (text[at] && letters > 0) {
        do
            at++;
        while (((unsigned char)text[at] & 0xC0) == 0x80);
        letters--;
    }
    return at;
}

void page_short(struct tf_buf *out, const char *text, size_t letters)
{
    TF_AUTO_BUF clean = TF_BUF_INIT;
    tf_buf_utf8(&clean, text);
    const char *whole = tf_buf_text(&clean);
    if (!whole[bytes_of(whole, letters)]) {
        page_escaped(out, whole);
        return;
    }
    size_t end = letters / 2, all = 0; /* names of a family differ at their ends */
    for (const char *c = whole; *c; c += bytes_of(c, 1))
        all++;
    TF_AUTO_FREE char *begin = tf_strndup(whole, bytes_of(whole, letters - 1 - end));
    page_escaped(out, begin);
    tf_buf_str(out, "…");
    page_escaped(out, whole + bytes_of(whole, all - end));
}

void page_number(struct tf_buf *out, double value, int decimals)
{
    char digits[64];
    snprintf(digits, sizeof digits, "%.*f", decimals, fabs(value));
    size_t whole = strcspn(digits, ".");
    if (value < 0)
        tf_buf_str(out, "−");
    for (size_t i = 0; digits[i]; i++) {
        if (i > 0 && i < whole && (whole - i) % 3 == 0)
            tf_buf_char(out, ',');
        tf_buf_char(out, digits[i]);
    }
}

/* Bands are the differences of such: of a small one on top of 8,000 GPUs over 60 days seven digits are too
 * few to sum up to the report's figure. */
void page_coordinate(struct tf_buf *out, double value)
{
    tf_buf_fmt(out, "%.10g", value);
}

/* The two largest units of a duration, and of a short one what it is. */
void page_time(struct tf_buf *out, int64_t ms)
{
    static const struct {
        int64_t ms;
        const char *name;
    } units[] = {{INT64_C(24) * TF_HOUR, "d"}, {TF_HOUR, "h"}, {TF_MINUTE, "min"}, {TF_SECOND, "s"}};
    if (ms < TF_SECOND) {
        tf_buf_fmt(out, "%" PRId64 " ms", ms);
        return;
    }
    size_t i = 0;
    while (units[i].ms > ms)
        i++;
    tf_buf_fmt(out, "%" PRId64 " %s", ms / units[i].ms, units[i].name);
    int64_t rest = i + 1 < TF_ARRAY_LEN(units) ? ms % units[i].ms / units[i + 1].ms : 0;
    if (rest > 0)
        tf_buf_fmt(out, " %" PRId64 " %s", rest, units[i + 1].name);
}

static void for_people(struct tf_buf *out, int64_t millionths, enum page_form form)
{
    double value = (double)millionths / (double)MILLION;
    switch (form) {
    case PAGE_COUNT:
        page_number(out, value, 0);
        break;
    case PAGE_PERCENT:
        page_number(out, 100 * value, 1);
        tf_buf_str(out, " %");
        break;
    case PAGE_HOURS:
        page_number(out, value, value < 100 ? 1 : 0);
        break;
    case PAGE_TIME:
        page_time(out, millionths / (MILLION / TF_SECOND));
        break;
    }
}

/* A percentile of nothing is no time. */
static bool is_of_nothing(struct page *page, const char *path)
{
    const char *dot = strrchr(path, '.');
    TF_AUTO_FREE char *count = tf_asprintf("%.*s.count", dot ? (int)(dot - path) : 0, path);
    int64_t millionths = 0;
    return report_figure(page->report, count, &millionths) == 0 && millionths == 0;
}

void page_figure(struct page *page, const char *group, const char *name, enum page_form form)
{
    TF_AUTO_FREE char *path = tf_asprintf("%s%s", group, name);
    int64_t millionths = 0;
    if (report_figure(page->report, path, &millionths))
        return;
    if (form == PAGE_TIME && is_of_nothing(page, path)) {
        tf_buf_str(page->out, "–");
        return;
    }
    tf_buf_str(page->out, "<data data-figure=\"");
    page_escaped(page->out, path);
    tf_buf_str(page->out, "\" value=\"");
    report_number(page->out, millionths);
    tf_buf_str(page->out, "\">");
    for_people(page->out, millionths, form);
    tf_buf_str(page->out, "</data>");
}
