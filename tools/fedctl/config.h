/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_CONFIG_H
#define TF_FEDCTL_CONFIG_H

#include "common/base/error.h"
#include "common/base/list.h"
#include "tools/fedctl/option.h"

#include <stdint.h>

/* What is said once and not with each command: ~/.config/tidefed/fedctl.yaml (or below XDG_CONFIG_HOME), the
 * environment, and over both the options. */
struct config {
    struct tf_strs endpoints;
    const char *source; /* of the endpoints, for messages */
    char *tenant, *priority;
    int64_t timeout; /* ms */
};

/* -1 (TF_ERR_INVALID) if the file or a value is broken; a missing file is none. */
int config_load(struct config *config, const struct options *options, struct tf_error *err);
void config_release(struct config *config);

#endif
