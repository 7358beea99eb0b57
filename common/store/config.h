/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_STORE_CONFIG_H
#define TF_STORE_CONFIG_H

#include "common/base/row.h"
#include "common/loop/loop.h"
#include "common/net/tls.h"
#include "common/store/store.h"

/* The group `store` of a daemon's configuration. */
struct tf_store_config {
    struct tf_strs endpoints;
    struct tf_tls_files tls;    /* of https:// */
    char *user, *password_file; /* NULL = none */
    char *prefix;               /* NULL = the daemon's own */
    int64_t timeout;            /* of one request; 0 = half the lease */
};
extern const struct tf_table tf_store_config_table;

/* Of etcd, as configured. */
struct tf_store *tf_store_config_open(struct tf_loop *loop, const struct tf_store_config *config,
                                      struct tf_error *err);

#endif
