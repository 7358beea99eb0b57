/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/intern.h"

#include "common/base/hash.h"

#include <assert.h>

struct tf_intern_entry {
    UT_hash_handle hh;
    int32_t number;
    char *text;
};

void tf_intern_release(struct tf_intern *in)
{
    struct tf_intern_entry *entry, *next;
    HASH_ITER (hh, in->by_text, entry, next) {
        HASH_DEL(in->by_text, entry);
        free(entry->text);
        free(entry);
    }
    free(in->by_number);
    *in = (struct tf_intern){0};
}

int32_t tf_intern_find(const struct tf_intern *in, const char *text)
{
    struct tf_intern_entry *found = NULL;
    HASH_FIND(hh, in->by_text, text, strlen(text), found);
    return found ? found->number : -1;
}

int32_t tf_intern_add(struct tf_intern *in, const char *text)
{
    int32_t known = tf_intern_find(in, text);
    if (known >= 0)
        return known;
    struct tf_intern_entry *entry = tf_calloc(1, sizeof *entry);
    entry->number = (int32_t)in->count;
    entry->text = tf_strdup(text);
    HASH_ADD_KEYPTR(hh, in->by_text, entry->text, strlen(entry->text), entry);
    if (in->count == in->cap) {
        in->cap = in->cap ? 2 * in->cap : 8;
        in->by_number = tf_reallocarray(in->by_number, in->cap, sizeof *in->by_number);
    }
    in->by_number[in->count++] = entry;
    return entry->number;
}

const char *tf_intern_text(const struct tf_intern *in, int32_t number)
{
    assert(number >= 0 && (size_t)number < in->count);
    return in->by_number[number]->text;
}
