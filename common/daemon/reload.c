/* SPDX-License-Identifier: Apache-2.0 */
/* What both daemons do on SIGHUP. What follows from new settings is theirs. */
#include "common/daemon/reload.h"

static void reopen_logs(const struct tf_reload *reload)
{
    struct tf_error err = TF_ERROR_INIT;
    const struct tf_log_options log = tf_log_config_options(reload->log);
    if (tf_log_open(&log, &err))
        tf_log_error("the log file cannot be opened again error=%s", err.text);
    tf_decisions_reopen(reload->decisions);
}

static void tell(const struct tf_reload *reload, const struct tf_conf_changes *changes)
{
    tf_vec_each (key, &changes->taken)
        tf_log_info("the configuration changed key=%s", *key);
    tf_vec_each (key, &changes->refused)
        tf_log_warn("a change of the configuration needs a restart, and is not in force: %s key=%s",
                    reload->advice, *key);
    if (!changes->taken.count && !changes->refused.count)
        tf_log_info("the configuration is read again: nothing changed");
}

bool tf_reload(const struct tf_reload *reload)
{
    struct tf_conf_changes changes = {0};
    struct tf_error err = TF_ERROR_INIT;
    bool failed = tf_conf_reload(reload->path, reload->table, reload->config, &changes, &err);
    reopen_logs(reload);
    tf_tally_reloaded(reload->tally, !failed, changes.refused.count);
    if (failed)
        tf_log_error("the configuration is not taken over, all stays as it was error=%s", err.text);
    else
        tell(reload, &changes);
    bool taken = changes.taken.count > 0;
    tf_conf_changes_release(&changes);
    return taken;
}
