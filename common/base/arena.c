/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/arena.h"

#include "common/base/alloc.h"

#include <assert.h>
#include <stdint.h>

enum { CHUNK_BYTES = 64 * 1024, ALIGNMENT = 16 };

struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas(ALIGNMENT) char bytes[];
};

struct tf_arena {
    struct chunk *first, *current;
};

static struct chunk *chunk_create(size_t size)
{
    struct chunk *chunk = tf_malloc(sizeof *chunk + size);
    *chunk = (struct chunk){.size = size};
    return chunk;
}

struct tf_arena *tf_arena_create(void)
{
    struct tf_arena *arena = tf_calloc(1, sizeof *arena);
    arena->first = arena->current = chunk_create(CHUNK_BYTES);
    return arena;
}

void tf_arena_destroy(struct tf_arena *arena)
{
    if (!arena)
        return;
    for (struct chunk *chunk = arena->first; chunk;) {
        struct chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    free(arena);
}

void tf_arena_reset(struct tf_arena *arena)
{
    for (struct chunk *chunk = arena->first; chunk; chunk = chunk->next)
        chunk->used = 0;
    arena->current = arena->first;
}

void *tf_arena_alloc(struct tf_arena *arena, size_t count, size_t size)
{
    assert(size == 0 || count < SIZE_MAX / 4 / size);
    size_t need = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct chunk *chunk = arena->current;
    while (chunk->size - chunk->used < need) {
        if (!chunk->next)
            chunk->next = chunk_create(need > CHUNK_BYTES ? need : CHUNK_BYTES);
        chunk = chunk->next;
    }
    arena->current = chunk;
    void *p = chunk->bytes + chunk->used;
    chunk->used += need;
    return memset(p, 0, need);
}

char *tf_arena_strdup(struct tf_arena *arena, const char *s)
{
    size_t len = strlen(s);
    return memcpy(tf_arena_alloc(arena, len + 1, 1), s, len);
}
