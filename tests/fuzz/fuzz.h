/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_FUZZ_H
#define TF_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* What each fuzz target defines: takes any bytes, returns 0, aborts when something that must hold does not.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
