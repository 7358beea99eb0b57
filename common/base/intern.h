/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_INTERN_H
#define TF_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

/* Small dense numbers for strings: the first string added is 0, the next new one 1, and so on; none ever
 * goes. The caller bounds how many strings a peer can make it keep. Zero-initialise. */
struct tf_intern_entry;
struct tf_intern {
    struct tf_intern_entry *by_text; /* a hash table */
    struct tf_intern_entry **by_number;
    size_t count, cap;
};

void tf_intern_release(struct tf_intern *in);
int32_t tf_intern_add(struct tf_intern *in, const char *text);          /* copies text if it is new */
int32_t tf_intern_find(const struct tf_intern *in, const char *text);   /* -1 if it was never added */
const char *tf_intern_text(const struct tf_intern *in, int32_t number); /* borrowed until release */

#endif
