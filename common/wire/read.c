/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the short way from bytes to structs of the model: for bytes as write.c makes them, which are nearly
 * all that there are, without a message in between. Whatever is unusual (fields in another order, unknown
 * ones, a broken rule) is left to the long way by scan.c, protobuf-c and table.c, which says what is wrong:
 * so this one has no words for errors, and may give up at any time. It never accepts what the long way
 * refuses, and gives the same structs (a property test compares them). */
#include "common/wire/rules.h"

enum { VARINT = 0, BYTES = 2, TYPE_BITS = 3, TYPE_MASK = 7, MEMORY_MAX = 16 << 20 };

struct cursor {
    const uint8_t *at, *end;
};

struct reader {
    size_t memory; /* that lists may still take */
};

static bool read_varint(struct cursor *c, uint64_t *value)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && c->at < c->end; shift += 7) {
        uint8_t byte = *c->at++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = v;
            return shift < 63 || byte <= 1;
        }
    }
    return false;
}

static size_t left(const struct cursor *c)
{
    return (size_t)(c->end - c->at);
}

static bool read_block(struct cursor *c, struct cursor *content)
{
    uint64_t len;
    if (!read_varint(c, &len) || len > left(c))
        return false;
    *content = (struct cursor){c->at, c->at + len};
    c->at += len;
    return true;
}

static bool read_object(struct reader *r, const struct tf_wire_table *table, struct cursor c, char *object);

/* ---- rows ---- */

static bool is_zigzag(const ProtobufCFieldDescriptor *field)
{
    return field->type == PROTOBUF_C_TYPE_SINT32 || field->type == PROTOBUF_C_TYPE_SINT64;
}

static bool is_of_32_bits(const struct tf_wire_row *row)
{
    return row->kind == TF_WIRE_LEVEL || row->kind == TF_WIRE_INT32 || row->kind == TF_WIRE_UINT32;
}

static bool in_bounds(const struct tf_wire_row *row, int64_t value)
{
    return value >= row->min && value <= row->max;
}

static bool read_number(const struct tf_wire_row *row, const ProtobufCFieldDescriptor *field,
                        struct cursor *c, char *to)
{
    uint64_t raw;
    if (!read_varint(c, &raw) || (is_of_32_bits(row) && raw > UINT32_MAX))
        return false;
    int64_t value = is_zigzag(field) ? (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1) : (int64_t)raw;
    switch (row->kind) {
    case TF_WIRE_BOOL:
        STORE(bool, to, raw != 0);
        return raw <= 1;
    case TF_WIRE_LEVEL:
        STORE(uint8_t, to, (uint8_t)value);
        return in_bounds(row, value);
    case TF_WIRE_INT32:
        value = (int32_t)value;
        STORE(int32_t, to, (int32_t)value);
        return in_bounds(row, value);
    case TF_WIRE_INT64:
        STORE(int64_t, to, value);
        return in_bounds(row, value);
    case TF_WIRE_UINT32:
        STORE(uint32_t, to, (uint32_t)value);
        return in_bounds(row, value);
    default:
        STORE(uint64_t, to, raw);
        return row->max < 0 || raw <= (uint64_t)row->max;
    }
}

static bool is_text(struct cursor content)
{
    return left(&content) <= TF_WIRE_STRING_MAX && tf_utf8_valid((const char *)content.at, left(&content));
}

static char *copy_text(struct cursor content)
{
    return tf_strndup((const char *)content.at, left(&content));
}

static bool read_string(const struct tf_wire_row *row, struct cursor content, char *to)
{
    if (left(&content) == 0)
        return !(row->flags & TF_WIRE_REQUIRED);
    if (!is_text(content))
        return false;
    char *s = copy_text(content);
    STORE(char *, to, s);
    return row->kind != TF_WIRE_NAME || tf_name_check(s, "the name", NULL) == 0;
}

static bool read_strings(struct cursor content, struct tf_strs *list)
{
    if (list->count == TF_WIRE_STRINGS_MAX || !is_text(content))
        return false;
    char *s = copy_text(content);
    tf_vec_push(list, s);
    return true;
}

