/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_ROW_VALUE_H
#define TF_BASE_ROW_VALUE_H

#include "common/base/row.h"

/* Private to row*.c. */

/* True for rows whose field is a number; *value is that number. */
bool tf_row_number(const struct tf_row *row, const void *object, int64_t *value);
/* False when the number stands for "not said". */
bool tf_row_number_said(const struct tf_row *row, int64_t value);
void tf_row_format_number(const struct tf_row *row, int64_t value, struct tf_buf *buf);

/* True of an optional object whose table has required texts, none of which is there: it was not said,
 * whatever its other fields hold. */
bool tf_row_left_out(const struct tf_row *row, const void *field);

/* Appends what fits one line, as YAML or JSON; false if it was not said. Not of objects, nor of lists of
 * them. */
bool tf_row_print_flat(const struct tf_row *row, const void *object, bool json, struct tf_buf *buf);
bool tf_row_is_nested(const struct tf_row *row); /* an object, or a list of them */
/* Of an item of a map. */
const char *tf_row_item_key(const struct tf_row *row, const void *item);

/* Any {struct x *items; size_t count, cap;} seen without knowing x. Read and written by copying, since the
 * pointer's type differs. */
struct tf_row_list {
    void *items;
    size_t count, cap;
};

static inline struct tf_row_list tf_row_list_get(const void *field)
{
    struct tf_row_list list;
    memcpy(&list, field, sizeof list);
    return list;
}

static inline void tf_row_list_set(void *field, struct tf_row_list list)
{
    memcpy(field, &list, sizeof list);
}

#endif
