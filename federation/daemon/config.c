/* SPDX-License-Identifier: Apache-2.0 */
/* The table of fedd.yaml. */
#include "federation/daemon/config.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/conf/conf.h"
#include "common/net/address.h"

#define C struct fedd_config

static const struct tf_row rows[] = {
    {.key = "listen",
     TF_STRING(C, listen),
     .min = 1,
     .max = 253,
     .def = "127.0.0.1:7700",
     .help =
         "address and port (0 = any free one), or `unix:/path`; without `tls` only one that nobody but this "
         "machine can reach"},
    {.key = "advertise",
     TF_STRING(C, advertise),
     .min = 1,
     .max = 253,
     .help = "address that others are sent to when this one leads; absent = `listen`"},
    {.key = "dataDir",
     TF_PATH(C, data_dir),
     .flags = TF_ROW_REQUIRED,
     .help = "folder of the archive of finished jobs and the log of decisions; made if it is missing"},
    {.key = "tls",
     TF_OBJECT(C, tls, &tf_tls_table),
     .help = "mutual TLS on every link: clients and subclusters show certificates, whose common names say "
             "who they "
             "are; absent = none, on this machine only"},
    {.key = "store",
     TF_OBJECT(C, store, &tf_store_config_table),
     .flags = TF_ROW_REQUIRED,
     .help = "the federation's etcd"},
    {.key = "settings", TF_OBJECT(C, settings, &tf_settings_table), .help = "what decisions go by"},
    {.key = "metrics", TF_OBJECT(C, monitor, &tf_monitor_table), .help = "what is shown over HTTP"},
    {.key = "log", TF_OBJECT(C, log, &tf_log_config_table), .help = "the log of the daemon"},
    {.key = "eventLog",
     TF_OBJECT(C, event_log, &tf_eventlog_config_table),
     .help = "what it decides from, recorded for `fedsim replay`"},
};

#define NOT_LOCAL                                                                                            \
    "\"%s\" can be reached from other machines, so it needs `tls` (deploy/tls.sh makes the files); without " \
    "it, "                                                                                                   \
    "listen on 127.0.0.1, [::1] or unix:/path"
#define NO_ADDRESS "\"%s\" is no address that others can be sent to: say one as `advertise`"

static bool may_listen(const struct fedd_config *config, const char *address)
{
    return tf_tls_is_set(&config->tls) || tf_address_is_local(address);
}

static bool needs_advertise(const struct fedd_config *config, const char *address)
{
    return !config->advertise && (tf_starts_with(address, "0.0.0.0:") || tf_starts_with(address, "[::]:"));
}

int fedd_config_set_listen(struct fedd_config *config, const char *address, struct tf_error *err)
{
    if (tf_address_check(address, err))
        return tf_error_wrap(err, "--listen");
    if (!may_listen(config, address))
        return tf_error_set(err, TF_ERR_INVALID, "--listen: " NOT_LOCAL, address);
    if (needs_advertise(config, address))
        return tf_error_set(err, TF_ERR_INVALID, "--listen: " NO_ADDRESS, address);
    tf_str_set(&config->override, address);
    return 0;
}

const char *fedd_config_listen(const struct fedd_config *config)
{
    return config->override ? config->override : config->listen;
}

static void settle(void *object)
{
    struct fedd_config *config = object;
    if (!config->store.prefix)
        config->store.prefix = tf_strdup("/tidefed/v1");
    if (!config->log.decisions && config->data_dir)
        config->log.decisions = tf_asprintf("%s/decisions.log", config->data_dir);
}

static void check(const void *object, struct tf_complaints *out)
{
    const struct fedd_config *config = object;
    struct tf_error err = TF_ERROR_INIT;
    if (config->advertise && tf_address_check(config->advertise, &err))
        tf_complaints_add(out, "advertise", "%s", err.text);
    if (config->listen && tf_address_check(config->listen, &err))
        tf_complaints_add(out, "listen", "%s", err.text);
    else if (config->listen && !may_listen(config, config->listen))
        tf_complaints_add(out, "listen", NOT_LOCAL, config->listen);
    else if (config->listen && needs_advertise(config, config->listen))
        tf_complaints_add(out, "listen", NO_ADDRESS, config->listen);
}

const struct tf_table fedd_config_table = TF_TABLE(C, rows, .settle = settle, .check = check);

int fedd_config_load(const char *path, struct fedd_config *config, struct tf_error *err)
{
    return tf_conf_load(path, &fedd_config_table, config, err);
}

void fedd_config_release(struct fedd_config *config)
{
    free(config->override);
    tf_table_release(&fedd_config_table, config);
}
