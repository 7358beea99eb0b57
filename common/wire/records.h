/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_WIRE_RECORDS_H
#define TF_WIRE_RECORDS_H

#include "common/base/buf.h"
#include "common/model/record.h"

/* Records as keys and values of a store. Keys are relative to the store's prefix, of which this knows
 * nothing:
 *
 *     federation                            subcluster
 *     epoch                                 term, floor, policy
 *     jobs/<tenant>/<name>                  allocations/<uid>
 *     subclusters/<name>, summaries/<name>
 *
 * Values are messages of proto/store.proto. Equal records have equal bytes. */

enum {
    /* Of a value. Admission keeps a job's record within TF_RECORD_BYTES_MAX by construction; an allocation of
     * thousands of instances with long names may pass that, and must still be stored. */
    TF_WIRE_RECORD_MAX = 1 << 20,
};

/* Appends the key of a record, of which only what names it must be set. -1 (TF_ERR_INVALID) if a name is
 * missing or is none. */
int tf_wire_record_key(const struct tf_record *record, struct tf_buf *key, struct tf_error *err);
/* Sets kind and what names the record; record is owned by the caller and holds nothing before. len bytes of
 * key need no NUL. -1 (TF_ERR_INVALID) for a key that is of no record. */
int tf_wire_record_parse_key(const char *key, size_t len, struct tf_record *record, struct tf_error *err);

/* Appends the value. -1: TF_ERR_INVALID when a rule of the format is broken (the text names the field),
 * TF_ERR_TOO_LARGE beyond TF_WIRE_RECORD_MAX. */
int tf_wire_record_pack(const struct tf_record *record, struct tf_buf *value, struct tf_error *err);
/* Bytes that pack would append; 0 if it would fail. */
size_t tf_wire_record_size(const struct tf_record *record);
/* The record of a stored key and value; record holds nothing before and after a failure. -1 (TF_ERR_INVALID)
 * when either is broken, or when the value names another record than the key. */
int tf_wire_record_unpack(const char *key, size_t key_len, const void *value, size_t len,
                          struct tf_record *record, struct tf_error *err);

#endif
