/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how a description looks: what is in it is its kind's. */
#include "tools/fedctl/describe.h"

#include "common/base/cleanup.h"
#include "tools/fedctl/when.h"

#include <stdarg.h>

void describe_field(struct tf_buf *buf, const char *key, const char *fmt, ...)
{
    char text[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tf_buf_fmt(buf, "%-12s ", key);
    columns_text(buf, text, 0);
    tf_buf_char(buf, '\n');
}

void describe_text(struct tf_buf *buf, const char *key, const char *text)
{
    if (text && *text)
        describe_field(buf, key, "%s", text);
}

void describe_time(struct tf_buf *buf, const char *key, struct tf_wall at, struct tf_wall now)
{
    char local[WHEN_TEXT], ago[WHEN_TEXT];
    if (at.ms > 0)
        describe_field(buf, key, "%s (%s)", when_local(at, local), when_relative(at, now, ago));
}

void describe_labels(struct tf_buf *buf, const struct tf_pairs *labels)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    for (size_t i = 0; i < labels->count; i++)
        tf_buf_fmt(&text, "%s%s=%s", i ? ", " : "", labels->items[i].key, labels->items[i].value);
    describe_text(buf, "Labels:", tf_buf_text(&text));
}

void describe_block(struct tf_buf *buf, const char *title, const char *text)
{
    tf_buf_fmt(buf, "\n%s\n", title);
    while (*text) {
        size_t len = strcspn(text, "\n");
        TF_AUTO_FREE char *line = tf_strndup(text, len);
        tf_buf_str(buf, "  ");
        columns_text(buf, line, 0);
        tf_buf_char(buf, '\n');
        text += len + (text[len] == '\n');
    }
}

void describe_table(struct fedctl *ctl, const char *title, struct columns *columns, struct tf_buf *buf)
{
    struct columns_style style = ctl->out.style;
    style.indent = 2;
    if (columns_rows(columns)) {
        tf_buf_fmt(buf, "\n%s\n", title);
        columns_print(columns, &style, buf);
    }
    columns_release(columns);
}
