/* SPDX-License-Identifier: Apache-2.0 */
/* Keys are in a hash table for the many writes; the sorted index that scans need is made when one comes after
 * keys were added or forgotten: scans are rare. */
#include "common/store/memory_map.h"

#include "common/base/buf.h"
#include "common/base/hash.h"
#include "common/base/vec.h"

#include <assert.h>

struct entry {
    UT_hash_handle hh;
    TF_VEC(struct tf_memory_version) versions; /* oldest first, never empty */
    bool crowded;                              /* in the map's list of that name */
    struct tf_bytes key;
    char bytes[];
};

struct tf_memory_map {
    struct entry *entries;
    TF_VEC(struct entry *) index; /* by key, valid unless stale */
    bool index_stale;
    TF_VEC(struct entry *) crowded; /* entries that compaction may find something in: removed, or changed */
    bool changed;                   /* by the transaction that is open */
    int64_t revision, compacted, bytes;
    bool noting;         /* changed keys, for who asks for them */
    struct tf_buf noted; /* each as its length, a size_t, and its bytes */
};

struct tf_memory_map *tf_memory_map_create(void)
{
    struct tf_memory_map *map = tf_calloc(1, sizeof *map);
    map->revision = 1;
    return map;
}

static struct entry *entry_add(struct tf_memory_map *map, struct tf_bytes key)
{
    struct entry *entry = tf_calloc(1, sizeof *entry + key.len);
    memcpy(entry->bytes, key.data, key.len);
    entry->key = (struct tf_bytes){entry->bytes, key.len};
    HASH_ADD_KEYPTR(hh, map->entries, entry->bytes, key.len, entry);
    map->index_stale = true;
    return entry;
}

static int64_t version_bytes(const struct entry *entry, const struct tf_memory_version *version)
{
    return (int64_t)(entry->key.len + version->len);
}

/* Forgets the n oldest versions; the entry goes with its last one. */
static void entry_forget(struct tf_memory_map *map, struct entry *entry, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        map->bytes -= version_bytes(entry, &entry->versions.items[i]);
        free(entry->versions.items[i].value);
    }
    size_t left = entry->versions.count - n;
    memmove(entry->versions.items, entry->versions.items + n, left * sizeof *entry->versions.items);
    entry->versions.count = left;
    if (left)
        return;
    HASH_DEL(map->entries, entry);
    map->index_stale = true;
    tf_vec_release(&entry->versions);
    free(entry);
}

void tf_memory_map_destroy(struct tf_memory_map *map)
{
    if (!map)
        return;
    struct entry *entry, *next;
    HASH_ITER (hh, map->entries, entry, next)
        entry_forget(map, entry, entry->versions.count);
    tf_vec_release(&map->index);
    tf_vec_release(&map->crowded);
    tf_buf_release(&map->noted);
    free(map);
}

static void version_add(struct tf_memory_map *map, struct entry *entry, struct tf_memory_version version,
                        struct tf_bytes value)
{
    version.value = tf_memdup(value.data, value.len);
    version.len = value.len;
    tf_vec_push(&entry->versions, version);
    if (!entry->crowded && (version.gone || entry->versions.count > 1)) {
        entry->crowded = true;
        tf_vec_push(&map->crowded, entry);
    }
    map->bytes += version_bytes(entry, &version);
}

struct tf_memory_map *tf_memory_map_copy(const struct tf_memory_map *map)
{
    struct tf_memory_map *copy = tf_memory_map_create();
    copy->revision = map->revision;
    copy->compacted = map->compacted;
    struct entry *entry, *next;
    HASH_ITER (hh, map->entries, entry, next) {
        struct entry *twin = entry_add(copy, entry->key);
        tf_vec_each (version, &entry->versions)
            version_add(copy, twin, *version, (struct tf_bytes){version->value, version->len});
    }
    return copy;
}

int64_t tf_memory_map_revision(const struct tf_memory_map *map)
{
    return map->revision;
}

int64_t tf_memory_map_compacted(const struct tf_memory_map *map)
{
    return map->compacted;
}

int64_t tf_memory_map_bytes(const struct tf_memory_map *map)
{
    return map->bytes;
}

static struct entry *entry_find(const struct tf_memory_map *map, struct tf_bytes key)
{
    struct entry *entry = NULL;
    HASH_FIND(hh, map->entries, key.data, key.len, entry);
    return entry;
}

static void note_change(struct tf_memory_map *map, const struct entry *entry)
{
    map->changed = true;
    if (!map->noting)
        return;
    tf_buf_add(&map->noted, &entry->key.len, sizeof entry->key.len);
    tf_buf_add(&map->noted, entry->key.data, entry->key.len);
}

/* NULL if the key does not exist at the revision. */
static const struct tf_memory_version *entry_at(const struct entry *entry, int64_t revision)
{
    for (size_t i = entry->versions.count; i-- > 0;) {
        const struct tf_memory_version *version = &entry->versions.items[i];
        if (version->modified_at <= revision)
            return version->gone ? NULL : version;
    }
    return NULL;
}

