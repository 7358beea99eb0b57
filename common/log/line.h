/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_LOG_LINE_H
#define TF_LOG_LINE_H

#include "common/log/log.h"

#include <stdarg.h>
#include <stddef.h>

/* One line in the making; for log.c and its tests. text is not NUL-terminated. */
struct tf_log_line {
    enum tf_log_format format;
    size_t len;
    char text[TF_LOG_LINE];
};

/* What follows the time: level, message and fields, with the newline. */
void tf_log_line_body(struct tf_log_line *line, enum tf_log_format format, enum tf_log_level level,
                      const char *fmt, va_list args) __attribute__((format(printf, 4, 0)));

#endif
