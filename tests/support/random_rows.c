/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/random_rows.h"

#include "common/base/cleanup.h"

static void fill(struct tf_rng *rng, const struct tf_table *table, void *object);

static bool one_in(struct tf_rng *rng, uint64_t n)
{
    return tf_rng_below(rng, n) == 0;
}

static char *random_text(struct tf_rng *rng, int64_t min, int64_t max)
{
    static const char *const pieces[] = {"a",
                                         "Z",
                                         "0",
                                         " ",
                                         ":",
                                         "#",
                                         "- ",
                                         "'",
                                         "\"",
                                         "\\",
                                         "\n",
                                         "\t",
                                         "{",
                                         "]",
                                         ",",
                                         "\xc2\x85",
                                         "\x01",
                                         "\x7f",
                                         "\xc3\xa9",
                                         "true",
                                         "null",
                                         "~",
                                         "%",
                                         "@",
                                         "&",
                                         "*",
                                         "!",
                                         "|",
                                         ">",
                                         "?",
                                         "=",
                                         "\r",
                                         "<<",
                                         "---",
                                         "\xe2\x80\xa8",
                                         "\xef\xbb\xbf",
                                         "\xf0\x9f\x98\x80",
                                         "\xef\xbf\xbe"};
    struct tf_buf buf = TF_BUF_INIT;
    for (uint64_t n = tf_rng_below(rng, 8); n > 0; n--) {
        const char *piece = pieces[tf_rng_below(rng, TF_ARRAY_LEN(pieces))];
        if (!max || buf.len + strlen(piece) <= (size_t)max)
            tf_buf_str(&buf, piece);
    }
    while (buf.len < (size_t)min)
        tf_buf_char(&buf, 'x');
    return tf_buf_take(&buf);
}

static char *random_name(struct tf_rng *rng)
{
    static const char letters[] = "abcxyz0189-.";
    char name[16];
    size_t len = 1 + tf_rng_below(rng, sizeof name - 1);
    for (size_t i = 0; i < len; i++) {
        bool edge = i == 0 || i + 1 == len || name[i - 1] == '.';
        name[i] = letters[tf_rng_below(rng, edge ? 10 : sizeof letters - 1)];
    }
    return tf_strndup(name, len);
}

static int64_t random_number(struct tf_rng *rng, const struct tf_row *row)
{
    int64_t min, max;
    tf_row_bounds(row, &min, &max);
    if (row->flags & TF_ROW_OPTIONAL && one_in(rng, 2))
        return TF_UNSET;
    if (row->flags & (TF_ROW_ZERO | TF_ROW_NONE) && one_in(rng, 3))
        return 0;
    if (one_in(rng, 8))
        return one_in(rng, 2) ? min : max;
    if (one_in(rng, 2) && max - 1000 > min)
        max = min + 1000;
    return tf_rng_range(rng, min, max);
}

static void set_enum(struct tf_rng *rng, const struct tf_row *row, void *object)
{
    int count = 0;
    while (row->names[count + 1])
        count++;
    bool unset = !(row->flags & (TF_ROW_FILLED | TF_ROW_REQUIRED)) && one_in(rng, 3);
    int value = unset ? 0 : 1 + (int)tf_rng_below(rng, (uint64_t)count);
    memcpy((char *)object + row->offset, &value, sizeof value);
    if (row->type != TF_ROW_CHOICE)
        return;
    TF_AUTO_FREE char *text = value == row->detail_of ? random_text(rng, 0, 0) : NULL;
    tf_str_set((char **)(void *)((char *)object + row->detail), text);
}

static char *random_item(struct tf_rng *rng, const struct tf_row *row)
{
    bool name = row->type == TF_ROW_NAME || row->type == TF_ROW_NAMES;
    return name ? random_name(rng) : random_text(rng, row->min, row->max);
}

static void set_text(struct tf_rng *rng, const struct tf_row *row, char **field)
{
    bool unset = !(row->flags & TF_ROW_REQUIRED) && !row->def && one_in(rng, 3);
    TF_AUTO_FREE char *text = unset ? NULL : random_item(rng, row);
    tf_str_set(field, text);
}

static void set_strings(struct tf_rng *rng, const struct tf_row *row, struct tf_strs *list)
{
    tf_strs_release(list);
    for (uint64_t n = tf_rng_below(rng, 4); n > 0; n--) {
        TF_AUTO_FREE char *text = random_item(rng, row);
        tf_strs_add(list, text);
    }
}

static void set_pairs(struct tf_rng *rng, const struct tf_row *row, struct tf_pairs *map)
{
    tf_pairs_release(map);
    for (uint64_t n = tf_rng_below(rng, 4); n > 0; n--) {
        TF_AUTO_FREE char *key = random_text(rng, 1, TF_KEY_MAX),
                          *value = random_text(rng, row->min, row->max);
        tf_pairs_set(map, key, value);
    }
}

static void set_list(struct tf_rng *rng, const struct tf_row *row, void *object)
{
    const struct tf_table alone = {.rows = row, .count = 1};
    tf_table_release(&alone, object);
    uint64_t count = (uint64_t)row->min + tf_rng_below(rng, 3);
    for (uint64_t i = 0; i < count; i++) {
        void *item = tf_row_add(row, object);
        fill(rng, row->table, item);
        if (row->type != TF_ROW_MAP)
            continue;
        char **key = (char **)(void *)((char *)item + row->table->rows[0].offset);
        TF_AUTO_FREE char *unique = tf_asprintf("%s%llu", *key, (unsigned long long)i);
        tf_str_set(key, unique);
    }
}

static void set_row(struct tf_rng *rng, const struct tf_row *row, void *object)
{
    void *field = (char *)object + row->offset;
    switch (row->type) {
    case TF_ROW_CONST:
    case TF_ROW_SIZES:
        break;
    case TF_ROW_STRING:
    case TF_ROW_NAME:
        set_text(rng, row, field);
        break;
    case TF_ROW_BOOL:
        *(bool *)field = one_in(rng, 2);
        break;
    case TF_ROW_INT32:
    case TF_ROW_FRACTION:
        *(int32_t *)field = (int32_t)random_number(rng, row);
        break;
    case TF_ROW_INT64:
    case TF_ROW_DURATION:
    case TF_ROW_MEMORY:
    case TF_ROW_CAPACITY:
    case TF_ROW_CPU:
    case TF_ROW_NOTATION:
        *(int64_t *)field = random_number(rng, row);
        break;
    case TF_ROW_ENUM:
    case TF_ROW_CHOICE:
        set_enum(rng, row, object);
        break;
    case TF_ROW_STRINGS:
    case TF_ROW_NAMES:
        set_strings(rng, row, field);
        break;
    case TF_ROW_PAIRS:
        set_pairs(rng, row, field);
        break;
    case TF_ROW_OBJECT:
        fill(rng, row->table, field);
        break;
    case TF_ROW_OBJECTS:
    case TF_ROW_MAP:
        set_list(rng, row, object);
        break;
    }
}

static void fill(struct tf_rng *rng, const struct tf_table *table, void *object)
{
    for (size_t i = 0; i < table->count; i++)
        set_row(rng, &table->rows[i], object);
}

void random_object(struct tf_rng *rng, const struct tf_table *table, void *object)
{
    memset(object, 0, table->size);
    fill(rng, table, object);
}
