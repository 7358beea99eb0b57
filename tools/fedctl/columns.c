/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how text is laid out in columns on a terminal or in a pipe. What is in the cells is up to the
 * resources. */
#include "tools/fedctl/columns.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <stdarg.h>
#include <stdint.h>

/* ---- width ---- */

struct range {
    uint32_t first, last;
};

/* Unicode's East Asian Width W and F, by block. */
static const struct range wide[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
    {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};
/* Marks that combine with the letter before them, joiners, variation selectors. */
static const struct range narrow[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f}, {0x1ab0, 0x1aff},
    {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};

static bool in_ranges(uint32_t code, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

static size_t code_width(uint32_t code)
{
    if (in_ranges(code, narrow, TF_ARRAY_LEN(narrow)))
        return 0;
    return in_ranges(code, wide, TF_ARRAY_LEN(wide)) ? 2 : 1;
}

/* The code at *s, which is well-formed, and moves on. */
static uint32_t next_code(const char **s)
{
    const unsigned char *p = (const unsigned char *)*s;
    size_t len = *p < 0x80 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
    uint32_t code = len == 1 ? *p : *p & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++)
        code = code << 6 | (p[i] & 0x3fu);
    *s += len;
    return code;
}

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x202a && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

/* Most texts by far: a letter is a byte and a column, and nothing is to be replaced. */
static bool is_plain(const char *s)
{
    while (*s >= 0x20 && *s < 0x7f)
        s++;
    return !*s;
}

/* Well-formed and without control characters, those of direction included. */
static void clean(struct tf_buf *buf, const char *s)
{
    TF_AUTO_BUF valid = TF_BUF_INIT;
    if (is_plain(s)) {
        tf_buf_str(buf, s);
        return;
    }
    tf_buf_utf8(&valid, s);
    const char *p = tf_buf_text(&valid);
    while (*p) {
        const char *start = p;
        uint32_t code = next_code(&p);
        if (code == '\n' || code == '\t' || code == '\r')
            tf_buf_char(buf, ' ');
        else if (is_control(code))
            tf_buf_char(buf, '?');
        else
            tf_buf_add(buf, start, (size_t)(p - start));
    }
}

static size_t clean_width(const char *s)
{
    size_t width = 0;
    if (is_plain(s))
        return strlen(s);
    while (*s)
        width += code_width(next_code(&s));
    return width;
}

size_t columns_width(const char *s)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    clean(&text, s);
    return clean_width(tf_buf_text(&text));
}

void columns_text(struct tf_buf *buf, const char *s, size_t width)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    if (width == 0) {
        clean(buf, s);
        return;
    }
    clean(&text, s);
    const char *p = tf_buf_text(&text);
    if (clean_width(p) <= width) {
        tf_buf_str(buf, p);
        return;
    }
    for (size_t used = 0; *p;) {
        const char *start = p;
        used += code_width(next_code(&p));
        if (used + 1 > width)
            break;
        tf_buf_add(buf, start, (size_t)(p - start));
    }
    tf_buf_str(buf, "…");
}

/* ---- style ---- */

static const char *const styles[] = {
    [CELL_GOOD] = "\033[32m",
    [CELL_BAD] = "\033[31m",
    [CELL_WAITING] = "\033[33m",
    [CELL_FAINT] = "\033[2m",
};

void style_begin(struct tf_buf *buf, enum cell_style style, bool color)
{
    if (color && style != CELL_PLAIN)
        tf_buf_str(buf, styles[style]);
}

void style_end(struct tf_buf *buf, enum cell_style style, bool color)
{
    if (color && style != CELL_PLAIN)
        tf_buf_str(buf, "\033[0m");
}

/* ---- tables ---- */

enum {
    GAP = 3,
    ROOM_LEAST = 24, /* of the last column: less says nothing, so the terminal may rather wrap the line */
};

void columns_init(struct columns *columns, const struct column *list, size_t count)
{
    *columns = (struct columns){.columns = list, .count = count};
}

