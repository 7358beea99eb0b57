/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_FUZZ_DAMAGE_H
#define TF_TESTS_FUZZ_DAMAGE_H

#include "common/base/rng.h"

#include <stddef.h>

/* Changes bytes in place: some overwritten, copied, cut out, or the end cut off. Returns the new length,
 * never more than len. */
size_t damage(struct tf_rng *rng, uint8_t *bytes, size_t len);

#endif
