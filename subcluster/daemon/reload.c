/* SPDX-License-Identifier: Apache-2.0 */
/* SIGHUP: the logs are opened again, and what of the file may change under way is taken over. */
#include "subcluster/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/conf/reload.h"

static void tell(const struct tf_conf_changes *changes)
{
    tf_vec_each (key, &changes->taken)
        tf_log_info("the configuration changed key=%s", *key);
    tf_vec_each (key, &changes->refused)
        tf_log_warn(
            "a change of the configuration needs a restart, and is not in force: restart subclusterd, "
            "instances live on key=%s",
            *key);
    if (!changes->taken.count && !changes->refused.count)
        tf_log_info("the configuration is read again: nothing changed");
}

static void reopen_logs(struct subd *subd)
{
    struct tf_error err = TF_ERROR_INIT;
    const struct tf_log_options log = tf_log_config_options(&subd->config.log);
    if (tf_log_open(&log, &err))
        tf_log_error("the log cannot be opened again error=%s", err.text);
    tf_decisions_reopen(subd->decisions);
}

static void give_settings(struct subd *subd)
{
    const struct tf_local_settings *settings = &subd->config.settings;
    if (!subd->sub)
        return; /* the next core boots with them */
    struct sub_event event = {.kind = SUB_EV_SETTINGS,
                              .settings = {.profile_interval = settings->profile_interval,
                                           .decision_budget = settings->decision_budget}};
    subd_feed(subd, &event);
}

void subd_reload(struct subd *subd, const char *path)
{
    struct tf_conf_changes changes = {0};
    struct tf_error err = TF_ERROR_INIT;
    bool failed = tf_conf_reload(path, &subd_config_table, &subd->config, &changes, &err);
    reopen_logs(subd);
    tf_tally_reloaded(&subd->tally, !failed, changes.refused.count);
    if (failed) {
        tf_log_error("the configuration is not taken over, all stays as it was error=%s", err.text);
        return;
    }
    tell(&changes);
    if (changes.taken.count)
        give_settings(subd);
    tf_conf_changes_release(&changes);
}
