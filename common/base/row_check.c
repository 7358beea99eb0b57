/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the rules that rows state by themselves: required, bounds, names, UTF-8. They hold for objects from a
 * file and from a peer alike. */
#include "common/base/cleanup.h"
#include "common/base/name.h"
#include "common/base/quantity.h"
#include "common/base/row_value.h"
#include "common/base/text.h"

#include <inttypes.h>

/* One part of a path: a key, or (NULL) the place in a list. Paths are written only where somebody complains.
 */
struct step {
    const struct step *up;
    const char *key;
    size_t index;
};

/* Where we are: the path of the row in hand, and who hears of breaches. */
struct check {
    const struct step *at;
    struct tf_complaints *out;
};

static void check_rows(struct check *check, const struct tf_table *table, size_t first, const void *object,
                       bool required);
static void check_row(struct check *check, const struct tf_row *row, const void *object, bool required);

static void write_path(const struct step *step, struct tf_buf *out)
{
    if (!step)
        return;
    write_path(step->up, out);
    if (step->key && *step->key)
        tf_buf_fmt(out, "%s%s", out->len ? "." : "", step->key);
    else if (!step->key)
        tf_buf_fmt(out, "[%zu]", step->index);
}

#define complain(check, ...)                                               \
    do {                                                                   \
        TF_AUTO_BUF path_ = TF_BUF_INIT;                                   \
        write_path((check)->at, &path_);                                   \
        tf_complaints_add((check)->out, tf_buf_text(&path_), __VA_ARGS__); \
    } while (0)

static void enter_key(struct check *check, struct step *step, const char *key)
{
    *step = (struct step){.up = check->at, .key = key};
    check->at = step;
}

static void enter_index(struct check *check, struct step *step, size_t i)
{
    *step = (struct step){.up = check->at, .index = i};
    check->at = step;
}

static void leave(struct check *check)
{
    check->at = check->at->up;
}

/* ---- numbers ---- */

void tf_row_bounds(const struct tf_row *row, int64_t *min, int64_t *max)
{
    static const int64_t most[] = {
        [TF_ROW_INT32] = INT32_MAX,
        [TF_ROW_INT64] = INT64_MAX,
        [TF_ROW_DURATION] = INT64_C(3650) * 24 * 3600 * 1000,
        [TF_ROW_MEMORY] = INT64_C(1) << 40,
        [TF_ROW_CAPACITY] = INT64_C(1) << 40,
        [TF_ROW_CPU] = INT64_C(1000000000),
        [TF_ROW_FRACTION] = 10000,
        [TF_ROW_NOTATION] = INT64_MAX,
    };
    *min = row->min;
    *max = row->max;
    if (row->min == 0 && row->max == 0)
        *max = most[row->type];
}

static void check_number(struct check *check, const struct tf_row *row, int64_t value)
{
    if ((value == 0 && row->flags & (TF_ROW_ZERO | TF_ROW_NONE)) ||
        (value == TF_UNSET && row->flags & TF_ROW_OPTIONAL))
        return;
    if (value == TF_UNSET && row->flags & TF_ROW_FILLED) {
        complain(check, "is not filled in");
        return;
    }
    int64_t min, max;
    tf_row_bounds(row, &min, &max);
    if (value >= min && value <= max)
        return;
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_row_format_number(row, value, &text);
    tf_buf_str(&text, " is not between ");
    tf_row_format_number(row, min, &text);
    tf_buf_str(&text, " and ");
    tf_row_format_number(row, max, &text);
    complain(check, "%s", tf_buf_text(&text));
}

static void check_enum(struct check *check, const struct tf_row *row, const void *object, bool required)
{
    int value;
    memcpy(&value, (const char *)object + row->offset, sizeof value);
    if (value == 0 && row->flags & TF_ROW_FILLED)
        complain(check, "is not filled in");
    else if (value == 0 && required && row->flags & TF_ROW_REQUIRED)
        complain(check, "is missing");
    else if (value != 0 && !*tf_row_name(row, value))
        complain(check, "%d is no value that is known here", value);
    if (row->type != TF_ROW_CHOICE)
        return;
    const char *detail = *(char *const *)(const void *)((const char *)object + row->detail);
    if (value == row->detail_of && !detail)
        complain(check, "%s needs a text", row->names[value]);
    else if (value != row->detail_of && detail)
        complain(check, "only %s carries a text", row->names[row->detail_of]);
    else if (detail && !tf_utf8_valid(detail, strlen(detail)))
        complain(check, "is not valid UTF-8");
}

