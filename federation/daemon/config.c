/* SPDX-License-Identifier: Apache-2.0 */
/* The table of fedd.yaml. */
#include "federation/daemon/config.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/conf/conf.h"

#include <arpa/inet.h>

#define C struct fedd_config

static const struct tf_row store_rows[] = {
    {.key = "endpoints",
     TF_STRINGS(C, store_endpoints),
     .min = 1,
     .max = 253,
     .count = 16,
     .flags = TF_ROW_REQUIRED,
     .help = "the members of the federation's etcd, as `http://HOST:PORT`; each is tried in turn"},
    {.key = "prefix",
     TF_STRING(C, store_prefix),
     .min = 2,
     .max = 200,
     .def = "/tidefed/v1",
     .help = "all keys are under it; two federations in one etcd need two prefixes"},
    {.key = "timeout",
     TF_DURATION(C, store_timeout),
     .min = 100,
     .max = TF_MINUTE,
     .flags = TF_ROW_ZERO,
     .help = "of one request; absent = half the lease, so that a lost answer is noticed while still leading"},
};
static const struct tf_table store_table = TF_TABLE(C, store_rows);

/* In a table an enum's 0 means "not said"; the log's first level and format are 0, so the names are shifted
 * by one and the default fills in. */
enum { LEVEL_SHIFT = 1 };

static const struct tf_row log_rows[] = {
    {.key = "level",
     TF_ENUM(C, log_level, "debug", "info", "warn", "error"),
     .def = "info",
     .help = "lines of a lower level are not written"},
    {.key = "format", TF_ENUM(C, log_format, "text", "json"), .def = "text", .help = "one line an event"},
    {.key = "file", TF_STRING(C, log_file), .max = 4096, .help = "appended to; absent = stderr"},
};
static const struct tf_table log_table = TF_TABLE(C, log_rows);

static const struct tf_row rows[] = {
    {.key = "listen",
     TF_STRING(C, listen),
     .min = 1,
     .max = 253,
     .def = "127.0.0.1:7700",
     .help = "loopback address and port (0 = any free one), or `unix:/path`; other addresses are refused "
             "until links "
             "have TLS"},
    {.key = "advertise",
     TF_STRING(C, advertise),
     .min = 1,
     .max = 253,
     .help = "address that others are sent to when this one leads; absent = `listen`"},
    {.key = "dataDir",
     TF_STRING(C, data_dir),
     .min = 1,
     .max = 4000,
     .flags = TF_ROW_REQUIRED,
     .help = "folder of the archive of finished jobs and the log of decisions; made if it is missing"},
    {.key = "store", TF_GROUP(&store_table), .flags = TF_ROW_REQUIRED, .help = "the federation's etcd"},
    {.key = "settings", TF_OBJECT(C, settings, &tf_settings_table), .help = "what decisions go by"},
    {.key = "log", TF_GROUP(&log_table), .help = "the log of the daemon"},
};

/* 127.x.y.z: an address, not a name that begins like one. */
static bool is_loopback4(const char *address)
{
    struct in_addr in;
    const char *colon = strchr(address, ':');
    TF_AUTO_FREE char *host = colon ? tf_strndup(address, (size_t)(colon - address)) : NULL;
    return host && inet_pton(AF_INET, host, &in) == 1 && ntohl(in.s_addr) >> 24 == 127;
}

static bool is_loopback(const char *address)
{
    return tf_starts_with(address, "unix:/") || is_loopback4(address) || tf_starts_with(address, "[::1]:") ||
           tf_starts_with(address, "localhost:");
}

#define NOT_LOOPBACK "\"%s\" is not a loopback address or unix:/path; others need TLS, which is not there yet"

int fedd_config_set_listen(struct fedd_config *config, const char *address, struct tf_error *err)
{
    if (!is_loopback(address))
        return tf_error_set(err, TF_ERR_INVALID, "--listen: " NOT_LOOPBACK, address);
    tf_str_set(&config->listen, address);
    return 0;
}

static void check(const void *object, struct tf_complaints *out)
{
    const struct fedd_config *config = object;
    if (config->listen && !is_loopback(config->listen))
        tf_complaints_add(out, "listen", NOT_LOOPBACK, config->listen);
    if (config->store_prefix && config->store_prefix[0] != '/')
        tf_complaints_add(out, "store.prefix", "begins with '/'");
    for (size_t i = 0; i < config->store_endpoints.count; i++)
        if (!tf_starts_with(config->store_endpoints.items[i], "http://"))
            tf_complaints_add(out, "store.endpoints", "\"%s\" does not begin with http://",
                              config->store_endpoints.items[i]);
}

const struct tf_table fedd_config_table = TF_TABLE(C, rows, .check = check);

int fedd_config_load(const char *path, struct fedd_config *config, struct tf_error *err)
{
    if (tf_conf_load(path, &fedd_config_table, config, err))
        return -1;
    config->log_level = (enum tf_log_level)((int)config->log_level - LEVEL_SHIFT);
    config->log_format = (enum tf_log_format)((int)config->log_format - LEVEL_SHIFT);
    return 0;
}

void fedd_config_release(struct fedd_config *config)
{
    tf_table_release(&fedd_config_table, config);
}
