/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_ARENA_H
#define TF_BASE_ARENA_H

#include <stddef.h>

/* Memory for one scheduling round or one message: many small pieces, all given back at once. */
struct tf_arena;

struct tf_arena *tf_arena_create(void);
/* The same, beginning in memory of the caller, which is borrowed until the arena is destroyed: what fits in
 * there costs no allocation. `struct tf_arena_room room; TF_AUTO_ARENA arena = tf_arena_within(&room);` */
enum { TF_ARENA_ROOM = 4096 };
struct tf_arena_room {
    _Alignas(16) char bytes[TF_ARENA_ROOM];
};
struct tf_arena *tf_arena_within(struct tf_arena_room *room);
void tf_arena_destroy(struct tf_arena *arena); /* NULL is fine */
void tf_arena_reset(struct tf_arena *arena);   /* forgets all pieces, keeps the memory for reuse */
/* Zeroed, aligned for any type, valid until reset or destroy. */
void *tf_arena_alloc(struct tf_arena *arena, size_t count, size_t size);
char *tf_arena_strdup(struct tf_arena *arena, const char *s);

#endif
