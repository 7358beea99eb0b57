/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/complaint.h"

#include "common/base/text.h"
#include "common/base/vec.h"

#include <stdarg.h>

enum { COMPLAINTS_MAX = 64, COMPLAINT_TEXT_MAX = 1000 };

void tf_complaints_add(struct tf_complaints *list, const char *path, const char *fmt, ...)
{
    if (list->count == COMPLAINTS_MAX)
        return;
    char text[COMPLAINT_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tf_utf8_trim(text);
    tf_utf8_clean(text);
    struct tf_complaint complaint = {tf_strdup(path), tf_strdup(text)};
    tf_utf8_clean(complaint.path);
    tf_vec_push(list, complaint);
}

void tf_complaints_release(struct tf_complaints *list)
{
    tf_vec_each (c, list) {
        free(c->path);
        free(c->text);
    }
    tf_vec_release(list);
}
