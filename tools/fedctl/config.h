/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_CONFIG_H
#define TF_FEDCTL_CONFIG_H

#include "common/base/error.h"
#include "common/base/list.h"
#include "common/net/tls.h"
#include "tools/fedctl/option.h"

#include <stdint.h>

/* What is said once and not with each command: ~/.config/tidefed/fedctl.yaml (or below XDG_CONFIG_HOME), the
 * environment, and over both the options. */
struct context {
    char *name;
    struct tf_strs endpoints;
    struct tf_tls_files tls;
    char *tenant;
};
struct contexts {
    struct context *items;
    size_t count, cap;
};

struct config {
    struct tf_strs endpoints;
    struct tf_tls_files tls; /* not set: without TLS */
    char *context;           /* name; NULL = none */
    struct contexts contexts;
    const char *source; /* of the endpoints, for messages */
    char *tenant, *priority;
    int64_t timeout; /* ms */
};

/* -1 (TF_ERR_INVALID) if the file or a value is broken; a missing file is none. */
int config_load(struct config *config, const struct options *options, struct tf_error *err);
/* Whether the file is a right fedctl.yaml. */
int config_check_file(const char *path, struct tf_error *err);
void config_release(struct config *config);

#endif