void tf_memory_map_put(struct tf_memory_map *map, struct tf_bytes key, struct tf_bytes value, int64_t lease)
{
    struct entry *entry = entry_find(map, key);
    if (!entry)
        entry = entry_add(map, key);
    int64_t revision = map->revision + 1;
    const struct tf_memory_version *old = entry_at(entry, revision);
    struct tf_memory_version version = {.modified_at = revision, .created_at = revision, .lease = lease};
    if (old)
        version.created_at = old->created_at;
    version_add(map, entry, version, value);
    note_change(map, entry);
}

static void entry_remove(struct tf_memory_map *map, struct entry *entry)
{
    struct tf_memory_version version = {.modified_at = map->revision + 1, .gone = true};
    version_add(map, entry, version, (struct tf_bytes){NULL, 0});
    note_change(map, entry);
}

void tf_memory_map_remove(struct tf_memory_map *map, struct tf_bytes key)
{
    struct entry *entry = entry_find(map, key);
    if (entry && entry_at(entry, INT64_MAX))
        entry_remove(map, entry);
}

void tf_memory_map_end(struct tf_memory_map *map)
{
    map->revision += map->changed;
    map->changed = false;
}

const struct tf_memory_version *tf_memory_map_get(const struct tf_memory_map *map, struct tf_bytes key,
                                                  int64_t revision)
{
    const struct entry *entry = entry_find(map, key);
    return entry ? entry_at(entry, revision) : NULL;
}

static int entry_order(const void *a, const void *b)
{
    struct entry *const *x = a, *const *y = b;
    return tf_bytes_cmp((*x)->key, (*y)->key);
}

static void index_refresh(struct tf_memory_map *map)
{
    if (!map->index_stale)
        return;
    map->index.count = 0;
    struct entry *entry, *next;
    HASH_ITER (hh, map->entries, entry, next)
        tf_vec_push(&map->index, entry);
    if (map->index.count)
        qsort(map->index.items, map->index.count, sizeof *map->index.items, entry_order);
    map->index_stale = false;
}

/* The place of the first key > after, or >= prefix if after is empty. */
static size_t index_start(const struct tf_memory_map *map, struct tf_bytes prefix, struct tf_bytes after)
{
    size_t low = 0, high = map->index.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct tf_bytes key = map->index.items[middle]->key;
        bool before = after.len ? tf_bytes_cmp(key, after) <= 0 : tf_bytes_cmp(key, prefix) < 0;
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void tf_memory_map_scan(struct tf_memory_map *map, struct tf_bytes prefix, struct tf_bytes after,
                        int64_t revision, tf_memory_row_f row, void *cookie)
{
    index_refresh(map);
    for (size_t i = index_start(map, prefix, after); i < map->index.count; i++) {
        const struct entry *entry = map->index.items[i];
        if (!tf_bytes_start_with(entry->key, prefix))
            return;
        const struct tf_memory_version *version = entry_at(entry, revision);
        if (version && !row(cookie, entry->key, version))
            return;
    }
}

bool tf_memory_map_changes(struct tf_memory_map *map, tf_memory_change_f row, void *cookie)
{
    if (!map->noting) {
        map->noting = true;
        return false;
    }
    for (size_t at = 0; at < map->noted.len;) {
        struct tf_bytes key;
        memcpy(&key.len, map->noted.data + at, sizeof key.len);
        at += sizeof key.len;
        key.data = map->noted.data + at;
        at += key.len;
        row(cookie, key, tf_memory_map_get(map, key, INT64_MAX));
    }
    tf_buf_clear(&map->noted);
    return true;
}

void tf_memory_map_remove_lease(struct tf_memory_map *map, int64_t lease)
{
    struct entry *entry, *next;
    HASH_ITER (hh, map->entries, entry, next) {
        const struct tf_memory_version *last = entry_at(entry, INT64_MAX);
        if (last && last->lease == lease)
            entry_remove(map, entry);
    }
    tf_memory_map_end(map);
}

/* False if the next compaction will find nothing in it, unless it changes; it may be gone. */
static bool entry_compact(struct tf_memory_map *map, struct entry *entry, int64_t revision)
{
    size_t covered = 0; /* versions that the revision is at or after */
    while (covered < entry->versions.count && entry->versions.items[covered].modified_at <= revision)
        covered++;
    bool visible = covered && !entry->versions.items[covered - 1].gone;
    size_t left = entry->versions.count - covered + visible;
    bool stays = left > 1 || (left == 1 && !visible && entry->versions.items[covered].gone);
    entry->crowded = stays;
    if (covered)
        entry_forget(map, entry, visible ? covered - 1 : covered);
    return stays;
}

void tf_memory_map_compact(struct tf_memory_map *map, int64_t revision)
{
    assert(revision <= map->revision);
    if (revision <= map->compacted)
        return;
    map->compacted = revision;
    size_t kept = 0;
    for (size_t i = 0; i < map->crowded.count; i++) {
        struct entry *entry = map->crowded.items[i];
        if (entry_compact(map, entry, revision))
            map->crowded.items[kept++] = entry;
    }
    map->crowded.count = kept;
}
