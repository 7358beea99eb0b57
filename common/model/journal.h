/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_JOURNAL_H
#define TF_MODEL_JOURNAL_H

#include "common/base/image.h"
#include "common/model/record.h"

/* Which records a core has changed, in order, and up to which change everything is durable.
 *
 * Both cores follow one rule, "persist, then act and tell": each change is numbered; whatever leaves the core
 * (a reply, a message, an engine call) is held until all changes made before it are durable. Changes are
 * committed in groups, one transaction at a time, oldest first. A record that changes again before its
 * transaction is taken is written once, with its latest content; one that changes while its transaction is
 * out is written again by a later one. */
struct tf_journal;

/* Names a record: its kind and what tells it from others of that kind (a key, a uid's bytes). */
struct tf_journal_key {
    enum tf_record_kind kind;
    const void *bytes; /* borrowed */
    size_t len;        /* at most TF_JOURNAL_KEY_MAX */
};
enum { TF_JOURNAL_KEY_MAX = 160 };

struct tf_journal *tf_journal_create(void);
void tf_journal_destroy(struct tf_journal *journal); /* NULL is fine */

/* The record changed (or was removed). Kind TF_RECORD_NONE: nothing changed, but a transaction must prove
 * that this process still leads before anything later goes out. */
void tf_journal_touch(struct tf_journal *journal, struct tf_journal_key key);

/* The same of one that must not become durable later than `later`, which has changed or will: it is written
 * in the same transaction or in an earlier one. */
void tf_journal_touch_before(struct tf_journal *journal, struct tf_journal_key key,
                             struct tf_journal_key later);

/* The number of the last change; what leaves the core now must wait for it. */
uint64_t tf_journal_last(const struct tf_journal *journal);
/* Every change up to this number is durable. */
uint64_t tf_journal_durable(const struct tf_journal *journal);
bool tf_journal_in_flight(const struct tf_journal *journal); /* a transaction is out */
bool tf_journal_dirty(const struct tf_journal *journal);     /* changes wait for a transaction */

/* Starts a transaction: offers the oldest changed records one by one; take returns false to leave that one
 * and all later ones for the next transaction (it must take the first). Not while one is out. Returns how
 * many were taken, of those that name a record. */
typedef bool tf_journal_take_f(struct tf_journal_key key, void *arg);
size_t tf_journal_take(struct tf_journal *journal, tf_journal_take_f *take, void *arg);
/* The transaction that is out is durable. */
void tf_journal_committed(struct tf_journal *journal);

/* Into a new one when reading. */
void tf_image_journal(struct tf_image *image, struct tf_journal *journal);

#endif
