/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_DAEMON_RELOAD_H
#define TF_DAEMON_RELOAD_H

#include "common/conf/reload.h"
#include "common/daemon/tally.h"
#include "common/log/config.h"
#include "common/log/decisions.h"

/* A daemon on SIGHUP. All is borrowed during the call. */
struct tf_reload {
    const char *path; /* of its configuration */
    const struct tf_table *table;
    void *config;
    const struct tf_log_config *log; /* a part of config */
    struct tf_decisions *decisions;  /* NULL is fine */
    struct tf_tally *tally;
    const char *advice; /* how to put in force what waits for a restart: "restart fedd, ..." */
};

/* Opens the logs again, and takes over what of the file may change under way (common/conf/reload.h); says all
 * that in the log. True if something was taken over, which the daemon then puts into force. */
bool tf_reload(const struct tf_reload *reload);

#endif
