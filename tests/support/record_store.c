/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/record_store.h"

#include "common/wire/records.h"

#include <stdio.h>

static void give_up(const char *what, const struct tf_error *err)
{
    fprintf(stderr, "record store: %s: %s\n", what, err->text);
    abort();
}

static struct stored_record *find(struct record_store *store, const struct tf_buf *key)
{
    tf_vec_each (item, store)
        if (item->key_len == key->len && memcmp(item->key, key->data, key->len) == 0)
            return item;
    return NULL;
}

static void put(struct record_store *store, const struct tf_record *record)
{
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_BUF key = TF_BUF_INIT;
    TF_AUTO_BUF value = TF_BUF_INIT;
    if (tf_wire_record_key(record, &key, &err))
        give_up("a key", &err);
    if (!record->gone && tf_wire_record_pack(record, &value, &err))
        give_up(tf_buf_text(&key), &err);
    struct stored_record *item = find(store, &key);
    if (record->gone) {
        if (!item)
            return;
        free(item->key);
        free(item->value);
        tf_vec_remove(store, (size_t)(item - store->items));
        return;
    }
    if (!item) {
        item = tf_vec_add(store);
        item->key_len = key.len;
        item->key = tf_buf_take(&key);
    }
    free(item->value);
    item->len = value.len;
    item->value = tf_buf_take(&value);
}

void record_store_put(struct record_store *store, const struct tf_record *records, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put(store, &records[i]);
}

void record_store_get(const struct record_store *store, size_t i, struct tf_record *record)
{
    const struct stored_record *item = &store->items[i];
    struct tf_error err = TF_ERROR_INIT;
    if (tf_wire_record_unpack(item->key, item->key_len, item->value, item->len, record, &err))
        give_up(item->key, &err);
}

void record_store_release(struct record_store *store)
{
    tf_vec_each (item, store) {
        free(item->key);
        free(item->value);
    }
    tf_vec_release(store);
}
