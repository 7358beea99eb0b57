/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_SUBCLUSTER_DAEMON_METRICS_H
#define TF_SUBCLUSTER_DAEMON_METRICS_H

#include "common/monitor/metric.h"

/* The rows of subclusterd's own figures; those of every daemon are in common/monitor. */
extern const struct tf_metric subd_metrics[];
extern const size_t subd_metric_count;

#endif
