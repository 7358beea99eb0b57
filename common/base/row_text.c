/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the text of single fields: what people write for a type, how it is parsed and formatted. */
#include "common/base/cleanup.h"
#include "common/base/name.h"
#include "common/base/quantity.h"
#include "common/base/row_value.h"
#include "common/base/text.h"

#include <assert.h>
#include <inttypes.h>

const struct tf_row *tf_table_find(const struct tf_table *table, const char *key)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->rows[i].key, key) == 0)
            return &table->rows[i];
    return NULL;
}

const struct tf_row *tf_table_find_suffixed(const struct tf_table *table, const char *key,
                                            const char **suffix)
{
    const char *slash = strchr(key, '/');
    for (size_t i = 0; slash && i + 1 < table->count; i++) {
        const struct tf_row *row = &table->rows[i];
        size_t len = strlen(row->key);
        if (row->flags & TF_ROW_SUFFIX && strncmp(row->key, key, len) == 0) {
            *suffix = key + len;
            return row;
        }
    }
    return NULL;
}

const char *tf_table_nearest(const struct tf_table *table, size_t first, const char *word)
{
    TF_VEC(const char *) keys = {0};
    for (size_t i = first; i < table->count; i++)
        if (!(table->rows[i].flags & (TF_ROW_HIDDEN | TF_ROW_SUFFIX)))
            tf_vec_push(&keys, table->rows[i].key);
    const char *nearest = tf_nearest(word, keys.items, keys.count);
    tf_vec_release(&keys);
    return nearest;
}

const char *tf_row_type_text(const struct tf_row *row)
{
    if (row->type == TF_ROW_NOTATION)
        return row->notation->type_text;
    static const char *const texts[] = {
        [TF_ROW_STRING] = "a text",
        [TF_ROW_NAME] = "a name",
        [TF_ROW_CONST] = "a fixed word",
        [TF_ROW_INT32] = "a whole number",
        [TF_ROW_INT64] = "a whole number",
        [TF_ROW_SIZES] = "a whole number",
        [TF_ROW_BOOL] = "true or false",
        [TF_ROW_DURATION] = "a duration, as in 30s or 1h30m",
        [TF_ROW_MEMORY] = "a size, as in 80Gi",
        [TF_ROW_CAPACITY] = "a size, as in 80Gi",
        [TF_ROW_CPU] = "an amount of CPU, as in 96 or 500m",
        [TF_ROW_FRACTION] = "a fraction, as in 10%",
        [TF_ROW_ENUM] = "one word",
        [TF_ROW_CHOICE] = "one word",
        [TF_ROW_STRINGS] = "a list of texts",
        [TF_ROW_NAMES] = "a list of names",
        [TF_ROW_PAIRS] = "a mapping of keys to texts",
        [TF_ROW_OBJECT] = "a mapping of keys",
        [TF_ROW_OBJECTS] = "a list of mappings",
        [TF_ROW_MAP] = "a mapping of names",
    };
    return texts[row->type];
}

bool tf_row_is_scalar(const struct tf_row *row)
{
    return row->type < TF_ROW_STRINGS;
}

const struct tf_row *tf_row_map_value(const struct tf_row *row)
{
    assert(row->type == TF_ROW_MAP && row->table->count >= 2);
    return row->table->count == 2 ? &row->table->rows[1] : NULL;
}

const char *tf_row_name(const struct tf_row *row, int value)
{
    for (int i = 1; row->names[i]; i++)
        if (i == value)
            return row->names[i];
    return "";
}

/* ---- parsing ---- */

/* "none, restart or signal" */
static void list_names(const struct tf_row *row, struct tf_buf *buf)
{
    for (size_t i = 1; row->names[i]; i++) {
        if (i > 1)
            tf_buf_str(buf, row->names[i + 1] ? ", " : " or ");
        tf_buf_str(buf, row->names[i]);
    }
}

static int enum_value(const struct tf_row *row, const char *text, struct tf_error *err)
{
    size_t count = 1;
    for (; row->names[count]; count++)
        if (strcmp(row->names[count], text) == 0)
            return (int)count;
    TF_AUTO_BUF names = TF_BUF_INIT;
    list_names(row, &names);
    const char *nearest = tf_nearest(text, row->names + 1, count - 1);
    if (nearest && count > 3)
        return tf_error_set(err, TF_ERR_INVALID, "\"%.60s\" is not one of %s; did you mean \"%s\"?", text,
                            tf_buf_text(&names), nearest);
    return tf_error_set(err, TF_ERR_INVALID, "\"%.60s\" is not one of %s", text, tf_buf_text(&names));
}

