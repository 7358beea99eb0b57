/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_SUITE_H
#define TF_TESTS_SUITE_H

#include <CUnit/CUnit.h>

#include <stddef.h>
#include <stdint.h>

/* A test program is a table of named functions and one call:
 *     int main(void) { return suite_run("text", tests, TF_ARRAY_LEN(tests)); }  */
struct suite_test {
    const char *name;
    void (*run)(void);
};

/* Returns what main returns: 0 only if every assertion of every test held. */
int suite_run(const char *name, const struct suite_test *tests, size_t count);

/* The seed of a random test: TF_SEED from the environment, else the fixed default; printed either way. */
uint64_t suite_seed(uint64_t fallback);
/* How many rounds a property test runs: count, times TF_ROUNDS from the environment (default 1). */
size_t suite_rounds(size_t count);
/* Of many points or rounds, each long, a sanitized program takes every n-th: 1 without a sanitizer, so that a
 * release build takes all; TF_FULL in the environment takes all in both. */
size_t suite_stride(size_t n);

#endif
