/* SPDX-License-Identifier: Apache-2.0 */
#include "common/wire/table.h"

#include "common/wire/rules.h"

#include <assert.h>

/* Owns the way between structs of the model and messages, row by row. */

/* ---- encoding: field is the struct's, slot the message's ---- */

void tf_wire_clean_text(const char *s, size_t max, struct tf_buf *out)
{
    size_t before = out->len;
    tf_buf_utf8(out, s);
    if (out->len - before <= max)
        return;
    out->data[before + max] = '\0';
    tf_utf8_trim(out->data + before);
    out->len = before + strlen(out->data + before);
}

/* s itself, if it can be sent as it is. */
static char *clean_text(const char *s, size_t max, struct tf_arena *arena)
{
    size_t len = strlen(s);
    if (len <= max && tf_utf8_valid(s, len))
        return (char *)(uintptr_t)s;
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_wire_clean_text(s, max, &text);
    return tf_arena_strdup(arena, tf_buf_text(&text));
}

static int put_string(const struct tf_wire_row *row, const char *s, char *slot, struct tf_arena *arena,
                      const struct tf_wire_path *path, struct tf_error *err)
{
    if (!s || !*s)
        return missing(row, path, err);
    if (row->kind == TF_WIRE_TEXT) {
        STORE(char *, slot, clean_text(s, (size_t)row->max, arena));
        return 0;
    }
    if (row->kind == TF_WIRE_NAME ? check_name(s, path, err) : check_string(s, path, err))
        return -1;
    STORE(const char *, slot, s);
    return 0;
}

static int put_strings(const struct tf_strs *list, char *slot, size_t *count, struct tf_wire_path *path,
                       struct tf_error *err)
{
    if (check_count(list->count, TF_WIRE_STRINGS_MAX, path, err))
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        path->index = (int64_t)i;
        if (check_string(list->items[i], path, err))
            return -1;
    }
    STORE(char **, slot, list->items);
    *count = list->count;
    return 0;
}

static int put_pairs(const struct tf_pairs *map, char *slot, size_t *count, struct tf_arena *arena,
                     struct tf_wire_path *path, struct tf_error *err)
{
    if (check_count(map->count, TF_WIRE_STRINGS_MAX, path, err))
        return -1;
    Tidefed__V1__Pair **pairs = tf_arena_alloc(arena, map->count, sizeof *pairs);
    for (size_t i = 0; i < map->count; i++) {
        path->index = (int64_t)i;
        const struct tf_pair *p = &map->items[i];
        if (check_string(p->key, path, err) || check_string(p->value, path, err))
            return -1;
        pairs[i] = tf_wire_message(&tidefed__v1__pair__descriptor, arena);
        pairs[i]->key = p->key;
        pairs[i]->value = p->value;
    }
    STORE(Tidefed__V1__Pair **, slot, pairs);
    *count = map->count;
    return 0;
}

static int put_number(const struct tf_wire_row *row, const char *field, char *slot,
                      const struct tf_wire_path *path, struct tf_error *err)
{
    int64_t value;
    switch (row->kind) {
    case TF_WIRE_BOOL:
        STORE(protobuf_c_boolean, slot, LOAD(bool, field));
        return 0;
    case TF_WIRE_LEVEL:
        value = LOAD(uint8_t, field);
        STORE(uint32_t, slot, (uint32_t)value);
        break;
    case TF_WIRE_INT32:
        value = LOAD(int32_t, field);
        STORE(int32_t, slot, (int32_t)value);
        break;
    case TF_WIRE_INT64:
        value = LOAD(int64_t, field);
        STORE(int64_t, slot, value);
        break;
    case TF_WIRE_UINT32:
        value = LOAD(uint32_t, field);
        STORE(uint32_t, slot, (uint32_t)value);
        break;
    default:
        STORE(uint64_t, slot, LOAD(uint64_t, field));
        return check_unsigned(row, LOAD(uint64_t, field), path, err);
    }
    return check_number(row, value, path, err);
}

static int put_bytes(const struct tf_wire_row *row, const char *object, char *slot,
                     const struct tf_wire_path *path, struct tf_error *err)
{
    ProtobufCBinaryData data = {.data = LOAD(uint8_t *, object + row->model),
                                .len = LOAD(size_t, object + row->detail)};
    if (check_count(data.len, row->max, path, err))
        return -1;
    STORE(ProtobufCBinaryData, slot, data);
    return 0;
}