static int parse_enum(const struct tf_row *row, const char *text, void *object, struct tf_error *err)
{
    int value = enum_value(row, text, err);
    if (value < 0)
        return -1;
    if (row->type == TF_ROW_CHOICE && value == row->detail_of)
        return tf_error_set(err, TF_ERR_INVALID, "%s needs a text: write {%s: ...}", text, text);
    memcpy((char *)object + row->offset, &value, sizeof value);
    return 0;
}

int tf_row_parse_detail(const struct tf_row *row, const char *name, const char *text, void *object,
                        struct tf_error *err)
{
    assert(row->type == TF_ROW_CHOICE);
    int value = enum_value(row, name, err);
    if (value < 0)
        return -1;
    if (value != row->detail_of)
        return tf_error_set(err, TF_ERR_INVALID, "%s takes no text: write %s alone", name, name);
    memcpy((char *)object + row->offset, &value, sizeof value);
    tf_str_set((char **)(void *)((char *)object + row->detail), text);
    return 0;
}

static int parse_int(const char *text, int64_t *value, struct tf_error *err)
{
    if (tf_parse_int64(text, INT64_MIN, INT64_MAX, value, NULL))
        return tf_error_set(err, TF_ERR_INVALID, "\"%.60s\" is not a whole number%s", text,
                            text[strspn(text, "-0123456789")] == '\0' && *text ? " that fits 64 bits" : "");
    return 0;
}

static int parse_number(const struct tf_row *row, const char *text, int64_t *value, struct tf_error *err)
{
    if (row->flags & TF_ROW_NONE && strcmp(text, "none") == 0) {
        *value = 0;
        return 0;
    }
    switch (row->type) {
    case TF_ROW_DURATION:
        return tf_duration_parse(text, value, err);
    case TF_ROW_MEMORY:
        return tf_memory_parse(text, true, value, err);
    case TF_ROW_CAPACITY:
        return tf_memory_parse(text, false, value, err);
    case TF_ROW_CPU:
        return tf_cpu_parse(text, value, err);
    case TF_ROW_FRACTION:
        return tf_fraction_parse(text, value, err);
    case TF_ROW_NOTATION:
        return row->notation->parse(text, value, err);
    default:
        return parse_int(text, value, err);
    }
}

/* In the struct 0 may stand for "not said": who writes it means the number, and must hear that it is none. */
static int refuse_written_zero(const struct tf_row *row, int64_t value, struct tf_error *err)
{
    int64_t min, max;
    tf_row_bounds(row, &min, &max);
    bool unsaid = row->flags & TF_ROW_ZERO || row->type == TF_ROW_SIZES;
    if (value != 0 || !unsaid || min <= 0)
        return 0;
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_row_format_number(row, 0, &text);
    tf_buf_str(&text, " is too small: it must be at least ");
    tf_row_format_number(row, min, &text);
    return tf_error_set(err, TF_ERR_INVALID, "%s, or be left out", tf_buf_text(&text));
}

static int store_int32(const struct tf_row *row, int64_t value, void *object, struct tf_error *err)
{
    if (value < INT32_MIN || value > INT32_MAX)
        return tf_error_set(err, TF_ERR_INVALID, "%" PRId64 " is too large a number", value);
    size_t count = row->type == TF_ROW_SIZES ? row->count : 1;
    for (size_t i = 0; i < count; i++)
        ((int32_t *)(void *)((char *)object + row->offset))[i] = (int32_t)value;
    return 0;
}

static int parse_bool(const char *text, bool *value, struct tf_error *err)
{
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return tf_error_set(err, TF_ERR_INVALID, "\"%.60s\" is neither true nor false", text);
    *value = strcmp(text, "true") == 0;
    return 0;
}

static int parse_const(const struct tf_row *row, const char *text, struct tf_error *err)
{
    if (strcmp(text, row->def) == 0)
        return 0;
    return tf_error_set(err, TF_ERR_INVALID, "\"%.60s\" is not known here: it must be %s", text, row->def);
}