void columns_release(struct columns *columns)
{
    tf_vec_each (cell, &columns->cells)
        free(cell->text);
    tf_vec_release(&columns->cells);
}

void columns_add_styled(struct columns *columns, enum cell_style style, const char *text)
{
    struct cell *cell = tf_vec_add(&columns->cells);
    TF_AUTO_BUF buf = TF_BUF_INIT;
    columns_text(&buf, text && *text ? text : "-", 0);
    cell->text = tf_buf_take(&buf);
    cell->style = style;
}

void columns_add(struct columns *columns, const char *text)
{
    columns_add_styled(columns, CELL_PLAIN, text);
}

void columns_add_fmt(struct columns *columns, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tf_utf8_trim(text);
    columns_add(columns, text);
}

size_t columns_rows(const struct columns *columns)
{
    return columns->cells.count / columns->count;
}

static bool shown(const struct columns *columns, size_t column, const struct columns_style *style)
{
    return style->wide || !(columns->columns[column].flags & COLUMN_WIDE);
}

static void measure(const struct columns *columns, size_t *widths)
{
    for (size_t c = 0; c < columns->count; c++)
        widths[c] = columns_width(columns->columns[c].title);
    for (size_t i = 0; i < columns->cells.count; i++) {
        size_t width = clean_width(columns->cells.items[i].text);
        size_t *most = &widths[i % columns->count];
        *most = width > *most ? width : *most;
    }
}

static size_t last_shown(const struct columns *columns, const struct columns_style *style)
{
    size_t last = columns->count - 1;
    while (last > 0 && !shown(columns, last, style))
        last--;
    return last;
}

static void pad(struct tf_buf *buf, size_t spaces)
{
    static const char blanks[] = "                                ";
    for (size_t part; spaces > 0; spaces -= part) {
        part = spaces < sizeof blanks - 1 ? spaces : sizeof blanks - 1;
        tf_buf_add(buf, blanks, part);
    }
}

struct line {
    const struct columns *columns;
    const struct columns_style *style;
    const size_t *widths;
    size_t last, used; /* last column shown; columns of the terminal used up */
};

static void print_cell(struct line *line, size_t column, const char *text, enum cell_style style,
                       struct tf_buf *buf)
{
    size_t room = 0, width = clean_width(text), blank = line->widths[column];
    blank = blank > width ? blank - width : 0;
    if (column == line->last && line->style->terminal)
        room =
            line->style->terminal > line->used + ROOM_LEAST ? line->style->terminal - line->used : ROOM_LEAST;
    bool right = line->columns->columns[column].flags & COLUMN_RIGHT;
    if (right)
        pad(buf, blank);
    style_begin(buf, style, line->style->color);
    columns_text(buf, text, room);
    style_end(buf, style, line->style->color);
    if (column == line->last)
        return;
    pad(buf, (right ? 0 : blank) + GAP);
    line->used += line->widths[column] + GAP;
}

/* cells NULL: the titles. */
static void print_line(struct line line, const struct cell *cells, struct tf_buf *buf)
{
    line.used = line.style->indent;
    pad(buf, line.style->indent);
    for (size_t c = 0; c < line.columns->count; c++) {
        if (!shown(line.columns, c, line.style))
            continue;
        if (cells)
            print_cell(&line, c, cells[c].text, cells[c].style, buf);
        else
            print_cell(&line, c, line.columns->columns[c].title, CELL_FAINT, buf);
    }
    tf_buf_char(buf, '\n');
}

void columns_print(const struct columns *columns, const struct columns_style *style, struct tf_buf *buf)
{
    TF_AUTO_FREE size_t *widths = tf_calloc(columns->count, sizeof *widths);
    measure(columns, widths);
    struct line line = {columns, style, widths, last_shown(columns, style), 0};
    if (!style->no_titles)
        print_line(line, NULL, buf);
    for (size_t row = 0; row < columns_rows(columns); row++)
        print_line(line, &columns->cells.items[row * columns->count], buf);
}
