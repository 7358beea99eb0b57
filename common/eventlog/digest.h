/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_EVENTLOG_DIGEST_H
#define TF_EVENTLOG_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* XXH3 of bytes, 64 bits: tells damage and differences by accident, nothing about malice. The same on every
 * machine. */
uint64_t tf_digest(const void *bytes, size_t len);

#endif
