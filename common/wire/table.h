/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_WIRE_TABLE_H
#define TF_WIRE_TABLE_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/list.h"
#include "common/base/row.h"
#include "common/model/id.h"
#include "common/model/level.h"
#include "common/wire/scan.h"

#include "job.pb-c.h"

#include <stdbool.h>

/* Private to common/wire. How a struct of the model and a generated message correspond: one row a field, of
 * the same name on both sides and in the order of the message's numbers. Encoding, decoding, checking and
 * release come from the rows; a test compares them with the descriptors, so that no field of a message is
 * without a row.
 *
 *     #define MODEL struct tf_claim
 *     #define WIRE Tidefed__V1__Claim
 *     static const struct tf_wire_row claim_rows[] = {
 *         WIRE_NAME(node, TF_WIRE_REQUIRED), WIRE_BITS(gpus), WIRE_INT64(cpu, 0, TF_QUANTITY_MAX), ...
 *     };
 *     const struct tf_wire_table tf_wire_claim = WIRE_TABLE(claim_rows, tidefed__v1__claim__descriptor);
 *     #undef MODEL
 *     #undef WIRE
 *
 * The macros refuse to compile for a field of another type. Both directions check the same rules, so what was
 * written can be read. 0, "", no element and an absent message are the same. */

enum tf_wire_kind {
    TF_WIRE_STRING,  /* char *, NULL = "" */
    TF_WIRE_NAME,    /* char *, tf_name_check */
    TF_WIRE_TEXT,    /* char *, words for people: cut to max bytes, bytes that are not UTF-8 replaced */
    TF_WIRE_STRINGS, /* struct tf_strs */
    TF_WIRE_PAIRS,   /* struct tf_pairs */
    TF_WIRE_BOOL,
    TF_WIRE_LEVEL, /* uint8_t, as uint32 */
    TF_WIRE_INT32, /* as uint32, or as sint32 if it may be negative; also enums */
    TF_WIRE_INT64, /* likewise; also struct tf_wall */
    TF_WIRE_UINT32,
    TF_WIRE_UINT64,
    TF_WIRE_UID,    /* struct tf_uid, as 16 bytes; none = no bytes */
    TF_WIRE_BYTES,  /* char * and, at detail, its size_t length */
    TF_WIRE_OBJECT, /* an embedded struct, as a message; all zero = absent */
    TF_WIRE_LIST,   /* {struct x *items; size_t count, cap;}, as repeated messages, at most max */
    TF_WIRE_SPEC,   /* const struct tf_job_spec *, shared (spec.h), as a message; NULL or all zero = absent */
    TF_WIRE_ONE,    /* an embedded struct, as repeated messages of which there must be exactly one */
    TF_WIRE_CUSTOM, /* functions */
};

enum {
    TF_WIRE_REQUIRED = 1, /* may not be empty, absent or none */

    TF_WIRE_STRING_MAX = 64 * 1024, /* bytes of one string */
    TF_WIRE_MESSAGE_MAX = 2048,     /* of one explanation in words: events, refusals, reasons */
    TF_WIRE_OUTPUT_MAX = 16 * 1024, /* of an instance's last lines */
    TF_WIRE_STRINGS_MAX = 4096,     /* strings of one list, pairs of one map */
};
#define TF_WIRE_MS_MAX (INT64_C(1) << 52)      /* moments and durations: sums of some do not overflow */
#define TF_WIRE_COUNTER_MAX (INT64_C(1) << 62) /* epochs, revisions: likewise */

struct tf_wire_table;

struct tf_wire_custom {
    /* message NULL: nothing to send */
    int (*encode)(const void *field, struct tf_arena *arena, const struct tf_wire_path *path,
                  ProtobufCMessage **message, struct tf_error *err);
    int (*decode)(const ProtobufCMessage *message, void *field, const struct tf_wire_path *path,
                  struct tf_error *err);
    void (*release)(void *field);
};

struct tf_wire_row {
    const char *name;
    enum tf_wire_kind kind;
    unsigned flags;
    size_t model, wire, quantifier, detail; /* offsets */
    int64_t min, max;
    const struct tf_wire_table *table;
    const struct tf_wire_custom *custom;
};

struct tf_wire_table {
    size_t size; /* of the struct */
    const ProtobufCMessageDescriptor *message;
    const struct tf_wire_row *rows;
    size_t count;
    /* What rows cannot say; may be NULL. Runs in both directions. */
    int (*check)(const void *object, const struct tf_wire_path *path, struct tf_error *err);
};

