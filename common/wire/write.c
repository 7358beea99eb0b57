/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the way from structs of the model to bytes, row by row, without a message in between: the very bytes
 * that protobuf-c makes of what tf_wire_encode gives (a property test compares them), for a third of the
 * work. They are written from the last to the first, so that what carries its length is there before its
 * length is. */
#include "common/wire/rules.h"

#include <assert.h>

enum { VARINT = 0, BYTES = 2, VARINT_MAX = 10, ID_SHIFT = 3 };

struct writer {
    uint8_t *start;
    size_t cap, at;      /* what is written begins at `at` and ends at cap */
    uint8_t room[4096];  /* most records and messages need no other memory */
    struct tf_buf spare; /* for texts that cannot be sent as they are */
};

static void writer_init(struct writer *w)
{
    w->start = w->room;
    w->cap = w->at = sizeof w->room;
    w->spare = (struct tf_buf)TF_BUF_INIT;
}

static void writer_release(struct writer *w)
{
    if (w->start != w->room)
        free(w->start);
    tf_buf_release(&w->spare);
}

static size_t used(const struct writer *w)
{
    return w->cap - w->at;
}

static __attribute__((noinline)) void grow(struct writer *w, size_t more)
{
    size_t cap = 2 * w->cap + more, len = used(w);
    uint8_t *bytes = tf_malloc(cap);
    memcpy(bytes + cap - len, w->start + w->at, len);
    if (w->start != w->room)
        free(w->start);
    w->start = bytes;
    w->cap = cap;
    w->at = cap - len;
}

/* The place of n bytes before those that are written. */
static inline uint8_t *claim(struct writer *w, size_t n)
{
    if (w->at < n)
        grow(w, n);
    w->at -= n;
    return w->start + w->at;
}

static void put_long_varint(struct writer *w, uint64_t value)
{
    uint8_t digits[VARINT_MAX];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        digits[n++] = (uint8_t)(value | 0x80);
    digits[n++] = (uint8_t)value;
    memcpy(claim(w, n), digits, n);
}

/* Nearly all are short: tags, lengths, sizes, enums. */
static inline void put_varint(struct writer *w, uint64_t value)
{
    if (value < 0x80)
        *claim(w, 1) = (uint8_t)value;
    else
        put_long_varint(w, value);
}

static inline void put_tag(struct writer *w, const ProtobufCFieldDescriptor *field, unsigned type)
{
    put_varint(w, (uint64_t)field->id << ID_SHIFT | type);
}

/* What was written since `before` becomes the field's value. */
static void close_block(struct writer *w, const ProtobufCFieldDescriptor *field, size_t before)
{
    put_varint(w, used(w) - before);
    put_tag(w, field, BYTES);
}

static void put_block(struct writer *w, const ProtobufCFieldDescriptor *field, const void *bytes, size_t len)
{
    size_t before = used(w);
    if (len)
        memcpy(claim(w, len), bytes, len);
    close_block(w, field, before);
}

/* ---- rows ---- */

/* A row, its field on either side, and where it is. */
struct spot {
    const struct tf_wire_row *row;
    const ProtobufCFieldDescriptor *field;
    const struct tf_wire_path *up;
    struct tf_error *err;
};

static int write_signed(struct writer *w, const struct spot *at, int64_t value)
{
    if (value < at->row->min || value > at->row->max) {
        struct tf_wire_path path = at_row(at->row, at->up);
        return check_number(at->row, value, &path, at->err);
    }
    if (value == 0)
        return 0;
    bool zigzag = at->field->type == PROTOBUF_C_TYPE_SINT32 || at->field->type == PROTOBUF_C_TYPE_SINT64;
    put_varint(w, zigzag ? (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0) : (uint64_t)value);
    put_tag(w, at->field, VARINT);
    return 0;
}

static int write_unsigned(struct writer *w, const struct spot *at, uint64_t value)
{
    struct tf_wire_path path = at_row(at->row, at->up);
    if (value == 0)
        return 0;
    if (check_unsigned(at->row, value, &path, at->err))
        return -1;
    put_varint(w, value);
    put_tag(w, at->field, VARINT);
    return 0;
}

static int write_bool(struct writer *w, const struct spot *at, bool value)
{
    if (value) {
        put_varint(w, 1);
        put_tag(w, at->field, VARINT);
    }
    return 0;
}

static int write_string(struct writer *w, const struct spot *at, const char *s)
{
    const struct tf_wire_row *row = at->row;
    struct tf_wire_path path = at_row(row, at->up);
    if (!s || !*s)
        return missing(row, &path, at->err);
    size_t len = strlen(s);
    if (row->kind == TF_WIRE_TEXT) {
        if (len > (size_t)row->max || !tf_utf8_valid(s, len)) {
            tf_buf_clear(&w->spare);
            tf_wire_clean_text(s, (size_t)row->max, &w->spare);
            s = w->spare.data;
            len = w->spare.len;
        }
    } else if (row->kind == TF_WIRE_NAME ? check_name(s, &path, at->err) : check_string(s, &path, at->err))
        return -1;
    put_block(w, at->field, s, len);
    return 0;
}

