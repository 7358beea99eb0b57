/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_LOG_LOG_H
#define TF_LOG_LOG_H

#include "common/base/error.h"

#include <stdbool.h>

/* The log of the process: one line an event, as text or JSON, to stderr or a file.
 *
 *     tf_log_info("job placed job=%s/%s size=%d", tenant, name, size);
 *
 * The format, a literal checked by the compiler, is a message and then `key=` fields, each with the
 * conversions that make its value: what stands before the first key is the message. Values are quoted and
 * escaped where the output needs it, so they may hold anything; bytes that are not UTF-8 become U+FFFD. A
 * line is at most TF_LOG_LINE bytes; what does not fit is cut and marked with an ellipsis. Conversions: d i u
 * x c s p f g %, with flags, width, precision and the length modifiers of integers.
 *
 *     text: 2026-03-01T12:00:00.000Z INFO  job placed job=search/rank size=4
 *     JSON: {"time":"2026-03-01T12:00:00.000Z","level":"info","message":"job
 * placed","job":"search/rank","size":4}
 *
 * Any thread; allocates nothing. A line that equals the one before is counted instead of written, and "last
 * message repeated n times" follows before the next other line, or after ten seconds of the same. */
enum tf_log_level { TF_LOG_DEBUG, TF_LOG_INFO, TF_LOG_WARN, TF_LOG_ERROR };
enum tf_log_format { TF_LOG_TEXT, TF_LOG_JSON };

enum { TF_LOG_LINE = 4096 };

struct tf_log_options {
    enum tf_log_level level; /* lower ones are dropped */
    enum tf_log_format format;
    const char *path; /* appended to; NULL = stderr. Borrowed during the call */
};

/* Before it the log is text at INFO on stderr. On failure the log stays as it was. */
int tf_log_open(const struct tf_log_options *options, struct tf_error *err);
/* Opens the file of tf_log_open again, after a rotation. */
int tf_log_reopen(struct tf_error *err);
/* Writes the count of repeated lines, if any. Timers of a daemon may call it. */
void tf_log_flush(void);
/* Flushes, and goes back to text at INFO on stderr. */
void tf_log_close(void);

/* "debug", "info", "warn", "error" and "text", "json"; the errors name what is allowed. */
int tf_log_level_parse(const char *text, enum tf_log_level *level, struct tf_error *err);
int tf_log_format_parse(const char *text, enum tf_log_format *format, struct tf_error *err);

bool tf_log_enabled(enum tf_log_level level);
void tf_log_write(enum tf_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define tf_log(level, ...)                      \
    do {                                        \
        if (tf_log_enabled(level))              \
            tf_log_write((level), __VA_ARGS__); \
    } while (0)
#define tf_log_debug(...) tf_log(TF_LOG_DEBUG, __VA_ARGS__)
#define tf_log_info(...) tf_log(TF_LOG_INFO, __VA_ARGS__)
#define tf_log_warn(...) tf_log(TF_LOG_WARN, __VA_ARGS__)
#define tf_log_error(...) tf_log(TF_LOG_ERROR, __VA_ARGS__)

#endif