/* ---- texts ---- */

static void check_name(struct check *check, const char *text)
{
    struct tf_error err = TF_ERROR_INIT;
    if (tf_name_check(text, "the name", &err))
        complain(check, "%s", err.text);
}

static void check_text(struct check *check, const struct tf_row *row, const char *text)
{
    size_t len = strlen(text), min = (size_t)row->min, max = row->max ? (size_t)row->max : TF_TEXT_MAX;
    if (!tf_utf8_valid(text, len))
        complain(check, "is not valid UTF-8");
    else if (row->type == TF_ROW_NAME || row->type == TF_ROW_NAMES)
        check_name(check, text);
    else if (len < min && min == 1)
        complain(check, "is empty");
    else if (len < min || len > max)
        complain(check, "has %zu bytes, which is not between %zu and %zu", len, min, max);
}

static bool check_count(struct check *check, size_t count, size_t min, size_t max)
{
    if (count >= min && count <= max)
        return true;
    if (count < min)
        complain(check, "has %zu items, at least %zu %s needed", count, min, min == 1 ? "is" : "are");
    else
        complain(check, "has %zu items, more than %zu", count, max);
    return false;
}

/* Of a required list: one without items says as little as one that is missing. */
static void check_strings(struct check *check, const struct tf_row *row, const struct tf_strs *list,
                          bool required)
{
    if (!check_count(check, list->count, required ? 1 : 0, row->count ? row->count : TF_ITEMS_MAX))
        return;
    for (size_t i = 0; i < list->count; i++) {
        struct step step;
        enter_index(check, &step, i);
        check_text(check, row, list->items[i]);
        leave(check);
    }
}

static void check_pairs(struct check *check, const struct tf_row *row, const struct tf_pairs *map)
{
    if (!check_count(check, map->count, 0, row->count ? row->count : TF_ITEMS_MAX))
        return;
    tf_vec_each (pair, map) {
        if (!*pair->key || !tf_utf8_valid(pair->key, strlen(pair->key)) || strlen(pair->key) > TF_KEY_MAX) {
            complain(check, "a key is empty, not UTF-8, or longer than %d bytes", TF_KEY_MAX);
            continue;
        }
        struct step step;
        enter_key(check, &step, pair->key);
        check_text(check, row, pair->value);
        leave(check);
    }
}

/* ---- lists of objects ---- */

static const char *map_key(const struct tf_row *row, const void *item)
{
    const char *key = *(char *const *)(const void *)((const char *)item + row->table->rows[0].offset);
    return key ? key : "";
}

static void enter_item(struct check *check, struct step *step, const struct tf_row *row, const void *item,
                       size_t i)
{
    if (row->type == TF_ROW_MAP)
        enter_key(check, step, map_key(row, item));
    else
        enter_index(check, step, i);
}

static void check_item(struct check *check, const struct tf_row *row, const struct tf_row_list *list,
                       size_t i)
{
    size_t size = row->table->size;
    const char *item = (const char *)list->items + i * size;
    struct step step;
    enter_item(check, &step, row, item, i);
    for (size_t k = 0; row->type == TF_ROW_MAP && k < i; k++)
        if (tf_str_eq(map_key(row, item), map_key(row, (const char *)list->items + k * size)))
            complain(check, "is there twice");
    if (row->type == TF_ROW_MAP)
        check_row(check, &row->table->rows[0], item, true);
    check_rows(check, row->table, row->type == TF_ROW_MAP, item, true);
    leave(check);
}

static void check_list(struct check *check, const struct tf_row *row, const void *field)
{
    struct tf_row_list list = tf_row_list_get(field);
    size_t max = row->max ? (size_t)row->max : TF_ITEMS_MAX;
    if (!check_count(check, list.count, (size_t)row->min, max))
        return;
    for (size_t i = 0; i < list.count; i++)
        check_item(check, row, &list, i);
}

/* ---- rows ---- */

static bool is_text(const struct tf_row *row)
{
    return row->type == TF_ROW_STRING || row->type == TF_ROW_NAME;
}

/* An optional object of which no required text is there was left out as a whole. */
static bool left_out(const struct tf_table *table, const void *object)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct tf_row *row = &table->rows[i];
        const void *field = (const char *)object + row->offset;
        if (row->flags & TF_ROW_REQUIRED && is_text(row) && *(char *const *)field)
            return false;
    }
    return true;
}

