/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is done to the fields of a table's struct in memory: defaults, release, copy, comparison, and the
 * parsing of single scalars. Rules and printing are in row_check.c and row_print.c; YAML text is read by
 * common/conf. */
#include "common/base/row.h"

#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "common/base/row_value.h"
#include "common/base/text.h"

#include <assert.h>

/* What a field is in memory, whatever it means. */
enum storage { NOTHING, TEXT, WORD32, WORD64, FLAG, CHOICE, STRINGS, PAIRS, OBJECT, LIST };

static enum storage storage_of(const struct tf_row *row)
{
    static const enum storage table[] = {
        [TF_ROW_STRING] = TEXT,     [TF_ROW_NAME] = TEXT,       [TF_ROW_CONST] = NOTHING,
        [TF_ROW_INT32] = WORD32,    [TF_ROW_INT64] = WORD64,    [TF_ROW_SIZES] = NOTHING,
        [TF_ROW_BOOL] = FLAG,       [TF_ROW_DURATION] = WORD64, [TF_ROW_MEMORY] = WORD64,
        [TF_ROW_CAPACITY] = WORD64, [TF_ROW_CPU] = WORD64,      [TF_ROW_FRACTION] = WORD32,
        [TF_ROW_NOTATION] = WORD64, [TF_ROW_ENUM] = WORD32,     [TF_ROW_CHOICE] = CHOICE,
        [TF_ROW_STRINGS] = STRINGS, [TF_ROW_NAMES] = STRINGS,   [TF_ROW_PAIRS] = PAIRS,
        [TF_ROW_OBJECT] = OBJECT,   [TF_ROW_OBJECTS] = LIST,    [TF_ROW_MAP] = LIST,
    };
    return table[row->type];
}

static void *field_of(const struct tf_row *row, void *object)
{
    return (char *)object + row->offset;
}

static const void *const_field_of(const struct tf_row *row, const void *object)
{
    return (const char *)object + row->offset;
}

static char **detail_of(const struct tf_row *row, void *object)
{
    return (char **)(void *)((char *)object + row->detail);
}

static const char *const_detail_of(const struct tf_row *row, const void *object)
{
    return *(char *const *)(const void *)((const char *)object + row->detail);
}

/* ---- defaults ---- */

static void parse_default(const struct tf_row *row, const char *text, void *object)
{
    int failed = tf_row_parse(row, text, object, NULL);
    assert(!failed);
    (void)failed;
}

/* One element of a default "a, b" or "a: 1, b: 2". */
static void default_item(const struct tf_row *row, char *text, void *object)
{
    if (row->type != TF_ROW_MAP) {
        parse_default(row, text, object);
        return;
    }
    char *value = strstr(text, ": ");
    assert(value && tf_row_map_value(row));
    *value = '\0';
    void *item = tf_row_add(row, object);
    parse_default(&row->table->rows[0], text, item);
    parse_default(tf_row_map_value(row), value + 2, item);
}

static void default_items(const struct tf_row *row, void *object)
{
    TF_AUTO_FREE char *text = tf_strdup(row->def);
    for (char *item = text, *next; item; item = next) {
        next = strstr(item, ", ");
        if (next) {
            *next = '\0';
            next += 2;
        }
        default_item(row, item, object);
    }
}

static void set_default(const struct tf_row *row, void *object)
{
    bool number = row->type != TF_ROW_ENUM && row->flags & (TF_ROW_FILLED | TF_ROW_OPTIONAL);
    if (number && storage_of(row) == WORD64)
        *(int64_t *)field_of(row, object) = TF_UNSET;
    else if (number && storage_of(row) == WORD32)
        *(int32_t *)field_of(row, object) = TF_UNSET;
    if (!row->def || row->type == TF_ROW_CONST)
        return;
    enum storage storage = storage_of(row);
    if (storage == STRINGS || storage == LIST)
        default_items(row, object);
    else
        parse_default(row, row->def, object);
}

static void set_defaults(const struct tf_table *table, void *object)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct tf_row *row = &table->rows[i];
        if (row->type == TF_ROW_OBJECT)
            set_defaults(row->table, field_of(row, object));
        else
            set_default(row, object);
    }
}

void tf_table_init(const struct tf_table *table, void *object)
{
    memset(object, 0, table->size);
    set_defaults(table, object);
}

void *tf_row_add(const struct tf_row *row, void *object)
{
    struct tf_row_list list = tf_row_list_get(field_of(row, object));
    size_t size = row->table->size;
    if (list.count == list.cap) {
        list.cap = list.cap ? 2 * list.cap : 4;
        list.items = tf_reallocarray(list.items, list.cap, size);
    }
    void *item = (char *)list.items + list.count++ * size;
    tf_table_init(row->table, item);
    tf_row_list_set(field_of(row, object), list);
    return item;
}

/* ---- release ---- */

static void release_rows(const struct tf_table *table, void *object);

