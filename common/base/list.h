/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_LIST_H
#define TF_BASE_LIST_H

#include "common/base/vec.h"

#include <stdbool.h>

/* A list of owned strings, in the order given. */
struct tf_strs {
    char **items;
    size_t count, cap;
};

void tf_strs_release(struct tf_strs *list);
void tf_strs_add(struct tf_strs *list, const char *s);
void tf_strs_copy(struct tf_strs *to, const struct tf_strs *from); /* to is empty or initialised */
bool tf_strs_has(const struct tf_strs *list, const char *s);
bool tf_strs_eq(const struct tf_strs *a, const struct tf_strs *b);

/* A map from string to string, sorted by key, keys unique: labels, environments. */
struct tf_pair {
    char *key, *value;
};
struct tf_pairs {
    struct tf_pair *items;
    size_t count, cap;
};

void tf_pairs_release(struct tf_pairs *map);
void tf_pairs_set(struct tf_pairs *map, const char *key, const char *value);
const char *tf_pairs_get(const struct tf_pairs *map, const char *key); /* borrowed, NULL if absent */
void tf_pairs_copy(struct tf_pairs *to, const struct tf_pairs *from);
bool tf_pairs_eq(const struct tf_pairs *a, const struct tf_pairs *b);
/* True if every pair of want is in have: a selector matches labels. */
bool tf_pairs_match(const struct tf_pairs *have, const struct tf_pairs *want);

#endif