/* A field of that number, with a text, is next. */
static bool read_part(struct cursor *c, unsigned number, struct cursor *text)
{
    uint64_t key;
    return read_varint(c, &key) && key == (number << TYPE_BITS | BYTES) && read_block(c, text) &&
           is_text(*text);
}

static bool read_pair(struct cursor c, struct tf_pairs *map)
{
    struct cursor key, value = {c.at, c.at};
    if (map->count == TF_WIRE_STRINGS_MAX || !read_part(&c, 1, &key) || left(&key) == 0 ||
        (left(&c) && !read_part(&c, 2, &value)) || left(&c))
        return false;
    struct tf_pair pair = {copy_text(key), copy_text(value)};
    /* written in order: one that is not behind the last would have to be looked for */
    bool behind = map->count == 0 || strcmp(map->items[map->count - 1].key, pair.key) < 0;
    tf_vec_push(map, pair);
    return behind;
}

static bool read_uid(struct cursor content, struct tf_uid *uid)
{
    if (left(&content) != TF_UID_BYTES)
        return false;
    memcpy(uid->bytes, content.at, TF_UID_BYTES);
    return !tf_uid_is_none(*uid);
}

static bool read_bytes(const struct tf_wire_row *row, struct cursor content, char *object)
{
    if (left(&content) > (size_t)row->max)
        return false;
    STORE(char *, object + row->model, tf_memdup(content.at, left(&content)));
    STORE(size_t, object + row->detail, left(&content));
    return true;
}

static bool read_custom(const struct tf_wire_row *row, const ProtobufCFieldDescriptor *field,
                        struct cursor content, char *to)
{
    struct tf_arena_room room;
    TF_AUTO_ARENA arena = tf_arena_within(&room);
    struct tf_wire_path path = {.name = row->name, .index = -1};
    const ProtobufCMessage *message =
        tf_wire_parse(field->descriptor, content.at, left(&content), &path, SIZE_MAX, arena, NULL);
    return message && row->custom->decode(message, to, &path, NULL) == 0;
}

/* Shared also when it is only half read: so it is released with what it is in. */
static bool read_spec(struct reader *r, const struct tf_wire_row *row, struct cursor content, char *to)
{
    struct tf_job_spec spec = {0};
    bool good = read_object(r, row->table, content, (char *)&spec);
    STORE(const struct tf_job_spec *, to, tf_spec_share(&spec));
    return good;
}

static bool read_content(struct reader *r, const struct tf_wire_row *row,
                         const ProtobufCFieldDescriptor *field, struct cursor content, char *object)
{
    char *to = object + row->model;
    switch (row->kind) {
    case TF_WIRE_STRING:
    case TF_WIRE_NAME:
    case TF_WIRE_TEXT:
        return read_string(row, content, to);
    case TF_WIRE_STRINGS:
        return read_strings(content, (void *)to);
    case TF_WIRE_PAIRS:
        return read_pair(content, (void *)to);
    case TF_WIRE_UID:
        return read_uid(content, (void *)to);
    case TF_WIRE_BYTES:
        return read_bytes(row, content, object);
    case TF_WIRE_OBJECT:
    case TF_WIRE_ONE:
        return read_object(r, row->table, content, to);
    case TF_WIRE_SPEC:
        return read_spec(r, row, content, to);
    case TF_WIRE_CUSTOM:
        return read_custom(row, field, content, to);
    default:
        return false;
    }
}

/* ---- lists ---- */

/* How many fields of that key follow each other from here on. */
static size_t run_length(struct cursor c, uint64_t key)
{
    size_t count = 0;
    uint64_t next;
    struct cursor content;
    while (read_varint(&c, &next) && next == key && read_block(&c, &content))
        count++;
    return count;
}

/* The key of the first has been read, from `start` on. All elements are there, zeroed, before the first is
 * read: the list can be released at any time. */
