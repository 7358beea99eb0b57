/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_DAEMON_CONFIG_H
#define TF_FEDERATION_DAEMON_CONFIG_H

#include "common/eventlog/config.h"
#include "common/log/config.h"
#include "common/model/settings.h"
#include "common/monitor/monitor.h"
#include "common/net/tls.h"
#include "common/store/config.h"

/* What fedd.yaml says. */
struct fedd_config {
    char *listen;    /* address with port, or unix:/path */
    char *override;  /* of the command line, instead of listen; NULL = none. No key of the file */
    char *advertise; /* where clients and subclusters find it; NULL = listen, with the port that was bound */
    char *data_dir;  /* the archive of finished jobs and the decision log */
    struct tf_tls_files tls;      /* not set: only this machine can connect */
    struct tf_store_config store; /* its prefix is never NULL after the load */
    struct tf_settings settings;
    struct tf_monitor_config monitor;
    struct tf_log_config log; /* its decisions are never NULL after the load */
    struct tf_eventlog_config event_log;
};
extern const struct tf_table fedd_config_table;

/* Reads the file; what is wrong comes with line and column. */
int fedd_config_load(const char *path, struct fedd_config *config, struct tf_error *err);
const char *fedd_config_listen(const struct fedd_config *config); /* borrowed */
/* Overrides where it listens; the same rule holds. */
int fedd_config_set_listen(struct fedd_config *config, const char *address, struct tf_error *err);
void fedd_config_release(struct fedd_config *config);

#endif