static bool has_required_text(const struct tf_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].flags & TF_ROW_REQUIRED && is_text(&table->rows[i]))
            return true;
    return false;
}

bool tf_row_left_out(const struct tf_row *row, const void *field)
{
    return !(row->flags & TF_ROW_REQUIRED) && has_required_text(row->table) && left_out(row->table, field);
}

static void check_row(struct check *check, const struct tf_row *row, const void *object, bool required)
{
    const void *field = (const char *)object + row->offset;
    int64_t value = 0;
    required = required && row->flags & TF_ROW_REQUIRED;
    if (tf_row_number(row, object, &value))
        check_number(check, row, value);
    else if (is_text(row) && *(char *const *)field)
        check_text(check, row, *(char *const *)field);
    else if (is_text(row) && required)
        complain(check, "is missing");
    else if (row->type == TF_ROW_ENUM || row->type == TF_ROW_CHOICE)
        check_enum(check, row, object, required);
    else if (row->type == TF_ROW_STRINGS || row->type == TF_ROW_NAMES)
        check_strings(check, row, field, required);
    else if (row->type == TF_ROW_PAIRS)
        check_pairs(check, row, field);
    else if (row->type == TF_ROW_OBJECTS || row->type == TF_ROW_MAP)
        check_list(check, row, field);
    else if (row->type == TF_ROW_OBJECT)
        check_rows(check, row->table, 0, field, required || !left_out(row->table, field));
}

static void check_rows(struct check *check, const struct tf_table *table, size_t first, const void *object,
                       bool required)
{
    for (size_t i = first; i < table->count; i++) {
        struct step step;
        enter_key(check, &step, table->rows[i].key);
        check_row(check, &table->rows[i], object, required);
        leave(check);
    }
}

bool tf_table_check_rows(const struct tf_table *table, const void *object, struct tf_complaints *out)
{
    struct check check = {.out = out};
    size_t before = out->count;
    check_rows(&check, table, 0, object, true);
    return out->count == before;
}

/* ---- the rules of tables ---- */

static void run_checks(struct check *check, const struct tf_table *table, const void *object);

/* The complaints of a nested table get the path that led to it. */
static void run_check(struct check *check, const struct tf_table *table, const void *object)
{
    struct tf_complaints inner = {0};
    table->check(object, &inner);
    tf_vec_each (c, &inner) {
        struct step step;
        enter_key(check, &step, c->path); /* "": about the whole */
        complain(check, "%s", c->text);
        leave(check);
    }
    tf_complaints_release(&inner);
}

static void run_item_checks(struct check *check, const struct tf_row *row, const void *field)
{
    struct tf_row_list list = tf_row_list_get(field);
    for (size_t i = 0; i < list.count; i++) {
        const char *item = (const char *)list.items + i * row->table->size;
        struct step step;
        enter_item(check, &step, row, item, i);
        run_checks(check, row->table, item);
        leave(check);
    }
}

static void run_checks(struct check *check, const struct tf_table *table, const void *object)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct tf_row *row = &table->rows[i];
        const void *field = (const char *)object + row->offset;
        struct step step;
        enter_key(check, &step, row->key);
        if (row->type == TF_ROW_OBJECT)
            run_checks(check, row->table, field);
        else if (row->type == TF_ROW_OBJECTS || row->type == TF_ROW_MAP)
            run_item_checks(check, row, field);
        leave(check);
    }
    if (table->check)
        run_check(check, table, object);
}

bool tf_table_check_rules(const struct tf_table *table, const void *object, struct tf_complaints *out)
{
    struct check check = {.out = out};
    size_t before = out->count;
    run_checks(&check, table, object);
    return out->count == before;
}

bool tf_table_check(const struct tf_table *table, const void *object, struct tf_complaints *out)
{
    return tf_table_check_rows(table, object, out) && tf_table_check_rules(table, object, out);
}

void tf_table_settle(const struct tf_table *table, void *object)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct tf_row *row = &table->rows[i];
        void *field = (char *)object + row->offset;
        if (row->type == TF_ROW_OBJECT)
            tf_table_settle(row->table, field);
        if (row->type != TF_ROW_OBJECTS && row->type != TF_ROW_MAP)
            continue;
        struct tf_row_list list = tf_row_list_get(field);
        for (size_t k = 0; k < list.count; k++)
            tf_table_settle(row->table, (char *)list.items + k * row->table->size);
    }
    if (table->settle)
        table->settle(object);
}
