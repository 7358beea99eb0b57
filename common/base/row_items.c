/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the flat form of an object: a key with its whole path and its value, line by line. */
#include "common/base/cleanup.h"
#include "common/base/row_value.h"
#include "common/base/vec.h"

/* Where in the object the rows are that are being listed. */
struct place {
    const char *path; /* "" at the top */
    bool reloadable;  /* what they are in is */
};

static void list_rows(const struct tf_table *table, const void *object, size_t first, struct place at,
                      struct tf_row_items *out);

static void add(const struct tf_row *row, const void *object, struct place at, struct tf_row_items *out)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    bool said = tf_row_print_flat(row, object, false, &text);
    tf_vec_push(out, (struct tf_row_item){.key = tf_strdup(at.path),
                                          .value = said ? tf_strdup(tf_buf_text(&text)) : NULL,
                                          .row = row,
                                          .reloadable = at.reloadable});
}

static void list_item(const struct tf_row *row, const void *item, size_t number, struct place at,
                      struct tf_row_items *out)
{
    bool map = row->type == TF_ROW_MAP;
    const struct tf_row *value = map ? tf_row_map_value(row) : NULL;
    TF_AUTO_FREE char *path = map ? tf_asprintf("%s.%s", at.path, tf_row_item_key(row, item))
                                  : tf_asprintf("%s[%zu]", at.path, number);
    at.path = path;
    if (value && !tf_row_is_nested(value))
        add(value, item, at, out);
    else
        list_rows(row->table, item, map ? 1 : 0, at, out);
}

static void list_row(const struct tf_row *row, const void *object, struct place at, struct tf_row_items *out)
{
    TF_AUTO_FREE char *path = tf_asprintf("%s%s%s", at.path, *at.path ? "." : "", row->key);
    const void *field = (const char *)object + row->offset;
    const struct place inside = {path, at.reloadable || row->flags & TF_ROW_RELOADABLE};
    if (row->type == TF_ROW_OBJECT) {
        list_rows(row->table, field, 0, inside, out);
    } else if (tf_row_is_nested(row)) {
        struct tf_row_list list = tf_row_list_get(field);
        for (size_t i = 0; i < list.count; i++)
            list_item(row, (const char *)list.items + i * row->table->size, i, inside, out);
    } else
        add(row, object, inside, out);
}

static void list_rows(const struct tf_table *table, const void *object, size_t first, struct place at,
                      struct tf_row_items *out)
{
    for (size_t i = first; i < table->count; i++)
        if (!(table->rows[i].flags & (TF_ROW_HIDDEN | TF_ROW_SUFFIX)) && table->rows[i].type != TF_ROW_SIZES)
            list_row(&table->rows[i], object, at, out);
}

void tf_table_items(const struct tf_table *table, const void *object, struct tf_row_items *out)
{
    list_rows(table, object, 0, (struct place){"", false}, out);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct tf_row_item *)a)->key, ((const struct tf_row_item *)b)->key);
}

void tf_row_items_sort(struct tf_row_items *items)
{
    if (items->count)
        qsort(items->items, items->count, sizeof *items->items, by_key);
}

const struct tf_row_item *tf_row_items_find(const struct tf_row_items *sorted, const char *key)
{
    size_t low = 0, high = sorted->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(sorted->items[middle].key, key);
        if (order == 0)
            return &sorted->items[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

void tf_row_items_release(struct tf_row_items *items)
{
    tf_vec_each (item, items) {
        free(item->key);
        free(item->value);
    }
    tf_vec_release(items);
}
