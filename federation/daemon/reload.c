/* SPDX-License-Identifier: Apache-2.0 */
/* SIGHUP: the logs are opened again, and what of the file may change under way is taken over. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/conf/reload.h"

static void tell(const struct tf_conf_changes *changes)
{
    tf_vec_each (key, &changes->taken)
        tf_log_info("the configuration changed key=%s", *key);
    tf_vec_each (key, &changes->refused)
        tf_log_warn(
            "a change of the configuration needs a restart, and is not in force: restart fedd, running work "
            "does not notice key=%s",
            *key);
    if (!changes->taken.count && !changes->refused.count)
        tf_log_info("the configuration is read again: nothing changed");
}

static void reopen_logs(struct fedd *fedd)
{
    struct tf_error err = TF_ERROR_INIT;
    const struct tf_log_options log = tf_log_config_options(&fedd->config.log);
    if (tf_log_open(&log, &err))
        tf_log_error("the log file cannot be opened again error=%s", err.text);
    tf_decisions_reopen(fedd->decisions);
}

/* The core is told even if only other keys changed: to it the same settings again are no change. */
static void give_settings(struct fedd *fedd)
{
    struct fed_event event = {.kind = FED_EV_SETTINGS};
    if (!fedd->fed)
        return; /* the next core boots with them */
    tf_settings_copy(&event.settings, &fedd->config.settings);
    host_step(fedd, &event);
}

void fedd_reload(struct fedd *fedd, const char *path)
{
    struct tf_conf_changes changes = {0};
    struct tf_error err = TF_ERROR_INIT;
    bool failed = tf_conf_reload(path, &fedd_config_table, &fedd->config, &changes, &err);
    reopen_logs(fedd);
    tf_tally_reloaded(&fedd->tally, !failed, changes.refused.count);
    if (failed) {
        tf_log_error("the configuration is not taken over, all stays as it was error=%s", err.text);
        return;
    }
    tell(&changes);
    if (changes.taken.count)
        give_settings(fedd);
    tf_conf_changes_release(&changes);
}
