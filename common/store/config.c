/* SPDX-License-Identifier: Apache-2.0 */
#include "common/store/config.h"

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/store/etcd.h"

#define C struct tf_store_config

static const struct tf_row rows[] = {
    {.key = "endpoints",
     TF_STRINGS(C, endpoints),
     .min = 1,
     .max = 253,
     .count = 16,
     .flags = TF_ROW_REQUIRED,
     .help = "the members of its etcd, as `http://HOST:PORT`; each is tried in turn"},
    {.key = "prefix",
     TF_STRING(C, prefix),
     .min = 2,
     .max = 200,
     .help = "all keys are under it, and nobody else's; absent = `/tidefed/v1` for a federation, "
             "`/tidefed/local/NAME` for a subcluster, so that several can share an etcd"},
    {.key = "timeout",
     TF_DURATION(C, timeout),
     .min = 100,
     .max = TF_MINUTE,
     .flags = TF_ROW_ZERO,
     .help =
         "of one request; absent = half the lease, so that a lost answer is noticed while it is still held"},
};

static void check(const void *object, struct tf_complaints *out)
{
    const struct tf_store_config *config = object;
    if (config->prefix && config->prefix[0] != '/')
        tf_complaints_add(out, "prefix", "\"%s\" does not begin with '/'", config->prefix);
    tf_vec_each (endpoint, &config->endpoints)
        if (!tf_starts_with(*endpoint, "http://"))
            tf_complaints_add(out, "endpoints", "\"%s\" does not begin with http://", *endpoint);
}

const struct tf_table tf_store_config_table = TF_TABLE(C, rows, .check = check);

struct tf_store *tf_store_config_open(struct tf_loop *loop, const struct tf_store_config *config,
                                      struct tf_error *err)
{
    const struct tf_etcd_options options = {.endpoints = (const char *const *)config->endpoints.items,
                                            .endpoint_count = config->endpoints.count};
    return tf_etcd_store_create(loop, &options, err);
}
