/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_STORE_MEMORY_MAP_H
#define TF_STORE_MEMORY_MAP_H

/* The map inside the store in memory: keys with all their versions. Knows no leases but their numbers, no
 * time, no requests. */
#include "common/base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

struct tf_memory_version {
    int64_t modified_at, created_at; /* revisions */
    int64_t lease;
    bool gone; /* removed by modified_at */
    size_t len;
    char *value;
};

struct tf_memory_map;

struct tf_memory_map *tf_memory_map_create(void);
struct tf_memory_map *tf_memory_map_copy(const struct tf_memory_map *map);
void tf_memory_map_destroy(struct tf_memory_map *map); /* NULL is fine */

int64_t tf_memory_map_revision(const struct tf_memory_map *map);  /* of the last change; starts at 1 */
int64_t tf_memory_map_compacted(const struct tf_memory_map *map); /* older ones cannot be read */
int64_t tf_memory_map_bytes(const struct tf_memory_map *map);     /* keys and values of all versions */

/* One transaction: any number of put and remove of distinct keys, then end. The revision grows by one if
 * something was changed. */
void tf_memory_map_put(struct tf_memory_map *map, struct tf_bytes key, struct tf_bytes value, int64_t lease);
void tf_memory_map_remove(struct tf_memory_map *map, struct tf_bytes key);
void tf_memory_map_end(struct tf_memory_map *map);

/* What the key was at the revision (not compacted), or NULL if it did not exist. Borrowed until a change. */
const struct tf_memory_version *tf_memory_map_get(const struct tf_memory_map *map, struct tf_bytes key,
                                                  int64_t revision);
/* Calls row for each key of the prefix after `after`, in order, until it returns false. row changes nothing.
 */
typedef bool (*tf_memory_row_f)(void *cookie, struct tf_bytes key, const struct tf_memory_version *version);
void tf_memory_map_scan(struct tf_memory_map *map, struct tf_bytes prefix, struct tf_bytes after,
                        int64_t revision, tf_memory_row_f row, void *cookie);
/* Calls row for each key that was changed since the last call, in order, with what it is now (NULL: it is
 * gone); a key that was changed twice is given twice. False, calling nothing, if this is the first call of
 * this map: from now on changes are noted. row changes nothing. */
typedef void (*tf_memory_change_f)(void *cookie, struct tf_bytes key,
                                   const struct tf_memory_version *version);
bool tf_memory_map_changes(struct tf_memory_map *map, tf_memory_change_f row, void *cookie);
/* Removes, as one transaction, all keys under the lease. */
void tf_memory_map_remove_lease(struct tf_memory_map *map, int64_t lease);
/* Forgets the versions that no revision >= this one shows. */
void tf_memory_map_compact(struct tf_memory_map *map, int64_t revision);

#endif
