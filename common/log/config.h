/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_LOG_CONFIG_H
#define TF_LOG_CONFIG_H

#include "common/base/row.h"
#include "common/log/log.h"

/* The group `log` of a daemon's configuration. */
struct tf_log_config {
    int level, format; /* of the table, in which 0 is "not said": see tf_log_config_options */
    char *file;        /* NULL = stderr */
    char *decisions;   /* NULL = where the daemon keeps its files */
};
extern const struct tf_table tf_log_config_table;

/* For tf_log_open; borrows the path. */
struct tf_log_options tf_log_config_options(const struct tf_log_config *config);

#endif