#define WIRE_TABLE(rows_array, descriptor, ...)                                \
    {                                                                          \
        .size = sizeof(MODEL), .message = &(descriptor), .rows = (rows_array), \
        .count = sizeof(rows_array) / sizeof((rows_array)[0]), __VA_ARGS__     \
    }

/* The offset of a field of the generated struct, if it has the type (either of two). */
#define WIRE_AT(f, t) .wire = offsetof(WIRE, f) + 0 * sizeof(char[_Generic(((WIRE *)0)->f, t : 1)])
#define WIRE_AT2(f, t, u) .wire = offsetof(WIRE, f) + 0 * sizeof(char[_Generic(((WIRE *)0)->f, t : 1, u : 1)])
#define WIRE_ROW(f, t, k, ...)                                             \
    {                                                                      \
        .name = #f, .kind = k, .model = TF_FIELD(MODEL, f, t), __VA_ARGS__ \
    }

#define WIRE_STRING(f, ...) \
    WIRE_ROW(f, char *, TF_WIRE_STRING, WIRE_AT(f, char *), .max = TF_WIRE_STRING_MAX, .flags = 0 __VA_ARGS__)
#define WIRE_NAME(f, how) WIRE_ROW(f, char *, TF_WIRE_NAME, WIRE_AT(f, char *), .flags = how)
#define WIRE_TEXT(f, most) WIRE_ROW(f, char *, TF_WIRE_TEXT, WIRE_AT(f, char *), .max = most)
#define WIRE_STRINGS(f) \
    WIRE_ROW(f, struct tf_strs, TF_WIRE_STRINGS, WIRE_AT(f, char **), .quantifier = offsetof(WIRE, n_##f))
#define WIRE_PAIRS(f)                                                             \
    WIRE_ROW(f, struct tf_pairs, TF_WIRE_PAIRS, WIRE_AT(f, Tidefed__V1__Pair **), \
             .quantifier = offsetof(WIRE, n_##f))
#define WIRE_BOOL(f) WIRE_ROW(f, bool, TF_WIRE_BOOL, WIRE_AT(f, protobuf_c_boolean))
#define WIRE_LEVEL(f) WIRE_ROW(f, uint8_t, TF_WIRE_LEVEL, WIRE_AT(f, uint32_t), .max = TF_LEVEL_TOP)
#define WIRE_INT32(f, low, high) \
    WIRE_ROW(f, int32_t, TF_WIRE_INT32, WIRE_AT2(f, uint32_t, int32_t), .min = low, .max = high)
#define WIRE_INT64(f, low, high) \
    WIRE_ROW(f, int64_t, TF_WIRE_INT64, WIRE_AT2(f, uint64_t, int64_t), .min = low, .max = high)
#define WIRE_DURATION(f) WIRE_INT64(f, 0, TF_WIRE_MS_MAX)
#define WIRE_WALL(f) WIRE_ROW(f, struct tf_wall, TF_WIRE_INT64, WIRE_AT(f, uint64_t), .max = TF_WIRE_MS_MAX)
#define WIRE_UINT32(f, high) WIRE_ROW(f, uint32_t, TF_WIRE_UINT32, WIRE_AT(f, uint32_t), .max = high)
#define WIRE_COUNTER(f) \
    WIRE_ROW(f, uint64_t, TF_WIRE_UINT64, WIRE_AT(f, uint64_t), .max = TF_WIRE_COUNTER_MAX)
#define WIRE_BITS(f) WIRE_ROW(f, uint64_t, TF_WIRE_UINT64, WIRE_AT(f, uint64_t), .max = -1)
/* low is 1 where "none" makes no sense. */
#define WIRE_ENUM(f, low, high)                                                                       \
    {                                                                                                 \
        .name = #f, .kind = TF_WIRE_INT32, .model = TF_FIELD_ENUM(MODEL, f), .min = low, .max = high, \
        .wire = offsetof(WIRE, f) + 0 * sizeof(char[sizeof(((WIRE *)0)->f) == sizeof(int) ? 1 : -1])  \
    }
#define WIRE_UID(f, how) \
    WIRE_ROW(f, struct tf_uid, TF_WIRE_UID, WIRE_AT(f, ProtobufCBinaryData), .flags = how)
#define WIRE_BYTES(f, length, most)                                                  \
    WIRE_ROW(f, char *, TF_WIRE_BYTES, WIRE_AT(f, ProtobufCBinaryData), .max = most, \
             .detail = TF_FIELD(MODEL, length, size_t))
#define WIRE_OBJECT(f, of, how)                                                                     \
    {                                                                                               \
        .name = #f, .kind = TF_WIRE_OBJECT, .model = offsetof(MODEL, f), .wire = offsetof(WIRE, f), \
        .table = &(of), .flags = how                                                                \
    }
#define WIRE_SPEC(f, how)                                                                          \
    {                                                                                              \
        .name = #f, .kind = TF_WIRE_SPEC, .model = TF_FIELD(MODEL, f, const struct tf_job_spec *), \
        .wire = offsetof(WIRE, f), .table = &tf_wire_spec, .flags = how                            \
    }
#define WIRE_LIST(f, of, most)                                                                          \
    {                                                                                                   \
        .name = #f, .kind = TF_WIRE_LIST, .model = offsetof(MODEL, f.items), .wire = offsetof(WIRE, f), \
        .quantifier = offsetof(WIRE, n_##f), .table = &(of), .max = most                                \
    }
#define WIRE_CUSTOM(f, functions)                                                                   \
    {                                                                                               \
        .name = #f, .kind = TF_WIRE_CUSTOM, .model = offsetof(MODEL, f), .wire = offsetof(WIRE, f), \
        .custom = &(functions)                                                                      \
    }

/* The message, in the arena; it borrows the strings of object. NULL, with *err, if a rule is broken. */
ProtobufCMessage *tf_wire_encode(const struct tf_wire_table *table, const void *object,
                                 struct tf_arena *arena, const struct tf_wire_path *path,
                                 struct tf_error *err);
/* object is zeroed before; on failure it may be partly filled: the caller releases it. */
int tf_wire_decode(const struct tf_wire_table *table, const ProtobufCMessage *message, void *object,
                   const struct tf_wire_path *path, struct tf_error *err);
/* Frees what the rows say is owned, and zeroes object. */
void tf_wire_release(const struct tf_wire_table *table, void *object);

/* The whole way, with `what` naming the message in errors. pack appends, unless the result is larger than
 * limit bytes (TF_ERR_TOO_LARGE). unpack expects nothing of object, and zeroes it on failure. */
int tf_wire_pack(const struct tf_wire_table *table, const void *object, const char *what, size_t limit,
                 struct tf_buf *out, struct tf_error *err);
/* As the only field, `part`, of a larger message: a member of its union. In errors that field is what is
 * named. */
int tf_wire_pack_part(const ProtobufCFieldDescriptor *part, const struct tf_wire_table *table,
                      const void *object, const char *what, size_t limit, struct tf_buf *out,
                      struct tf_error *err);
int tf_wire_unpack(const struct tf_wire_table *table, const void *bytes, size_t len, const char *what,
                   size_t limit, void *object, struct tf_error *err);
/* read.c: unpack, of bytes as pack makes them, in a fraction of the time. object is zeroed before. False, and
 * object is zeroed: they are unusual or break a rule, of which tf_wire_decode knows more. */
bool tf_wire_read(const struct tf_wire_table *table, const void *bytes, size_t len, void *object);
/* The only field of a message, if it has a length: borrowed from bytes. */
bool tf_wire_read_part(const void *bytes, size_t len, uint32_t *number, const void **content, size_t *size);
/* Bytes that pack would append; 0 if a rule is broken. */
size_t tf_wire_size(const struct tf_wire_table *table, const void *object);

/* ---- for what is not a table ---- */

/* Scans and unpacks into the arena, to which the result belongs. */
ProtobufCMessage *tf_wire_parse(const ProtobufCMessageDescriptor *message, const void *bytes, size_t len,
                                const struct tf_wire_path *path, size_t limit, struct tf_arena *arena,
                                struct tf_error *err);
int tf_wire_serialise(const ProtobufCMessage *message, const char *what, size_t limit, struct tf_buf *out,
                      struct tf_error *err);
/* An initialised message in the arena. */
void *tf_wire_message(const ProtobufCMessageDescriptor *message, struct tf_arena *arena);

#define TF_AUTO_ARENA __attribute__((cleanup(tf_wire_arena_destroy))) struct tf_arena *
static inline void tf_wire_arena_destroy(struct tf_arena **arena)
{
    tf_arena_destroy(*arena);
}

#endif
