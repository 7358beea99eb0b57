/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_TRANSACTION_H
#define TF_MODEL_TRANSACTION_H

#include "common/model/journal.h"

/* What one transaction of either store may hold (DESIGN.md §7). */
enum {
    TF_TRANSACTION_RECORDS = 120,
    TF_TRANSACTION_BYTES = 1024 * 1024,
};

/* At least the bytes of the record's value and key as the stores write them, without encoding it. */
size_t tf_record_weight(const struct tf_record *record);

/* Puts the present content of the record that key names into out: a copy, or gone = true with only what names
 * it when there is no such record any more. */
typedef void tf_record_render_f(struct tf_journal_key key, struct tf_record *out, void *arg);

/* Starts a transaction (tf_journal_take) with as many of the oldest changed records as the limits allow, at
 * least one. Returns them, *count of them (0 for a mere proof, then NULL); the array and its records are
 * owned by the caller. */
struct tf_record *tf_transaction_take(struct tf_journal *journal, tf_record_render_f *render, void *arg,
                                      size_t *count);

#endif
