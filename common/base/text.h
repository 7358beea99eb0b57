/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_TEXT_H
#define TF_BASE_TEXT_H

#include "common/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if the len bytes are well-formed UTF-8 (no surrogates, no overlong forms) without NUL. */
bool tf_utf8_valid(const char *s, size_t len);
/* How many of the len bytes come before the first that breaks this; len if none does. */
size_t tf_utf8_prefix(const char *s, size_t len);
/* Cuts an incomplete sequence off the end of s, in place. */
void tf_utf8_trim(char *s);

/* Makes s fit to be shown and sent: what is not UTF-8, and control characters but newline and tab, become
 * '?'. */
void tf_utf8_clean(char *s);

bool tf_str_eq(const char *a, const char *b); /* NULL equals NULL only */
bool tf_starts_with(const char *s, const char *prefix);

/* Whole-string decimal integers; fails with TF_ERR_INVALID naming what was read, also when out of [min, max].
 */
int tf_parse_int64(const char *s, int64_t min, int64_t max, int64_t *out, struct tf_error *err);

/* The entry of names[0..count) closest to word by edit distance, or NULL if none is close enough to be
 * helpful (more than a third of its letters differ). names are borrowed. */
const char *tf_nearest(const char *word, const char *const *names, size_t count);

/* Lower-case hexadecimal; out holds 2 * len + 1 bytes. tf_unhex needs exactly 2 * len digits; -1 otherwise.
 */
void tf_hex(const uint8_t *bytes, size_t len, char *out);
int tf_unhex(const char *s, uint8_t *bytes, size_t len);

#endif
