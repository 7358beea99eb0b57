/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_LIVE_CONFIG_H
#define TF_FEDCTL_LIVE_CONFIG_H

#include "tools/fedctl/fedctl.h"

/* The configuration of a running fedd, for `config get` and `config diff`. With one endpoint that of the fedd
 * there; with several that of the leader, whose settings decide. Both give the exit code. */

/* key NULL = all. */
int live_config_get(struct fedctl *ctl, const char *key);
/* As diff(1): 0 the same, 1 some differ, 2 or more: it is not known. */
int live_config_diff(struct fedctl *ctl, const char *path);

#endif
