/* SPDX-License-Identifier: Apache-2.0 */
/* SIGHUP: what of the file may change under way is put into force. */
#include "common/monitor/reload.h"

#include "subcluster/daemon/private.h"

void subd_reload(struct subd *subd, const char *path)
{
    const struct tf_reload reload = {.path = path,
                                     .table = &subd_config_table,
                                     .config = &subd->config,
                                     .log = &subd->config.log,
                                     .decisions = subd->decisions,
                                     .tally = &subd->tally,
                                     .advice = "restart subclusterd, instances live on"};
    const struct tf_local_settings *settings = &subd->config.settings;
    if (!tf_reload(&reload) || !subd->sub) /* the next core boots with them */
        return;
    struct sub_event event = {.kind = SUB_EV_SETTINGS,
                              .settings = {.profile_interval = settings->profile_interval,
                                           .decision_budget = settings->decision_budget,
                                           .loss_cap = settings->loss_cap,
                                           .resize_loss = settings->resize_loss}};
    subd_feed(subd, &event);
}
