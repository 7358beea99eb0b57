/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_STORE_ETCD_JSON_H
#define TF_STORE_ETCD_JSON_H

/* Requests and replies of a store as bodies of etcd's v3 JSON gateway. Pure: bytes in, bytes out. */
#include "common/store/impl.h"

/* What is needed of a request to read its reply. */
struct tf_etcd_expect {
    enum tf_store_kind kind;
    int64_t page_revision; /* of the request */
    size_t read_count;     /* of the transaction */
};

const char *tf_etcd_path(enum tf_store_kind kind); /* static, from "/v3/" on */
/* request has passed tf_store_request_check. Appends the body. */
void tf_etcd_encode(struct tf_buf *body, const struct tf_store_request *request);
/* Fills the answer (finished, zeroed before) from any bytes at all: what is not a reply of etcd gives
 * TF_ERR_UNKNOWN for a request that writes and TF_ERR_UNAVAILABLE for one that reads. */
void tf_etcd_decode(struct tf_store_answer *answer, const struct tf_etcd_expect *expect, long http_status,
                    struct tf_bytes body);
/* A login, and its answer: the token, owned by the caller; NULL and *err if there is none. */
void tf_etcd_encode_login(struct tf_buf *body, const char *user, const char *password);
char *tf_etcd_decode_login(long http_status, struct tf_bytes body, struct tf_error *err);
/* The error means that the token has run out, or that users have changed: nothing was done, log in again. */
bool tf_etcd_wants_login(const struct tf_error *error);
/* The quota from the text of etcd's /metrics, 0 if it is not there. */
int64_t tf_etcd_metrics_quota(struct tf_bytes text);

#endif
