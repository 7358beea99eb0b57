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

static const struct tf_row tls_rows[] = {
    {.key = "ca", TF_PATH(struct tf_tls_files, ca), .help = "PEM file of the CA of the federation"},
    {.key = "certificate",
     TF_PATH(struct tf_tls_files, certificate),
     .help = "PEM file of the own certificate"},
    {.key = "key", TF_PATH(struct tf_tls_files, key), .help = "PEM file of its key"},
};
static const struct tf_table tls_table = TF_TABLE(struct tf_tls_files, tls_rows);

#define ENDPOINTS_ROW(type)                                                      \
    {                                                                            \
        .key = "endpoints", TF_STRINGS(type, endpoints), .count = ENDPOINTS_MAX, \
        .help = "of the federation, HOST:PORT or unix:PATH"                      \
    }
#define TLS_ROW(type)                                                                     \
    {                                                                                     \
        .key = "tls", TF_OBJECT(type, tls, &tls_table),                                   \
        .help = "files for mutual TLS; relative paths begin at the folder of fedctl.yaml" \
    }

static const struct tf_row context_rows[] = {
    {.key = "name", TF_NAME(struct context, name), .flags = TF_ROW_REQUIRED},
    ENDPOINTS_ROW(struct context),
    TLS_ROW(struct context),
    {.key = "tenant", TF_NAME(struct context, tenant), .help = "of jobs named without one"},
};
static const struct tf_table context_table = TF_TABLE(struct context, context_rows);

static const struct tf_row rows[] = {
    ENDPOINTS_ROW(struct config),
    TLS_ROW(struct config),
    {.key = "context", TF_NAME(struct config, context), .help = "the one of `contexts` that is used"},
    {.key = "contexts",
     TF_MAP(struct config, contexts, &context_table),
     .max = 100,
     .help = "federations by name; what a context says replaces what is said beside them"},
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

/* Relative paths are meant from the file that says them, wherever fedctl is called. */
static void anchor(char **path, const char *folder)
{
    char *from_here = *path && **path != '/' ? tf_asprintf("%s/%s", folder, *path) : NULL;
    if (!from_here)
        return;
    free(*path);
    *path = from_here;
}

static void anchor_files(struct tf_tls_files *files, const char *folder)
{
    anchor(&files->ca, folder);
    anchor(&files->certificate, folder);
    anchor(&files->key, folder);
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
    *strrchr(path, '/') = '\0';
    anchor_files(&config->tls, path);
    tf_vec_each (context, &config->contexts)
        anchor_files(&context->tls, path);
    if (config->endpoints.count)
        config->source = "fedctl.yaml";
    return 0;
}

int config_check_file(const char *path, struct tf_error *err)
{
    struct config config;
    if (tf_conf_load(path, &table, &config, err)) {
        if (err)
            err->code = TF_ERR_INVALID;
        return -1;
    }
    config_release(&config);
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

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static struct context *find_context(struct config *config, const char *name, struct tf_error *err)
{
    TF_VEC(const char *) names = {0};
    tf_vec_each (context, &config->contexts)
        if (tf_str_eq(context->name, name))
            return context;
    tf_vec_each (context, &config->contexts)
        tf_vec_push(&names, context->name);
    const char *nearest = tf_nearest(name, names.items, names.count);
    tf_error_set(err, TF_ERR_INVALID, "there is no context \"%.63s\" in fedctl.yaml%s%s%s", name,
                 nearest       ? "; did you mean "
                 : names.count ? ""
                               : ": it has no `contexts`",
                 nearest ? nearest : "", nearest ? "?" : "");
    tf_vec_release(&names);
    return NULL;
}

/* What a context says replaces what is said for all. */
static int use_context(struct config *config, const char *option, struct tf_error *err)
{
    const char *name = option ? option : variable("TIDEFED_CONTEXT");
    if (!name)
        name = config->context;
    struct context *context = name ? find_context(config, name, err) : NULL;
    if (!context)
        return name ? -1 : 0;
    if (context->endpoints.count) {
        tf_strs_copy(&config->endpoints, &context->endpoints);
        config->source = "the context in fedctl.yaml";
    }
    if (tf_tls_is_set(&context->tls))
        tf_tls_files_copy(&config->tls, &context->tls);
    if (context->tenant)
        tf_str_set(&config->tenant, context->tenant);
    return 0;
}

static void set_file(char **file, const char *option, const char *name)
{
    const char *path = option ? option : variable(name);
    if (path)
        tf_str_set(file, path);
}

static void set_files(struct config *config, const struct options *options)
{
    set_file(&config->tls.ca, options->tls_ca, "TIDEFED_TLS_CA");
    set_file(&config->tls.certificate, options->tls_cert, "TIDEFED_TLS_CERT");
    set_file(&config->tls.key, options->tls_key, "TIDEFED_TLS_KEY");
}

int config_load(struct config *config, const struct options *options, struct tf_error *err)
{
    if (load_file(config, err) || use_context(config, options->context, err))
        return -1;
    const char *endpoints = variable("TIDEFED_ENDPOINTS"), *tenant = variable("TIDEFED_TENANT");
    set_files(config, options);
    if (endpoints && !options->context)
        set_endpoints(config, endpoints, "TIDEFED_ENDPOINTS");
    if (options->endpoints)
        set_endpoints(config, options->endpoints, "--endpoints");
    if (config->endpoints.count == 0)
        set_endpoints(config, DEFAULT_ENDPOINT, "the default");
    if (tenant)
        tf_str_set(&config->tenant, tenant);
    if (options->timeout)
        config->timeout = options->timeout;
    return check(config, err);
}
