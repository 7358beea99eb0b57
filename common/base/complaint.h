/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_COMPLAINT_H
#define TF_BASE_COMPLAINT_H

#include <stddef.h>

/* A complaint about one field: path as in the manifest ("spec.elastic.min", "spec.topology[0].within"), text
 * that says what is wrong and what would be right. */
struct tf_complaint {
    char *path, *text;
};
struct tf_complaints {
    struct tf_complaint *items;
    size_t count, cap; /* at most 64 are kept */
};
void tf_complaints_add(struct tf_complaints *list, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void tf_complaints_release(struct tf_complaints *list);

#endif
