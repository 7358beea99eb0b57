/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_STORE_GUARD_VALUE_H
#define TF_STORE_GUARD_VALUE_H

/* The values of the guard's two keys, as text that people can read in etcd:
 *     head:   tidefed-head/1 n=12 era=1 id=<32 hexadecimal digits>
 *     owner:  tidefed-owner/1 id=<32 hexadecimal digits>\n<owner_value> */
#include "common/base/buf.h"
#include "common/base/bytes.h"
#include "common/base/error.h"

#include <stdint.h>

enum { TF_GUARD_ID_BYTES = 16 };

struct tf_guard_head {
    uint64_t n, era;
    uint8_t id[TF_GUARD_ID_BYTES];
};

/* Appended to out. */
void tf_guard_head_format(struct tf_buf *out, const struct tf_guard_head *head);
int tf_guard_head_parse(struct tf_bytes value, struct tf_guard_head *head, struct tf_error *err);

void tf_guard_owner_format(struct tf_buf *out, const uint8_t id[TF_GUARD_ID_BYTES], struct tf_bytes value);
/* The owner_value inside, borrowed from value; empty if it is not an owner's. */
struct tf_bytes tf_guard_owner_value(struct tf_bytes value);

#endif
