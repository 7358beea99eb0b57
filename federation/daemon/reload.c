/* SPDX-License-Identifier: Apache-2.0 */
/* SIGHUP: what of the file may change under way is put into force. */
#include "common/daemon/reload.h"

#include "federation/daemon/private.h"

void fedd_reload(struct fedd *fedd, const char *path)
{
    const struct tf_reload reload = {.path = path,
                                     .table = &fedd_config_table,
                                     .config = &fedd->config,
                                     .log = &fedd->config.log,
                                     .decisions = fedd->decisions,
                                     .tally = &fedd->tally,
                                     .advice = "restart fedd, running work does not notice"};
    if (!tf_reload(&reload) || !fedd->fed) /* the next core boots with them */
        return;
    struct fed_event event = {.kind = FED_EV_SETTINGS};
    tf_settings_copy(&event.settings, &fedd->config.settings);
    host_step(fedd, &event);
}