static void release_list(const struct tf_row *row, void *field)
{
    struct tf_row_list list = tf_row_list_get(field);
    for (size_t i = 0; i < list.count; i++)
        release_rows(row->table, (char *)list.items + i * row->table->size);
    free(list.items);
    tf_row_list_set(field, (struct tf_row_list){0});
}

/* Most fields of most objects are empty: that is found out first. */
static void release_text(char **text)
{
    if (!*text)
        return;
    free(*text);
    *text = NULL;
}

static void release_row(const struct tf_row *row, void *object)
{
    void *field = field_of(row, object);
    switch (storage_of(row)) {
    case TEXT:
        release_text(field);
        break;
    case CHOICE:
        release_text(detail_of(row, object));
        break;
    case STRINGS:
        if (((struct tf_strs *)field)->items)
            tf_strs_release(field);
        break;
    case PAIRS:
        if (((struct tf_pairs *)field)->items)
            tf_pairs_release(field);
        break;
    case OBJECT:
        release_rows(row->table, field);
        break;
    case LIST:
        release_list(row, field);
        break;
    case NOTHING:
    case WORD32:
    case WORD64:
    case FLAG:
        break;
    }
}

/* Most rows are numbers: they are passed over. */
static void release_rows(const struct tf_table *table, void *object)
{
    enum {
        OWNING = 1 << TF_ROW_STRING | 1 << TF_ROW_NAME | 1 << TF_ROW_CHOICE | 1 << TF_ROW_STRINGS |
                 1 << TF_ROW_NAMES | 1 << TF_ROW_PAIRS | 1 << TF_ROW_OBJECT | 1 << TF_ROW_OBJECTS |
                 1 << TF_ROW_MAP
    };
    for (const struct tf_row *row = table->rows; row < table->rows + table->count; row++)
        if (OWNING >> row->type & 1)
            release_row(row, object);
}

/* A table of some rows of a struct says size 0: what is in it is not known. */
static bool is_zero(const char *bytes, size_t size)
{
    return size > 0 && bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* Often there is nothing: what was in it has been moved elsewhere, or it is new. */
void tf_table_release(const struct tf_table *table, void *object)
{
    if (!object || is_zero(object, table->size))
        return;
    release_rows(table, object);
    memset(object, 0, table->size);
}

/* ---- copy ---- */

static void copy_rows(const struct tf_table *table, void *to, const void *from);

static void copy_list(const struct tf_row *row, void *to, const void *from)
{
    struct tf_row_list source = tf_row_list_get(from), copy = {0};
    size_t size = row->table->size;
    if (source.count) {
        copy.items = tf_calloc(source.count, size);
        copy.count = copy.cap = source.count;
    }
    for (size_t i = 0; i < source.count; i++)
        copy_rows(row->table, (char *)copy.items + i * size, (const char *)source.items + i * size);
    tf_row_list_set(to, copy);
}

/* to is zeroed. */
static void copy_row(const struct tf_row *row, void *to, const void *from)
{
    void *field = field_of(row, to);
    const void *source = const_field_of(row, from);
    switch (storage_of(row)) {
    case NOTHING:
        break;
    case TEXT:
        tf_str_set(field, *(char *const *)source);
        break;
    case WORD32:
        memcpy(field, source, sizeof(int32_t));
        break;
    case WORD64:
        memcpy(field, source, sizeof(int64_t));
        break;
    case FLAG:
        memcpy(field, source, sizeof(bool));
        break;
    case CHOICE:
        memcpy(field, source, sizeof(int32_t));
        tf_str_set(detail_of(row, to), const_detail_of(row, from));
        break;
    case STRINGS:
        tf_strs_copy(field, source);
        break;
    case PAIRS:
        tf_pairs_copy(field, source);
        break;
    case OBJECT:
        copy_rows(row->table, field, source);
        break;
    case LIST:
        copy_list(row, field, source);
        break;
    }
}

/* True if there is nothing to copy: so for most fields of most objects. What `to` owned was released before.
 */
static inline bool has_nothing(const struct tf_row *row, const void *from, const void *to)
{
    const void *source = const_field_of(row, from);
    switch (storage_of(row)) {
    case NOTHING:
        return true;
    case TEXT:
        return !*(char *const *)source;
    case STRINGS:
    case PAIRS:
    case LIST:
        return tf_row_list_get(source).count == 0;
    case OBJECT:
        return row->table->size && memcmp(source, const_field_of(row, to), row->table->size) == 0;
    case WORD32:
    case WORD64:
    case FLAG:
    case CHOICE:
        break;
    }
    return false;
}

static void copy_rows(const struct tf_table *table, void *to, const void *from)
{
    for (const struct tf_row *row = table->rows; row < table->rows + table->count; row++)
        if (!has_nothing(row, from, to))
            copy_row(row, to, from);
}

void tf_table_copy(const struct tf_table *table, void *to, const void *from)
{
    assert(to != from);
    tf_table_release(table, to);
    copy_rows(table, to, from);
}

void tf_table_take(const struct tf_table *table, void *to, const void *from, unsigned flags)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct tf_row *row = &table->rows[i];
        if (row->flags & flags) {
            release_row(row, to);
            copy_row(row, to, from);
        } else if (row->type == TF_ROW_OBJECT)
            tf_table_take(row->table, field_of(row, to), const_field_of(row, from), flags);
    }
}

