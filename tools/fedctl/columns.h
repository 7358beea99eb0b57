/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_COLUMNS_H
#define TF_FEDCTL_COLUMNS_H

#include "common/base/buf.h"
#include "common/base/vec.h"

#include <stdbool.h>

/* Text in aligned columns, by what a terminal shows of it and not by its bytes. */

/* Columns that a terminal needs for s (UTF-8): wide letters of East Asia take two, marks that combine none.
 */
size_t columns_width(const char *s);
/* s as one line without control characters (they could drive the terminal), at most width columns wide (0 =
 * as long as it is), the cut shown by "…". Appended to buf. */
void columns_text(struct tf_buf *buf, const char *s, size_t width);

enum column_flag {
    COLUMN_WIDE = 1,  /* shown with -o wide only */
    COLUMN_RIGHT = 2, /* numbers */
};
struct column {
    const char *title;
    unsigned flags;
};

enum cell_style { CELL_PLAIN, CELL_GOOD, CELL_BAD, CELL_WAITING, CELL_FAINT };

struct columns_style {
    bool wide;
    bool color;
    size_t terminal; /* columns of the terminal: what is longer is cut; 0 = nothing is cut */
    size_t indent;
    bool no_titles;
};

struct columns {
    const struct column *columns; /* borrowed */
    size_t count;
    TF_VEC(struct cell {
        char *text;
        enum cell_style style;
    })
    cells; /* row by row */
};

void columns_init(struct columns *columns, const struct column *list, size_t count);
void columns_release(struct columns *columns);
/* The next cell of the present row; every column gets one, also those not shown. "" is shown as "-". */
void columns_add(struct columns *columns, const char *text);
void columns_add_styled(struct columns *columns, enum cell_style style, const char *text);
void columns_add_fmt(struct columns *columns, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
size_t columns_rows(const struct columns *columns);
void columns_print(const struct columns *columns, const struct columns_style *style, struct tf_buf *buf);

/* Starts and ends a style in buf; nothing without color. */
void style_begin(struct tf_buf *buf, enum cell_style style, bool color);
void style_end(struct tf_buf *buf, enum cell_style style, bool color);

#endif
