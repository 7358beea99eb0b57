/* SPDX-License-Identifier: Apache-2.0 */
/* Owns where the federation is and who asks, from file, environment and options. */
#include "tools/fedctl/config.h"

#include "common/base/cleanup.h"
#include "common/base/name.h"
#include "common/base/text.h"
#include "common/conf/conf.h"
#include "common/net/address.h"

#include <unistd.h>

#define DEFAULT_ENDPOINT "127.0.0.1:7700"
enum { ENDPOINTS_MAX = 16 };

static const struct tf_row rows[] = {
    {.key = "endpoints",
     TF_STRINGS(struct config, endpoints),
     .count = ENDPOINTS_MAX,
     .help = "of the federation, HOST:PORT or unix:PATH"},
    {.key = "tenant", TF_NAME(struct config, tenant), .help = "of jobs named without one"},
    {.key = "priority", TF_NAME(struct config, priority), .help = "of jobs submitted without one"},
    {.key = "timeout",
     TF_DURATION(struct config, timeout),
     .min = 1,
     .max = (int64_t)24 * 3600 * 1000,
     .def = "10s",
     .help = "longest wait for an answer"},
};
static const struct tf_table table = TF_TABLE(struct config, rows);

void config_release(struct config *config)
{
    tf_table_release(&table, config);
}

static char *config_path(void)
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (base && *base == '/')
        return tf_asprintf("%s/tidefed/fedctl.yaml", base);
    return home && *home ? tf_asprintf("%s/.config/tidefed/fedctl.yaml", home) : NULL;
}

static int load_file(struct config *config, struct tf_error *err)
{
    TF_AUTO_FREE char *path = config_path();
    tf_table_init(&table, config);
    if (!path || access(path, F_OK) != 0)
        return 0;
    if (tf_conf_load(path, &table, config, err)) {
        if (err)
            err->code = TF_ERR_INVALID;
        return -1;
    }
    if (config->endpoints.count)
        config->source = "fedctl.yaml";
    return 0;
}

/* Replaces the endpoints by those of a list with commas. */
static void set_endpoints(struct config *config, const char *list, const char *source)
{
    tf_strs_release(&config->endpoints);
    config->source = source;
    while (*list) {
        size_t len = strcspn(list, ", ");
        TF_AUTO_FREE char *one = tf_strndup(list, len);
        if (len)
            tf_strs_add(&config->endpoints, one);
        list += len + (list[len] != '\0');
    }
}

static int check(const struct config *config, struct tf_error *err)
{
    if (config->endpoints.count > ENDPOINTS_MAX)
        return tf_error_set(err, TF_ERR_INVALID, "%s: more than %d endpoints", config->source, ENDPOINTS_MAX);
    for (size_t i = 0; i < config->endpoints.count; i++)
        if (tf_address_check(config->endpoints.items[i], err)) {
            if (err)
                err->code = TF_ERR_INVALID;
            return tf_error_wrap(err, "%s", config->source);
        }
    return config->tenant ? tf_name_check(config->tenant, "tenant", err) : 0;
}

int config_load(struct config *config, const struct options *options, struct tf_error *err)
{
    if (load_file(config, err))
        return -1;
    const char *endpoints = getenv("TIDEFED_ENDPOINTS"), *tenant = getenv("TIDEFED_TENANT");
    if (endpoints && *endpoints)
        set_endpoints(config, endpoints, "TIDEFED_ENDPOINTS");
    if (options->endpoints)
        set_endpoints(config, options->endpoints, "--endpoints");
    if (config->endpoints.count == 0)
        set_endpoints(config, DEFAULT_ENDPOINT, "the default");
    if (tenant && *tenant)
        tf_str_set(&config->tenant, tenant);
    if (options->timeout)
        config->timeout = options->timeout;
    return check(config, err);
}
