/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/arena.h"

#include "common/base/alloc.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* Most messages are small, and there are many: the first chunk is part of the arena and small enough for
 * the allocator's short way, the next ones double. */
enum { FIRST_BYTES = 896, CHUNK_BYTES_MIN = 4 * 1024, CHUNK_BYTES_MAX = 64 * 1024, ALIGNMENT = 16 };

struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas(ALIGNMENT) char bytes[];
};

struct tf_arena {
    _Alignas(ALIGNMENT) struct chunk *first; /* right behind */
    struct chunk *current;
    size_t next_size; /* of the next chunk */
    bool within;      /* the caller's memory */
};

static struct chunk *chunk_create(size_t size)
{
    struct chunk *chunk = tf_malloc(sizeof *chunk + size);
    *chunk = (struct chunk){.size = size};
    return chunk;
}

struct tf_arena *tf_arena_create(void)
{
    struct tf_arena *arena = tf_malloc(sizeof *arena + sizeof *arena->first + FIRST_BYTES);
    *arena = (struct tf_arena){.first = (void *)(arena + 1), .next_size = CHUNK_BYTES_MIN};
    *arena->first = (struct chunk){.size = FIRST_BYTES};
    arena->current = arena->first;
    return arena;
}

struct tf_arena *tf_arena_within(struct tf_arena_room *room)
{
    struct tf_arena *arena = (void *)room->bytes;
    *arena = (struct tf_arena){.first = (void *)(arena + 1), .next_size = CHUNK_BYTES_MIN, .within = true};
    *arena->first = (struct chunk){.size = sizeof *room - sizeof *arena - sizeof *arena->first};
    arena->current = arena->first;
    return arena;
}

void tf_arena_destroy(struct tf_arena *arena)
{
    if (!arena)
        return;
    for (struct chunk *chunk = arena->first->next; chunk;) {
        struct chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    if (!arena->within)
        free(arena);
}

void tf_arena_reset(struct tf_arena *arena)
{
    for (struct chunk *chunk = arena->first; chunk; chunk = chunk->next)
        chunk->used = 0;
    arena->current = arena->first;
}

static struct chunk *next_chunk(struct tf_arena *arena, size_t need)
{
    size_t size = arena->next_size;
    if (size < CHUNK_BYTES_MAX)
        arena->next_size = 2 * size;
    return chunk_create(need > size ? need : size);
}

void *tf_arena_alloc(struct tf_arena *arena, size_t count, size_t size)
{
    assert(size == 0 || count < SIZE_MAX / 4 / size);
    size_t need = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct chunk *chunk = arena->current;
    while (chunk->size - chunk->used < need) {
        if (!chunk->next)
            chunk->next = next_chunk(arena, need);
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
