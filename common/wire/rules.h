/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_WIRE_RULES_H
#define TF_WIRE_RULES_H

/* Private to the files that walk rows (table.c, write.c): how fields are read, and the rules that hold in
 * every direction. */

#include "common/base/text.h"
#include "common/model/spec.h"
#include "common/wire/table.h"

/* Any {struct x *items; size_t count, cap;}; read and written by copying, since the pointer's type differs.
 */
struct list {
    void *items;
    size_t count, cap;
};

static inline void load(void *value, const void *from, size_t size)
{
    memcpy(value, from, size);
}

#define LOAD(type, from)                      \
    (__extension__({                          \
        type loaded_;                         \
        load(&loaded_, (from), sizeof(type)); \
        loaded_;                              \
    }))
#define STORE(type, to, ...)                    \
    do {                                        \
        type stored_ = (__VA_ARGS__);           \
        memcpy((to), &stored_, sizeof stored_); \
    } while (0)

static inline struct tf_wire_path at_row(const struct tf_wire_row *row, const struct tf_wire_path *up)
{
    return (struct tf_wire_path){.up = up, .name = row->name, .index = -1};
}

/* An embedded struct that is all zero is an absent message, whatever rows it has: most fields of most records
 * and messages are that, and nobody walks over theirs. */
static inline bool is_absent(const struct tf_wire_row *row, const void *object)
{
    const char *bytes = object;
    size_t size = row->table->size;
    return !(row->flags & TF_WIRE_REQUIRED) && bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

static inline int missing(const struct tf_wire_row *row, const struct tf_wire_path *path,
                          struct tf_error *err)
{
    return row->flags & TF_WIRE_REQUIRED ? tf_wire_error(path, err, "is missing") : 0;
}

static inline int check_number(const struct tf_wire_row *row, int64_t value, const struct tf_wire_path *path,
                               struct tf_error *err)
{
    if (value >= row->min && value <= row->max)
        return 0;
    return tf_wire_error(path, err, "%lld is not in %lld to %lld", (long long)value, (long long)row->min,
                         (long long)row->max);
}

static inline int check_unsigned(const struct tf_wire_row *row, uint64_t value,
                                 const struct tf_wire_path *path, struct tf_error *err)
{
    if (row->max < 0 || value <= (uint64_t)row->max)
        return 0;
    return tf_wire_error(path, err, "%llu is more than %lld", (unsigned long long)value, (long long)row->max);
}

static inline int check_string(const char *s, const struct tf_wire_path *path, struct tf_error *err)
{
    size_t len = strlen(s);
    if (len > TF_WIRE_STRING_MAX)
        return tf_wire_error(path, err, "%zu bytes, at most %d", len, TF_WIRE_STRING_MAX);
    return tf_utf8_valid(s, len) ? 0 : tf_wire_error(path, err, "is not UTF-8");
}

static inline int check_name(const char *s, const struct tf_wire_path *path, struct tf_error *err)
{
    struct tf_error why = TF_ERROR_INIT;
    return tf_name_check(s, "the name", &why) ? tf_wire_error(path, err, "%s", why.text) : 0;
}

static inline int check_count(size_t count, int64_t max, const struct tf_wire_path *path,
                              struct tf_error *err)
{
    if (count <= (size_t)max)
        return 0;
    return tf_wire_error(path, err, "%zu entries, at most %lld", count, (long long)max);
}

static inline int check_object(const struct tf_wire_table *table, const void *object,
                               const struct tf_wire_path *path, struct tf_error *err)
{
    return table->check ? table->check(object, path, err) : 0;
}

/* Free text as it can be sent, appended: cut at max bytes, with every byte that is not UTF-8 replaced. */
void tf_wire_clean_text(const char *s, size_t max, struct tf_buf *out);

#endif
