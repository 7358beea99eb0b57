/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_EVENTLOG_CONFIG_H
#define TF_EVENTLOG_CONFIG_H

#include "common/base/row.h"

/* The group `eventLog` of a daemon's configuration. */
struct tf_eventlog_config {
    char *folder;    /* NULL: nothing is recorded */
    int64_t max_mib; /* of events in one file */
    int32_t files;
};
extern const struct tf_table tf_eventlog_config_table;

#endif
