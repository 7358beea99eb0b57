/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/error.h"

#include "common/base/text.h"

#include <stdarg.h>

static void fill(struct tf_error *err, enum tf_error_code code, int sys_errno, const char *fmt, va_list args)
{
    err->code = code;
    err->sys_errno = sys_errno;
    vsnprintf(err->text, sizeof err->text, fmt, args);
    tf_utf8_trim(err->text);
    tf_utf8_clean(err->text); /* it may quote what somebody sent, cut anywhere */
}

int tf_error_set(struct tf_error *err, enum tf_error_code code, const char *fmt, ...)
{
    if (!err)
        return -1;
    va_list args;
    va_start(args, fmt);
    fill(err, code, 0, fmt, args);
    va_end(args);
    return -1;
}

int tf_error_errno(struct tf_error *err, enum tf_error_code code, int sys_errno, const char *fmt, ...)
{
    if (!err)
        return -1;
    va_list args;
    va_start(args, fmt);
    fill(err, code, sys_errno, fmt, args);
    va_end(args);
    size_t used = strlen(err->text);
    char reason[128];
    snprintf(err->text + used, sizeof err->text - used, ": %s", strerror_r(sys_errno, reason, sizeof reason));
    return -1;
}

int tf_error_wrap(struct tf_error *err, const char *fmt, ...)
{
    if (!err)
        return -1;
    char context[sizeof err->text];
    va_list args;
    va_start(args, fmt);
    vsnprintf(context, sizeof context, fmt, args);
    va_end(args);
    char inner[sizeof err->text];
    memcpy(inner, err->text, sizeof inner);
    /* The inner text is the more useful one: context gives way when both do not fit. */
    int room = (int)(sizeof err->text - strlen(inner) - 3);
    snprintf(err->text, sizeof err->text, "%.*s: %s", room > 0 ? room : 0, context, inner);
    tf_utf8_trim(err->text);
    return -1;
}

const char *tf_error_code_name(enum tf_error_code code)
{
    switch (code) {
    case TF_OK:
        return "OK";
    case TF_ERR_INVALID:
        return "INVALID";
    case TF_ERR_NOT_FOUND:
        return "NOT_FOUND";
    case TF_ERR_CONFLICT:
        return "CONFLICT";
    case TF_ERR_REFUSED:
        return "REFUSED";
    case TF_ERR_UNAVAILABLE:
        return "UNAVAILABLE";
    case TF_ERR_UNKNOWN:
        return "UNKNOWN";
    case TF_ERR_TIMEOUT:
        return "TIMEOUT";
    case TF_ERR_TOO_LARGE:
        return "TOO_LARGE";
    case TF_ERR_IO:
        return "IO";
    case TF_ERR_BUG:
        return "BUG";
    }
    return "BUG";
}
