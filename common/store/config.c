/* SPDX-License-Identifier: Apache-2.0 */
#include "common/store/config.h"

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/net/address.h"
#include "common/store/etcd.h"

#define C struct tf_store_config

#define F struct tf_tls_files

static const struct tf_row tls_rows[] = {
    {.key = "ca",
     TF_PATH(F, ca),
     .flags = TF_ROW_REQUIRED,
     .help = "PEM file of the CA that signed etcd's certificate"},
    {.key = "certificate",
     TF_PATH(F, certificate),
     .help = "PEM file of the daemon's certificate, for an etcd with `--client-cert-auth`"},
    {.key = "key", TF_PATH(F, key), .help = "PEM file of its key"},
};
static const struct tf_table tls_table = TF_TABLE(F, tls_rows);

static const struct tf_row rows[] = {
    {.key = "endpoints",
     TF_STRINGS(C, endpoints),
     .min = 1,
     .max = 253,
     .count = 16,
     .flags = TF_ROW_REQUIRED,
     .help = "the members of its etcd, as `https://HOST:PORT` or `http://HOST:PORT`; each is tried in turn"},
    {.key = "tls", TF_OBJECT(C, tls, &tls_table), .help = "of `https://`"},
    {.key = "user",
     TF_STRING(C, user),
     .min = 1,
     .max = 200,
     .help =
         "as whom the daemon logs in, if etcd knows users; it needs to read and write all below `prefix`"},
    {.key = "passwordFile",
     TF_PATH(C, password_file),
     .help = "the first line of this file is the password of `user`; read with each login"},
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

/* What goes over the network in the clear could be read and changed by others. */
static void check_endpoint(const struct tf_store_config *config, const char *endpoint,
                           struct tf_complaints *out)
{
    bool secure = tf_starts_with(endpoint, "https://");
    if (!secure && !tf_starts_with(endpoint, "http://"))
        tf_complaints_add(out, "endpoints", "\"%s\" does not begin with http:// or https://", endpoint);
    else if (secure && !tf_tls_is_set(&config->tls))
        tf_complaints_add(out, "endpoints", "\"%s\" needs `tls: {ca: FILE}`, to know whom to believe",
                          endpoint);
    else if (!secure && config->user && !tf_address_is_local(endpoint + strlen("http://")))
        tf_complaints_add(
            out, "endpoints",
            "\"%s\" would be sent the password in the clear: use https://, or an etcd on this machine",
            endpoint);
}

static void check(const void *object, struct tf_complaints *out)
{
    const struct tf_store_config *config = object;
    if (config->prefix && config->prefix[0] != '/')
        tf_complaints_add(out, "prefix", "\"%s\" does not begin with '/'", config->prefix);
    if (!config->user != !config->password_file)
        tf_complaints_add(out, config->user ? "passwordFile" : "user", "is missing: they go together");
    if (!config->tls.certificate != !config->tls.key)
        tf_complaints_add(out, config->tls.certificate ? "tls.key" : "tls.certificate",
                          "is missing: they go together");
    tf_vec_each (endpoint, &config->endpoints)
        check_endpoint(config, *endpoint, out);
}

const struct tf_table tf_store_config_table = TF_TABLE(C, rows, .check = check);

struct tf_store *tf_store_config_open(struct tf_loop *loop, const struct tf_store_config *config,
                                      struct tf_error *err)
{
    const struct tf_etcd_options options = {.endpoints = (const char *const *)config->endpoints.items,
                                            .endpoint_count = config->endpoints.count,
                                            .tls = &config->tls,
                                            .user = config->user,
                                            .password_file = config->password_file};
    return tf_etcd_store_create(loop, &options, err);
}
