/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/list.h"

#include "common/base/text.h"

void tf_strs_release(struct tf_strs *list)
{
    tf_vec_each (s, list)
        free(*s);
    tf_vec_release(list);
}

void tf_strs_add(struct tf_strs *list, const char *s)
{
    tf_vec_push(list, tf_strdup(s));
}

void tf_strs_copy(struct tf_strs *to, const struct tf_strs *from)
{
    struct tf_strs copy = {0};
    tf_vec_each (s, from)
        tf_strs_add(&copy, *s);
    tf_strs_release(to);
    *to = copy;
}

bool tf_strs_has(const struct tf_strs *list, const char *s)
{
    tf_vec_each (item, list)
        if (tf_str_eq(*item, s))
            return true;
    return false;
}

bool tf_strs_eq(const struct tf_strs *a, const struct tf_strs *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!tf_str_eq(a->items[i], b->items[i]))
            return false;
    return true;
}

void tf_pairs_release(struct tf_pairs *map)
{
    tf_vec_each (p, map) {
        free(p->key);
        free(p->value);
    }
    tf_vec_release(map);
}

/* Index of the first key that is not less than key. */
static size_t pairs_find(const struct tf_pairs *map, const char *key)
{
    size_t low = 0, high = map->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(map->items[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void tf_pairs_set(struct tf_pairs *map, const char *key, const char *value)
{
    size_t at = pairs_find(map, key);
    if (at < map->count && tf_str_eq(map->items[at].key, key)) {
        tf_str_set(&map->items[at].value, value);
        return;
    }
    struct tf_pair pair = {tf_strdup(key), tf_strdup(value)};
    tf_vec_push(map, pair);
    memmove(&map->items[at + 1], &map->items[at], (map->count - 1 - at) * sizeof pair);
    map->items[at] = pair;
}

const char *tf_pairs_get(const struct tf_pairs *map, const char *key)
{
    size_t at = pairs_find(map, key);
    return at < map->count && tf_str_eq(map->items[at].key, key) ? map->items[at].value : NULL;
}

void tf_pairs_copy(struct tf_pairs *to, const struct tf_pairs *from)
{
    struct tf_pairs copy = {0};
    tf_vec_each (p, from)
        tf_pairs_set(&copy, p->key, p->value);
    tf_pairs_release(to);
    *to = copy;
}

bool tf_pairs_eq(const struct tf_pairs *a, const struct tf_pairs *b)
{
    return a->count == b->count && tf_pairs_match(a, b);
}

bool tf_pairs_match(const struct tf_pairs *have, const struct tf_pairs *want)
{
    tf_vec_each (p, want)
        if (!tf_str_eq(tf_pairs_get(have, p->key), p->value))
            return false;
    return true;
}