/* ---- comparison ---- */

static bool list_eq(const struct tf_row *row, const void *a, const void *b)
{
    struct tf_row_list x = tf_row_list_get(a), y = tf_row_list_get(b);
    size_t size = row->table->size;
    if (x.count != y.count)
        return false;
    for (size_t i = 0; i < x.count; i++)
        if (!tf_table_eq(row->table, (const char *)x.items + i * size, (const char *)y.items + i * size))
            return false;
    return true;
}

static inline bool row_eq(const struct tf_row *row, const void *a, const void *b)
{
    const void *x = const_field_of(row, a), *y = const_field_of(row, b);
    switch (storage_of(row)) {
    case NOTHING:
        return true;
    case TEXT:
        return tf_str_eq(*(char *const *)x, *(char *const *)y);
    case WORD32:
        return memcmp(x, y, sizeof(int32_t)) == 0;
    case WORD64:
        return memcmp(x, y, sizeof(int64_t)) == 0;
    case FLAG:
        return *(const bool *)x == *(const bool *)y;
    case CHOICE:
        return memcmp(x, y, sizeof(int32_t)) == 0 &&
               tf_str_eq(const_detail_of(row, a), const_detail_of(row, b));
    case STRINGS:
        return tf_strs_eq(x, y);
    case PAIRS:
        return tf_pairs_eq(x, y);
    case OBJECT: /* the same bytes say the same; mostly both are empty */
        return (row->table->size && memcmp(x, y, row->table->size) == 0) || tf_table_eq(row->table, x, y);
    case LIST:
        return list_eq(row, x, y);
    }
    return false;
}

bool tf_table_eq(const struct tf_table *table, const void *a, const void *b)
{
    for (size_t i = 0; i < table->count; i++)
        if (!row_eq(&table->rows[i], a, b))
            return false;
    return true;
}

/* only: 0, or flags of which a row must have one. */
static void diff_rows(const struct tf_table *table, const void *a, const void *b, unsigned skip,
                      unsigned only, const char *prefix, struct tf_strs *paths)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct tf_row *row = &table->rows[i];
        if (row->flags & skip || row_eq(row, a, b))
            continue;
        TF_AUTO_FREE char *path = tf_asprintf("%s%s%s", prefix, *prefix ? "." : "", row->key);
        if (row->type == TF_ROW_OBJECT)
            diff_rows(row->table, const_field_of(row, a), const_field_of(row, b), skip, only, path, paths);
        else if (!only || row->flags & only)
            tf_strs_add(paths, path);
    }
}

void tf_table_diff(const struct tf_table *table, const void *a, const void *b, unsigned skip,
                   struct tf_strs *paths)
{
    diff_rows(table, a, b, skip, 0, "", paths);
}

void tf_table_unused(const struct tf_table *table, const void *object, struct tf_strs *paths)
{
    void *plain = tf_calloc(1, table->size);
    tf_table_init(table, plain);
    diff_rows(table, plain, object, 0, TF_ROW_UNUSED, "", paths);
    tf_table_release(table, plain);
    free(plain);
}

/* ---- weight ---- */

enum { ITEM_WEIGHT = 8 }; /* tags, lengths and small numbers around an item */

static size_t text_weight(const char *s)
{
    return s ? strlen(s) + ITEM_WEIGHT : 0;
}

static size_t strings_weight(const struct tf_strs *list)
{
    size_t sum = 0;
    tf_vec_each (s, list)
        sum += text_weight(*s);
    return sum;
}

static size_t pairs_weight(const struct tf_pairs *map)
{
    size_t sum = 0;
    tf_vec_each (p, map)
        sum += ITEM_WEIGHT + text_weight(p->key) + text_weight(p->value);
    return sum;
}

static size_t list_weight(const struct tf_row *row, const void *field)
{
    struct tf_row_list list = tf_row_list_get(field);
    size_t sum = 0;
    for (size_t i = 0; i < list.count; i++)
        sum +=
            row->table->size + tf_table_weight(row->table, (const char *)list.items + i * row->table->size);
    return sum;
}

static size_t row_weight(const struct tf_row *row, const void *object)
{
    const void *field = const_field_of(row, object);
    switch (storage_of(row)) {
    case TEXT:
        return text_weight(*(char *const *)field);
    case CHOICE:
        return text_weight(const_detail_of(row, object));
    case STRINGS:
        return strings_weight(field);
    case PAIRS:
        return pairs_weight(field);
    case OBJECT:
        return tf_table_weight(row->table, field);
    case LIST:
        return list_weight(row, field);
    case NOTHING:
    case WORD32:
    case WORD64:
    case FLAG:
        break;
    }
    return 0;
}

size_t tf_table_weight(const struct tf_table *table, const void *object)
{
    size_t sum = 0;
    for (size_t i = 0; i < table->count; i++)
        sum += row_weight(&table->rows[i], object);
    return sum;
}