static int write_strings(struct writer *w, const struct spot *at, const struct tf_strs *list)
{
    struct tf_wire_path path = at_row(at->row, at->up);
    if (check_count(list->count, TF_WIRE_STRINGS_MAX, &path, at->err))
        return -1;
    for (size_t i = list->count; i-- > 0;) {
        path.index = (int64_t)i;
        if (check_string(list->items[i], &path, at->err))
            return -1;
        put_block(w, at->field, list->items[i], strlen(list->items[i]));
    }
    return 0;
}

static int write_pairs(struct writer *w, const struct spot *at, const struct tf_pairs *map)
{
    const ProtobufCFieldDescriptor *fields = tidefed__v1__pair__descriptor.fields;
    struct tf_wire_path path = at_row(at->row, at->up);
    if (check_count(map->count, TF_WIRE_STRINGS_MAX, &path, at->err))
        return -1;
    for (size_t i = map->count; i-- > 0;) {
        const struct tf_pair *pair = &map->items[i];
        size_t before = used(w);
        path.index = (int64_t)i;
        if (check_string(pair->key, &path, at->err) || check_string(pair->value, &path, at->err))
            return -1;
        if (*pair->value)
            put_block(w, &fields[1], pair->value, strlen(pair->value));
        if (*pair->key)
            put_block(w, &fields[0], pair->key, strlen(pair->key));
        close_block(w, at->field, before);
    }
    return 0;
}

static int write_uid(struct writer *w, const struct spot *at, const struct tf_uid *uid)
{
    struct tf_wire_path path = at_row(at->row, at->up);
    if (tf_uid_is_none(*uid))
        return missing(at->row, &path, at->err);
    put_block(w, at->field, uid->bytes, TF_UID_BYTES);
    return 0;
}

static int write_bytes(struct writer *w, const struct spot *at, const char *object)
{
    size_t len = LOAD(size_t, object + at->row->detail);
    struct tf_wire_path path = at_row(at->row, at->up);
    if (check_count(len, at->row->max, &path, at->err))
        return -1;
    if (len)
        put_block(w, at->field, LOAD(const char *, object + at->row->model), len);
    return 0;
}

static int write_object(struct writer *w, const struct tf_wire_table *table, const char *object,
                        const struct tf_wire_path *path, struct tf_error *err);

static int write_inner(struct writer *w, const struct spot *at, const char *inner)
{
    if (is_absent(at->row, inner))
        return 0;
    struct tf_wire_path path = at_row(at->row, at->up);
    size_t before = used(w);
    if (write_object(w, at->row->table, inner, &path, at->err))
        return -1;
    if (used(w) > before || at->row->flags & TF_WIRE_REQUIRED)
        close_block(w, at->field, before);
    return 0;
}

static int write_spec(struct writer *w, const struct spot *at, const struct tf_job_spec *spec)
{
    struct tf_wire_path path = at_row(at->row, at->up);
    return spec ? write_inner(w, at, (const char *)spec) : missing(at->row, &path, at->err);
}

static int write_list(struct writer *w, const struct spot *at, struct list list)
{
    struct tf_wire_path path = at_row(at->row, at->up);
    if (check_count(list.count, at->row->max, &path, at->err))
        return -1;
    for (size_t i = list.count; i-- > 0;) {
        size_t before = used(w);
        path.index = (int64_t)i;
        if (write_object(w, at->row->table, (char *)list.items + i * at->row->table->size, &path, at->err))
            return -1;
        close_block(w, at->field, before);
    }
    return 0;
}

static int write_custom(struct writer *w, const struct spot *at, const void *inner)
{
    struct tf_arena_room room;
    TF_AUTO_ARENA arena = tf_arena_within(&room);
    struct tf_wire_path path = at_row(at->row, at->up);
    ProtobufCMessage *message = NULL;
    if (at->row->custom->encode(inner, arena, &path, &message, at->err))
        return -1;
    if (!message)
        return 0;
    size_t before = used(w);
    protobuf_c_message_pack(message, claim(w, protobuf_c_message_get_packed_size(message)));
    close_block(w, at->field, before);
    return 0;
}

