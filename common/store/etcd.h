/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_STORE_ETCD_H
#define TF_STORE_ETCD_H

#include "common/loop/loop.h"
#include "common/net/tls.h"
#include "common/store/store.h"

/* A store in etcd (3.4 or later), through its v3 JSON gateway. */
struct tf_etcd_options {
    const char *const
        *endpoints; /* http://HOST:PORT or https://HOST:PORT; borrowed until the call returns, as the rest */
    const struct tf_tls_files *tls; /* of https: at least the CA; read with each connection */
    const char *user;               /* NULL = none; else the store logs in, and again when etcd wants it */
    const char *password_file;      /* of the user: its first line; read with each login */
    size_t endpoint_count;
    int64_t connect_timeout_ms; /* for one endpoint; 0 = 1 s */
    int64_t quota_bytes;        /* for status; 0 = asks etcd's /metrics */
};

/* loop is borrowed until the store is destroyed. Does not connect yet: each request goes to the endpoint that
 * answered last and tries the others, within its time-out, as long as it certainly was not sent. */
struct tf_store *tf_etcd_store_create(struct tf_loop *loop, const struct tf_etcd_options *options,
                                      struct tf_error *err);

#endif
