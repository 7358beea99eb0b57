/* SPDX-License-Identifier: Apache-2.0 */
#include "subcluster/core/trace.h"

#include "common/base/buf.h"
#include "common/base/text.h"
#include "subcluster/core/outbox.h"

#include <stdarg.h>

enum { LINE_MAX_BYTES = 2000 }; /* longer ones are cut */

static void say(struct sub *sub, struct tf_buf *line, const char *fmt, va_list args)
{
    size_t before = line->len;
    tf_buf_vfmt(line, fmt, args);
    if (line->len - before >= LINE_MAX_BYTES)
        line->data[before + LINE_MAX_BYTES - 1] = '\0';
    tf_utf8_trim(line->data + before);
    out_now(sub, (struct sub_action){.kind = SUB_ACT_TRACE, .text = tf_buf_take(line)});
}

void trace(struct sub *sub, const char *fmt, ...)
{
    struct tf_buf line = TF_BUF_INIT;
    tf_buf_stamp(&line, sub->now.mono);
    va_list args;
    va_start(args, fmt);
    say(sub, &line, fmt, args);
    va_end(args);
}

void trace_epoch(struct sub *sub, const struct job *job, const char *fmt, ...)
{
    struct tf_buf line = TF_BUF_INIT;
    tf_buf_stamp(&line, sub->now.mono);
    tf_buf_cat(&line, "job ", job->record.tenant, "/", job->record.name, " epoch ");
    tf_buf_uint(&line, job->record.epoch);
    tf_buf_char(&line, ' ');
    va_list args;
    va_start(args, fmt);
    say(sub, &line, fmt, args);
    va_end(args);
}

void alarm_raise(struct sub *sub, const char *fmt, ...)
{
    char text[LINE_MAX_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tf_utf8_trim(text);
    out_now(sub, (struct sub_action){.kind = SUB_ACT_ALARM, .text = tf_strdup(text)});
}