static int put_uid(const struct tf_wire_row *row, const struct tf_uid *uid, char *slot,
                   const struct tf_wire_path *path, struct tf_error *err)
{
    if (tf_uid_is_none(*uid))
        return missing(row, path, err);
    STORE(ProtobufCBinaryData, slot,
          (ProtobufCBinaryData){.len = TF_UID_BYTES, .data = (uint8_t *)(uintptr_t)uid->bytes});
    return 0;
}

static int put_object(const struct tf_wire_row *row, const void *field, char *slot, struct tf_arena *arena,
                      const struct tf_wire_path *path, struct tf_error *err)
{
    ProtobufCMessage *message = NULL;
    if (row->kind == TF_WIRE_CUSTOM) {
        if (row->custom->encode(field, arena, path, &message, err))
            return -1;
    } else if (!is_absent(row, field)) {
        message = tf_wire_encode(row->table, field, arena, path, err);
        if (!message)
            return -1;
        if (!(row->flags & TF_WIRE_REQUIRED) && protobuf_c_message_get_packed_size(message) == 0)
            message = NULL;
    }
    STORE(ProtobufCMessage *, slot, message);
    return 0;
}

static int put_spec(const struct tf_wire_row *row, const struct tf_job_spec *spec, char *slot,
                    struct tf_arena *arena, const struct tf_wire_path *path, struct tf_error *err)
{
    return spec ? put_object(row, spec, slot, arena, path, err) : missing(row, path, err);
}

static int put_list(const struct tf_wire_row *row, struct list list, char *slot, size_t *count,
                    struct tf_arena *arena, struct tf_wire_path *path, struct tf_error *err)
{
    if (check_count(list.count, row->max, path, err))
        return -1;
    ProtobufCMessage **messages = tf_arena_alloc(arena, list.count, sizeof *messages);
    for (size_t i = 0; i < list.count; i++) {
        path->index = (int64_t)i;
        messages[i] = tf_wire_encode(row->table, (char *)list.items + i * row->table->size, arena, path, err);
        if (!messages[i])
            return -1;
    }
    STORE(ProtobufCMessage **, slot, messages);
    *count = list.count;
    return 0;
}

static int put_row(const struct tf_wire_row *row, const char *object, char *message, struct tf_arena *arena,
                   const struct tf_wire_path *up, struct tf_error *err)
{
    const char *field = object + row->model;
    char *slot = message + row->wire;
    size_t *count = (size_t *)(void *)(message + row->quantifier);
    struct tf_wire_path path = at_row(row, up);
    switch (row->kind) {
    case TF_WIRE_STRING:
    case TF_WIRE_NAME:
    case TF_WIRE_TEXT:
        return put_string(row, LOAD(const char *, field), slot, arena, &path, err);
    case TF_WIRE_STRINGS:
        return put_strings((const void *)field, slot, count, &path, err);
    case TF_WIRE_PAIRS:
        return put_pairs((const void *)field, slot, count, arena, &path, err);
    case TF_WIRE_UID:
        return put_uid(row, (const void *)field, slot, &path, err);
    case TF_WIRE_BYTES:
        return put_bytes(row, object, slot, &path, err);
    case TF_WIRE_OBJECT:
    case TF_WIRE_CUSTOM:
        return put_object(row, field, slot, arena, &path, err);
    case TF_WIRE_SPEC:
        return put_spec(row, LOAD(const struct tf_job_spec *, field), slot, arena, &path, err);
    case TF_WIRE_LIST:
        return put_list(row, LOAD(struct list, field), slot, count, arena, &path, err);
    case TF_WIRE_ONE:
        return put_list(row, (struct list){(void *)(uintptr_t)field, 1, 1}, slot, count, arena, &path, err);
    case TF_WIRE_BOOL:
    case TF_WIRE_LEVEL:
    case TF_WIRE_INT32:
    case TF_WIRE_INT64:
    case TF_WIRE_UINT32:
    case TF_WIRE_UINT64:
        return put_number(row, field, slot, &path, err);
    }
    return tf_wire_error(&path, err, "unknown kind of row");
}

