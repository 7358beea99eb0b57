/* SPDX-License-Identifier: Apache-2.0 */
#include "common/wire/scan.h"

#include "common/base/buf.h"
#include "common/base/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>

/* Owns the walk over raw bytes. What the values mean is checked after unpacking, by table.c. */

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

/* Memory that protobuf-c takes for each field it meets, besides the value. */
enum { FIELD_COST = 48, FIELDS_MAX = 64 };

/* What is left to read. */
struct cursor {
    const uint8_t *at, *end;
};

struct scan {
    struct tf_error *err;
    size_t memory; /* that may still be taken */
};

static void append_path(const struct tf_wire_path *path, struct tf_buf *text)
{
    if (path->up) {
        append_path(path->up, text);
        tf_buf_str(text, path->up->up ? "." : ": ");
    }
    tf_buf_str(text, path->name);
    if (path->index >= 0)
        tf_buf_fmt(text, "[%lld]", (long long)path->index);
}

int tf_wire_error(const struct tf_wire_path *path, struct tf_error *err, const char *fmt, ...)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    append_path(path, &text);
    char what[sizeof err->text];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    return tf_error_set(err, TF_ERR_INVALID, "%s: %s", tf_buf_text(&text), what);
}

static bool read_varint(struct cursor *c, uint64_t *value)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (c->at == c->end)
            return false;
        uint8_t byte = *c->at++;
        if (shift == 63 && byte > 1)
            return false;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = v;
            return true;
        }
    }
    return false;
}

/* Takes n bytes off the cursor. */
static bool skip(struct cursor *c, uint64_t n)
{
    if (n > (uint64_t)(c->end - c->at))
        return false;
    c->at += n;
    return true;
}

/* Wire type of one value of the field. */
static unsigned wire_type_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return FIXED32;
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return FIXED64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return BYTES;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_BOOL:
    case PROTOBUF_C_TYPE_ENUM:
        return VARINT;
    }
    return VARINT;
}

static int take_memory(struct scan *scan, size_t bytes, const struct tf_wire_path *path)
{
    if (bytes > scan->memory)
        return tf_wire_error(path, scan->err, "more than %d MiB when unpacked", TF_WIRE_MEMORY_MAX >> 20);
    scan->memory -= bytes;
    return 0;
}

struct value {
    uint64_t number;       /* of VARINT */
    struct cursor content; /* of BYTES */
};

static bool read_value(struct cursor *c, unsigned type, struct value *value)
{
    uint64_t n;
    switch (type) {
    case VARINT:
        return read_varint(c, &value->number);
    case FIXED64:
        return skip(c, 8);
    case FIXED32:
        return skip(c, 4);
    case BYTES:
        if (!read_varint(c, &n))
            return false;
        value->content.at = c->at;
        if (!skip(c, n))
            return false;
        value->content.end = c->at;
        return true;
    default: /* groups, which nobody sends any more */
        return false;
    }
}

/* protobuf-c would cut a larger number to 32 bits. */
static bool number_fits(ProtobufCType type, uint64_t number)
{
    switch (type) {
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_ENUM:
        return number <= UINT32_MAX;
    default:
        return true;
    }
}

static int scan_number(struct scan *scan, const ProtobufCFieldDescriptor *field, uint64_t number,
                       const struct tf_wire_path *path)
{
    if (!number_fits(field->type, number))
        return tf_wire_error(path, scan->err, "%llu is out of range", (unsigned long long)number);
    return take_memory(scan, sizeof number, path);
}

/* Numbers packed into one run of bytes. */
static int scan_packed(struct scan *scan, const ProtobufCFieldDescriptor *field, struct cursor content,
                       const struct tf_wire_path *path)
{
    unsigned type = wire_type_of(field->type);
    if (type == BYTES)
        return tf_wire_error(path, scan->err, "is not a list of numbers");
    while (content.at != content.end) {
        struct value value = {0};
        if (!read_value(&content, type, &value))
            return tf_wire_error(path, scan->err, "broken off in the middle of a number");
        if (scan_number(scan, field, value.number, path))
            return -1;
    }
    return 0;
}

static int scan_message(struct scan *scan, const ProtobufCMessageDescriptor *message, struct cursor c,
                        const struct tf_wire_path *path, int depth);

