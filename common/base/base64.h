/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_BASE64_H
#define TF_BASE_BASE64_H

#include "common/base/buf.h"
#include "common/base/bytes.h"

/* RFC 4648 with padding, standard alphabet. */
void tf_base64_encode(struct tf_buf *out, struct tf_bytes bytes);
/* Appends what text stands for. -1, leaving out as it was, for a wrong letter, length or padding. */
int tf_base64_decode(struct tf_buf *out, struct tf_bytes text);

#endif