static bool read_list(struct reader *r, const struct tf_wire_row *row, const uint8_t *start, uint64_t key,
                      struct cursor *c, char *to)
{
    size_t size = row->table->size, count = run_length((struct cursor){start, c->end}, key);
    if (count == 0 || count > (size_t)row->max || count > r->memory / size)
        return false;
    r->memory -= count * size;
    char *items = tf_calloc(count, size);
    STORE(struct list, to, (struct list){items, count, count});
    for (size_t i = 0; i < count; i++) {
        struct cursor content;
        if ((i > 0 && !read_varint(c, &key)) || !read_block(c, &content) ||
            !read_object(r, row->table, content, items + i * size))
            return false;
    }
    return true;
}

/* ---- objects ---- */

static bool is_block(enum tf_wire_kind kind)
{
    return kind < TF_WIRE_BOOL || kind >= TF_WIRE_UID;
}

/* What is absent is 0, which not every number may be. */
static bool may_be_absent(const struct tf_wire_row *row)
{
    bool is_signed = row->kind >= TF_WIRE_LEVEL && row->kind <= TF_WIRE_UINT32;
    return !(row->flags & TF_WIRE_REQUIRED) && row->kind != TF_WIRE_ONE && (!is_signed || in_bounds(row, 0));
}

/* The row of the field of that number, from row i on; what is passed over may be absent. */
static bool find_row(const struct tf_wire_table *table, uint64_t number, size_t *i)
{
    for (; *i < table->count; (*i)++) {
        if (table->message->fields[*i].id == number)
            return true;
        if (!may_be_absent(&table->rows[*i]))
            return false;
    }
    return false;
}

static bool read_row(struct reader *r, const struct tf_wire_table *table, size_t *i, const uint8_t *start,
                     uint64_t key, struct cursor *c, char *object)
{
    const struct tf_wire_row *row = &table->rows[*i];
    const ProtobufCFieldDescriptor *field = &table->message->fields[*i];
    bool repeats = row->kind == TF_WIRE_STRINGS || row->kind == TF_WIRE_PAIRS;
    struct cursor content;
    if ((key & TYPE_MASK) != (is_block(row->kind) ? BYTES : VARINT))
        return false;
    *i += !repeats;
    if (!is_block(row->kind))
        return read_number(row, field, c, object + row->model);
    if (row->kind == TF_WIRE_LIST)
        return read_list(r, row, start, key, c, object + row->model);
    return read_block(c, &content) && read_content(r, row, field, content, object);
}

static bool read_object(struct reader *r, const struct tf_wire_table *table, struct cursor c, char *object)
{
    size_t i = 0;
    while (c.at < c.end) {
        const uint8_t *start = c.at;
        uint64_t key;
        if (!read_varint(&c, &key) || !find_row(table, key >> TYPE_BITS, &i) ||
            !read_row(r, table, &i, start, key, &c, object))
            return false;
    }
    const struct tf_wire_path nowhere = {.name = "", .index = -1};
    find_row(table, 0, &i); /* there is none: stops at one that must not be absent */
    return i == table->count && check_object(table, object, &nowhere, NULL) == 0;
}

bool tf_wire_read(const struct tf_wire_table *table, const void *bytes, size_t len, void *object)
{
    struct reader r = {MEMORY_MAX};
    const uint8_t *at = bytes;
    if (read_object(&r, table, (struct cursor){at, len ? at + len : at}, object))
        return true;
    tf_wire_release(table, object);
    return false;
}

bool tf_wire_read_part(const void *bytes, size_t len, uint32_t *number, const void **content, size_t *size)
{
    const uint8_t *at = bytes;
    struct cursor c = {at, len ? at + len : at}, inner;
    uint64_t key;
    if (!read_varint(&c, &key) || (key & TYPE_MASK) != BYTES || key >> TYPE_BITS > UINT32_MAX ||
        !read_block(&c, &inner) || left(&c))
        return false;
    *number = (uint32_t)(key >> TYPE_BITS);
    *content = inner.at;
    *size = left(&inner);
    return true;
}
