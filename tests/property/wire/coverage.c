/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/wire/coverage.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "tests/support/suite.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

static struct {
    const ProtobufCMessageDescriptor *message;
    uint64_t fields; /* bit by position */
} seen[256];

static uint64_t *seen_of(const ProtobufCMessageDescriptor *message)
{
    size_t i = 0;
    while (seen[i].message && seen[i].message != message)
        i++;
    assert(i + 1 < TF_ARRAY_LEN(seen) && message->n_fields <= 64);
    seen[i].message = message;
    return &seen[i].fields;
}

/* True if the singular scalar is not its default. */
static bool is_set(const ProtobufCFieldDescriptor *field, const void *value)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        return **(char *const *)value != '\0';
    case PROTOBUF_C_TYPE_BYTES:
        return ((const ProtobufCBinaryData *)value)->len > 0;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
        return *(const uint64_t *)value != 0;
    default:
        return *(const uint32_t *)value != 0;
    }
}

static void note(const ProtobufCMessage *message);

static bool note_repeated(const ProtobufCFieldDescriptor *field, const char *base)
{
    size_t count = *(const size_t *)(const void *)(base + field->quantifier_offset);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        for (size_t i = 0; i < count; i++)
            note((*(ProtobufCMessage ***)(void *)(uintptr_t)(base + field->offset))[i]);
    return count > 0;
}

static bool note_field(const ProtobufCFieldDescriptor *field, const char *base)
{
    const void *value = base + field->offset;
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return note_repeated(field, base);
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF &&
        *(const uint32_t *)(const void *)(base + field->quantifier_offset) != field->id)
        return false;
    if (field->type != PROTOBUF_C_TYPE_MESSAGE)
        return is_set(field, value);
    const ProtobufCMessage *inner = *(ProtobufCMessage *const *)value;
    if (inner)
        note(inner);
    return inner != NULL;
}

static void note(const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;
    uint64_t fields = 0;
    for (unsigned i = 0; i < descriptor->n_fields; i++)
        if (note_field(&descriptor->fields[i], (const char *)message))
            fields |= UINT64_C(1) << i;
    *seen_of(descriptor) |= fields;
}

/* protobuf-c writes the same bytes. */
static void check_canonical(const ProtobufCMessage *message, const void *bytes, size_t len)
{
    uint8_t *again = tf_malloc(len + 1);
    CU_ASSERT_EQUAL_FATAL(protobuf_c_message_get_packed_size(message), len);
    protobuf_c_message_pack(message, again);
    CU_ASSERT_TRUE(memcmp(again, bytes, len) == 0);
    free(again);
}

void wire_coverage_add(const ProtobufCMessageDescriptor *descriptor, const void *bytes, size_t len)
{
    ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, NULL, len, bytes);
    assert(message);
    note(message);
    check_canonical(message, bytes, len);
    protobuf_c_message_free_unpacked(message, NULL);
}

int wire_coverage_missing(const ProtobufCMessageDescriptor *descriptor)
{
    int missing = 0;
    uint64_t fields = *seen_of(descriptor);
    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
        if (!(fields >> i & 1)) {
            printf("\n    never set: %s.%s\n", descriptor->name, field->name);
            missing++;
        } else if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
            missing += wire_coverage_missing(field->descriptor);
        }
    }
    return missing;
}

static int depth_of(const ProtobufCMessageDescriptor *descriptor, const ProtobufCMessageDescriptor **above,
                    int count)
{
    for (int i = 0; i < count; i++)
        if (above[i] == descriptor) {
            printf("\n    %s contains itself\n", descriptor->name);
            return -1;
        }
    above[count] = descriptor;
    int deepest = 0;
    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        if (descriptor->fields[i].type != PROTOBUF_C_TYPE_MESSAGE)
            continue;
        int depth = depth_of(descriptor->fields[i].descriptor, above, count + 1);
        if (depth < 0)
            return -1;
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

int wire_coverage_depth(const ProtobufCMessageDescriptor *descriptor)
{
    const ProtobufCMessageDescriptor *above[256];
    return depth_of(descriptor, above, 0);
}
