/* SPDX-License-Identifier: Apache-2.0 */
/* SIGHUP: what of the file may change under way is put into force. */
#include "common/daemon/reload.h"

#include "subcluster/daemon/private.h"

struct sub_health_rules subd_health_rules(const struct tf_local_settings *settings)
{
    return (struct sub_health_rules){.node_lost_after = settings->node_lost_after,
                                     .mass_down_window = settings->mass_down_window,
                                     .mass_down_fraction = settings->mass_down_fraction,
                                     .mass_down_least = settings->mass_down_least,
                                     .suspect_after = settings->gpu_suspect_after};
}

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
                                           .resize_loss = settings->resize_loss,
                                           .health = subd_health_rules(settings)}};
    subd_feed(subd, &event);
}
