/* SPDX-License-Identifier: Apache-2.0 */
#include "subcluster/core/trace.h"

#include "common/base/buf.h"
#include "common/base/text.h"
#include "subcluster/core/outbox.h"

#include <stdarg.h>

enum { LINE_MAX_BYTES = 2000 }; /* longer ones are cut */

static void stamp(const struct sub *sub, struct tf_buf *line)
{
    long long ms = (long long)sub->now.mono.ms;
    tf_buf_fmt(line, "[%6lld.%03lld] ", ms / 1000, ms % 1000);
}

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
    stamp(sub, &line);
    va_list args;
    va_start(args, fmt);
    say(sub, &line, fmt, args);
    va_end(args);
}

void trace_epoch(struct sub *sub, const struct job *job, const char *fmt, ...)
{
    struct tf_buf line = TF_BUF_INIT;
    stamp(sub, &line);
    tf_buf_fmt(&line, "job %s/%s epoch %llu ", job->record.tenant, job->record.name,
               (unsigned long long)job->record.epoch);
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