static int scan_content(struct scan *scan, const ProtobufCFieldDescriptor *field, struct cursor content,
                        const struct tf_wire_path *path, int depth)
{
    size_t len = (size_t)(content.end - content.at);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        return scan_message(scan, field->descriptor, content, path, depth + 1);
    if (field->type == PROTOBUF_C_TYPE_STRING && memchr(content.at, 0, len))
        return tf_wire_error(path, scan->err, "holds a NUL");
    if (field->type == PROTOBUF_C_TYPE_STRING && !tf_utf8_valid((const char *)content.at, len))
        return tf_wire_error(path, scan->err, "is not UTF-8");
    return take_memory(scan, len + 1, path);
}

/* Which fields of a message were met: a bit by position in the descriptor, and how often. */
struct met {
    uint64_t fields;
    const ProtobufCFieldDescriptor *oneof; /* the one member of a oneof */
    int64_t counts[FIELDS_MAX];
};

/* -1 if the field may not come (again); else its path in *path. */
static int meet(struct scan *scan, struct met *met, const ProtobufCMessageDescriptor *message,
                const ProtobufCFieldDescriptor *field, struct tf_wire_path *path)
{
    size_t position = (size_t)(field - message->fields);
    assert(position < FIELDS_MAX);
    uint64_t bit = UINT64_C(1) << position;
    path->name = field->name;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        path->index = met->counts[position]++;
        return 0;
    }
    if (met->fields & bit)
        return tf_wire_error(path, scan->err, "is there twice");
    met->fields |= bit;
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
        if (met->oneof && met->oneof->quantifier_offset == field->quantifier_offset)
            return tf_wire_error(path, scan->err, "is there besides %s", met->oneof->name);
        met->oneof = field;
    }
    return 0;
}

/* One field of known meaning, whose key has been read. */
static int scan_field(struct scan *scan, const ProtobufCFieldDescriptor *field, unsigned type,
                      struct cursor *c, const struct tf_wire_path *path, int depth)
{
    struct value value = {0};
    if (!read_value(c, type, &value))
        return tf_wire_error(path, scan->err, "broken off, or not a protobuf value");
    unsigned expected = wire_type_of(field->type);
    if (type == expected)
        return type == BYTES ? scan_content(scan, field, value.content, path, depth)
                             : scan_number(scan, field, value.number, path);
    if (type == BYTES && field->label == PROTOBUF_C_LABEL_REPEATED)
        return scan_packed(scan, field, value.content, path);
    return tf_wire_error(path, scan->err, "has wire type %u instead of %u", type, expected);
}

static int scan_next(struct scan *scan, const ProtobufCMessageDescriptor *message, struct met *met,
                     struct cursor *c, const struct tf_wire_path *path, int depth)
{
    uint64_t key;
    if (!read_varint(c, &key) || key >> 3 == 0 || key >> 3 > UINT64_C(0x1fffffff))
        return tf_wire_error(path, scan->err, "broken off, or not a protobuf message");
    unsigned type = (unsigned)(key & 7);
    if (take_memory(scan, FIELD_COST, path))
        return -1;
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(message, (unsigned)(key >> 3));
    if (field) {
        struct tf_wire_path inner = {.up = path, .index = -1};
        return meet(scan, met, message, field, &inner) ? -1 : scan_field(scan, field, type, c, &inner, depth);
    }
    struct value value = {0};
    const uint8_t *start = c->at;
    if (!read_value(c, type, &value))
        return tf_wire_error(path, scan->err, "field %llu is broken off, or not a protobuf value",
                             (unsigned long long)(key >> 3));
    return take_memory(scan, FIELD_COST + (size_t)(c->at - start), path);
}

static int scan_message(struct scan *scan, const ProtobufCMessageDescriptor *message, struct cursor c,
                        const struct tf_wire_path *path, int depth)
{
    if (depth > TF_WIRE_DEPTH_MAX)
        return tf_wire_error(path, scan->err, "nested too deeply");
    if (take_memory(scan, message->sizeof_message + sizeof(void *), path))
        return -1;
    struct met met = {0};
    while (c.at != c.end)
        if (scan_next(scan, message, &met, &c, path, depth))
            return -1;
    return 0;
}

int tf_wire_scan(const ProtobufCMessageDescriptor *message, const uint8_t *bytes, size_t len,
                 const struct tf_wire_path *path, struct tf_error *err)
{
    struct scan scan = {.err = err, .memory = TF_WIRE_MEMORY_MAX};
    struct cursor c = {bytes, len ? bytes + len : bytes};
    return scan_message(&scan, message, c, path, 0);
}