int tf_row_parse(const struct tf_row *row, const char *text, void *object, struct tf_error *err)
{
    void *field = (char *)object + row->offset;
    int64_t value = 0;
    switch (row->type) {
    case TF_ROW_STRING:
    case TF_ROW_NAME:
        tf_str_set(field, text);
        return 0;
    case TF_ROW_STRINGS:
    case TF_ROW_NAMES:
        tf_strs_add(field, text);
        return 0;
    case TF_ROW_CONST:
        return parse_const(row, text, err);
    case TF_ROW_BOOL:
        return parse_bool(text, field, err);
    case TF_ROW_ENUM:
    case TF_ROW_CHOICE:
        return parse_enum(row, text, object, err);
    case TF_ROW_INT32:
    case TF_ROW_SIZES:
    case TF_ROW_FRACTION:
        return parse_number(row, text, &value, err) || refuse_written_zero(row, value, err)
                   ? -1
                   : store_int32(row, value, object, err);
    default:
        assert(tf_row_is_scalar(row));
        if (parse_number(row, text, &value, err) ||
            (row->type == TF_ROW_DURATION && refuse_written_zero(row, value, err)))
            return -1;
        *(int64_t *)field = value;
        return 0;
    }
}

/* ---- formatting ---- */

void tf_row_format_number(const struct tf_row *row, int64_t value, struct tf_buf *buf)
{
    char text[TF_QUANTITY_TEXT];
    if (value == 0 && row->flags & TF_ROW_NONE)
        tf_buf_str(buf, "none");
    else if (value < 0)
        tf_buf_fmt(buf, "%" PRId64, value); /* breaks a rule, but must be shown */
    else if (row->type == TF_ROW_NOTATION)
        row->notation->format(value, buf);
    else if (row->type == TF_ROW_DURATION)
        tf_buf_str(buf, tf_duration_format(value, text));
    else if (row->type == TF_ROW_MEMORY || row->type == TF_ROW_CAPACITY)
        tf_buf_str(buf, tf_memory_format(value, text));
    else if (row->type == TF_ROW_CPU)
        tf_buf_str(buf, tf_cpu_format(value, text));
    else if (row->type == TF_ROW_FRACTION)
        tf_buf_str(buf, tf_fraction_format(value, text));
    else
        tf_buf_fmt(buf, "%" PRId64, value);
}

bool tf_row_number_said(const struct tf_row *row, int64_t value)
{
    return !(row->flags & (TF_ROW_FILLED | TF_ROW_OPTIONAL) && value == TF_UNSET) &&
           !(row->flags & TF_ROW_ZERO && value == 0);
}

bool tf_row_number(const struct tf_row *row, const void *object, int64_t *value)
{
    const void *field = (const char *)object + row->offset;
    switch (row->type) {
    case TF_ROW_INT32:
    case TF_ROW_FRACTION:
        *value = *(const int32_t *)field;
        return true;
    case TF_ROW_INT64:
    case TF_ROW_DURATION:
    case TF_ROW_MEMORY:
    case TF_ROW_CAPACITY:
    case TF_ROW_CPU:
    case TF_ROW_NOTATION:
        *value = *(const int64_t *)field;
        return true;
    default:
        return false;
    }
}

/* "SIGUSR1" in {signal: SIGUSR1} is written by the caller: only the name of the value is scalar. */
static bool format_enum(const struct tf_row *row, const void *field, struct tf_buf *buf)
{
    int value;
    memcpy(&value, field, sizeof value);
    tf_buf_str(buf, tf_row_name(row, value));
    return *tf_row_name(row, value) != '\0';
}

bool tf_row_format(const struct tf_row *row, const void *object, struct tf_buf *buf)
{
    const void *field = (const char *)object + row->offset;
    int64_t value = 0;
    if (tf_row_number(row, object, &value)) {
        if (!tf_row_number_said(row, value))
            return false;
        tf_row_format_number(row, value, buf);
        return true;
    }
    switch (row->type) {
    case TF_ROW_STRING:
    case TF_ROW_NAME:
        if (*(char *const *)field)
            tf_buf_str(buf, *(char *const *)field);
        return *(char *const *)field != NULL;
    case TF_ROW_CONST:
        tf_buf_str(buf, row->def);
        return true;
    case TF_ROW_BOOL:
        tf_buf_str(buf, *(const bool *)field ? "true" : "false");
        return *(const bool *)field || !(row->flags & TF_ROW_ZERO);
    case TF_ROW_ENUM:
    case TF_ROW_CHOICE:
        return format_enum(row, field, buf);
    default:
        assert(row->type == TF_ROW_SIZES);
        return false;
    }
}