void *tf_wire_message(const ProtobufCMessageDescriptor *descriptor, struct tf_arena *arena)
{
    ProtobufCMessage *message = tf_arena_alloc(arena, 1, descriptor->sizeof_message);
    protobuf_c_message_init(descriptor, message);
    return message;
}

ProtobufCMessage *tf_wire_encode(const struct tf_wire_table *table, const void *object,
                                 struct tf_arena *arena, const struct tf_wire_path *path,
                                 struct tf_error *err)
{
    if (check_object(table, object, path, err))
        return NULL;
    ProtobufCMessage *message = tf_wire_message(table->message, arena);
    for (size_t i = 0; i < table->count; i++)
        if (put_row(&table->rows[i], object, (char *)message, arena, path, err))
            return NULL;
    return message;
}

/* ---- decoding: slot is the message's, field the struct's ---- */

static int get_string(const struct tf_wire_row *row, const char *s, char *field,
                      const struct tf_wire_path *path, struct tf_error *err)
{
    if (!*s)
        return missing(row, path, err);
    if (row->kind == TF_WIRE_NAME ? check_name(s, path, err) : check_string(s, path, err))
        return -1;
    STORE(char *, field, tf_strdup(s));
    return 0;
}

static int get_strings(char *const *items, size_t count, struct tf_strs *list, struct tf_wire_path *path,
                       struct tf_error *err)
{
    if (check_count(count, TF_WIRE_STRINGS_MAX, path, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        path->index = (int64_t)i;
        if (check_string(items[i], path, err))
            return -1;
        tf_strs_add(list, items[i]);
    }
    return 0;
}

static int get_pairs(Tidefed__V1__Pair *const *pairs, size_t count, struct tf_pairs *map,
                     struct tf_wire_path *path, struct tf_error *err)
{
    if (check_count(count, TF_WIRE_STRINGS_MAX, path, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        path->index = (int64_t)i;
        const Tidefed__V1__Pair *p = pairs[i];
        if (check_string(p->key, path, err) || check_string(p->value, path, err))
            return -1;
        if (!*p->key)
            return tf_wire_error(path, err, "has no key");
        if (tf_pairs_get(map, p->key))
            return tf_wire_error(path, err, "key \"%.100s\" is there twice", p->key);
        tf_pairs_set(map, p->key, p->value);
    }
    return 0;
}

static int get_number(const struct tf_wire_row *row, const char *slot, char *field,
                      const struct tf_wire_path *path, struct tf_error *err)
{
    int64_t value;
    switch (row->kind) {
    case TF_WIRE_BOOL:
        STORE(bool, field, LOAD(protobuf_c_boolean, slot) != 0);
        return 0;
    case TF_WIRE_LEVEL:
        value = LOAD(uint32_t, slot);
        STORE(uint8_t, field, (uint8_t)value);
        break;
    case TF_WIRE_INT32:
        value = LOAD(int32_t, slot);
        STORE(int32_t, field, (int32_t)value);
        break;
    case TF_WIRE_INT64:
        value = LOAD(int64_t, slot);
        STORE(int64_t, field, value);
        break;
    case TF_WIRE_UINT32:
        value = LOAD(uint32_t, slot);
        STORE(uint32_t, field, (uint32_t)value);
        break;
    default:
        STORE(uint64_t, field, LOAD(uint64_t, slot));
        return check_unsigned(row, LOAD(uint64_t, slot), path, err);
    }
    return check_number(row, value, path, err);
}

static int get_uid(const struct tf_wire_row *row, ProtobufCBinaryData data, struct tf_uid *uid,
                   const struct tf_wire_path *path, struct tf_error *err)
{
    if (data.len == 0)
        return missing(row, path, err);
    if (data.len != TF_UID_BYTES)
        return tf_wire_error(path, err, "%zu bytes instead of %d", data.len, TF_UID_BYTES);
    memcpy(uid->bytes, data.data, TF_UID_BYTES);
    return tf_uid_is_none(*uid) ? missing(row, path, err) : 0;
}

static int get_bytes(const struct tf_wire_row *row, ProtobufCBinaryData data, char *object,
                     const struct tf_wire_path *path, struct tf_error *err)
{
    if (check_count(data.len, row->max, path, err))
        return -1;
    STORE(char *, object + row->model, tf_memdup(data.data, data.len));
    STORE(size_t, object + row->detail, data.len);
    return 0;
}

static int get_object(const struct tf_wire_row *row, const ProtobufCMessage *message, void *field,
                      const struct tf_wire_path *path, struct tf_error *err)
{
    if (!message)
        return missing(row, path, err);
    if (row->kind == TF_WIRE_CUSTOM)
        return row->custom->decode(message, field, path, err);
    return tf_wire_decode(row->table, message, field, path, err);
}

static int get_spec(const struct tf_wire_row *row, const ProtobufCMessage *message, char *field,
                    const struct tf_wire_path *path, struct tf_error *err)
{
    struct tf_job_spec spec = {0};
    if (!message)
        return missing(row, path, err);
    int failed = tf_wire_decode(row->table, message, &spec, path, err);
    STORE(const struct tf_job_spec *, field, tf_spec_share(&spec));
    return failed;
}

static int get_list(const struct tf_wire_row *row, ProtobufCMessage *const *messages, size_t count,
                    char *field, struct tf_wire_path *path, struct tf_error *err)
{
    if (check_count(count, row->max, path, err))
        return -1;
    if (count == 0)
        return 0;
    /* All elements are there, zeroed, before the first is decoded, so that the list can be released at any
     * time. */
    char *items = tf_calloc(count, row->table->size);
    STORE(struct list, field, (struct list){items, count, count});
    for (size_t i = 0; i < count; i++) {
        path->index = (int64_t)i;
        if (tf_wire_decode(row->table, messages[i], items + i * row->table->size, path, err))
            return -1;
    }
    return 0;
}

static int get_one(const struct tf_wire_row *row, ProtobufCMessage *const *messages, size_t count,
                   void *field, const struct tf_wire_path *path, struct tf_error *err)
{
    if (count != 1)
        return tf_wire_error(path, err, "%zu entries: this version knows jobs of exactly one", count);
    return tf_wire_decode(row->table, messages[0], field, path, err);
}

static int get_row(const struct tf_wire_row *row, const char *message, char *object,
                   const struct tf_wire_path *up, struct tf_error *err)
{
    char *field = object + row->model;
    const char *slot = message + row->wire;
    size_t count = LOAD(size_t, message + row->quantifier);
    struct tf_wire_path path = at_row(row, up);
    switch (row->kind) {
    case TF_WIRE_STRING:
    case TF_WIRE_NAME:
    case TF_WIRE_TEXT:
        return get_string(row, LOAD(const char *, slot), field, &path, err);
    case TF_WIRE_STRINGS:
        return get_strings(LOAD(char *const *, slot), count, (void *)field, &path, err);
    case TF_WIRE_PAIRS:
        return get_pairs(LOAD(Tidefed__V1__Pair *const *, slot), count, (void *)field, &path, err);
    case TF_WIRE_UID:
        return get_uid(row, LOAD(ProtobufCBinaryData, slot), (void *)field, &path, err);
    case TF_WIRE_BYTES:
        return get_bytes(row, LOAD(ProtobufCBinaryData, slot), object, &path, err);
    case TF_WIRE_OBJECT:
    case TF_WIRE_CUSTOM:
        return get_object(row, LOAD(const ProtobufCMessage *, slot), field, &path, err);
    case TF_WIRE_SPEC:
        return get_spec(row, LOAD(const ProtobufCMessage *, slot), field, &path, err);
    case TF_WIRE_LIST:
        return get_list(row, LOAD(ProtobufCMessage *const *, slot), count, field, &path, err);
    case TF_WIRE_ONE:
        return get_one(row, LOAD(ProtobufCMessage *const *, slot), count, field, &path, err);
    case TF_WIRE_BOOL:
    case TF_WIRE_LEVEL:
    case TF_WIRE_INT32:
    case TF_WIRE_INT64:
    case TF_WIRE_UINT32:
    case TF_WIRE_UINT64:
        return get_number(row, slot, field, &path, err);
    }
    return tf_wire_error(&path, err, "unknown kind of row");
}

int tf_wire_decode(const struct tf_wire_table *table, const ProtobufCMessage *message, void *object,
                   const struct tf_wire_path *path, struct tf_error *err)
{
    assert(message->descriptor == table->message);
    for (size_t i = 0; i < table->count; i++)
        if (get_row(&table->rows[i], (const char *)message, object, path, err))
            return -1;
    return check_object(table, object, path, err);
}

/* ---- release ---- */

static void release_rows(const struct tf_wire_table *table, char *object);

static void release_list(const struct tf_wire_table *table, struct list list)
{
    for (size_t i = 0; i < list.count; i++)
        release_rows(table, (char *)list.items + i * table->size);
    free(list.items);
}

static void release_row(const struct tf_wire_row *row, char *field)
{
    switch (row->kind) {
    case TF_WIRE_STRING:
    case TF_WIRE_NAME:
    case TF_WIRE_TEXT:
    case TF_WIRE_BYTES:
        free(LOAD(char *, field));
        break;
    case TF_WIRE_STRINGS:
        tf_strs_release((void *)field);
        break;
    case TF_WIRE_PAIRS:
        tf_pairs_release((void *)field);
        break;
    case TF_WIRE_OBJECT:
    case TF_WIRE_ONE:
        release_rows(row->table, field);
        break;
    case TF_WIRE_SPEC:
        tf_spec_drop(LOAD(const struct tf_job_spec *, field));
        break;
    case TF_WIRE_CUSTOM:
        row->custom->release(field);
        break;
    case TF_WIRE_LIST:
        release_list(row->table, LOAD(struct list, field));
        break;
    default: /* owns nothing */
        break;
    }
}

/* Does not zero anything: two tables may describe parts of one struct. */
static void release_rows(const struct tf_wire_table *table, char *object)
{
    for (size_t i = 0; i < table->count; i++)
        release_row(&table->rows[i], object + table->rows[i].model);
}

void tf_wire_release(const struct tf_wire_table *table, void *object)
{
    release_rows(table, object);
    memset(object, 0, table->size);
}

/* ---- bytes ---- */

int tf_wire_serialise(const ProtobufCMessage *message, const char *what, size_t limit, struct tf_buf *out,
                      struct tf_error *err)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    if (size > limit)
        return tf_error_set(err, TF_ERR_TOO_LARGE, "%s: %zu bytes, at most %zu are stored or sent", what,
                            size, limit);
    tf_buf_reserve(out, size);
    out->len += protobuf_c_message_pack(message, (uint8_t *)out->data + out->len);
    out->data[out->len] = '\0';
    return 0;
}

static void *arena_alloc(void *arena, size_t size)
{
    return tf_arena_alloc(arena, 1, size);
}

static void arena_free(void *arena, void *pointer)
{
    (void)arena; /* all goes at once */
    (void)pointer;
}

ProtobufCMessage *tf_wire_parse(const ProtobufCMessageDescriptor *descriptor, const void *bytes, size_t len,
                                const struct tf_wire_path *path, size_t limit, struct tf_arena *arena,
                                struct tf_error *err)
{
    if (len > limit) {
        tf_error_set(err, TF_ERR_TOO_LARGE, "%s: %zu bytes, at most %zu are read", path->name, len, limit);
        return NULL;
    }
    if (tf_wire_scan(descriptor, bytes, len, path, err))
        return NULL;
    ProtobufCAllocator allocator = {arena_alloc, arena_free, arena};
    ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, &allocator, len, bytes);
    if (!message)
        tf_wire_error(path, err, "is not a message of type %s", descriptor->name);
    return message;
}

int tf_wire_unpack(const struct tf_wire_table *table, const void *bytes, size_t len, const char *what,
                   size_t limit, void *object, struct tf_error *err)
{
    memset(object, 0, table->size);
    if (len <= limit && tf_wire_read(table, bytes, len, object))
        return 0;
    struct tf_arena_room room;
    TF_AUTO_ARENA arena = tf_arena_within(&room);
    struct tf_wire_path path = {.name = what, .index = -1};
    const ProtobufCMessage *message = tf_wire_parse(table->message, bytes, len, &path, limit, arena, err);
    if (!message)
        return -1;
    if (tf_wire_decode(table, message, object, &path, err) == 0)
        return 0;
    tf_wire_release(table, object);
    return -1;
}
