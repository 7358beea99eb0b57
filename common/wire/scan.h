/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_WIRE_SCAN_H
#define TF_WIRE_SCAN_H

#include "common/base/error.h"

#include <protobuf-c/protobuf-c.h>

#include <stddef.h>
#include <stdint.h>

/* Private to common/wire. Looks through the bytes of a message before protobuf-c unpacks them, guided by the
 * generated descriptors, and refuses what protobuf-c would accept: strings that are not UTF-8 or hold a NUL
 * (C would see a shorter name), a field twice or two members of a oneof (merging is code that nobody needs),
 * and few bytes that unpack to much memory. Unknown fields are fine: a newer peer sent them. */

enum {
    TF_WIRE_MEMORY_MAX = 64 << 20, /* bytes that one message may take once unpacked */
    TF_WIRE_DEPTH_MAX = 16,        /* messages inside messages */
};

/* Where we are in a message, for errors: "jobs[3].manifest.name". Lives on the stack of whoever walks. */
struct tf_wire_path {
    const struct tf_wire_path *up; /* NULL: the message itself */
    const char *name;              /* of the message, or of the field in the one above */
    int64_t index;                 /* of an element; -1 = not repeated */
};

/* Sets TF_ERR_INVALID, "<message>: <path>: <text>", and returns -1. */
int tf_wire_error(const struct tf_wire_path *path, struct tf_error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* 0 if protobuf-c may unpack the bytes. path is that of the message. */
int tf_wire_scan(const ProtobufCMessageDescriptor *message, const uint8_t *bytes, size_t len,
                 const struct tf_wire_path *path, struct tf_error *err);

#endif
