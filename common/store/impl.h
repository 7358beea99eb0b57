/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_STORE_IMPL_H
#define TF_STORE_IMPL_H

/* What the implementations of a store share; users of a store do not need it. */
#include "common/base/buf.h"
#include "common/base/vec.h"
#include "common/store/store.h"

struct tf_store_class {
    uint64_t (*send)(struct tf_store *store, const struct tf_store_request *request, tf_store_done_f done,
                     void *cookie);
    void (*cancel)(struct tf_store *store, uint64_t id);
    void (*destroy)(struct tf_store *store);
};

/* The first member of an implementation. */
struct tf_store {
    const struct tf_store_class *class;
};

/* TF_ERR_INVALID or TF_ERR_TOO_LARGE if the request breaks a rule of store.h. */
int tf_store_request_check(const struct tf_store_request *request, struct tf_error *err);
/* True if the request changes something, so that a lost answer leaves its outcome unknown. */
bool tf_store_kind_writes(enum tf_store_kind kind);
/* For whoever needs a request longer than the call: a deep copy, or, of what is such a copy already, the same
 * once more. Each is given back by tf_store_request_drop (NULL is fine). */
const struct tf_store_request *tf_store_request_keep(const struct tf_store_request *request);
void tf_store_request_drop(const struct tf_store_request *request);
/* The first key after all keys that begin with prefix; empty if there is none. Appended to out. */
void tf_store_prefix_end(struct tf_buf *out, struct tf_bytes prefix);

/* A reply that owns its rows. Zero-initialise. */
struct tf_store_answer {
    TF_VEC(struct tf_store_row) rows;
    struct tf_buf bytes; /* of all rows: key, value, key, value ... */
    struct tf_store_reply reply;
};

/* Copies the bytes of row. reply.rows is set by tf_store_answer_finish. */
void tf_store_answer_add(struct tf_store_answer *answer, struct tf_store_row row);
void tf_store_answer_finish(struct tf_store_answer *answer);
void tf_store_answer_release(struct tf_store_answer *answer);

#endif
