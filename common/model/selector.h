/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_SELECTOR_H
#define TF_MODEL_SELECTOR_H

#include "common/base/buf.h"
#include "common/base/error.h"
#include "common/base/list.h"

/* Which labels are meant: terms that must all hold. Written as in kubectl:
 *
 *     team=ranking,tier!=debug,zone in (a, b),gen notin (v1),canary,!frozen
 *
 * != and notin also hold where the key is absent. */

enum tf_selector_op { /* numbers are wire format */
                      TF_SELECTOR_NONE = 0,
                      TF_SELECTOR_IN = 1, /* has the key with one of the values; = is this with one value */
                      TF_SELECTOR_NOT_IN = 2, /* has not; != likewise */
                      TF_SELECTOR_EXISTS = 3,
                      TF_SELECTOR_ABSENT = 4,
};

struct tf_selector_term {
    char *key;
    enum tf_selector_op op;
    struct tf_strs values; /* of IN and NOT_IN at least one, of the others none */
};

struct tf_selector { /* zeroed: holds for everything */
    struct tf_selector_term *items;
    size_t count, cap;
};

enum {
    TF_SELECTOR_TEXT_MAX = 4096, /* bytes of its written form */
    TF_SELECTOR_TERMS_MAX = 32,
    TF_SELECTOR_VALUES_MAX = 256, /* of all terms together: it is held against every job of a list */
};

/* Adds the terms of text. -1 (TF_ERR_INVALID), with *out as it was, if it cannot be read: the error names the
 * column, counted in letters from 1, and what was expected there. */
int tf_selector_parse(const char *text, struct tf_selector *out, struct tf_error *err);
/* As it is written with no space more than needed, appended: equal selectors are equal texts. */
void tf_selector_format(const struct tf_selector *selector, struct tf_buf *out);
/* Adds one term: key=value. */
void tf_selector_add(struct tf_selector *selector, const char *key, const char *value);
bool tf_selector_match(const struct tf_selector *selector, const struct tf_pairs *labels);
void tf_selector_copy(struct tf_selector *to,
                      const struct tf_selector *from); /* to is empty or initialised */
void tf_selector_release(struct tf_selector *selector);

#endif