static int write_row(struct writer *w, const struct spot *at, const char *object)
{
    const char *value = object + at->row->model;
    switch (at->row->kind) {
    case TF_WIRE_BOOL:
        return write_bool(w, at, LOAD(bool, value));
    case TF_WIRE_LEVEL:
        return write_signed(w, at, LOAD(uint8_t, value));
    case TF_WIRE_INT32:
        return write_signed(w, at, LOAD(int32_t, value));
    case TF_WIRE_INT64:
        return write_signed(w, at, LOAD(int64_t, value));
    case TF_WIRE_UINT32:
        return write_signed(w, at, LOAD(uint32_t, value));
    case TF_WIRE_UINT64:
        return write_unsigned(w, at, LOAD(uint64_t, value));
    case TF_WIRE_STRING:
    case TF_WIRE_NAME:
    case TF_WIRE_TEXT:
        return write_string(w, at, LOAD(const char *, value));
    case TF_WIRE_STRINGS:
        return write_strings(w, at, (const void *)value);
    case TF_WIRE_PAIRS:
        return write_pairs(w, at, (const void *)value);
    case TF_WIRE_UID:
        return write_uid(w, at, (const void *)value);
    case TF_WIRE_BYTES:
        return write_bytes(w, at, object);
    case TF_WIRE_OBJECT:
        return write_inner(w, at, value);
    case TF_WIRE_SPEC:
        return write_spec(w, at, LOAD(const struct tf_job_spec *, value));
    case TF_WIRE_CUSTOM:
        return write_custom(w, at, value);
    case TF_WIRE_LIST:
        return write_list(w, at, LOAD(struct list, value));
    case TF_WIRE_ONE:
        return write_list(w, at, (struct list){(void *)(uintptr_t)value, 1, 1});
    }
    struct tf_wire_path path = at_row(at->row, at->up);
    return tf_wire_error(&path, at->err, "unknown kind of row");
}

/* True if write_row would write nothing and find nothing wrong: so for most rows of most objects, at a
 * glance. */
static inline bool is_nothing(const struct tf_wire_row *row, const char *object)
{
    const char *value = object + row->model;
    bool free = row->min <= 0 && row->max >= 0;
    switch (row->kind) {
    case TF_WIRE_BOOL:
        return !LOAD(bool, value);
    case TF_WIRE_INT32:
    case TF_WIRE_UINT32:
        return free && LOAD(uint32_t, value) == 0;
    case TF_WIRE_INT64:
        return free && LOAD(uint64_t, value) == 0;
    case TF_WIRE_UINT64:
        return LOAD(uint64_t, value) == 0;
    case TF_WIRE_STRING:
    case TF_WIRE_NAME:
    case TF_WIRE_TEXT:
    case TF_WIRE_SPEC:
        return !(row->flags & TF_WIRE_REQUIRED) && !LOAD(const char *, value);
    case TF_WIRE_STRINGS:
    case TF_WIRE_PAIRS:
    case TF_WIRE_LIST:
        return LOAD(size_t, value + offsetof(struct list, count)) == 0;
    default:
        return false;
    }
}

static int write_object(struct writer *w, const struct tf_wire_table *table, const char *object,
                        const struct tf_wire_path *path, struct tf_error *err)
{
    if (check_object(table, object, path, err))
        return -1;
    for (size_t i = table->count; i-- > 0;) {
        if (is_nothing(&table->rows[i], object))
            continue;
        const struct spot at = {&table->rows[i], &table->message->fields[i], path, err};
        assert(at.row->wire == at.field->offset && "rows are in the order of the message's fields");
        if (write_row(w, &at, object))
            return -1;
    }
    return 0;
}

/* ---- the whole way ---- */

/* Appends what was written, unless it is too much. */
static int finish(const struct writer *w, const char *what, size_t limit, struct tf_buf *out,
                  struct tf_error *err)
{
    if (used(w) > limit)
        return tf_error_set(err, TF_ERR_TOO_LARGE, "%s: %zu bytes, at most %zu are stored or sent", what,
                            used(w), limit);
    tf_buf_add(out, w->start + w->at, used(w));
    return 0;
}

int tf_wire_pack(const struct tf_wire_table *table, const void *object, const char *what, size_t limit,
                 struct tf_buf *out, struct tf_error *err)
{
    struct writer w;
    struct tf_wire_path path = {.name = what, .index = -1};
    writer_init(&w);
    int failed = write_object(&w, table, object, &path, err) || finish(&w, what, limit, out, err);
    writer_release(&w);
    return failed ? -1 : 0;
}

int tf_wire_pack_part(const ProtobufCFieldDescriptor *part, const struct tf_wire_table *table,
                      const void *object, const char *what, size_t limit, struct tf_buf *out,
                      struct tf_error *err)
{
    struct writer w;
    struct tf_wire_path path = {.name = part->name, .index = -1};
    writer_init(&w);
    int failed = write_object(&w, table, object, &path, err);
    if (!failed) {
        close_block(&w, part, 0);
        failed = finish(&w, what, limit, out, err);
    }
    writer_release(&w);
    return failed;
}

size_t tf_wire_size(const struct tf_wire_table *table, const void *object)
{
    struct writer w;
    struct tf_wire_path path = {.name = "", .index = -1};
    writer_init(&w);
    size_t size = write_object(&w, table, object, &path, NULL) ? 0 : used(&w);
    writer_release(&w);
    return size;
}
