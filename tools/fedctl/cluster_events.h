/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_CLUSTER_EVENTS_H
#define TF_FEDCTL_CLUSTER_EVENTS_H

#include "tools/fedctl/fedctl.h"

/* `events cluster`: what happened to the clusters that the words name (none = all), in order of time, by the
 * options of events. Gives the exit code. */
int cluster_events(struct fedctl *ctl);

#endif
