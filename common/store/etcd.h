/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_STORE_ETCD_H
#define TF_STORE_ETCD_H

#include "common/loop/loop.h"
#include "common/store/store.h"

/* A store in etcd (3.4 or later), through its v3 JSON gateway. */
struct tf_etcd_options {
    const char *const *endpoints; /* http://HOST:PORT; borrowed until the call returns */
    size_t endpoint_count;
    int64_t connect_timeout_ms; /* for one endpoint; 0 = 1 s */
    int64_t quota_bytes;        /* for status; 0 = asks etcd's /metrics */
};

/* loop is borrowed until the store is destroyed. Does not connect yet: each request goes to the endpoint that
 * answered last and tries the others, within its time-out, as long as it certainly was not sent. */
struct tf_store *tf_etcd_store_create(struct tf_loop *loop, const struct tf_etcd_options *options,
                                      struct tf_error *err);

#endif
