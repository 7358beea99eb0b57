/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_RECORD_STORE_H
#define TF_TESTS_RECORD_STORE_H

#include "common/model/record.h"

/* A store of records for tests of cores. It keeps the bytes that a real one would: a field that the codec
 * forgets is missing after a restart. What cannot be written or read aborts the test, saying why. */
struct stored_record {
    char *key, *value;
    size_t key_len, len;
};
struct record_store {
    struct stored_record *items; /* in order of first write */
    size_t count, cap;
};

void record_store_put(struct record_store *store, const struct tf_record *records, size_t count);
/* The i-th; owned by the caller. */
void record_store_get(const struct record_store *store, size_t i, struct tf_record *record);
void record_store_release(struct record_store *store);

#endif
