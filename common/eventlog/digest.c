/* SPDX-License-Identifier: Apache-2.0 */
#include "common/eventlog/digest.h"

#include <xxhash.h>

uint64_t tf_digest(const void *bytes, size_t len)
{
    return XXH3_64bits(bytes, len);
}
